"""Appointments: text from a grammar, in which context helps."""

from collections import Counter, defaultdict

import pytest

from taut.datasets import make_appointments
from taut.datasets.appointments import GRAMMAR, NAMES, PARTS_OF_SPEECH
from taut.metrics import span_f1, spans


@pytest.fixture(scope="module")
def train_part():
    return make_appointments(1000)


@pytest.fixture(scope="module")
def test_part():
    return make_appointments(1000, subset="test")


def words_of(sentences):
    return {word for sentence in sentences for word, _ in sentence}


def tags_by_word(sentences, tags):
    found = defaultdict(set)
    for sentence, labels in zip(sentences, tags, strict=True):
        for (word, _), tag in zip(sentence, labels, strict=True):
            found[word].add(tag)
    return found


def test_every_word_has_a_part_of_speech_and_a_tag(train_part):
    sentences, tags = train_part
    assert list(map(len, sentences)) == list(map(len, tags))
    parts = {part for sentence in sentences for _, part in sentence}
    assert parts == {*PARTS_OF_SPEECH, "NAME", "NUM"}
    types = {"PER", "LOC", "DATE", "TIME"}
    assert {tag for labels in tags for tag in labels} == {
        "O", *(f"B-{type_}" for type_ in types), *(f"I-{type_}" for type_ in types)
    }  # fmt: skip


def test_tags_are_valid_in_their_scheme(train_part):
    _, tags = train_part
    assert spans(tags) == spans(tags, mode="strict", scheme="IOB2")


def test_no_symbol_is_left_and_sentences_begin_with_a_capital(train_part):
    sentences, _ = train_part
    assert not words_of(sentences) & {*GRAMMAR, *NAMES}
    assert all(not sentence[0][0][0].islower() for sentence in sentences)


def test_a_word_stands_in_one_list_of_parts_of_speech():
    words = [word for words in PARTS_OF_SPEECH.values() for word in words.split()]
    assert len(words) == len(set(words))


def test_the_seed_fixes_everything():
    assert make_appointments(20) == make_appointments(20)
    assert make_appointments(20) != make_appointments(20, random_state=1)
    assert make_appointments(20, random_state=None) != make_appointments(20, random_state=None)


def test_fewer_sentences_are_the_first_of_more():
    few, more = make_appointments(5), make_appointments(50)
    assert few == (more[0][:5], more[1][:5])


def test_the_parts_share_no_name_that_is_only_a_name(train_part, test_part):
    names = {name for text in NAMES.values() for name in text.split()}
    seen, unseen = words_of(train_part[0]) & names, words_of(test_part[0]) & names
    # Every name occurs in one of the two: in 1,000 sentences even the rarest does.
    assert seen.isdisjoint(unseen)
    assert seen | unseen == names


def test_the_parts_share_all_other_words(train_part, test_part):
    names = {name for text in NAMES.values() for name in text.split()}
    assert words_of(train_part[0]) - names == words_of(test_part[0]) - names


def test_some_words_can_be_anything(train_part):
    found = tags_by_word(*train_part)
    assert found["May"] == {"O", "B-PER", "B-DATE", "I-DATE"}
    assert found["Paris"] == {"B-PER", "B-LOC"}
    assert {"O", "B-PER"} <= found["Will"]
    assert {"O", "B-TIME", "I-TIME", "I-DATE", "I-LOC"} <= found["3"]


def test_context_helps(train_part, test_part):
    """The most frequent tag of the word two before, before and here beats that of the word alone.

    Neither looks at the test names' own letters; the reader with context falls back to less of it
    where it has not seen all, and to "some name" in place of a name.
    """

    def contexts(sentence, t):
        plain = ["^", "^", *(("NAME" if part == "NAME" else word) for word, part in sentence)]
        here = sentence[t][0]
        return [
            (*plain[t : t + 2], here),
            (*plain[t : t + 3],),
            (*plain[t + 1 : t + 3],),
            (plain[t + 2],),
        ]

    def word_alone(sentence, t):
        return [sentence[t][0]]

    def f1_of(keys):
        counts = defaultdict(Counter)
        for sentence, tags in zip(*train_part, strict=True):
            for t, tag in enumerate(tags):
                for key in keys(sentence, t):
                    counts[key][tag] += 1
        predicted = [
            [
                next((counts[k].most_common(1)[0][0] for k in keys(s, t) if k in counts), "O")
                for t in range(len(s))
            ]
            for s in test_part[0]
        ]
        return span_f1(test_part[1], predicted)

    # Seen: 0.36 and 0.91. The bounds leave room for other streams of random numbers.
    assert f1_of(word_alone) < 0.5
    assert f1_of(contexts) > 0.8


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"n_sentences": 0}, "n_sentences must be at least 1, not 0"),
        ({"subset": "both"}, "subset must be 'train' or 'test', not 'both'"),
    ],
)
def test_impossible_options_are_named(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_appointments(**options)
