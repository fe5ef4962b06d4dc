"""Cutting planes against the definitions, with every constraint listed."""

import signal

import numpy as np
import pytest
from decomposition_reference import (
    FREE,
    LINEAR,
    SQUARED,
    compiled_pairs,
    enumerated,
    python_problem,
    qp_optimum,
    random_problem,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from slices import killed_at
from taut_reference import chain_pair

from taut.solvers import BCFW, CuttingPlane, Simplicial, Status, solve
from taut.solvers.decomposition.decomposition import DecompositionRun
from taut.solvers.objective import Objective, SlackPenalty

C = 1.3
ENDED = (Status.CONVERGED, Status.NO_VIOLATION)
BOUNDS = {"free": None, "signs": (0.0, np.inf), "box": (-0.15, np.array([0.2, -0.05, np.inf]))}
SOLVERS = {
    "n slacks": CuttingPlane(),
    "n slacks, pruned at once": CuttingPlane(prune_after=1),
    "one slack": CuttingPlane("one"),
    "one slack, no cache": CuttingPlane("one", cache=0),
    "one slack, pruned at once": CuttingPlane("one", prune_after=1),
}
COMPILED = compiled_pairs()
LONG, LONG_REFERENCE = chain_pair(2 * [3, 1, 2, 3, 2, 3, 3, 2, 3], 3, n_features=5, seed=4)
SEEDS = st.integers(0, 10**6)
formulations = pytest.mark.parametrize("formulation", ["margin", "slack"])
penalties = pytest.mark.parametrize("penalty", [LINEAR, SQUARED])
boxes = pytest.mark.parametrize("box", BOUNDS)
solvers = pytest.mark.parametrize("name", SOLVERS)


def random_pair(seed, formulation="margin", **options):
    """A model in plain Python, and the list that the solver sees."""
    listed = random_problem(seed, **options)
    return python_problem(listed, formulation), listed.formulated(formulation)


def exactly(problem, solver, **options):
    """Until nothing is violated any more."""
    return solve(problem, solver, **{"C": C, "tol": 0, "max_passes": 300, **options})


def new_run(problem, solver, penalty=LINEAR):
    run = DecompositionRun(
        problem,
        solver,
        Objective(C, bounds=None, seed=0, n_threads=1, penalty=SlackPenalty(penalty)),
    )
    run.compile()
    return run


def iterations(run, most=60):
    """Before every iteration, when the oracle has found what is violated."""
    run.first_certificate(run.worst_losses(cold=True), cold=True)
    yield 0
    for k in range(most):
        if run.is_finished:
            return
        run.advance(run.n)
        run.certify()
        yield k + 1


def slacks_of_constraints(points, w):
    """What the constraints found so far say of the slacks, times the examples' weights."""
    slacks = np.full(points.n_blocks, -np.inf)
    np.maximum.at(slacks, points.block, points.loss - points.rows @ w)
    return slacks


# --- the optimum -------------------------------------------------------------------------------


@formulations
@boxes
@solvers
def test_optimum_weights_and_slacks_are_those_of_the_qp(formulation, box, name):
    for seed in range(3):
        problem, listed = random_pair(seed, formulation, ties=seed % 2 == 1)
        solution = exactly(problem, SOLVERS[name], bounds=BOUNDS[box])
        best = qp_optimum(listed, C, bounds=BOUNDS[box] or FREE)
        assert solution.status in ENDED
        assert solution.primal == pytest.approx(best.in_lambda_form, abs=1e-8)
        assert solution.dual == pytest.approx(best.in_lambda_form, abs=1e-8)
        np.testing.assert_allclose(solution.w, best.w, atol=1e-8)
        slacks = listed.slacks(solution.w)
        np.testing.assert_allclose(slacks[listed.s > 0], best.slacks[listed.s > 0], atol=1e-8)


@formulations
@boxes
@solvers
def test_squared_slacks_too(formulation, box, name):
    """One slack: tangents of a smooth function close the gap, and |w - w*|^2 <= 2 gap / lambda."""
    for seed in range(3):
        problem, listed = random_pair(seed, formulation, ties=seed % 2 == 1)
        options = dict(slack_penalty=SQUARED, bounds=BOUNDS[box], tol=1e-9)
        solution = exactly(problem, SOLVERS[name], **options)
        best = qp_optimum(listed, C, SQUARED, BOUNDS[box] or FREE)
        assert solution.status in ENDED
        assert solution.dual <= best.in_lambda_form + 1e-12
        assert solution.primal >= best.in_lambda_form - 1e-12
        distance = np.linalg.norm(solution.w - best.w)
        assert distance <= np.sqrt(2 * max(solution.gap, 0.0) / solution.lam) + 1e-8


@penalties
@pytest.mark.parametrize("which", COMPILED)
def test_compiled_structures_have_the_optimum_of_the_qp(which, penalty):
    problem, listed = COMPILED[which]
    best = qp_optimum(listed, C, penalty)
    for slacks in ("n", "one"):
        solution = exactly(problem, CuttingPlane(slacks), slack_penalty=penalty, tol=1e-9)
        assert solution.status in ENDED
        assert solution.dual <= best.in_lambda_form + 1e-12
        assert solution.primal >= best.in_lambda_form - 1e-12


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4), st.booleans(), st.sampled_from([0.1, 1.0, 30]))
def test_constraints_are_finitely_many(seed, n, dim, ties, C):
    listed = random_problem(seed, n=n, dim=dim, ties=ties)
    for slacks in ("n", "one"):
        solution = exactly(python_problem(listed), CuttingPlane(slacks), C=C, max_passes=60)
        assert solution.status in ENDED
        assert solution.passes < 60
        assert solution.gap <= 1e-11 * solution.scale


@pytest.mark.parametrize("which", ["multiclass", "chain"])
def test_all_solvers_agree_within_their_gaps(which):
    problem, _ = COMPILED[which]
    found = [solve(problem, BCFW(direction="pairwise"), C=C, tol=1e-6, max_passes=3000)]
    others = [Simplicial(), Simplicial("one"), *SOLVERS.values()]
    found += [exactly(problem, solver, tol=1e-6) for solver in others]
    assert max(one.dual for one in found) <= min(one.primal for one in found) + 1e-12


@penalties
@pytest.mark.parametrize("slacks", ["n", "one"])
def test_it_is_simplicial_decomposition_without_a_limit(slacks, penalty):
    listed = random_problem(3, n=6)
    planes = CuttingPlane(slacks, prune_after=None, cache=0)
    simplexes = "product" if slacks == "n" else "one"
    points = Simplicial(simplexes, limit=np.inf, prune_after=None)
    ours, theirs = (
        exactly(python_problem(listed), one, slack_penalty=penalty, max_passes=20)
        for one in (planes, points)
    )
    np.testing.assert_array_equal(ours.w, theirs.w)
    assert ours.history.iterate_dual.tolist() == theirs.history.iterate_dual.tolist()


# --- epsilon -----------------------------------------------------------------------------------


@formulations
@pytest.mark.parametrize("slacks", ["n", "one"])
@pytest.mark.parametrize("epsilon", [0.01, 0.3])
def test_no_constraint_is_violated_by_more_than_epsilon(slacks, epsilon, formulation):
    for seed in range(4):
        problem, listed = random_pair(seed, formulation, n=6, ties=seed % 2 == 1)
        solution = exactly(problem, CuttingPlane(slacks, epsilon))
        assert solution.status in ENDED
        w, points = solution.state.w, solution.state.points
        found = slacks_of_constraints(points, w)
        needed = listed.s * listed.slacks(w)
        if slacks == "n":
            assert (needed <= found + listed.s * epsilon + 1e-12).all()
            assert solution.gap <= epsilon * listed.s.mean() + 1e-12
        else:
            assert needed.sum() <= found[0] + listed.n * epsilon + 1e-12
            assert solution.gap <= epsilon + 1e-12
        best = qp_optimum(listed, C).in_lambda_form
        assert best - 1e-12 <= solution.primal <= best + solution.gap + 1e-12


def test_what_violates_its_constraint_by_more_than_epsilon_is_added():
    listed, epsilon = random_problem(5, n=8, labellings=10), 0.05
    run = new_run(python_problem(listed), CuttingPlane(epsilon=epsilon))
    for _ in iterations(run):
        found = slacks_of_constraints(run.state.points, run.state.w) / listed.s
        violated = listed.slacks(run.state.w) > found + epsilon
        np.testing.assert_array_equal(run.wanted, np.flatnonzero(violated))


def test_a_smaller_epsilon_needs_more_constraints():
    listed = random_problem(6, n=10, dim=4, labellings=30)
    sizes, gaps = [], []
    for epsilon in (1.0, 0.1, 0.001):
        solution = exactly(python_problem(listed), CuttingPlane(epsilon=epsilon, prune_after=None))
        sizes.append(len(solution.state.points))
        gaps.append(solution.gap)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("slacks", ["n", "one"])
def test_at_an_epsilon_above_all_losses_nothing_is_learned(slacks):
    listed = random_problem(6, n=4)
    epsilon = 3.0 * max(loss.max() for loss in listed.loss)
    solution = exactly(python_problem(listed), CuttingPlane(slacks, epsilon))
    assert solution.status is Status.NO_VIOLATION
    assert solution.passes == 0
    assert not solution.w.any()


def test_the_tolerance_may_be_reached_before_epsilon():
    solution = exactly(python_problem(random_problem(6)), CuttingPlane(epsilon=1e-9), tol=0.1)
    assert solution.status is Status.CONVERGED


# --- pruning -----------------------------------------------------------------------------------


def names(points):
    """Points as something to compare."""
    return [(int(b), row.tobytes()) for b, row in zip(points.block, points.rows, strict=True)]


@pytest.mark.parametrize("slacks", ["n", "one"])
@pytest.mark.parametrize("prune_after", [1, 3])
def test_only_constraints_that_were_slack_for_long_enough_are_forgotten(slacks, prune_after):
    listed = random_problem(7, n=6, dim=4, labellings=25)
    run = new_run(python_problem(listed), CuttingPlane(slacks, prune_after=prune_after, cache=0))
    without, forgotten = {}, 0
    for _ in iterations(run):
        points = run.state.points
        now = dict(zip(names(points), points.weight, strict=True))
        for gone in set(without) - set(now):
            assert without.pop(gone) >= prune_after
            forgotten += 1
        for name, weight in now.items():
            without[name] = 0 if weight > 0 else without.get(name, 0) + 1
        origins = points.retained & (points.loss == 0)
        assert np.count_nonzero(origins) == points.n_blocks
    assert forgotten > 0


def test_without_pruning_nothing_is_forgotten():
    listed = random_problem(7, n=6, dim=4, labellings=25)
    run = new_run(python_problem(listed), CuttingPlane(prune_after=None))
    before = set()
    for _ in iterations(run):
        now = set(names(run.state.points))
        assert before <= now
        before = now


# --- the constraint cache ------------------------------------------------------------------------


@penalties
def test_remembered_labellings_save_oracle_calls(penalty):
    listed = random_problem(8, n=20, dim=6, labellings=30)
    best = qp_optimum(listed, C, penalty).in_lambda_form
    calls = {}
    for cache in (0, 5):
        problem = python_problem(listed)
        options = dict(slack_penalty=penalty, tol=1e-6)
        solution = exactly(problem, CuttingPlane("one", cache=cache), **options)
        assert solution.status is Status.CONVERGED
        assert solution.dual <= best + 1e-12
        assert solution.primal >= best - 1e-12
        assert solution.oracle_calls == problem.model.calls
        calls[cache] = problem.model.calls
    assert calls[5] < 0.7 * calls[0]


@pytest.mark.parametrize("cache", [1, 3])
def test_no_more_labellings_are_remembered_than_asked_for(cache):
    problem = python_problem(random_problem(8, n=10, dim=6, labellings=30))
    run = new_run(problem, CuttingPlane("one", cache=cache))
    run.first_certificate(run.worst_losses(cold=True), cold=True)
    for _ in range(8):
        run.advance(run.n)
        assert max(len(tokens) for tokens in problem._tokens) <= cache + 1
        run.certify()


def test_only_features_are_kept_without_a_cache():
    problem = python_problem(random_problem(8, n=10))
    run = new_run(problem, CuttingPlane())
    run.first_certificate(run.worst_losses(cold=True), cold=True)
    for _ in range(3):
        run.advance(run.n)
        assert all(len(tokens) == 1 for tokens in problem._tokens)
        run.certify()


# --- certificates --------------------------------------------------------------------------------


@penalties
@solvers
def test_bounds_enclose_the_optimum_and_the_dual_never_falls(penalty, name):
    listed = random_problem(11, n=6)
    best = qp_optimum(listed, C, penalty).in_lambda_form
    options = dict(slack_penalty=penalty, max_passes=30)
    history = exactly(python_problem(listed), SOLVERS[name], **options).history
    assert (history.iterate_dual <= best + 1e-12).all()
    assert (history.iterate_primal >= best - 1e-12).all()
    assert (history.gap >= -1e-12).all()
    assert (np.diff(history.iterate_dual) >= -1e-13).all()


@formulations
@penalties
@solvers
def test_the_gap_is_the_sum_of_violations(formulation, penalty, name):
    """At a master's optimum the constraints found so far say what the slacks are."""
    problem, listed = random_pair(2, formulation, n=6)
    run = new_run(problem, SOLVERS[name], penalty)
    for _ in iterations(run, most=12):
        certificate = run.certify()
        points, w = run.state.points, run.state.w
        needed = listed.slacks(w)
        if run.solver.slacks == "one":
            h = needed if penalty == LINEAR else 0.5 * needed**2
            gap = listed.s @ h - slacks_of_constraints(points, w)[0]
        elif penalty == LINEAR:
            gap = (listed.s * needed - slacks_of_constraints(points, w)).sum()
        else:
            gap = listed.s @ (needed**2 - points.sums(points.weight) ** 2) / 2
        gap /= listed.n
        assert certificate.gap == pytest.approx(gap, abs=1e-10 * (1 + certificate.primal))


# --- the loop around it --------------------------------------------------------------------------

KINDS = {
    "n slacks": (CuttingPlane(prune_after=2), LINEAR),
    "n slacks, squared": (CuttingPlane(), SQUARED),
    "one slack": (CuttingPlane("one", prune_after=3), LINEAR),
    "one slack, squared": (CuttingPlane("one"), SQUARED),
    "working set": (CuttingPlane(working_set=5), LINEAR),
}


@pytest.mark.parametrize("at", [1, 2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(kind, at, tmp_path):
    solver, penalty = KINDS[kind]
    options = dict(C=5.0, slack_penalty=penalty, max_passes=6)
    whole = exactly(LONG, solver, **options)
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    with killed_at(CuttingPlane, at):
        exactly(LONG, solver, **options, **saving)
    resumed = exactly(LONG, solver, resume=True, **options, **saving)
    np.testing.assert_array_equal(resumed.w, whole.w)
    np.testing.assert_array_equal(resumed.state.points.weight, whole.state.points.weight)
    assert (resumed.primal, resumed.dual) == (whole.primal, whole.dual)
    assert resumed.history.iterate_dual.tolist() == whole.history.iterate_dual.tolist()
    assert resumed.history.oracle_calls.tolist() == whole.history.oracle_calls.tolist()


def test_remembered_labels_of_a_python_model_cannot_be_saved(tmp_path):
    problem = python_problem(random_problem(0))
    path = tmp_path / "run.npz"
    with pytest.raises(ValueError, match="cache=0"):
        exactly(problem, CuttingPlane("one"), checkpoint=path)
    exactly(problem, CuttingPlane("one", cache=0), checkpoint=path, max_passes=2)
    assert path.exists()


@pytest.mark.parametrize("slacks", ["n", "one"])
def test_a_start_from_the_solution_does_no_work(slacks):
    earlier = exactly(LONG, CuttingPlane(slacks), tol=1e-9)
    again = exactly(LONG, CuttingPlane(slacks), tol=1e-9, warm_start=earlier)
    assert again.passes == 0
    np.testing.assert_allclose(again.w, earlier.w, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_returns_a_certified_model(kind, monkeypatch):
    listed = enumerated(LONG_REFERENCE)
    solver, penalty = KINDS[kind]
    advance, calls = DecompositionRun.advance, []

    def interrupted(run, n_steps):
        calls.append(n_steps)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        advance(run, n_steps)

    monkeypatch.setattr(DecompositionRun, "advance", interrupted)
    solution = exactly(LONG, solver, C=5.0, slack_penalty=penalty)
    assert solution.status is Status.INTERRUPTED
    assert len(calls) == 3
    primal = listed.in_lambda_form(listed.primal(solution.w, 5.0, penalty), 5.0)
    assert solution.primal == pytest.approx(primal, abs=1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(slacks="two"), "slacks='two'"),
        (dict(epsilon=-1.0), "epsilon=-1"),
        (dict(epsilon=np.nan), "epsilon=nan"),
        (dict(prune_after=0), "prune_after=0"),
        (dict(cache=-1), "cache=-1"),
        (dict(working_set=0), "working_set=0"),
        (dict(slacks="one", working_set=3), "working_set is for"),
    ],
    ids=["slacks", "epsilon", "no number", "pruning", "cache", "working set", "both"],
)
def test_wrong_options_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        CuttingPlane(**wrong)
