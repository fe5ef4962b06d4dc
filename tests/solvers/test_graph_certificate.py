"""Every solver on every kind of graph and inference: what it reports is true, and the optimum.

Primal, dual, weights and gaps are recomputed in plain NumPy from the definitions, over all
labellings or over the local polytope; see ``graph_reference``.
"""

import numpy as np
import pytest
from graph_reference import (
    ACCURACY,
    alone,
    complete,
    cycle,
    graph_pair,
    path,
    tiny_graph_pairs,
)
from slices import killed_at
from taut_reference import chain_pair, multiclass_pair

from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.solvers.objective import Objective
from taut.structures import chain_problem, multiclass_problem
from taut.structures.graphs import GraphModel, graph_problem
from taut.structures.graphs.graph_problem import GraphProblem

C = 0.6
PAIRS = tiny_graph_pairs()
INTERPRETED = ["linear programs"]  # HiGHS is called from Python, so little is asked of it
SOLVERS = {
    "batch": FrankWolfe(),
    "batch, averaging": FrankWolfe(averaging=True),
    "toward, gap": BCFW(),
    "toward, cyclic, averaging": BCFW(order="cyclic", averaging=True),
    "toward, cache": BCFW(cache=True),
    "pairwise, uniform": BCFW(order="uniform", direction="pairwise"),
    "pairwise, cache": BCFW(direction="pairwise", cache=True),
    "away, permuted": BCFW(order="permuted", direction="away"),
    "away, cache": BCFW(direction="away", cache=True, cache_size=3),
    "corrective, gap": BCFW(direction="corrective"),
    "corrective, cyclic, averaging": BCFW(order="cyclic", direction="corrective", averaging=True),
    "corrective, no memory": BCFW(order="permuted", direction="corrective", cache_size=1),
}
# A box of the user's, together with the one that graph cut needs.
BOX = (-0.3, 0.04)
BOXED = ["batch", "toward, cache", "pairwise, uniform", "away, permuted", "corrective, gap"]

FEW = ["toward, gap", "pairwise, cache", "corrective, gap"]

TABLE = [
    (which, name, box)
    for which in PAIRS
    for name in SOLVERS
    for box in (None, BOX)
    if name in BOXED or box is None
    if which not in INTERPRETED or (name in FEW and box is None)
]
table = pytest.mark.parametrize(
    ("which", "name", "box"), TABLE, ids=["; ".join(map(str, row)) for row in TABLE]
)
problems = pytest.mark.parametrize("which", PAIRS)


def tolerance(name):
    """Steps toward a corner converge like 1/t, the others linearly on a polytope."""
    solver = SOLVERS[name]
    slow = isinstance(solver, FrankWolfe) or solver.direction.name == "TOWARD"
    return 2e-2 if slow else 1e-6


def accuracy(which):
    """How far an oracle's bound may be from the truth; HiGHS stops at a feasibility of 1e-7."""
    if "message" in which:
        return 2 * ACCURACY
    return 1e-6 if which == "linear programs" else 1e-9


def bounds_of(which, box):
    """The whole box: what the structure needs and what the user asks for."""
    problem, _ = PAIRS[which]
    lower, upper = (np.full(problem.dim, side) for side in (box or (-np.inf, np.inf)))
    if which == "graph cut":
        lower[problem.dim - problem.n_edge_weights :] = 0.0
    elif box is None:
        return None
    return lower, upper


_solutions = {}


def solution_of(which, name, box):
    if (which, name, box) not in _solutions:
        _solutions[which, name, box] = solve(
            PAIRS[which][0], SOLVERS[name], C=C, bounds=box, tol=tolerance(name),
            max_passes=20_000,
        )  # fmt: skip
    return _solutions[which, name, box]


@table
def test_the_gap_falls_below_the_tolerance(which, name, box):
    solution = solution_of(which, name, box)
    assert solution.status is Status.CONVERGED
    assert solution.gap + 1e-14 >= 0
    assert solution.gap <= tolerance(name) * solution.scale
    assert solution.certifies == ("LP relaxation" if PAIRS[which][1].relaxed else "")
    assert solution.inference == PAIRS[which][0].inference


@table
def test_primal_and_dual_are_what_their_definitions_say(which, name, box):
    solution, (problem, reference) = solution_of(which, name, box), PAIRS[which]
    bounds, state, close = bounds_of(which, box), solution.state, accuracy(which)
    assert solution.primal == pytest.approx(reference.primal(solution.w, C), abs=close)
    last = solution.history[-1]
    assert last.iterate_primal == pytest.approx(reference.primal(state.w, C), abs=close)
    assert last.iterate_dual == pytest.approx(reference.dual(state.mu, C, bounds), abs=1e-9)
    if not SOLVERS[name].averaging:
        assert solution.primal == solution.history.iterate_primal.min()
        assert solution.dual == solution.history.iterate_dual.max()
    worst = [reference.worst(i, np.zeros(problem.dim)) for i in range(problem.n)]
    assert solution.scale == pytest.approx(reference.s @ worst / problem.n)


@table
def test_the_weights_follow_from_the_dual_point(which, name, box):
    """w = clip(Psi mu): the incremental updates never lose track."""
    solution, (_, reference) = solution_of(which, name, box), PAIRS[which]
    bounds, v = bounds_of(which, box), reference.weights(solution.state.mu, C)
    np.testing.assert_allclose(solution.state.v, v, rtol=0, atol=1e-9)
    w = v if bounds is None else np.clip(v, *bounds)
    np.testing.assert_allclose(solution.state.w, w, rtol=0, atol=1e-9)
    if bounds is not None:
        assert np.all((bounds[0] <= solution.w) & (solution.w <= bounds[1]))


@table
def test_the_dual_point_is_feasible(which, name, box):
    """mu_i lies in the polytope that is certified, otherwise the dual value would bound nothing."""
    solution, (_, reference) = solution_of(which, name, box), PAIRS[which]
    images = reference.images(solution.state.mu)
    for i, image in enumerate(images):
        assert reference.distance_to_polytope(i, image) <= 1e-8
    losses = [reference.loss_of(i, image) for i, image in enumerate(images)]
    np.testing.assert_allclose(solution.state.ell, losses, rtol=0, atol=1e-11)


@table
def test_the_history_brackets_the_optimum_and_the_dual_rises(which, name, box):
    history, solver = solution_of(which, name, box).history, SOLVERS[name]
    assert np.all(history.iterate_primal >= history.iterate_dual - 1e-14)
    # Weak duality between any two rows: every dual value is below every objective.
    assert history.iterate_primal.min() >= history.iterate_dual.max() - 1e-14
    # An exact line search never loses; momentum (corrective) may, for a while.
    if isinstance(solver, FrankWolfe) or solver.direction.name != "CORRECTIVE":
        assert np.all(np.diff(history.iterate_dual) >= -1e-14)


@problems
@pytest.mark.parametrize("box", [None, BOX], ids=["free", "box"])
def test_a_generic_quadratic_program_solver_finds_the_same_optimum(which, box):
    """Its accuracy is 1e-8; ours is the gap."""
    optimum, w = PAIRS[which][1].optimum(C, bounds_of(which, box))
    for other, name, boxed in TABLE:
        if (other, boxed) == (which, box):
            solution = solution_of(which, name, box)
            assert solution.dual - 1e-7 <= optimum <= solution.primal + 1e-7
            # Strong convexity: lambda/2 |w - w*|^2 <= primal - optimum.
            distance = 0.5 * solution.lam * np.sum((solution.w - w) ** 2)
            assert distance <= solution.gap + 1e-7


@problems
@pytest.mark.parametrize("box", [None, BOX], ids=["free", "box"])
def test_all_solvers_agree_within_their_gaps(which, box):
    found = [solution_of(*row) for row in TABLE if (row[0], row[2]) == (which, box)]
    highest = max((solution.dual for solution in found), default=0.0)
    assert highest <= min((solution.primal for solution in found), default=0.0) + 1e-14


@pytest.mark.parametrize("which", [which for which in PAIRS if which not in INTERPRETED])
@pytest.mark.parametrize("name", ["batch", "toward, gap", "pairwise, cache", "corrective, gap"])
def test_block_gaps_sum_to_primal_minus_dual(which, name):
    problem, reference = PAIRS[which]
    run = SOLVERS[name].start(problem, Objective(C, bounds=None, seed=3, n_threads=1))
    for _ in range(3):
        certificate = run.certify()
        expected = reference.block_gaps(run.state.mu, run.state.w)
        close = ACCURACY if "message" in which else 1e-10
        np.testing.assert_allclose(certificate.block_gaps, expected, rtol=0, atol=close)
        assert certificate.block_gaps.min() >= -1e-15
        assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, abs=1e-13)
        run.advance(problem.n + 1 if name != "batch" else problem.n)


def active_set(state, i):
    corners, slot = state.corners, state.corners.head[i]
    while slot >= 0:
        yield corners.labels[corners.label_at[slot] :], corners.alpha[slot]
        slot = corners.following[slot]


@pytest.mark.parametrize("which", [which for which in PAIRS if which not in INTERPRETED])
@pytest.mark.parametrize("name", [n for n in SOLVERS if n.startswith(("pair", "away", "corr"))])
def test_the_active_set_is_the_dual_point(which, name):
    """alpha_i lies in the simplex, and mu_i = sum_y alpha_i(y) e(y); also of fractional y."""
    state, (problem, reference) = solution_of(which, name, None).state, PAIRS[which]
    for i, image in enumerate(reference.images(state.mu)):
        size = int(problem.length(i))
        members = [(labels[:size], a) for labels, a in active_set(state, i)]
        alpha = np.array([a for _, a in members])
        assert alpha.min() >= 0.0
        assert alpha.sum() == pytest.approx(1.0, abs=1e-12)
        corners = [
            y.view(np.float64) if reference.relaxed else reference.image(i, y) for y, _ in members
        ]
        np.testing.assert_allclose(alpha @ np.array(corners), image, rtol=0, atol=1e-10)
        assert len({y.tobytes() for y, _ in members}) == len(members)


# --- the two polytopes ------------------------------------------------------------------------

TREES = [path(3), (4, [(1, 0), (1, 3)]), path(2), alone(1)]


@pytest.mark.parametrize("inference", ["roof-duality", "message-passing"])
def test_on_trees_the_relaxation_is_exact(inference):
    options = dict(n_edge_features=1, weighted=True, seed=8)
    exact, _ = graph_pair(TREES, **options)
    relaxed, reference = graph_pair(
        TREES, inference=inference, relaxed=True, accuracy=1e-9, rounds=100_000, **options
    )
    one, two = (solve(p, SOLVERS["corrective, gap"], C=C, tol=1e-7) for p in (exact, relaxed))
    assert max(one.dual, two.dual) <= min(one.primal, two.primal) + 1e-12
    assert reference.optimum(C, relaxed=True)[0] == pytest.approx(one.primal, abs=1e-6)


@pytest.mark.parametrize("inference", ["roof-duality", "message-passing"])
def test_where_edges_attract_the_relaxation_is_exact(inference):
    """The box keeps every w attractive, so both oracles find the same maxima."""
    options = dict(pairwise="potts", attractive=True, seed=9)
    shapes = [complete(4), cycle(5), path(3)]
    exact, _ = graph_pair(shapes, inference="graph-cut", **options)
    relaxed, reference = graph_pair(
        shapes, inference=inference, relaxed=True, accuracy=1e-9, rounds=100_000, **options
    )
    one, two = (solve(p, SOLVERS["corrective, gap"], C=C, tol=1e-7) for p in (exact, relaxed))
    assert max(one.dual, two.dual) <= min(one.primal, two.primal) + 1e-12
    bounds = (np.r_[np.full(6, -np.inf), 0.0], np.full(7, np.inf))
    assert reference.optimum(C, bounds, relaxed=False)[0] == pytest.approx(one.primal, abs=1e-6)
    assert reference.optimum(C, bounds, relaxed=True)[0] == pytest.approx(one.primal, abs=1e-6)


def test_on_frustrated_cycles_the_relaxation_costs_more():
    """Its polytope is larger, so its hinge is, and its optimum."""
    pairs = {
        inference: graph_pair(
            [cycle(3)] * 4, n_edge_features=2, inference=inference, accuracy=1e-9, rounds=100_000,
            relaxed=inference != "exhaustive", seed=3,
        )
        for inference in ("exhaustive", "roof-duality", "message-passing")
    }  # fmt: skip
    exact, relaxed, by_messages = (
        solve(problem, SOLVERS["corrective, gap"], C=5.0, tol=1e-7, max_passes=5000)
        for problem, _ in pairs.values()
    )
    reference = pairs["exhaustive"][1]
    assert exact.primal == pytest.approx(reference.optimum(5.0, relaxed=False)[0], abs=1e-6)
    assert relaxed.primal == pytest.approx(reference.optimum(5.0, relaxed=True)[0], abs=1e-6)
    assert by_messages.primal == pytest.approx(relaxed.primal, abs=1e-6)
    assert relaxed.dual > exact.primal + 0.04


# --- known limits -----------------------------------------------------------------------------


def same_optimum(one, two):
    """Two certificates of the same objective: the intervals [dual, primal] overlap."""
    assert one.status is two.status is Status.CONVERGED
    assert max(one.dual, two.dual) <= min(one.primal, two.primal) + 1e-12
    # 1/2 |w - w*|^2 <= gap / lambda for each.
    radius = sum(np.sqrt(2 * max(s.gap, 1e-14) / s.lam) for s in (one, two))
    assert np.linalg.norm(np.sort(one.w) - np.sort(two.w)) <= radius


@pytest.mark.parametrize("inference", ["auto", "exhaustive", "message-passing"])
def test_a_graph_without_edges_is_a_multiclass_problem(inference):
    _, reference = multiclass_pair(8, 3, weighted=True, seed=1)
    rows, truth = np.concatenate(reference.X), np.concatenate(reference.Y)
    multiclass = multiclass_problem(
        rows, truth, 3, cost=reference.cost, importance=reference.importance
    )
    graph = graph_problem(
        GraphModel((3,), (), 3, 0), rows, np.ones(8, int), truth, np.zeros((0, 2)),
        np.zeros(8, int), cost=reference.cost, importance=reference.importance,
        inference=inference,
    )  # fmt: skip
    assert graph.dim == multiclass.dim
    solver = BCFW(direction="corrective")
    same_optimum(*(solve(p, solver, C=C, tol=1e-8) for p in (multiclass, graph)))


@pytest.mark.parametrize("kind", ["constant steps", "step features"])
def test_a_chain_as_a_graph_is_the_chain(kind):
    """With the weights in the same order, so the optimal vectors are the same."""
    lengths, n_step = [3, 1, 4, 2], 2 if kind == "step features" else 0
    _, reference = chain_pair(lengths, 3, n_step=n_step, boundary=False, seed=2)
    rows, truth = np.concatenate(reference.X), np.concatenate(reference.Y)
    E = np.concatenate([np.vstack([e, np.zeros((1, e.shape[1]))]) for e in reference.steps])
    chain = chain_problem(
        rows, lengths, truth, 3, boundary=False, step_features=E if n_step else None
    )
    graph = graph_problem(
        GraphModel((3,), ((0, 0),), 3, n_step), rows, np.array(lengths), truth,
        np.concatenate([np.array(path(n)[1], int).reshape(-1, 2) for n in lengths]),
        np.array(lengths) - 1, edge_rows=np.concatenate(reference.steps) if n_step else None,
    )  # fmt: skip
    assert graph.dim == chain.dim
    solver = BCFW(direction="corrective")
    one, two = (solve(p, solver, C=C, tol=1e-9) for p in (chain, graph))
    same_optimum(one, two)
    np.testing.assert_allclose(one.w, two.w, rtol=0, atol=1e-3)
    assert one.primal == pytest.approx(reference.primal(two.w, C), abs=1e-8)


# --- starting again ---------------------------------------------------------------------------

REPEATED = ["trees of two types", "graph cut", "roof duality", "message passing"]
repeated = pytest.mark.parametrize("which", REPEATED)
STARTED = ["batch", "toward, cache", "pairwise, uniform", "corrective, gap"]


def assert_identical(one, two):
    np.testing.assert_array_equal(one.w, two.w)
    np.testing.assert_array_equal(one.state.mu, two.state.mu)
    assert (one.primal, one.dual, one.passes) == (two.primal, two.dual, two.passes)
    assert one.history.iterate_dual.tolist() == two.history.iterate_dual.tolist()


@repeated
@pytest.mark.parametrize("name", [*STARTED, "away, cache"])
def test_the_same_seed_gives_the_same_bits_whatever_the_threads(which, name):
    problem, _ = PAIRS[which]
    one, two, three = (
        solve(problem, SOLVERS[name], C=C, tol=0, max_passes=12, seed=5, n_threads=n)
        for n in (1, 1, 3)
    )
    assert_identical(one, two)
    assert_identical(one, three)


@repeated
@pytest.mark.parametrize("name", STARTED)
def test_a_converged_solution_needs_no_more_steps(which, name):
    problem, _ = PAIRS[which]
    first = solve(problem, SOLVERS[name], C=C, tol=2e-2, max_passes=20_000)
    last = first.history[-1]
    gap = last.iterate_primal - last.iterate_dual
    tol = 1.01 * gap / first.scale + 1e-7
    again = solve(problem, SOLVERS[name], C=C, tol=tol, warm_start=first)
    assert (again.status, again.passes) == (Status.CONVERGED, 0)
    np.testing.assert_allclose(again.state.w, first.state.w, rtol=0, atol=1e-11)


@repeated
@pytest.mark.parametrize("keep", ["dual", "primal"])
def test_a_warm_start_at_another_c_finds_its_optimum(which, keep):
    problem, reference = PAIRS[which]
    solver = SOLVERS["corrective, gap"]
    first = solve(problem, solver, C=0.1, tol=1e-3)
    warm = solve(problem, solver, C=C, tol=1e-5, warm_start=first, keep=keep)
    cold = solution_of(which, "corrective, gap", None)
    assert warm.status is Status.CONVERGED
    assert max(warm.dual, cold.dual) <= min(warm.primal, cold.primal) + 1e-12
    assert warm.primal == pytest.approx(reference.primal(warm.w, C), abs=accuracy(which))


def test_a_solution_of_the_relaxation_does_not_start_exact_training():
    """Its dual point may lie outside the smaller polytope."""
    options = dict(seed=6, weighted=True)
    relaxed, _ = graph_pair([cycle(3)], inference="roof-duality", relaxed=True, **options)
    exact, _ = graph_pair([cycle(3)], inference="exhaustive", **options)
    solution = solve(relaxed, BCFW(), C=C, max_passes=3)
    with pytest.raises(ValueError, match="is of the LP relaxation, this run of the exact problem"):
        solve(exact, BCFW(), C=C, warm_start=solution)


@pytest.fixture
def killed_run(tmp_path):
    """A run that is killed at its ninth slice, and one that goes on from its checkpoint."""

    def run(problem, solver, **options):
        options |= dict(C=C, checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
        with killed_at(type(solver), 9):
            solve(problem, solver, **options)
        return solve(problem, solver, resume=True, **options)

    return run


@pytest.mark.parametrize("which", [which for which in REPEATED if "message" not in which])
@pytest.mark.parametrize("name", [*STARTED, "away, cache"])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(which, name, killed_run):
    """Killed at any moment, the rest of the run is the same, bit for bit."""
    problem, _ = PAIRS[which]
    options = dict(tol=0.0, seed=2, max_passes=25)
    assert_identical(
        killed_run(problem, SOLVERS[name], **options),
        solve(problem, SOLVERS[name], C=C, **options),
    )


@pytest.mark.parametrize("name", STARTED)
def test_with_message_passing_a_resumed_run_finds_the_optimum_too(name, killed_run):
    """Messages are not kept, so it may take other steps; what it reports is still true."""
    which = "message passing"
    problem, reference = PAIRS[which]
    resumed = killed_run(problem, SOLVERS[name], tol=tolerance(name), max_passes=20_000, seed=2)
    other = solution_of(which, "corrective, gap", None)
    assert resumed.status is Status.CONVERGED
    assert max(resumed.dual, other.dual) <= min(resumed.primal, other.primal) + 1e-14
    assert resumed.primal == pytest.approx(reference.primal(resumed.w, C), abs=accuracy(which))


# --- one source, two modes --------------------------------------------------------------------


class Interpreted(GraphProblem):
    """The same arrays; solvers then run their Python source."""

    is_compiled = False


@pytest.mark.parametrize("name", ["batch", "toward, cache", "away, permuted", "corrective, gap"])
@pytest.mark.parametrize("which", ["trees of two types", "graph cut", "roof duality"])
def test_interpreted_python_walks_the_same_trajectory(which, name):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    problem, _ = PAIRS[which]
    other = Interpreted.of(problem.arrays, problem.importance)
    runs = [
        SOLVERS[name].start(one, Objective(C, bounds=None, seed=4, n_threads=1))
        for one in (problem, other)
    ]
    for _ in range(3):
        ours, theirs = (run.certify() for run in runs)
        assert ours.primal == pytest.approx(theirs.primal, abs=1e-10)
        assert ours.dual == pytest.approx(theirs.dual, abs=1e-10)
        for run in runs:
            run.advance(problem.n)
    compiled, interpreted = (run.state for run in runs)
    np.testing.assert_allclose(interpreted.w, compiled.w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(interpreted.mu, compiled.mu, rtol=0, atol=1e-10)
    assert interpreted.count.tolist() == compiled.count.tolist()


# --- bounds -----------------------------------------------------------------------------------


def test_bounds_that_leave_nothing_of_what_inference_needs_name_the_weight():
    problem, _ = PAIRS["graph cut"]
    upper = np.full(problem.dim, 1.0)
    upper[-1] = -0.5
    with pytest.raises(
        ValueError, match=rf"bounds= keeps weight {problem.dim - 1} of .* -0\.5, but"
    ):
        solve(problem, BCFW(), bounds=(-1.0, upper))


def test_bounds_narrow_those_of_the_structure_and_never_widen_them():
    problem, _ = PAIRS["graph cut"]
    edges = slice(problem.dim - problem.n_edge_weights, None)
    wide = solve(problem, BCFW(direction="corrective"), C=3.0, bounds=(-10.0, 10.0))
    narrow = solve(problem, BCFW(direction="corrective"), C=3.0, bounds=(0.01, 10.0))
    assert wide.state.lower[edges].tolist() == [0.0] * problem.n_edge_weights
    assert wide.w[edges].min() >= 0.0
    assert narrow.w.min() >= 0.01


def test_the_box_of_graph_cut_matters_here():
    """Without it the best weights would not be attractive: the tests above test something."""
    reference = PAIRS["graph cut"][1]
    free, w = reference.optimum(C)
    boxed, _ = reference.optimum(C, bounds_of("graph cut", None))
    assert w[reference.weights_at :].min() < -1e-3
    assert boxed > free + 1e-6
