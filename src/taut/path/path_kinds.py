"""Kinds of paths: where to go next, and what is accepted.

**Linear** pieces are as long as their closed-form bound allows. Solve at a smaller lambda, with a
gap of kappa eps, and look at the piece that would lead there. If its largest gap is within eps it
is accepted, and says how long the next one may be; if not, the point is put aside until the walk
has solved between. The bound is ours (see ``pieces``); to warm-start and to solve to a part of eps
at each breakpoint is from Osokin et al. (2016).

**Constant** pieces are Osokin's path (algorithm 7 with its errata). At a breakpoint with gap g and
average a = 1/n sum_i s_i sum_y alpha_i(y) H_i(y; w), the weights stay within eps down to
rho lambda, rho = 1 - (eps - g)/a. The dual point moves toward the truth, alpha <- rho alpha, which
keeps w; the gap of block i grows by (1 - rho) times its part of a. Then the solver brings the gap
down to kappa eps again. The first piece, to infinite lambda, is linear. His **heuristic** path
believes the gaps that the steps saw last instead of asking the oracle for all, and is without
guarantee.

A **grid** is what a path is compared with: given values of lambda, each solved to a gap of eps,
from the solution before or from nothing. Linear pieces prove something between them too, though
nobody has seen to it that it is within eps.

Reference: Osokin, Alayrac, Lukasewitz, Dokania, Lacoste-Julien (2016), appendix D; the printed
stopping test is the wrong way round.
"""

import math
from typing import Any

import numpy as np

from taut._compile import in_mode
from taut.path.pieces import (
    Breakpoint,
    bulge,
    constant_gap,
    largest_linear_gap,
    reach_of_constant,
)
from taut.path.start import best_multiple, between
from taut.path.task import PathOptions, Task
from taut.path.walk import Solved, Walk
from taut.solvers.block_state import GLOBAL_GAP
from taut.solvers.certificate import block_averages
from taut.solvers.sampling import set_all_gaps

# Linear pieces are at most so long, as a ratio of lambdas, and change their length at most so
# quickly. (Longer ones save no oracle calls: what they save in breakpoints, warm starts from afar
# cost.)
LONGEST = 4.0
SLOWEST, FASTEST = 0.4, 3.0
# The bulge grows with the square of the length of a piece in log lambda; this much caution.
CAUTION = 0.8
# Of the gap solved to, the part that is typically not there.
SPARE = 0.3
# What a grid's value may take from the one before.
WARM_STARTS = ("best", "primal", "dual", None)


class LinearWalk(Walk):
    kappa = 0.8

    @property
    def certifies_first(self) -> bool:
        """The gaps at another lambda are worth a pass: steps are drawn, and sweeps end, by them."""
        return True

    def allowed(self, point: Breakpoint) -> float:
        """The gap that is allowed there; and before, since the optimum falls with lambda."""
        if self.floor is None:
            return self.promised
        return max(self.part * point.dual, self.floor * self.scale)

    def reach(self) -> float:
        last = self.points[-1]
        least = self.promised if self.floor is None else self.floor * self.scale
        return 0.0 if constant_gap(last, 0.0) <= least else last.lam

    def arrive(self, solved: Solved) -> None:
        self.ahead.append(solved)
        while self.ahead and self._is_within(self.ahead[-1]):
            self.accept(self.ahead.pop())

    def _is_within(self, solved: Solved) -> bool:
        bound = largest_linear_gap(self.points[-1], self.after(solved))
        return bound <= self.allowed(solved.point)

    def set_out(self) -> None:
        here = self.points[-1].lam
        if self.ahead:
            lam = between(here, self.ahead[-1].point.lam)
        else:
            lam = max(here / self._ratio(), self.lam_min)
        self.go_to(lam, best_multiple(self.run, lam))

    def _ratio(self) -> float:
        """How far the next piece may go, from the bulge of the last."""
        a, b = self.points[-2:]
        if a.u == 0.0:
            return LONGEST
        length = math.log(a.lam / b.lam)
        height = 0.5 * bulge(a, b) / (a.u + b.u)  # in the middle, t = 1/2
        room = self.promised - (1.0 - SPARE) * self.target
        change = CAUTION * math.sqrt(room / height) if height > 0 else FASTEST
        return min(math.exp(length * float(np.clip(change, SLOWEST, FASTEST))), LONGEST)


class ConstantWalk(Walk):
    kappa = 0.9

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
    kappa = 0.7

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


class GridWalk(Walk):
    kappa = 1.0

    def __init__(self, task: Task, options: PathOptions):
        super().__init__(task, options)
        self.new_run = task.new_run  # a grid without warm start makes one for each lambda
        self.lambdas, self.warm_start = np.asarray(options.lambdas), options.warm_start

    def about(self) -> dict[str, Any]:
        return {"lambdas": self.lambdas.tolist(), "warm start": self.warm_start}

    def begin(self) -> None:
        hinge = self._begin_cold(float(self.lambdas[0]))
        norm = float(self.w @ self.w)
        self.points.append(Breakpoint(np.inf, 0.0, hinge, 0.0, norm, 0.0, 0.0))

    def _begin_cold(self, lam: float) -> float:
        """Set a new run to lambda, at the truth, with the gaps it has there; returns its hinge."""
        run = self.run
        run.C = 1.0 / (lam * run.n)
        certificate = run.first_certificate(self.worst, cold=True)
        self.is_at(lam)
        return certificate.primal - 0.5 * lam * float(run.state.w @ run.state.w)

    @property
    def certifies_first(self) -> bool:
        """From a warm start the next value may be there already."""
        return self.warm_start is not None and len(self.points) > 1

    def reach(self) -> float:
        return self.points[-1].lam

    def arrive(self, solved: Solved) -> None:
        self.accept(solved)

    def set_out(self) -> None:
        lam = float(self.lambdas[len(self.points) - 1])
        if self.warm_start is None:
            self.calls_before += self.run.oracle_calls
            self.run = self.new_run()
            self._begin_cold(lam)
        elif self.warm_start == "best":
            self.go_to(lam, best_multiple(self.run, lam))
        else:
            self.go_to(lam, lam / self.lam if self.warm_start == "primal" else 1.0)
