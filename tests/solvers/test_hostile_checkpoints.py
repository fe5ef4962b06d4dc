"""Checkpoints that someone altered and signed anew: no number in them leads outside an array."""

import numpy as np
import pytest
from altered_checkpoints import save_altered
from scipy.sparse import csr_array

from taut.solvers import BCFW, CuttingPlane, Simplicial, solve
from taut.solvers.corners import are_sound, new_corners
from taut.structures import chain_problem

FAR = (2**63 - 1, 2**63 - 2, 2**62, 10**9, -1, -(2**63))
REMEMBERING = {
    "cache": (BCFW(cache=True), "corners."),
    "corrective": (BCFW(direction="corrective"), "corners."),
    "pairwise": (BCFW(direction="pairwise"), "corners."),
    "cutting planes": (CuttingPlane(slacks="one"), "cache."),
}


def chain(sparse=False):
    random = np.random.default_rng(0)
    lengths = random.integers(1, 6, 12)
    nodes = int(lengths.sum())
    X = random.normal(size=(nodes, 3))
    X = csr_array(X) if sparse else X
    return chain_problem(X, lengths, random.integers(0, 3, nodes), 3)


@pytest.fixture
def altered(tmp_path):
    """``altered(solver, changes)`` resumes a run after changes of its checkpoint's arrays."""
    path = tmp_path / "run.npz"

    def resume(solver, change, problem=None, **options):
        problem = problem or chain()
        run = dict(solver=solver, C=1.0, tol=1e-9, seed=3, checkpoint=path, **options)
        path.unlink(missing_ok=True)
        solve(problem, max_passes=4, **run)
        with np.load(path) as archive:
            arrays = dict(archive)
        change(arrays)
        save_altered(path, arrays)
        return solve(problem, max_passes=8, resume=True, **run)

    return resume


def at_zero(name, value):
    def change(arrays):
        arrays[name].flat[0] = value

    return change


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("field", ["label_at", "gram_at", "rank", "head", "following", "size"])
def test_places_far_outside_the_pool_are_not_sound(field, far):
    """Where a place and a length are added, the sum may begin again from below."""
    problem = chain()
    lengths = np.diff(problem.pointer)
    corners = new_corners(problem, lengths, keeps_gram=True)
    assert are_sound(corners, lengths, 3)
    getattr(corners, field)[0] = far
    if (field, far) != ("following", -1):  # the end of a list
        assert not are_sound(corners, lengths, 3)


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("place", range(4))
def test_a_pool_in_use_beyond_its_size_is_not_sound(place, far):
    problem = chain()
    lengths = np.diff(problem.pointer)
    corners = new_corners(problem, lengths, keeps_gram=True)
    corners.used[place] = far
    assert not are_sound(corners, lengths, 3)


def test_two_slots_of_one_rank_are_not_sound():
    """The inner products are found by ranks."""
    problem = chain()
    lengths = np.diff(problem.pointer)
    corners = new_corners(problem, lengths, keeps_gram=True)
    new = corners.used[0]
    corners.following[0], corners.size[0], corners.used[0], corners.used[3] = new, 2, new + 1, 2
    corners.rank[new] = 1
    assert are_sound(corners, lengths, 3)
    corners.rank[new] = 0
    assert not are_sound(corners, lengths, 3)


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("name", REMEMBERING)
def test_labellings_outside_the_pool_are_refused(name, far, altered):
    solver, prefix = REMEMBERING[name]
    with pytest.raises(ValueError, match=r"run\.npz.*inconsistent"):
        altered(solver, at_zero(f"{prefix}label_at", far))


@pytest.mark.parametrize("pointers", [[2**63 - 1, -(2**63), -1], [2**62, -(2**62), 0], [5, 3, 4]])
def test_rows_of_points_that_go_back_are_refused(pointers, altered):
    """Differences of such pointers may be positive, as 64 bits hold them."""

    def change(arrays):
        arrays["points.indptr"][1:4] = pointers

    with pytest.raises(ValueError, match=r"run\.npz.*indptr"):
        altered(Simplicial(), change, chain(sparse=True))
