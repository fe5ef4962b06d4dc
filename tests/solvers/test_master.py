"""The master problem: its optimum satisfies the optimality conditions, and is the QP solver's.

    maximise  <linear, q> - 1/2 |rows' q|^2 - 1/2 sum_b mass_cost_b mass_b^2,   q >= 0

The gap below is computed in extended precision. "To rounding" means: relative to the terms of the
gradient, |linear| + |gram| q, of which a weight's slope is the difference.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from decomposition_reference import LINEAR, SQUARED, spanned_optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from taut.solvers.decomposition import master as module
from taut.solvers.decomposition.boxed_master import solve_boxed_master
from taut.solvers.decomposition.master import solve_master

ROUNDING = 1e-12
LONG = np.longdouble
TINY = 1e-100  # where all terms are zero


@dataclass(frozen=True)
class Case:
    rows: np.ndarray  # (m, dim)
    linear: np.ndarray
    blocks: np.ndarray
    mass_cost: np.ndarray | None  # None: simplexes

    @property
    def gram(self):
        return self.rows @ self.rows.T

    def masses(self, q):
        return np.bincount(self.blocks, weights=q, minlength=self.blocks.max() + 1)

    def value(self, q):
        v = self.rows.T @ q
        paid = 0.0 if self.mass_cost is None else 0.5 * self.mass_cost @ self.masses(q) ** 2
        return self.linear @ q - 0.5 * (v @ v) - paid

    def gap(self, q):
        """(sum_b of what block b can still gain, size of the terms that this is made of)."""
        rows = self.rows.astype(LONG)
        gradient = self.linear - rows @ (rows.T @ q)
        size = abs(self.linear) + abs(self.gram) @ q
        masses = self.masses(q)
        if self.mass_cost is not None:
            gradient -= (self.mass_cost * masses)[self.blocks]
            size += (self.mass_cost * masses)[self.blocks]
        gap, total = 0.0, 0.0
        for b, mass in enumerate(masses):
            inside = self.blocks == b
            if not inside.any():
                continue
            best = gradient[inside].max()
            if self.mass_cost is not None:
                best = max(best, 0.0)
                # More mass: best * more - mass_cost / 2 more^2 at its maximum.
                gap += best**2 / (2.0 * self.mass_cost[b])
                total += mass * size[inside].max() + size[inside].max() ** 2 / self.mass_cost[b]
            else:
                total += size[inside].max()
            gap += mass * best - q[inside] @ gradient[inside]
        return float(gap), float(total)

    def start(self, seed):
        """Feasible weights: corners, or anything, some of it zero."""
        rng = np.random.default_rng(seed)
        q = rng.random(len(self.linear)) * (rng.random(len(self.linear)) < 0.5)
        for b in range(self.blocks.max() + 1):
            inside = np.flatnonzero(self.blocks == b)
            if not inside.size:
                continue
            if rng.random() < 0.3 or not q[inside].any():
                q[inside] = 0.0
                q[rng.choice(inside)] = 1.0
            if self.mass_cost is None:
                q[inside] /= q[inside].sum()
            elif rng.random() < 0.3:
                q[inside] = 0.0
        return q

    def solve(self, q, **options):
        return solve_master(
            self.gram, self.linear, self.blocks, q, mass_cost=self.mass_cost, **options
        )


def random_case(seed, m, dim, n_blocks, kind, cone):
    """``kind`` says what is special about the points."""
    rng = np.random.default_rng(seed)
    rows, linear = rng.normal(size=(m, dim)), rng.uniform(0.0, 2.0, m)
    blocks = rng.integers(0, min(n_blocks, m), m)
    if kind == "ties":
        rows, linear = rng.integers(-1, 2, (m, dim)).astype(float), rng.integers(0, 3, m) * 1.0
    if kind in ("duplicates", "nearly equal"):
        copies = rng.integers(0, m, m)
        rows, linear = rows[copies], linear[copies]
    if kind == "nearly equal":
        rows = rows + 10.0 ** -rng.integers(3, 12) * rng.normal(size=(m, dim))
    if kind == "zeros":
        rows[rng.random(m) < 0.5] = 0.0
    if kind == "hull":  # combinations of others, as retained points are
        mixed = rng.random(m) < 0.5
        mixture = rng.dirichlet(np.ones(m), m)
        rows, linear = (
            np.where(mixed[:, None], mixture @ rows, rows),
            np.where(mixed, mixture @ linear, linear),
        )
    if kind == "aligned":  # much longer in one direction
        rows *= 10.0 ** np.linspace(0, -4, dim)
    if kind == "alone":
        blocks = rng.permutation(m)
    mass_cost = rng.uniform(0.2, 3.0, int(blocks.max()) + 1) if cone else None
    return Case(rows, linear, blocks, mass_cost)


KINDS = ["plain", "ties", "duplicates", "nearly equal", "zeros", "hull", "aligned", "alone"]
SEEDS = st.integers(0, 10**6)
cases = st.builds(
    random_case,
    SEEDS,
    m=st.integers(1, 40),
    dim=st.integers(1, 12),
    n_blocks=st.sampled_from([1, 2, 5, 40]),
    kind=st.sampled_from(KINDS),
    cone=st.booleans(),
)
scales = st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6])


def scaled(case, of_rows, of_linear):
    mass_cost = None if case.mass_cost is None else case.mass_cost * of_rows
    return replace(
        case, rows=case.rows * of_rows, linear=case.linear * of_linear, mass_cost=mass_cost
    )


def assert_feasible(case, q):
    assert q.min() >= 0
    if case.mass_cost is None:
        masses = case.masses(q)
        np.testing.assert_allclose(masses[np.unique(case.blocks)], 1.0, atol=1e-14)


# --- optimality --------------------------------------------------------------------------------


@settings(max_examples=400)
@given(cases, scales, scales, SEEDS)
def test_the_conditions_of_optimality_hold_to_rounding(case, of_rows, of_linear, seed):
    case = scaled(case, of_rows, of_linear)
    q = case.start(seed)
    before = case.value(q)
    found = case.solve(q)
    assert found.weights is q
    assert_feasible(case, q)
    gap, size = case.gap(q)
    assert gap <= ROUNDING * size
    assert found.gap == pytest.approx(gap, abs=ROUNDING * size)
    assert case.value(q) >= before - ROUNDING * size


@settings(max_examples=100)
@given(cases, SEEDS)
def test_the_optimum_is_that_of_a_generic_solver(case, seed):
    """Of the primal min 1/2 |w|^2 + sum_b h_b(xi_b), whose w is unique.

    Nearly equal points leave the generic solver an error of 1e-10, in the value.
    """
    which = np.unique(case.blocks)
    inside = [case.blocks == b for b in which]
    share = np.ones(which.size) if case.mass_cost is None else 1.0 / case.mass_cost[which]
    w, alpha = spanned_optimum(
        [case.rows[k] for k in inside], [case.linear[k] for k in inside], share,
        LINEAR if case.mass_cost is None else SQUARED,
    )  # fmt: skip
    expected = np.zeros(len(case.linear))
    for k, one, c in zip(inside, alpha, share, strict=True):
        expected[k] = c * one
    q = case.start(seed)
    case.solve(q)
    _, size = case.gap(q)
    assert case.value(q) == pytest.approx(case.value(expected), abs=1e-10 * size)
    # |w - w*|^2 / 2 is at most what is missing of the value.
    np.testing.assert_allclose(case.rows.T @ q, w, atol=np.sqrt(2e-10 * size) + TINY)


def test_a_round_simplex_is_projected_on():
    """gram = 1: the point of the simplex nearest to ``linear``, which sorting finds."""
    linear = np.random.default_rng(0).normal(size=30)
    ordered = np.sort(linear)[::-1]
    above = (np.cumsum(ordered) - 1.0) / np.arange(1, 31)
    threshold = above[np.flatnonzero(ordered > above)[-1]]
    q = np.eye(1, 30)[0]
    solve_master(np.eye(30), linear, np.zeros(30, int), q)
    np.testing.assert_allclose(q, np.maximum(linear - threshold, 0.0), atol=1e-14)


def test_one_ray_has_a_formula():
    linear, square, mass_cost = np.array([2.0, -1.0]), np.array([3.0, 1.0]), np.array([0.5, 0.5])
    q = np.array([0.0, 7.0])
    solve_master(np.diag(square), linear, np.arange(2), q, mass_cost=mass_cost)
    np.testing.assert_allclose(q, [2.0 / 3.5, 0.0], atol=1e-15)


def test_single_points_have_all_weight():
    rows = np.random.default_rng(1).normal(size=(6, 3))
    q = np.ones(6)
    found = solve_master(rows @ rows.T, np.arange(6.0), np.arange(6)[::-1].copy(), q)
    np.testing.assert_array_equal(q, 1.0)
    assert found.gap == 0.0


@given(cases, SEEDS)
def test_few_points_are_in_use(case, seed):
    """From corners only independent points come into use: a basic solution."""
    q = np.zeros(len(case.linear))
    if case.mass_cost is None:
        q[np.unique(case.blocks, return_index=True)[1]] = 1.0
    case.solve(q)
    blocks = np.unique(case.blocks).size
    assert np.count_nonzero(q) <= np.linalg.matrix_rank(case.rows) + blocks


# --- laws --------------------------------------------------------------------------------------


@given(cases, SEEDS)
def test_solving_again_does_nothing(case, seed):
    q = case.start(seed)
    case.solve(q)
    again = q.copy()
    found = case.solve(again, tol=ROUNDING)
    assert found.iterations == 0
    np.testing.assert_allclose(again, q, rtol=1e-14)


@given(cases, st.integers(-30, 30), SEEDS)
def test_a_power_of_four_changes_no_bit(case, power, seed):
    """There is no absolute tolerance anywhere. (Roots of a power of four are exact too.)"""
    q = case.start(seed)
    other = q.copy()
    case.solve(q)
    factor = 4.0**power
    mass_cost = None if case.mass_cost is None else factor * case.mass_cost
    solve_master(
        factor * case.gram, factor * case.linear, case.blocks, other, mass_cost=mass_cost
    )  # fmt: skip
    np.testing.assert_array_equal(other, q)


@given(cases, SEEDS)
def test_what_is_added_to_a_simplex_counts_for_all_its_points(case, seed):
    """A constant on ``linear`` changes no optimum; neither does the order of the points."""
    case = replace(case, mass_cost=None)
    q = case.start(seed)
    order = np.random.default_rng(seed).permutation(len(q))
    other = q[order].copy()
    case.solve(q)
    linear = case.linear[order] + 3.0
    solve_master(
        case.gram[np.ix_(order, order)].copy(), linear, case.blocks[order].copy(), other
    )  # fmt: skip
    back = np.empty_like(q)
    back[order] = other
    _, size = case.gap(q)
    rounding = ROUNDING * (size + 3.0 * (case.blocks.max() + 1))
    assert case.value(back) == pytest.approx(case.value(q), abs=rounding)


def test_room_for_more_points_is_not_looked_at():
    case = random_case(3, 9, 4, 3, "plain", cone=False)
    q, other = case.start(0), case.start(0)
    room = np.full((20, 20), np.nan)
    room[:9, :9] = case.gram
    case.solve(q)
    solve_master(room, case.linear, case.blocks, other)
    np.testing.assert_array_equal(other, q)


@pytest.mark.parametrize("cone", [False, True], ids=["simplexes", "cones"])
@pytest.mark.parametrize("kind", KINDS)
def test_interpreted_python_finds_the_same(kind, cone, monkeypatch):
    """Vectorised sums round differently, so weights agree where they are unique: w always is."""
    case = random_case(5, 14, 6, 3, kind, cone)
    compiled, interpreted = case.start(1), case.start(1)
    case.solve(compiled)
    for name, value in vars(module).items():
        if hasattr(value, "py_func"):
            monkeypatch.setattr(module, name, value.py_func)
    case.solve(interpreted)
    np.testing.assert_allclose(case.rows.T @ interpreted, case.rows.T @ compiled, atol=1e-9)
    assert case.value(interpreted) == pytest.approx(case.value(compiled), abs=1e-11)


# --- inside a box ------------------------------------------------------------------------------


def boxed_value_and_gap(case, q, start, lower, upper):
    """The objective with phi(v) = <v, w> - |w|^2 / 2, w = clip(v), and what can be gained."""
    v = start + case.rows.T.astype(LONG) @ q
    w = np.clip(v, lower, upper)
    flat = replace(case, linear=(case.linear - case.rows @ w).astype(float), rows=0.0 * case.rows)
    gap, _ = flat.gap(q)
    return float(flat.value(q) + case.rows @ w @ q - (v @ w - 0.5 * (w @ w))), gap


@settings(max_examples=200)
@given(cases, SEEDS)
def test_inside_a_box_the_conditions_hold_to_rounding(case, seed):
    rng = np.random.default_rng(seed)
    dim = case.rows.shape[1]
    lower, upper = np.sort(rng.normal(0.0, 0.5, (2, dim)), axis=0)
    lower[rng.random(dim) < 0.3], upper[rng.random(dim) < 0.3] = -np.inf, np.inf
    start = rng.normal(size=dim) * rng.integers(0, 2)
    q = case.start(seed)
    before, _ = boxed_value_and_gap(case, q, start, lower, upper)
    found = solve_boxed_master(
        case.rows, case.gram, case.linear, case.blocks, q, rest=start, bounds=(lower, upper),
        mass_cost=case.mass_cost,
    )  # fmt: skip
    assert_feasible(case, q)
    value, gap = boxed_value_and_gap(case, q, start, lower, upper)
    _, size = case.gap(q)
    size += abs(case.rows @ np.nan_to_num(start)).max() * q.sum()
    assert gap <= ROUNDING * size
    assert found.gap == pytest.approx(gap, abs=ROUNDING * size)
    assert value >= before - ROUNDING * size


def test_a_box_nothing_reaches_is_no_box():
    case = random_case(8, 12, 4, 3, "plain", cone=False)
    q, other = case.start(0), case.start(0)
    case.solve(q)
    box = dict(rest=np.zeros(4), bounds=(np.full(4, -1e3), np.full(4, 1e3)))
    solve_boxed_master(case.rows, case.gram, case.linear, case.blocks, other, **box)
    np.testing.assert_allclose(other, q, atol=1e-12)


@pytest.mark.parametrize("cone", [False, True], ids=["simplexes", "cones"])
def test_the_boxed_optimum_is_that_of_a_generic_solver(cone):
    for seed in range(20):
        case = random_case(seed, 20, 3, 4, "plain", cone)
        inside = [case.blocks == b for b in range(4)]
        share = 1.0 / case.mass_cost if cone else np.ones(4)
        box = np.array([0.0, -np.inf, -0.1]), np.array([np.inf, 0.2, 0.1])
        w, _ = spanned_optimum(
            [case.rows[k] for k in inside], [case.linear[k] for k in inside], share,
            SQUARED if cone else LINEAR, box,
        )  # fmt: skip
        q = case.start(seed)
        solve_boxed_master(
            case.rows, case.gram, case.linear, case.blocks, q, rest=np.zeros(3), bounds=box,
            mass_cost=case.mass_cost,
        )  # fmt: skip
        np.testing.assert_allclose(np.clip(case.rows.T @ q, *box), w, atol=1e-9)
