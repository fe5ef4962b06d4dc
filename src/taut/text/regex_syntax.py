r"""How regular expressions are written: almost as in Python, or as in Wapiti's patterns.

============ ===================================================================================
``.``        any character
``[a-z\d]``  one of these, ``[^...]`` any other
``\d \w \s`` a digit, a letter or digit or ``_``, a blank; ``\D \W \S`` any other
``\a \l \u`` a letter, a small one, a capital; ``\p`` a sign of punctuation; also as capitals
``\.``       the sign itself
``^ $``      the beginning, the end
``* + ?``    any number, at least one, at most one; ``{3} {2,} {2,5}``; as few as possible: ``*?``
``ab|c (a)`` alternatives, groups
============ ===================================================================================
"""

import unicodedata
from collections.abc import Callable
from typing import NoReturn

from taut.text.regex import (
    UNLIMITED,
    Choice,
    Edge,
    Node,
    One,
    PatternError,
    Repeat,
    Sequence,
    can_be_empty,
)

LONGEST_PATTERN = 500
MOST_REPEATED = 100
DEEPEST = 20


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


KINDS: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "d": str.isdecimal,
    "l": str.islower,
    "p": _is_punctuation,
    "s": str.isspace,
    "u": str.isupper,
    "w": lambda character: character.isalnum() or character == "_",
}
WAPITI_KINDS = KINDS | {"w": str.isalnum}


def _anything(character: str) -> bool:
    return True


def _kind(letter: str, kinds: dict[str, Callable[[str], bool]]) -> Callable[[str], bool] | None:
    """What fits ``\\letter``; None if it stands for no kind of characters."""
    fits = kinds.get(letter.lower())
    if fits is None or letter.islower():
        return fits
    return lambda character: not fits(character)


def _check_length(pattern: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(
            f"a pattern of {len(pattern)} characters; at most {LONGEST_PATTERN} are expected"
        )


def python_like(pattern: str) -> Node:
    _check_length(pattern)
    return _Syntax(pattern).whole()


class _Syntax:
    """choice := sequence ('|' sequence)*,  sequence := (item [repetition ['?']])*."""

    def __init__(self, pattern: str):
        self.pattern = pattern
        self.position = 0

    def whole(self) -> Node:
        node = self._choice(0)
        if self._peek():
            self._fail("a ')' that closes nothing; write \\) for the sign itself")
        return node

    def _choice(self, depth: int) -> Node:
        if depth > DEEPEST:
            self._fail(f"groups are nested more than {DEEPEST} deep")
        parts = [self._sequence(depth)]
        while self._skip("|"):
            parts.append(self._sequence(depth))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repetition(self._item(depth)))
        return Sequence(tuple(parts))

    def _item(self, depth: int) -> Node:
        sign = self._take()
        if sign == "(":
            if self._skip("?") and not self._skip(":"):
                self._fail("groups are (...) or (?:...); nothing else begins with '(?'")
            node = self._choice(depth + 1)
            if not self._skip(")"):
                self._fail("a '(' that is not closed; write \\( for the sign itself")
            return node
        if sign == "[":
            return One(self._class())
        if sign == ".":
            return One(_anything)
        if sign in "^$":
            return Edge(sign == "$")
        if sign == "\\":
            return One(self._escaped())
        if sign in "*+?{":
            self._fail(f"nothing stands before {sign!r} to repeat; write \\{sign} for the sign")
        return One(sign.__eq__)

    def _escaped(self) -> Callable[[str], bool]:
        sign = self._take()
        fits = _kind(sign, KINDS)
        if fits is not None:
            return fits
        if not sign or sign.isalnum():
            self._fail(f"'\\{sign}' has no meaning here; \\a \\d \\l \\p \\s \\u \\w have one")
        return sign.__eq__

    def _class(self) -> Callable[[str], bool]:
        others = self._skip("^")
        kinds: list[Callable[[str], bool]] = []
        ranges: list[tuple[str, str]] = []
        while not self._skip("]"):
            first = self._class_member(kinds)
            if first is None:
                continue
            last: str | None = first
            if self._peek() == "-" and self.pattern[self.position + 1 : self.position + 2] != "]":
                self.position += 1
                last = self._class_member(kinds)
            if last is None or last < first:
                self._fail("a range like a-z goes from one sign up to another")
            ranges.append((first, last))
        if not kinds and not ranges:
            self._fail("'[]' holds nothing; write \\] for the sign itself")

        def fits(character: str) -> bool:
            inside = any(first <= character <= last for first, last in ranges)
            return (inside or any(kind(character) for kind in kinds)) != others

        return fits

    def _class_member(self, kinds: list[Callable[[str], bool]]) -> str | None:
        """A sign; or None, if a kind of signs was added to ``kinds``."""
        sign = self._take()
        if not sign:
            self._fail("a '[' that is not closed; write \\[ for the sign itself")
        if sign != "\\":
            return sign
        fits = _kind(self._peek(), KINDS)
        if fits is None:
            self._escaped()
            return self.pattern[self.position - 1]
        self.position += 1
        kinds.append(fits)
        return None

    def _repetition(self, node: Node) -> Node:
        least, most = 1, 1
        if self._skip("*"):
            least, most = 0, UNLIMITED
        elif self._skip("+"):
            least, most = 1, UNLIMITED
        elif self._skip("?"):
            least, most = 0, 1
        elif self._skip("{"):
            least, most = self._bounds()
        else:
            return node
        if can_be_empty(node):
            self._fail("what is repeated may be empty; let it have at least one character")
        greedy = not self._skip("?")
        if self._peek() in ("*", "+", "?", "{") and self._peek():
            self._fail("a repetition of a repetition; put a group around what is repeated")
        return Repeat(node, least, most, greedy)

    def _bounds(self) -> tuple[int, int]:
        text, closed, _ = self.pattern[self.position :].partition("}")
        self.position += len(text) + 1
        first, comma, second = text.partition(",")
        numbers = [number for number in (first, second) if number]
        if not closed or not numbers or not all(n.isascii() and n.isdigit() for n in numbers):
            self._fail("'{' is followed by numbers, as in {2,5}; write \\{ for the sign itself")
        least = int(first or 0) if len(first) < 9 else MOST_REPEATED + 1
        most = UNLIMITED if comma and not second else int((second or first)[:9])
        if least > MOST_REPEATED or most > MOST_REPEATED or 0 <= most < least:
            self._fail(f"'{{{text[:30]}}}' should rise, up to {MOST_REPEATED}")
        return least, most

    def _peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def _take(self) -> str:
        sign = self._peek()
        self.position += 1
        return sign

    def _skip(self, sign: str) -> bool:
        if self._peek() != sign:
            return False
        self.position += 1
        return True

    def _fail(self, what: str) -> NoReturn:
        at = min(self.position, len(self.pattern))
        raise PatternError(f"the pattern {self.pattern[:80]!r}, up to sign {at}: {what}")


def as_in_wapiti(pattern: str) -> Node:
    """Characters and kinds of them, ``*`` (as few as possible) and ``?``, ``^`` first, ``$`` last.

    Wapiti's own sees bytes; this one sees characters.
    """
    _check_length(pattern)
    parts: list[Node] = []
    position = 0
    if pattern.startswith("^"):
        parts, position = [Edge(at_end=False)], 1
    while position < len(pattern):
        sign = pattern[position]
        if sign == "$" and position == len(pattern) - 1:
            parts.append(Edge(at_end=True))
            break
        if sign in "*?":
            raise PatternError(f"{pattern!r} repeats nothing by {sign!r}; write \\{sign}")
        position += 1
        if sign == "\\":
            if position == len(pattern):
                raise PatternError(f"{pattern!r} ends with a backslash; write two of them")
            sign = pattern[position]
            node = One(_kind(sign, WAPITI_KINDS) or sign.__eq__)
            position += 1
        else:
            node = One(_anything if sign == "." else sign.__eq__)
        follows = pattern[position : position + 1]
        if follows == "*":
            parts.append(Repeat(node, 0, UNLIMITED, greedy=False))
        elif follows == "?":
            parts.append(Repeat(node, 0, 1, greedy=True))
        else:
            parts.append(node)
        position += follows in ("*", "?")
    return Sequence(tuple(parts))
