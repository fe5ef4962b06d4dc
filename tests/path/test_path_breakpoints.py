"""What is tracked at breakpoints is what enumeration finds there; where Osokin's path begins."""

import numpy as np
import pytest
from path_reference import BOUNDS, tiny_cases
from taut_reference import chain_pair, multiclass_pair

from taut import regularization_path
from taut.path.path_kinds import METHODS
from taut.path.walk import Walk
from taut.solvers import BCFW
from taut.structures import chain_problem

PAIRS = {
    "weighted multiclass": multiclass_pair(7, 3, n_features=2, weighted=True, seed=2),
    "chain": chain_pair([3, 1, 2, 3], 2, n_features=2, seed=3),
}
CASES = tiny_cases()
SOLVERS = {
    "toward": BCFW(),
    "pairwise, cache": BCFW(direction="pairwise", cache=True),
    "corrective": BCFW(direction="corrective"),
}
KAPPA = {method: walk.kappa for method, walk in METHODS.items()}
# Sums of a few dozen numbers of order one, after many steps that each round.
ROUNDING = 1e-11


@pytest.fixture
def dual_points(monkeypatch):
    """Marginals at every lambda that a walk solves, by lambda."""
    seen = {}
    solved = Walk.solved

    def remembering(walk, *args):
        seen[walk.lam] = np.array(walk.run.problem.dual_array(walk.run.state.mu))
        return solved(walk, *args)

    monkeypatch.setattr(Walk, "solved", remembering)
    return seen


def path_of(problem, box="free", **options):
    options = dict(eps=0.1, lam_min=0.02, max_passes=3000) | options
    return regularization_path(problem, bounds=BOUNDS[box](problem.dim), **options)


def gaps_of(path, reference, box, dual_points):
    """The gaps of the dual points themselves."""
    bounds, gaps = BOUNDS[box](reference.dim), []
    for lam in path.lambdas:
        C, mu = 1.0 / (lam * reference.n), dual_points[lam]
        w = reference.weights(mu, C)
        w = w if bounds is None else np.clip(w, *bounds)
        np.testing.assert_allclose(path.weights(lam), w, rtol=0, atol=ROUNDING)
        gaps.append(reference.primal(w, C) - reference.dual(mu, C, bounds))
    return np.array(gaps)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("method", ["linear", "constant"])
@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", PAIRS)
def test_tracked_gaps_are_those_of_the_dual_points(which, box, method, name, dual_points):
    problem, reference = PAIRS[which]
    path = path_of(problem, box, method=method, solver=SOLVERS[name])
    gaps = gaps_of(path, reference, box, dual_points)
    np.testing.assert_allclose(path.gaps, gaps, rtol=0, atol=ROUNDING)
    assert np.all(gaps <= KAPPA[method] * path.eps * path.scale + ROUNDING)
    for now in (path.true_gaps(), path.gaps, path.breakpoints.gap):
        np.testing.assert_allclose(now, gaps, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("box", BOUNDS)
def test_all_that_is_tracked(box, dual_points):
    problem, reference = PAIRS["weighted multiclass"]
    path = path_of(problem, box)
    before = path.weights(1e300)  # of the limit
    bounds = BOUNDS[box](reference.dim)
    zero = np.zeros(reference.dim)
    limit = zero if bounds is None else np.clip(zero, *bounds)
    np.testing.assert_allclose(before, limit, rtol=0, atol=1e-290)
    for row in path.breakpoints:
        w, mu, C = path.weights(row.lam), dual_points[row.lam], 1 / (row.lam * reference.n)
        v = reference.weights(mu, C)
        losses = [reference.loss_of(i, image) for i, image in enumerate(reference.images(mu))]
        assert row.norm == pytest.approx(w @ w, abs=ROUNDING)
        assert row.product == pytest.approx(v @ w, abs=ROUNDING)
        assert row.distance == pytest.approx(np.sum((w - before) ** 2), abs=ROUNDING)
        assert row.loss == pytest.approx(reference.s @ losses / reference.n, abs=ROUNDING)
        hinge = reference.primal(w, C) - 0.5 * row.lam * (w @ w)
        assert row.hinge == pytest.approx(hinge, abs=ROUNDING)
        before = w
    assert np.all(np.diff(path.lambdas) < 0)
    assert np.all(np.diff(path.breakpoints.oracle_calls) >= 0)
    np.testing.assert_allclose(path.Cs * path.lambdas * reference.n, 1.0, rtol=1e-14)


@pytest.mark.parametrize("which", CASES)
@pytest.mark.parametrize("box", ["free", "nonnegative"])
def test_a_solution_is_certified_by_the_bound(which, box):
    case = CASES[which]
    of = case.reference(BOUNDS[box](case.dim))
    path = path_of(case.problem, box)
    for lam in [50.0, *path.lambdas, np.sqrt(path.lambdas[-2] * path.lambdas[-1])]:
        solution = path.solution(lam)
        objective = of.primal(solution.w, lam)
        assert solution.gap == pytest.approx(path.bound(lam), abs=ROUNDING)
        assert objective <= solution.primal + ROUNDING
        assert solution.dual <= of.optimum(lam) + 1e-9
        assert (solution.lam, solution.C) == (lam, 1 / (lam * case.listed.n))
        np.testing.assert_allclose(solution.w, path.weights(C=solution.C), rtol=1e-12)
    for lam, gap in zip(path.lambdas, path.gaps, strict=True):
        assert path.bound(lam) == pytest.approx(gap, abs=ROUNDING)
        assert path.solution(lam).primal == pytest.approx(
            of.primal(path.weights(lam), lam), abs=ROUNDING
        )


# --- the heuristic path --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("box", ["free", "without zero"])
def test_a_heuristic_path_promises_nothing_until_it_asks(box, name, dual_points):
    problem, reference = PAIRS["chain"]
    path = path_of(problem, box, method="heuristic", solver=SOLVERS[name])
    assert not path.guaranteed
    assert "without guarantee" in str(path)
    lam = path.lambdas[len(path) // 2]
    with pytest.raises(ValueError, match="true_gaps"):
        path.bound(lam)
    assert np.isnan(path.solution(lam).gap)

    believed, calls = path.gaps, path.oracle_calls
    true = gaps_of(path, reference, box, dual_points)
    np.testing.assert_allclose(path.true_gaps(), true, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(path.gaps, true, rtol=0, atol=ROUNDING)
    assert not np.allclose(believed, true, rtol=1e-6, atol=1e-9)
    assert np.all(believed <= KAPPA["heuristic"] * path.eps * path.scale + ROUNDING)
    assert not path.guaranteed  # now known, but not promised to be within eps
    assert path.oracle_calls == calls  # what the path took, not what was asked about it

    of = CASES["chain"].reference(BOUNDS[box](reference.dim))
    for lam in np.geomspace(100.0, 0.02, 30):
        assert of.suboptimality(path.weights(lam), lam) <= path.bound(lam) + 1e-9


# --- the first lambda --------------------------------------------------------------------------


@pytest.mark.parametrize("box", ["free", "nonnegative"])
@pytest.mark.parametrize("which", ["weighted multiclass", "chain", "weighted chain"])
def test_a_constant_path_begins_where_osokins_does(which, box):
    """Where worst labellings do not tie; of the loss beside its large weights 1e-9 is left."""
    case = CASES[which]
    path = path_of(case.problem, box, method="constant", callback=lambda row: True)
    of = case.reference(BOUNDS[box](case.dim))
    assert len(path) == 1
    expected = of.first_lambda(0.9 * 0.1 * of.scale)
    assert path.lambdas[0] == pytest.approx(expected, rel=1e-8)


def test_the_first_lambda_of_ocr(ocr_small):
    """Printed by the authors' released code for eps = 0.1 and kappa = 0.9."""
    X, y = ocr_small
    truth = (np.concatenate(y).view(np.uint32) - ord("a")).astype(np.int32)
    problem = chain_problem(np.concatenate(X), [len(word) for word in y], truth, 26)
    path = regularization_path(problem, method="constant", callback=lambda row: True)
    assert path.scale == 1
    assert path.lambdas[0] == pytest.approx(4623.173373, abs=5e-6)
