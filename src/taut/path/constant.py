"""Constant pieces: Osokin's path, and his heuristic one (algorithm 7 with its errata).

At a breakpoint with gap g and average a = 1/n sum_i s_i sum_y alpha_i(y) H_i(y; w), the weights
stay within eps down to rho lambda, rho = 1 - (eps - g)/a. The dual point moves toward the truth,
alpha <- rho alpha, which keeps w; the gap of block i grows by (1 - rho) times its part of a. Then
the solver brings the gap down to kappa eps again. The first piece, to infinite lambda, is linear.

The heuristic path believes the gaps that the steps saw last instead of asking the oracle for all,
and is without guarantee.

Reference: Osokin, Alayrac, Lukasewitz, Dokania, Lacoste-Julien (2016), appendix D; the printed
stopping test is the wrong way round.
"""

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.path.pieces import largest_linear_gap, reach_of_constant
from taut.path.start import between
from taut.path.walk import Solved, Walk
from taut.problem import add_loss, block_value, scores
from taut.solvers.sampling import set_all_gaps
from taut.solvers.state import GLOBAL_GAP

KAPPA = 0.9
HEURISTIC_KAPPA = 0.7


class ConstantWalk(Walk):
    def compile(self) -> None:
        super().compile()
        if self.run.is_compiled:
            self._averages_into(np.zeros(0))

    def reach(self) -> float:
        return reach_of_constant(self.points[-1], self.promised)

    def arrive(self, solved: Solved) -> None:
        first = len(self.points) == 1
        if not first or largest_linear_gap(self.points[0], self.after(solved)) <= self.promised:
            self.accept(solved)

    def set_out(self) -> None:
        if len(self.points) == 1:
            self.go_to(between(np.inf, self.lam), 1.0)
            return
        rho = self.end / self.lam
        averages = self.run.importance * self._averages_into(np.zeros(self.run.n)) / self.run.n
        tree = self.run.state.sampler.tree
        gaps = tree[tree.size // 2 :][: self.run.n] + (1.0 - rho) * np.maximum(averages, 0.0)
        self.go_to(self.end, rho)
        set_all_gaps(tree, gaps)
        self.run.state.total[GLOBAL_GAP] = gaps.sum()

    def _averages_into(self, averages: np.ndarray) -> np.ndarray:
        problem, state = self.run.problem, self.run.state
        in_mode(block_averages, problem)(problem, state.w, state.mu, state.work, averages)
        return averages


class HeuristicWalk(ConstantWalk):
    def is_time_to_look(self) -> bool:
        return True

    def look(self) -> Solved | None:
        if len(self.points) == 1:
            return super().look()
        state = self.run.state
        gap = float(state.sampler.tree[1])
        if gap > self.target:
            return None
        loss = float(self.run.importance @ state.ell) / self.run.n
        average = loss - self.lam * float(state.v @ state.w)
        return self.solved(gap, average + gap)


@compiled
def block_averages(problem: Problem, w, mu, work: Opaque, averages):
    """H_i averaged over mu_i, of every block."""
    for i in range(averages.size):
        scores(problem, w, i, work)
        add_loss(problem, i, work)
        averages[i] = block_value(problem, w, i, work, mu)
