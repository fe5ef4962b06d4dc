"""From what people have, text or matrices, to the rows of all positions.

Which encoder text needs, and what that wants. Text may come from a generator: it is numbered in
blocks, and no more of it is kept than numbers and distinct strings.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy import sparse

from taut.arrays.sequences import Sequences
from taut.chain.model import Encoder, Stacked
from taut.chain.stacking import stack
from taut.labels import LabelCodec
from taut.spelling import OptionError
from taut.text.attributes import AttributeEncoder, Attributes
from taut.text.columns import Columns, ColumnsBuilder
from taut.text.dicts import attributes_of, holds_attributes
from taut.text.extract import TemplateEncoder
from taut.text.template import read_template

SENTENCES_AT_ONCE = 1000


def text_and_encoder(
    X: Any, template: Any, min_freq: Any, name: str = "X"
) -> tuple[Any, Encoder | None]:
    """Text as its encoder wants it, with an encoder that has learned nothing yet; or all rows,
    stacked, and None, if X holds numbers already. Both know the lengths of the sequences, some of
    which may be empty: see ``without_empty``."""
    X = sequences_of(X)
    seen = X
    if isinstance(X, Iterator):
        seen = _beginning(X)
        X = chain(seen, X)
    encoder = new_encoder(seen, template, min_freq)
    if encoder is None:
        return stack(_whole(X), name=name, may_be_empty=True), None
    return text_for(encoder, X, name, may_be_empty=True), encoder


def fitted_rows(encoder: Encoder | None, text: Any, name: str = "X") -> Stacked:
    """The rows of all positions; the encoder takes its attributes from them."""
    if encoder is None:
        return text
    rows = encoder.fit_transform(text)
    if rows.shape[1] == 0:
        often = f"occurs {encoder.min_freq} times; lower ‹min_freq›"
        raise OptionError(f"{name}: no attribute {often if encoder.min_freq > 1 else 'anywhere'}")
    steps = step_encoder(encoder)
    return Stacked(
        rows, text.lengths, step_attributes=None if steps is None else steps.fit_transform(text)
    )


def step_encoder(encoder: Encoder | None) -> TemplateEncoder | None:
    """What makes attributes of the steps into tokens; None if there are no such."""
    return encoder.steps if isinstance(encoder, TemplateEncoder) else None


def read_like(
    X: Any,
    encoder: Encoder | None,
    n_features: int,
    name: str = "X",
    *,
    may_be_empty: bool = False,
) -> Stacked:
    """The rows of other sequences than those of training, read as those were."""
    X = sequences_of(X)
    if encoder is None:
        return stack(_whole(X), n_features, name, may_be_empty=may_be_empty)
    return rows_of(encoder, text_for(encoder, X, name, may_be_empty=may_be_empty))


def without_empty(
    text: Any, y: Any, weights: np.ndarray | None = None
) -> tuple[Any, Any, np.ndarray | None]:
    """Sequences, labels and weights without the empty sequences, from which nothing is learned.

    The labels were checked: there are as many for each as it has positions.
    """
    filled = text.lengths > 0
    if filled.all():
        return text, y, weights
    some = [part for part, is_filled in zip(y, filled, strict=True) if is_filled]
    kept = None if weights is None else weights[filled]
    return text._replace(lengths=text.lengths[filled]), some, kept


def rows_of(encoder: Encoder, text: Any) -> Stacked:
    """The rows of text, and what goes with them, under the attributes known from training."""
    steps = step_encoder(encoder)
    return Stacked(
        encoder.transform(text),
        text.lengths,
        step_attributes=None if steps is None else steps.transform(text),
    )


def sequences_of(X: Any) -> Any:
    """X itself, but lists for arrays of Python objects, into which KFold idioms put sequences of
    dicts, and an iterator for what can only be gone through. Sequences may be iterators, too."""
    if isinstance(X, np.ndarray):
        return list(X) if X.dtype == object and X.ndim == 1 else X
    if type(X) in (list, tuple) and any(isinstance(x, Iterator) for x in X):
        return [_whole(x) for x in X]
    is_whole = isinstance(X, Sequence | Sequences | Mapping | Set | bytes) or sparse.issparse(X)
    return X if is_whole or not isinstance(X, Iterable) else map(_whole, X)


def _whole(X: Any) -> Any:
    """A list of what can be gone through but once."""
    return list(X) if isinstance(X, Iterator) else X


def _beginning(X: Iterator[Any]) -> list[Any]:
    """So many of the next sequences as it takes to see what their tokens are."""
    begun = []
    for sequence in X:
        begun.append(sequence)
        if not isinstance(sequence, Sequence) or any(_tells(token) for token in sequence):
            break
    return begun


def _tells(token: Any) -> bool:
    """Whether it is no empty list, which may be of names or of numbers."""
    return not isinstance(token, list | tuple) or len(token) > 0


def new_encoder(X: Any, template: Any, min_freq: int) -> Encoder | None:
    """What makes numbers of X; None if it holds numbers already."""
    if not isinstance(min_freq, int | np.integer) or min_freq < 0:
        raise ValueError(f"min_freq={min_freq!r}; a whole number from 0 on is expected")
    min_freq = max(int(min_freq), 1)  # an attribute of no token at all is not there to be left out
    if template is not None:
        return TemplateEncoder(read_template(template), min_freq)
    if isinstance(X, Columns):
        raise TypeError(
            "X holds columns of text; say which features to make of them by template=, for "
            'instance "chunking"'
        )
    if isinstance(X, Sequences):
        return None
    if isinstance(X, Attributes) or holds_attributes(X):
        return AttributeEncoder(min_freq)
    return None


def text_for(encoder: Encoder, X: Any, name: str = "X", *, may_be_empty: bool = False) -> Any:
    """X as the encoder wants it: columns or attributes."""
    text: Any
    if isinstance(encoder, TemplateEncoder):
        text = X if isinstance(X, Columns) else _columns_of(X, name)
    else:
        text = X if isinstance(X, Attributes) else _attributes_of(X, name)
    empty = np.flatnonzero(text.lengths == 0)
    if empty.size and not (may_be_empty and len(empty) < len(text.lengths)):
        raise ValueError(f"{name}[{empty[0]}] is an empty sequence; leave it out")
    if not len(text.lengths):
        raise ValueError(f"{name} has no sequences")
    return text


def _attributes_of(X: Any, name: str) -> Attributes:
    return attributes_of(_without_matrices(X, name), name)


def _without_matrices(X: Any, name: str) -> Iterator[Any]:
    for x in X:
        if any(isinstance(part, np.ndarray) or sparse.issparse(part) for part in (X, x)):
            raise TypeError(
                f"{name} holds matrices; the model was fitted with dicts or lists of strings, "
                "which it expects again"
            )
        yield x


def _columns_of(X: Any, name: str) -> Columns:
    if isinstance(X, str | np.ndarray) or not isinstance(X, Sequence | Iterator):
        raise TypeError(
            f"{name} is a {type(X).__name__}; with a template it is a list of sentences, each a "
            "list of rows of strings such as (word, part of speech)"
        )
    builder, sentences = ColumnsBuilder(), iter(X)
    while block := list(islice(sentences, SENTENCES_AT_ONCE)):
        builder.add(block, name)
    return builder.build()


def forced_numbers(forced: Any, labels: LabelCodec, lengths: np.ndarray) -> np.ndarray | None:
    """Label numbers that positions must have, -1 where they are free."""
    if forced is None:
        return None
    if len(forced) != len(lengths):
        raise ValueError(f"forced has {len(forced)} sequences but X has {len(lengths)}")
    numbers = []
    for i, part in enumerate(forced):
        if part is None:
            part = [None] * int(lengths[i])
        if len(part) != lengths[i]:
            raise ValueError(
                f"forced[{i}] has {len(part)} entries but X[{i}] has {lengths[i]} positions; "
                "use None where the label is free"
            )
        for t, label in enumerate(part):
            if label is not None and not (isinstance(label, Hashable) and label in labels.number):
                raise ValueError(
                    f"forced[{i}][{t}] is {label!r}, which is not one of the labels "
                    f"{labels.classes.tolist()}"
                )
            numbers.append(-1 if label is None else labels.number[label])
    return np.array(numbers, np.int32)
