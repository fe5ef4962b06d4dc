"""CoNLL-2000 text chunking with the attributes of CRFsuite's chunking tutorial.

Every benchmark on this data set must see exactly the same attributes, or a difference in accuracy
says nothing about the learners. The template is therefore written once, as a table, and rendered
in two forms: strings for python-crfsuite, a sparse matrix for taut. Both forms hold 335,674
distinct attributes on the training set; `encode` asserts it.

Data: ``$TAUT_DATA/conll2000/{train,test}.txt.gz``, one token per line (word, part of speech, chunk
tag in IOB2), a blank line after each sentence (Tjong Kim Sang & Buchholz, 2000).
"""

import gzip
import os
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

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
    default, None for a part of it.

    No attribute string is ever built: a template's attribute at a token is one integer, the mixed
    radix number of the word (or part-of-speech) ids it joins, and its column is the rank of that
    integer among those of the training tokens. Test attributes unseen in training are dropped,
    as CRFsuite does.
    """
    sentences = [*train, *test]
    lengths = np.array([len(sentence.words) for sentence in sentences])
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    n_train_tokens = int(pointers[len(train)])
    position = np.arange(pointers[-1]) - np.repeat(pointers[:-1], lengths)
    remaining = np.repeat(lengths, lengths) - 1 - position

    ids = {
        "w": _ids(word for sentence in sentences for word in sentence.words)[0],
        "pos": _ids(pos for sentence in sentences for pos in sentence.pos)[0],
    }
    codes = [_template_codes(template, ids, position, remaining) for template in TEMPLATES]
    codes += [np.where(distance == 0, 0, -1) for distance in (position, remaining)]

    columns = np.empty((len(position), len(codes)), dtype=np.int32)
    n_columns = 0
    for k, code in enumerate(codes):
        columns[:, k], n_new = _columns(code, n_train_tokens, n_columns)
        n_columns += n_new
    if expected is not None:
        assert n_columns == expected, f"{n_columns} attributes, expected {expected}"

    # Ids count up in order of first appearance, so the training tags take the lowest ones.
    tags, tag_names = _ids(tag for sentence in sentences for tag in sentence.tags)
    n_train_tags = int(tags[:n_train_tokens].max()) + 1

    def split(first: int, last: int) -> Split:
        rows = slice(pointers[first], pointers[last])
        matrix = _indicator_matrix(columns[rows], n_columns)
        return Split(matrix, pointers[first : last + 1] - pointers[first], tags[rows])

    return Encoded(split(0, len(train)), split(len(train), len(sentences)), tag_names, n_train_tags)


def _ids(values: Iterable[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Give the distinct values ids in order of first appearance."""
    numbers: dict[str, int] = {}
    ids = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    return ids, list(numbers)


def _template_codes(
    template: Template,
    ids: dict[str, NDArray[np.int64]],
    position: NDArray[np.int64],
    remaining: NDArray[np.int64],
) -> NDArray[np.int64]:
    """One integer per token that identifies the template's attribute; -1 where it has none."""
    code = np.zeros(len(position), dtype=np.int64)
    for field, offset in template:
        # What rolls in from a neighbouring sentence is masked out below.
        code = code * (ids[field].max() + 1) + np.roll(ids[field], -offset)
    lowest, highest = template[0][1], template[-1][1]
    inside = (position + lowest >= 0) & (highest <= remaining)
    return np.where(inside, code, -1)


def _columns(
    code: NDArray[np.int64], n_train_tokens: int, first_column: int
) -> tuple[NDArray[np.int64], int]:
    """Rank each code among the training codes, -1 where absent or unseen; and count the ranks."""
    train_code = code[:n_train_tokens]
    known = np.unique(train_code[train_code >= 0])
    rank = np.minimum(np.searchsorted(known, code), len(known) - 1)
    return np.where(known[rank] == code, first_column + rank, -1), len(known)


def _indicator_matrix(columns: NDArray[np.int32], n_columns: int) -> csr_matrix:
    present = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    indices = columns[present]
    data = np.ones(len(indices))
    return csr_matrix((data, indices, indptr), shape=(len(columns), n_columns))


def tag_strings(
    tags: NDArray[np.integer], pointers: NDArray[np.integer], tag_names: Sequence[str]
) -> list[list[str]]:
    """Cut integer tags of all tokens into sentences of tag names, as the scores expect them."""
    names = [tag_names[tag] for tag in tags.tolist()]
    return [names[start:stop] for start, stop in pairwise(pointers.tolist())]


def _chunks(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """List the chunks of one sentence as (first, last + 1, type).

    As in conlleval, a chunk also begins at an ``I-`` that continues nothing (after ``O``, after
    another type, or first in the sentence), so malformed predictions still count as chunks.
    """
    chunks = set()
    start, chunk_type = -1, ""
    for t, tag in enumerate([*tags, "O"]):
        prefix, _, tag_type = tag.partition("-")
        if start >= 0 and prefix == "I" and tag_type == chunk_type:
            continue
        if start >= 0:
            chunks.add((start, t, chunk_type))
        start, chunk_type = (-1, "") if prefix == "O" else (t, tag_type)
    return chunks


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
    n_correct = n_true = n_predicted = 0
    for i, (true, predicted) in enumerate(zip(true_tags, predicted_tags, strict=True)):
        if len(true) != len(predicted):
            raise ValueError(f"sentence {i} has {len(true)} tags but {len(predicted)} predictions")
        true_chunks, predicted_chunks = _chunks(true), _chunks(predicted)
        n_correct += len(true_chunks & predicted_chunks)
        n_true += len(true_chunks)
        n_predicted += len(predicted_chunks)
    return ChunkScore(
        100.0 * n_correct / max(n_predicted, 1),
        100.0 * n_correct / max(n_true, 1),
        200.0 * n_correct / max(n_true + n_predicted, 1),
    )


def token_accuracy(
    true_tags: Sequence[Sequence[str]], predicted_tags: Sequence[Sequence[str]]
) -> float:
    """Percentage of tokens whose tag is right."""
    right = [
        true == predicted
        for true_sentence, predicted_sentence in zip(true_tags, predicted_tags, strict=True)
        for true, predicted in zip(true_sentence, predicted_sentence, strict=True)
    ]
    return 100.0 * sum(right) / len(right)


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
