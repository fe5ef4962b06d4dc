"""A path interrupted in any way, and gone on with, is the path that was not; bit for bit."""

import signal
from functools import cache

import numpy as np
import pytest
from path_reference import BOUNDS, PRECISE, tiny_cases

from taut import regularization_grid, regularization_path
from taut.path import PathStatus
from taut.path import walk as walk_module
from taut.path.storage import Labellings, Weights
from taut.solvers import BCFW
from taut.solvers.bcfw import BCFWRun
from taut.solvers.progress import Progress

CASES = tiny_cases()
WHICH = "chain"
PROBLEM = CASES[WHICH].problem
LAMBDAS = [30.0, 3.0, 1.0, 0.3, 0.05, 0.02]
PAIRWISE = BCFW(direction="pairwise", cache=True)


def path(method, **options):
    return regularization_path(
        PROBLEM, **{**dict(method=method, eps=0.06, lam_min=0.03, seed=3), **options}
    )


def grid(warm_start, **options):
    return regularization_grid(
        PROBLEM, **{**dict(lambdas=LAMBDAS, warm_start=warm_start, eps=0.01, seed=3), **options}
    )


WALKS = {
    "linear": lambda **options: path("linear", **options),
    "linear, bounded": lambda **options: path("linear", eps=0.02, bounds=(-0.1, 0.4), **options),
    "constant": lambda **options: path("constant", **options),
    "constant, toward": lambda **options: path("constant", eps=0.3, solver=BCFW(), **options),
    "heuristic": lambda **options: path("heuristic", eps=0.2, solver=PAIRWISE, **options),
    "grid": lambda **options: grid("best", **options),
    "grid, primal": lambda **options: grid("primal", **options),
    "grid, dual": lambda **options: grid("dual", eps=0.1, solver=PAIRWISE, **options),
    "grid, cold": lambda **options: grid(None, **options),
}
walks = pytest.mark.parametrize("walk", WALKS)


@cache
def whole(walk):
    return WALKS[walk]()


def assert_same(one, other):
    assert one.status is other.status
    assert one.end == other.end
    assert one.oracle_calls == other.oracle_calls
    for name in one.breakpoints.dtype.names:
        if name != "seconds":
            np.testing.assert_array_equal(one.breakpoints[name], other.breakpoints[name])
    for lam in [100.0, *one.lambdas, one.lambdas[-1] * 1.1]:
        np.testing.assert_array_equal(one.weights(lam), other.weights(lam))


class Killed(Exception):
    pass


def killing(monkeypatch, at):
    """The solver dies in its step number ``at``."""
    advance, calls = BCFWRun.advance, []

    def killed(run, n_steps):
        calls.append(n_steps)
        if len(calls) == at:
            raise Killed
        advance(run, n_steps)

    monkeypatch.setattr(BCFWRun, "advance", killed)
    return lambda: monkeypatch.setattr(BCFWRun, "advance", advance)


# --- going on with the same object ---------------------------------------------------------------


@walks
def test_stopped_by_a_callback_and_extended(walk):
    rows = []

    def every_second(row):
        rows.append(row.copy())
        return len(rows) % 2 == 0

    going = WALKS[walk](callback=every_second)
    assert going.status is PathStatus.CALLBACK
    assert len(going) == 2
    for _ in range(len(whole(walk))):
        if going.status is not PathStatus.CALLBACK:
            break
        assert len(going) == len(rows)
        assert going.extend(callback=every_second) is going
    assert_same(going, whole(walk))
    # Every breakpoint was told once; scores are NaN, which equals nothing.
    assert [row.tobytes() for row in rows] == [row.tobytes() for row in going.breakpoints]


@walks
def test_stopped_by_the_time_limit_after_every_step_and_extended(walk):
    going = WALKS[walk](time_limit=0)
    for _ in range(100_000):
        if going.status is not PathStatus.TIME_LIMIT:
            break
        going.extend(time_limit=0)
    assert_same(going, whole(walk))


@walks
def test_interrupted_and_extended(walk, monkeypatch):
    advance, calls = BCFWRun.advance, []

    def interrupted(run, n_steps):
        calls.append(n_steps)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        advance(run, n_steps)

    monkeypatch.setattr(BCFWRun, "advance", interrupted)
    handler = signal.getsignal(signal.SIGINT)
    going = WALKS[walk]()
    assert signal.getsignal(signal.SIGINT) is handler
    assert going.status is PathStatus.INTERRUPTED
    assert len(calls) == 4
    assert_same(going.extend(), whole(walk))


def test_ctrl_c_in_the_callback_keeps_its_breakpoint():
    def callback(row):
        signal.raise_signal(signal.SIGINT)

    going = WALKS["linear"](callback=callback)
    assert going.status is PathStatus.INTERRUPTED
    assert len(going) == 1
    assert_same(going.extend(), whole("linear"))


def test_stopped_by_the_cpu_limit_and_extended():
    going = WALKS["linear"](cpu_limit=0)
    assert going.status is PathStatus.CPU_LIMIT
    assert_same(going.extend(cpu_limit=1e9), whole("linear"))


def test_a_time_limit_counts_from_its_own_call():
    going = WALKS["linear"](callback=lambda row: True)
    going._walk.seconds += 1e6
    assert going.extend(time_limit=1e3).status is PathStatus.TO_LAM_MIN
    assert going.seconds > 1e6


def test_how_far_a_path_is_is_shown(monkeypatch):
    lines = []
    monkeypatch.setattr(Progress, "line", lambda progress, text: lines.append(text()))
    going = WALKS["linear"](progress=False)
    assert lines[0].startswith("lambda ")
    assert "(0 % of the way to 0.03)  1 breakpoint " in lines[0]
    assert f"(100 % of the way to 0.03)  {len(going)} breakpoints" in lines[-1]
    assert lines[-1].endswith(" s, at least 0 s left")


def test_without_a_breakpoint_there_is_nothing_to_show_yet(monkeypatch):
    going = WALKS["grid"](time_limit=0)
    assert len(going) == 0
    assert "extend" in str(going)
    with pytest.raises(ValueError, match="no breakpoint yet"):
        going.weights(1.0)


def test_finished_pieces_of_an_interrupted_path_are_good():
    of = CASES[WHICH].reference()
    going = WALKS["linear"](callback=lambda row: row.lam < 1.0)
    assert going.status is PathStatus.CALLBACK
    for lam in np.geomspace(1e3, going.end, 50):
        assert of.suboptimality(going.weights(lam), lam) <= going.bound(lam) + PRECISE
        assert going.bound(lam) <= going.eps * going.scale
    with pytest.raises(ValueError, match="extend"):
        going.weights(0.9 * going.end)


def test_max_passes_stops_and_more_of_them_go_on():
    going = WALKS["linear"](solver=BCFW(), eps=0.003, max_passes=3)
    assert going.status is PathStatus.MAX_PASSES
    assert going.end > 0.03
    going.extend(max_passes=10_000)
    assert going.status is PathStatus.TO_LAM_MIN


def test_an_exception_in_the_callback_leaves_through():
    def callback(row):
        raise Killed

    with pytest.raises(Killed):
        WALKS["linear"](callback=callback)


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("method", ["linear", "constant"])
def test_a_path_can_be_extended_to_smaller_lambdas(method, box):
    of = CASES[WHICH].reference(BOUNDS[box](PROBLEM.dim))
    longer = path(method, lam_min=5.0, bounds=BOUNDS[box](PROBLEM.dim))
    early = longer.lambdas
    for lam_min in (4.0, 0.5, 0.03):
        longer.extend(lam_min=lam_min)
        assert longer.status is PathStatus.TO_LAM_MIN
        assert longer.end <= lam_min
    np.testing.assert_array_equal(longer.lambdas[: len(early)], early)
    assert np.all(np.diff(longer.lambdas) < 0)
    for lam in np.geomspace(1e3, longer.end, 50):
        bound = longer.bound(lam)
        assert of.suboptimality(longer.weights(lam), lam) <= bound + PRECISE
        assert bound <= longer.eps * longer.scale + 1e-12


@pytest.mark.parametrize("method", ["constant", "heuristic"])
def test_constant_pieces_do_not_depend_on_where_the_path_ends(method):
    longer = path(method, lam_min=5.0)
    for lam_min in (4.0, 0.5, 0.03):
        longer.extend(lam_min=lam_min)
    assert_same(longer, path(method))


def test_a_path_that_is_complete_stays_as_it_is():
    for walk in ("linear", "constant", "grid"):
        done = WALKS[walk]()
        assert_same(done.extend(), whole(walk))
    assert_same(path("linear").extend(lam_min=1.0), whole("linear"))


def test_a_grid_has_no_values_to_extend_to():
    with pytest.raises(ValueError, match="grid"):
        WALKS["grid"]().extend(lam_min=1e-3)


def test_extending_forgets_recomputed_gaps():
    going = path("heuristic", lam_min=1.0)
    believed = going.gaps
    going.true_gaps()
    going.extend(lam_min=0.5)
    np.testing.assert_array_equal(going.gaps[: len(believed)], believed)
    with pytest.raises(ValueError, match="true_gaps"):
        going.bound(1.0)


# --- checkpoints ---------------------------------------------------------------------------------


@walks
@pytest.mark.parametrize("at", [1, 2, 5, 8])
def test_killed_at_any_step_and_resumed(walk, at, tmp_path, monkeypatch):
    saving = dict(checkpoint=tmp_path / "path.npz", checkpoint_seconds=0.0)
    restored = killing(monkeypatch, at)
    with pytest.raises(Killed):
        WALKS[walk](**saving)
    restored()
    assert_same(WALKS[walk](resume=True, **saving), whole(walk))


@pytest.mark.parametrize("storage", [Weights, Labellings], ids=["weights", "labellings"])
@pytest.mark.parametrize("walk", ["constant", "linear, bounded", "grid, cold"])
def test_either_storage_is_resumed(walk, storage, tmp_path, monkeypatch):
    monkeypatch.setattr(walk_module, "new_storage", storage)
    expected = WALKS[walk]()
    saving = dict(checkpoint=tmp_path / "path.npz", checkpoint_seconds=0.0)
    restored = killing(monkeypatch, 6)
    with pytest.raises(Killed):
        WALKS[walk](**saving)
    restored()
    going = WALKS[walk](resume=True, **saving)
    assert type(going._walk.storage) is storage
    assert_same(going, expected)


@walks
def test_stopped_saved_and_resumed(walk, tmp_path):
    """The last state is saved whatever the reason to stop."""
    file = tmp_path / "path.npz"
    stopped = WALKS[walk](checkpoint=file, checkpoint_seconds=1e9, callback=lambda row: True)
    assert [one.name for one in tmp_path.iterdir()] == ["path.npz"]
    going = WALKS[walk](checkpoint=file, resume=True, time_limit=0)
    assert len(going) >= len(stopped) == 1
    assert_same(WALKS[walk](checkpoint=file, resume=True), whole(walk))
    assert_same(WALKS[walk](checkpoint=file, resume=True), whole(walk))  # it was complete


@pytest.mark.parametrize("method", ["linear", "constant"])
def test_a_complete_checkpoint_is_resumed_to_a_smaller_lambda(method, tmp_path):
    file = tmp_path / "path.npz"
    path(method, lam_min=1.0, checkpoint=file)
    longer = path(method, checkpoint=file, resume=True)
    expected = path(method, lam_min=1.0).extend(lam_min=0.03)
    assert_same(longer, expected)


def test_resuming_without_a_file_starts_from_the_beginning(tmp_path):
    assert_same(WALKS["linear"](checkpoint=tmp_path / "no.npz", resume=True), whole("linear"))


def test_scores_are_resumed(tmp_path):
    file = tmp_path / "path.npz"
    at = np.array([50.0, 7.0, 1.0, 0.1, 0.04])
    scoring = dict(validate=lambda w: float(w @ w), validate_at=at)
    expected = path("linear", **scoring)
    np.testing.assert_allclose(expected.scores, [w @ w for w in map(expected.weights, at)])
    path("linear", checkpoint=file, callback=lambda row: row.lam < 5.0, **scoring)
    going = path("linear", checkpoint=file, resume=True, **scoring)
    np.testing.assert_array_equal(going.scores, expected.scores)


@pytest.mark.parametrize("method", ["linear", "constant", "heuristic"])
def test_scores_are_those_of_the_paths_weights(method):
    scored = path(method, validate=lambda w: float(w @ w))
    expected = [w @ w for w in map(scored.weights, scored.lambdas)]
    np.testing.assert_allclose(scored.scores, expected, rtol=1e-11)
    at = np.geomspace(1e3, 0.03, 40)
    scored = path(method, validate=lambda w: float(w @ w), validate_at=at)
    np.testing.assert_array_equal(scored.score_lambdas, at)
    np.testing.assert_allclose(scored.scores, [w @ w for w in map(scored.weights, at)], rtol=1e-11)


# --- reproducibility -----------------------------------------------------------------------------


@walks
def test_the_number_of_threads_changes_no_bit(walk):
    assert_same(WALKS[walk](n_threads=2), whole(walk))


@walks
def test_the_same_seed_gives_the_same_bits(walk):
    assert_same(WALKS[walk](), whole(walk))


def test_another_seed_gives_another_path():
    other = path("constant", seed=4)
    assert not np.array_equal(other.weights(0.1), whole("constant").weights(0.1))
