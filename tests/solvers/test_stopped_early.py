"""Limits and signals end a run where no certificate was due; who goes on does not notice."""

import signal

import numpy as np
import pytest
from solvers.test_resume import CASES

from taut import regularization_path
from taut.solvers import BCFW, Status, solve
from taut.solvers.watch import Watch, deferred_interrupt


def assert_same(again, whole):
    for name in ("w", "primal", "dual", "passes", "oracle_calls", "returned", "status"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name), name)
    for name in set(whole.history.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(again.history[name], whole.history[name], name)


@pytest.mark.parametrize(("problem", "solver", "options"), CASES)
def test_a_run_that_ended_early_goes_on_to_the_same_bits(problem, solver, options, tmp_path):
    run = dict(C=1.0, tol=0.0, seed=3, **options)
    whole = solve(problem(), solver, **run, max_passes=9)
    saved = dict(checkpoint=tmp_path / "run")
    for passes in (1, 4, 5):
        early = solve(problem(), solver, **run, max_passes=passes, **saved, resume=passes > 1)
        assert early.passes <= passes + 1  # some take whole iterations
    again = solve(problem(), solver, **run, max_passes=9, **saved, resume=True)
    assert_same(again, whole)


def test_a_signal_between_two_certificates_changes_nothing_for_who_goes_on(tmp_path, monkeypatch):
    problem, solver = CASES[0].values[0](), BCFW(refresh=10)
    run = dict(C=1.0, tol=0.0, max_passes=20)
    whole = solve(problem, solver, **run)
    after_slice = Watch.after_slice

    def terminated(self, work):
        if work.run.passes == 4:
            signal.raise_signal(signal.SIGTERM)
        return after_slice(self, work)

    saved = dict(checkpoint=tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "after_slice", terminated)
        stopped = solve(problem, solver, **run, **saved)
    assert stopped.status is Status.TERMINATED
    assert stopped.history.passes.tolist() == [0.0, 4.0]
    assert_same(solve(problem, solver, **run, **saved, resume=True), whole)


def test_a_checkpoint_replaces_no_other_file(tmp_path):
    problem, file = CASES[0].values[0](), tmp_path / "text"
    file.write_text("hours of work")
    for run in (solve, regularization_path):
        with pytest.raises(ValueError, match="text' exists and is not a checkpoint"):
            run(problem, checkpoint=file)
    assert file.read_text() == "hours of work"
    file.write_text("")
    for _ in range(2):
        solve(problem, C=1.0, tol=0.1, checkpoint=file)
    regularization_path(problem, lam_min=1.0, checkpoint=file)  # replaces a checkpoint


def test_one_who_notes_signals_within_another_is_the_same():
    with deferred_interrupt() as outer:
        with deferred_interrupt() as inner:
            signal.raise_signal(signal.SIGINT)
        assert inner is outer
        assert outer.requested
        with pytest.raises(KeyboardInterrupt):  # the second acts at once
            signal.raise_signal(signal.SIGINT)
    with deferred_interrupt() as anew:
        assert not anew.requested


def test_weights_worse_than_none_are_said_to_be_whatever_ended_the_run():
    problem = CASES[0].values[0]()
    first = solve(problem, BCFW(), C=0.01)
    for options, status in (
        ({"callback": lambda row: True}, Status.CALLBACK),
        ({"max_passes": 0}, Status.MAX_PASSES),
    ):
        # Its dual point makes weights that are a million times as large.
        worse = solve(problem, BCFW(), C=1e4, tol=0.0, warm_start=first, keep="dual", **options)
        assert worse.status is status
        assert worse.primal > worse.scale
        assert "worse than that of w = 0" in str(worse)
