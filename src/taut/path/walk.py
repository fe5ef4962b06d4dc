"""The walk along lambda: passes and certificates, from one breakpoint to the next.

What kind of path it is decides where the walk goes next (``path_kinds``). All that a walk knows is
in its attributes, and it stops only between its steps: going on after Ctrl-C, or from a checkpoint,
takes the same steps that it would have taken without.
"""

import math
import time
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from taut._compile import in_mode
from taut.path.held_out import Validation
from taut.path.pieces import TABLE, Breakpoint, checked_breakpoints
from taut.path.storage import below, new_storage
from taut.path.task import PathOptions, Task, check_accuracy
from taut.solvers.block_solver import shrink_toward_truth
from taut.solvers.block_state import rebuild_weights
from taut.solvers.loop import check_scale
from taut.solvers.one_blas_thread import one_blas_thread
from taut.solvers.progress import announced_compilation
from taut.solvers.watch import Watch

# Between two certificates there is at least a pass of oracle calls, but with a good cache not more
# than so many passes of steps.
MOST_CACHED_PASSES = 10
# Passes go on without a certificate while the gaps that the steps saw are larger than the target.
MOST_BLIND_PASSES = 4
# Fewer blocks than this in a pass are not worth interrupting.
SMALL_PASS = 20_000
# An interrupted user waits for this part of a pass, if it is not small.
SLICES = 16
# Where the walk is and what it is about to do, for a checkpoint.
COUNTS = ("came_at", "certified_at", "calls_then", "calls_before", "has_arrived")
NUMBERS = ("lam", "promised", "seconds", "lam_min")
# Scores may be no numbers, which an array of floats in a file may not.
SCORE = np.dtype([("score", "f8")])

GO_ON = "the breakpoints so far are good, extend() goes on"


class PathStatus(Enum):
    """How a walk ended; the text says what to do about it."""

    TO_ZERO = "the path is complete: its last weights serve for every smaller lambda"
    TO_LAM_MIN = "the path is complete, down to lam_min"
    INTERRUPTED = f"interrupted; {GO_ON}"
    TERMINATED = f"terminated by a signal; {GO_ON}"
    TIME_LIMIT = f"stopped at time_limit; {GO_ON}"
    CPU_LIMIT = f"stopped at cpu_limit; {GO_ON}"
    MAX_PASSES = (
        "stopped: max_passes at one lambda did not bring the gap down; the breakpoints so far are "
        "good. Raise max_passes and extend(), raise eps, or raise lam_min"
    )
    CALLBACK = f"stopped by the callback; {GO_ON}"


class Solved(NamedTuple):
    """A breakpoint with its weights."""

    point: Breakpoint
    w: np.ndarray


class Walk(ABC):
    """``eps`` is the gap promised, ``kappa`` the part of it to solve to.

    It is a part of the objective at w = 0, whose values example by example are ``worst``; or, with
    a ``floor``, of the optimum at each lambda, but not less than ``floor`` times that objective.
    """

    method: str
    kappa: float
    interpolates = False  # between breakpoints; otherwise weights are kept until the next
    guarantees = False  # whether the gap promised is that of every lambda
    estimates = False  # whether gaps are not proved
    # How the names of saved arrays of any length begin.
    growing = ("points", "weights", "storage.")

    @one_blas_thread()
    def __init__(self, task: Task, options: PathOptions, validation: Validation | None):
        self.task, self.options = task, options
        self.run = task.new_run()
        with announced_compilation(task.problem, task.progress):
            self.run.compile()
            if self.run.is_compiled:
                self.compile()
        self.worst = self.run.worst_losses(cold=True)
        self.scale = float(self.run.importance @ self.worst) / self.run.n
        check_scale(self.scale)
        self.eps = float(options.eps)
        self.floor = None if options.floor is None else float(options.floor)
        if options.kappa is not None:
            self.kappa = float(options.kappa)
        check_accuracy(task.problem, self.kappa * self.promise(0.0), self.eps)
        self.promised = self.eps * self.scale  # the gap, at the lambda of the last certificate
        self.max_passes = options.max_passes
        # If it is not given, it depends on the data, and is known when the walk begins.
        self.lam_min = np.nan if options.lam_min is None else float(options.lam_min)
        self.points: list[Breakpoint] = []  # the first one is the limit of infinite lambda
        self.ahead: list[Solved] = []  # solved, not yet part of the path; the nearest is last
        self.storage = new_storage(self.run) if options.keep_weights else None
        self.validation = validation
        self.w = self.run.state.w.copy()  # of the last point
        self.lam = np.inf  # where the run is now
        self.came_at = 0  # step at which it came there
        self.has_arrived = False  # whether its gap is small enough there
        self.certified_at = 0  # step and oracle call of the last certificate
        self.calls_then = 0
        self.calls_before = 0  # of runs that were given up
        self.seconds = 0.0
        self.begun = time.perf_counter()  # less what was walked before

    def compile(self) -> None:
        """Run the kernels of the walk on nothing, so that compilation is not counted as walking."""
        problem, state = self.run.problem, self.run.state
        in_mode(shrink_toward_truth, problem)(problem, state, 1.0, 0)
        in_mode(rebuild_weights, problem)(problem, state, 1.0, 0)

    def promise(self, optimum: float) -> float:
        """The gap promised where the optimum is at least so much."""
        if self.floor is None:
            return self.eps * self.scale
        return max(self.eps * optimum, self.floor * self.scale)

    @property
    def target(self) -> float:
        """The gap to solve to."""
        return self.kappa * self.promised

    @property
    def loss(self) -> float:
        """1/n sum_i s_i sum_y alpha_i(y) loss_i(y) of the run's dual point."""
        return float(self.run.importance @ self.run.state.ell) / self.run.n

    # --- what kinds of path decide ------------------------------------------------------------

    @abstractmethod
    def begin(self) -> None:
        """The first point, the limit of infinite lambda, and where to go first."""

    def arrive(self, solved: Solved) -> None:
        """The gap at ``lam`` is at most the target: accept it, put it aside or drop it."""
        self.accept(solved)

    @abstractmethod
    def set_out(self) -> None:
        """Go to where the next point should be."""

    @abstractmethod
    def reach(self) -> float:
        """Down to which lambda the last point gives weights."""

    # --- walking ------------------------------------------------------------------------------

    @one_blas_thread()
    def go(self, watch: Watch) -> PathStatus:
        """Walk until there is a reason to stop; another call goes on from there."""
        watch.begin(self.seconds)
        self.begun = watch.began
        with watch.noting():
            status = None
            while status is None:
                seen = max(len(self.points), 1)  # nobody is told of the limit
                status = self.step()
                self.seconds = watch.seconds
                stop = watch.tell(self.points[seen:], TABLE) or watch.after_slice(self)
                if status is None and stop is not None:
                    status = PathStatus[stop.name]
            watch.save(self)
        return status

    def save_to(self, checkpoint: Any) -> None:
        checkpoint.save(self)

    def line(self) -> str:
        done, seconds = self.share_done, self.seconds
        left = f", at least {seconds / done - seconds:.0f} s left" if done > 0 else ""
        found, passes = len(self.points) - 1, self.oracle_calls / self.run.n
        return (
            f"lambda {self.lam:.3g} ({100 * done:.0f} % of the way to {self.lam_min:.3g})  "
            f"{found} breakpoint{'' if found == 1 else 's'}  {passes:.1f} passes  "
            f"{seconds:.0f} s{left}"
        )

    @property
    def share_done(self) -> float:
        """Of the way from the first lambda to the last, in log lambda."""
        if len(self.points) < 2:
            return 0.0
        first = self.points[1].lam
        if self.end <= self.lam_min or first <= self.lam_min:
            return 1.0
        return math.log(first / self.end) / math.log(first / self.lam_min)

    @property
    def oracle_calls(self) -> int:
        return self.calls_before + self.run.oracle_calls

    @property
    def end(self) -> float:
        return self.reach() if len(self.points) > 1 else np.inf

    def step(self) -> PathStatus | None:
        """A slice of a pass; at its end perhaps a certificate, and what follows from it."""
        if self.end <= self.lam_min:  # which is not known before the walk has begun
            return PathStatus.TO_LAM_MIN if self.end > 0 else PathStatus.TO_ZERO
        is_elsewhere = self.has_arrived or not self.points
        if not self.points:
            self.begin()
        elif self.has_arrived:
            self.set_out()
        run, n = self.run, self.run.n
        if run.steps == self.certified_at and run.steps - self.came_at >= self.max_passes * n:
            return PathStatus.MAX_PASSES  # the last certificate was one too many
        if not (is_elsewhere and self.certifies_first):
            size = n if run.is_compiled and n <= SMALL_PASS else -(-n // SLICES)
            run.advance(min(size, n - run.steps % n))
            if run.steps % n:
                return None
        if not self.is_time_to_look():
            return None
        solved = self.look()
        if solved is not None:
            self.has_arrived = True
            self.arrive(solved)
        return None

    @property
    def certifies_first(self) -> bool:
        """Whether to look before the first step at a new lambda."""
        return len(self.points) == 1

    def is_time_to_look(self) -> bool:
        """A certificate costs a pass of oracle calls: worth it after as many, if there is hope."""
        run, n = self.run, self.run.n
        passes = (run.steps - self.certified_at) / n
        if passes == 0 or passes >= MOST_CACHED_PASSES:
            return True
        if run.oracle_calls - self.calls_then < n:
            return False
        return run.state.sampler.tree[1] <= self.target or passes >= MOST_BLIND_PASSES

    def look(self) -> Solved | None:
        """The certified point, if its gap is small enough."""
        certificate = self.run.certify()
        self.certified_at, self.calls_then = self.run.steps, self.run.oracle_calls
        self.promised = self.promise(certificate.dual)
        if certificate.gap > self.target:
            return None
        w = self.run.state.w
        return self.solved(certificate.gap, certificate.primal - 0.5 * self.lam * float(w @ w))

    def solved(self, gap: float, hinge: float) -> Solved:
        state = self.run.state
        if self.storage is not None:
            self.storage.append(self.run, self.lam)
        point = Breakpoint(
            lam=self.lam,
            gap=gap,
            hinge=hinge,
            loss=self.loss,
            norm=float(state.w @ state.w),
            product=float(state.v @ state.w),
            distance=np.nan,
        )
        return Solved(point, state.w.copy())

    def after(self, solved: Solved) -> Breakpoint:
        """The point as the next one of the path."""
        change = solved.w - self.w
        return solved.point._replace(distance=float(change @ change))

    def accept(self, solved: Solved) -> None:
        """The next point of the path; scores of what it covers are computed while it is at hand."""
        before, covered = self.w, self.end
        self.seconds = time.perf_counter() - self.begun
        point = self.after(solved)
        self.points.append(point._replace(oracle_calls=self.oracle_calls, seconds=self.seconds))
        self.w = solved.w
        if self.validation is not None:
            score = self.validation.of_piece(
                self.points[-2:], (before, self.w), covered, self.end, self.end <= self.lam_min
            )
            self.points[-1] = self.points[-1]._replace(score=score)

    def go_to(self, lam: float, shrink: float) -> None:
        """Go on at another lambda with this multiple of the dual point."""
        self.run.change_C(1.0 / (lam * self.run.n), shrink)
        self.is_at(lam)

    def is_at(self, lam: float) -> None:
        self.lam = lam
        self.came_at = self.certified_at = self.run.steps
        self.calls_then = self.run.oracle_calls
        self.has_arrived = False

    # --- checkpoints --------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """What a checkpoint must agree about."""
        at = None if self.validation is None else self.validation.lambdas
        return {
            "storage": type(self.storage).__name__,
            "method": self.method,
            "eps": self.eps,
            "kappa": self.kappa,
            "floor": self.floor,
            "validation": self.validation is not None if at is None else at.tolist(),
        }

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """All that cannot be computed from the rest, but for what the run saves itself."""
        of_storage = {} if self.storage is None else self.storage.arrays()
        scores = np.zeros(0) if self.validation is None else self.validation.scores
        ahead = self.ahead[::-1]
        return {
            "points": np.array([*self.points, *(solved.point for solved in ahead)], TABLE),
            "weights": np.array([self.w, *(solved.w for solved in ahead)]),  # from the last one on
            "scores": scores.astype(SCORE),
            "count": np.array([getattr(self, name) for name in COUNTS], np.int64),
            "number": np.array([getattr(self, name) for name in NUMBERS]),
            **{f"storage.{name}": value for name, value in of_storage.items()},
        }

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        """Be where the saved arrays say; ValueError, in words, where that is nowhere."""
        for name, count in zip(COUNTS, arrays["count"].tolist(), strict=True):
            setattr(self, name, count)
        asked_for = self.lam_min  # which may be smaller than it was
        for name, number in zip(NUMBERS, arrays["number"].tolist(), strict=True):
            setattr(self, name, number)
        self.lam_min = self.lam_min if np.isnan(asked_for) else asked_for
        if not (self.lam > 0 and self.promised > 0):
            raise ValueError("its lambda, or the gap it promises")
        self.run.C = 1.0 / (self.lam * self.run.n)
        points, weights = checked_breakpoints(arrays["points"]), arrays["weights"]
        last = len(points) - len(weights)
        if not (0 <= last < len(points) and weights.shape[1] == len(self.w)):
            raise ValueError("there are not as many weights as breakpoints")
        if not np.all(np.isfinite([point.distance for point in points[: last + 1]])):
            raise ValueError("how far its breakpoints are from each other")
        self.points, self.w = points[: last + 1], weights[0]
        self.ahead = [Solved(*s) for s in zip(points[last + 1 :], weights[1:], strict=True)][::-1]
        if self.storage is not None:
            self.storage.restore(below(arrays, "storage."))
            if not np.all(np.isin([point.lam for point in points[1:]], self.storage.lam)):
                raise ValueError("breakpoints without weights")
        if self.validation is not None:
            self.validation.take_up(arrays["scores"]["score"].copy(), points[1 : last + 1])
