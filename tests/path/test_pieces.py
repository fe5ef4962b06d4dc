"""The closed forms between breakpoints, against what they are bounds on.

Problems have all labellings listed, dual points are random and far from optimal, boxes are random.
"""

import numpy as np
import pytest
from decomposition_reference import EnumeratedProblem, random_problem
from hypothesis import assume, given
from hypothesis import strategies as st
from path_reference import PathReference

from taut.path.pieces import (
    Breakpoint,
    bulge,
    constant_gap,
    largest_linear_gap,
    linear_gap,
    place,
    reach_of_constant,
)

# Values are sums of products of order 10 at most.
ROUNDING = 1e-11


def random_alpha(rng, listed):
    """A distribution over the labellings of each example; some have few with weight."""
    rows = [rng.exponential(size=len(loss)) * (rng.random(len(loss)) < 0.7) for loss in listed.loss]
    return [row / row.sum() if row.sum() > 0 else np.eye(1, len(row))[0] for row in rows]


def random_bounds(rng, dim, kind):
    if kind == "free":
        return -np.inf, np.inf
    if kind == "nonnegative":
        return 0.0, np.inf
    lower = rng.uniform(-0.3, 0.2, dim)  # zero may be excluded
    return lower, lower + rng.uniform(0.0, 0.5, dim)


def point_of(of, alpha, lam, w_before):
    """What a walk keeps of the dual point alpha at lambda."""
    v, w = of.direction(alpha, lam), of.weights(alpha, lam)
    return Breakpoint(
        lam, of.gap(alpha, lam), of.hinge(w), of.loss(alpha), w @ w, v @ w,
        np.sum((w - w_before) ** 2),
    )  # fmt: skip


def limit_of(of):
    w = np.clip(np.zeros(of.listed.dim), *of.bounds)
    return Breakpoint(np.inf, 0.0, of.hinge(w), of.hinge(w), w @ w, 0.0, 0.0), w


class Piece:
    """Two random dual points at two lambdas, and all that lies between."""

    def __init__(self, seed, kind, *, from_limit=False, listed=None):
        rng = np.random.default_rng(seed)
        self.listed = random_problem(seed) if listed is None else listed
        self.of = PathReference(self.listed, random_bounds(rng, self.listed.dim, kind))
        self.alphas = [random_alpha(rng, self.listed) for _ in range(2)]
        lam = 10.0 ** rng.uniform(-1, 1)
        self.lambdas = np.inf if from_limit else lam * 10.0 ** rng.uniform(0.01, 2), lam
        if from_limit:
            self.a, self.w_a = limit_of(self.of)
        else:
            self.w_a = self.of.weights(self.alphas[0], self.lambdas[0])
            self.a = point_of(self.of, self.alphas[0], self.lambdas[0], self.w_a)
        self.b = point_of(self.of, self.alphas[1], lam, self.w_a)
        self.w_b = self.of.weights(self.alphas[1], lam)

    def between(self):
        top = 100 * self.b.lam if np.isinf(self.a.lam) else self.a.lam
        return np.geomspace(top, self.b.lam, 15)

    def exact_gap(self, lam):
        """Of the interpolated pair of points."""
        u, u_a, u_b = 1 / lam, self.a.u, self.b.u
        t = (u - u_a) / (u_b - u_a)
        w = (1 - t) * self.w_a + t * self.w_b
        s = t * u_b / u
        alpha = [(1 - s) * x + s * y for x, y in zip(*self.alphas, strict=True)]
        return self.of.primal(w, lam) - self.of.dual(alpha, lam)


seeds = st.integers(0, 10**6)
kinds = st.sampled_from(["free", "nonnegative", "boxed"])


# --- linear pieces -----------------------------------------------------------------------------


@given(seeds, kinds, st.booleans())
def test_the_gap_of_the_interpolated_pair_is_at_most_the_bound(seed, kind, from_limit):
    piece = Piece(seed, kind, from_limit=from_limit)
    for lam in piece.between():
        assert piece.exact_gap(lam) <= linear_gap(piece.a, piece.b, lam) + ROUNDING


@given(seeds, st.booleans())
def test_without_bounds_it_is_the_bound_where_the_hinge_is_linear(seed, from_limit):
    """One wrong labelling for each example, whose loss no weights here make up for."""
    rng = np.random.default_rng(seed)
    psi = [np.array([np.zeros(3), rng.normal(size=3)]) for _ in range(5)]
    listed = EnumeratedProblem(psi, [np.array([0.0, 1e3])] * 5, rng.uniform(0.3, 3.0, 5))
    piece = Piece(seed, "free", from_limit=from_limit, listed=listed)
    for lam in piece.between():
        expected = linear_gap(piece.a, piece.b, lam)
        assert piece.exact_gap(lam) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@given(seeds, kinds)
def test_at_the_ends_the_bound_is_the_gap(seed, kind):
    piece = Piece(seed, kind)
    a, b = piece.a, piece.b
    assert linear_gap(a, b, a.lam) == pytest.approx(a.gap, rel=1e-12, abs=ROUNDING)
    assert linear_gap(a, b, b.lam) == pytest.approx(b.gap, rel=1e-12, abs=ROUNDING)
    assert place(a, b, a.lam) == 0
    assert place(a, b, b.lam) == 1


@given(seeds)
def test_there_is_no_bulge_where_the_path_is_straight(seed):
    """The same corners at both lambdas: w is linear in 1/lambda, and so is the hinge."""
    rng = np.random.default_rng(seed)
    psi = [np.array([np.zeros(3), rng.normal(size=3)]) for _ in range(5)]
    listed = EnumeratedProblem(psi, [np.array([0.0, 1e3])] * 5, np.ones(5))
    of = PathReference(listed)
    corners = [np.array([0.0, 1.0])] * 5
    w_a = of.weights(corners, 2.0)
    a, b = point_of(of, corners, 2.0, w_a), point_of(of, corners, 0.5, w_a)
    assert bulge(a, b) == pytest.approx(0.0, abs=1e-9)


positive = st.floats(0, 1e3) | st.sampled_from([0.0, 1.0])


@st.composite
def any_pieces(draw):
    """Two breakpoints of any numbers, whether some problem has them or not."""
    lam = 10.0 ** draw(st.floats(-3, 3))
    longer = 1.0 + 10.0 ** draw(st.floats(-3, 3))
    points = [
        Breakpoint(where, draw(positive), draw(positive), 0.0, 0.0, 0.0, draw(positive))
        for where in (np.inf if draw(st.integers(0, 4)) == 0 else lam * longer, lam)
    ]
    return points


@given(any_pieces())
def test_the_largest_gap_is_that_of_a_fine_grid(piece):
    a, b = piece
    if np.isinf(a.lam):
        a = a._replace(gap=0.0)
    largest = largest_linear_gap(a, b)
    u = np.concatenate([np.linspace(a.u, b.u, 200), np.geomspace(max(a.u, 1e-9 * b.u), b.u, 200)])
    u = np.sort(np.clip(u, max(a.u, 1e-12 * b.u), b.u))
    for _ in range(3):  # again between the neighbours of the best
        gaps = np.array([linear_gap(a, b, 1 / one) for one in u])
        assert np.all(gaps <= largest * (1 + 1e-12) + 1e-9 * abs(bulge(a, b)) / b.u + 1e-12)
        best = int(gaps.argmax())
        u = np.linspace(u[max(best - 1, 0)], u[min(best + 1, len(u) - 1)], 50)
    # To the limit the grid is not quite infinite.
    slack = 1e-8 * abs(bulge(a, b)) / b.u
    assert gaps.max() >= largest * (1 - 1e-6) - slack


# --- constant pieces ---------------------------------------------------------------------------


@given(seeds, kinds, st.floats(0.001, 1.0))
def test_a_constant_piece_is_osokins_first_proposition(seed, kind, rho):
    """alpha <- rho alpha + (1 - rho) truth keeps v and w; the gap is exactly what is said."""
    piece = Piece(seed, kind)
    of, a = piece.of, piece.a
    alpha, lam = piece.alphas[0], rho * a.lam
    shrunk = [rho * row + (1 - rho) * np.eye(1, len(row))[0] for row in alpha]
    assert np.allclose(of.weights(shrunk, lam), piece.w_a, rtol=0, atol=ROUNDING)
    expected = of.primal(piece.w_a, lam) - of.dual(shrunk, lam)
    assert constant_gap(a, lam) == pytest.approx(expected, rel=1e-11, abs=ROUNDING)
    average = sum(
        s * (row @ values)
        for s, row, values in zip(
            of.listed.s, alpha, of.listed.values(piece.w_a), strict=True
        )
    ) / of.listed.n  # fmt: skip
    assert a.average == pytest.approx(average, rel=1e-11, abs=ROUNDING)
    assert constant_gap(a, lam) == pytest.approx(a.gap + (1 - rho) * average, abs=ROUNDING)
    assert constant_gap(a, 0.0) == a.hinge


@given(seeds, kinds, st.floats(0.0, 3.0))
def test_a_constant_piece_reaches_to_where_its_gap_is_eps(seed, kind, more):
    a = Piece(seed, kind).a
    eps = a.gap + more
    assume(abs(a.average - more) > 1e-6)
    end = reach_of_constant(a, eps)
    if a.average < more:  # as good as eps even without regularisation
        assert end == 0
        assert a.hinge <= eps
    else:
        assert 0 < end <= a.lam
        assert constant_gap(a, end) == pytest.approx(eps, rel=1e-9)
        assert constant_gap(a, 0.99 * end) > eps
