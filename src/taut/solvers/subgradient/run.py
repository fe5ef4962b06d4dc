"""One run of the subgradient method: its steps, and bounds that hold whatever they did.

The upper bound is the objective at the iterate (and at the average). The lower bound is the value
of a dual point: the average, example by example, of the labellings that the oracle found, each
counting as much as at its visit. Any such average is feasible, so the bound holds in any order, in
the middle of a pass, under bounds and for squared slacks; it is computed from mu alone:

    D(mu) = 1/n sum_i s_i (ell_i - h*(A_i)) - lambda (<v, u> - |u|^2 / 2),    u = clip(v(mu))

Iterate and dual point need not belong together. Without bounds the gap is that of the examples,
given w, and what separates w from the dual point's weights: lambda/2 |w - v|^2.
"""

from typing import Any

import numpy as np

from taut._compile import in_mode
from taut.accumulator import dense_accumulator
from taut.solvers.any_run import Objective
from taut.solvers.best import Best
from taut.solvers.bounds import problem_bounds
from taut.solvers.certificate import Certificate, OraclePass, Point
from taut.solvers.oracle_run import OracleRun
from taut.solvers.resume import Damaged, oracle_memory
from taut.solvers.solution import Solution
from taut.solvers.state import lengths_of, rebuild_weights
from taut.solvers.subgradient.options import Subgradient
from taut.solvers.subgradient.resume import resume, saved_arrays
from taut.solvers.subgradient.state import (
    AVERAGED,
    LOWER,
    MEAN_LOSS,
    ORACLE_CALLS,
    STEPS,
    cold_state,
)
from taut.solvers.subgradient.steps import Rules, pegasos_steps, polyak_step
from taut.solvers.subgradient.warm_start import take_over

NO_BOX = np.zeros(0)


class SubgradientRun(OracleRun):
    """Starts cold, or from an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: Subgradient, objective: Objective):
        super().__init__(problem, solver, objective)
        box = problem_bounds(problem, objective.bounds)
        self.state = cold_state(problem, solver, box, self.seed, self.penalty)
        self.rules = Rules(self.C, self.n, solver.batch_size(problem.dim, self.n), solver.averaging)
        self.n_threads = objective.n_threads
        label_at = np.concatenate([[0], np.cumsum(lengths_of(problem))])
        self.oracle = OraclePass(problem, self.n_threads, label_at if solver.is_polyak else None)
        self.memory_before = oracle_memory(problem).copy()

    @property
    def dual(self) -> Any:
        return self.state.mu

    def compile(self) -> None:
        """Run every kernel on nothing, so that compilation is not counted as training."""
        if not self.problem.is_compiled:
            return
        self.oracle.run(self.state.w, self.state.mu, nothing=True)
        in_mode(rebuild_weights, self.problem)(self.problem, self._boxless(), self.C, 0)
        if self.solver.is_polyak:
            self._polyak_step(0.0, self.oracle.label_at[:0])
        else:
            self._pegasos_steps(0)

    def continue_from(self, earlier: Solution, keep: str) -> None:
        take_over(self, earlier, keep)

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """Visit ``n_steps`` examples and complete the batch (Polyak: all examples, once)."""
        if not self.solver.is_polyak:
            self._pegasos_steps(n_steps)
            return
        self._ask_oracle()
        state = self.state
        best = max(state.total[LOWER], *(dual for _, dual in self.dual_points()))
        value = self._objective(state.w, self.oracle.reached)
        self._polyak_step(self.n * (value - best), self.oracle.label_at)
        state.total[LOWER] = best
        self.oracle_is_fresh = False
        state.count[STEPS] += self.n
        if state.average.size:
            self._average_dual_point()

    def _pegasos_steps(self, n_steps: int) -> None:
        steps = in_mode(pegasos_steps, self.problem)
        steps(self.problem, self.state, self.rules, n_steps)

    def _polyak_step(self, gain: float, label_at: np.ndarray) -> None:
        step, oracle = in_mode(polyak_step, self.problem), self.oracle
        found = oracle.reached
        amounts = np.maximum(found, 0.0) if self.state.mass.size else np.ones(len(found))
        whole = dense_accumulator(np.zeros(self.problem.dim))
        step(self.problem, self.state, self.C, gain, amounts, oracle.labels, label_at, whole)

    def _average_dual_point(self) -> None:
        """The k-th of Polyak's dual points counts k times."""
        state = self.state
        state.count[AVERAGED] += 1
        share = 2.0 / (state.count[AVERAGED] + 1.0)
        state.average[:] += share * (state.v - state.average)
        state.total[MEAN_LOSS] += share * (self._loss() - state.total[MEAN_LOSS])
        if state.mean_mass.size:
            state.mean_mass[:] += share * (state.mass - state.mean_mass)

    # --- checkpoints --------------------------------------------------------------------------

    def saved_arrays(self) -> dict[str, np.ndarray]:
        return saved_arrays(self)

    def resume(self, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
        resume(self, arrays, best, damaged)

    # --- measuring ----------------------------------------------------------------------------

    def certify(self) -> Certificate:
        self._ask_oracle()
        return self._certificate(self.state.w, self.dual_points()[0][1], self.oracle)

    def certified_average(self) -> tuple[Point, Certificate] | None:
        """Pegasos averages iterates, Polyak dual points; both have an oracle pass of their own."""
        state = self.state
        if not state.average.size or state.count[AVERAGED] == 0:
            return None
        point, dual = self.dual_points()[-1]
        if not self.solver.is_polyak:
            point = point._replace(w=state.average.copy())
        state.count[ORACLE_CALLS] += self.n
        return point, self._certificate(point.w, dual, self.pass_at(point.w))

    def _certificate(self, w: np.ndarray, dual: float, asked: OraclePass) -> Certificate:
        """Of weights, by what the oracle was asked there; gaps are those of mu_i, given w."""
        gaps = self.penalty.cost(asked.best) - asked.mean
        if self.state.mass.size:
            gaps += self.penalty.conjugate(self.state.mass)
        return Certificate(self._objective(w, asked.best), dual, self.importance * gaps / self.n)

    def _ask_oracle(self) -> None:
        """At the current weights, unless Polyak has just asked there."""
        if self.oracle_is_fresh:
            return
        self.ask_all()
        self.oracle_is_fresh = self.solver.is_polyak  # Pegasos has no use for the labellings

    def pass_at(self, w: np.ndarray) -> OraclePass:
        """The oracle's values at other weights; labellings are not kept."""
        asked = OraclePass(self.problem, self.n_threads)
        asked.run(w, self.state.mu)
        return asked

    def _objective(self, w: np.ndarray, slacks: np.ndarray) -> float:
        lam = 1.0 / (self.C * self.n)
        return 0.5 * lam * (w @ w) + float(self.importance @ self.penalty.cost(slacks)) / self.n

    def objective(self, w: np.ndarray) -> float:
        return self._objective(w, self.pass_at(w).best)

    def dual_points(self) -> list[tuple[Point, float]]:
        """The dual point and its value; then the average of Polyak's dual points, with its own."""
        state = self.state
        if not self.solver.is_polyak:
            self.rebuild()
        points = [self._valued(state.v, self._loss(), state.mass)]
        if self.solver.is_polyak and state.count[AVERAGED] > 0:
            average = state.average.copy()
            points.append(self._valued(average, state.total[MEAN_LOSS], state.mean_mass))
        return points

    def _valued(self, v: np.ndarray, loss: float, mass: np.ndarray) -> tuple[Point, float]:
        state, lam = self.state, 1.0 / (self.C * self.n)
        w = np.clip(v, state.lower, state.upper) if state.lower.size else v
        cost = float(self.importance @ self.penalty.conjugate(mass)) if mass.size else 0.0
        dual = (loss - cost) / self.n - lam * (v @ w - 0.5 * (w @ w))
        return Point(w, v, loss, state.mu), dual

    def _loss(self) -> float:
        return float(self.importance @ self.state.ell)

    def rebuild(self) -> None:
        """v afresh from the dual point; the weights stay (Polyak's without bounds are v)."""
        in_mode(rebuild_weights, self.problem)(self.problem, self._boxless(), self.C, self.n)

    def _boxless(self) -> Any:
        return self.state._replace(lower=NO_BOX, upper=NO_BOX)

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        """At w = 0 the slacks are the worst losses, and Pegasos needs nothing else."""
        if not cold or np.any(self.state.w) or self.solver.is_polyak:
            return self.certify()
        gaps = self.importance * self.penalty.cost(worst) / self.n
        return Certificate(float(gaps.sum()), 0.0, gaps)
