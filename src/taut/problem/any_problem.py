"""Everything a run may ask of a problem: one list, with types, meanings and defaults.

A *problem* holds n examples. Labellings of example i are integer vectors of ``length(problem, i)``
entries; only the problem knows what they mean. Scores, features and loss are linear in the
marginals mu_i of a distribution over labellings, and the problem decides how to store mu_i (its
*dual*): solvers never look inside. With H_i(y; w) = loss_i(y) + <w, phi_i(y) - phi_i(truth)>, all
values are relative to the truth's.

A member marked ``needed`` must be written, by every problem or by those with a capability; any
other has its default here, which :func:`taut.problem.problem_type.problem_type` gives to a class
that does not write it. The page "How a solver sees a problem" explains them all.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np

from taut._compile import Labels, Opaque, Problem, Vector
from taut._compile.records import Nothing
from taut.arrays.accumulator import Accumulator
from taut.problem.capability import STEPS, SVM, Capability

SUMS, RESCALED = Capability.SUM_ORACLE, Capability.RESCALED_ORACLE
EVERY = ~Capability(0)


def needed(by: Capability = EVERY) -> Callable:
    """Marks a member that a problem with any of these capabilities must write itself."""

    def mark(function: Any) -> Any:
        function.needed_by = by
        return function

    return mark


class AnyProblem(Protocol):
    """What a run may ask; the first argument is called ``problem`` by convention."""

    # --- data ------------------------------------------------------------------------------------

    @property
    @needed()
    def n(problem) -> int:
        """Number of examples."""

    @property
    @needed()
    def dim(problem) -> int:
        """Number of weights."""

    @property
    @needed()
    def importance(problem) -> np.ndarray:
        """(n,) sample weights."""

    @property
    @needed(STEPS)
    def longest(problem) -> int:
        """Number of integers in the longest labelling."""

    @needed()
    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of data, labels and losses of the first n examples, or of all."""

    # --- what compiled code calls: one example, its scores and its oracle -------------------------

    @needed(STEPS)
    def length(problem: Problem, i: int) -> int:
        """Number of integers in a labelling of example i."""

    @needed(STEPS)
    def weight(problem: Problem, i: int) -> float:
        """Importance of example i (its sample weight)."""

    @needed(STEPS)
    def true_label(problem: Problem, i: int, y: Labels) -> None:
        """Write the true labelling into ``y``."""

    @needed(STEPS)
    def label_loss(problem: Problem, i: int, y: Labels) -> float:
        """loss_i(y), zero at the truth."""

    @needed(STEPS)
    def scores(problem: Problem, w: Vector, i: int, work: Opaque) -> None:
        """Prepare the scores of example i under weights w, without the loss."""

    @needed(STEPS)
    def add_loss(problem: Problem, i: int, work: Opaque) -> None:
        """Add the loss to the prepared scores (margin rescaling)."""

    @needed(STEPS)
    def argmax(problem: Problem, w: Vector, i: int, work: Opaque, y: Labels) -> float:
        """Write the best labelling into ``y`` and return its score minus the truth's.

        Where constraints leave no labelling at all, which is an error, the value is minus infinity.
        """

    def value_alone(problem: Problem, w: Vector, i: int, work: Opaque) -> float:
        """What ``argmax`` returns, where it is known in less time without the labelling; else not
        a number."""
        return np.nan

    def nearly_argmax(
        problem: Problem, w: Vector, i: int, work: Opaque, y: Labels, least: float, gap: float
    ) -> float:
        """Write a labelling that promises nearly as much as the one of ``argmax``, and takes less
        time and memory; returns its value minus the truth's. ``gap`` is what the best one promised
        when it was last known, infinite where nothing but the best will do. Minus infinity where
        none is found with more than ``least``."""
        return -np.inf

    def thinned(problem: Problem, w: Vector, i: int, work: Opaque, y: Labels, gain: float) -> float:
        """Put in place of the labelling that ``argmax`` has just written one that promises nearly
        as much, if it takes less memory; ``gain`` is what the first promises. Returns what the new
        one does."""
        return gain

    def attained(
        problem: Problem, w: Vector, i: int, work: Opaque, y: Labels, bound: float
    ) -> float:
        """The value of the labelling ``argmax`` has just written, where its own was ``bound``.

        They differ only if inference is approximate: then ``argmax`` returns an upper bound on the
        best value, which the certificate needs, while a step needs the value of where it goes.
        """
        return bound

    @needed(STEPS)
    def label_value(problem: Problem, w: Vector, i: int, work: Opaque, y: Labels) -> float:
        """Prepared score of labelling ``y`` minus the truth's."""

    @needed(STEPS)
    def block_value(problem: Problem, w: Vector, i: int, work: Opaque, mu: Vector) -> float:
        """Prepared score averaged over mu_i, minus the truth's."""

    # --- a change d of mu_i, and the weights that follow ------------------------------------------

    @needed(STEPS)
    def begin_change(problem: Problem, i: int, mu: Vector, keep: float, work: Opaque) -> None:
        """Prepare the change d = keep * mu_i of the dual block."""

    @needed(STEPS)
    def add_corner(problem: Problem, i: int, y: Labels, amount: float, work: Opaque) -> None:
        """d += amount * e(y)."""

    @needed(STEPS)
    def project(problem: Problem, i: int, work: Opaque, amount: float, delta: Accumulator) -> None:
        """delta += amount * Psi_i d, the change seen by the weights; d must sum to zero."""

    @needed(STEPS)
    def advance(problem: Problem, i: int, mu: Vector, step: float, work: Opaque) -> None:
        """mu_i += step * d."""

    def dual_has_room(problem: Problem, mu: Vector, work: Opaque) -> bool:
        """Whether a change of any one example can be added to the dual.

        Where duals grow, compiled code comes back to Python in time, for ``with_room``.
        """
        return True

    def remember(problem: Problem, i: int, y: Labels, mu: Vector, work: Opaque) -> None:
        """From now on ``shift`` may move mu_i to labelling ``y``."""

    # --- one labelling against the truth, without scoring all others ------------------------------

    def begin_margins(problem: Problem, i: int, work: Opaque) -> None:
        """Announce calls of ``margin`` with the same weights."""

    @needed(Capability.MAX_ORACLE)
    def margin(problem: Problem, w: Vector, i: int, y: Labels, work: Opaque) -> float:
        """<w, phi_i(truth) - phi_i(y)>; costs only the places where y differs from the truth."""

    @needed(Capability.MAX_ORACLE)
    def shift(
        problem: Problem,
        i: int,
        y: Labels,
        amount: float,
        scale: float,
        mu: Vector,
        delta: Accumulator,
        work: Opaque,
    ) -> None:
        """Move ``amount`` of mu_i from the truth to y, and the weights by what follows.

        That is delta -= scale * amount * Psi_i (e(y) - e(truth)). The amounts of a visit sum to
        zero, and a problem may wait for ``finish_shifts`` with all of it. Like ``margin``, costs
        only the places where y differs from the truth.
        """

    def finish_shifts(
        problem: Problem, i: int, scale: float, mu: Vector, delta: Accumulator, work: Opaque
    ) -> None:
        """Called after the shifts of one visit, whose amounts sum to zero; they may wait for it.

        Where labellings have much in common it is cheaper to add them up first.
        """

    def forget(problem: Problem, i: int, y: Labels) -> None:
        """The solver keeps no copy of labelling ``y`` any more."""

    def hold(problem, i: int, y: np.ndarray, mu: Any) -> None:
        """One more holder keeps a copy of labelling ``y``; each of them forgets it once.

        It is of the run that this dual ``mu`` is of, which may be a run of another object.
        """

    # --- what a run allocates ---------------------------------------------------------------------

    @needed(STEPS)
    def new_dual(problem) -> Any:
        """The dual of all examples, at the truth; one vector, if the problem is compiled."""

    @needed(STEPS)
    def new_work(problem) -> Any:
        """Scratch memory for one thread; the annotation is its type."""

    @needed(STEPS)
    def new_delta(problem) -> Accumulator:
        """An empty accumulator, large enough for what ``project`` adds of one example."""

    @property
    def dual_grows(problem) -> bool:
        """Whether duals become longer; then ``dual_has_room`` and ``with_room`` are written."""
        return False

    def with_room(problem, mu: Any, for_all: bool, behind: int = 0) -> Any:
        """The same dual with room for a change of any example, or of all one after the other: this
        one, or a longer one with so many numbers more ``behind`` it."""
        return mu

    def copy_dual(problem, source: Any, target: Any) -> Any:
        """Copy the dual of this problem, or of its first examples, into ``target``, the dual of all
        examples; returns that, or another in its place."""
        if source.dtype != np.float64 or not np.all(np.isfinite(source)):
            raise ValueError("the dual must be finite numbers")
        target[: source.size] = source
        return target

    def dual_array(problem, mu: Any) -> np.ndarray:
        """The dual as one array that ``copy_dual`` takes back; for checkpoints."""
        return mu

    @needed(SUMS | RESCALED)
    def dual_size(problem, n: int) -> int:
        """How many numbers the dual of the first n examples has."""

    def examples_in(problem, dual: np.ndarray) -> int:
        """How many examples a dual is of, the first of this problem's; it is followed by one more
        number for each of them."""

        def size(n: int) -> int:
            return problem.dual_size(n) + n

        n = bisect_left(range(problem.n), dual.size, key=size)
        if dual.ndim != 1 or n == 0 or size(n) != dual.size:
            raise ValueError(
                f"a dual of shape {dual.shape} is not of the first of {problem.n} examples: by "
                f"dual_size of {type(problem).__name__} it would have {size(problem.n)} numbers "
                "for all; new_dual and dual_size must agree"
            )
        return n

    def image_in(problem, dual: np.ndarray, i: int) -> np.ndarray:
        """mu_i, laid out as an image."""
        return dual[problem.dual_size(i) : problem.dual_size(i + 1)]

    # --- what the problem is ----------------------------------------------------------------------

    @property
    def capabilities(problem) -> Capability:
        """What solvers and wrappers may ask for beyond what all problems have."""
        return SVM

    @property
    def is_compiled(problem) -> bool:
        """Whether its functions are to be compiled."""
        return True

    @property
    def formulation(problem) -> str:
        """What the loss rescales, "margin" or "slack", or the kind of likelihood."""
        return "margin"

    @property
    def inference(problem) -> str:
        """The method of the oracle, where there is a choice."""
        return ""

    @property
    def certifies(problem) -> str:
        """The relaxation, or the stand-in, that primal and dual values are those of."""
        return ""

    @property
    def n_states(problem) -> int | None:
        """Every integer of a labelling is below this, and not negative; None if nothing is looked
        up by them."""

    def choices(problem, i: int) -> np.ndarray | None:
        """How many labels each position of example i may take, in any combination; None where not
        every combination is a labelling. ``check_problem`` tries some."""

    @property
    def n_numbers(problem) -> int:
        """How many feature values scoring all examples reads; it tells which solver is faster."""
        return 0

    @property
    def mean_norm(problem) -> float | None:
        """Squared length of the features of a labelling, the mean over examples: it tells which
        solver is faster."""

    @property
    def oracle_seconds(problem) -> float | None:
        """What all calls of the oracle have taken so far, if the problem counts it."""

    @property
    def has_counts(problem) -> bool:
        """Whether the number of nodes with a label is limited: only a slow oracle knows of that."""
        return False

    def worst_losses(problem) -> np.ndarray | None:
        """max_y loss_i(y) of every example, the oracle's values at w = 0; None if it must be
        asked."""

    def held_at_zero(problem) -> np.ndarray:
        """Numbers of weights that must stay zero whatever the bounds."""
        return np.zeros(0, np.int64)

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper bounds of all weights without which inference would not be right."""

    @property
    def memory(problem) -> np.ndarray:
        """What the oracle carries from call to call; it is a part of checkpoints."""
        return np.zeros(0)

    def slack(problem) -> float:
        """How much more an approximate oracle may prove another time, on average."""
        return 0.0

    # --- prediction -------------------------------------------------------------------------------

    @property
    def pointer(problem) -> np.ndarray:
        """(n + 1,) where the labels of each example begin, one after the other, and end."""
        lengths = [problem.length(i) for i in range(problem.n)]
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def impossible(problem, i: int, w: np.ndarray) -> Exception:
        """The error to raise where ``argmax`` found no labelling of example i."""
        return ValueError(
            f"example {i}: no labelling has a finite score; the weights must be finite"
        )

    # --- a sum oracle: see taut.structures.smoothed -----------------------------------------------

    @needed(SUMS)
    def expected(
        problem: Problem,
        w: Vector,
        i: int,
        work: Opaque,
        sums: Opaque,
        sharpness: float,
        image: Vector,
    ) -> float:
        """Write the image of the marginals of p(y) ∝ exp(sharpness · prepared score(y)).

        Returns log Z / sharpness minus the truth's score; minus infinity if no labelling is
        possible. ``sums`` is what ``problem.new_sums()`` made for this thread.
        """

    def log_sum(problem: Problem, i: int, work: Opaque, sums: Opaque, sharpness: float) -> float:
        """What ``expected`` returns, where it is known in less time without the image; else not a
        number."""
        return np.nan

    def likely(
        problem: Problem,
        i: int,
        work: Opaque,
        sums: Opaque,
        sharpness: float,
        loss: float,
        most: int,
        image: Vector,
    ) -> float:
        """Write the image of the distribution of ``expected``, but limited to at most so many
        labels of each position, which have most of its probability; found without looking at all.

        Returns what ``expected`` does, of labellings by these alone; if there is room for them,
        hardly less than ``loss / sharpness`` below. Minus infinity where this cannot be done.
        """
        return -np.inf

    def narrowed(
        problem: Problem,
        i: int,
        work: Opaque,
        sums: Opaque,
        sharpness: float,
        loss: float,
        image: Vector,
    ) -> float:
        """Limit the distribution that ``expected`` has just written to labels that have most of its
        probability. The logarithm of what they have, at best not below ``-loss``; 0 if it is left
        as it is."""
        return 0.0

    @needed(SUMS)
    def image_size(problem: Problem, i: int) -> int:
        """How many numbers mu_i has; its image is laid out like it."""

    @needed(SUMS)
    def true_image(problem: Problem, i: int, image: Vector) -> None:
        """Write the image of the true labelling."""

    @needed(SUMS)
    def add_marginals(problem: Problem, i: int, image: Vector, amount: float, work: Opaque) -> None:
        """d += amount * image."""

    @needed(SUMS)
    def image_value(problem: Problem, w: Vector, i: int, work: Opaque, image: Vector) -> float:
        """Prepared score averaged over a distribution with this image, minus the truth's."""

    @needed(SUMS)
    def image_loss(problem: Problem, i: int, image: Vector) -> float:
        """Its average loss."""

    @needed(SUMS)
    def new_sums(problem) -> Any:
        """Scratch memory of the sum oracle; an error if there is no exact one of these examples."""

    @property
    @needed(SUMS)
    def largest_image(problem) -> int:
        """The largest ``image_size`` of all examples."""

    def largest_entropy(problem, i: int, image: np.ndarray) -> float:
        """No distribution with this image has more; a checkpoint that says so is refused."""
        return np.inf

    def log_counts(problem) -> np.ndarray | None:
        """The logarithm of the number of labellings of every example; None if the oracle must be
        asked."""

    def new_row_delta(problem) -> Accumulator:
        """``new_delta`` for changes of all labels at every position, as marginals make them."""
        return problem.new_delta()

    @needed(Capability.CLAMPING)
    def clamped(problem, known: np.ndarray) -> Self:
        """The same examples, limited to labellings that agree with the true labels of ``known``
        nodes."""

    # --- an oracle of slack rescaling: see taut.structures.slack_rescaled -------------------------

    @needed(RESCALED)
    def rescaled_argmax(
        problem: Problem, w: Vector, i: int, work: Opaque, search: Opaque, y: Labels
    ) -> None:
        """Write the labelling of largest loss_i(y) (1 + score(y) - score(truth)) into ``y``.

        Scores are prepared without loss. ``search`` is what ``problem.new_rescaled_search()`` made
        for this thread.
        """

    def new_rescaled_search(problem) -> Nothing:
        """Scratch memory of that oracle; an error if there is no exact one of these examples."""
        return Nothing()

    # --- other views ------------------------------------------------------------------------------

    @property
    @needed(Capability.FACTORS)
    def arrays(problem) -> Any:
        """Nodes, edges and counts of all graphs, a ``GraphArrays``."""

    @property
    @needed(Capability.LIKELIHOOD)
    def free(problem) -> Any:
        """The CRF that sums over all labellings."""

    @property
    def known(problem) -> Any:
        """The CRF that sums over labellings that agree with what is known; None if all is."""
        return None
