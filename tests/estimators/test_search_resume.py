"""A search for C that was killed at any moment goes on to the same bits, whatever ``n_jobs``."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from python_models import Chain
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from taut import (
    ChainCRFCV,
    ChainSVMCV,
    GraphSVMCV,
    MulticlassSVM,
    MulticlassSVMCV,
    MultilabelSVMCV,
    StructuredSVMCV,
)
from taut.datasets import make_digit_words, make_gaussian_potts
from taut.solvers.checkpoint import CheckpointFile

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*largest that was considered"),
    pytest.mark.filterwarnings("ignore:.*every C scores the same"),
]
OPTIONS = {"cv": 3, "n_lambdas": 6, "eps": 0.3, "random_state": 0}
SMALL = {**OPTIONS, "cv": 2, "n_lambdas": 3, "eps": 0.4, "tol": 0.05}


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    noise = 0.7 * rng.normal(size=60)
    return X, np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + noise, [-0.5, 0.5])]


def label_sets():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, (X[:, :3] > 0).astype(int)


def pairs():
    X = [np.random.default_rng(i).normal(size=(2, 2)) for i in range(8)]
    return X, [tuple((x[:, 0] > 0).astype(int)) for x in X]


SEARCHES = {
    "classes": (MulticlassSVMCV, OPTIONS, table),
    "classes, toward": (MulticlassSVMCV, {**OPTIONS, "solver": "bcfw", "tol": 0.1}, table),
    "sets": (MultilabelSVMCV, OPTIONS, label_sets),
    "chains": (ChainSVMCV, SMALL, lambda: make_digit_words(9, random_state=0)),
    "chain CRF": (ChainCRFCV, SMALL, lambda: make_digit_words(9, random_state=0)),
    "graphs": (
        GraphSVMCV,
        SMALL,
        lambda: make_gaussian_potts(12, size=3, n_states=2, noise=0.5),
    ),
    "Python": (
        StructuredSVMCV,
        {**SMALL, "model": Chain(2, 2), "solver": "bcfw", "eps": 0.8, "tol": 0.5, "lam_min": 2.0},
        pairs,
    ),
}


def search(which, folder=None, **options):
    kind, own, _ = SEARCHES[which]
    return kind(**{**own, "checkpoint": folder, "checkpoint_seconds": 0.0, **options})


def assert_same(one, other):
    for name in ("w_", "scores_", "lambdas_", "lam_", "C_", "best_score_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.path_.lambdas, other.path_.lambdas)
    np.testing.assert_array_equal(one.path_.weights(one.lam_), other.path_.weights(one.lam_))
    assert one.solution_.history.gap.tolist() == other.solution_.history.gap.tolist()


class Killed(Exception):
    pass


class Killing:
    """Dies when something is saved for the ``at``-th time, before or after; then nothing is."""

    def __init__(self, monkeypatch, at=10**9, after=False):
        self.at, self.after, self.n = at, after, 0
        write = CheckpointFile.try_to_write

        def killed(file, header, arrays):
            self.n += 1
            if self.n == self.at and self.after:
                write(file, header, arrays)
            if self.n >= self.at:
                raise Killed
            write(file, header, arrays)

        self.restore = lambda: monkeypatch.setattr(CheckpointFile, "try_to_write", write)
        monkeypatch.setattr(CheckpointFile, "try_to_write", killed)


@pytest.mark.parametrize("which", SEARCHES)
def test_killed_at_many_save_points_and_resumed(which, tmp_path, monkeypatch):
    X, y = SEARCHES[which][2]()
    whole = search(which).fit(X, y)
    counting = Killing(monkeypatch)
    assert_same(search(which, tmp_path / "all").fit(X, y), whole)
    counting.restore()
    n_saved = counting.n
    assert n_saved >= 10
    points = np.linspace(1, n_saved, 6 if which == "classes" else 2).astype(int)
    for k, at in enumerate(points):
        folder = tmp_path / str(at)
        jobs = {"n_jobs": 1 + k % 2}
        killing = Killing(monkeypatch, at, after=k % 3 == 0)
        # How often something is saved depends on the clock: the last points may not come.
        with pytest.raises(Killed) if at <= 0.5 * n_saved else suppress(Killed):
            search(which, folder, **jobs).fit(X, y)
        killing.restore()
        again = search(which, folder, resume=True, n_jobs=2 - k % 2).fit(X, y)
        assert_same(again, whole)


def test_killed_again_and_again(tmp_path, monkeypatch):
    X, y = table()
    whole = search("classes").fit(X, y)
    for _ in range(1000):
        killing = Killing(monkeypatch, at=25)
        try:
            going = search("classes", tmp_path, resume=True).fit(X, y)
        except Killed:
            continue
        finally:
            killing.restore()
        break
    assert_same(going, whole)


def test_what_is_complete_is_only_read(tmp_path, monkeypatch):
    X, y = table()
    first = search("classes", tmp_path / "here").fit(X, y)
    names = sorted(file.name for file in (tmp_path / "here").iterdir())
    assert names == ["fold 0.npz", "fold 1.npz", "fold 2.npz", "path.npz", "training.npz"]
    calls = []
    monkeypatch.setattr(MulticlassSVM, "score", lambda *args: calls.append(args))
    assert_same(search("classes", tmp_path / "here", resume=True).fit(X, y), first)
    assert not calls


KILLED = """
import sys
import numpy as np
from taut import ChainSVMCV
from taut.datasets import make_digit_words
X, y = make_digit_words(12, random_state=0)
options = dict(cv=3, n_lambdas=4, eps=0.3, tol=0.05, random_state=0, n_jobs=2)
saving = dict(checkpoint=sys.argv[1], checkpoint_seconds=0.0, resume=True)
clf = ChainSVMCV(**options, **saving).fit(X, y)
np.savez(sys.argv[2], w=clf.w_, scores=clf.scores_, C=clf.C_, lam=clf.lam_)
"""


def test_a_process_that_was_killed_is_resumed(tmp_path):
    def start(folder, result):
        arguments = [sys.executable, "-c", KILLED, str(tmp_path / folder), str(tmp_path / result)]
        return subprocess.Popen(arguments)

    assert start("whole", "whole.npz").wait() == 0
    process = start("killed", "killed.npz")
    saved = tmp_path / "killed" / "fold 2.npz"  # the last one to be begun
    while not saved.exists():
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed.npz").exists()
    assert start("killed", "killed.npz").wait() == 0
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "killed.npz") as other:
        for name in one.files:
            np.testing.assert_array_equal(one[name], other[name])


# --- stopped, not killed -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_search_with_what_there_is_and_it_can_be_resumed(tmp_path, number):
    X, y = table()
    whole = search("classes").fit(X, y)
    calls = []

    class Scoring:
        def __call__(self, estimator, X, y):
            calls.append(None)
            if len(calls) == 9:
                signal.raise_signal(number)
            return estimator.score(X, y)

    options = {"scoring": Scoring()}
    with pytest.warns(ConvergenceWarning, match="from 1 of 3 folds"):
        search("classes", tmp_path / "here", **options).fit(X, y)
    assert sorted(file.stem for file in (tmp_path / "here").iterdir()) == [
        "fold 0", "fold 1", "fold 2"
    ]  # fmt: skip
    assert_same(search("classes", tmp_path / "here", resume=True, **options).fit(X, y), whole)


@pytest.mark.filterwarnings("ignore:.*worse than that of w = 0")  # tol=1 is no promise
def test_a_limit_ends_the_search_and_more_time_goes_on(tmp_path):
    X, y = table()
    limits = {"time_limit": 0.0, "tol": 1.0}
    with pytest.warns(ConvergenceWarning, match="give it more time"):
        search("classes", tmp_path / "here", **limits).fit(X, y)
    going = search("classes", tmp_path / "here", tol=1.0, resume=True).fit(X, y)
    assert_same(going, search("classes", tol=1.0).fit(X, y))


def test_max_passes_stop_a_resumed_search_where_they_stopped_it(tmp_path):
    X, y = table()
    options = {"max_passes": 2, "solver": "bcfw", "eps": 0.1}
    with pytest.warns(ConvergenceWarning):
        first = search("classes", tmp_path / "here", **options).fit(X, y)
    assert np.isnan(first.scores_).any()
    with pytest.warns(ConvergenceWarning):
        again = search("classes", tmp_path / "here", **options, resume=True).fit(X, y)
    assert_same(again, first)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (dict(cv=KFold(3)), "set of folds"),
        (dict(scoring="f1_macro"), "value of scoring"),
        (dict(scoring=np.mean), "value of scoring"),
        (dict(n_lambdas=7), "value of n_lambdas"),
        (dict(eps=0.2), "value of eps"),
        (dict(lam_min=0.1), "value of lam_min"),
        (dict(bias=False), "value of bias"),
        (dict(solver="bcfw"), "value of solver"),
        (dict(random_state=1), "seed"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_checkpoints_of_another_search_are_refused(tmp_path, change, name):
    X, y = table()
    search("classes", tmp_path / "here").fit(X, y)
    with pytest.raises(ValueError, match=rf"fold 0\.npz.* another {name}"):
        search("classes", tmp_path / "here", resume=True, **change).fit(X, y)


def test_checkpoints_of_other_data_are_refused(tmp_path):
    """Also by a fold that was not trained on what has changed."""
    X, y = table()
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30), np.arange(40, 60))]
    search("classes", tmp_path / "here", cv=folds).fit(X, y)
    changed = X.copy()
    changed[50, 0] += 1.0
    with pytest.raises(ValueError, match=r"fold 0\.npz.* another set of all examples"):
        search("classes", tmp_path / "here", cv=folds, resume=True).fit(changed, y)
    # To start anew leaves nothing behind that a resumed search would stumble over.
    anew = search("classes", tmp_path / "here", cv=folds).fit(changed, y)
    assert_same(search("classes", tmp_path / "here", cv=folds, resume=True).fit(changed, y), anew)


def test_the_place_is_a_folder(tmp_path):
    X, y = table()
    with pytest.raises(ValueError, match="resume=True needs a checkpoint"):
        search("classes", resume=True).fit(X, y)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="a folder of their own"):
        search("classes", tmp_path / "file").fit(X, y)
    with pytest.raises(FileNotFoundError, match="missing"):
        search("classes", tmp_path / "missing" / "folder").fit(X, y)


def test_labels_of_python_models_cannot_be_saved(tmp_path):
    X, y = pairs()
    with pytest.raises(ValueError, match=r'Python model.*solver="bcfw"'):
        search("Python", tmp_path / "here", solver="auto").fit(X, y)


def test_more_training_has_no_checkpoint_and_a_model_of_the_path_none_either(tmp_path):
    X, y = make_digit_words(9, random_state=0)
    clf = search("chains", tmp_path / "here").fit(X, y)
    before = (tmp_path / "here" / "training.npz").read_bytes()
    assert clf.partial_fit(X[:2], y[:2]).solution_.n_examples == 11
    assert (tmp_path / "here" / "training.npz").read_bytes() == before
    assert clf.path_.estimator(clf.lam_).checkpoint is None
