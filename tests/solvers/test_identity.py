"""What was proved of one problem is never said of another."""

import json

import numpy as np
import pytest
from altered_checkpoints import save_altered

from taut.solvers import BCFW, solve
from taut.structures import chain_problem, multiclass_problem

SOLVER = BCFW(direction="corrective", refresh=1)


def chain(truth=(0, 1, 2, 1, 0), lengths=(3, 2), **options):
    rows = np.random.default_rng(0).normal(size=(5, 4))
    return chain_problem(rows, list(lengths), np.array(truth), 3, **options)


def test_a_warm_start_on_other_data_labels_or_losses_is_refused():
    solution = solve(chain(), SOLVER, max_passes=2)
    for other in (
        chain(truth=(0, 1, 2, 1, 1)),
        chain(lengths=(2, 3)),
        chain(normalize=False),
        chain(importance=np.array([1.0, 2.0])),
    ):
        with pytest.raises(ValueError, match="proves nothing here"):
            solve(other, SOLVER, warm_start=solution)


def test_a_warm_start_under_other_bounds_proves_its_own_certificate():
    loose = solve(chain(), SOLVER, C=5.0, tol=1e-6)
    tight = solve(chain(), SOLVER, C=5.0, tol=1e-6, bounds=(-0.01, 0.01), warm_start=loose)
    cold = solve(chain(), SOLVER, C=5.0, tol=1e-6, bounds=(-0.01, 0.01))
    assert np.abs(tight.w).max() <= 0.01
    assert max(tight.dual, cold.dual) <= min(tight.primal, cold.primal) + 1e-14


@pytest.mark.parametrize(
    "build",
    [
        lambda: multiclass_problem(np.eye(3), np.array([0, 1, 3]), 3),
        lambda: multiclass_problem(np.eye(3), np.array([0, -1, 2]), 3),
        lambda: multiclass_problem(np.eye(3), np.zeros(4, int), 3),
        lambda: chain(lengths=(3, 3)),
        lambda: chain(lengths=(5, 0)),
        lambda: chain(importance=np.array([1.0, -1.0])),
        lambda: chain(cost=np.zeros((2, 2))),
        lambda: chain(step_features=np.zeros((4, 2))),
    ],
)
def test_arrays_that_do_not_fit_never_reach_compiled_code(build):
    with pytest.raises(ValueError, match=r"must|there are|needs"):
        build()


def test_nothing_to_learn_is_an_error():
    with pytest.raises(ValueError, match="nothing to learn"):
        solve(chain(cost=np.zeros((3, 3))))


# --- checkpoints that lie ------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.npz"
    solve(chain(), SOLVER, C=3.0, tol=0.0, max_passes=6, checkpoint=path)
    return path


def tampered(path, **changes):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    save_altered(path, arrays)


def change_header(**values):
    return lambda header: np.array(json.dumps({**json.loads(str(header)), **values}))


@pytest.mark.parametrize(
    "changes",
    [
        {"corners.gram": lambda a: a[:0]},
        {"corners.alpha": np.zeros_like},
        {"corners.alpha": lambda a: -a},
        {"corners.head": lambda a: a + 10**6},
        {"corners.following": np.zeros_like},
        {"corners.label_at": lambda a: a + 10**6},
        {"corners.labels": lambda a: a + 100},
        {"corners.rank": lambda a: a + 1},
        {"corners.used": lambda a: a * 1000},
        {"sampler.permutation": lambda a: a + 1},
        {"sampler.position": lambda a: a + 100},
        {"best_w": lambda a: a[:1]},
        {"best_w": lambda a: a + 1.0},
        {"mu": lambda a: a[:0]},
        {"mu": lambda a: a * np.nan},
        {"v": lambda a: a + 1.0},
        {"ell": lambda a: a + 1.0},
        {"header": change_header(primal=-5.0, dual=-5.0)},
        {"header": change_header(rows="none")},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_a_checkpoint_that_lies_is_refused(saved, changes):
    tampered(saved, **changes)
    with pytest.raises(ValueError, match=r"run\.npz"):
        solve(chain(), SOLVER, C=3.0, tol=0.0, max_passes=8, checkpoint=saved, resume=True)


def test_gaps_of_blocks_that_do_not_exist_are_ignored(saved):
    tampered(saved, **{"sampler.tree": lambda tree: np.where(tree == 0.0, 1e6, tree)})
    solution = solve(chain(), SOLVER, C=3.0, tol=0.0, max_passes=8, checkpoint=saved, resume=True)
    assert solution.gap >= -1e-12


def test_a_finished_run_is_not_trained_on(tmp_path):
    path = tmp_path / "run.npz"
    first = solve(chain(), SOLVER, tol=1e-3, checkpoint=path)
    again = solve(chain(), SOLVER, tol=1e-3, checkpoint=path, resume=True)
    assert again.passes == first.passes
    np.testing.assert_array_equal(again.w, first.w)
