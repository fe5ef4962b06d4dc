"""Training without inference: its steps, what they maintain, and the penalised optimum.

Values, gaps and optima are those of ``factor_reference``, by their definitions and by clarabel,
whose own gaps are 1e-9 and less.
"""

from dataclasses import replace

import numpy as np
import pytest
from factor_blocks import COUNT, best_count, project_to_simplex
from factor_problems import (
    COUNTS,
    PROBLEMS,
    REFERENCES,
    factor_reference,
    hard_optimum,
    messages_of,
    point_of,
    problem_of,
    soft_optimum,
    twice,
)
from factor_reference import FactorReference
from graph_reference import path, random_reference

from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.graph_training.factor_solver import FactorRun
from taut.graph_training.factor_state import RHO, UPDATES
from taut.graph_training.multipliers import rho_over_L_d, update_multipliers
from taut.solvers import Status, solve
from taut.solvers.objective import Objective
from taut.structures import chain_problem

C, RHO_SOFT, BOX = 0.6, 0.4, (-0.3, 0.04)
WARM = 0.15  # a temperature

STEPS = {"toward": SoftBCFW, "pairwise": SoftBCFW, "projected": SoftSDCA}
CASES = [
    (which, temperature, box)
    for which in PROBLEMS
    for temperature, box in ((0.0, None), (WARM, None), (0.0, BOX), (WARM, BOX))
]
names = [f"{which}, temperature {T}{', box' if box else ''}" for which, T, box in CASES]
cases = pytest.mark.parametrize(("which", "temperature", "box"), CASES, ids=names)
directions = pytest.mark.parametrize("direction", STEPS)


def soft_solver(direction, **options):
    if direction != "projected":
        options["direction"] = direction
    return STEPS[direction](rho=options.pop("rho", RHO_SOFT), **options)


def run_of(which, solver, box=None, seed=3):
    """At a fixed rho, so that every value is that of one problem."""
    solver = replace(solver, anneal=1.0)
    run = FactorRun(PROBLEMS[which], solver, Objective(C, bounds=box, seed=seed, n_threads=1))
    run.compile()
    return run


def place(run, F, mu, nu=None):
    """Put a point and multipliers of the reference into a run."""
    state, packed = run.state, F.pack(mu)
    state.node[:], state.edge[:], state.chosen[:] = packed
    if nu is not None:
        state.nu[:] = np.concatenate(F.pack_messages(nu))
    run.rebuild()


def frank_wolfe_gaps(F, w, delta, mu):
    """s_i / n (max g - <g, mu>) of all blocks; g = theta_hat - 2 gamma mu, theta_hat for counts."""
    gaps = [], [], []
    for s, one, d, x in zip(F.s, F.examples, delta, mu, strict=True):
        gradient = one.theta_hat(w, d)[0] - 2.0 * F.gamma * x * one.has_entropy
        best = one.best_values(gradient, 0.0)
        for value, (kind, where) in zip(best, one.blocks(), strict=True):
            gaps[kind].append(s * (value - gradient[where] @ x[where]) / F.n)
    return np.concatenate(gaps)


# --- what a certificate says ---------------------------------------------------------------------


@cases
def test_a_certificate_is_what_the_definitions_say_of_any_point(which, temperature, box):
    F, rng = factor_reference(which, C, temperature, box), np.random.default_rng(1)
    run = run_of(which, SoftSDCA(rho=RHO_SOFT, temperature=temperature), box)
    for mu in (F.truth(), F.random_point(rng), F.repair(F.random_point(rng))):
        nu = F.random_messages(rng)
        place(run, F, mu, nu)
        w, delta = F.w_of(mu), F.delta_of(mu, nu, RHO_SOFT)
        np.testing.assert_allclose(run.state.v, F.v_of(mu), rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.state.w, w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            run.state.delta, np.concatenate(F.pack_messages(delta)), rtol=0, atol=1e-12
        )
        found = run.certify()
        assert found.primal == pytest.approx(F.hard_primal(w, delta), abs=1e-11)
        gap = F.soft_primal(w, delta, RHO_SOFT, nu) - F.soft_dual(mu, RHO_SOFT, nu)
        assert found.soft_gap == pytest.approx(gap, abs=1e-11)
        assert found.soft_gap == pytest.approx(sum(map(np.sum, F.block_gaps(w, delta, mu))))
        worst = max(np.abs(b).max(initial=0.0) for b in F.consistency(mu))
        assert found.violation == pytest.approx(worst, abs=1e-14)
        square = sum(b @ b for b in F.consistency(mu))
        assert found.squared_violation == pytest.approx(square, rel=1e-12, abs=1e-24)
        np.testing.assert_allclose(
            found.block_gaps, frank_wolfe_gaps(F, w, delta, mu), rtol=0, atol=1e-11
        )


def witness_of(run, F, point):
    """A consistent point of a run; its count factors are what its nodes say."""
    members = run.factors.node_at[run.factors.member] + 1
    return F.unpack(point.node, point.edge, point.node[members])


@cases
def test_the_lower_bound_is_the_value_of_a_consistent_point(which, temperature, box):
    """Of the best between the marginals, repaired, and the best one before: it never falls."""
    F, rng = factor_reference(which, C, temperature, box), np.random.default_rng(2)
    run = run_of(which, SoftSDCA(rho=RHO_SOFT, temperature=temperature), box)
    optimum, before = hard_optimum(which, C, temperature, box).value, run.certify().dual
    for _ in range(6):
        mu, start = F.random_point(rng), witness_of(run, F, run.witness.best)
        place(run, F, mu)
        found = run.certify()
        best, end = (witness_of(run, F, point) for point in run.witness[:2])
        for point in (best, end):
            assert F.violation(point) <= 1e-12
        assert found.dual == pytest.approx(F.hard_dual(best), abs=1e-11)
        assert before - 1e-14 <= found.dual <= optimum + 1e-8
        if which not in COUNTS:  # where there are several ways to make them fit
            assert F.hard_dual(end) == pytest.approx(F.hard_dual(F.repair(mu)), abs=1e-11)
        for t in np.linspace(0.0, 1.0, 11):
            between = [(1 - t) * x + t * y for x, y in zip(start, end, strict=True)]
            assert F.hard_dual(between) <= found.dual + 1e-12
        before = found.dual


@cases
def test_a_consistent_point_is_left_as_it_is(which, temperature, box):
    F, rng = factor_reference(which, C, temperature, box), np.random.default_rng(3)
    run = run_of(which, SoftSDCA(temperature=temperature), box)
    mu = F.repair(F.random_point(rng))
    place(run, F, mu)
    found = run.certify()
    assert found.dual >= F.hard_dual(mu) - 1e-11
    assert found.violation <= 1e-12
    np.testing.assert_allclose(run.witness.repaired.node, run.state.node, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.witness.repaired.edge, run.state.edge, rtol=0, atol=1e-12)


@pytest.mark.parametrize("which", PROBLEMS)
@pytest.mark.parametrize("temperature", [0.0, WARM])
def test_the_scale_is_the_objective_at_zero(which, temperature):
    F = factor_reference(which, C, temperature)
    solution = solve(PROBLEMS[which], SoftSDCA(temperature=temperature), C=C, max_passes=0)
    if F.bounds[0].max() <= 0.0:
        value = F.hard_primal(np.zeros(F.dim), F.no_messages())
        assert solution.scale == pytest.approx(value, abs=1e-12)


# --- one step ------------------------------------------------------------------------------------


def point_after_a_step(run, F):
    run.advance(1)
    return point_of(F, run.state)


@cases
@directions
def test_no_block_step_lowers_the_penalised_dual(which, temperature, box, direction):
    F, rng = factor_reference(which, C, temperature, box), np.random.default_rng(4)
    run = run_of(which, soft_solver(direction, temperature=temperature, order="uniform"), box)
    nu = F.random_messages(rng)
    for mu in (F.truth(), F.random_point(rng)):
        place(run, F, mu, nu)
        values = [F.soft_dual(mu, RHO_SOFT, nu)]
        for _ in range(60):
            values.append(F.soft_dual(point_after_a_step(run, F), RHO_SOFT, nu))
        assert np.diff(values).min() >= -1e-12
        assert values[-1] > values[0] + 1e-3


@pytest.mark.parametrize("direction", ["toward", "pairwise"])
@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("which", PROBLEMS)
def test_a_step_changes_one_block_and_is_as_long_as_is_best(which, temperature, direction):
    """Somewhat shorter or, where the block allows it, longer steps do not raise the dual more."""
    F, rng = factor_reference(which, C, temperature), np.random.default_rng(5)
    run = run_of(which, soft_solver(direction, temperature=temperature, order="uniform"))
    mu = F.random_point(rng)
    place(run, F, mu)
    moved = 0
    for _ in range(40):
        before, mu = mu, point_after_a_step(run, F)
        value = F.soft_dual(mu, RHO_SOFT)
        changed = [
            (i, where)
            for i, one in enumerate(F.examples)
            for _, where in one.blocks()
            if np.any(mu[i][where] != before[i][where])
        ]
        assert len(changed) <= 1
        moved += len(changed)
        for length in (0.9, 0.99, 1.01, 1.1):
            other = [x + length * (y - x) for x, y in zip(before, mu, strict=True)]
            # A count's marginals can leave their polytope in other ways than below zero.
            if length < 1 or in_their_simplices(F, other) <= 1e-15:
                assert F.soft_dual(other, RHO_SOFT) <= value + 1e-13
    assert moved >= 15


def in_their_simplices(F, mu):
    """How far the point of a run is from simplices and counts, without any agreement."""
    worst = 0.0
    for one, x in F.each(mu):
        E, r, G, h = one.limits()
        worst = max(worst, np.abs(E @ x - r).max(), (G @ x - h).max())
    return worst


def curvature_bounds(run):
    """L of nodes, then of edges: C s |x|^2 times the spread of the basis, and the penalty's."""
    graph, factors = run.graph, run.factors
    n_nodes, n_edges, _ = factors.sizes
    scale = C * run.importance[factors.owner]
    of_nodes = factors.row_norm[graph.nodes.row] * factors.node_spread[graph.nodes.type]
    of_edges = factors.edge_norm * factors.edge_spread[graph.edges.type]
    features = np.concatenate([of_nodes, of_edges[factors.number]])
    penalty = [np.diff(factors.sender_start), graph.nodes.states[factors.ends].max(axis=1)]
    return scale[: n_nodes + n_edges] * features + np.concatenate(penalty) / RHO_SOFT


@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("which", PROBLEMS)
def test_a_projected_step_is_the_proximal_one(which, temperature):
    """mu <- Proj((L mu + theta_hat) / (L + 2 gamma)), Hu and Obozinski's; counts: the best p."""
    F, rng = factor_reference(which, C, temperature), np.random.default_rng(7)
    run = run_of(which, soft_solver("projected", temperature=temperature, order="uniform"))
    bounds = curvature_bounds(run)
    L = F.unpack(*(np.repeat(part, np.diff(at)) for part, at in (
        (bounds[: run.factors.sizes[0]], run.factors.node_at),
        (bounds[run.factors.sizes[0] :], run.factors.edge_at),
    )), np.full(len(run.state.chosen), 2.0 / RHO_SOFT))  # fmt: skip
    mu = F.random_point(rng)
    place(run, F, mu)
    kinds = set()
    for _ in range(60):
        before, theta = mu, F.theta_hat(run.state.w.copy(), messages_of(F, run.state.delta))
        mu = point_after_a_step(run, F)
        for i, one in enumerate(F.examples):
            for kind, where in one.blocks():
                if np.array_equal(mu[i][where], before[i][where]):
                    continue
                kinds.add(kind)
                target = L[i][where] * before[i][where] + theta[i][where]
                target /= L[i][where] + 2.0 * temperature * one.has_entropy[where]
                if kind == COUNT:
                    # The nearest allowed point: no other one is on the target's side of it.
                    towards = target - mu[i][where]
                    _, low, high = one.counts[one.at_count.index(where)]
                    assert best_count(towards, low, high) <= towards @ mu[i][where] + 1e-12
                else:
                    expected = project_to_simplex(target)
                    np.testing.assert_allclose(mu[i][where], expected, rtol=0, atol=1e-12)
    assert kinds == {kind for one in F.examples for kind, _ in one.blocks()}


def with_multipliers(direction, **options):
    if direction == "projected":
        return IDAL(rho=RHO_SOFT, passes=1, **options)
    return AugmentedLagrangian(rho=RHO_SOFT, direction=direction, passes=1, **options)


@pytest.mark.parametrize("order", ["cyclic", "permuted", "uniform", "gap"])
@directions
@pytest.mark.parametrize("which", PROBLEMS)
def test_weights_and_messages_follow_from_the_marginals(which, direction, order):
    """Also when the penalty and the multipliers change; no certificate rebuilds anything here."""
    box = BOX if which == "loops of two types" else None
    F = factor_reference(which, C, WARM, box)
    solver = with_multipliers(direction, temperature=WARM, order=order)
    run = FactorRun(PROBLEMS[which], solver, Objective(C, bounds=box, seed=3, n_threads=1))
    run.compile()
    state = run.state
    for passes in (1, 3, 10, 100):
        while run.passes < passes:
            run.advance(run.blocks)
        mu, nu = point_of(F, state), messages_of(F, state.nu)
        np.testing.assert_allclose(state.v, F.v_of(mu), rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.w, F.w_of(mu), rtol=0, atol=1e-9)
        delta = np.concatenate(F.pack_messages(F.delta_of(mu, nu, state.total[RHO])))
        np.testing.assert_allclose(state.delta, delta, rtol=0, atol=1e-9)
        assert in_their_simplices(F, mu) <= 1e-12
        assert min(state.node.min(), state.edge.min()) >= 0.0
    assert state.count[UPDATES] > 0
    assert state.total[RHO] == RHO_SOFT
    assert run.steps == run.passes * run.blocks
    assert run.passes == 100


# --- multipliers ---------------------------------------------------------------------------------

PLAIN = {
    "augmented Lagrangian": AugmentedLagrangian(rho=RHO_SOFT, passes=1),
    "augmented Lagrangian, toward": AugmentedLagrangian(rho=2.0, direction="toward", passes=1),
    "IDAL": IDAL(rho=RHO_SOFT, passes=1),
}
plain = pytest.mark.parametrize("solver", PLAIN.values(), ids=PLAIN)


@plain
@pytest.mark.parametrize("which", PROBLEMS)
def test_new_multipliers_are_the_old_messages(which, solver):
    """nu + (delta - nu) is delta up to one rounding; marginals, weights and B mu stay."""
    F, run = factor_reference(which, C), run_of(which, solver)
    for _ in range(3):
        run.solver.move(run.view, run.blocks)
        state = run.state
        before, w, node = state.delta.copy(), state.w.copy(), state.node.copy()
        update_multipliers(run.view, rho_over_L_d(run.view))
        np.testing.assert_allclose(state.nu, before, rtol=1e-15, atol=1e-15)
        mu, nu = point_of(F, state), messages_of(F, state.nu)
        delta = np.concatenate(F.pack_messages(F.delta_of(mu, nu, solver.rho)))
        np.testing.assert_allclose(state.delta, delta, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(state.w, w)
        np.testing.assert_array_equal(state.node, node)
    assert np.abs(state.nu).max() > 1e-3


@pytest.mark.parametrize("which", PROBLEMS)
def test_with_an_entropy_the_multipliers_step_farther(which):
    """1 / L_d = 1 / rho + 2 gamma / s with s at least |B|^2 on changes that sum to zero."""
    F = factor_reference(which, C, WARM)
    run = run_of(which, IDAL(rho=RHO_SOFT, temperature=WARM))
    run.solver.move(run.view, run.blocks)
    mu, norm = point_of(F, run.state), run.view.rules.norm
    assert norm >= max(one.consistency_norm() for one in F.examples) - 1e-12
    update_multipliers(run.view, rho_over_L_d(run.view))
    step = 1.0 / RHO_SOFT + 2.0 * WARM / norm
    B = np.concatenate(F.pack_messages(F.consistency(mu)))
    np.testing.assert_allclose(run.state.nu, step * B, rtol=0, atol=1e-12)


@plain
def test_updates_lower_the_penalised_optimum_to_the_hard_one(solver):
    """With inner problems solved well: max_mu f(mu, nu) falls and is never below g*."""
    which = "loops of two types"
    F, run = factor_reference(which, C), run_of(which, solver)
    optimum, values = F.hard_optimum().value, []
    for _ in range(8):
        values.append(F.soft_optimum(solver.rho, messages_of(F, run.state.nu)).value)
        run.solver.move(run.view, 400 * run.blocks)
        update_multipliers(run.view, rho_over_L_d(run.view))
    # What 400 passes leave of an inner gap, which toward steps make small but slowly.
    assert np.diff(values).max() <= (1e-3 if "toward" in solver.describe() else 1e-7)
    assert min(values) >= optimum - 1e-8
    assert values[-1] - optimum < 0.1 * (values[0] - optimum)


def test_multipliers_wait_for_their_passes():
    run = run_of("loops of two types", AugmentedLagrangian(passes=3))
    updates = []
    for _ in range(60):
        run.advance(run.blocks)
        updates.append(int(run.state.count[UPDATES]))
    at = 1 + np.flatnonzero(np.diff(updates, prepend=0))
    assert np.diff(at, prepend=0).min() >= 3
    assert len(at) >= 5


@pytest.mark.parametrize("solver", [SoftBCFW(), SoftSDCA(temperature=WARM)], ids=repr)
def test_without_multipliers_there_are_none(solver):
    run = run_of("loops of two types", solver)
    run.advance(5 * run.blocks)
    assert not run.state.nu.any()
    assert run.state.count[UPDATES] == 0


# --- the penalised optimum -----------------------------------------------------------------------

ORDERS = {
    "toward": SoftBCFW(rho=RHO_SOFT, direction="toward"),
    "toward, uniform": SoftBCFW(rho=RHO_SOFT, direction="toward", order="uniform"),
    "pairwise": SoftBCFW(rho=RHO_SOFT),
    "pairwise, cyclic": SoftBCFW(rho=RHO_SOFT, order="cyclic"),
    "pairwise, uniform": SoftBCFW(rho=RHO_SOFT, order="uniform"),
    "pairwise, gap": SoftBCFW(rho=RHO_SOFT, order="gap", check_every=2),
    "pairwise, fixed rho": SoftBCFW(rho=RHO_SOFT, anneal=1.0),
    "projected": SoftSDCA(rho=RHO_SOFT),
    "projected, gap": SoftSDCA(rho=RHO_SOFT, order="gap", check_every=2),
}


def at_temperature(solver, temperature):
    return replace(solver, temperature=temperature)


@cases
@pytest.mark.parametrize("name", ORDERS)
def test_all_orders_and_steps_find_the_penalised_optimum(which, temperature, box, name):
    """Steps toward a corner converge like 1/t, the others linearly."""
    solver = at_temperature(ORDERS[name], temperature)
    F = factor_reference(which, C, temperature, box)
    tol = 1e-2 if "toward" in name else 1e-5
    found = solve(PROBLEMS[which], solver, C=C, bounds=box, tol=tol, max_passes=20_000)
    assert found.status is Status.SOFT_CONVERGED or found.gap <= tol * found.scale
    mu, optimum = point_of(F, found.state), soft_optimum(which, C, RHO_SOFT, temperature, box)
    value = F.soft_dual(mu, RHO_SOFT)
    assert found.soft_gap == pytest.approx(
        F.soft_primal(found.w, F.delta_of(mu, rho=RHO_SOFT), RHO_SOFT) - value, abs=1e-11
    )
    assert optimum.value - found.soft_gap - 1e-8 <= value <= optimum.value + 1e-8
    # Strong convexity, of a penalised objective between its optimum and a gap above.
    distance = 0.5 * found.lam * np.sum((found.w - optimum.w) ** 2)
    assert distance <= found.soft_gap + 1e-7


@pytest.mark.parametrize("kind", [SoftBCFW, SoftSDCA, AugmentedLagrangian, IDAL])
def test_annealing_ends_at_rho(kind):
    solver = kind(rho=0.3, anneal=2.0)
    run = FactorRun(
        PROBLEMS["loops of two types"], solver, Objective(C, bounds=None, seed=3, n_threads=1)
    )
    run.compile()
    rhos = [run.state.total[RHO]]
    while rhos[-1] > 0.3:
        run.advance(run.blocks)
        rhos.append(run.state.total[RHO])
        # The multipliers of a penalty that changes would lead nowhere.
        assert run.state.count[UPDATES] == 0
    assert rhos[0] == 0.6
    assert rhos[-1] == 0.3
    assert 3 <= len(rhos) <= 10
    assert np.all(np.diff(rhos) < 0)
    run.advance(run.blocks)
    assert run.state.total[RHO] == 0.3


def test_what_holds_for_the_first_loose_penalty_does_not_count_as_converged():
    """The tolerance is about the penalty that was asked for."""
    solver = SoftBCFW(rho=0.05, anneal=2e5, check_every=1)
    found = solve(PROBLEMS["loops of two types"], solver, C=0.1, tol=0.05)
    small = np.flatnonzero(found.history.soft_gap <= 0.05 * found.scale)
    assert found.history.passes[small[0]] < 5 < found.passes
    assert found.state.total[RHO] == solver.rho or found.gap <= 0.05 * found.scale


@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("which", PROBLEMS)
def test_examples_that_come_twice_at_half_c_change_nothing(which, temperature):
    """Neither C nor rho depends on how many examples there are, in the scale of a sum."""
    reference, counts = twice(REFERENCES[which]), COUNTS.get(which)
    problem = problem_of(reference, counts and counts * 2)
    solver = SoftBCFW(rho=RHO_SOFT, temperature=temperature)
    options = dict(tol=1e-8, max_passes=20_000)
    one = solve(PROBLEMS[which], solver, C=C, **options)
    two = solve(problem, solver, C=C / 2, **options)
    assert one.lam == two.lam
    F = factor_reference(which, C, temperature)
    F2 = FactorReference(
        reference, C / 2, gamma=temperature, counts=counts and counts * 2, bounds=F.bounds
    )
    values = [G.soft_dual(point_of(G, s.state), RHO_SOFT) for G, s in ((F, one), (F2, two))]
    assert values[0] == pytest.approx(values[1], abs=one.soft_gap + two.soft_gap + 1e-14)
    radius = sum(np.sqrt(2 * max(s.soft_gap, 1e-15) / s.lam) for s in (one, two))
    assert np.linalg.norm(one.w - two.w) <= radius


@pytest.mark.parametrize("direction", ["toward", "pairwise", "projected"])
def test_two_nodes_and_one_edge(direction):
    """The smallest problem with a constraint, two examples: a hand-made check of all scales."""
    reference = random_reference([path(2)] * 2, n_features=1, bias=False, seed=1)
    F = FactorReference(reference, C)
    optimum = F.soft_optimum(RHO_SOFT).value
    tol = {"toward": 1e-3, "pairwise": 1e-9, "projected": 1e-6}[direction]
    found = solve(problem_of(reference), soft_solver(direction), C=C, tol=tol, max_passes=50_000)
    value = F.soft_dual(point_of(F, found.state), RHO_SOFT)
    assert value == pytest.approx(optimum, abs=found.soft_gap + 1e-9)
    assert found.soft_gap <= tol * found.scale


def test_a_small_penalty_parameter_is_close_to_the_hard_problem():
    """Meshi et al., theorem 4.1: g* <= g_rho* <= g* + rho/2 |delta*|^2, so O(rho)."""
    which = "loops of two types"
    F = factor_reference(which, C)
    hard, excess = F.hard_optimum(), []
    size = F.mean([0.5 * d @ d for d in hard.delta])
    for rho in (1.0, 0.1, 0.01):
        found = solve(PROBLEMS[which], SoftBCFW(rho=rho), C=C, tol=1e-6, max_passes=50_000)
        soft = F.soft_dual(point_of(F, found.state), rho)
        excess.append(soft + found.soft_gap - hard.value)
        assert -1e-8 <= excess[-1] <= rho * size + found.soft_gap + 1e-8
        assert found.primal >= hard.value - 1e-8
    assert excess[0] > excess[1] > excess[2]


# --- examples and blocks that move nothing -------------------------------------------------------

EVERY = {
    "toward": SoftBCFW(direction="toward"),
    "pairwise": SoftBCFW(),
    "projected": SoftSDCA(),
    "projected, temperature": SoftSDCA(temperature=WARM),
    "augmented Lagrangian": AugmentedLagrangian(),
    "IDAL": IDAL(),
}


@pytest.mark.parametrize("solver", EVERY.values(), ids=EVERY)
def test_an_example_of_weight_zero_changes_nothing(solver):
    """Its blocks have no curvature but the penalty's, and isolated nodes none at all."""
    reference = random_reference([path(3), (1, []), path(2)], seed=3)
    reference.s = np.array([1.0, 0.0, 0.0])
    alone = random_reference([path(3)], seed=3)
    options = dict(tol=1e-3, max_passes=5000)
    one = solve(problem_of(reference), solver, C=C, **options)
    two = solve(problem_of(alone), solver, C=C, **options)
    assert one.status is two.status
    assert np.isfinite(one.history.iterate_primal).all()
    radius = sum(np.sqrt(2 * C * max(s.n_examples * s.soft_gap, s.gap)) for s in (one, two))
    assert np.linalg.norm(one.w - two.w) <= radius + 1e-9


@pytest.mark.parametrize("solver", EVERY.values(), ids=EVERY)
def test_a_node_without_features_costs_its_whole_loss(solver):
    """Nothing can be learnt of it: the dual is linear in its marginals."""
    reference = random_reference([(1, []), path(2)], n_features=1, bias=False, seed=4)
    reference.graphs[0].rows[:] = 0.0
    reference.psi[0][:] = 0.0
    F = FactorReference(reference, C, gamma=solver.temperature)
    found = solve(problem_of(reference), solver, C=C, tol=1e-3, max_passes=5000)
    assert found.status in (Status.CONVERGED, Status.SOFT_CONVERGED)
    node = found.state.node[:2]
    truth = reference.graphs[0].truth[0]
    if solver.temperature == 0.0:
        np.testing.assert_allclose(node, np.eye(2)[1 - truth], atol=1e-2)
    assert found.dual - 1e-8 <= F.hard_optimum().value <= found.primal + 1e-8


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(rho=0), r"rho=0; the penalty parameter must be a positive number"),
        (dict(rho=-1.0), r"rho=-1.0; .* positive"),
        (dict(rho=float("nan")), r"rho=nan; .* positive"),
        (dict(rho=float("inf")), r"rho=inf; .* positive"),
        (dict(rho="1"), r"rho='1'; .* positive"),
        (dict(temperature=-0.1), r"temperature=-0.1; it must be a finite number, not negative"),
        (dict(temperature=float("nan")), r"temperature=nan; .* not negative"),
        (dict(temperature=float("inf")), r"temperature=inf; it must be a finite number"),
        (dict(order="random"), r"order='random'; expected 'cyclic', 'permuted', 'uniform', 'gap'"),
        (dict(anneal="x"), r"anneal='x'; how many times larger rho is at the start"),
        (dict(anneal=0.5), r"anneal=0.5; how many times larger .* at least 1"),
        (dict(anneal=float("nan")), r"anneal=nan; .* at least 1"),
        (dict(order=7), r"order=7; expected 'cyclic', 'permuted', 'uniform', 'gap'"),
        (dict(check_every=float("nan")), r"check_every=nan; a whole number of passes"),
        (dict(check_every=0), r"check_every=0; a whole number of passes, at least 1"),
    ],
    ids=lambda value: (
        ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else ""
    ),
)
@pytest.mark.parametrize("kind", [SoftBCFW, AugmentedLagrangian, SoftSDCA, IDAL])
def test_bad_options_are_named_with_what_is_expected(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options)


@pytest.mark.parametrize("kind", [SoftBCFW, AugmentedLagrangian])
def test_bad_directions_are_named(kind):
    with pytest.raises(ValueError, match="direction='sideways'; expected"):
        kind(direction="sideways")


@pytest.mark.parametrize("kind", [AugmentedLagrangian, IDAL])
def test_multipliers_need_passes_in_between(kind):
    with pytest.raises(ValueError, match="passes=0; a whole number of passes, at least 1"):
        kind(passes=0)


@pytest.mark.parametrize("solver", EVERY.values(), ids=EVERY)
def test_a_problem_without_factors_is_refused_with_a_remedy(solver):
    problem = chain_problem(np.ones((3, 2)), [2, 1], np.array([0, 1, 1]), 2)
    with pytest.raises(ValueError, match=r"which Pairwise does not have; use it with GraphSVM"):
        solve(problem, solver)


def test_solvers_describe_themselves():
    assert (
        SoftBCFW(rho=0.5).describe()
        == "soft-constraint block-coordinate Frank-Wolfe (rho 0.5, order permuted)"
    )
    text = IDAL(temperature=0.1, order="gap").describe()
    assert text.endswith("(rho 1, order gap, temperature 0.1)")
