"""Batch Frank-Wolfe: all blocks move together by one exact step.

    y_i = argmax_y H_i(y; w) for all i;   d = e(y) - mu;   step = clip(gain / (|Psi d|^2), 0, 1)

The oracle pass that gives the direction also gives the certificate, free of charge.

Reference: Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), algorithm 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taut._compile import Problem, compiled, in_mode
from taut.arrays.accumulator import dense_accumulator, squared_norm
from taut.problem import add_corner, advance, begin_change, forget, label_loss, project, weight
from taut.solvers.block_solver import BlockRun, BlockSolver
from taut.solvers.block_state import AVERAGED, STEPS, line_search, move
from taut.solvers.objective import Objective


@dataclass(frozen=True)
class FrankWolfe(BlockSolver):
    """Options of batch Frank-Wolfe."""

    averaging: bool = False

    @property
    def check_every(self) -> int:
        return 1

    def describe(self) -> str:
        return "batch Frank-Wolfe"

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
        step = in_mode(fw_step, self.problem)
        step(self.problem, self.state, self.C, gain, self.oracle.labels, label_at, whole)

    def compile_steps(self) -> None:
        self._step(0.0, self.oracle.label_at[:0])
        self.state.count[:] = 0


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
