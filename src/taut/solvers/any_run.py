"""What the loop asks of a run, whatever moves it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from taut.problem.any_problem import AnyProblem
from taut.solvers.block_state import ORACLE_CALLS, STEPS
from taut.solvers.certificate import Certificate, Point
from taut.solvers.objective import Objective
from taut.solvers.sampling import put_sampler
from taut.solvers.solution import Solution, Status


class AnyRun(ABC):
    """A problem, a solver's options and the state they move."""

    state: Any  # has at least w, lower, upper (empty without bounds) and count

    problem: AnyProblem

    def __init__(self, problem: Any, solver: Any, objective: Objective):
        self.problem, self.solver = problem, solver
        self.C, self.penalty, self.l1 = objective.C, objective.penalty, objective.l1
        self.seed = objective.seed
        self.n = problem.n  # examples
        self.importance = np.asarray(problem.importance, np.float64)  # (n,)
        self.is_compiled, self.formulation = problem.is_compiled, problem.formulation
        self.inference, self.certifies = problem.inference, problem.certifies

    @property
    def lam(self) -> float:
        return 1.0 / (self.C * self.n)

    @property
    def steps(self) -> int:
        return int(self.state.count[STEPS])

    @property
    def pass_steps(self) -> int:
        """How many steps make a pass."""
        return self.n

    @property
    def passes(self) -> float:
        return self.steps / self.pass_steps

    @property
    def oracle_calls(self) -> int:
        return int(self.state.count[ORACLE_CALLS])

    @property
    def bounds_last(self) -> bool:
        """Whether a dual value bounds the objective of all weights, not only of those it came
        with."""
        return True

    @property
    def is_soft_final(self) -> bool:
        """Whether the soft gap, if there is one, is that of the penalty asked for."""
        return True

    @property
    def is_finished(self) -> bool:
        """Whether the last certificate found nothing more to do."""
        return False

    finished_as = Status.NO_VIOLATION  # if it is

    @abstractmethod
    def compile(self) -> None:
        """Run every kernel on little, so that compilation is not counted as training."""

    needs_dual_point: ClassVar[bool] = True  # of an earlier solution, or only its weights
    needs_same_relaxation: ClassVar[bool] = True

    def continue_from(self, earlier: Solution, keep: str) -> None:
        """Start from the dual point of an earlier solution.

        ``keep="dual"`` keeps mu, so that w is scaled by C / earlier C. ``keep="primal"`` keeps w by
        moving mu toward the truth, possible when C grows.
        """
        if keep not in ("dual", "primal"):
            raise ValueError(f'keep={keep!r}; expected "dual" or "primal"')
        if earlier.state is None and self.needs_dual_point:
            raise ValueError(
                "this solution has weights but no dual point (it was loaded from a file), so there "
                "is nothing to start from; start cold"
            )
        self._check_same_objective(earlier)
        n_before = earlier.n_examples  # they must be the first ones of this run
        if n_before > self.n or self.problem.fingerprint(n_before) != earlier.fingerprint:
            raise ValueError(
                "warm_start: the training data or the loss differ from those of the earlier "
                "solution, so its dual point proves nothing here; start cold (warm_start=False), "
                "or use partial_fit to add examples"
            )
        self.take_over(earlier, n_before, min(earlier.C / self.C, 1.0) if keep == "primal" else 1.0)

    def _check_same_objective(self, earlier: Solution) -> None:
        for name, theirs, ours in (
            ("formulation", earlier.formulation, self.formulation),
            ("slack_penalty", earlier.slack_penalty, self.penalty.value),
            ("l1", earlier.l1, self.l1),
        ):
            if theirs != ours:
                raise ValueError(
                    f"warm_start: the earlier solution has {name}={theirs!r}, this run {ours!r}, "
                    "so its dual point proves nothing here; keep it, or start cold"
                )
        if self.needs_same_relaxation and earlier.certifies != self.certifies:
            ours, theirs = self.certifies or "exact problem", earlier.certifies or "exact problem"
            raise ValueError(
                f"warm_start: the earlier solution is of the {theirs}, this run of the {ours}; use "
                "the same inference, or start cold"
            )

    def has_problem_of(self, earlier: Solution) -> bool:
        """Whether bounds proved of its objective, one it could go on from, are bounds of this."""
        before = earlier.state
        if before is None:
            return False  # whether it had bounds, nothing tells
        same_box = np.array_equal(before.lower, self.state.lower) and np.array_equal(
            before.upper, self.state.upper
        )
        return (
            same_box
            and earlier.C == self.C
            and earlier.n_examples == self.n
            and earlier.slack_penalty == self.penalty.value
            and bool(earlier.certifies) == bool(self.certifies)
            and earlier.solver.temperature == self.solver.temperature
        )

    @abstractmethod
    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        """Take this share of the dual point of the first ``n_before`` examples, and the truth for
        the rest of them; the examples beyond start at the truth."""

    @abstractmethod
    def advance(self, n_steps: int) -> None:
        """Take about so many steps."""

    @abstractmethod
    def certify(self) -> Certificate: ...

    @property
    def early_looks(self) -> tuple[int, ...]:
        """Passes before the second certificate after which there is one more, by ``look``."""
        return ()

    def look(self) -> Certificate:
        """A certificate for the history: if ``certify`` moves the run, this does not."""
        return self.certify()

    @abstractmethod
    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate: ...

    @abstractmethod
    def worst_losses(self, cold: bool) -> np.ndarray:
        """The objective at w = 0, example by example."""

    def certified_average(self) -> tuple[Point, Certificate] | None:
        """The average of the iterates, if the solver keeps one."""
        return None

    def final_state(self) -> Any:
        """What a solution keeps, for warm starts."""
        return self.state

    # --- values of primal and dual, where a run has weights w and the v of a dual point ---

    def norm(self, w: np.ndarray) -> float:
        """|w|^2 / 2 + l1 |w|_1."""
        return 0.5 * float(w @ w) + (self.l1 * float(np.abs(w).sum()) if self.l1 else 0.0)

    def primal_value(self, w: np.ndarray, slack: np.ndarray) -> float:
        """The objective where these are the oracle's values."""
        return self.lam * self.norm(w) + float(self.importance @ self.penalty.cost(slack)) / self.n

    def dual_value(self, v: np.ndarray, w: np.ndarray, loss: float) -> float:
        """``loss`` is sum_i s_i (ell_i - h*(A_i)), ``w`` what the bounds leave of v."""
        return loss / self.n - self.lam * (float(v @ w) - self.norm(w))

    # --- checkpoints ---

    @property
    def unsavable(self) -> str:
        """Why the state cannot be written to a file; "" if it can."""
        return ""

    # Fields of the state that are not saved: scratch memory, and what follows from the rest.
    left_out: ClassVar[frozenset[str]] = frozenset()
    recomputes_objectives: ClassVar[bool] = True  # or whether ``primal_of`` is only a bound

    @abstractmethod
    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Everything that cannot be computed from the rest, to the bit."""

    @property
    def growing(self) -> tuple[str, ...]:
        """How the names of saved arrays of any length begin."""
        return ()

    def saved_state(self) -> dict[str, np.ndarray]:
        return flattened(self.state, self.left_out)

    def put_state(self, arrays: dict[str, np.ndarray]) -> None:
        """All that is of fixed length, in place."""
        saved = self.saved_state()
        for name, array in saved.items():
            if not name.startswith(("sampler.", *self.growing)):
                array[...] = arrays[name]
        if "sampler.permutation" in saved:
            put_sampler(self.state.sampler, arrays)

    @abstractmethod
    def put(self, arrays: dict[str, np.ndarray]) -> None:
        """Be where the saved arrays say; ValueError, in words, where that is nowhere."""

    @abstractmethod
    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        """That the arrays, just put and certified, belong together; ValueError otherwise."""

    @abstractmethod
    def primal_of(self, w: np.ndarray) -> float:
        """The objective at other weights."""


def flattened(state: Any, left_out: frozenset[str], prefix: str = "") -> dict[str, np.ndarray]:
    """The arrays of a state by name, without those that are scratch or follow from the rest."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        if prefix == "" and name in left_out:
            continue
        if isinstance(value, tuple):
            arrays |= flattened(value, left_out, f"{name}.")
        else:
            arrays[prefix + name] = value
    return arrays


def check_follows(stored: np.ndarray, computed: np.ndarray, what: str) -> None:
    """Stored numbers are those that follow from the rest, but for rounding, which is kept."""
    rounding = 1e-9 * (1.0 + np.abs(stored).max(initial=0.0))
    close = np.allclose(stored, computed, rtol=1e-6, atol=rounding)
    if not (close and np.all(np.isfinite(computed))):
        raise ValueError(f"{what} do not belong together")
