r"""Regular expressions whose time is bounded, whatever the pattern and the text.

A template may come from a model file that somebody else made, and Python's ``re`` can be made to
search for years. Here a pattern becomes a list of instructions (Thompson's construction), and all
ways through them are followed at once, so that a text of n characters takes at most n times as many
steps as there are instructions. Sets of places that were met before are looked up.

The first match from the left is found as in ``re``, with the same preferences (the first of several
alternatives, as many repetitions as possible, as few as possible with ``*?``). It begins where the
reversed pattern, run from the end of the text, matches last; it ends where the pattern matches last
from there, if whatever is preferred less than a match is dropped.

Reference: R. Cox, Regular Expression Matching Can Be Simple And Fast, 2007 and 2010.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

MOST_INSTRUCTIONS = 1000
MOST_REMEMBERED = 100_000  # places, of one automaton; then it forgets them all
UNLIMITED = -1


class PatternError(ValueError):
    """A regular expression that cannot be used."""


# --- what a pattern is made of ------------------------------------------------------------------


class One(NamedTuple):
    """One character that fits."""

    fits: Callable[[str], bool]


class Edge(NamedTuple):
    """Nothing, but only at the beginning or the end of the text."""

    at_end: bool


class Sequence(NamedTuple):
    parts: "tuple[Node, ...]"


class Choice(NamedTuple):
    parts: "tuple[Node, ...]"  # the preferred one first


class Repeat(NamedTuple):
    part: "Node"
    least: int
    most: int  # UNLIMITED: any number
    greedy: bool


Node = One | Edge | Sequence | Choice | Repeat


def can_be_empty(node: Node) -> bool:
    if isinstance(node, Sequence):
        return all(map(can_be_empty, node.parts))
    if isinstance(node, Choice):
        return any(map(can_be_empty, node.parts))
    if isinstance(node, Repeat):
        return node.least == 0 or can_be_empty(node.part)
    return isinstance(node, Edge)


# --- instructions -------------------------------------------------------------------------------


class Instruction(NamedTuple):
    node: One | Edge | None  # None: nothing has to fit
    after: tuple[int, ...]  # where to go on, the preferred place first; nowhere: it is a match


class _Program:
    """The instructions of a pattern, or of the reversed pattern after any characters."""

    def __init__(self, node: Node, backwards: bool):
        self.backwards = backwards
        self.instructions = [Instruction(None, ())]
        self.start = self._emit(node, 0)
        if backwards:
            loop = self._add(Instruction(None, ()))
            anything = self._add(Instruction(One(lambda _: True), (loop,)))
            self.instructions[loop] = Instruction(None, (self.start, anything))
            self.start = loop

    def _add(self, instruction: Instruction) -> int:
        if len(self.instructions) >= MOST_INSTRUCTIONS:
            raise PatternError("the pattern is too large; use fewer or smaller repetitions")
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def _emit(self, node: Node, after: int) -> int:
        """Where the node's instructions begin; they go on at ``after``."""
        if isinstance(node, One):
            return self._add(Instruction(node, (after,)))
        if isinstance(node, Edge):
            edge = Edge(node.at_end != self.backwards)
            return self._add(Instruction(edge, (after,)))
        if isinstance(node, Sequence):
            for part in node.parts if self.backwards else reversed(node.parts):
                after = self._emit(part, after)
            return after
        if isinstance(node, Choice):
            starts = tuple(self._emit(part, after) for part in node.parts)
            return self._add(Instruction(None, starts))
        return self._emit_repeat(node, after)

    def _emit_repeat(self, node: Repeat, after: int) -> int:
        end = after
        if node.most == UNLIMITED:
            after = self._add(Instruction(None, ()))
            self._choose(after, self._emit(node.part, after), end, node.greedy)
        else:
            for _ in range(node.most - node.least):
                choice = self._add(Instruction(None, ()))
                self._choose(choice, self._emit(node.part, after), end, node.greedy)
                after = choice
        for _ in range(node.least):
            after = self._emit(node.part, after)
        return after

    def _choose(self, at: int, more: int, end: int, greedy: bool) -> None:
        self.instructions[at] = Instruction(None, (more, end) if greedy else (end, more))


# --- following them -----------------------------------------------------------------------------


class _State:
    """Places that are reached together, the preferred one first."""

    def __init__(self, places: tuple[int, ...]):
        self.places = places
        self.is_match = 0 in places
        self.inner: dict[str, _State] = {}  # the state after a character
        self.last: dict[str, _State] = {}  # if the text ends behind it


class _Automaton:
    def __init__(self, node: Node, backwards: bool):
        program = _Program(node, backwards)
        self.instructions, self.start = program.instructions, program.start
        self.drops = not backwards  # what is preferred less than a match
        self._states: dict[tuple[int, ...], _State] = {}
        self._remembered = 0

    def last_match(self, text: str, at_begin: bool) -> int:
        """How many characters of the text the last match takes; -1 if there is none."""
        state = self._state((self.start,), at_begin, not text)
        found, end = 0 if state.is_match else -1, len(text)
        for i, character in enumerate(text, start=1):
            known = state.last if i == end else state.inner
            after = known.get(character)
            if after is None:
                after = self._step(state, character, i == end)
                known[character] = after
            state = after
            if state.is_match:
                found = i
            elif not state.places:
                break
        return found

    def _step(self, state: _State, character: str, at_end: bool) -> _State:
        self._remembered += 1 + len(state.places)
        if self._remembered > MOST_REMEMBERED:
            self._states, self._remembered = {}, 0
        reached: list[int] = []
        for place in state.places:
            node, after = self.instructions[place]
            if isinstance(node, One) and node.fits(character):
                reached += after
        return self._state(tuple(reached), False, at_end)

    def _state(self, reached: tuple[int, ...], at_begin: bool, at_end: bool) -> _State:
        """All that is reached without a further character, in order of preference."""
        places: dict[int, None] = {}
        seen = set()
        waiting = list(reversed(reached))
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            node, after = self.instructions[place]
            if isinstance(node, One) or place == 0:
                places[place] = None
                if place == 0 and self.drops:
                    break
            elif node is None or (at_end if node.at_end else at_begin):
                waiting += reversed(after)
        key = tuple(places)
        if key not in self._states:
            self._states[key] = _State(key)
        return self._states[key]


class Regex:
    """
    >>> from taut.text.regex_syntax import python_like
    >>> Regex(python_like("[0-9]+")).find("in 1984"), Regex(python_like("x")).find("in 1984")
    ('1984', None)
    """

    def __init__(self, node: Node):
        self._forwards, self._backwards = _Automaton(node, False), _Automaton(node, True)

    def find(self, text: str) -> str | None:
        """The first match; None if there is none."""
        behind = self._backwards.last_match(text[::-1], True)
        if behind < 0:
            return None
        begin = len(text) - behind
        taken = self._forwards.last_match(text[begin:], begin == 0)
        return text[begin : begin + taken]


@lru_cache(maxsize=100)
def compiled_regex(pattern: str, syntax: Callable[[str], Node]) -> Regex:
    return Regex(syntax(pattern))
