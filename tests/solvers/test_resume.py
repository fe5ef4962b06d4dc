"""A run that was killed at any moment goes on to the same bits: every solver, many save points."""

import shutil

import numpy as np
import pytest
from factor_problems import PROBLEMS
from scipy.sparse import csr_array
from slices import uneven_slices

from taut import LBFGS, SDCA, smoothed
from taut.choice.registry import OWN, registered_solver, trains_crfs, trains_without_inference
from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial, Subgradient, solve
from taut.solvers.checkpoint import Checkpoint
from taut.structures import chain_problem, sparse_dual

ORACLE = {
    "toward": BCFW(refresh=3),
    "averaged": BCFW(order="permuted", averaging=True, refresh=2),
    "pairwise, cache": BCFW(direction="pairwise", cache=True, refresh=3),
    "away": BCFW(direction="away", refresh=3),
    "safeguard": BCFW(direction="pairwise", safeguard=True, refresh=3),
    "fixed": BCFW(step="fixed", refresh=3),
    "corrective": BCFW(direction="corrective", refresh=3),
    "never refreshed": BCFW(direction="corrective", refresh=None),
    "batch": FrankWolfe(),
    "batch, averaged": FrankWolfe(averaging=True),
    "batch, fixed": FrankWolfe(step="fixed"),
    "batch, parabola": FrankWolfe(step="parabola"),
    "simplicial": Simplicial(),
    "simplicial, working set": Simplicial(working_set=3),
    "simplicial, one": Simplicial(simplexes="one"),
    "simplicial, one, working set": Simplicial(simplexes="one", working_set=5),
    "cutting planes": CuttingPlane(),
    "one slack": CuttingPlane(slacks="one"),
    "pegasos": Subgradient(check_every=2),
    "pegasos, last": Subgradient(check_every=2, averaging=False, batch=3),
    "polyak": Subgradient(step="polyak", check_every=2),
}
SMOOTH = {
    "sdca": SDCA(refresh=2),
    "sdca, averaged": SDCA(refresh=3, averaging=True),
}
FACTORS = {
    "soft bcfw": SoftBCFW(check_every=3),
    "augmented Lagrangian": AugmentedLagrangian(check_every=3, order="gap"),
    "soft sdca": SoftSDCA(check_every=3),
    "idal": IDAL(check_every=3, temperature=0.3),
}


def chain():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 6, 12)
    nodes = int(lengths.sum())
    return chain_problem(random.normal(size=(nodes, 3)), lengths, random.integers(0, 3, nodes), 3)


def sparse_chain():
    """Its duals grow."""
    random = np.random.default_rng(0)
    lengths = random.integers(1, 6, 12)
    nodes = int(lengths.sum())
    return chain_problem(
        random.normal(size=(nodes, 3)), lengths, random.integers(0, 6, nodes), 6,
        only_seen_steps=True, step_attributes=csr_array(random.random((nodes, 2)).round()),
    )  # fmt: skip


def graphs():
    return PROBLEMS["loops of two types"]


CASES = [
    *[pytest.param(chain, solver, {}, id=name) for name, solver in ORACLE.items()],
    *[
        pytest.param(chain, ORACLE[name], {"bounds": (-0.2, 0.3)}, id=f"{name}, bounds")
        for name in (
            "averaged",
            "corrective",
            "batch",
            "simplicial",
            "one slack",
            "polyak",
            "safeguard",
            "batch, parabola",
        )
    ],
    *[
        pytest.param(chain, ORACLE[name], {"slack_penalty": "squared"}, id=f"{name}, squared")
        for name in ("simplicial", "one slack", "pegasos", "polyak")
    ],
    *[
        pytest.param(lambda: smoothed(chain()), solver, {}, id=name)
        for name, solver in SMOOTH.items()
    ],
    *[
        # The second in passes where w = 0 is still the best: its value is known before training.
        pytest.param(lambda: PROBLEMS["binary, counts"], solver, {}, id=f"counts, {name}")
        for name, solver in {**ORACLE, "long": Subgradient(check_every=5)}.items()
        if name in ("toward", "averaged", "pegasos", "long")
    ],
    pytest.param(lambda: smoothed(chain()), SDCA(refresh=2), {"l1": 0.05}, id="sdca, l1"),
    *[
        pytest.param(sparse_chain, ORACLE[name], {}, id=f"growing, {name}")
        for name in ORACLE
        if not isinstance(ORACLE[name], Subgradient)
    ],
    *[
        pytest.param(lambda: smoothed(sparse_chain()), solver, {}, id=f"growing, {name}")
        for name, solver in {**SMOOTH, "lbfgs": LBFGS()}.items()
    ],
    *[
        pytest.param(
            lambda: smoothed(chain()), LBFGS(memory), options, id=f"lbfgs {memory}, {name}"
        )
        for memory in (3, 10)
        for name, options in {
            "free": {},
            "l1": {"l1": 0.05},
            "bounds": {"bounds": (-0.2, 0.3)},
            "both": {"l1": 0.05, "bounds": (-0.2, 0.3)},
        }.items()
    ],
    *[pytest.param(graphs, solver, {}, id=name) for name, solver in FACTORS.items()],
    *[  # whose losses are more than 2, so that their squares are more than they
        pytest.param(
            lambda: PROBLEMS["attractive Potts"],
            ORACLE[name],
            {"slack_penalty": "squared"},
            id=f"{name}, squared, large losses",
        )
        for name in ("simplicial", "simplicial, one", "one slack")
    ],
]


@pytest.fixture(autouse=True)
def scarce(monkeypatch):
    """Duals that grow have room for one change at a time: they grow all the time."""

    def with_room(mu, more, largest, for_all, behind):
        return with_much(mu, more * for_all, largest, for_all, behind)

    with_much = sparse_dual.with_room
    monkeypatch.setattr(sparse_dual, "with_room", with_room)


@pytest.mark.parametrize(("problem", "solver", "options"), CASES)
def test_a_killed_run_goes_on_to_the_same_bits(problem, solver, options, tmp_path, monkeypatch):
    """Also where its slices ended elsewhere: they end where the clock says."""
    file = tmp_path / "run"
    run = dict(C=1.0, tol=0.0, max_passes=8, seed=3, **options)
    whole = solve(problem(), solver, **run)
    copies = []
    save = Checkpoint.save

    def save_and_copy(self, *args):
        save(self, *args)
        copies.append(shutil.copy(file, tmp_path / f"copy {len(copies)}"))

    run["checkpoint"] = file
    with monkeypatch.context() as patch, uneven_slices(type(solver)):
        patch.setattr(Checkpoint, "save", save_and_copy)
        sliced = solve(problem(), solver, **run, checkpoint_seconds=0.0)
    check_same_bits(sliced, whole, "in short slices")
    assert len(copies) >= 4
    for number in np.unique(np.linspace(0, len(copies) - 1, 10).astype(int)):
        shutil.copy(copies[number], file)
        again = solve(problem(), solver, **run, resume=True)
        check_same_bits(again, whole, f"from save {number} of {len(copies)}")


def check_same_bits(solution, expected, when):
    for name in ("w", "primal", "dual", "passes", "oracle_calls", "returned", "status"):
        found = getattr(solution, name)
        np.testing.assert_array_equal(found, getattr(expected, name), f"{name} {when}")
    for name in expected.history.dtype.names:
        if name != "seconds":
            found = solution.history[name]
            np.testing.assert_array_equal(found, expected.history[name], f"{name} {when}")


@pytest.mark.parametrize("name", sorted(OWN))
def test_the_steps_of_every_solver_do_not_depend_on_slices(name):
    solver = registered_solver(name)
    kind = graphs if trains_without_inference(solver) else chain
    problem = smoothed(kind()) if trains_crfs(solver) else kind()
    run = dict(C=1.0, tol=0.0, max_passes=12, seed=3)
    whole = solve(problem, solver, **run)
    with uneven_slices(type(solver)):
        sliced = solve(problem, solver, **run)
    check_same_bits(sliced, whole, "in short slices")


@pytest.mark.parametrize("at", [2, 4, 6])
@pytest.mark.parametrize("name", [*ORACLE, *SMOOTH])
def test_a_run_that_was_stopped_goes_on_where_only_the_oracle_knows_the_worst_losses(
    name, at, tmp_path
):
    """Under constraints they are asked for anew, and must not take the place of its answers."""
    free, solver = chain(), (ORACLE | SMOOTH)[name]
    some = np.arange(len(free.truth)) % 4 == 0
    problem = free.constrained(forced=np.where(some, free.truth, -1))
    problem = problem if name in ORACLE else smoothed(problem)
    assert problem.worst_losses() is None
    run = dict(solver=solver, C=3.0, tol=0.0, max_passes=12)
    file, whole = tmp_path / "run.npz", solve(problem, **run)
    stopped = solve(problem, **run, checkpoint=file, callback=lambda row: row.passes >= at)
    assert stopped.passes < max(whole.passes, 7)
    again = solve(problem, **run, checkpoint=file, resume=True)
    np.testing.assert_array_equal(again.w, whole.w)
    assert (again.primal, again.dual) == (whole.primal, whole.dual)
