"""Conditional random fields: a problem with a sum oracle, seen by solvers as a problem like others.

A structured SVM asks for max_y H_i(y; w). A CRF of temperature T smooths that maximum,

    T log sum_y exp(H_i(y; w) / T) = max over distributions q of  H_i(q; w) + T entropy(q)

and with T = 1 and no loss in H_i this is minus the log-likelihood of the truth. The maximum is
attained by the marginals that forward-backward finds. So the dual is that of the SVM with a larger
set of corners: not labellings, but distributions over them, whose loss is loss_i(q) + T entropy(q).
What a solver carries about as the integers of a "labelling" are the bits of q's image and entropy.

A dual block is a mixture of the distributions it has moved toward. Its image is the mixture of
theirs; its entropy is at least the mixture of theirs, and that lower bound is what is kept. So
block-coordinate Frank-Wolfe is stochastic dual coordinate ascent here: gap and curvature both fall
with the square of the distance to q, steps stay bounded away from zero, and the gap falls
geometrically. To know the entropy of a mixture exactly one would have to keep the marginals of
every step (K^2 numbers for each position instead of for each sequence) and take their logarithms
in every line search: that saves a third of the passes and costs four times as much for each.

References: Collins, Globerson, Koo, Carreras, Bartlett (2008) for the dual; Shalev-Shwartz, Zhang
(2013) for coordinate ascent; Bach (2015) for conditional gradients that keep the entropy.
"""

import hashlib
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from taut._compile import Opaque, Problem, Vector, both_modes, by_reference
from taut.arrays.accumulator import Accumulator
from taut.defaults import LOWEST_TEMPERATURE
from taut.problem import (
    add_loss,
    add_marginals,
    advance,
    begin_change,
    block_value,
    dual_has_room,
    expected,
    image_loss,
    image_size,
    image_value,
    likely,
    log_sum,
    narrowed,
    project,
    scores,
    true_image,
    weight,
)
from taut.problem.capability import CRF, Capability
from taut.problem.problem_type import problem_type, require
from taut.structures.longer_dual import copied, roomier, saved

# A step may forgo this share of its gain if a distribution over fewer labels will do.
WORTH_THINNING = 0.7
# So many labels at a position are tried first; if they do not even promise this part of the gap
# that was known, then so many, which may lose less.
FEW, MORE = 8, 16
ENOUGH, LESS = 0.1, 0.1


@by_reference
class SmoothedWork(NamedTuple):
    """Scratch memory of one thread."""

    base: Opaque
    sums: Opaque  # of the oracle
    change: Vector  # (1,) of the entropy

    def __reduce__(self) -> tuple:
        return type(None), ()  # scratch is made anew


@by_reference
class SmoothedFields(NamedTuple):
    base: Problem
    importance: Vector  # (n,) sample weights
    temperature: float
    loss_augmented: bool
    n: int
    dim: int


@problem_type
class Smoothed(SmoothedFields):
    """Made by :func:`smoothed`."""

    __slots__ = ()
    capabilities = CRF

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

    def scores(problem, w, i, work):
        scores(problem.base, w, i, work.base)

    def add_loss(problem, i, work):
        if problem.loss_augmented:
            add_loss(problem.base, i, work.base)

    def argmax(problem, w, i, work, y):
        return write_expected(problem, w, i, work, y)

    def value_alone(problem, w, i, work):
        return log_sum(problem.base, i, work.base, work.sums, 1.0 / problem.temperature)

    def nearly_argmax(problem, w, i, work, y, least, gap):
        if not 0.0 < gap < np.inf:  # nothing is known, or the whole answer is wanted
            return -np.inf
        size = image_size(problem.base, i)
        image = y[: 2 * (size + 1)].view(np.float64)
        base, sharpness = work.base, 1.0 / problem.temperature
        loss = WORTH_THINNING * gap * sharpness
        value = likely(problem.base, i, base, work.sums, sharpness, loss, FEW, image[:size])
        if not value > least + ENOUGH * gap:
            loss *= LESS
            value = likely(problem.base, i, base, work.sums, sharpness, loss, MORE, image[:size])
        if not value > least:
            return -np.inf
        mean = image_value(problem.base, w, i, base, image)
        image[size] = max((value - mean) * sharpness, 0.0)
        return value

    def thinned(problem, w, i, work, y, gain):
        if gain <= 0.0:
            return gain
        size = image_size(problem.base, i)
        image = y[: 2 * (size + 1)].view(np.float64)
        base, sharpness = work.base, 1.0 / problem.temperature
        mean = image_value(problem.base, w, i, base, image)
        loss = WORTH_THINNING * gain * sharpness
        lost = narrowed(problem.base, i, base, work.sums, sharpness, loss, image[:size])
        if lost < -loss:  # labels that are likely one by one need not be so together
            write_expected(problem, w, i, work, y)
            return gain
        if lost != 0.0:
            change = image_value(problem.base, w, i, base, image) - mean
            image[size] = max(image[size] + lost - change * sharpness, 0.0)
        return gain + problem.temperature * lost

    def label_value(problem, w, i, work, y):
        size = image_size(problem.base, i)
        image = y[: 2 * (size + 1)].view(np.float64)
        value = image_value(problem.base, w, i, work.base, image)
        return value + problem.temperature * image[size]

    def block_value(problem, w, i, work, mu):
        value = block_value(problem.base, w, i, work.base, mu)
        return value + problem.temperature * mu[mu.size - problem.n + i]

    def label_loss(problem, i, y):
        size = image_size(problem.base, i)
        image = y[: 2 * (size + 1)].view(np.float64)
        loss = problem.temperature * image[size]
        if problem.loss_augmented:
            loss += image_loss(problem.base, i, image)
        return loss

    def begin_change(problem, i, mu, keep, work):
        begin_change(problem.base, i, mu, keep, work.base)
        work.change[0] = keep * mu[mu.size - problem.n + i]

    def add_corner(problem, i, y, amount, work):
        size = image_size(problem.base, i)
        image = y[: 2 * (size + 1)].view(np.float64)
        add_marginals(problem.base, i, image[:size], amount, work.base)
        work.change[0] += amount * image[size]

    def project(problem, i, work, amount, delta):
        project(problem.base, i, work.base, amount, delta)

    def advance(problem, i, mu, step, work):
        advance(problem.base, i, mu, step, work.base)
        mu[mu.size - problem.n + i] += step * work.change[0]

    def dual_has_room(problem, mu, work):
        return dual_has_room(problem.base, mu, work.base)

    def length(problem, i):
        return 2 * (image_size(problem.base, i) + 1)

    def true_label(problem, i, y):
        size = image_size(problem.base, i)
        image = y[: 2 * (size + 1)].view(np.float64)
        true_image(problem.base, i, image)
        image[size] = 0.0

    def weight(problem, i):
        return weight(problem.base, i)

    # --- what a run allocates ------------------------------------------------------------------

    @property
    def is_compiled(problem) -> bool:
        return problem.base.is_compiled

    @property
    def longest(problem) -> int:
        return 2 * (problem.base.largest_image + 1)

    def new_dual(problem) -> np.ndarray:
        """That of the base problem, then a lower bound on the entropy of every example."""
        return np.concatenate([problem.base.new_dual(), np.zeros(problem.n)])

    def new_work(problem) -> SmoothedWork:
        return SmoothedWork(problem.base.new_work(), problem.base.new_sums(), np.zeros(1))

    def new_delta(problem) -> Accumulator:
        return problem.base.new_row_delta()

    # --- what a run asks -----------------------------------------------------------------------

    @property
    def free(problem) -> "Smoothed":
        """The problem that sums over all labellings."""
        return problem

    @property
    def formulation(problem) -> str:
        return "softmax margin" if problem.loss_augmented else "likelihood"

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray] | None:
        return problem.base.required_bounds()

    def held_at_zero(problem) -> np.ndarray:
        return problem.base.held_at_zero()

    def worst_losses(problem) -> np.ndarray | None:
        """The oracle's value at w = 0: T log(number of labellings); None if it must be asked."""
        counts = None if problem.loss_augmented else problem.base.log_counts()
        return None if counts is None else problem.temperature * counts

    def fingerprint(problem, n: int | None = None) -> str:
        """A dual point of another objective proves nothing here, so it is another one's hash."""
        how = f"{problem.formulation} at temperature {problem.temperature!r}"
        text = f"{how} of {problem.base.fingerprint(n)}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def dual_grows(problem) -> bool:
        return problem.base.dual_grows

    def with_room(problem, mu: np.ndarray, for_all: bool) -> np.ndarray:
        return roomier(problem, mu, for_all)

    def copy_dual(problem, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        if not np.all(np.isfinite(source)):
            raise ValueError("marginals and entropies must be finite numbers")
        n = problem.base.examples_in(source)
        whole = copied(problem, source, target, n)
        problem.check_entropies(whole[: -problem.n], source[-n:])
        return whole

    def dual_array(problem, mu: np.ndarray) -> np.ndarray:
        return saved(problem, mu)

    def check_entropies(problem, dual: np.ndarray, entropies: np.ndarray) -> None:
        """No distribution has a larger entropy than its image allows."""
        base = problem.base
        for i, entropy in enumerate(entropies):
            most = base.largest_entropy(i, base.image_in(dual, i))
            if not -1e-9 <= entropy <= most + 1e-6:
                raise ValueError(f"entropy {entropy}, where at most {most} is possible")


@both_modes
def write_expected(problem, w, i, work, y):
    """The image of the marginals and their entropy, where a labelling would be; returns T log Z."""
    size = image_size(problem.base, i)
    image = y[: 2 * (size + 1)].view(np.float64)
    base, sharpness = work.base, 1.0 / problem.temperature
    value = expected(problem.base, w, i, base, work.sums, sharpness, image)
    mean = image_value(problem.base, w, i, base, image)
    image[size] = max((value - mean) * sharpness, 0.0)
    return value


def smoothed(problem: Any, temperature: float = 1.0, *, loss_augmented: bool = False) -> Smoothed:
    """The CRF of a problem whose sum oracle is exact: chains, forests, single nodes.

    ``loss_augmented`` scores mistakes up by their loss, as the SVM does, which is what a small
    temperature approaches; without it the objective at temperature 1 is minus the log-likelihood.

    >>> from taut import solve
    >>> from taut.structures import multiclass_problem
    >>> problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), n_states=3, bias=False)
    >>> solution = solve(smoothed(problem), tol=1e-6)
    >>> solution.status.name, round(solution.primal, 4), round(solution.scale, 4)
    ('CONVERGED', 0.8525, 1.0986)
    """
    if isinstance(problem, Smoothed):
        raise ValueError("this problem is smoothed already")
    require(problem, Capability.SUM_ORACLE, "smoothed")
    given: Any = temperature
    if not (isinstance(given, Real) and LOWEST_TEMPERATURE <= float(given) < np.inf):
        raise ValueError(
            f"temperature={temperature!r}; a positive number is expected, from "
            f"{LOWEST_TEMPERATURE} on: at 0 a CRF is an SVM"
        )
    problem.new_sums()  # raises an error that says why there is no exact oracle
    return Smoothed(
        base=problem,
        importance=np.require(problem.importance, np.float64, ["C", "A"]),
        temperature=float(temperature),
        loss_augmented=bool(loss_augmented),
        n=problem.n,
        dim=problem.dim,
    )
