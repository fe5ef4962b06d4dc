"""Appointments: invitations and reminders from a small grammar, a text task without any file.

Who, where, on which day and at what time is to be found. Some names can be several things (May,
Paris, Jordan), numbers can be anything, and most names of the test part never occur in training:
who knows only words is lost where one who looks at the words around them is not.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Row = tuple[str, str]  # a word and its part of speech

# What each symbol can stand for, all equally likely; what is not a symbol is a word.
GRAMMAR = {
    "SENTENCE": """
        Dear PER , your appointment with PER is on DATE at TIME .
        PER will meet you in LOC on DATE .
        May I remind you of our meeting with PER in LOC at TIME ?
        Will you be in LOC on DATE ?
        Will PER be in LOC or with PER on DATE ?
        Mark your calendar : PER visits LOC in MONTH .
        please meet PER at LOC on DATE .
        please meet at LOC at TIME DAY .
        please call PER before TIME or bring NUMBER copies to PER .
        PER moved the meeting from DATE to DATE .
        PER moved the meeting from LOC to LOC .
        PER sent a message from PER about the trip to LOC .
        the train from LOC to LOC leaves at TIME on DATE .
        can PER see PER in LOC , or only in MONTH ?
        lunch DAY with PER and PER at LOC , TIME .
        PER is calling from LOC at TIME .
        LOC is closed until DATE , so PER comes DAY .
        the office in LOC opens at TIME from DATE to DATE .
        no meeting on DATE : PER is in LOC until DATE .
        ask PER for NUMBER chairs in LOC by TIME .
        we all look forward to PER .
        we all look forward to LOC .
        we all look forward to MONTH .
        I wait for PER near LOC , PER waits near LOC .
        the trip to LOC with PER and NUMBER others is in MONTH .
    """,
    "PER": """
        FIRST
        FIRST
        FIRST LAST
        TITLE LAST
        EITHER
        EITHER LAST
        MONTH_NAME
        VERB_NAME
    """,
    "LOC": """
        PLACE
        PLACE
        PLACE Street
        PLACE Station
        room NUMBER
        EITHER
        EITHER
        EITHER Road
    """,
    "DATE": """
        WEEKDAY
        WEEKDAY the ORDINAL
        MONTH NUMBER
        WEEKDAY , MONTH NUMBER
        the ORDINAL of MONTH
    """,
    "DAY": "tomorrow\ntoday\nnext WEEKDAY",
    "MONTH": "MONTH_NAME\nMONTH_NAME\nMarch\nJuly\nOctober\nDecember",
    "TIME": "NUMBER am\nNUMBER pm\nNUMBER : 30\nhalf past NUMBER\nNUMBER\nnoon",
    "TITLE": "Dr.\nMrs.\nMr.",
    "WEEKDAY": "Monday\nTuesday\nWednesday\nThursday\nFriday\nSaturday\nSunday",
    "NUMBER": "\n".join(map(str, range(1, 13))),
    "ORDINAL": "1st\n2nd\n3rd\n" + "\n".join(f"{day}th" for day in range(4, 21)),
    # Names of people, too.
    "MONTH_NAME": "April\nMay\nJune\nAugust",
    "VERB_NAME": "Mark\nWill",
    "EITHER": "Austin\nChelsea\nFlorence\nJordan\nMadison\nParis\nSydney\nVictoria",
}
# The two parts share no name below; half of each list is for training.
NAMES = {
    "FIRST": """Anna Boris Clara David Elena Felix Greta Henry Irene Jacob Katja Louis Marta Nadia
        Oscar Paula Quentin Rosa Simon Teresa Umberto Vera Walter Xenia Yusuf Zoe""",
    "LAST": """Abbott Bauer Costa Dupont Eklund Farkas Gruber Horvat Ibsen Jansen Keller Lindqvist
        Moreau Novak Olsen Petrov Quist Rossi Schuster Tanaka Urban Varga Weber Yilmaz""",
    "PLACE": """Alderton Brackwell Carrowby Dunmoor Eastholm Fernley Grimstead Hartlow Inverlee
        Kettleby Larkhill Marshwick Netherby Oakhurst Penmarsh Ravensey Stonebeck Thornaby
        Upwood Westmere""",
}
# Symbols that are marked, and as what.
SPANS = {
    "PER": "PER", "LOC": "LOC", "TIME": "TIME", "DATE": "DATE", "DAY": "DATE", "MONTH": "DATE"
}  # fmt: skip
PARTS_OF_SPEECH = {
    "VERB": """ask be bring call calling can closed comes is leaves look mark may meet moved opens
        remind see sent visits wait waits will""",
    "NOUN": """am appointment calendar chairs copies half lunch meeting message noon office others
        pm room today tomorrow train trip""",
    "ADJ": "dear next past",
    "ADV": "forward only please so",
    "DET": "a all no our the your",
    "PRON": "i we you",
    "PREP": "about at before by for from in near of on to until with",
    "CONJ": "and or",
    "PUNCT": ". , : ?",
}
_PART_OF = {word: part for part, words in PARTS_OF_SPEECH.items() for word in words.split()}


def make_appointments(
    n_sentences: int = 500,
    *,
    subset: Literal["train", "test"] = "train",
    random_state: int | None = 0,
) -> tuple[list[list[Row]], list[list[str]]]:
    """Make sentences about appointments, in which people, places, dates and times are marked.

    The grammar is the same for both subsets; the names of people and places are not, except those
    that can be several things, such as May, Paris and Jordan.

    Parameters
    ----------
    n_sentences : int
        Number of sentences.
    subset : {"train", "test"}
        Which half of the names to draw from.
    random_state : int or None
        Seed of the sentences; None draws fresh ones each time.

    Returns
    -------
    sentences : list of lists of (str, str)
        The words of each sentence with their coarse part of speech.
    tags : list of lists of str
        For each word O, or B- or I- with PER, LOC, DATE or TIME: spans in the scheme IOB2.

    Examples
    --------
    >>> from taut.datasets import make_appointments
    >>> sentences, tags = make_appointments(3)
    >>> sentences[1][:5]
    [('Please', 'ADV'), ('meet', 'VERB'), ('at', 'PREP'), ('Paris', 'NAME'), ('at', 'PREP')]
    >>> tags[1]
    ['O', 'O', 'O', 'B-LOC', 'O', 'B-TIME', 'I-TIME', 'B-DATE', 'I-DATE', 'O']
    """
    if n_sentences < 1:
        raise ValueError(f"n_sentences must be at least 1, not {n_sentences}")
    if subset not in ("train", "test"):
        raise ValueError(f"subset must be 'train' or 'test', not {subset!r}")
    # The subset is part of the seed, so that train and test sentences differ for one random_state.
    part = 0 if subset == "train" else 1
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(part,)))
    choices = _choices(part)
    made = [_expand("SENTENCE", choices, rng) for _ in range(n_sentences)]
    tags = [[tag for _, tag in sentence] for sentence in made]
    return [_written(sentence) for sentence in made], tags


def _choices(part: int) -> dict[str, list[list[str]]]:
    """What each symbol can stand for in this part, as lists of symbols and words."""
    rules = {symbol: text.strip().split("\n") for symbol, text in GRAMMAR.items()}
    rules |= {symbol: names.split()[part::2] for symbol, names in NAMES.items()}
    return {symbol: [rule.split() for rule in options] for symbol, options in rules.items()}


def _expand(
    symbol: str, choices: dict[str, list[list[str]]], rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Words with their tags; of spans within each other the outermost counts."""
    if symbol not in choices:
        return [(symbol, "O")]
    options = choices[symbol]
    chosen = options[rng.integers(len(options))]
    words = [pair for part in chosen for pair in _expand(part, choices, rng)]
    if symbol not in SPANS:
        return words
    return [(word, f"{'I' if k else 'B'}-{SPANS[symbol]}") for k, (word, _) in enumerate(words)]


def _written(sentence: list[tuple[str, str]]) -> list[Row]:
    """Words with their parts of speech, the first with a capital."""
    rows = []
    for k, (word, tag) in enumerate(sentence):
        if word[0].isdigit():
            part = "NUM"
        elif tag != "O" and word[0].isupper():
            part = "NAME"
        else:
            part = _PART_OF[word.lower()]
        rows.append((word if k else word[0].upper() + word[1:], part))
    return rows
