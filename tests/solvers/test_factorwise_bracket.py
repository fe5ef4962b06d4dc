"""Training without inference: the bracket of the problem with hard constraints.

The optimum of the LP relaxation is clarabel's, to 1e-8; on trees BCFW with max-sum finds it too.
"""

from dataclasses import replace

import numpy as np
import pytest
from factor_problems import (
    COUNTS,
    PROBLEMS,
    REFERENCES,
    factor_reference,
    hard_optimum,
    messages_of,
    point_of,
    problem_of,
)
from factor_reference import FactorReference
from graph_reference import complete, cycle, label_set_pair, path, random_reference

from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.graph_training.factor_state import RHO, UPDATES
from taut.graph_training.soft_bcfw import Step
from taut.solvers import BCFW, Status, solve

C, BOX, WARM = 0.6, (-0.3, 0.04), 0.1
CLOSING = {
    "augmented Lagrangian": AugmentedLagrangian(rho=1.0),
    "augmented Lagrangian, small rho": AugmentedLagrangian(rho=0.3),
    "augmented Lagrangian, uniform": AugmentedLagrangian(rho=1.0, order="uniform"),
    "augmented Lagrangian, gap": AugmentedLagrangian(rho=1.0, order="gap", check_every=2),
    "augmented Lagrangian, fixed rho": AugmentedLagrangian(rho=0.5, anneal=1.0),
    "IDAL": IDAL(rho=1.0),
    "IDAL, cyclic": IDAL(rho=1.0, order="cyclic", passes=5),
}
OPEN = {
    "toward": SoftBCFW(rho=0.5, direction="toward"),
    "pairwise": SoftBCFW(rho=0.5),
    "pairwise, fixed rho": SoftBCFW(rho=0.1, anneal=1.0),
    "projected": SoftSDCA(rho=0.5),
}
SOLVERS = CLOSING | OPEN
CASES = [
    (which, temperature, box)
    for which in PROBLEMS
    for temperature, box in ((0.0, None), (WARM, None), (0.0, BOX))
    # The box nearly leaves nothing to learn there, which takes long to prove.
    if not (box and which == "trees of two types")
]
names = [f"{which}, temperature {T}{', box' if box else ''}" for which, T, box in CASES]
cases = pytest.mark.parametrize(("which", "temperature", "box"), CASES, ids=names)
solvers = pytest.mark.parametrize("name", SOLVERS)
closing = pytest.mark.parametrize("name", CLOSING)

_solutions = {}


def solution_of(which, temperature, box, name):
    key = which, temperature, box, name
    if key not in _solutions:
        solver = replace(SOLVERS[name], temperature=temperature)
        _solutions[key] = solve(
            PROBLEMS[which], solver, C=C, bounds=box, tol=1e-2 if name == "toward" else 1e-6,
            max_passes=20_000,
        )  # fmt: skip
    return _solutions[key]


def optimum_of(which, temperature, box):
    return hard_optimum(which, C, temperature, box)


@cases
@solvers
def test_the_bracket_contains_the_optimum_in_every_row(which, temperature, box, name):
    solution, optimum = (
        solution_of(which, temperature, box, name),
        optimum_of(which, temperature, box).value,
    )
    history = solution.history
    assert history.iterate_dual.max() <= optimum + 1e-8
    assert history.iterate_primal.min() >= optimum - 1e-8
    assert history.soft_gap.min() >= -1e-13
    assert solution.dual == history.iterate_dual.max()
    assert np.all(history.gap == history.primal - history.dual)


@cases
@closing
def test_multipliers_close_the_bracket(which, temperature, box, name):
    solution = solution_of(which, temperature, box, name)
    optimum = optimum_of(which, temperature, box)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-6 * solution.scale
    assert solution.primal == pytest.approx(optimum.value, abs=1e-6 * solution.scale + 1e-8)
    # Strong convexity: lambda/2 |w - w*|^2 <= primal - optimum.
    distance = 0.5 * solution.lam * np.sum((solution.w - optimum.w) ** 2)
    assert distance <= solution.gap + 1e-8
    assert solution.primal == solution.history.iterate_primal.min()
    assert solution.violation < 1e-2
    if len(REFERENCES[which].graphs[0].ends):
        assert solution.state.count[UPDATES] > 0


@cases
@solvers
def test_the_last_row_is_about_the_final_state(which, temperature, box, name):
    solution = solution_of(which, temperature, box, name)
    F, state, last = (
        factor_reference(which, C, temperature, box),
        solution.state,
        solution.history[-1],
    )
    mu, nu, delta = point_of(F, state), messages_of(F, state.nu), messages_of(F, state.delta)
    rho = state.total[RHO]
    if solution.status is Status.SOFT_CONVERGED:
        assert rho == solution.solver.rho
    for one, other in zip(delta, F.delta_of(mu, nu, rho), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11)
    np.testing.assert_allclose(state.w, F.w_of(mu), rtol=0, atol=1e-11)
    assert last.iterate_primal == pytest.approx(F.hard_primal(state.w, delta), abs=1e-10)
    gap = F.soft_primal(state.w, delta, rho, nu) - F.soft_dual(mu, rho, nu)
    assert last.soft_gap == pytest.approx(gap, abs=1e-10)
    assert (solution.soft_gap, solution.violation) == (last.soft_gap, last.violation)
    worst = max(np.abs(b).max(initial=0.0) for b in F.consistency(mu))
    assert last.violation == pytest.approx(worst, abs=1e-12)
    if which not in COUNTS:  # where there are several ways to make them fit
        assert last.iterate_dual >= F.hard_dual(F.repair(mu)) - 1e-10
    assert np.diff(solution.history.iterate_dual).min(initial=0.0) >= -1e-14


@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("which", PROBLEMS)
def test_all_solvers_agree(which, temperature):
    """Every lower bound is below every objective, whoever proved them."""
    found = [solution_of(which, temperature, None, name) for name in SOLVERS]
    assert max(s.history.iterate_dual.max() for s in found) <= min(
        s.history.iterate_primal.min() for s in found
    )


# --- what the tolerance is about -----------------------------------------------------------------


@cases
@pytest.mark.parametrize("name", OPEN)
def test_without_multipliers_the_tolerance_is_about_the_soft_gap(which, temperature, box, name):
    solution = solution_of(which, temperature, box, name)
    tol = 1e-2 if name == "toward" else 1e-6
    if solution.status is Status.SOFT_CONVERGED:
        assert solution.soft_gap <= tol * solution.scale
        text = str(solution)
        assert "the soft gap is within the tolerance" in text
        assert 'use solver="augmented-lagrangian" to close it' in text
    else:
        assert solution.status is Status.CONVERGED
        assert solution.gap <= tol * solution.scale
    assert solution.returned == "last"
    np.testing.assert_array_equal(solution.w, solution.state.w)


def test_a_soft_run_that_has_not_converged_says_so():
    solution = solve(PROBLEMS["loops of two types"], SoftBCFW(), C=C, tol=0, max_passes=7)
    assert solution.status is Status.MAX_PASSES
    assert solution.passes == 7
    assert solution.history.passes.tolist() == [0.0, 7.0]


@pytest.mark.parametrize("temperature", [0.0, WARM])
def test_a_solution_says_what_it_proves(temperature):
    which = "loops of two types"
    hard, soft = (solution_of(which, temperature, None, name) for name in ("IDAL", "projected"))
    for solution in (hard, soft):
        assert (solution.inference, solution.oracle_calls) == ("none", 0)
        if temperature:
            assert solution.certifies == "relaxed CRF (Gini entropy, temperature 0.1)"
        else:
            assert solution.certifies == "LP relaxation"
        text = str(solution)
        assert f"without inference: bounds are those of the {solution.certifies}" in text
        assert f"soft gap {solution.soft_gap:.3g}, edges and nodes disagree by at most" in text
        assert "oracle calls" not in text
    assert hard.status is Status.CONVERGED
    assert "converged: the gap is within the tolerance" in str(hard)


# --- trees ---------------------------------------------------------------------------------------


def exact_solution(problem):
    assert problem.inference == "max-sum"
    return solve(problem, BCFW(direction="corrective"), C=C, tol=1e-9, max_passes=5000)


LABEL_TREE, _ = label_set_pair(6, 4, [(0, 1), (1, 2), (1, 3)], seed=3)
TREES = {"trees of two types": PROBLEMS["trees of two types"], "label sets": LABEL_TREE}


@closing
@pytest.mark.parametrize("which", TREES)
def test_on_trees_multipliers_find_the_optimum_of_exact_inference(which, name):
    exact = exact_solution(TREES[which])
    found = solve(TREES[which], CLOSING[name], C=C, tol=1e-8, max_passes=50_000)
    assert found.status is Status.CONVERGED
    assert found.primal == pytest.approx(exact.primal, rel=1e-6)
    assert found.dual == pytest.approx(exact.primal, rel=1e-6)
    radius = sum(np.sqrt(2 * max(s.gap, 1e-14) / s.lam) for s in (exact, found))
    assert np.linalg.norm(found.w - exact.w) <= radius


@pytest.mark.parametrize("which", TREES)
def test_a_falling_temperature_leads_to_the_structured_svm(which):
    """0 <= H <= sum of 1 - 1/k, so with its weight the optimum moves by no more."""
    problem = TREES[which]
    exact, distances = exact_solution(problem).primal, []
    states = problem.arrays.nodes.states
    edges = problem.arrays.edges
    cells = 0.0
    for i in range(problem.n):
        nodes = states[problem.pointer[i] : problem.pointer[i + 1]]
        ends = edges.ends[edges.start[i] : edges.stop[i]]
        most = np.sum(1.0 - 1.0 / nodes) + np.sum(1.0 - 1.0 / nodes[ends].prod(axis=1))
        cells += problem.importance[i] * most / problem.n
    for temperature in (0.1, 0.01, 0.001):
        found = solve(problem, IDAL(temperature=temperature), C=C, tol=1e-7, max_passes=50_000)
        assert found.status is Status.CONVERGED
        distances.append(found.primal - exact)
        assert -1e-8 <= distances[-1] <= temperature * cells + found.gap
    assert distances[0] > 5 * distances[1] > 25 * distances[2]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("solver", [AugmentedLagrangian(), IDAL()], ids=["Lagrangian", "IDAL"])
def test_random_loopy_graphs(solver, temperature, seed):
    reference = random_reference(
        [complete(4), cycle(4), cycle(3), path(3)], states=(2 + seed % 2,), n_edge_features=2,
        pairwise=("full", "symmetric", "associative", "potts")[seed], weighted=True, seed=seed,
    )  # fmt: skip
    F = FactorReference(reference, 1.0, gamma=temperature)
    optimum = F.hard_optimum().value
    found = solve(
        problem_of(reference), replace(solver, temperature=temperature), tol=1e-6,
        max_passes=20_000,
    )  # fmt: skip
    assert found.status is Status.CONVERGED
    assert (
        found.history.iterate_dual.max() - 1e-8
        <= optimum
        <= found.history.iterate_primal.min() + 1e-8
    )
    assert found.gap <= 1e-6 * found.scale


# --- count factors -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["augmented Lagrangian", "IDAL", "pairwise", "toward"])
def test_counts_lower_the_optimum(name):
    """They forbid labellings, and what is forbidden costs nothing."""
    which = "binary, counts"
    free = FactorReference(REFERENCES[which], C).hard_optimum().value
    held = optimum_of(which, 0.0, None).value
    assert held < free - 1e-2
    solution = solution_of(which, 0.0, None, name)
    assert solution.dual <= held + 1e-8
    if name in CLOSING:
        assert solution.primal < free - 1e-2


def counted(low, high, seed, n=5):
    """Label sets on a cycle, of which ``low`` to ``high`` of the first four are allowed."""
    reference = random_reference([cycle(n)] * 4, unary="binary", seed=seed)
    rng = np.random.default_rng(seed)
    graphs = reference.graphs
    for graph in graphs:
        graph.truth[:4] = rng.permutation(np.arange(4) < rng.integers(low, high + 1))
    reference = type(reference)(reference.model, graphs)
    return reference, [[([2, 0, 3, 1], low, high)]] * 4


@pytest.mark.parametrize(
    "solver",
    [
        SoftBCFW(rho=0.5),
        SoftBCFW(rho=0.5, direction="toward"),
        SoftBCFW(rho=0.5, order="gap"),
        AugmentedLagrangian(rho=0.5),
        AugmentedLagrangian(rho=0.5, direction="toward"),
        IDAL(rho=0.5, temperature=WARM),
    ],
    ids=["pairwise", "toward", "gap", "Lagrangian", "Lagrangian, toward", "IDAL"],
)
@pytest.mark.parametrize(("low", "high"), [(0, 2), (1, 1), (2, 4), (4, 4), (0, 0)])
def test_at_most_k_and_exactly_one(low, high, solver):
    reference, counts = counted(low, high, seed=10 * low + high)
    problem = problem_of(reference, counts)
    F = FactorReference(reference, C, gamma=solver.temperature, counts=counts)
    tol = 1e-2 if getattr(solver, "direction", None) is Step.TOWARD else 1e-6
    found = solve(problem, solver, C=C, tol=tol, max_passes=20_000)
    optimum = F.hard_optimum().value
    assert (
        found.history.iterate_dual.max() - 1e-8
        <= optimum
        <= found.history.iterate_primal.min() + 1e-8
    )
    mu = point_of(F, found.state)
    if solver.closes_bracket:
        assert found.status is Status.CONVERGED
        assert found.gap <= tol * found.scale
    else:
        soft = F.soft_optimum(solver.rho).value
        assert F.soft_dual(mu, solver.rho) <= soft + 1e-8
        assert F.soft_dual(mu, solver.rho) >= soft - found.soft_gap - 1e-8
        assert found.soft_gap <= tol * found.scale or found.gap <= tol * found.scale
    chosen = found.state.chosen.reshape(4, 4)
    assert np.all((chosen.sum(1) >= low - 1e-12) & (chosen.sum(1) <= high + 1e-12))
    assert np.all((chosen >= 0.0) & (chosen <= 1.0))


def test_an_oracle_by_linear_programs_finds_the_optimum_under_counts_too():
    """HiGHS stops at a feasibility of 1e-7."""
    which = "binary, counts"
    assert PROBLEMS[which].inference == "lp"
    exact = solve(PROBLEMS[which], BCFW(direction="corrective"), C=C, tol=1e-4)
    assert exact.status is Status.CONVERGED
    assert exact.dual - 1e-6 <= optimum_of(which, 0.0, None).value <= exact.primal + 1e-6


# --- interruption --------------------------------------------------------------------------------

STOPPED = {
    "pairwise": SoftBCFW(check_every=1),
    "augmented Lagrangian": AugmentedLagrangian(check_every=1),
    "IDAL, temperature": IDAL(temperature=WARM, check_every=1),
}
stopped = pytest.mark.parametrize("solver", STOPPED.values(), ids=STOPPED)


def is_valid(solution, which):
    optimum = optimum_of(which, solution.solver.temperature, None).value
    assert solution.dual - 1e-8 <= optimum <= solution.primal + 1e-8
    assert solution.soft_gap >= 0.0
    assert solution.violation >= 0.0
    assert np.isfinite([solution.soft_gap, solution.violation]).all()
    if solution.returned == "last":
        np.testing.assert_array_equal(solution.w, solution.state.w)


@stopped
def test_a_callback_stops_with_a_valid_solution(solver):
    rows = []

    def callback(row):
        rows.append((float(row.passes), float(row.soft_gap), float(row.violation)))
        return len(rows) == 4

    which = "loops of two types"
    solution = solve(PROBLEMS[which], solver, C=C, tol=0, callback=callback)
    assert solution.status is Status.CALLBACK
    assert [passes for passes, *_ in rows] == [0.0, 1.0, 2.0, 3.0]
    assert (solution.soft_gap, solution.violation) == rows[-1][1:]
    is_valid(solution, which)


@stopped
def test_a_time_limit_stops_with_a_valid_solution(solver):
    which = "binary, counts"
    solution = solve(PROBLEMS[which], solver, C=C, tol=0, max_passes=1e9, time_limit=1e-3)
    assert solution.status is Status.TIME_LIMIT
    is_valid(solution, which)
    at_once = solve(PROBLEMS[which], solver, C=C, tol=0, time_limit=0)
    # From the middle of all simplices, no bound is better than that of w = 0 yet.
    is_worse = at_once.primal > at_once.scale
    assert at_once.status is Status.TIME_LIMIT
    assert at_once.is_worse_than_zero == is_worse
    assert ("worse than that of w = 0" in str(at_once)) == (is_worse and at_once.w.any())
    assert at_once.passes == 0.0
    is_valid(at_once, which)


@stopped
def test_the_best_weights_on_held_out_data_are_returned(solver):
    """As with every other solver; here the score falls, so the first weights are the best."""
    seen = []

    def score(w):
        seen.append(w.copy())
        return -float(len(seen))

    solution = solve(PROBLEMS["loops of two types"], solver, C=C, tol=0, validate=score, patience=2)
    assert solution.status is Status.NO_BETTER_SCORE
    np.testing.assert_array_equal(solution.w, seen[0])


@pytest.mark.parametrize("solver", [AugmentedLagrangian(rho=300.0), IDAL(rho=300.0)], ids=repr)
def test_a_very_weak_penalty_takes_long_but_gets_there(solver):
    """Steps of multipliers are shortened where they cycle; elsewhere they must not die out."""
    which = "loops of two types"
    solution = solve(PROBLEMS[which], solver, C=C, tol=1e-4, max_passes=30_000)
    assert solution.status is Status.CONVERGED
    optimum = hard_optimum(which, C).value
    assert solution.dual - 1e-8 <= optimum <= solution.primal + 1e-8


def test_another_temperature_is_another_problem_however_close():
    which = "loops of two types"
    hot = solve(PROBLEMS[which], IDAL(temperature=100.0004), C=C, tol=1e-9)
    other = solve(PROBLEMS[which], IDAL(temperature=100.0), C=C, tol=1e-9, warm_start=hot)
    optimum = hard_optimum(which, C, 100.0).value
    # What clarabel leaves of values of this size.
    assert other.dual <= optimum + 1e-6 * optimum <= other.primal + 2e-6 * optimum


def test_weights_chosen_by_a_score_keep_their_bound():
    scores = iter(range(0, -1000, -1))
    solution = solve(
        PROBLEMS["loops of two types"], SoftBCFW(check_every=1), C=C, tol=1e-4,
        validate=lambda w: next(scores), patience=3,
    )  # fmt: skip
    assert np.isfinite(solution.primal)
    assert solution.returned == "earlier"
