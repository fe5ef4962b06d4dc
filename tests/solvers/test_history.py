"""The history is that of the weights that are returned: its last row is the solution's own
certificate, for every kind of solver and every way to stop. Seconds, and where they went."""

import itertools
import time
from types import SimpleNamespace

import numpy as np
import pytest
from factor_problems import PROBLEMS

from taut import LBFGS, SDCA, PythonProblem, smoothed
from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW
from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial, Status, Subgradient, solve
from taut.solvers.bcfw import BCFWRun
from taut.structures import chain_problem, partly_labelled

MAX_ORACLES = {
    "toward": BCFW(refresh=2),
    "averaged": BCFW(order="permuted", averaging=True, refresh=2),
    "corrective, averaged": BCFW(direction="corrective", averaging=True, refresh=1),
    "batch": FrankWolfe(),
    "batch, averaged": FrankWolfe(averaging=True),
    "simplicial": Simplicial(),
    "one slack": CuttingPlane(slacks="one"),
    "pegasos": Subgradient(check_every=2),
    "pegasos, last": Subgradient(check_every=2, averaging=False),
    "polyak": Subgradient(step="polyak", check_every=1),
}
SUM_ORACLES = {
    "sdca": SDCA(refresh=2),
    "sdca, averaged": SDCA(refresh=2, averaging=True),
    "lbfgs": LBFGS(),
}
FACTORS = {
    "soft bcfw": SoftBCFW(check_every=2),
    "augmented Lagrangian": AugmentedLagrangian(check_every=2),
    "idal": IDAL(check_every=2, temperature=0.3),
}
SOLVERS = MAX_ORACLES | SUM_ORACLES | FACTORS | {"lbfgs, missing labels": LBFGS()}
solvers = pytest.mark.parametrize("name", SOLVERS)


def chain():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 6, 12)
    nodes = int(lengths.sum())
    return chain_problem(random.normal(size=(nodes, 3)), lengths, random.integers(0, 3, nodes), 3)


def problem_of(name):
    if name in FACTORS:
        return PROBLEMS["loops of two types"]
    if name == "lbfgs, missing labels":
        problem = chain()
        return partly_labelled(problem, np.arange(len(problem.truth)) % 2 == 0)
    return smoothed(chain()) if name in SUM_ORACLES else chain()


def of_row(row):
    return row.primal, row.dual, row.gap


def assert_ends_with(history, solution):
    assert of_row(history[-1]) == (solution.primal, solution.dual, solution.gap)
    assert np.array_equal(history.gap, history.primal - history.dual)


@solvers
@pytest.mark.parametrize("max_passes", [0, 5, 12])
def test_the_last_row_is_the_certificate_of_the_solution(name, max_passes):
    """Wherever it stops: so each row is that of what would have been returned."""
    solution = solve(problem_of(name), SOLVERS[name], C=3.0, tol=0.0, max_passes=max_passes)
    assert_ends_with(solution.history, solution)


@solvers
def test_a_row_is_what_a_run_that_ends_there_returns(name):
    problem, rows = problem_of(name), []
    solve(problem, SOLVERS[name], C=3.0, tol=0.0, max_passes=8, callback=rows.append)
    for row in rows:
        other = solve(problem, SOLVERS[name], C=3.0, tol=0.0, max_passes=row.passes)
        assert of_row(row) == (other.primal, other.dual, other.gap)


@solvers
@pytest.mark.parametrize("patience", [1, 50])
def test_with_held_out_data_rows_are_of_the_weights_with_the_best_score(name, patience):
    problem = problem_of(name)
    target = np.random.default_rng(1).normal(size=problem.dim)
    seen = {}

    def score(w):
        seen[float(w @ target)] = w.copy()
        return float(w @ target)

    solution = solve(
        problem, SOLVERS[name], C=3.0, tol=0.0, max_passes=10, validate=score, patience=patience
    )
    assert_ends_with(solution.history, solution)
    np.testing.assert_array_equal(solution.w, seen[max(seen)])
    # A row changes its objective only where the score is the best so far.
    best = np.maximum.accumulate(solution.history.score)
    changes = np.flatnonzero(np.diff(solution.history.primal)) + 1
    assert np.array_equal(solution.history.score[changes], best[changes])


@pytest.mark.parametrize("name", [*MAX_ORACLES, *SUM_ORACLES])
def test_without_held_out_data_the_gap_never_grows(name):
    if not SOLVERS[name].averaging:  # the average is preferred though its objective be higher
        history = solve(problem_of(name), SOLVERS[name], C=3.0, tol=0.0, max_passes=20).history
        assert np.all(np.diff(history.primal) <= 0)
        assert np.all(np.diff(history.dual) >= 0)


@solvers
def test_a_warm_start_begins_with_what_was_proved(name):
    problem, run = problem_of(name), dict(C=3.0, tol=0.0)
    first = solve(problem, SOLVERS[name], max_passes=9, **run)
    again = solve(problem, SOLVERS[name], max_passes=4, warm_start=first, **run)
    assert_ends_with(again.history, again)
    if name not in FACTORS and name != "lbfgs, missing labels":  # which want the last weights
        assert again.history.dual[0] >= first.dual
        assert again.history.gap[0] <= first.gap or SOLVERS[name].averaging


def test_early_stopping_returns_an_earlier_row():
    scores = iter([0.1, 0.9, 0.3, 0.3])
    solution = solve(
        chain(), BCFW(refresh=1), C=3.0, tol=0.0, validate=lambda w: next(scores), patience=2
    )
    history = solution.history
    assert solution.status is Status.NO_BETTER_SCORE
    assert len(history) == 4
    assert history.primal[1] == history.iterate_primal[1] == solution.primal
    assert history.dual[-1] == history.iterate_dual.max() == solution.dual
    assert_ends_with(history, solution)


# --- early looks -----------------------------------------------------------------------------


def test_corrective_runs_have_looks_before_the_second_certificate():
    passes = {
        5: [0, 1, 5, 10],
        10: [0, 1, 3, 10],
        2: [0, 1, 2, 4, 6, 8, 10],
        1: list(range(11)),
    }
    for refresh, expected in passes.items():
        solver = BCFW(direction="corrective", refresh=refresh)
        history = solve(chain(), solver, C=3.0, tol=0.0, max_passes=10).history
        assert history.passes.tolist() == expected
    assert solve(chain(), BCFW(refresh=5), tol=0.0, max_passes=5).history.passes.tolist() == [0, 5]


@pytest.mark.parametrize("order", ["gap", "permuted"])
def test_looks_change_no_step(order, monkeypatch):
    """The same bits without them, but for the count of oracle calls."""
    solver = BCFW(order=order, direction="corrective", refresh=5)
    found = []
    for looks in (True, False):
        if not looks:
            monkeypatch.setattr(BCFWRun, "early_looks", ())
        found.append(solve(chain(), solver, C=3.0, tol=0.0, max_passes=17))
    seen, unseen = found
    np.testing.assert_array_equal(seen.state.w, unseen.state.w)
    np.testing.assert_array_equal(seen.state.mu, unseen.state.mu)
    np.testing.assert_array_equal(seen.state.sampler.tree, unseen.state.sampler.tree)
    assert seen.oracle_calls == unseen.oracle_calls + len(unseen.state.ell)
    common = np.isin(seen.history.passes, unseen.history.passes)
    for name in ("passes", "iterate_primal", "iterate_dual"):
        assert seen.history[name][common].tolist() == unseen.history[name].tolist()


def test_a_run_that_goes_on_from_a_look_is_the_whole_run(tmp_path):
    solver = BCFW(direction="corrective", refresh=5)
    run = dict(C=3.0, tol=0.0, checkpoint=tmp_path / "run.npz")
    solve(chain(), solver, max_passes=1, **run)
    again = solve(chain(), solver, max_passes=12, resume=True, **run)
    whole = solve(chain(), solver, C=3.0, tol=0.0, max_passes=12)
    np.testing.assert_array_equal(again.state.mu, whole.state.mu)
    for name in ("passes", "oracle_calls", "primal", "dual"):
        assert again.history[name].tolist() == whole.history[name].tolist()


def test_scores_on_held_out_data_are_not_asked_for_at_looks():
    solver = BCFW(direction="corrective", refresh=5)
    run = solve(chain(), solver, C=3.0, tol=0.0, max_passes=5, validate=lambda w: 0.0)
    assert run.history.passes.tolist() == [0, 5]


# --- seconds ---------------------------------------------------------------------------------


@solvers
def test_seconds_are_those_of_steps_and_certificates_and_some_more(name):
    solution = solve(problem_of(name), SOLVERS[name], C=3.0, tol=0.0, max_passes=10)
    assert set(solution.seconds_in) == {"steps", "certificates"}
    assert min(solution.seconds_in.values()) > 0
    assert sum(solution.seconds_in.values()) <= solution.seconds
    assert f"s (steps {solution.seconds_in['steps']:.2f} s, certificates " in str(solution)


def test_seconds_of_scores_are_apart():
    def score(w):
        time.sleep(0.01)
        return 0.0

    solution = solve(chain(), BCFW(), C=3.0, tol=0.0, max_passes=20, validate=score, patience=9)
    assert solution.seconds_in["scores"] >= 0.01 * len(solution.history)
    assert sum(solution.seconds_in.values()) <= solution.seconds
    assert "scores " in str(solution)


class Slow:
    """Answer 1 if w x is positive, after a while; ``spent`` is what its oracle took."""

    spent = 0.0

    def joint_feature(self, x, y):
        return np.array([x * y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def predict(self, w, x):
        return max((-1, 1), key=lambda y: w[0] * x * y)

    def oracle(self, w, x, y):
        began = time.perf_counter()
        time.sleep(0.001)
        self.spent += time.perf_counter() - began
        return max((-1, 1), key=lambda z: (y != z) + w[0] * x * z)


def test_of_a_model_in_python_the_oracle_is_timed():
    model = Slow()
    problem = PythonProblem(model, [2.0, -1.0, 3.0], [1, -1, -1])
    for _ in range(2):  # of each run its own, though they share the problem
        model.spent = 0.0
        solution = solve(problem, BCFW(), C=3.0, tol=0.0, max_passes=3)
        oracle = solution.seconds_in["oracle"]
        assert model.spent <= oracle <= solution.seconds
        assert oracle <= solution.seconds_in["steps"] + solution.seconds_in["certificates"]
        assert f"{oracle:.2f} s of them in the oracle" in str(solution)


def test_a_resumed_run_counts_all_its_seconds(tmp_path, monkeypatch):
    """By a clock that ticks when it is read, whatever is timed takes one second."""
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr("taut.solvers.best.time", clock)
    run = dict(solver=BCFW(), C=3.0, tol=0.0)
    whole = solve(chain(), max_passes=20, **run)
    run["checkpoint"] = tmp_path / "run.npz"
    first = solve(chain(), max_passes=10, **run)
    again = solve(chain(), max_passes=20, resume=True, **run)
    assert first.seconds_in["steps"] < again.seconds_in["steps"] == whole.seconds_in["steps"]
    for what, seconds in whole.seconds_in.items():  # it certifies what it loads once more
        assert seconds <= again.seconds_in[what] <= seconds + 1.0
