"""Missing labels are summed over: objective, gradient and proof by enumeration."""

import pickle

import numpy as np
import pytest
from crf_reference import CRFReference, entropy
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sparse_reference import sparse_pair
from taut_reference import chain_pair, multiclass_pair

from taut import regularization_path
from taut.solvers import LBFGS, SDCA, Status, solve
from taut.solvers.lbfgs import LBFGSRun
from taut.solvers.objective import Objective
from taut.structures import partly_labelled, smoothed

C = 0.6
CASES = {
    "multiclass": lambda: multiclass_pair(8, 3, weighted=True, seed=1),
    "chain": lambda: chain_pair([3, 1, 2, 4], 3, weighted=True, seed=2),
    "chain with step features": lambda: chain_pair([3, 2, 1, 3], 2, n_step=2, seed=4),
    "constrained chain": lambda: chain_pair([3, 2, 4, 1], 4, constrained=True, seed=39),
    "sparse steps": lambda: sparse_pair([3, 1, 2, 4], 3, weighted=True, seed=2),
    "constrained step attributes": lambda: sparse_pair(
        [3, 2, 4, 1], 4, n_attributes=2, constrained=True, seed=39
    ),
}
cases = pytest.mark.parametrize("case", CASES)


class Partial:
    """A problem of which about half of the labels are known, and its definition."""

    def __init__(self, case, temperature=1.0, share=0.5):
        self.base, reference = CASES[case]()
        rng = np.random.default_rng(5)
        self.known = rng.random(len(self.base.truth)) < share
        self.problem = partly_labelled(self.base, self.known, temperature)
        self.reference, self.T = CRFReference(reference, temperature), temperature
        self.n, self.dim, self.lam = self.base.n, self.base.dim, 1.0 / (C * self.base.n)

    def agrees(self, i):
        """Which labellings have the known labels."""
        first, last = self.base.pointer[i : i + 2]
        known, truth = self.known[first:last], self.base.truth[first:last]
        return np.array([(y == truth)[known].all() for y in self.reference.of.labellings(i)])

    def filled(self, i, w):
        """The distribution over labellings that agree."""
        values = self.reference.values(i, w) / self.T
        return softmax(np.where(self.agrees(i), values, -np.inf))

    def primal(self, w):
        s, total = self.reference.s, 0.0
        for i in range(self.n):
            values = self.reference.values(i, w) / self.T
            total -= s[i] * self.T * (logsumexp(values[self.agrees(i)]) - logsumexp(values))
        return 0.5 * self.lam * (w @ w) + total / self.n

    def filled_in_at(self, w):
        """The convex objective of which the labels are filled in as ``w`` expects them."""
        s, reference = self.reference.s, self.reference
        q = [self.filled(i, w) for i in range(self.n)]

        def primal(u):
            total = 0.0
            for i in range(self.n):
                known = q[i] @ reference.values(i, u) + self.T * entropy(q[i])
                total += s[i] * (reference.value(i, u) - known)
            return 0.5 * self.lam * (u @ u) + total / self.n

        return primal

    def run(self):
        return LBFGSRun(self.problem, LBFGS(), Objective(C, bounds=None, seed=0, n_threads=1))


@cases
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_objective_is_that_of_the_known_labels(case, temperature):
    partial = Partial(case, temperature)
    assert 0 < partial.known.sum() < len(partial.known)
    run, rng = partial.run(), np.random.default_rng(0)
    for size in (0.0, 0.5, 3.0):
        w = size * rng.normal(size=partial.dim)
        assert run.evaluate(w).primal == pytest.approx(partial.primal(w), rel=1e-12, abs=1e-12)


@cases
def test_the_gradient_is_that_of_finite_differences(case):
    partial = Partial(case)
    run, rng = partial.run(), np.random.default_rng(1)
    h = 1e-5
    for _ in range(3):
        w, d = rng.normal(size=(2, partial.dim))
        slope = (partial.primal(w + h * d) - partial.primal(w - h * d)) / (2 * h)
        # Third derivatives of log Z along d are below (2 max |<psi, d>|)^3, some thousands here.
        assert slope == pytest.approx(run.evaluate(w).gradient @ d, rel=0, abs=1e4 * h**2)


@cases
def test_the_bound_is_one_of_the_convex_objective_with_labels_filled_in(case):
    """It touches the objective at w, and its minimum is between the bound and w's value."""
    partial = Partial(case)
    w = 0.3 * np.random.default_rng(2).normal(size=partial.dim)
    found, convex = partial.run().evaluate(w), partial.filled_in_at(w)
    assert convex(w) == pytest.approx(found.primal, rel=1e-12)
    gap = found.gradient @ found.gradient / (2 * partial.lam)
    assert found.primal - found.dual == pytest.approx(gap, rel=1e-9)
    best = minimize(convex, w, method="BFGS", options={"maxiter": 500})
    assert found.dual <= best.fun + 1e-12
    assert best.fun <= found.primal
    # It lies above the objective everywhere: to minimise it is to go down.
    for u in (best.x, np.zeros(partial.dim), -w):
        assert convex(u) >= partial.primal(u) - 1e-12


@cases
def test_it_is_solved_to_a_stationary_point_below_where_it_began(case):
    partial = Partial(case)
    solution = solve(partial.problem, C=C, tol=1e-9)
    assert solution.status is Status.CONVERGED
    assert isinstance(solution.solver, LBFGS)
    assert solution.scale == pytest.approx(partial.primal(np.zeros(partial.dim)), rel=1e-12)
    assert solution.primal == pytest.approx(partial.primal(solution.w), rel=1e-12)
    assert solution.primal < solution.scale
    assert solution.gap <= 1e-9 * solution.scale
    # gap = |gradient|^2 / (2 lambda): no direction goes down faster than that.
    most = np.sqrt(2 * partial.lam * solution.gap)
    for d in np.random.default_rng(3).normal(size=(5, partial.dim)):
        d *= 1e-5 / np.linalg.norm(d)
        rise = partial.primal(solution.w + d) - partial.primal(solution.w - d)
        assert abs(rise) / 2e-5 <= most + 1e-9
    assert "missing labels filled in" in solution.certifies


@pytest.mark.parametrize("large", [1.0, 30.0, 1000.0])
def test_the_gap_is_that_of_the_weights_returned(large):
    """Earlier weights fill in other labels, and what they prove is of another function."""
    for seed in range(6):
        base, _ = chain_pair([4, 3, 5, 2, 4], 3, seed=seed)
        known = np.random.default_rng(seed).random(len(base.truth)) < 0.3
        problem = partly_labelled(base, known)
        solution = solve(problem, C=large, tol=1e-6, max_passes=500)
        run = LBFGSRun(problem, LBFGS(), Objective(large, bounds=None, seed=0, n_threads=1))
        found = run.evaluate(solution.w)
        assert solution.primal == pytest.approx(found.primal, rel=1e-12)
        assert solution.dual == pytest.approx(found.dual, rel=1e-12, abs=1e-12)
        assert solution.status in (Status.CONVERGED, Status.NO_WAY_DOWN)


@cases
def test_with_all_labels_known_it_is_the_complete_problem(case):
    base, _ = CASES[case]()
    whole = partly_labelled(base, np.ones(len(base.truth), bool))
    one = solve(whole, C=C, tol=1e-8)
    two = solve(smoothed(base), SDCA(), C=C, tol=1e-8, max_passes=5000)
    assert one.scale == pytest.approx(two.scale, rel=1e-12)
    assert max(one.dual, two.dual) <= min(one.primal, two.primal) + 1e-13


@pytest.mark.parametrize("case", ["multiclass", "chain", "chain with step features"])
def test_where_nothing_is_known_nothing_is_learnt(case):
    base, _ = CASES[case]()
    solution = solve(partly_labelled(base, np.zeros(len(base.truth), bool)), C=C)
    assert solution.status is Status.CONVERGED
    assert not solution.w.any()
    assert solution.primal == solution.dual == 0.0


def test_labels_that_are_unknown_do_not_matter():
    partial = Partial("chain")
    other = np.where(partial.known, partial.base.truth, (partial.base.truth + 1) % 3)
    moved = partly_labelled(partial.base._replace(truth=other.astype(np.int32)), partial.known)
    one, two = (solve(problem, C=C, tol=1e-8) for problem in (partial.problem, moved))
    # The truth's own score is part of both sums that are subtracted.
    assert one.primal == pytest.approx(two.primal, rel=1e-8)
    np.testing.assert_allclose(one.w, two.w, rtol=0, atol=1e-4)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_changes_no_bit(n_threads):
    problem = Partial("chain").problem
    one = solve(problem, C=C, tol=1e-7)
    other = solve(problem, C=C, tol=1e-7, n_threads=n_threads)
    np.testing.assert_array_equal(one.w, other.w)
    assert one.history.iterate_dual.tolist() == other.history.iterate_dual.tolist()


def test_forced_labels_stay_forced_where_the_truth_is_unknown():
    """Else the known labellings would include some that are none of all."""
    base, _ = chain_pair([3, 2, 3], 3, seed=0)
    forced = np.where(np.arange(8) % 2 == 0, base.truth, -1)
    base = base.constrained(forced=forced)
    problem = partly_labelled(base, np.zeros(8, bool))
    solution = solve(problem, C=C)
    assert not solution.w.any()
    assert solution.primal == 0.0


def test_solvers_and_paths_that_need_all_labels_refuse_it():
    problem = Partial("chain").problem
    with pytest.raises(ValueError, match=r"needs all labels, .* some are missing: use LBFGS"):
        solve(problem, SDCA())
    with pytest.raises((ValueError, TypeError)):
        regularization_path(problem)


def test_which_labels_are_known_is_part_of_what_is_learnt():
    partial = Partial("chain")
    other = partly_labelled(partial.base, ~partial.known)
    assert other.fingerprint() != partial.problem.fingerprint()
    first = solve(partial.problem, C=C, tol=1e-3)
    with pytest.raises(ValueError, match="proves nothing here"):
        solve(other, C=C, warm_start=first)
    again = solve(partial.problem, C=C, tol=1e-3, warm_start=first)
    assert again.passes == 0
    pickled = pickle.loads(pickle.dumps(partial.problem))
    assert pickled.fingerprint() == partial.problem.fingerprint()
