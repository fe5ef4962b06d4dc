"""JSON lines: one sequence per line, ``{"tokens": [...], "labels": [...], "weight": 2.5}``.

Labels and weight may be missing. Tokens are all of one kind in the whole file: objects of features,
lists of strings (names of attributes, or a row of columns), or strings (a single column).
"""

import json
import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from taut.text.reading.source import FormatError, Source, TextBlock, text_blocks

Kind = Literal["features", "rows", "strings"]

KEYS = ("tokens", "labels", "weight")
# Levels of lists and objects in one token: enough for nested features, and safe to walk through by
# recursion.
DEEPEST_TOKEN = 20
# No double is as large as an integer of more digits.
MOST_DIGITS = 309


class JsonBlock(NamedTuple):
    """Sequences of a file of JSON lines, as many as have arrived."""

    path: str
    kind: Kind  # of the tokens; the same in all blocks
    tokens: list[list[Any]]
    labels: list[list[str] | None]
    weights: list[float]  # 1 where a line gives none
    objects: list[dict[str, Any]]  # each line as it was parsed
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
            if sequence.kind != (kind := kind or sequence.kind):
                raise FormatError(
                    block.path,
                    sequence.line,
                    f"the tokens are {sequence.kind}, but {kind} in the lines before; one file "
                    "has one kind",
                )
        if kind and sequences:
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
        raise block.error(0, "no sequence up to the end; there are only blank lines")


class _Sequence(NamedTuple):
    line: int
    kind: Kind
    object: dict[str, Any]


def _sequences(block: TextBlock) -> Iterator[_Sequence]:
    for i, line in enumerate(block.lines()):
        if line.strip():
            try:
                parsed = _parsed(line)
                yield _Sequence(block.line + i, _checked_kind(parsed, line), parsed)
            except _Problem as problem:
                raise block.error(i, str(problem)) from None


class _Problem(Exception):
    """What is wrong with a line."""


def _parsed(line: str) -> Any:
    try:
        parsed = _DECODER.decode(line)
        if "\\u" in line:  # the only way to half a character
            json.dumps(parsed, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise _Problem(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise _Problem("lists or objects within each other too deep to be read") from None
    except UnicodeEncodeError:
        raise _Problem("a \\u escape gives half of a surrogate pair, which is no text") from None
    return parsed


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        key = next(key for key in keys if keys.count(key) > 1)
        raise _Problem(f"the key {_shown(key)} occurs twice in one object")
    return result


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise _Problem(f"an integer of more than {MOST_DIGITS} digits is too large")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Problem(f"{_shown(text)} is not a finite number")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_integer, parse_float=_finite, parse_constant=_finite
)


def _checked_kind(parsed: Any, line: str) -> Kind:
    """The kind of the tokens of a line that is as it should be."""
    if not isinstance(parsed, dict) or "tokens" not in parsed:
        raise _Problem('expected an object with "tokens", such as {"tokens": ["He", "ran"]}')
    for key in parsed:
        if key not in KEYS:
            raise _Problem(f"unknown key {_shown(key)}; the keys are {', '.join(KEYS)}")
    tokens = parsed["tokens"]
    kind = _kind(tokens)
    if "labels" in parsed:
        _check_labels(parsed["labels"], len(tokens))
    weight = parsed.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
        raise _Problem(f"weight is {_shown(weight)}; expected a number that is not negative")
    # Each token, and the three around them, open one bracket; strings may hold some, too.
    if line.count("[") + line.count("{") > len(tokens) + 3:
        _check_depth(tokens)
    return kind


def _kind(tokens: Any) -> Kind:
    if not isinstance(tokens, list) or not tokens:
        raise _Problem(f"tokens is {_shown(tokens)}; expected a list with at least one token")
    kinds = set(map(type, tokens))
    if kinds == {dict}:
        return "features"
    if kinds == {str}:
        return "strings"
    if kinds == {list}:
        for t, token in enumerate(tokens):
            if not all(isinstance(field, str) for field in token):
                raise _Problem(f"token {t} is {_shown(token)}; expected a list of strings")
        return "rows"
    raise _Problem("tokens must be all objects, all lists of strings or all strings")


def _check_labels(labels: Any, n_tokens: int) -> None:
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise _Problem(f"labels is {_shown(labels)}; expected a list of strings")
    if len(labels) != n_tokens:
        raise _Problem(f"{len(labels)} labels for {n_tokens} tokens; expected as many")


def _check_depth(tokens: list[Any]) -> None:
    level = tokens
    for _ in range(DEEPEST_TOKEN):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise _Problem(f"a token has more than {DEEPEST_TOKEN} lists or objects within each other")


def _parts(value: Any) -> Any:
    """The values in a list or object that are lists or objects themselves."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [part for part in values if isinstance(part, dict | list)]


def _shown(value: Any, limit: int = 60) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit] + "..."
