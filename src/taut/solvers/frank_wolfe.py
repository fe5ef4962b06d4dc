"""Batch Frank-Wolfe: all blocks move together by one step.

    y_i = argmax_y H_i(y; w) for all i;   d = e(y) - mu;   step = clip(gain / (|Psi d|^2), 0, 1)

The step is exact, unless ``step`` says otherwise (see ``step_length``). The oracle pass that gives
the direction also gives the certificate, free of charge.

Reference: Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), algorithms 1 and 2.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Problem, by_reference, compiled, in_mode
from taut.arrays.accumulator import Accumulator, dense_accumulator
from taut.problem import add_corner, advance, begin_change, forget, label_loss, project, weight
from taut.solvers.block_solver import BlockRun, BlockSolver
from taut.solvers.block_state import AVERAGED, STEPS, move
from taut.solvers.checks import parsed
from taut.solvers.objective import Objective
from taut.solvers.step_length import FIXED, StepLength, fixed_step, named, step_along


@dataclass(frozen=True)
class FrankWolfe(BlockSolver):
    """Options of batch Frank-Wolfe.

    ``step`` is "line-search"; "parabola", which is another one only within bounds, where it is
    shorter; or "fixed", 2 / (k + 2) after k steps. ``averaging`` returns the weighted average of
    the iterates, unless only the last one is within the tolerance.

    >>> FrankWolfe(step="fixed").describe()
    'batch Frank-Wolfe (step fixed)'
    """

    averaging: bool = False
    step: StepLength | str = StepLength.LINE_SEARCH

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", parsed(StepLength, self.step, "step"))

    @property
    def check_every(self) -> int:
        return 1

    def describe(self) -> str:
        assert isinstance(self.step, StepLength)
        is_exact = self.step is StepLength.LINE_SEARCH
        return "batch Frank-Wolfe" + ("" if is_exact else f" (step {named(self.step)})")

    def start(self, problem: Any, objective: Objective) -> "FrankWolfeRun":
        return FrankWolfeRun(problem, self, objective)


class FrankWolfeRun(BlockRun):
    stops_when_full = True  # it makes room for a step of all blocks

    @property
    def keeps_answers(self) -> bool:
        return True

    def visit(self, n_blocks: int) -> None:
        """One step of all blocks, by the labellings of the last certificate if it was here."""
        if not self.oracle_is_fresh:
            self.certify()
        self.oracle_is_fresh = False
        self.make_room(for_all=True)
        oracle = self.oracle
        gain = float(self.importance @ (oracle.reached - oracle.mean))
        self._step(gain, oracle.label_at)

    def _step(self, gain: float, label_at: np.ndarray) -> None:
        whole = dense_accumulator(np.zeros(self.problem.dim))
        labels = Labelled(self.oracle.labels, label_at, whole)
        rule = int(self.solver.step)
        in_mode(fw_step, self.problem)(self.problem, self.state, self.C, gain, rule, labels)

    def compile_steps(self) -> None:
        self._step(0.0, self.oracle.label_at[:0])
        self.state.count[:] = 0


@by_reference
class Labelled(NamedTuple):
    """The labellings to go to, and room for the direction of all blocks."""

    y: Labels
    at: Integers  # where those of each example begin; empty: of none
    whole: Accumulator


@compiled
def fw_step(problem: Problem, state, C, gain, rule, labelled):
    """Move every block toward its labelling."""
    at, whole = labelled.at, labelled.whole
    n, taken = at.size, state.count[STEPS]
    state.count[STEPS] += n
    state.count[AVERAGED] += 1
    loss_change = 0.0
    for i in range(n):
        y = labelled.y[at[i] :]
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, y, 1.0, state.work)
        project(problem, i, state.work, weight(problem, i), whole)
        loss_change += weight(problem, i) * (label_loss(problem, i, y) - state.ell[i])
    step = fixed_step(state.ell.size, taken)
    if rule != FIXED:
        step = step_along(state, whole, C, gain, 1.0, rule)
    for i in range(n):
        y = labelled.y[at[i] :]
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, y, 1.0, state.work)
        advance(problem, i, state.mu, step, state.work)
        state.ell[i] += step * (label_loss(problem, i, y) - state.ell[i])
        forget(problem, i, y)
    move(state, whole, C, step, step * loss_change)
