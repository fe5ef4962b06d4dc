"""Batch Frank-Wolfe: all blocks move together by one exact step.

    y_i = argmax_y H_i(y; w) for all i;   d = e(y) - mu;   step = clip(gain / (|Psi d|^2), 0, 1)

The oracle pass that gives the direction also gives the certificate, free of charge.

Reference: Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), algorithm 2.
"""

from dataclasses import dataclass
from typing import Any

from taut._compile import Problem, compiled
from taut.accumulator import squared_norm
from taut.problem import add_corner, advance, begin_change, forget, label_loss, project, weight
from taut.solvers.solver import Objective, Solver
from taut.solvers.state import AVERAGED, STEPS, line_search, move


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Options of batch Frank-Wolfe."""

    averaging: bool = False

    @property
    def check_every(self) -> int:
        return 1

    @property
    def keeps_corners(self) -> bool:
        return False

    @property
    def keeps_gram(self) -> bool:
        return False

    def describe(self) -> str:
        return "batch Frank-Wolfe"

    def start(self, problem: Any, objective: Objective) -> Any:
        from taut.solvers.run import Run  # which knows this class

        return Run(problem, self, objective)


@compiled
def fw_step(problem: Problem, state, C, gain, labels, label_at, whole):
    """Move every block toward its labelling; ``whole`` collects the direction of all blocks."""
    state.count[STEPS] += label_at.size
    state.count[AVERAGED] += 1
    loss_change = 0.0
    for i in range(label_at.size):
        y = labels[label_at[i] :]
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, y, 1.0, state.work)
        project(problem, i, state.work, weight(problem, i), whole)
        loss_change += weight(problem, i) * (label_loss(problem, i, y) - state.ell[i])
    step = line_search(state, whole, C, C * squared_norm(whole), gain, 1.0)
    for i in range(label_at.size):
        y = labels[label_at[i] :]
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, y, 1.0, state.work)
        advance(problem, i, state.mu, step, state.work)
        state.ell[i] += step * (label_loss(problem, i, y) - state.ell[i])
        forget(problem, i, y)
    move(state, whole, C, step, step * loss_change)
