"""JSON lines: one sequence per line, ``{"tokens": [...], "labels": [...], "weight": 2.5}``.

Labels and weight may be missing; the weight says how much a sequence counts in training, by default
1. Other keys have no meaning here, and are kept for whoever writes the line again. Blank lines are
skipped. Tokens are all of one kind in the whole file: objects of features, lists of strings (names
of attributes, or a row of columns), or strings (a single column).
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from taut.text.reading.source import (
    BLANKS,
    FormatError,
    Problem,
    Source,
    TextBlock,
    shown,
    text_blocks,
)

Kind = Literal["features", "rows", "strings"]

KEYS = ("tokens", "labels", "weight")
# Levels of lists and objects in one token, or in the value of another key: enough for nested
# features, and safe to walk through by recursion.
DEEPEST_TOKEN = 20


class JsonBlock(NamedTuple):
    """Sequences of a file of JSON lines, as many as have arrived."""

    path: str
    kind: Kind  # of the tokens; the same in all blocks
    tokens: list[list[Any]]
    labels: list[list[str] | None]
    weights: list[float]  # 1 where a line gives none
    objects: list[dict[str, Any]]  # each line as it was parsed, other keys included
    line_numbers: list[int]  # of each sequence, from 1

    def error(self, sequence: int, problem: str) -> FormatError:
        """The error for a fault that is found in a sequence later on."""
        return FormatError(self.path, self.line_numbers[sequence], problem)


def json_blocks(source: Source, *, encoding: str = "utf-8") -> Iterator[JsonBlock]:
    """Read JSON lines as a stream; from a pipe, a sequence comes with the end of its line.

    Parameters
    ----------
    source : path, "-" or open file
        Packed by gzip or not; ``"-"`` is standard input.
    encoding : {"utf-8", "latin-1"}

    Raises
    ------
    FormatError
        With file and line, if the file does not follow the format.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO('{"tokens": ["He", "ran"], "labels": ["B-NP", "B-VP"]}')
    >>> [block] = json_blocks(file)
    >>> block.kind, block.tokens, block.labels, block.weights
    ('strings', [['He', 'ran']], [['B-NP', 'B-VP']], [1.0])
    """
    kind: Kind | None = None
    for block in text_blocks(source, encoding):
        sequences = list(_sequences(block))
        for sequence in sequences:
            if kind is None:
                kind = sequence.kind
            if sequence.kind != kind:
                raise FormatError(
                    block.path,
                    sequence.line,
                    f"the tokens are {sequence.kind}, but {kind} in the lines before; one file "
                    "has one kind",
                )
        if kind is not None and sequences:
            yield JsonBlock(
                block.path,
                kind,
                [sequence.object["tokens"] for sequence in sequences],
                [sequence.object.get("labels") for sequence in sequences],
                [float(sequence.object.get("weight", 1.0)) for sequence in sequences],
                [sequence.object for sequence in sequences],
                [sequence.line for sequence in sequences],
            )
    if kind is None:
        raise FormatError(block.path, 1, "no sequence in the whole file, only blank lines")


class _Sequence(NamedTuple):
    line: int
    kind: Kind
    object: dict[str, Any]


def _sequences(block: TextBlock) -> Iterator[_Sequence]:
    for i, line in enumerate(block.lines()):
        if line.strip(BLANKS):
            try:
                parsed = _parsed(line)
                yield _Sequence(block.line + i, _checked_kind(parsed, line), parsed)
            except Problem as problem:
                raise block.error(i, str(problem)) from None
            except RecursionError:
                raise block.error(i, "lists or objects within each other, too deep") from None


def _parsed(line: str) -> Any:
    try:
        parsed = _DECODER.decode(line)
        if "\\u" in line:  # the only way to half a character
            json.dumps(parsed, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise Problem(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except UnicodeEncodeError:
        raise Problem("a \\u escape gives half of a surrogate pair, which is no text") from None
    return parsed


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise Problem(f"the key {shown(key)} occurs twice in one object")
    return result


def _integer(text: str) -> int:
    _finite(text)  # it becomes a double sooner or later
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Problem(f"{shown(text)} is not a finite number")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_integer, parse_float=_finite, parse_constant=_finite
)


def _checked_kind(parsed: Any, line: str) -> Kind:
    """The kind of the tokens of a line that is as it should be."""
    if not isinstance(parsed, dict) or "tokens" not in parsed:
        raise Problem('expected an object with "tokens", such as {"tokens": ["He", "ran"]}')
    tokens = parsed["tokens"]
    kind = _kind(tokens)
    if "labels" in parsed:
        _check_labels(parsed["labels"], len(tokens))
    weight = parsed.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
        raise Problem(f"weight is {shown(weight)}; expected a number that is not negative")
    # Each token, and the three around them, open one bracket; strings may hold some, too.
    if line.count("[") + line.count("{") > len(tokens) + 3:
        _check_depth(tokens, "a token")
    for key in parsed.keys() - KEYS:
        _check_depth([parsed[key]], f"the value of {shown(key)}")
    return kind


def _kind(tokens: Any) -> Kind:
    if not isinstance(tokens, list) or not tokens:
        raise Problem(f"tokens is {shown(tokens)}; expected a list with at least one token")
    kinds = set(map(type, tokens))
    if kinds == {dict}:
        return "features"
    if kinds == {str}:
        return "strings"
    if kinds == {list}:
        for t, token in enumerate(tokens):
            if not all(isinstance(field, str) for field in token):
                raise Problem(f"token {t} is {shown(token)}; expected a list of strings")
        return "rows"
    raise Problem("tokens must be all objects, all lists of strings or all strings")


def _check_labels(labels: Any, n_tokens: int) -> None:
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise Problem(f"labels is {shown(labels)}; expected a list of strings")
    if len(labels) != n_tokens:
        raise Problem(f"{len(labels)} labels for {n_tokens} tokens; expected as many")


def _check_depth(values: list[Any], what: str) -> None:
    level = values
    for _ in range(DEEPEST_TOKEN):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise Problem(f"{what} has more than {DEEPEST_TOKEN} lists or objects within each other")


def _parts(value: Any) -> Any:
    """The values in a list or object that are lists or objects themselves."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [part for part in values if isinstance(part, dict | list)]
