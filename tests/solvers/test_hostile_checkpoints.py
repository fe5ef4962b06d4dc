"""Checkpoints that someone altered and signed anew: no number in them leads outside an array."""

import json

import numpy as np
import pytest
from altered_checkpoints import save_altered
from factor_problems import PROBLEMS
from python_models import Chain
from scipy.sparse import csr_array

from taut import PythonProblem, smoothed
from taut.choice.registry import OWN, registered_solver, trains_crfs, trains_without_inference
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
        passes = max(4, solver.check_every)  # with a certificate at the end that was due there
        solve(problem, max_passes=passes, **run)
        with np.load(path) as archive:
            arrays = dict(archive)
        change(arrays)
        save_altered(path, arrays)
        return solve(problem, max_passes=passes + 4, resume=True, **run)

    return resume


def at_zero(name, value):
    def change(arrays):
        arrays[name].flat[0] = value

    return change


def in_header(name, value):
    def change(arrays):
        header = json.loads(str(arrays["header"]))
        assert name in header
        arrays["header"] = np.array(json.dumps({**header, name: value}))

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


def test_features_of_a_python_model_that_go_back_are_refused(altered):
    random = np.random.default_rng(0)
    X = [random.normal(size=(3, 2)) for _ in range(6)]
    Y = [tuple(random.integers(0, 3, 3).tolist()) for _ in X]

    def change(arrays):
        rows = arrays["mu"]
        at = np.flatnonzero(rows["block"] == rows["block"][np.argmax(rows["index"])])
        assert len(at) > 3
        rows["index"][at[1:3]] = 2**63 - 1, -(2**63)

    with pytest.raises(ValueError, match=r"run\.npz.*not a dual block"):
        altered(BCFW(), change, PythonProblem(Chain(3, 2, "csr"), X, Y))


# --- numbers that no run has ---------------------------------------------------------------------


def problem_for(solver):
    if trains_without_inference(solver):
        return PROBLEMS["loops of two types"]
    return smoothed(chain()) if trains_crfs(solver) else chain()


HEADERS = {
    "rows": [[], [[1e308] * 11], [[0.0] * 10], [[float("nan")] * 11], [[-1.0] * 11], "x", None],
    "primal": [0.0, 1e300, float("inf"), float("nan"), -1.0, "x"],
    "dual": [-1.0, 1e9, float("inf"), float("nan")],
    "lowest": [1e9, float("inf"), float("-inf"), float("nan")],
    "returned": ["nonsense", "path", "", None],
    "found_at": [-1.0, 1e9, float("nan")],
    "seconds": [-1.0, float("inf"), float("nan")],
    "seconds_in": [{"steps": "x"}, {"steps": float("nan")}, {"steps": -1.0}, []],
    "checks_since": [-1, 10**19, float("nan")],
}


@pytest.mark.parametrize("name", sorted(OWN))
def test_headers_that_no_run_writes_are_refused(name, altered):
    solver = registered_solver(name)
    for field, values in HEADERS.items():
        for value in values:
            with pytest.raises(ValueError, match=r"run\.npz.*not a whole"):
                altered(solver, in_header(field, value), problem_for(solver))


def test_a_history_that_falls_is_refused(altered):
    def change(arrays, field):
        header = json.loads(str(arrays["header"]))
        rows = header["rows"]
        rows[0][field], rows[1][field] = rows[1][field], rows[0][field]
        arrays["header"] = np.array(json.dumps(header))

    for field, name in enumerate(("passes", "seconds", "oracle_calls")):
        with pytest.raises(ValueError, match=rf"run\.npz.*{name} falls"):
            altered(BCFW(), lambda arrays, field=field: change(arrays, field))


@pytest.mark.parametrize("steps", [0, 10**9 + 1, 2**40, 2**53])
@pytest.mark.parametrize("name", sorted(OWN))
def test_a_run_is_not_far_from_its_last_certificate(name, steps, altered):
    solver = registered_solver(name)
    with pytest.raises(ValueError, match=r"run\.npz.*last certificate"):
        altered(solver, at_zero("count", steps), problem_for(solver))


def test_oracle_calls_do_not_become_fewer(altered):
    def change(arrays):
        arrays["count"][1] -= 1

    with pytest.raises(ValueError, match=r"run\.npz.*oracle calls"):
        altered(BCFW(), change)


@pytest.mark.parametrize("time", [2**63 - 1, -1])
def test_the_clock_of_remembered_labellings_is_one(time, altered):
    with pytest.raises(ValueError, match=r"run\.npz.*at time"):
        altered(CuttingPlane(slacks="one"), at_zero("time", time))


@pytest.mark.parametrize("loss", [1e300, 1.5])
@pytest.mark.parametrize("name", REMEMBERING)
def test_remembered_labellings_have_their_losses(name, loss, altered):
    solver, prefix = REMEMBERING[name]
    with pytest.raises(ValueError, match=r"run\.npz.*losses and"):
        altered(solver, at_zero(f"{prefix}loss", loss))


@pytest.mark.parametrize("options", [{}, {"slack_penalty": "squared"}], ids=["linear", "squared"])
@pytest.mark.parametrize("solver", [Simplicial(), CuttingPlane(slacks="one")], ids=["n", "one"])
def test_points_have_a_loss_that_some_labelling_has(solver, options, altered):
    def change(arrays):
        unused = np.flatnonzero(arrays["points.weight"] == 0)  # one in use would be seen anyway
        arrays["points.loss"][unused[:1]] = 1e300
        assert unused.size

    with pytest.raises(ValueError, match=r"run\.npz.*no labelling has"):
        altered(solver, change, **options)
