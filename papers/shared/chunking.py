"""CoNLL-2000 with the features of Osokin and Solagna: attributes that occur at least three times.

Their feature maps have 74,658 attributes and, in the first 1,000 sentences, 38,647. CRFsuite's
chunking template has 335,674 on the training set. Those that occur at least three times there are
75,289, of which 38,683 occur in the first 1,000 sentences: very likely this is their rule.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taut.datasets import load_conll2000, make_appointments
from taut.structures.chain import chain_problem
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.template import read_template

LEAST = 3
# The same windows with marks where they lie outside of the sentence, in the words of CRF++.
_WINDOWS = [
    *([(column, o)] for column in (0, 1) for o in range(-2, 3)),
    *([(0, o), (0, o + 1)] for o in (-1, 0)),
    *([(1, o), (1, o + 1)] for o in range(-2, 2)),
    *([(1, o), (1, o + 1), (1, o + 2)] for o in range(-2, 1)),
]
PADDED = "\n".join(
    f"U{k:02}:" + "/".join(f"%x[{o},{column}]" for column, o in window)
    for k, window in enumerate(_WINDOWS)
)


class Chunks(NamedTuple):
    """All tokens, one row each, of sentences of so many."""

    X: csr_array
    lengths: NDArray[np.int64]
    tags: NDArray[np.int64]
    names: list[str]  # of the tags, in the order in which they appear

    def first(self, n: int) -> "Chunks":
        """The first sentences, with their attributes and tags alone."""
        tokens = int(self.lengths[:n].sum())
        X = self.X[:tokens]
        seen = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
        tags = self.tags[:tokens]
        return Chunks(csr_array(X[:, seen]), self.lengths[:n], tags, self.names[: tags.max() + 1])

    def problem(self) -> Any:
        """Weights for every attribute with every tag, for steps, and three biases of each tag."""
        return chain_problem(self.X, self.lengths, self.tags, len(self.names))


def training_chunks(
    data_home: str | None = None, least: int = LEAST, template: str = "chunking"
) -> Chunks:
    return encoded(*load_conll2000("train", data_home), least, template)


def made_up_chunks(n: int = 40, template: str = "chunking") -> Chunks:
    """Built-in text, to see that a program works."""
    return encoded(*make_appointments(n, random_state=0), 1, template)


def encoded(sentences: list, tags: list[list[str]], least: int, template: str) -> Chunks:
    text = Columns.from_sentences(sentences)
    X = csr_array(TemplateEncoder(read_template(template), least).fit_transform(text))
    names: dict[str, int] = {}
    numbers = [names.setdefault(tag, len(names)) for labels in tags for tag in labels]
    return Chunks(X, np.asarray(text.lengths, np.int64), np.array(numbers), list(names))
