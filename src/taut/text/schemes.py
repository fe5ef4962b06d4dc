"""Tagging schemes: how spans are written as one label per token, and which may be neighbours.

Spans do not overlap; a label is ``O`` (outside every span) or ``PREFIX-TYPE``. What a prefix says
is how its token is linked to the token on each side:

    same    the neighbour is in the same span
    touch   the neighbour is in another span of the same type
    apart   neither: it is outside or of another type, or the sequence ends here

======== ====== ================= ================= ====================================
scheme   prefix link to the left  link to the right in words
======== ====== ================= ================= ====================================
IOB1     I      same, apart       any               I throughout; B only where a span
         B      touch             any               touches one of its type on the left
IOB2     B      touch, apart      any               B first, then I
(BIO)    I      same              any
IOE1     I      any               same, apart       I throughout; E only where a span
         E      any               touch             touches one of its type on the right
IOE2     I      any               same              I, and E last
         E      any               touch, apart
IOBES    B      touch, apart      same              B first, E last, I between them,
(BIOES)  I      same              same              S alone
         E      same              touch, apart
         S      touch, apart      touch, apart
BILOU    B I    as in IOBES                         L for E (last), U for S (unit)
         L U
======== ====== ================= ================= ====================================

All else follows from this table: two labels may be neighbours if some link suits both and agrees
with their types, and they are in one span if that link is "same".
"""

from collections.abc import Sequence
from enum import Enum, IntFlag
from typing import NamedTuple

import numpy as np

OUTSIDE = "O"


class MisfitLabel(ValueError):
    """A label that does not belong to a scheme; ``name`` is what holds it, if that is known."""

    def __init__(self, label: object, problem: str, name: str = ""):
        super().__init__(label, problem, name)
        self.label, self.problem, self.name = label, problem, name

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}" if self.name else self.problem

    def within(self, name: str) -> "MisfitLabel":
        """The same error with the name of what holds the label."""
        return MisfitLabel(self.label, self.problem, name)


class Scheme(Enum):
    """
    >>> Scheme.parse("bio")
    <Scheme.IOB2: 'IOB2'>
    """

    IOB1 = "IOB1"
    IOB2 = "IOB2"
    IOE1 = "IOE1"
    IOE2 = "IOE2"
    IOBES = "IOBES"
    BILOU = "BILOU"
    # Other names in use.
    BIO = "IOB2"
    BIOES = "IOBES"

    @classmethod
    def parse(cls, name: "str | Scheme") -> "Scheme":
        """The scheme of this name, in capitals or not."""
        if isinstance(name, cls):
            return name
        if isinstance(name, str) and name.upper() in cls.__members__:
            return cls.__members__[name.upper()]
        raise ValueError(
            f"{name!r} is not a tagging scheme; the schemes are {', '.join(cls.__members__)}"
        )


class Link(IntFlag):
    """How a token of a span is linked to its neighbour on one side."""

    SAME = 1
    TOUCH = 2
    APART = 4
    BREAK = TOUCH | APART
    ANY = SAME | BREAK


# The table above: prefix -> links to the left, links to the right.
_LINKS: dict[Scheme | None, dict[str, tuple[Link, Link]]] = {
    Scheme.IOB1: {"B": (Link.TOUCH, Link.ANY), "I": (Link.SAME | Link.APART, Link.ANY)},
    Scheme.IOB2: {"B": (Link.BREAK, Link.ANY), "I": (Link.SAME, Link.ANY)},
    Scheme.IOE1: {"I": (Link.ANY, Link.SAME | Link.APART), "E": (Link.ANY, Link.TOUCH)},
    Scheme.IOE2: {"I": (Link.ANY, Link.SAME), "E": (Link.ANY, Link.BREAK)},
    Scheme.IOBES: {
        "B": (Link.BREAK, Link.SAME),
        "I": (Link.SAME, Link.SAME),
        "E": (Link.SAME, Link.BREAK),
        "S": (Link.BREAK, Link.BREAK),
    },
    Scheme.BILOU: {
        "B": (Link.BREAK, Link.SAME),
        "I": (Link.SAME, Link.SAME),
        "L": (Link.SAME, Link.BREAK),
        "U": (Link.BREAK, Link.BREAK),
    },
    # No scheme: B starts, E and L end, S and U do both, I claims nothing; this and "same if both
    # allow it" are the rules of the CoNLL evaluation script.
    None: {
        "B": (Link.BREAK, Link.ANY),
        "I": (Link.ANY, Link.ANY),
        "E": (Link.ANY, Link.BREAK),
        "L": (Link.ANY, Link.BREAK),
        "S": (Link.BREAK, Link.BREAK),
        "U": (Link.BREAK, Link.BREAK),
    },
}


class Tags(NamedTuple):
    """Labels taken apart: how each is linked to its neighbours, and its type."""

    left: np.ndarray  # (K,) uint8: the links it may have to the left, as flags of Link
    right: np.ndarray  # (K,) uint8: to the right
    type: np.ndarray  # (K,) int32: which of the types; -1 for O
    types: list[str]  # distinct, in order of first appearance

    def possible_links(self) -> np.ndarray:
        """(K, K) uint8: the links that types alone permit between a label and its successor."""
        same_type = (self.type[:, None] == self.type) & (self.type >= 0)
        return np.where(same_type, Link.SAME | Link.TOUCH, Link.APART).astype(np.uint8)


class Allowed(NamedTuple):
    """Which labels may come first, come last, and follow one another."""

    begin: np.ndarray  # (K,) bool
    end: np.ndarray  # (K,) bool
    step: np.ndarray  # (K, K) bool: step[a, b] for b directly after a


class Borders(NamedTuple):
    """What lies between a label a and its successor b, as (K + 1, K + 1) tables [a, b].

    The last row and column stand for the outside of the sequence: what is before its first label
    and after its last.
    """

    joined: np.ndarray  # bool: both are in one span
    starts: np.ndarray  # bool: a span starts at b
    ends: np.ndarray  # bool: a span ends at a
    type: np.ndarray  # (K + 1,) int32: which of the types each label has; -1 for O
    types: list[str]


def split_label(label: str) -> tuple[str, str]:
    """Prefix and type, cut at the first hyphen.

    >>> split_label("B-NP-SBJ"), split_label("I")
    (('B', 'NP-SBJ'), ('I', ''))
    """
    prefix, _, type_ = label.partition("-")
    return prefix, type_


def parse_labels(labels: Sequence[str], scheme: Scheme | None) -> Tags:
    """Take labels apart; one that does not belong to the scheme is an error.

    Without a scheme, the prefixes of all schemes are taken together, and mean what the CoNLL
    evaluation script takes them for.

    >>> parse_labels(["O", "B-NP", "I-NP"], Scheme.IOB2).type
    array([-1,  0,  0], dtype=int32)
    """
    links = _LINKS[scheme]
    left, right, type_ = [], [], []
    numbers: dict[str, int] = {}
    for label in labels:
        if label == OUTSIDE:
            left.append(Link.APART)
            right.append(Link.APART)
            type_.append(-1)
            continue
        prefix, name = split_label(label) if isinstance(label, str) else (None, "")
        if prefix not in links:
            raise MisfitLabel(label, _misfit(label, labels, scheme))
        left.append(links[prefix][0])
        right.append(links[prefix][1])
        type_.append(numbers.setdefault(name, len(numbers)))
    return Tags(
        np.array(left, np.uint8), np.array(right, np.uint8), np.array(type_, np.int32), [*numbers]
    )


def transitions(labels: Sequence[str], scheme: Scheme) -> Allowed:
    """Which labels may come first, come last and follow one another in a scheme, strictly read.

    Exactly the sequences that write some spans in the scheme are allowed.

    >>> allowed = transitions(["O", "B-NP", "I-NP"], Scheme.IOB2)
    >>> allowed.begin
    array([ True,  True, False])
    >>> allowed.step.astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [1, 1, 1]])
    """
    # What is before and after a sequence is outside every span, as O is.
    tags = parse_labels([*labels, OUTSIDE], scheme)
    agreed = (tags.right[:, None] & tags.left & tags.possible_links()) != 0
    if not _some_span_can_be_written(agreed, tags):
        raise ValueError(
            f"no span can be written in {scheme.value} with the labels {', '.join(labels)} alone "
            "(some of its prefixes are missing); is it another scheme?"
        )
    return Allowed(agreed[-1, :-1], agreed[:-1, -1], agreed[:-1, :-1])


def _some_span_can_be_written(agreed: np.ndarray, tags: Tags) -> bool:
    """Whether a label of a span is on a way from the outside back to the outside.

    The last row and column of ``agreed`` stand for the outside.
    """
    reached, returns = agreed[-1], agreed[:, -1]
    for _ in range(len(agreed)):
        reached = reached | agreed[reached].any(axis=0)
        returns = returns | agreed[:, returns].any(axis=1)
    in_span = tags.type >= 0
    return bool(np.any(reached & returns & in_span) or not in_span.any())


def borders(labels: Sequence[str], scheme: Scheme | None) -> Borders:
    """Where spans start, go on and end, for any two neighbours, allowed or not.

    Tokens are in one span if both of them allow it. Otherwise a span starts or ends here if its
    own token allows it, whatever the neighbour says: a faulty label spoils its own span only.
    """
    tags = parse_labels([*labels, OUTSIDE], scheme)
    possible = tags.possible_links()
    in_span = tags.type >= 0
    joined = (tags.right[:, None] & tags.left & possible & Link.SAME) != 0
    starts = ~joined & ((tags.left & possible & Link.BREAK) != 0) & in_span
    ends = ~joined & ((tags.right[:, None] & possible & Link.BREAK) != 0) & in_span[:, None]
    return Borders(joined, starts, ends, tags.type, tags.types)


def _misfit(label: object, labels: Sequence[str], scheme: Scheme | None) -> str:
    """What is wrong with a label, and which scheme would do."""
    name = "any tagging scheme" if scheme is None else scheme.value
    known = ", ".join(f"{prefix}-TYPE" for prefix in _LINKS[scheme])
    message = f"the label {label!r} does not belong to {name}, whose labels are O, {known}"
    prefixes = {split_label(str(other))[0] for other in labels} - {OUTSIDE}
    fitting = [other.value for other in Scheme if prefixes <= _LINKS[other].keys()]
    if fitting:
        return f"{message}; all labels given would fit {' or '.join(fitting)}"
    return f"{message}; correct it"
