"""The subgradient method, by two rules, with bounds that hold whatever its steps did.

The objective f(w) = lambda/2 |w|^2 + 1/n sum_i s_i h(xi_i(w)), xi_i = max_y H_i(y; w), has at w the
subgradient lambda w - 1/n sum_i s_i a_i psi_i(y_i), with y_i the oracle's labelling and
a_i = h'(xi_i): 1 with linear slacks, xi_i with squared ones.

**Pegasos** takes it on a batch of examples and a step 1 / (lambda t):

    w <- (1 - 1/t) w + 1/(lambda t) * mean over the batch of s_i a_i psi_i(y_i)

so that t w is a plain sum: after T visits in all, w = 1/(lambda T) * sum over visits of s_i a_i
psi_i(y). That sum is what is kept, and it says what a batch cut short at the end of a pass weighs.
Box constraints clip w, not the sum: "follow the regularised leader" has the guarantee of projected
steps. If every example was visited equally often, w is that of the dual point mu_i = mean of what
was found at the visits to i.

Squared slacks have slopes as large as themselves, and steps 1 / (lambda t) would overshoot further
each time until t exceeds s_i |psi_i|^2 / lambda. So a_i is the slack that the step will leave,
xi_i / (1 + s_i |psi_i|^2 / (lambda t)): an implicit step. Any a_i >= 0 gives a dual point.

**Polyak** takes all examples, and the step for which a lower bound on the optimum would be attained
if f were linear:

    step = lambda * (f(w) - lower) / |g|^2, at most 1;   mu_i <- (1 - step) mu_i + step e(y_i)

w is v(mu) throughout. Given the dual value of mu as the bound, the step is no other than batch
Frank-Wolfe's exact line search (without bounds, with linear slacks); a better bound shortens it.

**Bounds.** The upper bound is the objective at the iterate (and at the average), the lower bound
the value of a dual point: the average, example by example, of the labellings that the oracle found,
each counting as much as at its visit. Any such average is feasible, so the bound holds in any
order, in the middle of a pass, under bounds and for squared slacks; it is computed from mu alone:

    D(mu) = 1/n sum_i s_i (ell_i - h*(A_i)) - lambda (<v, u> - |u|^2 / 2),    u = clip(v(mu))

Iterate and dual point need not belong together. Without bounds the gap is that of the examples,
given w, and what separates w from the dual point's weights: lambda/2 |w - v|^2.

**Starting from an earlier solution.** Polyak's rule goes on from any dual point, and new examples
start at the truth. Steps of Pegasos shrink with the number of visits: they go on from Pegasos only,
on the same examples, and that number with them. With another C, what was found counts as one pass:
found at other weights, it would otherwise outweigh for long what is found now. Averages of iterates
begin anew.

References: Shalev-Shwartz, Singer, Srebro, Cotter (2011), Pegasos; Polyak (1969), Minimization of
unsmooth functionals; Bach (2015), Duality between subgradient and conditional gradient methods.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from taut._compile import in_mode
from taut.arrays.accumulator import dense_accumulator
from taut.solvers.block_solver import shrink_toward_truth
from taut.solvers.block_state import rebuild_weights
from taut.solvers.certificate import Certificate, OraclePass, Point
from taut.solvers.checks import is_count, parsed
from taut.solvers.objective import Objective, SlackPenalty, placed, problem_bounds
from taut.solvers.oracle_run import OracleRun
from taut.solvers.sampling import Order, new_sampler
from taut.solvers.solution import Solution, describe
from taut.solvers.solver import Solver
from taut.solvers.subgradient_steps import (
    AVERAGED,
    LOWER,
    MEAN_LOSS,
    ORACLE_CALLS,
    STEPS,
    VISITS,
    Rules,
    State,
    follow,
    pegasos_scale,
    pegasos_steps,
    polyak_step,
)

NOTHING = np.zeros(0)
# Scratch memory, and arrays that follow from the rest.
LEFT_OUT = frozenset(["w", "lower", "upper", "mu", "delta", "direct", "pull", "work", "y", "truth"])
# With so many weights, computing them takes about as long as the oracle of a short chain.
WEIGHTS_PER_VISIT = 20_000


class StepRule(IntEnum):
    PEGASOS = 0
    POLYAK = 1


@dataclass(frozen=True)
class Subgradient(Solver):
    """Options of the subgradient method.

    ``step="pegasos"`` visits examples in batches with steps 1 / (lambda t); the ``order`` is
    "permuted", "cyclic" or "uniform". ``step="polyak"`` moves by all examples at once, as far as
    the objective is above its best lower bound.

    A step of Pegasos changes all weights, however few features an example has. ``batch=None``
    therefore makes batches of dim / 20000 examples, at least 1, so that this takes no longer than
    the oracle; Pegasos has such batches too (its k).

    ``averaging`` also keeps the weighted average of the iterates, later ones counting more, and
    returns it unless only the last iterate is within the tolerance. The lower bound is then that
    of labellings averaged likewise, which is much tighter. Certificates are made every
    ``check_every`` passes.

    >>> Subgradient(batch=8).describe()
    'subgradient (Pegasos, order permuted, batch 8, averaging)'
    """

    step: StepRule | str = StepRule.PEGASOS
    order: Order | str = Order.PERMUTED
    batch: int | None = None
    averaging: bool = True
    check_every: int = 10  # type: ignore[assignment]  # an option, not a property

    takes_squared_slacks: ClassVar[bool] = True
    # Iterates of Pegasos approach the optimum from afar, and their average follows slowly.
    average_must_be_lower: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", parsed(StepRule, self.step, "step"))
        object.__setattr__(self, "order", parsed(Order, self.order, "order"))
        if self.order is Order.GAP:
            raise ValueError(
                "order='gap'; a subgradient needs examples drawn alike: 'permuted', 'cyclic' or "
                "'uniform'. Sampling by gaps is for BCFW"
            )
        if self.batch is not None and not is_count(self.batch):
            raise ValueError(
                f"batch={self.batch!r}; a whole number of examples, at least 1, or None to choose "
                "by the number of weights"
            )
        if self.batch is not None and self.is_polyak:
            raise ValueError(
                f"batch={self.batch} with step='polyak', which moves by all examples at once; "
                "leave batch out, or use step='pegasos'"
            )
        if not is_count(self.check_every):
            raise ValueError(
                f"check_every={self.check_every!r}; a whole number of passes, at least 1"
            )

    @property
    def is_polyak(self) -> bool:
        return self.step is StepRule.POLYAK

    def batch_size(self, dim: int, n: int) -> int:
        """
        >>> Subgradient().batch_size(4_000, 600), Subgradient().batch_size(1_000_000, 600)
        (1, 50)
        """
        batch = max(1, dim // WEIGHTS_PER_VISIT) if self.batch is None else int(self.batch)
        return min(batch, n)

    def describe(self) -> str:
        assert isinstance(self.order, Order)
        parts = ["Polyak"] if self.is_polyak else ["Pegasos", f"order {self.order.name.lower()}"]
        parts += [] if self.batch is None else [f"batch {self.batch}"]
        parts += ["averaging"] * self.averaging
        return f"subgradient ({', '.join(parts)})"

    def check_fits(self, problem: Any, objective: Objective) -> None:
        super().check_fits(problem, objective)
        if problem.dual_grows:
            raise ValueError(
                f"{self.describe()} keeps a dual point that cannot grow, as it must where only "
                "transitions seen in training have weights, or steps have features; use "
                'solver="bcfw" or another that has blocks'
            )

    def start(self, problem: Any, objective: Objective) -> "SubgradientRun":
        return SubgradientRun(problem, self, objective)


class SubgradientRun(OracleRun):
    """Starts cold, or from an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: Subgradient, objective: Objective):
        super().__init__(problem, solver, objective)
        box = problem_bounds(problem, objective.bounds)
        self.state = self._cold_state(box)
        self.rules = Rules(self.C, self.n, solver.batch_size(problem.dim, self.n), solver.averaging)

    def _cold_state(self, box: tuple[np.ndarray, np.ndarray]) -> State:
        """At the truth: v = 0."""
        lower, upper = box
        problem, solver = self.problem, self.solver
        dim, n, polyak = problem.dim, problem.n, solver.is_polyak
        squared = self.penalty is SlackPenalty.SQUARED
        v = np.zeros(dim)
        w = v if polyak else np.zeros(dim)
        found = np.zeros(0 if polyak else dim)
        return State(
            w=placed(w, lower, upper),
            v=v,
            lower=lower,
            upper=upper,
            mu=problem.new_dual(),
            ell=np.zeros(n),
            mass=np.zeros(n * squared),
            visits=np.zeros(0 if polyak else n, np.int64),
            found=found,
            sampler=new_sampler(solver.order, n, self.seed),
            average=np.zeros(dim * solver.averaging),
            mean_mass=np.zeros(n * (squared and polyak and solver.averaging)),
            count=np.zeros(4, np.int64),
            total=np.zeros(2),
            delta=problem.new_delta(),
            direct=dense_accumulator(v),
            pull=dense_accumulator(found),
            work=problem.new_work(),
            y=np.zeros(problem.longest, np.int32),
            truth=np.zeros(problem.longest, np.int32),
        )

    @property
    def dual(self) -> Any:
        return self.state.mu

    @property
    def keeps_answers(self) -> bool:
        return self.solver.is_polyak

    def compile_steps(self) -> None:
        in_mode(rebuild_weights, self.problem)(self.problem, self._boxless(), self.C, 0)
        if self.solver.is_polyak:
            self._polyak_step(0.0, self.oracle.label_at[:0])
        else:
            self._pegasos_steps(0)

    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        self._check_fits(earlier)
        self.put_dual(earlier.state.mu)
        before, state, problem = earlier.state, self.state, self.problem
        state.ell[:n_before] = before.ell
        if state.mass.size:
            state.mass[:n_before] = before.mass
        if share < 1.0:
            in_mode(shrink_toward_truth, problem)(problem, state, share, n_before)
            state.mass[:n_before] *= share
        self.rebuild()
        if not self.solver.is_polyak:
            self._take_visits(earlier, share)
        self.place_weights()

    def _take_visits(self, earlier: Solution, share: float) -> None:
        state, before = self.state, earlier.state
        state.visits[:] = before.visits
        state.count[VISITS] = before.count[VISITS]
        if earlier.C != self.C and before.count[VISITS] > self.n:
            share *= self.n / before.count[VISITS]
            state.visits[:] = np.minimum(before.visits, 1)
            state.count[VISITS] = self.n
        np.multiply(before.found, share, out=state.found)

    def place_weights(self) -> None:
        """Pegasos' weights from the sum that it keeps, Polyak's from v."""
        state = self.state
        if self.solver.is_polyak:
            state.w[:] = placed(state.v, state.lower, state.upper)
            return
        scale = pegasos_scale(self.C, self.n, int(state.count[VISITS]))
        follow(state.found, scale, state.lower, state.upper, state.w, NOTHING, 0.0)

    def _check_fits(self, earlier: Solution) -> None:
        ours, theirs = describe(self.solver), describe(earlier.solver)
        if not hasattr(earlier.state, "ell"):
            raise ValueError(
                f"{ours} cannot start from the earlier run, {theirs}, which keeps its dual point "
                "in another form; start cold, or from a solution of BCFW, FrankWolfe or Subgradient"
            )
        if self.solver.is_polyak:
            return
        if not isinstance(earlier.solver, Subgradient) or earlier.solver.is_polyak:
            why = f"the earlier run, {theirs}, counts none"
        elif earlier.n_examples != self.n:
            why = f"the earlier run visited {earlier.n_examples} of the {self.n} examples"
        else:
            return
        raise ValueError(
            f"{ours} takes steps that shrink with the number of visits, and {why}; start from it "
            'with Subgradient(step="polyak"), or start cold'
        )

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """Visit ``n_steps`` examples and complete the batch (Polyak: all examples, once)."""
        if not self.solver.is_polyak:
            self._pegasos_steps(n_steps)
            return
        self._ask_oracle()
        state = self.state
        best = max(state.total[LOWER], *(dual for _, dual in self.dual_points()))
        value = self.primal_value(state.w, self.oracle.reached)
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

    @property
    def left_out(self) -> frozenset[str]:  # type: ignore[override]
        """Polyak's v has the rounding of its steps; Pegasos computes it afresh."""
        return LEFT_OUT if self.solver.is_polyak else LEFT_OUT | {"v"}

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        if min(arrays[name].min(initial=0) for name in ("mass", "mean_mass")) < 0:
            raise ValueError("a mass is negative")
        super().put(arrays)

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
        oracle = self.new_oracle()
        oracle.run(point.w, self.dual)
        state.count[ORACLE_CALLS] += self.n
        return point, self._certificate(point.w, dual, oracle)

    def _certificate(self, w: np.ndarray, dual: float, asked: OraclePass) -> Certificate:
        """Of weights, by what the oracle was asked there; gaps are those of mu_i, given w."""
        gaps = self.penalty.cost(asked.best) - asked.mean
        if self.state.mass.size:
            gaps += self.penalty.conjugate(self.state.mass)
        return Certificate(self.primal_value(w, asked.best), dual, self.importance * gaps / self.n)

    def _ask_oracle(self) -> None:
        """At the current weights, unless Polyak has just asked there."""
        if self.oracle_is_fresh:
            return
        self.ask_all()
        self.oracle_is_fresh = self.solver.is_polyak  # Pegasos has no use for the labellings

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
        w = placed(v, self.state.lower, self.state.upper)
        cost = float(self.importance @ self.penalty.conjugate(mass)) if mass.size else 0.0
        return Point(w, v, loss), self.dual_value(v, w, loss - cost)

    def _loss(self) -> float:
        return float(self.importance @ self.state.ell)

    def rebuild(self) -> None:
        """v afresh from the dual point; the weights stay (Polyak's without bounds are v)."""
        in_mode(rebuild_weights, self.problem)(self.problem, self._boxless(), self.C, self.n)

    def _boxless(self) -> Any:
        return self.state._replace(lower=NOTHING, upper=NOTHING)
