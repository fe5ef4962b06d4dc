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
    image_size, true_image, image_value, image_loss
                         what can be seen of a distribution over labellings, as mu_i is kept; see
                         :mod:`taut.structures.smoothed`
    rescaled_argmax      the max oracle of slack rescaling, where there is one: see
                         :mod:`taut.structures.slack_rescaled`

Built-in problems are named tuples of arrays and run compiled; a model in plain Python is a
:class:`taut.PythonProblem`. Both run the same solver source, because the functions below find
their implementation through the class of ``problem`` (see :mod:`taut._compile`).
"""

from taut._compile import generic


@generic
def length(problem, i):
    """Number of integers in a labelling of example i."""


@generic
def weight(problem, i):
    """Importance of example i (its sample weight)."""


@generic
def true_label(problem, i, y):
    """Write the true labelling into ``y``."""


@generic
def scores(problem, w, i, work):
    """Prepare the scores of example i under weights w, without the loss."""


@generic
def add_loss(problem, i, work):
    """Add the loss to the prepared scores (margin rescaling)."""


@generic
def argmax(problem, w, i, work, y):
    """Write the best labelling into ``y`` and return its score minus the truth's.

    Where constraints leave no labelling at all, which is an error, the value is minus infinity.
    """


@generic(optional=True)
def attained(problem, w, i, work, y, bound):
    """The value of the labelling ``argmax`` has just written, where its own value was ``bound``.

    They differ only if inference is approximate: then ``argmax`` returns an upper bound on the best
    value, which the certificate needs, while a step needs the value of where it goes.
    """
    return bound


@generic
def rescaled_argmax(problem, w, i, work, search, y):
    """Write the labelling of largest loss_i(y) (1 + score(y) - score(truth)) into ``y``.

    Scores are prepared without loss. ``search`` is what ``problem.new_rescaled_search()`` made for
    this thread; a problem that needs no more memory than its work has no such method.
    """


@generic
def expected(problem, w, i, work, sums, sharpness, image):
    """Write the image of the marginals of p(y) ∝ exp(sharpness · prepared score(y)).

    Returns log Z / sharpness minus the truth's score; minus infinity if no labelling is possible.
    ``sums`` is what ``problem.new_sums()`` made for this thread.
    """


@generic
def image_size(problem, i):
    """How many numbers mu_i has; its image is laid out like it."""


@generic
def true_image(problem, i, image):
    """Write the image of the true labelling."""


@generic
def image_value(problem, w, i, work, image):
    """Prepared score averaged over a distribution with this image, minus the truth's."""


@generic
def image_loss(problem, i, image):
    """Its average loss."""


@generic
def label_value(problem, w, i, work, y):
    """Prepared score of labelling ``y`` minus the truth's."""


@generic
def block_value(problem, w, i, work, mu):
    """Prepared score averaged over mu_i, minus the truth's."""


@generic
def label_loss(problem, i, y):
    """loss_i(y), zero at the truth."""


@generic
def begin_change(problem, i, mu, keep, work):
    """Prepare the change d = keep * mu_i of the dual block."""


@generic
def add_corner(problem, i, y, amount, work):
    """d += amount * e(y)."""


@generic
def project(problem, i, work, amount, delta):
    """delta += amount * Psi_i d, the prepared change seen by the weights; d must sum to zero."""


@generic
def advance(problem, i, mu, step, work):
    """mu_i += step * d."""


@generic
def begin_margins(problem, i, work):
    """Announce calls of ``margin`` with the same weights."""


@generic
def margin(problem, w, i, y, work):
    """<w, phi_i(truth) - phi_i(y)>; costs only the places where y differs from the truth."""


@generic
def shift(problem, i, y, amount, scale, mu, delta, work):
    """Move ``amount`` of mu_i from the truth to y; delta -= scale * amount * Psi_i(e(y) - truth).

    The amounts of a visit sum to zero, and a problem may wait for ``finish_shifts`` with all of it.
    Like ``margin``, costs only the places where y differs from the truth.
    """


@generic(optional=True)
def finish_shifts(problem, i, scale, mu, delta, work):
    """Called after the shifts of one visit, whose amounts sum to zero; they may wait for it.

    Where labellings have much in common it is cheaper to add them up first.
    """


@generic
def forget(problem, i, y):
    """The solver keeps no copy of labelling ``y`` any more."""
