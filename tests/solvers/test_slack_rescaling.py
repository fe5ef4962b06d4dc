"""Every solver solves slack rescaling, and knows no more of it than of margin rescaling.

Compiling takes longer than all else: corrective steps are compiled for chains and single nodes,
the other block-coordinate steps for graphs. What is left runs the same source, interpreted.
"""

import functools

import numpy as np
import pytest
from altered_checkpoints import save_altered
from graph_reference import cycle, graph_pair, path
from python_models import Chain
from slack_reference import SlackReference
from taut_reference import chain_pair, multiclass_pair

from taut import PythonProblem, check_problem
from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.solvers.objective import Objective
from taut.structures import Pairwise, slack_rescaled
from taut.structures.features import node_features
from taut.structures.graphs.graph_problem import GraphProblem


class InterpretedChain(Pairwise):
    is_compiled = False

    def new_dual(problem):
        return Pairwise(*problem).new_dual()


class InterpretedGraph(GraphProblem):
    is_compiled = False


def interpreted(problem):
    base = problem.base
    if isinstance(base, Pairwise):
        return slack_rescaled(InterpretedChain(*base))
    return slack_rescaled(InterpretedGraph.of(base.arrays, base.importance))


TREE = 5, [(0, 1), (0, 2), (2, 3), (2, 4)]
BASES = {
    "multiclass": multiclass_pair(8, 3, weighted=True, seed=1),
    "chain": chain_pair([3, 1, 2, 3], 3, normalize=False, seed=2),
    "constrained chain": chain_pair([3, 2, 4, 1], 4, constrained=True, seed=39),
    "forest": graph_pair(
        [TREE, path(4), (3, [(0, 1)])], states=(2, 3), joins=((0, 0), (0, 1), (1, 0)),
        random_types=True, seed=3,
    ),
    "cycles": graph_pair([cycle(4), cycle(3)], weighted=True, inference="exhaustive", seed=5),
}  # fmt: skip


@functools.cache
def pair(which):
    """The problem and its definition. Its oracle is compiled here: by one worker, not at import."""
    problem, reference = BASES[which]
    return slack_rescaled(problem), SlackReference(reference)


CORRECTIVE = BCFW(direction="corrective")
# Steps toward the oracle's answer converge like 1/k: to this tolerance in a few hundred passes.
SOLVERS = {
    "batch": (FrankWolfe(), 1e-2),
    "toward, cyclic": (BCFW(order="cyclic"), 1e-2),
    "toward, gap, cache": (BCFW(cache=True), 1e-2),
    "pairwise, permuted, averaging": (
        BCFW(order="permuted", direction="pairwise", averaging=True),
        1e-6,
    ),
    "away, uniform": (BCFW(order="uniform", direction="away"), 1e-6),
    "corrective, gap": (CORRECTIVE, 1e-6),
}
C = 0.6
pairs = pytest.mark.parametrize("which", BASES)
solvers = pytest.mark.parametrize("name", SOLVERS)


def in_mode(which, solver):
    """The problem, in the mode in which this file runs it with this solver."""
    problem, _ = pair(which)
    chain, corrective = isinstance(problem.base, Pairwise), solver == CORRECTIVE
    compiled = corrective if chain else isinstance(solver, BCFW) and not corrective
    return problem if compiled else interpreted(problem)


def radius(solution):
    """|w - w*| <= sqrt(2 gap / lambda), by strong convexity; a gap below rounding counts as it."""
    return np.sqrt(2 * max(solution.gap, 1e-14) / solution.lam)


@pytest.fixture(scope="module")
def optima():
    """Objective and weights of a quadratic program with one constraint per labelling."""
    return {which: pair(which)[1].optimum(C) for which in BASES}


@pairs
@solvers
@pytest.mark.parametrize("box", [None, (-0.05, 0.1)], ids=["free", "boxed"])
def test_the_certificate_is_true(which, name, box, optima):
    """Primal and dual enclose the optimum, and the primal is what enumeration says it is."""
    _, reference = pair(which)
    solver, tol = SOLVERS[name]
    solution = solve(in_mode(which, solver), solver, C=C, tol=tol, bounds=box, max_passes=5000)
    assert solution.status is Status.CONVERGED
    assert reference.primal(solution.w, C) == pytest.approx(solution.primal, rel=0, abs=1e-12)
    assert solution.dual <= solution.primal + 1e-12
    if box is None:
        value, w = optima[which]
        # 1e-7 is the accuracy of the quadratic program.
        assert solution.dual - 1e-7 <= value <= solution.primal + 1e-7
        assert np.linalg.norm(solution.w - w) <= radius(solution) + 1e-5
    else:
        assert solution.w.min() >= box[0]
        assert solution.w.max() <= box[1]
        assert solution.primal >= optima[which][0] - 1e-7


@pairs
def test_the_optimum_is_that_of_a_quadratic_program(which, optima):
    value, w = optima[which]
    problem = in_mode(which, CORRECTIVE)
    solution = solve(problem, CORRECTIVE, C=C, tol=1e-10, max_passes=5000)
    assert solution.primal == pytest.approx(value, rel=0, abs=1e-7)
    np.testing.assert_allclose(solution.w, w, rtol=0, atol=1e-5)


@pytest.mark.parametrize("which", ["multiclass", "chain"])
def test_it_is_another_problem_than_margin_rescaling(which):
    problem, _ = pair(which)
    options = dict(C=C, tol=1e-4, max_passes=5000)
    slack = solve(problem, CORRECTIVE, **options)
    margin = solve(interpreted(problem).base, CORRECTIVE, **options)
    assert np.linalg.norm(slack.w - margin.w) > radius(slack) + radius(margin)


@pytest.mark.parametrize("which", ["chain", "forest"])
@solvers
def test_the_weights_are_those_of_the_dual_point(which, name):
    """After many small moves; and the stored losses, kept twice, are the same."""
    solver, _ = SOLVERS[name]
    problem = in_mode(which, solver)
    run = solver.start(problem, Objective(C, bounds=None, seed=1, n_threads=1))
    run.advance(5 * problem.n)
    moved = run.state.v.copy()
    run.rebuild()
    np.testing.assert_allclose(run.state.v, moved, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.state.mu[-run.n :], run.state.ell, rtol=0, atol=1e-12)
    certificate = run.certify()
    assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, rel=0, abs=1e-12)
    assert certificate.block_gaps.min() >= -1e-12


# --- one source, two modes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "name"),
    [
        ("constrained chain", "corrective, gap"),
        ("forest", "toward, cyclic"),
        ("forest", "toward, gap, cache"),
        ("forest", "pairwise, permuted, averaging"),
        ("forest", "away, uniform"),
    ],
)
def test_interpreted_python_takes_the_same_steps(which, name):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    problem, _ = pair(which)
    runs = [
        SOLVERS[name][0].start(one, Objective(C, bounds=None, seed=4, n_threads=1))
        for one in (problem, interpreted(problem))
    ]
    assert [run.is_compiled for run in runs] == [True, False]
    for run in runs:
        run.certify()
        for _ in range(3):
            run.advance(problem.n)
    one, other = (run.state for run in runs)
    np.testing.assert_allclose(other.w, one.w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.mu, one.mu, rtol=0, atol=1e-10)
    assert other.count.tolist() == one.count.tolist()


def test_a_model_in_plain_python_has_the_same_optimum():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 3)) for length in (2, 3, 1, 3)]
    Y = [tuple(rng.integers(0, 2, len(x)).tolist()) for x in X]
    python = PythonProblem(Chain(2, 3), X, Y, formulation="slack")
    check_problem(python)
    lengths, rows = [len(x) for x in X], np.vstack(X)
    compiled, _ = chain_pair(lengths, 2, seed=0)
    compiled = compiled._replace(
        features=node_features(rows), truth=np.concatenate(Y).astype(np.int32)
    )
    one = solve(slack_rescaled(compiled), CORRECTIVE, C=C, tol=1e-6)
    for solver in (FrankWolfe(), BCFW(), CORRECTIVE):
        other = solve(python, solver, C=C, tol=1e-2)
        assert other.status is Status.CONVERGED
        assert one.dual - 1e-12 <= other.primal
        assert other.dual - 1e-12 <= one.primal
        assert np.linalg.norm(one.w - other.w) <= radius(one) + radius(other)


# --- going on -----------------------------------------------------------------------------------


going_on = pytest.mark.parametrize(
    ("which", "solver"),
    [("chain", CORRECTIVE), ("forest", BCFW(order="cyclic"))],
    ids=["chain, corrective", "forest, toward"],
)


@going_on
def test_a_run_goes_on_from_its_checkpoint(which, solver, tmp_path):
    problem, _ = pair(which)
    options = dict(solver=solver, C=C, tol=0.0)
    saved = dict(checkpoint=tmp_path / "run.npz")
    solve(problem, max_passes=10, **saved, **options)
    resumed = solve(problem, max_passes=20, resume=True, **saved, **options)
    np.testing.assert_array_equal(resumed.w, solve(problem, max_passes=20, **options).w)


def test_a_checkpoint_whose_losses_lie_is_refused(tmp_path):
    problem, _ = pair("forest")
    path = tmp_path / "run.npz"
    options = dict(solver=BCFW(), C=C, tol=0.0, checkpoint=path)
    solve(problem, max_passes=3, **options)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["mu"][-1] += 0.1
    save_altered(path, arrays)
    with pytest.raises(ValueError, match="losses and dual point do not belong together"):
        solve(problem, max_passes=6, resume=True, **options)


@pytest.mark.parametrize("keep", ["dual", "primal"])
@going_on
def test_a_warm_start_with_a_larger_c(which, solver, keep):
    problem, reference = pair(which)
    first = solve(problem, solver, C=0.2, tol=1e-2, max_passes=5000)
    run = solver.start(problem, Objective(0.8, bounds=None, seed=0, n_threads=1))
    run.continue_from(first, keep)
    factor = {"dual": 4.0, "primal": 1.0}[keep]
    np.testing.assert_allclose(run.state.w, factor * first.state.w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        run.state.mu[-run.n :], 0.25 * factor * first.state.mu[-run.n :], rtol=0, atol=1e-13
    )
    certificate = run.certify()
    assert certificate.primal == pytest.approx(reference.primal(run.state.w, 0.8), abs=1e-12)
    assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, abs=1e-12)


def test_margin_and_slack_rescaling_do_not_continue_each_other():
    slack = interpreted(pair("chain")[0])
    for one, other in [(slack, slack.base), (slack.base, slack)]:
        first = solve(one, CORRECTIVE, C=C, max_passes=2)
        with pytest.raises(ValueError, match="earlier solution has formulation="):
            solve(other, CORRECTIVE, C=C, warm_start=first)
