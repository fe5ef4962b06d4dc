"""Which labellings of a sequence are possible, and what to say when labels and rules disagree.

A labelling y is possible if begin[y_first], end[y_last] and step[y_t, y_t+1] for all t hold, and
y_t = forced_t wherever a label is forced (not -1).

A problem keeps the three tables as one array ``closed``, of shape (K + 2, K): the steps' rows, then
begin, then end; 0 where allowed, minus infinity where not. Nothing but the search for the best
labelling ever adds it to scores: averages are taken of finite numbers (0 * -inf is not one).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

# begin (K,), end (K,), step (K, K): boolean, true where allowed.
Tables = tuple[np.ndarray, np.ndarray, np.ndarray]


class InvalidTruth(ValueError):
    """A training example is labelled in a way that the constraints forbid.

    ``rule`` is "first" or "last" (``label`` may not be there), "step" (``label`` may not follow
    ``other``) or "forced" (``label`` is true, ``other`` is forced).
    """

    def __init__(
        self,
        example: int,
        position: int,
        rule: str,
        label: int,
        other: int = -1,
        names: Sequence[Any] | None = None,
    ):
        super().__init__(example, position, rule, label, other, names)
        self.example, self.position = example, position
        self.rule, self.label, self.other = rule, label, other
        self.names = names

    def with_names(self, names: Sequence[Any]) -> "InvalidTruth":
        """The same error in terms of the user's labels."""
        where = self.example, self.position
        return InvalidTruth(*where, self.rule, self.label, self.other, names)

    def __str__(self) -> str:
        return f"sequence {self.example}, position {self.position}: {self.problem}"

    @property
    def problem(self) -> str:
        """What is wrong, without the place."""
        label, other = _named(self.label, self.names), _named(self.other, self.names)
        what = {
            "first": f"{label} may not come first",
            "last": f"{label} may not come last",
            "step": f"{label} may not follow {other}",
            "forced": f"{label} is the true label, but {other} is forced",
        }[self.rule]
        return f"{what}; correct the labels, or train without the constraints"


class ImpossibleConstraint(ValueError):
    """No labelling of a sequence satisfies the constraints.

    ``position`` is the first at which no label remains, ``forced`` the label that is forced there
    (-1 if none), and ``before`` holds the labels that are possible one position earlier.
    """

    def __init__(
        self,
        example: int,
        position: int,
        forced: int = -1,
        before: Sequence[int] = (),
        names: Sequence[Any] | None = None,
    ):
        super().__init__(example, position, forced, before, names)
        self.example, self.position = example, position
        self.forced, self.before = forced, before
        self.names = names

    def with_names(self, names: Sequence[Any]) -> "ImpossibleConstraint":
        """The same error in terms of the user's labels."""
        where = self.example, self.position
        return ImpossibleConstraint(*where, self.forced, self.before, names)

    def __str__(self) -> str:
        why = []
        if self.forced >= 0:
            why.append(f"{_named(self.forced, self.names)} is forced")
        if 1 <= len(self.before) <= 3:
            labels = " or ".join(_named(label, self.names) for label in self.before)
            why.append(f"before it there can only be {labels}")
        reason = f" ({', '.join(why)})" if why else ""
        return (
            f"sequence {self.example}, position {self.position}: no label is possible here under "
            f"the constraints{reason}; force other labels, or none"
        )


def _named(label: int, names: Sequence[Any] | None) -> str:
    return f"label {label}" if names is None or label < 0 else repr(names[label])


def closed_table(allowed: Tables | None, n_states: int) -> np.ndarray:
    """The three boolean tables as penalties; no rows if they forbid nothing.

    >>> closed_table((np.array([True, False]), np.ones(2, bool), np.ones((2, 2), bool)), 2)
    array([[  0.,   0.],
           [  0.,   0.],
           [  0., -inf],
           [  0.,   0.]])
    """
    nothing = np.zeros((0, n_states))
    if allowed is None:
        return nothing
    shapes = {"begin": (n_states,), "end": (n_states,), "step": (n_states, n_states)}
    if len(allowed) != 3:
        raise ValueError(f"allowed has {len(allowed)} tables; expected begin, end and step")
    for (name, shape), table in zip(shapes.items(), allowed, strict=True):
        if np.shape(table) != shape or np.asarray(table).dtype != bool:
            raise ValueError(
                f"the table of allowed labels {name!r} must be boolean and have shape {shape}, not "
                f"{np.asarray(table).dtype} and {np.shape(table)}"
            )
    begin, end, step = allowed
    table = np.vstack([step, begin, end])
    return nothing if table.all() else np.ascontiguousarray(np.where(table, 0.0, -np.inf))


def forced_labels(forced: Any, n_nodes: int, n_states: int) -> np.ndarray:
    """Labels that nodes must have, -1 where they are free; empty if all are."""
    if forced is None:
        return np.zeros(0, np.int32)
    forced = np.asarray(forced)
    if forced.shape != (n_nodes,) or forced.dtype.kind not in "iu":
        raise ValueError(
            f"forced must hold one whole number for each of the {n_nodes} positions, not "
            f"{forced.dtype} values of shape {forced.shape}"
        )
    wrong = np.flatnonzero((forced < -1) | (forced >= n_states))
    if wrong.size:
        raise ValueError(
            f"forced[{wrong[0]}] is {forced[wrong[0]]}; expected a label from 0 to {n_states - 1}, "
            "or -1 for none"
        )
    return np.require(forced if (forced >= 0).any() else forced[:0], np.int32, ["C", "A"])


def check_truth(problem: Any) -> None:
    """Raise :class:`InvalidTruth` at the first true label that the constraints forbid.

    The dual starts at the truth: were it impossible, the certificate would prove nothing.
    """
    truth, n_states = problem.truth, problem.n_states
    first, last = problem.pointer[:-1], problem.pointer[1:] - 1
    violations: list[tuple[str, np.ndarray]] = []
    if problem.closed.size:
        is_open = problem.closed == 0.0
        later = np.delete(np.arange(len(truth)), first)
        violations += [
            ("first", first[~is_open[n_states, truth[first]]]),
            ("last", last[~is_open[n_states + 1, truth[last]]]),
            ("step", later[~is_open[truth[later - 1], truth[later]]]),
        ]
    if problem.forced.size:
        differs = (problem.forced >= 0) & (problem.forced != truth)
        violations.append(("forced", np.flatnonzero(differs)))
    found = [(int(nodes.min()), rule) for rule, nodes in violations if nodes.size]
    if found:
        node, rule = min(found)
        example = int(np.searchsorted(problem.pointer, node, "right")) - 1
        other = {"step": truth[node - 1], "forced": problem.forced[node : node + 1].sum()}
        raise InvalidTruth(
            example,
            node - int(problem.pointer[example]),
            rule,
            int(truth[node]),
            int(other.get(rule, -1)),
        )


def impossible(problem: Any, i: int) -> ImpossibleConstraint:
    """The error that says where example i runs out of possible labels.

    ``possible`` is the set of labels that some possible labelling up to here ends with.
    """
    n_states = problem.n_states
    nodes = slice(problem.pointer[i], problem.pointer[i + 1])
    length = nodes.stop - nodes.start
    forced = problem.forced[nodes] if problem.forced.size else np.full(length, -1)
    is_open = np.ones((n_states + 2, n_states), bool)
    if problem.closed.size:
        is_open = problem.closed == 0.0
    before = np.zeros(n_states, bool)
    for t in range(length):
        possible = is_open[n_states].copy()
        if t > 0:
            possible = np.any(is_open[:n_states][before], axis=0)
        if t == length - 1:
            possible &= is_open[n_states + 1]
        if forced[t] >= 0:
            possible &= np.arange(n_states) == forced[t]
        if not possible.any():
            return ImpossibleConstraint(i, t, int(forced[t]), np.flatnonzero(before).tolist())
        before = possible
    raise AssertionError(f"example {i} has a possible labelling")
