"""Weights of all breakpoints, kept in little memory and rebuilt exactly."""

from itertools import product

import numpy as np
import pytest
from graph_reference import complete, cycle, graph_pair
from path_reference import BOUNDS, tiny_cases
from scipy import sparse

from taut import regularization_grid, regularization_path
from taut.path import walk
from taut.path.storage import Labellings, Weights, ranges
from taut.path.walk import Walk
from taut.solvers import BCFW
from taut.structures import chain_problem

CASES = tiny_cases()
STORAGES = {"weights": Weights, "labellings": Labellings}
SOLVERS = {
    "corrective": BCFW(direction="corrective"),
    # One labelling is remembered beside the active ones: slots are overwritten all the time.
    "corrective, forgetful": BCFW(direction="corrective", cache_size=1),
    "pairwise, forgetful cache": BCFW(direction="pairwise", cache=True, cache_size=2),
}


@pytest.fixture
def solved_weights(monkeypatch):
    """The weights of every solved lambda, as the solver had them."""
    seen = []
    solved = Walk.solved

    def remembering(walk, *args):
        result = solved(walk, *args)
        seen.append(walk.run.state.w.copy())
        assert len(seen) == len(walk.storage)
        return result

    monkeypatch.setattr(Walk, "solved", remembering)
    return seen


def assert_rebuilt(path, solved_weights):
    storage = path._walk.storage
    for j in np.random.default_rng(0).permutation(len(storage)):
        w = solved_weights[j]
        assert np.abs(storage.rebuilt(j) - w).max() <= 1e-12 * np.abs(w).max()
    for lam in path.lambdas:
        (j,) = np.flatnonzero(storage.lam == lam)
        w = solved_weights[j]
        assert np.abs(path.weights(lam) - w).max() <= 1e-12 * np.abs(w).max()


@pytest.mark.parametrize("kind", STORAGES)
@pytest.mark.parametrize("method", ["linear", "constant"])
@pytest.mark.parametrize("box", ["free", "without zero"])
@pytest.mark.parametrize(
    ("which", "name"),
    list(product(["weighted multiclass", "weighted chain"], SOLVERS)),
)
def test_the_weights_are_rebuilt(which, box, method, name, kind, monkeypatch, solved_weights):
    monkeypatch.setattr(walk, "new_storage", STORAGES[kind])
    case = CASES[which]
    path = regularization_path(
        case.problem, eps=0.05, lam_min=0.02, method=method, bounds=BOUNDS[box](case.dim),
        solver=SOLVERS[name], max_passes=3000,
    )  # fmt: skip
    assert type(path._walk.storage) is STORAGES[kind]
    assert_rebuilt(path, solved_weights)


@pytest.mark.parametrize("kind", STORAGES)
@pytest.mark.parametrize("warm_start", ["best", None])
def test_the_weights_of_a_grid_are_rebuilt(warm_start, kind, monkeypatch, solved_weights):
    """Without a warm start every lambda has a run of its own."""
    monkeypatch.setattr(walk, "new_storage", STORAGES[kind])
    path = regularization_grid(
        CASES["weighted chain"].problem, lambdas=[10.0, 1.0, 0.1, 0.01], warm_start=warm_start
    )
    assert_rebuilt(path, solved_weights)


def test_labellings_of_a_relaxation_are_rebuilt(monkeypatch, solved_weights):
    """They are points of the local polytope, kept as the bits of their numbers."""
    monkeypatch.setattr(walk, "new_storage", Labellings)
    problem, _ = graph_pair(
        [complete(4), cycle(3), cycle(5)], inference="roof-duality", relaxed=True,
        n_edge_features=1, sparse_edges=True, weighted=True, seed=6,
    )  # fmt: skip
    path = regularization_path(problem, eps=0.1, lam_min=0.02)
    assert_rebuilt(path, solved_weights)


def test_the_last_weights_asked_for_are_not_handed_out():
    """What a user does to an array of weights is no business of the path's."""
    path = regularization_path(CASES["chain"].problem, lam_min=0.1)
    for lam in [*path.lambdas, 0.3]:
        before = path.weights(lam)
        changed = path.weights(lam)
        changed[:] = np.nan
        path.solution(lam).w[:] = np.nan
        np.testing.assert_array_equal(path.weights(lam), before)


def test_a_path_need_not_keep_weights():
    path = regularization_path(CASES["chain"].problem, lam_min=0.1, keep_weights=False)
    whole = regularization_path(CASES["chain"].problem, lam_min=0.1)
    np.testing.assert_array_equal(path.gaps, whole.gaps)
    assert path.nbytes == 0 < whole.nbytes
    assert path.bound(1.0) == whole.bound(1.0)
    with pytest.raises(ValueError, match="keep_weights"):
        path.weights(1.0)


def sparse_chains(n=15, length=4, n_attributes=4000, n_states=3):
    """Three attributes out of thousands at every node."""
    rng = np.random.default_rng(1)
    nodes = n * length
    columns = rng.integers(0, n_attributes, 3 * nodes)
    rows = sparse.csr_array(
        (np.ones(3 * nodes), columns, 3 * np.arange(nodes + 1)), shape=(nodes, n_attributes)
    )
    truth = rng.integers(0, n_states, nodes).astype(np.int32)
    return chain_problem(rows, np.full(n, length), truth, n_states)


def test_a_path_of_many_weights_takes_little_memory(solved_weights):
    problem = sparse_chains()
    path = regularization_path(problem, eps=0.05, method="constant", lam_min=0.05)
    assert type(path._walk.storage) is Labellings
    assert len(path) > 30
    assert path.nbytes < 0.05 * len(path) * problem.dim * 8
    assert_rebuilt(path, solved_weights)


def test_ranges():
    start, size = np.array([4, 0, 7, 7]), np.array([2, 0, 3, 1])
    assert ranges(start, size).tolist() == [4, 5, 7, 8, 9, 7]
    assert ranges(start[:0], size[:0]).tolist() == []
