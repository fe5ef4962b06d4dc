"""Checkpoints of paths that are damaged, or of another path: refused by name, never believed."""

import json
import os
import signal

import numpy as np
import pytest
from altered_checkpoints import save_altered
from path_reference import tiny_cases

from taut import PythonProblem, regularization_grid, regularization_path
from taut.path import PathStatus, path_kinds, walk
from taut.path.storage import Labellings, Weights
from taut.solvers import BCFW

CASES = tiny_cases()
PROBLEM = CASES["chain"].problem
OPTIONS = dict(eps=0.06, lam_min=0.03, seed=3)
LAMBDAS = [10.0, 1.0, 0.1]


@pytest.fixture(params=["weights", "labellings"])
def saved(request, tmp_path, monkeypatch):
    """A checkpoint on disk with a point put aside (``ahead``), and how to resume from it."""
    storage = {"weights": Weights, "labellings": Labellings}[request.param]
    monkeypatch.setattr(walk, "new_storage", storage)
    monkeypatch.setattr(path_kinds, "LONGEST", 1e3)  # pieces that are too long
    file = tmp_path / "path.npz"
    going = regularization_path(PROBLEM, **OPTIONS, checkpoint=file, time_limit=0)
    while not (going._walk.ahead and len(going) > 0):
        assert going.status is PathStatus.TIME_LIMIT
        going.extend(time_limit=0)

    def resume(problem=PROBLEM, **changes):
        options = {**OPTIONS, "time_limit": 0.05, "max_passes": 50, **changes}
        return regularization_path(problem, checkpoint=file, resume=True, **options)

    return file, resume


def arrays_of(file):
    with np.load(file) as archive:
        return {name: archive[name] for name in archive.files}


def refused_or_fine(resume):
    """Whether it was refused, by an error that names the file."""
    try:
        resume()
    except ValueError as error:
        assert "path.npz" in str(error)  # noqa: PT017
        return True
    return False


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_checkpoint_is_refused_by_name(saved, kept):
    file, resume = saved
    content = file.read_bytes()
    file.write_bytes(content[: int(kept * len(content)) if kept < 1 else kept])
    with pytest.raises(ValueError, match=r"path\.npz"):
        resume()


def test_a_flipped_bit_is_refused_by_name_or_does_not_matter(saved):
    """Every array has a checksum. Bits outside of all content may not matter."""
    file, resume = saved
    content = file.read_bytes()
    expected = resume(time_limit=None).lambdas
    file.write_bytes(content)
    positions = np.random.default_rng(0).integers(0, len(content), 60)
    refused = 0
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 1 << (position % 8)
        file.write_bytes(damaged)
        try:
            going = resume(time_limit=None)
        except ValueError as error:
            assert "path.npz" in str(error)  # noqa: PT017
            refused += 1
        else:
            np.testing.assert_array_equal(going.lambdas, expected)
    assert refused >= len(positions) // 2


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 nor this one"])
def test_a_foreign_file_is_refused_by_name(saved, content):
    file, resume = saved
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"path\.npz"):
        resume()


@pytest.mark.parametrize("header", ["{}", "[]", "3", "not json", '{"format": "taut path 2"}'])
def test_another_archive_is_refused_by_name(saved, header):
    file, resume = saved
    np.savez(file, header=np.array(header), w=np.zeros(3))
    with pytest.raises(ValueError, match=r"path\.npz"):
        resume()


def damages(array):
    """Wrong versions of an array, by what is wrong; those that no reader could miss."""
    yield "missing", None
    yield "a number", np.float64(1.0)
    yield "text", np.full(array.shape, "x")
    yield "another dimension", np.stack([array, array])
    yield "another type", np.ones(array.shape, np.int16)
    if array.dtype.kind == "f" and array.size:
        yield "not finite", np.full(array.shape, np.nan)


def test_arrays_of_another_kind_are_refused_by_name(saved):
    file, resume = saved
    original = arrays_of(file)
    for name, array in original.items():
        if name in ("header", "digest"):
            continue
        for what, damaged in damages(array):
            others = {other: one for other, one in original.items() if other != name}
            save_altered(file, others | ({} if damaged is None else {name: damaged}))
            assert refused_or_fine(resume), (name, what)


def test_a_lambda_that_does_not_belong_to_the_weights_is_refused(saved):
    file, resume = saved
    arrays = arrays_of(file)
    arrays["number"][0] *= 2.0
    save_altered(file, arrays)
    with pytest.raises(ValueError, match=r"path\.npz.*do not belong together"):
        resume()


def test_arrays_of_other_numbers_never_crash(saved):
    """Lengths, places and numbers of labellings that lead nowhere; what cannot be, is refused."""
    file, resume = saved
    original = arrays_of(file)
    refused = 0
    for name, array in original.items():
        if array.dtype.kind not in "if" or not array.size:
            continue
        # Positions in strange places, and a piece that is missing.
        for damaged in (array[:-1], array + 10**9, -1 - array, np.append(array, array)):
            file.unlink()
            save_altered(file, {**original, name: damaged.astype(array.dtype)})
            refused += refused_or_fine(resume)
    assert refused > 2 * len(original)


def test_a_damaged_header_is_refused_by_name_or_does_no_harm(saved):
    file, resume = saved
    original = arrays_of(file)
    header = json.loads(str(original["header"]))
    wrong = [None, "x", [], {}, -1, 0, 10**9, 0.5, float("inf"), float("nan")]
    for name in header:
        file.unlink()
        without = {other: value for other, value in header.items() if other != name}
        save_altered(file, {**original, "header": np.array(json.dumps(without))})
        assert refused_or_fine(resume), name
        for value in wrong:
            if value is header[name]:
                continue
            file.unlink()
            changed = np.array(json.dumps({**header, name: value}))
            save_altered(file, {**original, "header": changed})
            refused = refused_or_fine(resume)
            if value is None or isinstance(value, str | list | dict):
                assert refused, (name, value)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (dict(eps=0.05), "eps"),
        (dict(kappa=0.5), "kappa"),
        (dict(floor=0.01), "floor"),
        (dict(method="constant"), "method"),
        (dict(solver=BCFW()), "solver"),
        (dict(bounds=(0.0, np.inf)), "bounds"),
        (dict(keep_weights=False), "storage"),
        (dict(seed=4), "seed"),
        (dict(validate=np.sum), "validation"),
        (dict(problem=CASES["weighted chain"].problem), "set of examples"),
    ],
    ids=[
        "eps",
        "kappa",
        "floor",
        "method",
        "solver",
        "bounds",
        "storage",
        "seed",
        "validation",
        "data",
    ],
)
def test_a_checkpoint_of_another_path_is_refused(saved, change, name):
    _, resume = saved
    with pytest.raises(ValueError, match=rf"path\.npz.* another {name}"):
        resume(**change)


@pytest.mark.parametrize(
    "change",
    [dict(lambdas=[10.0, 1.0, 0.2]), dict(warm_start="primal"), dict(eps=0.02)],
    ids=["lambdas", "warm start", "eps"],
)
def test_a_checkpoint_of_another_grid_is_refused(change, tmp_path):
    file = tmp_path / "path.npz"
    options = dict(lambdas=LAMBDAS, eps=0.01, checkpoint=file)
    regularization_grid(PROBLEM, **options, callback=lambda row: True)
    with pytest.raises(ValueError, match=r"path\.npz"):
        regularization_grid(PROBLEM, **{**options, **change}, resume=True)


def test_a_grid_is_not_a_path(tmp_path):
    file = tmp_path / "path.npz"
    regularization_grid(PROBLEM, lambdas=LAMBDAS, checkpoint=file)
    with pytest.raises(ValueError, match=r"path\.npz"):
        regularization_path(PROBLEM, checkpoint=file, resume=True)


def test_numbers_of_any_type_are_saved(tmp_path):
    file = tmp_path / "path.npz"
    options = dict(eps=np.float32(0.25), kappa=np.float32(0.5), lam_min=np.int64(1))
    regularization_path(PROBLEM, **options, checkpoint=file)
    assert len(regularization_path(PROBLEM, **options, checkpoint=file, resume=True)) > 0


def test_the_place_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        regularization_path(PROBLEM, checkpoint=tmp_path / "missing" / "path.npz")
    with pytest.raises(IsADirectoryError, match="folder"):
        regularization_path(PROBLEM, checkpoint=tmp_path)


def test_resuming_needs_a_checkpoint():
    with pytest.raises(ValueError, match="checkpoint"):
        regularization_path(PROBLEM, resume=True)


def test_labels_of_python_models_cannot_be_saved(tmp_path):
    class Model:
        def joint_feature(self, x, y):
            return np.array([x * y])

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def oracle(self, w, x, y):
            return max((-1, 1), key=lambda z: w @ self.joint_feature(x, z) + self.loss(y, z))

        def predict(self, w, x):
            return max((-1, 1), key=lambda z: w @ self.joint_feature(x, z))

    problem = PythonProblem(Model(), [1.0, -1.0], [1, -1])
    with pytest.raises(ValueError, match="Python model"):
        regularization_path(problem, checkpoint=tmp_path / "path.npz")
    saving = dict(solver=BCFW(), checkpoint=tmp_path / "path.npz", lam_min=0.5)
    whole = regularization_path(problem, **saving)
    again = regularization_path(problem, **saving, resume=True)
    np.testing.assert_array_equal(again.lambdas, whole.lambdas)
    np.testing.assert_array_equal(again.weights(1.0), whole.weights(1.0))


def test_a_full_disk_does_not_end_the_path(tmp_path, monkeypatch):
    def full_disk(*args):
        raise OSError(28, "No space left on device")

    whole = regularization_path(PROBLEM, **OPTIONS)
    monkeypatch.setattr(os, "fsync", full_disk)
    saving = dict(checkpoint=tmp_path / "path.npz", checkpoint_seconds=0.0)
    with pytest.warns(RuntimeWarning, match=r"path\.npz.*[Nn]o space"):
        path = regularization_path(PROBLEM, **OPTIONS, **saving)
    np.testing.assert_array_equal(path.lambdas, whole.lambdas)


def test_sigterm_returns_the_path_so_far():
    path = regularization_path(
        PROBLEM, **OPTIONS, callback=lambda row: signal.raise_signal(signal.SIGTERM)
    )
    assert path.status is PathStatus.TERMINATED
    assert len(path) > 0
    assert path.extend().status is PathStatus.TO_LAM_MIN


def test_a_compressed_checkpoint_is_refused(saved):
    file, resume = saved
    np.savez_compressed(file, **arrays_of(file))
    with pytest.raises(ValueError, match=r"path\.npz.*cannot be read"):
        resume()


def test_ends_of_breakpoints_that_go_back_are_refused(saved):
    """Their differences are positive, as 64 bits hold them."""
    file, resume = saved
    arrays = arrays_of(file)
    arrays["storage.end"] = np.append([2**63 - 1, -(2**63), -1], arrays["storage.end"][-1:])
    arrays["storage.lam"] = np.geomspace(1.0, 0.1, 4)
    save_altered(file, arrays)
    with pytest.raises(ValueError, match=r"path\.npz.*ends of breakpoints"):
        resume()
