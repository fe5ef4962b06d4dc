"""What `serving.py` serves: addresses as nested dicts and as lists of strings, sentences; models.

The attributes are of the kind that address parsers make (github.com/datamade/usaddress): a dict of
what a token looks like, with those of its neighbours inside, about 25 in all. Run as a program it
trains the models, so that who measures has imported nothing of the sort.
"""

import argparse
import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pycrfsuite
from peers_text import extract, read

Labelled = tuple[list[Any], list[str]]  # tokens and their labels
KINDS = ("dicts", "strings", "sentences")
N_TEST = 300
N_TRAIN_SENTENCES = 2000
STREETS = ("oak", "maple", "cedar", "lake", "hill", "park", "main", "church", "mill", "river")
TYPES = ("St", "Ave", "Rd.", "Blvd", "Ln", "Dr.", "Ct", "Way")
CITIES = ("Springfield", "New Haven", "Salem", "Fort Wayne", "Dover", "Clinton", "Green Bay")
STATES = ("IL", "OH", "PA", "NY", "CA", "TX", "WA")
COMPASS = ("N", "S", "E", "W", "North", "SW")


# --- addresses ------------------------------------------------------------------------------------


def addresses(checkout: Path | None) -> list[Labelled]:
    """Those of a checkout of usaddress, which are not in this repository; or else invented ones."""
    if checkout is None:
        source = random.Random(0)
        found = [_invented(source) for _ in range(1500)]
    else:
        root = ElementTree.parse(checkout / "training/labeled.xml").getroot()
        found = [
            [(word, part.tag) for part in address for word in (part.text or "").split()]
            for address in root
        ]
    distinct = dict.fromkeys(tuple(pairs) for pairs in found if pairs)
    return [([word for word, _ in pairs], [tag for _, tag in pairs]) for pairs in distinct]


def _invented(source: random.Random) -> list[tuple[str, str]]:
    parts = [(str(source.randint(1, 9999)), "Number")]
    if source.random() < 0.4:
        parts.append((source.choice(COMPASS), "Direction"))
    parts += [(source.choice(STREETS).title(), "Street"), (source.choice(TYPES), "Type")]
    if source.random() < 0.3:
        parts += [("Apt", "UnitType"), (f"{source.randint(1, 40)},", "Unit")]
    parts += [(word, "City") for word in source.choice(CITIES).split()]
    return [*parts, (source.choice(STATES), "State"), (f"{source.randint(10000, 99999)}", "Zip")]


def looks(token: str) -> dict[str, Any]:
    """What a token looks like: strings, true and false."""
    core = token.strip(string.punctuation) or token
    low = core.lower().replace(".", "")
    is_number = low.isdigit()
    n_digits = sum(map(str.isdigit, core))
    return {
        "dotted": token.endswith("."),
        "digits": "all" if is_number else "some" if n_digits else "none",
        "word": low if not is_number else False,
        "zeros": "0" * (len(low) - len(low.rstrip("0"))) if is_number else False,
        "size": f"{'d' if is_number else 'w'}{len(low)}",
        "mark": token[-1] if token[-1] in string.punctuation else False,
        "compass": low in {"n", "s", "e", "w", "ne", "nw", "se", "sw", "north", "south"},
        "street": low in STREETS,
        "vowels": any(letter in "aeiou" for letter in low[1:]),
    }


def as_dicts(words: list[str]) -> list[dict[str, Any]]:
    """Tokens with what their neighbours look like inside."""
    alone = [looks(word) for word in words]
    alone[0]["first"] = alone[-1]["last"] = True
    tokens = [dict(token) for token in alone]
    for before, after in zip(range(len(words)), range(1, len(words)), strict=False):
        tokens[before]["next"] = alone[after]
        tokens[after]["previous"] = alone[before]
    return tokens


def as_strings(token: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The same attributes, those that are there, as the names that both programs give them."""
    for key, value in token.items():
        if isinstance(value, dict):
            yield from as_strings(value, f"{prefix}{key}:")
        elif isinstance(value, str):
            yield f"{prefix}{key}:{value}"
        elif value:
            yield f"{prefix}{key}"


def test_and_train(
    kind: str, checkout: Path | None, home: Path | None
) -> tuple[list[Labelled], list[Labelled]]:
    """Sequences to label, all different, and those to learn from."""
    if kind == "sentences":
        assert home is not None
        folder = home / "conll2000"
        test, train = read(folder / "test.txt.gz"), read(folder / "train.txt.gz")
        test = list(dict.fromkeys(map(tuple, test)))[:N_TEST]
        train = train[:N_TRAIN_SENTENCES]
        both = [
            list(zip(extract(part), [[tag for *_, tag in s] for s in part], strict=True))
            for part in (test, train)
        ]
        return both[0], both[1]
    known = [(as_dicts(words), tags) for words, tags in addresses(checkout)]
    if kind == "strings":
        known = [([list(as_strings(token)) for token in tokens], tags) for tokens, tags in known]
    at = -min(N_TEST, len(known) // 5)
    return known[at:], known[:at]


# --- models ---------------------------------------------------------------------------------------


def write(kind: str, folder: Path, checkout: Path | None, home: Path | None) -> None:
    """Both models of a kind, and the sequences to label."""
    import taut

    test, train = test_and_train(kind, checkout, home)
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.01, "max_iterations": 100})
    for tokens, tags in train:
        trainer.append(tokens, tags)
    trainer.train(str(folder / f"{kind}.crfsuite"))
    crf = taut.ChainCRF(max_passes=30, tol=0.05, verbose=False)
    crf.fit([tokens for tokens, _ in train], [tags for _, tags in train])
    crf.save(folder / f"{kind}.taut")
    (folder / f"{kind}.json").write_text(json.dumps(test))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--addresses", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    write(given.kind, given.folder, given.addresses, given.data)


if __name__ == "__main__":
    main()
