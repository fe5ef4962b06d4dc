"""Restricted simplicial decomposition against the definitions, with every labelling listed.

Optima of the reference are exact to rounding. So are those of the solver where it ends after
finitely many iterations; tolerances of 1e-8 are what the problem statement asks for.
"""

import signal
from itertools import product

import numpy as np
import pytest
from altered_checkpoints import save_altered
from decomposition_reference import (
    FREE,
    LINEAR,
    SQUARED,
    compiled_pairs,
    conjugate,
    cost,
    enumerated,
    one_cone,
    python_problem,
    qp_optimum,
    random_problem,
    simplicial,
)
from graph_reference import complete, graph_pair
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from slices import killed_at
from taut_reference import chain_pair

from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial, Status, solve
from taut.solvers.decomposition.decomposition import DecompositionRun
from taut.solvers.objective import Objective, SlackPenalty
from taut.structures import slack_rescaled

C = 1.3
ENDED = (Status.CONVERGED, Status.NO_VIOLATION)
BOUNDS = {"free": None, "signs": (0.0, np.inf), "box": (-0.15, np.array([0.2, -0.05, np.inf]))}
SOLVERS = {
    "product": Simplicial(),
    "product, limit 4": Simplicial(limit=4),
    "product, pruned at once": Simplicial(prune_after=1),
    "one simplex": Simplicial("one"),
    "one simplex, limit 4": Simplicial("one", limit=4),
}
CONES = {
    "one cone": Simplicial("one cone"),
    "one cone, limit 9": Simplicial("one cone", limit=9),  # dim + n + 1
}
FITTING = [
    *((name, LINEAR) for name in SOLVERS),
    *((name, SQUARED) for name, solver in SOLVERS.items() if solver.simplexes == "product"),
    *((name, SQUARED) for name in CONES),
]
COMPILED = compiled_pairs()
# With C = 5 no solver is through with these after five iterations.
LENGTHS = 2 * [3, 1, 2, 3, 2, 3, 3, 2, 3]
LONG = {
    "dense": chain_pair(LENGTHS, 3, n_features=5, seed=4),
    "sparse": chain_pair(LENGTHS, 3, n_features=5, kind="sparse", seed=4),
}
SEEDS = st.integers(0, 10**6)
formulations = pytest.mark.parametrize("formulation", ["margin", "slack"])
penalties = pytest.mark.parametrize("penalty", [LINEAR, SQUARED])
boxes = pytest.mark.parametrize("box", BOUNDS)
solvers = pytest.mark.parametrize("name", SOLVERS)
some_solvers = pytest.mark.parametrize(
    "solver",
    [Simplicial(), Simplicial("one"), Simplicial(working_set=2), Simplicial("one", working_set=2)],
    ids=["product", "one", "working set", "one, working set"],
)


def random_pair(seed, formulation="margin", **options):
    """A model in plain Python, and the list that the solver sees."""
    listed = random_problem(seed, **options)
    return python_problem(listed, formulation), listed.formulated(formulation)


def exactly(problem, solver, **options):
    """Until nothing is violated any more."""
    return solve(problem, solver, **{"C": C, "tol": 0, "max_passes": 300, **options})


def new_run(problem, solver, penalty=LINEAR, bounds=None, C=C):
    run = DecompositionRun(
        problem,
        solver,
        Objective(C, bounds=bounds, seed=0, n_threads=1, penalty=SlackPenalty(penalty)),
    )
    run.compile()
    return run


def iterations(run, most=60):
    """The certificate of every iteration until the last."""
    yield run.first_certificate(run.worst_losses(cold=True), cold=True)
    for _ in range(most):
        if run.is_finished:
            return
        run.advance(run.n)
        yield run.certify()


def assert_optimal(solution, listed, best):
    assert solution.primal == pytest.approx(best.in_lambda_form, abs=1e-8)
    assert solution.dual == pytest.approx(best.in_lambda_form, abs=1e-8)
    np.testing.assert_allclose(solution.w, best.w, atol=1e-8)
    matters = listed.s > 0
    np.testing.assert_allclose(listed.slacks(solution.w)[matters], best.slacks[matters], atol=1e-8)


# --- the optimum -------------------------------------------------------------------------------


@formulations
@boxes
@pytest.mark.parametrize(("name", "penalty"), FITTING)
def test_optimum_weights_and_slacks_are_those_of_the_qp(formulation, penalty, box, name):
    at_zero = 0
    for seed in range(4):
        problem, listed = random_pair(seed, formulation, ties=seed % 2 == 1)
        options = dict(slack_penalty=penalty, bounds=BOUNDS[box])
        solution = exactly(problem, (SOLVERS | CONES)[name], **options)
        assert solution.status in ENDED
        best = qp_optimum(listed, C, penalty, BOUNDS[box] or FREE)
        assert_optimal(solution, listed, best)
        at_zero += np.count_nonzero(solution.w == 0)
    assert box != "signs" or at_zero >= 3  # the constraints are active


@boxes
@formulations
def test_one_simplex_of_squared_slacks_closes_the_gap(formulation, box):
    """Tangent planes of a smooth function, so there is no end; |w - w*|^2 <= 2 gap / lambda."""
    for seed in range(4):
        problem, listed = random_pair(seed, formulation, ties=seed % 2 == 1)
        options = dict(slack_penalty=SQUARED, bounds=BOUNDS[box], tol=1e-10)
        solution = exactly(problem, Simplicial("one"), **options)
        assert solution.status in ENDED
        best = qp_optimum(listed, C, SQUARED, BOUNDS[box] or FREE)
        assert solution.dual <= best.in_lambda_form + 1e-12
        assert solution.primal >= best.in_lambda_form - 1e-12
        distance = np.linalg.norm(solution.w - best.w)
        assert distance <= np.sqrt(2 * solution.gap / solution.lam) + 1e-12


@penalties
@pytest.mark.parametrize("box", ["free", "signs"])
@pytest.mark.parametrize(
    ("which", "formulation"), [*((which, "margin") for which in COMPILED), ("chain", "slack")]
)
def test_compiled_structures_have_the_optimum_of_the_qp(which, box, penalty, formulation):
    problem, listed = COMPILED[which]
    if formulation == "slack":
        problem, listed = slack_rescaled(problem), listed.slack_rescaled()
    solution = exactly(problem, Simplicial(), slack_penalty=penalty, bounds=BOUNDS[box])
    assert solution.status in ENDED
    assert_optimal(solution, listed, qp_optimum(listed, C, penalty, BOUNDS[box] or FREE))


@pytest.mark.parametrize("which", COMPILED)
def test_a_compiled_structure_and_a_list_take_the_same_way(which):
    problem, listed = COMPILED[which]
    for solver in (Simplicial(), Simplicial("one", limit=2)):
        compiled, python = (
            exactly(one, solver, max_passes=6) for one in (problem, python_problem(listed))
        )
        np.testing.assert_allclose(
            compiled.history.iterate_dual, python.history.iterate_dual, atol=1e-12
        )
        np.testing.assert_allclose(
            compiled.history.iterate_primal, python.history.iterate_primal, atol=1e-12
        )


# --- certificates ------------------------------------------------------------------------------


def block_gaps(listed, run, penalty):
    """C s_i (h(xi_i) + h*(A_i) - <alpha_i, H_i>) from the points, slacks by enumeration."""
    points, w = run.state.points, run.state.w
    rows = points.rows if isinstance(points.rows, np.ndarray) else points.rows.toarray()
    values = points.weight * (points.loss - rows @ w)
    if run.solver.simplexes == "product":
        mass = np.bincount(points.block, points.weight, listed.n)
        mean = np.bincount(points.block, values, listed.n)
        paid = conjugate(mass, penalty) + cost(listed.slacks(w), penalty)
        return C * (listed.s * paid - mean)
    return C * np.array([listed.s @ cost(listed.slacks(w), penalty) - values.sum()])


@formulations
@penalties
@boxes
@solvers
def test_the_gap_is_the_sum_of_the_block_gaps_at_every_iteration(formulation, penalty, box, name):
    bounds = BOUNDS[box] or FREE
    for seed in (0, 1):
        problem, listed = random_pair(seed, formulation, ties=seed == 1)
        run = new_run(problem, SOLVERS[name], penalty, BOUNDS[box])
        for certificate in iterations(run, most=15):
            gaps = listed.in_lambda_form(block_gaps(listed, run, penalty), C)
            size = abs(certificate.primal)
            np.testing.assert_allclose(certificate.block_gaps, gaps, atol=1e-10 * size)
            assert certificate.gap == pytest.approx(gaps.sum(), abs=1e-10 * size)
            w = np.clip(run.state.v, *bounds)
            np.testing.assert_array_equal(run.state.w, w)
            primal = listed.in_lambda_form(listed.primal(w, C, penalty), C)
            assert certificate.primal == pytest.approx(primal, abs=1e-12 * size)


def distance_to_hull(point, corners):
    """Of (row, loss) to the convex hull of corners; points of cones have mass one, too."""
    ones = np.ones(len(corners))
    return nnls(np.column_stack([corners, ones]).T, np.append(point, 1.0))[1]


def masses_of_rays(listed, run):
    """zeta of every point, by what stands behind its features."""
    behind = run.state.points.rows[:, listed.dim :]
    return 1.0 + behind / np.sqrt(listed.s / C)


@formulations
@boxes
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_the_gap_of_one_cone_is_that_of_its_masses(formulation, box, limit):
    """The dual by its definition: losses, masses and v of the rays, one by one."""
    bounds = BOUNDS[box] or FREE
    for seed in (0, 2):
        problem, listed = random_pair(seed, formulation)
        run = new_run(problem, Simplicial("one cone", limit=limit), SQUARED, BOUNDS[box])
        for certificate in iterations(run, most=15):
            points, zeta = run.state.points, masses_of_rays(listed, run)
            mass, v = points.weight @ zeta, C * points.weight @ points.rows[:, : listed.dim]
            w = np.clip(v, *bounds)
            np.testing.assert_allclose(run.state.w, w, atol=1e-14)
            loss = points.weight @ points.loss - listed.s @ conjugate(mass, SQUARED)
            dual = listed.in_lambda_form(C * loss - (v @ w - 0.5 * (w @ w)), C)
            primal = listed.in_lambda_form(listed.primal(w, C, SQUARED), C)
            assert certificate.dual == pytest.approx(dual, abs=1e-12 * abs(primal))
            assert certificate.primal == pytest.approx(primal, abs=1e-12 * abs(primal))


def test_rays_are_sums_of_labellings_with_the_same_mass_or_none():
    """(28)-(30), up to their length."""
    listed = random_problem(0, n=4, labellings=4)
    run = new_run(python_problem(listed), Simplicial("one cone", limit=np.inf), SQUARED)
    choices = list(product(*(range(len(loss)) for loss in listed.loss)))
    for _ in iterations(run):
        pass
    assert len(run.state.points) > 5
    for row, loss, zeta in zip(
        run.state.points.rows, run.state.points.loss, masses_of_rays(listed, run), strict=True
    ):
        assert zeta @ listed.s == pytest.approx(listed.s.sum())
        assert (zeta > -1e-12).all()
        np.testing.assert_allclose(zeta[zeta > 1e-12], zeta.max())
        found = np.append(row[: listed.dim], loss)
        terms = zip(listed.s * zeta, listed.examples, strict=True)
        rows = [share * np.column_stack(example) for share, example in terms]
        sums = [sum(of[y] for of, y in zip(rows, choice, strict=True)) for choice in choices]
        assert abs(np.array(sums) - found).max(axis=1).min() <= 1e-12


@pytest.mark.parametrize("limit", [1, 3])
@penalties
def test_points_are_labellings_or_lie_between_them(penalty, limit):
    listed = random_problem(7)
    run = new_run(python_problem(listed), Simplicial(limit=limit), penalty)
    for _ in iterations(run, most=8):
        points = run.state.points
        for row, loss, i, retained in zip(
            points.rows, points.loss, points.block, points.retained, strict=True
        ):
            point = np.append(row, loss)
            corners = listed.s[i] * np.column_stack([listed.psi[i], listed.loss[i]])
            if retained:
                assert distance_to_hull(point, corners) <= 1e-12
            else:
                assert abs(corners - point).max(axis=1).min() <= 1e-14
        if penalty == LINEAR:
            np.testing.assert_allclose(points.sums(points.weight), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "penalty"),
    [*product(SOLVERS, (LINEAR, SQUARED)), *((name, SQUARED) for name in CONES)],
)
@boxes
def test_bounds_enclose_the_optimum_and_the_dual_never_falls(penalty, box, name):
    listed = random_problem(11, n=6)
    best = qp_optimum(listed, C, penalty, BOUNDS[box] or FREE).in_lambda_form
    options = dict(slack_penalty=penalty, bounds=BOUNDS[box], max_passes=30)
    history = exactly(python_problem(listed), (SOLVERS | CONES)[name], **options).history
    assert (history.iterate_dual <= best + 1e-12).all()
    assert (history.iterate_primal >= best - 1e-12).all()
    assert (np.diff(history.iterate_dual) >= -1e-13).all()


# --- iterations --------------------------------------------------------------------------------


@penalties
@boxes
@pytest.mark.parametrize(
    ("simplexes", "limit"), [("product", None), ("product", 1), ("product", 2), ("one", 1)]
)
def test_iterates_are_those_of_the_reference(simplexes, limit, box, penalty):
    """Masters have one solution here, so both go the same way, dual value by dual value.

    Not so with several points in one simplex: if two of them differ in one example's labelling, the
    master makes these labellings equally good, and rounding decides which the oracle returns.
    """
    for seed in range(3):
        listed = random_problem(seed, n=4)
        steps = simplicial(
            listed, C, simplexes=simplexes, limit=limit, penalty=penalty,
            bounds=BOUNDS[box] or FREE, iterations=8, tol=1e-9,
        )  # fmt: skip
        limit = np.inf if limit is None else limit
        solver = Simplicial(simplexes, limit=limit, prune_after=None)
        options = dict(slack_penalty=penalty, bounds=BOUNDS[box], max_passes=len(steps) - 1)
        history = exactly(python_problem(listed), solver, **options).history
        expected = [listed.in_lambda_form(step.dual, C) for step in steps]
        np.testing.assert_allclose(history.iterate_dual[: len(steps)], expected, atol=1e-10)


@boxes
@pytest.mark.parametrize(("limit", "iterations"), [(None, 3), (1, 8)])
def test_iterates_of_one_cone_are_those_of_the_reference(box, limit, iterations):
    for seed in range(3):
        listed = random_problem(seed, n=4)
        bounds = BOUNDS[box] or FREE
        steps = one_cone(listed, C, bounds=bounds, limit=limit, iterations=iterations)
        solver = Simplicial("one cone", limit=limit or np.inf, prune_after=None)
        options = dict(slack_penalty=SQUARED, bounds=BOUNDS[box], max_passes=len(steps) - 1)
        history = exactly(python_problem(listed), solver, **options).history
        expected = [listed.in_lambda_form(step.dual, C) for step in steps]
        np.testing.assert_allclose(history.iterate_dual[: len(steps)], expected, atol=1e-10)


@pytest.mark.parametrize("box", ["free", "signs"])
@pytest.mark.parametrize("which", COMPILED)
def test_one_simplex_of_one_point_is_frank_wolfe(which, box):
    options = dict(bounds=BOUNDS[box], max_passes=12)
    problem, listed = COMPILED[which]
    for one in (problem, python_problem(listed)):
        theirs = exactly(one, FrankWolfe(), **options).history
        ours = exactly(one, Simplicial("one", limit=1), **options).history
        np.testing.assert_allclose(ours.dual, theirs.dual, atol=1e-12)


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4), st.booleans(), st.sampled_from([0.1, 1.0, 30]))
def test_dim_plus_one_points_end_after_finitely_many_iterations(seed, n, dim, ties, C):
    listed = random_problem(seed, n=n, dim=dim, ties=ties)
    for solver in (Simplicial(limit=dim + 1), Simplicial("one", limit=dim + 1)):
        solution = exactly(python_problem(listed), solver, C=C, max_passes=60)
        assert solution.status in ENDED
        assert solution.passes < 60
        assert solution.gap <= 1e-11 * solution.scale


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_cones_end_after_finitely_many_iterations(seed, n, dim, ties):
    listed = random_problem(seed, n=n, dim=dim, ties=ties)
    for solver in (Simplicial(), Simplicial("one cone")):
        solution = exactly(python_problem(listed), solver, slack_penalty=SQUARED, max_passes=60)
        assert solution.status in ENDED
        assert solution.passes < 60
        assert solution.gap <= 1e-11 * solution.scale


def test_one_cone_needs_more_points_than_there_are_weights():
    """It lives in dim + n + 1 dimensions; dim + 1 rays are too few for some problems."""
    endless = 0
    for seed in range(8):
        listed = random_problem(seed, n=6)
        few, enough = (
            exactly(
                python_problem(listed), Simplicial("one cone", limit=limit),
                slack_penalty=SQUARED, max_passes=100,
            )
            for limit in (listed.dim + 1, listed.dim + listed.n + 1)
        )  # fmt: skip
        assert enough.status in ENDED
        assert enough.passes < 40
        endless += few.status is Status.MAX_PASSES
    assert endless > 0


def test_one_cone_ends_where_tangent_planes_go_on():
    for seed in range(6):
        problem = python_problem(random_problem(seed))
        cone, planes = (
            exactly(problem, Simplicial(simplexes), slack_penalty=SQUARED, tol=1e-9)
            for simplexes in ("one cone", "one")
        )
        assert 2 * cone.passes < planes.passes


def test_the_default_limit_is_dim_plus_one_or_what_fits_into_memory():
    run = new_run(python_problem(random_problem(0)), Simplicial())
    assert Simplicial().most_points(run.state.points) == 4
    assert Simplicial(memory=1e-9).most_points(run.state.points) == 1
    assert Simplicial(limit=17).most_points(run.state.points) == 17
    run = new_run(python_problem(random_problem(0)), Simplicial("one cone"), SQUARED)
    assert run.solver.most_points(run.state.points) == 3 + 5 + 1


@penalties
@pytest.mark.parametrize("simplexes", ["product", "one"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_is_kept_to_with_one_retained_point(simplexes, limit, penalty):
    run = new_run(python_problem(random_problem(5)), Simplicial(simplexes, limit=limit), penalty)
    for _ in iterations(run, most=10):
        points = run.state.points
        assert points.sizes().max(initial=0) <= limit
        assert np.bincount(points.block[points.retained], minlength=1).max() <= 1


def names(points):
    """Points as something to compare."""
    return [(int(b), row.tobytes()) for b, row in zip(points.block, points.rows, strict=True)]


@pytest.mark.parametrize("simplexes", ["product", "one"])
@pytest.mark.parametrize("prune_after", [1, 2, None])
def test_points_without_weight_for_long_enough_are_forgotten(simplexes, prune_after):
    """When there are others to add."""
    problem, _ = random_pair(7, n=6, dim=4, labellings=25)
    run = new_run(problem, Simplicial(simplexes, limit=np.inf, prune_after=prune_after))
    without, forgotten = {}, 0
    for _ in iterations(run):
        points = run.state.points
        now = dict(zip(names(points), points.weight, strict=True))
        gone = set(without) - set(now)
        idle = {name for name, masters in without.items() if masters >= (prune_after or np.inf)}
        retained = {name for name, kept in zip(names(points), points.retained, strict=True) if kept}
        assert gone == idle - retained
        forgotten += len(gone)
        without = {name: (without.get(name, 0) + 1) * (w == 0) for name, w in now.items()}
    assert (forgotten > 0) == (prune_after is not None)


# --- working sets ------------------------------------------------------------------------------


@formulations
@pytest.mark.parametrize(
    ("simplexes", "penalty"),
    [*product(("product", "one"), (LINEAR, SQUARED)), ("one cone", SQUARED)],
)
@boxes
@pytest.mark.parametrize("limit", [None, 2])
def test_a_working_set_closes_the_gap(formulation, simplexes, penalty, box, limit):
    """Slowly, where two points are all that several examples have."""
    problem, listed = random_pair(3, formulation, n=6)
    tol = 1e-6 if limit is None or simplexes == "product" else 1e-3
    options = dict(slack_penalty=penalty, bounds=BOUNDS[box], tol=tol, max_passes=2000)
    solution = exactly(problem, Simplicial(simplexes, limit=limit, working_set=3), **options)
    best = qp_optimum(listed, C, penalty, BOUNDS[box] or FREE).in_lambda_form
    assert solution.status is Status.CONVERGED
    assert solution.dual <= best + 1e-12
    assert solution.primal >= best - 1e-12
    assert solution.relative_gap <= tol
    assert (np.diff(solution.history.iterate_dual) >= -1e-12).all()


@penalties
def test_a_working_set_does_not_end_before_the_optimum(penalty):
    for seed in range(6):
        problem, listed = random_pair(seed, "slack", ties=seed % 2 == 1)
        options = dict(slack_penalty=penalty, max_passes=50)
        solution = exactly(problem, Simplicial(working_set=2), **options)
        if solution.status in ENDED:
            best = qp_optimum(listed, C, penalty).in_lambda_form
            assert solution.primal == pytest.approx(best, abs=1e-8)


@penalties
def test_a_working_set_finds_no_point_twice(penalty):
    listed = random_problem(1)
    solver = Simplicial(limit=np.inf, working_set=2)
    solution = exactly(python_problem(listed), solver, slack_penalty=penalty, max_passes=40)
    points = solution.state.points
    everything = np.column_stack([points.block, points.rows, points.loss])[~points.retained]
    assert len(np.unique(everything.round(12), axis=0)) == len(everything)


def test_a_working_set_is_of_the_examples_with_the_largest_gaps():
    listed = random_problem(2, n=8)
    run = new_run(python_problem(listed), Simplicial(working_set=3))
    certificate = run.first_certificate(run.worst_losses(cold=True), cold=True)
    largest = np.sort(np.argsort(-certificate.block_gaps)[:3])
    before = run.state.points.sums(run.state.points.weight * run.state.points.loss)
    run.advance(3)
    after = run.state.points.sums(run.state.points.weight * run.state.points.loss)
    np.testing.assert_array_equal(np.flatnonzero(after != before), largest)


@pytest.mark.parametrize(
    ("simplexes", "penalty"), [("one", LINEAR), ("one", SQUARED), ("one cone", SQUARED)]
)
def test_one_simplex_has_a_working_set_of_one_group(simplexes, penalty):
    """Groups of every third example; the one with the largest gap moves, the others stay."""
    listed = random_problem(2, n=8)
    run = new_run(python_problem(listed), Simplicial(simplexes, working_set=3), penalty)
    certificate = run.first_certificate(run.worst_losses(cold=True), cold=True)
    slack_of_examples = cost(listed.slacks(run.state.w), penalty)
    groups = [range(first, 8, 3) for first in range(3)]
    expected = [listed.s[of] @ slack_of_examples[of] / listed.n for of in map(list, groups)]
    np.testing.assert_allclose(certificate.block_gaps, expected)
    run.advance(3)
    weight = run.state.points.weight * ~run.state.points.retained
    moved = np.flatnonzero(run.state.points.sums(weight))
    np.testing.assert_array_equal(moved, [np.argmax(expected)])
    assert run.state.count[0] == len(groups[moved[0]])


def test_one_simplex_with_a_working_set_of_one_example_is_a_product_with_it():
    """Every example has a simplex then, and one moves at a time."""
    listed = random_problem(2, n=6)
    ours, theirs = (
        exactly(python_problem(listed), Simplicial(simplexes, working_set=1), max_passes=6)
        for simplexes in ("one", "product")
    )
    np.testing.assert_allclose(ours.history.iterate_dual, theirs.history.iterate_dual, atol=1e-12)
    assert ours.history.oracle_calls.tolist() == theirs.history.oracle_calls.tolist()


@pytest.mark.parametrize("simplexes", ["product", "one"])
def test_a_working_set_of_all_is_none(simplexes):
    listed = random_problem(2)
    ours, theirs = (
        exactly(python_problem(listed), Simplicial(simplexes, working_set=size))
        for size in (listed.n, None)
    )
    np.testing.assert_array_equal(ours.w, theirs.w)
    assert ours.history.iterate_dual.tolist() == theirs.history.iterate_dual.tolist()


# --- in company --------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["multiclass", "chain"])
def test_all_solvers_agree_within_their_gaps(which):
    problem, listed = COMPILED[which]
    found = [solve(problem, BCFW(direction="pairwise"), C=C, tol=1e-6, max_passes=3000)]
    found += [exactly(problem, solver, tol=1e-6) for solver in SOLVERS.values()]
    assert max(one.dual for one in found) <= min(one.primal for one in found) + 1e-12
    for one in found:
        distance = np.linalg.norm(one.w - qp_optimum(listed, C).w)
        assert distance <= np.sqrt(2 * max(one.gap, 0.0) / one.lam) + 1e-9


@some_solvers
def test_oracle_calls_are_counted(solver):
    """Also those that find the worst losses; checking features at the start asks no oracle."""
    problem = python_problem(random_problem(4))
    solution = exactly(problem, solver, max_passes=10)
    assert solution.oracle_calls == problem.model.calls


@some_solvers
def test_only_features_are_kept_of_labels(solver):
    """Points are rows: a Python model's labels, which may be large, are forgotten."""
    problem = python_problem(random_problem(4))
    run = new_run(problem, solver)
    run.first_certificate(run.worst_losses(cold=True), cold=True)
    for _ in range(3):
        run.advance(run.n)
        assert all(len(tokens) == 1 for tokens in problem._tokens)
        run.certify()


@pytest.mark.parametrize("simplexes", ["product", "one"])
def test_a_start_from_the_solution_does_no_work(simplexes):
    problem, _ = COMPILED["chain"]
    earlier = exactly(problem, Simplicial(simplexes), tol=1e-9)
    again = exactly(problem, Simplicial(simplexes), tol=1e-9, warm_start=earlier)
    assert again.passes == 0
    np.testing.assert_allclose(again.w, earlier.w, atol=1e-13)


@pytest.mark.parametrize(
    ("simplexes", "penalty"), [("product", LINEAR), ("product", SQUARED), ("one cone", SQUARED)]
)
def test_points_serve_another_constant_too(simplexes, penalty):
    listed = random_problem(9, n=8, labellings=20)
    solver = Simplicial(simplexes)
    earlier = exactly(python_problem(listed), solver, slack_penalty=penalty)
    options = dict(slack_penalty=penalty, C=1.1 * C)
    cold = exactly(python_problem(listed), solver, **options)
    for keep in ("dual", "primal"):
        warm = exactly(python_problem(listed), solver, warm_start=earlier, keep=keep, **options)
        assert_optimal(warm, listed, qp_optimum(listed, 1.1 * C, penalty))
        assert warm.passes < cold.passes


def test_more_examples_start_at_the_truth():
    whole = random_problem(10, n=8)
    part = type(whole)(whole.psi[:5], whole.loss[:5], whole.s[:5])
    earlier = exactly(python_problem(part), Simplicial())
    solution = exactly(python_problem(whole), Simplicial(), warm_start=earlier)
    assert_optimal(solution, whole, qp_optimum(whole, C))


@pytest.mark.parametrize("working_set", [None, 2])
@pytest.mark.parametrize("simplexes", ["product", "one"])
@pytest.mark.parametrize("which", ["chain", "sparse chain"])
def test_a_start_from_block_coordinate_steps(which, simplexes, working_set):
    problem, listed = COMPILED[which]
    earlier = solve(problem, BCFW(), C=C, max_passes=30, tol=0)
    solver = Simplicial(simplexes, working_set=working_set)
    solution = exactly(problem, solver, warm_start=earlier)
    assert solution.history.iterate_dual[0] == pytest.approx(
        earlier.history.iterate_dual[-1], abs=1e-12
    )
    if working_set is None:
        assert_optimal(solution, listed, qp_optimum(listed, C))


def test_other_penalties_and_simplexes_cannot_be_continued():
    listed = random_problem(4)
    earlier = exactly(python_problem(listed), Simplicial())
    for wrong, why in (
        (dict(slack_penalty=SQUARED), "slack_penalty='linear', this run 'squared'"),
        (dict(solver=Simplicial("one")), "cannot start from the points"),
    ):
        options = {"solver": Simplicial(), "warm_start": earlier, **wrong}
        with pytest.raises(ValueError, match=why):
            exactly(python_problem(listed), **options)


def test_other_groups_and_cones_cannot_be_continued():
    problem = python_problem(random_problem(4))
    for earlier, now in (
        (Simplicial("one"), Simplicial("one", working_set=2)),
        (Simplicial("one"), Simplicial("one cone")),
        (Simplicial("one cone", working_set=2), Simplicial("one cone")),
        (Simplicial("one cone"), CuttingPlane(slacks="one")),
    ):
        options = dict(slack_penalty=SQUARED, max_passes=3)
        points = exactly(problem, earlier, **options)
        with pytest.raises(ValueError, match="cannot start from the points"):
            exactly(problem, now, warm_start=points, **options)


def test_one_cone_is_for_squared_slacks():
    with pytest.raises(ValueError, match=r'"one cone" is for slack_penalty="squared".*"one"'):
        exactly(python_problem(random_problem(4)), Simplicial("one cone"))


# --- the loop around it --------------------------------------------------------------------------

KINDS = {
    "product": (Simplicial(), LINEAR),
    "product, limit 2": (Simplicial(limit=2), LINEAR),
    "cones": (Simplicial(limit=2), SQUARED),
    "one": (Simplicial("one"), LINEAR),
    "one, squared": (Simplicial("one", limit=3), SQUARED),
    "one cone": (Simplicial("one cone", limit=4), SQUARED),
    "working set": (Simplicial(working_set=2), LINEAR),
    "one, working set": (Simplicial("one", working_set=5), LINEAR),
    "one cone, working set": (Simplicial("one cone", working_set=5), SQUARED),
}


@pytest.mark.parametrize("at", [1, 2, 4])
@pytest.mark.parametrize("box", ["free", "signs"])
@pytest.mark.parametrize("which", LONG)
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(kind, which, box, at, tmp_path):
    problem, _ = LONG[which]
    solver, penalty = KINDS[kind]
    options = dict(C=5.0, slack_penalty=penalty, bounds=BOUNDS[box], max_passes=6)
    whole = exactly(problem, solver, **options)
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    with killed_at(type(solver), at):
        exactly(problem, solver, **options, **saving)
    resumed = exactly(problem, solver, resume=True, **options, **saving)
    np.testing.assert_array_equal(resumed.state.w, whole.state.w)
    np.testing.assert_array_equal(resumed.state.points.weight, whole.state.points.weight)
    np.testing.assert_array_equal(resumed.w, whole.w)
    assert (resumed.primal, resumed.dual) == (whole.primal, whole.dual)
    assert resumed.history.iterate_dual.tolist() == whole.history.iterate_dual.tolist()
    assert resumed.history.oracle_calls.tolist() == whole.history.oracle_calls.tolist()


def test_a_run_that_has_ended_is_resumed_at_its_end(tmp_path):
    problem, _ = LONG["dense"]
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    ended = exactly(problem, Simplicial(), **saving)
    assert ended.status in ENDED
    resumed = exactly(problem, Simplicial(), resume=True, **saving)
    assert resumed.status in ENDED
    assert resumed.passes <= ended.passes + 1


def test_a_python_model_can_be_resumed(tmp_path):
    listed = random_problem(6, n=8)
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    whole = exactly(python_problem(listed), Simplicial(limit=2), max_passes=6)
    exactly(python_problem(listed), Simplicial(limit=2), max_passes=3, **saving)
    resumed = exactly(
        python_problem(listed), Simplicial(limit=2), max_passes=6, resume=True, **saving
    )
    np.testing.assert_array_equal(resumed.w, whole.w)


RESUMED = {
    "constrained": lambda: chain_pair([3, 4, 2, 4, 3], 3, constrained=True, seed=7)[0],
    "with a memory": lambda: graph_pair(
        [complete(4), complete(5), complete(4)], states=(3,), inference="message-passing",
        relaxed=True, seed=3,
    )[0],
}  # fmt: skip


@pytest.mark.parametrize("which", RESUMED)
@pytest.mark.parametrize("solver", [Simplicial(), CuttingPlane(), CuttingPlane(slacks="one")])
def test_a_run_that_came_to_its_end_goes_on_as_if_it_had_not(tmp_path, which, solver):
    """Its checkpoint is made right after a certificate, whose oracle pass is then used."""
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    whole = solve(RESUMED[which](), solver, C=5.0, max_passes=5, tol=0.0)
    solve(RESUMED[which](), solver, C=5.0, max_passes=2, tol=0.0, **saving)
    resumed = solve(RESUMED[which](), solver, C=5.0, max_passes=5, tol=0.0, resume=True, **saving)
    np.testing.assert_array_equal(resumed.w, whole.w)
    assert (resumed.primal, resumed.dual) == (whole.primal, whole.dual)


def test_a_checkpoint_of_another_penalty_is_refused(tmp_path):
    problem, _ = LONG["dense"]
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    exactly(problem, Simplicial(), max_passes=2, **saving)
    with pytest.raises(ValueError, match="another slack penalty"):
        exactly(problem, Simplicial(), slack_penalty=SQUARED, resume=True, **saving)


def test_a_damaged_checkpoint_is_refused_by_name(tmp_path):
    problem, _ = LONG["dense"]
    path = tmp_path / "run.npz"
    exactly(problem, Simplicial(), max_passes=2, checkpoint=path)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["points.weight"] = 2.0 * arrays["points.weight"]
    save_altered(path, arrays)
    with pytest.raises(ValueError, match=r"run\.npz"):
        exactly(problem, Simplicial(), checkpoint=path, resume=True)


@pytest.mark.parametrize("wrong", ["negative", "not of mean one", "of another group"])
def test_masses_that_no_ray_has_are_refused(tmp_path, wrong):
    """A lower bound rests on them, and weights do not tell."""
    problem, _ = LONG["dense"]
    solver, path = Simplicial("one cone", working_set=9), tmp_path / "run.npz"
    options = dict(slack_penalty=SQUARED, max_passes=3, checkpoint=path)
    exactly(problem, solver, **options)
    with np.load(path) as archive:
        arrays = dict(archive)
    behind = arrays["points.rows"][:, problem.dim :]
    block = arrays["points.block"][0]
    own = np.flatnonzero(np.arange(len(LENGTHS)) % 2 == block)
    if wrong == "negative":
        behind[0, own[0]] -= 5.0
        behind[0, own[1]] += 5.0
    elif wrong == "not of mean one":
        behind[0, own] *= 0.5
        behind[0, own[0]] += 0.1
    else:
        behind[0, own[0] + 1 - 2 * block] = 0.3
    arrays["v"] = C * arrays["points.weight"] @ arrays["points.rows"]
    save_altered(path, arrays)
    with pytest.raises(ValueError, match=r"run\.npz.*masses"):
        exactly(problem, solver, resume=True, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_returns_a_certified_model(kind, monkeypatch):
    problem, reference = LONG["dense"]
    listed = enumerated(reference)
    solver, penalty = KINDS[kind]
    advance, calls = DecompositionRun.advance, []

    def interrupted(run, n_steps):
        calls.append(n_steps)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        advance(run, n_steps)

    monkeypatch.setattr(DecompositionRun, "advance", interrupted)
    solution = exactly(problem, solver, C=5.0, slack_penalty=penalty)
    assert solution.status is Status.INTERRUPTED
    assert len(calls) == 3
    primal = listed.in_lambda_form(listed.primal(solution.w, 5.0, penalty), 5.0)
    assert solution.primal == pytest.approx(primal, abs=1e-12)
    assert solution.gap > 0


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_seeds_change_no_bit(kind):
    problem, _ = LONG["dense"]
    solver, penalty = KINDS[kind]
    one, three = (
        exactly(problem, solver, C=5.0, slack_penalty=penalty, max_passes=6, n_threads=n, seed=n)
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.w, three.w)
    assert one.history.iterate_dual.tolist() == three.history.iterate_dual.tolist()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(simplexes="two"), "simplexes='two'"),
        (dict(limit=0), "limit=0"),
        (dict(limit=np.nan), "limit=nan"),
        (dict(prune_after=0), "prune_after=0"),
        (dict(working_set=0), "working_set=0"),
        (dict(memory=0.0), "memory=0.0"),
    ],
    ids=["simplexes", "limit", "no number", "pruning", "working set", "memory"],
)
def test_wrong_options_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Simplicial(**wrong)


def test_other_solvers_refuse_squared_slacks():
    with pytest.raises(ValueError, match='slack_penalty="squared"'):
        exactly(python_problem(random_problem(0)), BCFW(), slack_penalty=SQUARED)
    with pytest.raises(ValueError, match="slack_penalty='cubed'"):
        exactly(python_problem(random_problem(0)), None, slack_penalty="cubed")
