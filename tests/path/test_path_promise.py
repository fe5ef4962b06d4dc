"""The promise of a path: weights within eps of the optimum at every lambda, and a bound as proof.

The optimum is that of a generic QP solver over all labellings, proved to ``PRECISE``.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from decomposition_reference import FREE, enumerated, enumerated_model, python_problem
from graph_reference import complete, cycle, graph_pair
from path_reference import BOUNDS, PRECISE, PathReference, tiny_cases
from python_models import Chain
from taut_reference import multiclass_pair

from taut import PythonProblem, regularization_path
from taut.path import PathStatus
from taut.solvers import BCFW

CASES = tiny_cases()
SOLVERS = {
    "toward": BCFW(),
    "pairwise, cache": BCFW(direction="pairwise", cache=True),
    "default": None,
}
LAM_MIN = 0.02
# From far above the first breakpoint to below the end: the first lambda grows like 1/eps.
LAMBDAS = np.geomspace(1e4, 0.5 * LAM_MIN, 100)
# Sums of a hundred numbers of order one.
ROUNDING = 1e-12


@cache
def reference(which, box):
    return CASES[which].reference(BOUNDS[box](CASES[which].dim))


def path_of(which, box, **options):
    case = CASES[which]
    return regularization_path(
        case.problem, bounds=BOUNDS[box](case.dim), lam_min=LAM_MIN, max_passes=3000, **options
    )


def assert_promise(path, of, precise=PRECISE):
    """``of`` knows how far weights are from the optimum, a little more at most."""
    assert path.guaranteed
    assert path.status in (PathStatus.TO_LAM_MIN, PathStatus.TO_ZERO)
    assert path.lambdas[0] < LAMBDAS[0]
    seen = 0
    for lam in LAMBDAS:
        if lam < path.end:
            with pytest.raises(ValueError, match="extend"):
                path.weights(lam)
            continue
        seen += 1
        bound = path.bound(lam)
        excess = of.suboptimality(path.weights(lam), lam)
        assert -precise <= excess <= bound + precise + ROUNDING
        assert bound <= path.eps * path.scale + ROUNDING
    assert seen >= np.count_nonzero(LAMBDAS >= LAM_MIN)


@pytest.mark.parametrize("eps", [0.3, 0.1, 0.03, 0.01])
@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", CASES)
def test_linear_paths_are_within_eps(which, box, eps):
    assert_promise(path_of(which, box, eps=eps), reference(which, box))


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", CASES)
def test_with_a_floor_they_are_within_eps_of_the_optimum_there(which, box):
    eps, floor, of = 0.1, 1e-3, reference(which, box)
    path = path_of(which, box, eps=eps, floor=floor)
    for lam in LAMBDAS[LAMBDAS >= LAM_MIN]:
        allowed = max(eps * of.optimum(lam), floor * path.scale)
        excess = of.suboptimality(path.weights(lam), lam)
        assert excess <= path.bound(lam) + PRECISE <= allowed + 2 * PRECISE + ROUNDING


@pytest.mark.parametrize("eps", [0.3, 0.1])
@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", CASES)
def test_constant_paths_are_within_eps(which, box, eps):
    assert_promise(path_of(which, box, eps=eps, method="constant"), reference(which, box))


@pytest.mark.parametrize("eps", [0.03, 0.01])
@pytest.mark.parametrize(
    ("which", "box"), [("weighted chain", "free"), ("weighted multiclass", "without zero")]
)
def test_constant_paths_are_within_a_small_eps(which, box, eps):
    assert_promise(path_of(which, box, eps=eps, method="constant"), reference(which, box))


@pytest.mark.parametrize("name", ["toward", "pairwise, cache"])
@pytest.mark.parametrize("method", ["linear", "constant"])
@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", ["weighted multiclass", "chain"])
def test_every_solver_keeps_the_promise(which, box, method, name):
    path = path_of(which, box, eps=0.1, method=method, solver=SOLVERS[name])
    assert_promise(path, reference(which, box))


@pytest.mark.parametrize("kappa", [0.2, 0.99])
@pytest.mark.parametrize("method", ["linear", "constant"])
def test_every_kappa_keeps_the_promise(method, kappa):
    path = path_of("weighted chain", "nonnegative", eps=0.1, method=method, kappa=kappa)
    assert np.all(path.gaps <= kappa * path.eps * path.scale)
    assert_promise(path, reference("weighted chain", "nonnegative"))


@pytest.mark.parametrize("which", CASES)
def test_the_scale_is_the_objective_at_zero(which):
    path = path_of(which, "without zero", eps=0.3)
    assert path.scale == pytest.approx(reference(which, "without zero").scale, rel=1e-14)


@pytest.mark.parametrize("method", ["linear", "constant"])
def test_a_path_that_fits_the_data_is_good_for_every_smaller_lambda(method):
    """Where the hinge is below eps at a breakpoint, its weights are within eps down to 0."""
    problem, separable = multiclass_pair(3, 3, seed=8)
    of = PathReference(enumerated(separable))
    path = regularization_path(problem, eps=0.3, method=method, lam_min=1e-9)
    assert path.status is PathStatus.TO_ZERO
    assert path.end == 0
    for lam in np.geomspace(path.lambdas[-1], 1e-3 * path.lambdas[-1], 20):
        excess = of.suboptimality(path.weights(lam), lam)
        assert excess <= path.bound(lam) + PRECISE <= 0.3 * path.scale + 2 * PRECISE
    # At lambda = 0 the optimum of separable data is 0, and the bound is the hinge.
    last = path.weights(1e-300)
    assert path.bound(1e-300) == pytest.approx(of.hinge(last), abs=ROUNDING)


def test_an_interpreted_model_keeps_the_promise():
    rng = np.random.default_rng(6)
    model = Chain(2, 2)
    X = [rng.normal(size=(length, 2)) for length in (3, 1, 2, 2)]
    Y = [tuple(map(int, rng.integers(0, 2, len(x)))) for x in X]
    s = rng.uniform(0.3, 3.0, len(X))
    problem = PythonProblem(model, X, Y, s)
    listed = enumerated_model(model, X, Y, lambda x: product(range(2), repeat=len(x)), s)
    for bounds in (None, (-0.2, np.inf)):
        of = PathReference(listed, FREE if bounds is None else bounds)
        for method in ("linear", "constant"):
            path = regularization_path(
                problem, eps=0.1, lam_min=LAM_MIN, method=method, bounds=bounds
            )
            assert_promise(path, of)


def test_slack_rescaling_keeps_the_promise():
    _, reference = multiclass_pair(7, 3, n_features=2, weighted=True, seed=5)
    listed = enumerated(reference)
    problem = python_problem(listed, "slack")
    for bounds in (None, (0.0, np.inf)):
        of = PathReference(listed.slack_rescaled(), FREE if bounds is None else bounds)
        path = regularization_path(problem, eps=0.1, lam_min=LAM_MIN, bounds=bounds)
        assert_promise(path, of)


class RelaxedReference:
    """Of training with the linear-programming relaxation of a graph."""

    def __init__(self, reference):
        self.reference = reference

    def suboptimality(self, w, lam):
        C = 1.0 / (lam * self.reference.n)
        return self.reference.primal(w, C) - self.reference.optimum(C)[0]


def test_a_relaxed_graph_keeps_the_promise_for_its_relaxation():
    """The generic solver's accuracy is 1e-8 there, relative to 1/lambda more or less."""
    problem, graphs = graph_pair([cycle(3), complete(3)], inference="lp", relaxed=True, seed=7)
    path = regularization_path(problem, eps=0.1, lam_min=LAM_MIN)
    assert_promise(path, RelaxedReference(graphs), precise=1e-6)
