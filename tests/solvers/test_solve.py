"""The loop around a solver: stopping, interruption, checkpoints, reproducibility."""

import errno
import os
import signal

import numpy as np
import pytest
from altered_checkpoints import save_altered
from slices import before_slices, killed_at
from taut_reference import chain_pair, tiny_pairs

from taut import MulticlassSVM, smoothed
from taut.choice.registry import OWN, registered_solver, trains_crfs, trains_without_inference
from taut.solvers import BCFW, FrankWolfe, Simplicial, Status, Subgradient, solve
from taut.structures import chain_problem

PAIRS = tiny_pairs()
SOLVERS = {
    "batch": FrankWolfe(),
    "toward, cyclic": BCFW(order="cyclic"),
    "toward, gap, cache": BCFW(cache=True),
    "pairwise, gap": BCFW(direction="pairwise"),
    "away, uniform, averaging": BCFW(order="uniform", direction="away", averaging=True),
    "corrective, gap": BCFW(direction="corrective"),
    "corrective, permuted": BCFW(order="permuted", direction="corrective"),
}
solvers = pytest.mark.parametrize("name", SOLVERS)


@pytest.fixture(scope="module")
def pair():
    return chain_pair([3, 1, 2, 3, 2, 3], 3, seed=6)


def options(name, **other):
    return dict(solver=SOLVERS[name], C=2.0, tol=0, **other)


@solvers
def test_max_passes_is_kept_to(pair, name):
    solution = solve(pair[0], **options(name, max_passes=7))
    assert solution.status is Status.MAX_PASSES
    assert solution.passes == 7
    assert solution.history.passes[-1] == 7


def test_a_fraction_of_a_pass(pair):
    assert solve(pair[0], **options("toward, cyclic", max_passes=0.5)).passes == 0.5


@solvers
def test_a_callback_sees_every_certificate_and_can_stop(pair, name):
    rows = []

    def callback(row):
        rows.append(row.copy())
        return len(rows) == 3

    solution = solve(pair[0], **options(name, max_passes=1000, callback=callback))
    assert solution.status is Status.CALLBACK
    assert len(rows) == len(solution.history) == 3
    # Byte for byte: without held-out data the score is NaN, which equals nothing.
    assert [seen.tobytes() for seen in rows] == [kept.tobytes() for kept in solution.history]


@solvers
def test_the_time_limit_stops_with_a_certificate(pair, name):
    problem, reference = pair
    solution = solve(problem, **options(name, max_passes=10**9, time_limit=0.05))
    # Linear convergence may reach a gap of exactly zero first.
    assert solution.status is Status.TIME_LIMIT or solution.gap <= 0
    assert solution.primal == pytest.approx(reference.primal(solution.w, 2.0), abs=1e-9)


@solvers
def test_ctrl_c_returns_a_certified_model(pair, name):
    """Ctrl-C during a slice takes effect after it: the model is a true iterate."""
    problem, reference = pair
    slices = []

    def interrupted(k):
        slices.append(k)
        if k == 4:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with before_slices(type(SOLVERS[name]), interrupted):
        solution = solve(problem, **options(name, max_passes=1000))
    assert signal.getsignal(signal.SIGINT) is handler
    assert solution.status is Status.INTERRUPTED
    assert len(slices) == 4
    assert solution.primal == pytest.approx(reference.primal(solution.w, 2.0), abs=1e-9)
    last = solution.history[-1]
    assert last.iterate_dual == pytest.approx(reference.dual(solution.state.mu, 2.0), abs=1e-9)
    assert solution.gap >= 0


def test_ctrl_c_in_the_callback_returns_a_model(pair):
    def callback(row):
        if row.passes == 10:
            signal.raise_signal(signal.SIGINT)

    solution = solve(pair[0], **options("pairwise, gap", max_passes=1000, callback=callback))
    assert solution.status is Status.INTERRUPTED
    assert solution.passes == 11


def test_a_second_ctrl_c_interrupts_at_once(pair):
    def twice(k):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with before_slices(BCFW, twice), pytest.raises(KeyboardInterrupt):
        solve(pair[0], **options("toward, cyclic", max_passes=1000))
    assert signal.getsignal(signal.SIGINT) is handler


def test_sigterm_returns_a_model_too(pair):
    def callback(row):
        if row.passes == 10:
            signal.raise_signal(signal.SIGTERM)

    handler = signal.getsignal(signal.SIGTERM)
    solution = solve(pair[0], **options("pairwise, gap", max_passes=1000, callback=callback))
    assert solution.status is Status.TERMINATED
    assert solution.status.is_interruption
    assert solution.passes == 11
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_ctrl_c_after_sigterm_interrupts_at_once(pair):
    def both(k):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    with before_slices(BCFW, both), pytest.raises(KeyboardInterrupt):
        solve(pair[0], **options("toward, cyclic", max_passes=1000))


# --- checkpoints -----------------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("at", [2, 7, 12, 15])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(pair, name, at, tmp_path):
    """Killed at any moment, the rest of the run is the same, bit for bit."""
    problem, _ = pair
    whole = solve(problem, **options(name, max_passes=23))
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    with killed_at(type(SOLVERS[name]), at):
        solve(problem, **options(name, max_passes=23, **saving))
    resumed = solve(problem, **options(name, max_passes=23, resume=True, **saving))
    np.testing.assert_array_equal(resumed.state.w, whole.state.w)
    np.testing.assert_array_equal(resumed.state.mu, whole.state.mu)
    np.testing.assert_array_equal(resumed.w, whole.w)
    assert (resumed.primal, resumed.dual) == (whole.primal, whole.dual)
    assert resumed.history.passes.tolist() == whole.history.passes.tolist()
    assert resumed.history.iterate_dual.tolist() == whole.history.iterate_dual.tolist()


@pytest.fixture
def saved(pair, tmp_path):
    """A checkpoint on disk, and how to resume from it."""
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    solve(pair[0], **options("corrective, gap", max_passes=12, **saving))

    def resume(problem=pair[0], **changes):
        return solve(
            problem,
            **{**options("corrective, gap", max_passes=14, resume=True, **saving), **changes},
        )

    return saving["checkpoint"], resume


def test_the_checkpoint_is_one_file(saved):
    path, _ = saved
    assert [file.name for file in path.parent.iterdir()] == ["run.npz"]


def test_resuming_without_a_file_starts_from_the_beginning(pair, tmp_path):
    fresh = solve(pair[0], **options("toward, cyclic", max_passes=5))
    path = tmp_path / "none.npz"
    resumed = solve(
        pair[0], **options("toward, cyclic", max_passes=5, resume=True, checkpoint=path)
    )
    np.testing.assert_array_equal(resumed.w, fresh.w)


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_checkpoint_is_refused_by_name(saved, kept):
    path, resume = saved
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept < 1 else kept])
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume()


def test_a_damaged_checkpoint_is_refused_by_name_or_is_undamaged(saved):
    """One flipped bit: every array has a checksum. Bits outside of all content may not matter."""
    path, resume = saved
    content = path.read_bytes()
    expected = resume().w
    refused = 0
    positions = np.random.default_rng(0).integers(0, len(content), 60)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        try:
            solution = resume()
        except ValueError as error:
            assert "run.npz" in str(error)  # noqa: PT017
            refused += 1
        else:
            np.testing.assert_array_equal(solution.w, expected)
    assert refused >= len(positions) // 2


@pytest.mark.parametrize("content", [b"not an archive", b"PK\x03\x04 nor this one"])
def test_a_foreign_file_is_refused_by_name(saved, content):
    path, resume = saved
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume()


def test_another_archive_is_refused_by_name(saved):
    path, resume = saved
    np.savez(path, header=np.array("{}"), w=np.zeros(3))
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume()
    np.savez(path, header=np.array(["objects", None], object))
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume()


def test_a_checkpoint_of_another_run_is_refused(saved):
    _, resume = saved
    with pytest.raises(ValueError, match="another C"):
        resume(C=3.0)
    with pytest.raises(ValueError, match="another solver"):
        resume(solver=BCFW(order="uniform", direction="corrective"))
    with pytest.raises(ValueError, match="another set of examples"):
        resume(problem=PAIRS["chain"][0])


def test_bounds_belong_to_the_run(saved):
    """Other bounds are another problem: the checkpoint must not silently bring its own."""
    _, resume = saved
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume(bounds=(-0.1, 0.1))


def test_the_folder_of_a_checkpoint_must_exist(pair, tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        solve(pair[0], checkpoint=tmp_path / "missing" / "run.npz")


def full_disk(*args):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_does_not_end_the_run(pair, tmp_path, monkeypatch):
    expected = solve(pair[0], **options("toward, cyclic", max_passes=9))
    path = tmp_path / "run.npz"
    saving = dict(checkpoint=path, checkpoint_seconds=0.0)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.warns(RuntimeWarning, match=r"run\.npz.*[Nn]o space") as said:
        solution = solve(pair[0], **options("toward, cyclic", max_passes=9, **saving))
    *others, last = [str(warning.message) for warning in said]
    assert others
    assert all("training goes on" in other and "tries again" in other for other in others)
    assert "training has ended" in last
    assert "tries again" not in last
    np.testing.assert_array_equal(solution.w, expected.w)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_tried_again(pair, tmp_path, monkeypatch):
    path = tmp_path / "run.npz"

    def callback(row):
        (monkeypatch.setattr(os, "fsync", full_disk) if row.passes < 5 else monkeypatch.undo())

    saving = dict(checkpoint=path, checkpoint_seconds=0.0, callback=callback)
    with pytest.warns(RuntimeWarning, match=r"run\.npz"):
        solve(pair[0], **options("toward, cyclic", max_passes=40, **saving))
    assert path.exists()


def test_another_seed_is_another_run(saved):
    _, resume = saved
    with pytest.raises(ValueError, match="another seed"):
        resume(seed=1)


def test_fits_without_a_random_state_resume(tmp_path):
    """They draw another seed each time, which nobody chose."""
    options = dict(checkpoint=tmp_path / "run.npz", verbose=False)
    X, y = np.eye(3), [0, 1, 2]
    first = MulticlassSVM(**options).fit(X, y)
    resumed = MulticlassSVM(resume=True, **options).fit(X, y)
    np.testing.assert_array_equal(resumed.w_, first.w_)
    with pytest.raises(ValueError, match="another seed"):
        MulticlassSVM(resume=True, random_state=0, **options).fit(X, y)


COUNTING = [FrankWolfe(), BCFW(), Simplicial(), Subgradient()]


@pytest.mark.parametrize("solver", COUNTING, ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("count", [-1, 2**53 + 1, 2**63 - 1])
def test_counters_that_no_run_has_are_refused(pair, tmp_path, solver, count):
    path = tmp_path / "run.npz"
    run = dict(C=2.0, tol=0, checkpoint=path)
    solve(pair[0], solver, max_passes=2, **run)
    with np.load(path) as archive:
        arrays = dict(archive)
    for name in {"count", "visits"} & set(arrays):
        if arrays[name].size:
            save_altered(path, {**arrays, name: np.full_like(arrays[name], count)})
            with pytest.raises(ValueError, match=rf"run\.npz.*array {name}"):
                solve(pair[0], solver, max_passes=4, resume=True, **run)


def test_an_archive_that_unpacks_to_more_is_not_unpacked(saved, monkeypatch):
    path, resume = saved
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez_compressed(path, **arrays, more=np.zeros(10**6))
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(ValueError, match=r"run\.npz.*cannot be read") as refused:
        resume()
    assert "compressed" in str(refused.value.__cause__)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("resume", [False, True])
def test_a_checkpoint_is_no_pipe_or_device(pair, tmp_path, resume):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        with pytest.raises(OSError, match="name an ordinary file"):
            solve(pair[0], checkpoint=path, resume=resume)


# --- reproducibility -------------------------------------------------------------------------


@solvers
def test_the_number_of_threads_changes_no_bit(pair, name):
    one, three = (
        solve(pair[0], **options(name, max_passes=12, n_threads=n_threads)) for n_threads in (1, 3)
    )
    np.testing.assert_array_equal(one.w, three.w)
    assert one.history.iterate_primal.tolist() == three.history.iterate_primal.tolist()
    assert one.history.iterate_dual.tolist() == three.history.iterate_dual.tolist()


@solvers
def test_the_same_seed_gives_the_same_bits(pair, name):
    first, again = (solve(pair[0], **options(name, max_passes=12, seed=5)) for _ in range(2))
    np.testing.assert_array_equal(first.w, again.w)
    other = solve(pair[0], **options(name, max_passes=12, seed=6))
    deterministic = name == "batch" or "cyclic" in name
    assert np.array_equal(first.state.mu, other.state.mu) == deterministic


def test_more_threads_than_examples(pair):
    assert solve(pair[0], **options("batch", max_passes=2, n_threads=50)).passes == 2


# --- wrong arguments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(C=0.0), "C=0"),
        (dict(C=-1.0), "C=-1"),
        (dict(C=np.nan), "C=nan"),
        (dict(C=np.inf), "C=inf"),
        (dict(tol=-1e-3), "tol"),
        (dict(tol=np.nan), "tol"),
        (dict(bounds=(1.0, 0.0)), "lower 1.0 is not at most upper 0.0"),
        (dict(bounds=(np.nan, 1.0)), "bounds of weight 0"),
        (dict(bounds=(np.zeros(3), 1.0)), "expected"),
    ],
)
def test_wrong_arguments_are_named(pair, wrong, message):
    with pytest.raises(ValueError, match=message):
        solve(pair[0], **wrong)


@pytest.mark.parametrize(
    "wrong",
    [dict(order="random"), dict(direction="sideways"), dict(refresh=0), dict(cheap_passes=-1)],
)
def test_wrong_options_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BCFW(**wrong)


def test_weights_that_overflow_are_an_error_and_not_converged():
    problem = chain_problem(np.ones((4, 1)), [2, 2], np.array([0, 1, 0, 1]), 2)
    with pytest.raises(ValueError, match=r"a sum overflowed\. Scale the features down, or lower C"):
        solve(problem, BCFW(), bounds=(1e200, np.inf))


@pytest.mark.parametrize("scale", [dict(features=1e155), dict(importance=1e155)], ids=str)
@pytest.mark.parametrize("name", sorted(OWN))
def test_numbers_that_overflow_are_an_error_and_no_warning(name, scale):
    random, solver = np.random.default_rng(0), registered_solver(name)
    if trains_without_inference(solver):
        pytest.skip("is for graphs")
    X = random.normal(size=(20, 3)) * scale.get("features", 1.0)
    weights = np.full(5, scale.get("importance", 1.0))
    problem = chain_problem(X, [4] * 5, random.integers(0, 3, 20), 3, importance=weights)
    problem = smoothed(problem) if trains_crfs(solver) else problem
    try:
        solution = solve(problem, solver, max_passes=6)
    except ValueError as error:
        assert "overflow" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(solution.gap)


def test_cpu_seconds_are_a_limit_too():
    problem = chain_problem(np.ones((4, 1)), [2, 2], np.array([0, 1, 0, 1]), 2)
    solution = solve(problem, BCFW(), tol=0, max_passes=1e9, cpu_limit=0.05)
    assert solution.status is Status.CPU_LIMIT
    with pytest.raises(ValueError, match=r"cpu_limit=-1; a number of seconds"):
        solve(problem, cpu_limit=-1)
