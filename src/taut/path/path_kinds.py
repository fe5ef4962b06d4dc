"""Kinds of paths: where to begin, where to go next, and what is accepted.

**Beginning** (Osokin et al. 2016, algorithm 6). For infinite lambda w = clip(0), and the best dual
point has all weight on the labellings y_i that the oracle answers there. With
psi = 1/n sum_i s_i psi_i(y_i) and theta_i = max_y -<psi, psi_i(y)>, the gap of this dual point at a
finite lambda is at most (|psi|^2 + 1/n sum_i s_i theta_i) / lambda: so the first lambda is that
number divided by the gap wanted. With bounds, the weights are psi clipped, which is right for
bounds in {0, -inf, inf}; for others the number is a first guess, and the walk goes back to a larger
lambda if its first piece turns out too long.

**Going on.** To keep the dual point scales the weights up, which is right where the loss decides
(large lambda); to keep the weights shrinks the dual point toward the truth, which is right where
margins hold. The best multiple c in [0, 1] maximises the dual value c loss - lambda h(c psi /
lambda), where psi is the dual point's v without the factor 1/lambda: a line search that asks no
oracle.

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

from taut._compile import Problem, compiled, in_mode
from taut.arrays.accumulator import clear, squared_norm
from taut.path.pieces import (
    Breakpoint,
    bulge,
    constant_gap,
    largest_linear_gap,
    reach_of_constant,
)
from taut.path.task import CONSTANT, GRID, HEURISTIC, LINEAR
from taut.path.walk import Solved, Walk
from taut.problem import add_corner, begin_change, project, true_label
from taut.solvers.block_state import GLOBAL_GAP, ORACLE_CALLS
from taut.solvers.certificate import block_averages
from taut.solvers.sampling import Order, set_all_gaps

# With a C of almost nothing w stays at clip(0), and every block step goes all the way.
ALMOST_NOTHING = 1e-150
# Beside weights so large the loss is nothing: the oracle then answers max_y -<w, psi_i(y)>.
BESIDE_LOSS = 1e9
# The path ends at C = so many times mean loss / mean |psi|^2, if the user does not say where: an
# example alone would satisfy its margin with a thousandth of that. ("scale" is about 12.)
MOST_FITTED = 1000.0
# Linear pieces are at most so long, as a ratio of lambdas, and change their length at most so
# quickly. (Longer ones save no oracle calls: what they save in breakpoints, warm starts from afar
# cost.)
LONGEST = 4.0
SLOWEST, FASTEST = 0.4, 3.0
# The bulge grows with the square of the length of a piece in log lambda; this much caution.
CAUTION = 0.8
# Of the gap solved to, the part that is typically not there.
SPARE = 0.3


class FromInfinity(Walk):
    """Begins where w = clip(0), and goes down to ``lam_min``."""

    def compile(self) -> None:
        super().compile()
        self._squared_norms_into(np.zeros(0))

    def begin(self) -> None:
        run, state, n = self.run, self.run.state, self.run.n
        hinge, norm = self._jump(), float(self.w @ self.w)
        self.points.append(Breakpoint(np.inf, 0.0, hinge, self.loss, norm, 0.0, 0.0))
        run.C = 1.0 / n
        run.rebuild()
        psi = state.v
        direction = psi if np.any(self.w) else state.w
        steepness = float(psi @ direction)
        theta = 0.0
        if steepness > 0:
            large = BESIDE_LOSS * self.scale / steepness
            run.oracle.run(large * direction, state.mu)
            state.count[ORACLE_CALLS] += n
            theta = float(run.importance @ run.oracle.best) / (large * n)
        if np.isnan(self.lam_min):
            norms = self._squared_norms_into(np.zeros(n))
            # An example of weight s has a step of C s: its square, so that C halves where weights
            # double.
            mean_norm = float(run.importance**2 @ norms) / n
            # Without features w = clip(0) everywhere, and any place to end is as good as another.
            self.lam_min = mean_norm / (MOST_FITTED * n * self.scale) if mean_norm > 0 else 1.0
        self.go_to(max((steepness + theta) / self.target, self.lam_min), 1.0)

    def _jump(self) -> float:
        """Move all blocks, which are at the truth, to the oracle's answers at clip(0).

        Returns the hinge there, the sum of the gaps that the steps saw.
        """
        run, sampler = self.run, self.run.state.sampler
        order = int(sampler.kind[0])
        sampler.kind[0] = Order.CYCLIC
        set_all_gaps(sampler.tree, np.full(run.n, np.inf))  # nothing in a cache promises as much
        run.C = ALMOST_NOTHING
        run.visit_all(run.n)
        sampler.kind[0] = order
        return float(sampler.tree[1])

    def _squared_norms_into(self, norms: np.ndarray) -> np.ndarray:
        in_mode(squared_norms, self.run.problem)(self.run.problem, self.run.state, norms)
        return norms


class LinearWalk(FromInfinity):
    method = LINEAR
    kappa = 0.8
    interpolates = True
    guarantees = True

    @property
    def certifies_first(self) -> bool:
        """The gaps at another lambda are worth a pass: steps are drawn, and sweeps end, by them."""
        return True

    def reach(self) -> float:
        last = self.points[-1]
        return 0.0 if constant_gap(last, 0.0) <= self.promise(0.0) else last.lam

    def arrive(self, solved: Solved) -> None:
        self.ahead.append(solved)
        while self.ahead and self._is_within(self.ahead[-1]):
            self.accept(self.ahead.pop())

    def _is_within(self, solved: Solved) -> bool:
        """Before it too, what is allowed there is: the optimum falls with lambda."""
        bound = largest_linear_gap(self.points[-1], self.after(solved))
        return bound <= self.promise(solved.point.dual)

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


class ConstantWalk(FromInfinity):
    method = CONSTANT
    kappa = 0.9
    guarantees = True

    def compile(self) -> None:
        super().compile()
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
    method = HEURISTIC
    kappa = 0.7
    guarantees = False
    estimates = True

    def is_time_to_look(self) -> bool:
        return True

    def look(self) -> Solved | None:
        if len(self.points) == 1:
            return super().look()
        state = self.run.state
        gap = float(state.sampler.tree[1])
        if gap > self.target:
            return None
        average = self.loss - self.lam * float(state.v @ state.w)
        return self.solved(gap, average + gap)


class GridWalk(Walk):
    method = GRID
    kappa = 1.0
    interpolates = True

    def about(self) -> dict[str, Any]:
        values = {"lambdas": list(self.options.lambdas), "warm start": self.options.warm_start}
        return {**super().about(), **values}

    def begin(self) -> None:
        hinge = self._begin_cold(self.options.lambdas[0])
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
        return self.options.warm_start is not None and len(self.points) > 1

    def reach(self) -> float:
        return self.points[-1].lam

    def set_out(self) -> None:
        lam, warm_start = self.options.lambdas[len(self.points) - 1], self.options.warm_start
        if warm_start is None:
            self.calls_before += self.run.oracle_calls
            self.run = self.task.new_run()
            self._begin_cold(lam)
        elif warm_start == "best":
            self.go_to(lam, best_multiple(self.run, lam))
        else:
            self.go_to(lam, lam / self.lam if warm_start == "primal" else 1.0)


METHODS: dict[str, type[Walk]] = {
    kind.method: kind for kind in (LinearWalk, ConstantWalk, HeuristicWalk, GridWalk)
}


def between(lam_a: float, lam_b: float) -> float:
    """Halfway in log lambda; on the way from infinity, a good deal larger."""
    return math.sqrt(lam_a * lam_b) if math.isfinite(lam_a) else 8.0 * lam_b


def best_multiple(run: Any, lam: float) -> float:
    state = run.state
    loss = float(run.importance @ state.ell) / run.n
    psi = state.v / (run.C * run.n)
    if not state.lower.size:
        norm = float(psi @ psi)
        return min(1.0, lam * loss / norm) if norm > 0 else 1.0

    def slope(c: float) -> float:
        return loss - float(psi @ np.clip(c / lam * psi, state.lower, state.upper))

    if slope(1.0) >= 0.0:
        return 1.0
    from scipy.optimize import brentq  # 20 MB and 0.1 s, which few need

    return float(brentq(slope, 0.0, 1.0)) if slope(0.0) > 0.0 else 0.0


@compiled
def squared_norms(problem: Problem, state, norms):
    """|Psi_i (mu_i - truth_i)|^2 of every block."""
    for i in range(norms.size):
        true_label(problem, i, state.y)
        begin_change(problem, i, state.mu, 1.0, state.work)
        add_corner(problem, i, state.y, -1.0, state.work)
        project(problem, i, state.work, 1.0, state.delta)
        norms[i] = squared_norm(state.delta)
        clear(state.delta)
