"""CoNLL-2000 text chunking with the attributes of CRFsuite's chunking tutorial.

Every benchmark on this data set must see exactly the same attributes, or a difference in accuracy
says nothing about the learners. They come in two forms: strings for python-crfsuite, and the sparse
matrix of taut's own chunking template. Both hold 335,674 distinct attributes on the training set;
`encode` asserts it.

Data: ``$TAUT_DATA/conll2000/{train,test}.txt.gz``, one token per line (word, part of speech, chunk
tag in IOB2), a blank line after each sentence (Tjong Kim Sang & Buchholz, 2000).
"""

import gzip
import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from taut.metrics import span_report
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.numbering import Numbering
from taut.text.template import read_template

N_ATTRIBUTES = 335_674

# A template is a tuple of (field, offset); its attribute exists only where every offset falls
# inside the sentence.
Template = tuple[tuple[str, int], ...]


def _windows(field: str, size: int, starts: range) -> list[Template]:
    return [tuple((field, start + i) for i in range(size)) for start in starts]


TEMPLATES: tuple[Template, ...] = (
    *_windows("w", 1, range(-2, 3)),
    *_windows("w", 2, range(-1, 1)),
    *_windows("pos", 1, range(-2, 3)),
    *_windows("pos", 2, range(-2, 2)),
    *_windows("pos", 3, range(-2, 1)),
)
FIRST_TOKEN, LAST_TOKEN = "__BOS__", "__EOS__"


class Sentence(NamedTuple):
    """The three columns of one sentence, of equal length."""

    words: list[str]
    pos: list[str]
    tags: list[str]


class Split(NamedTuple):
    """All tokens of a split, one row each; sentence ``i`` is ``pointers[i]:pointers[i + 1]``."""

    X: csr_matrix
    pointers: NDArray[np.int64]
    tags: NDArray[np.int64]


class Encoded(NamedTuple):
    """Both splits over the attributes of the training set.

    The tags seen in training come first in ``tag_names``, so a learner needs only
    ``n_train_tags`` labels although the test set holds one tag more (``I-LST``).
    """

    train: Split
    test: Split
    tag_names: list[str]
    n_train_tags: int


def read(split: str) -> list[Sentence]:
    """Read the ``"train"`` or ``"test"`` sentences from the folder named by ``TAUT_DATA``."""
    if "TAUT_DATA" not in os.environ:
        raise RuntimeError(
            "TAUT_DATA is not set; let it name the folder that holds conll2000/train.txt.gz"
        )
    path = Path(os.environ["TAUT_DATA"]) / "conll2000" / f"{split}.txt.gz"
    with gzip.open(path, "rt", encoding="latin-1") as file:
        paragraphs = file.read().strip("\n").split("\n\n")
    sentences = []
    for paragraph in paragraphs:
        columns = zip(*(line.split(" ") for line in paragraph.split("\n")), strict=True)
        sentences.append(Sentence(*(list(column) for column in columns)))
    return sentences


def attribute_strings(sentences: Iterable[Sentence]) -> list[list[list[str]]]:
    """Spell out the attributes of every token of every sentence, as python-crfsuite takes them."""
    named = [
        ("|".join(f"{field}[{offset}]" for field, offset in template) + "=", template)
        for template in TEMPLATES
    ]
    return [_sentence_strings(sentence, named) for sentence in sentences]


def _sentence_strings(sentence: Sentence, named: list[tuple[str, Template]]) -> list[list[str]]:
    columns = {"w": sentence.words, "pos": sentence.pos}
    n_tokens = len(sentence.words)
    attributes: list[list[str]] = [[] for _ in range(n_tokens)]
    for prefix, template in named:
        field, lowest, highest = template[0][0], template[0][1], template[-1][1]
        values = columns[field]
        for t in range(max(0, -lowest), n_tokens - max(0, highest)):
            attributes[t].append(prefix + "|".join(values[t + lowest : t + highest + 1]))
    attributes[0].append(FIRST_TOKEN)
    attributes[-1].append(LAST_TOKEN)
    return attributes


def encode(
    train: Sequence[Sentence], test: Sequence[Sentence], expected: int | None = N_ATTRIBUTES
) -> Encoded:
    """Encode both splits as sparse indicator matrices over the attributes of ``train``.

    ``expected`` is the number of attributes that must come out: that of the full training set by
    default, None for a part of it. Test attributes unseen in training are dropped, as CRFsuite
    does.
    """
    encoder = TemplateEncoder(read_template("chunking"))
    tag_numbers = Numbering()  # by first appearance: the training tags take the lowest numbers

    def split(sentences: Sequence[Sentence], encode_text: Callable) -> Split:
        text = Columns.from_sentences([list(zip(s.words, s.pos, strict=True)) for s in sentences])
        pointers = np.concatenate([[0], np.cumsum(text.lengths)])
        tags = tag_numbers.number(tag for sentence in sentences for tag in sentence.tags)
        return Split(csr_matrix(encode_text(text)), pointers, tags.astype(np.int64))

    train_split = split(train, encoder.fit_transform)
    n_train_tags = len(tag_numbers)
    if expected is not None:
        found = encoder.n_attributes
        assert found == expected, f"{found} attributes, expected {expected}"
    test_split = split(test, encoder.transform)
    return Encoded(train_split, test_split, tag_numbers.values, n_train_tags)


def tag_strings(
    tags: NDArray[np.integer], pointers: NDArray[np.integer], tag_names: Sequence[str]
) -> list[list[str]]:
    """Cut integer tags of all tokens into sentences of tag names, as the scores expect them."""
    names = [tag_names[tag] for tag in tags.tolist()]
    return [names[start:stop] for start, stop in pairwise(pointers.tolist())]


class ChunkScore(NamedTuple):
    """Percentages over the chunks of all sentences."""

    precision: float
    recall: float
    f1: float


def chunk_f1(
    true_tags: Sequence[Sequence[str]], predicted_tags: Sequence[Sequence[str]]
) -> ChunkScore:
    """Score chunks as conlleval does: one is correct if its first token, last and type all are.

    >>> chunk_f1([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "O", "B-NP"]])
    ChunkScore(precision=50.0, recall=50.0, f1=50.0)
    """
    micro = span_report(true_tags, predicted_tags).micro
    return ChunkScore(100.0 * micro.precision, 100.0 * micro.recall, 100.0 * micro.f1)


def main() -> None:
    """Print the size of the data set and what each step of preparing it costs."""
    start = time.process_time()
    train, test = read("train"), read("test")
    after_read = time.process_time()
    encoded = encode(train, test)
    after_encode = time.process_time()
    strings = attribute_strings(train)
    after_strings = time.process_time()
    n_distinct = len({name for sentence in strings for token in sentence for name in token})
    assert n_distinct == N_ATTRIBUTES, f"{n_distinct} strings, expected {N_ATTRIBUTES}"

    for name, split in (("train", encoded.train), ("test", encoded.test)):
        print(
            f"{name:5}  {len(split.pointers) - 1:6,} sentences  {split.X.shape[0]:7,} tokens  "
            f"{split.X.nnz:9,} attribute occurrences  longest sentence "
            f"{np.diff(split.pointers).max()}"
        )
    print(
        f"{encoded.train.X.shape[1]:,} attributes, {len(encoded.tag_names)} tags "
        f"({encoded.n_train_tags} in training)"
    )
    print(
        f"CPU seconds: read {after_read - start:.2f}, encode {after_encode - after_read:.2f}, "
        f"strings of the training set {after_strings - after_encode:.2f}"
    )


if __name__ == "__main__":
    main()
