"""How a solver sees a problem: a handful of functions of an example's number.

A *problem* holds n examples. Labellings of example i are integer vectors of ``length(problem, i)``
entries; only the problem knows what they mean. Scores, features and loss are linear in the
marginals mu_i of a distribution over labellings, and the problem decides how to store mu_i (its
*dual*): solvers never look inside. With H_i(y; w) = loss_i(y) + <w, phi_i(y) - phi_i(truth)>:

    scores, add_loss     prepare H_i(.; w) in the scratch memory ``work``
    argmax, attained     the max oracle: the best labelling and its value, or a bound on it
    label_value          H_i of one labelling
    block_value          H_i averaged over the current mu_i
    begin_change, add_corner, project, advance
                         a change d of mu_i in ``work``, Psi_i d for the weights, mu_i += step * d
    begin_margins, margin
                         one labelling against the weights, without scoring all others
    expected             the sum oracle, where there is one: the image of the marginals, log Z
    image_size, true_image, add_marginals, image_value, image_loss
                         what can be seen of a distribution over labellings, as mu_i is kept; see
                         :mod:`taut.structures.smoothed`
    rescaled_argmax      the max oracle of slack rescaling, where there is one: see
                         :mod:`taut.structures.slack_rescaled`

Built-in problems are named tuples of arrays and run compiled; a model in plain Python is a
:class:`taut.PythonProblem`. Both run the same solver source, because the functions below find
their implementation through the class of ``problem`` (see :mod:`taut._compile`).
"""

from taut._compile import Labels, Opaque, Problem, Vector, generic
from taut.accumulator import Accumulator


@generic(group="scores")
def length(problem: Problem, i: int) -> int:
    """Number of integers in a labelling of example i."""


@generic(group="learn")
def weight(problem: Problem, i: int) -> float:
    """Importance of example i (its sample weight)."""


@generic(group="labels")
def true_label(problem: Problem, i: int, y: Labels) -> None:
    """Write the true labelling into ``y``."""


@generic(group="scores")
def scores(problem: Problem, w: Vector, i: int, work: Opaque) -> None:
    """Prepare the scores of example i under weights w, without the loss."""


@generic(group="scores")
def add_loss(problem: Problem, i: int, work: Opaque) -> None:
    """Add the loss to the prepared scores (margin rescaling)."""


@generic(group="argmax")
def argmax(problem: Problem, w: Vector, i: int, work: Opaque, y: Labels) -> float:
    """Write the best labelling into ``y`` and return its score minus the truth's.

    Where constraints leave no labelling at all, which is an error, the value is minus infinity.
    """


@generic(group="argmax", optional=True)
def attained(problem: Problem, w: Vector, i: int, work: Opaque, y: Labels, bound: float) -> float:
    """The value of the labelling ``argmax`` has just written, where its own value was ``bound``.

    They differ only if inference is approximate: then ``argmax`` returns an upper bound on the best
    value, which the certificate needs, while a step needs the value of where it goes.
    """
    return bound


@generic(group="rescaled")
def rescaled_argmax(
    problem: Problem, w: Vector, i: int, work: Opaque, search: Opaque, y: Labels
) -> None:
    """Write the labelling of largest loss_i(y) (1 + score(y) - score(truth)) into ``y``.

    Scores are prepared without loss. ``search`` is what ``problem.new_rescaled_search()`` made for
    this thread; a problem that needs no more memory than its work has no such method.
    """


@generic(group="sums")
def expected(
    problem: Problem, w: Vector, i: int, work: Opaque, sums: Opaque, sharpness: float, image: Vector
) -> float:
    """Write the image of the marginals of p(y) ∝ exp(sharpness · prepared score(y)).

    Returns log Z / sharpness minus the truth's score; minus infinity if no labelling is possible.
    ``sums`` is what ``problem.new_sums()`` made for this thread.
    """


@generic(group="sums")
def image_size(problem: Problem, i: int) -> int:
    """How many numbers mu_i has; its image is laid out like it."""


@generic(group="sums")
def true_image(problem: Problem, i: int, image: Vector) -> None:
    """Write the image of the true labelling."""


@generic(group="sums")
def add_marginals(problem: Problem, i: int, image: Vector, amount: float, work: Opaque) -> None:
    """d += amount * image."""


@generic(group="sums")
def image_value(problem: Problem, w: Vector, i: int, work: Opaque, image: Vector) -> float:
    """Prepared score averaged over a distribution with this image, minus the truth's."""


@generic(group="sums")
def image_loss(problem: Problem, i: int, image: Vector) -> float:
    """Its average loss."""


@generic(group="labels")
def label_value(problem: Problem, w: Vector, i: int, work: Opaque, y: Labels) -> float:
    """Prepared score of labelling ``y`` minus the truth's."""


@generic(group="learn")
def block_value(problem: Problem, w: Vector, i: int, work: Opaque, mu: Vector) -> float:
    """Prepared score averaged over mu_i, minus the truth's."""


@generic(group="labels")
def label_loss(problem: Problem, i: int, y: Labels) -> float:
    """loss_i(y), zero at the truth."""


@generic(group="learn")
def begin_change(problem: Problem, i: int, mu: Vector, keep: float, work: Opaque) -> None:
    """Prepare the change d = keep * mu_i of the dual block."""


@generic(group="labels")
def add_corner(problem: Problem, i: int, y: Labels, amount: float, work: Opaque) -> None:
    """d += amount * e(y)."""


@generic(group="learn")
def project(problem: Problem, i: int, work: Opaque, amount: float, delta: Accumulator) -> None:
    """delta += amount * Psi_i d, the prepared change seen by the weights; d must sum to zero."""


@generic(group="learn")
def advance(problem: Problem, i: int, mu: Vector, step: float, work: Opaque) -> None:
    """mu_i += step * d."""


@generic(group="margins")
def begin_margins(problem: Problem, i: int, work: Opaque) -> None:
    """Announce calls of ``margin`` with the same weights."""


@generic(group="margins")
def margin(problem: Problem, w: Vector, i: int, y: Labels, work: Opaque) -> float:
    """<w, phi_i(truth) - phi_i(y)>; costs only the places where y differs from the truth."""


@generic(group="margins")
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
    """Move ``amount`` of mu_i from the truth to y; delta -= scale * amount * Psi_i(e(y) - truth).

    The amounts of a visit sum to zero, and a problem may wait for ``finish_shifts`` with all of it.
    Like ``margin``, costs only the places where y differs from the truth.
    """


@generic(group="margins", optional=True)
def finish_shifts(
    problem: Problem, i: int, scale: float, mu: Vector, delta: Accumulator, work: Opaque
) -> None:
    """Called after the shifts of one visit, whose amounts sum to zero; they may wait for it.

    Where labellings have much in common it is cheaper to add them up first.
    """


@generic(group="labels")
def forget(problem: Problem, i: int, y: Labels) -> None:
    """The solver keeps no copy of labelling ``y`` any more."""
