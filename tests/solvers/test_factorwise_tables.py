"""Tables over three or more nodes, against definitions and clarabel's optima: ``table_reference``.

What clarabel finds is good to 1e-8.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from factor_blocks import project_to_simplex
from factor_problems import messages_of, point_of, problem_of
from slices import killed_at
from table_reference import CASES, PROBLEMS, table_reference

from taut.check import check_problem
from taut.decode import decode
from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.graph_training.factor_solver import FactorRun
from taut.graph_training.factor_state import RHO, UPDATES
from taut.solvers import BCFW, Status, solve
from taut.solvers.objective import Objective
from taut.structures.graphs import graph_problem

C, RHO_SOFT, BOX, WARM = 0.6, 0.4, (-0.3, 0.04), 0.15
VARIANTS = [
    (which, temperature, box)
    for which in PROBLEMS
    for temperature, box in ((0.0, None), (WARM, BOX))
]
variants = pytest.mark.parametrize(("which", "temperature", "box"), VARIANTS)
STEPS = {
    "toward": SoftBCFW(direction="toward"),
    "pairwise": SoftBCFW(),
    "projected": SoftSDCA(),
}
steps = pytest.mark.parametrize("name", STEPS)


def run_of(which, solver, box=None, seed=3):
    run = FactorRun(PROBLEMS[which], solver, Objective(C, bounds=box, seed=seed, n_threads=1))
    run.compile()
    return run


def place(run, F, mu, nu=None):
    state, packed = run.state, F.pack(mu)
    state.node[:], state.edge[:] = packed.node, packed.edge
    if nu is not None:
        state.nu[:] = np.concatenate(F.pack_messages(nu))
    run.rebuild()


# --- what a certificate says ---------------------------------------------------------------------


@variants
def test_a_certificate_is_what_the_definitions_say_of_any_point(which, temperature, box):
    F, rng = table_reference(which, C, temperature, box), np.random.default_rng(1)
    run = run_of(which, SoftBCFW(rho=RHO_SOFT, temperature=temperature, anneal=1.0), box)
    for mu in (F.truth(), F.random_point(rng), F.random_consistent_point(rng)):
        nu = F.random_messages(rng)
        place(run, F, mu, nu)
        w, delta = F.w_of(mu), F.delta_of(mu, nu, RHO_SOFT)
        np.testing.assert_allclose(run.state.v, F.v_of(mu), rtol=0, atol=1e-12)
        messages = np.concatenate(F.pack_messages(delta))
        np.testing.assert_allclose(run.state.delta, messages, rtol=0, atol=1e-12)
        found = run.certify()
        assert found.primal == pytest.approx(F.hard_primal(w, delta), abs=1e-11)
        gap = F.soft_primal(w, delta, RHO_SOFT, nu) - F.soft_dual(mu, RHO_SOFT, nu)
        assert found.soft_gap == pytest.approx(gap, abs=1e-11)
        expected = F.frank_wolfe_gaps(w, delta, mu)
        np.testing.assert_allclose(found.block_gaps, expected, rtol=0, atol=1e-11)
        worst = max(np.abs(b).max(initial=0.0) for b in F.consistency(mu))
        assert found.violation == pytest.approx(worst, abs=1e-14)


@variants
def test_the_lower_bound_is_the_value_of_a_consistent_point(which, temperature, box):
    F, rng = table_reference(which, C, temperature, box), np.random.default_rng(2)
    run = run_of(which, SoftBCFW(temperature=temperature), box)
    optimum = F.hard_optimum().value
    for _ in range(6):
        place(run, F, F.random_point(rng))
        found = run.certify()
        best, repaired = (F.unpack(point.node, point.edge) for point in run.witness[:2])
        assert max(F.violation(best), F.violation(repaired)) <= 1e-12
        assert found.dual == pytest.approx(F.hard_dual(best), abs=1e-11)
        assert F.hard_dual(repaired) - 1e-12 <= found.dual <= optimum + 1e-8


@variants
def test_a_consistent_point_is_left_as_it_is(which, temperature, box):
    F, rng = table_reference(which, C, temperature, box), np.random.default_rng(3)
    run = run_of(which, SoftBCFW(temperature=temperature), box)
    place(run, F, F.random_consistent_point(rng))
    assert run.certify().violation <= 1e-12
    np.testing.assert_allclose(run.witness.repaired.node, run.state.node, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.witness.repaired.edge, run.state.edge, rtol=0, atol=1e-12)


# --- one step ------------------------------------------------------------------------------------


def after_a_step(run, F):
    run.advance(1)
    return point_of(F, run.state)


@variants
@steps
def test_no_step_lowers_the_penalised_dual(which, temperature, box, name):
    F, rng = table_reference(which, C, temperature, box), np.random.default_rng(4)
    solver = replace(
        STEPS[name], rho=RHO_SOFT, temperature=temperature, order="uniform", anneal=1.0
    )
    run, nu = run_of(which, solver, box), F.random_messages(rng)
    for mu in (F.truth(), F.random_point(rng)):
        place(run, F, mu, nu)
        values = [F.soft_dual(mu, RHO_SOFT, nu)]
        for _ in range(60):
            values.append(F.soft_dual(after_a_step(run, F), RHO_SOFT, nu))
        assert np.diff(values).min() >= -1e-12
        assert values[-1] > values[0] + 1e-3


def in_simplices(F, mu):
    return min(x.min() for x in mu) >= 0.0


@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("name", ["toward", "pairwise"])
@pytest.mark.parametrize("which", PROBLEMS)
def test_a_step_changes_one_block_and_is_as_long_as_is_best(which, temperature, name):
    """Somewhat shorter or, where the simplex allows it, longer steps do not raise the dual more."""
    F, rng = table_reference(which, C, temperature), np.random.default_rng(5)
    solver = replace(
        STEPS[name], rho=RHO_SOFT, temperature=temperature, order="uniform", anneal=1.0
    )
    run, mu = run_of(which, solver), F.random_point(rng)
    place(run, F, mu)
    tables = 0
    for _ in range(60):
        before, mu = mu, after_a_step(run, F)
        value = F.soft_dual(mu, RHO_SOFT)
        changed = [
            where.start >= one.n_graph
            for one, x, y in F.each(mu, before)
            for where in one.at_node + one.at_edge
            if np.any(x[where] != y[where])
        ]
        assert len(changed) <= 1
        tables += sum(changed)
        for length in (0.9, 0.99, 1.01, 1.1):
            other = [x + length * (y - x) for x, y in zip(before, mu, strict=True)]
            if length < 1 or in_simplices(F, other):
                assert F.soft_dual(other, RHO_SOFT) <= value + 1e-13
    assert tables >= 3


@pytest.mark.parametrize("temperature", [0.0, WARM])
@pytest.mark.parametrize("which", PROBLEMS)
def test_a_projected_step_is_the_proximal_one(which, temperature):
    """mu <- Proj((L mu + theta_hat) / (L + 2 gamma)), with L = C s |z|^2 + K / (min k_j rho)."""
    F, rng = table_reference(which, C, temperature), np.random.default_rng(8)
    solver = SoftSDCA(rho=RHO_SOFT, temperature=temperature, order="uniform", anneal=1.0)
    run, mu = run_of(which, solver), F.random_point(rng)
    place(run, F, mu)
    rows, seen = CASES[which][2], 0
    for _ in range(60):
        before, theta = mu, F.theta_hat(run.state.w.copy(), messages_of(F, run.state.delta))
        mu = after_a_step(run, F)
        for i, one in enumerate(F.examples):
            for where, shape, z in zip(
                one.at_edge[one.n_edges :], one.shapes, rows[i], strict=True
            ):
                if np.any(mu[i][where] != before[i][where]):
                    L = C * F.s[i] * (z @ z) + np.prod(shape) / min(shape) / RHO_SOFT
                    target = (L * before[i][where] + theta[i][where]) / (L + 2.0 * temperature)
                    expected = project_to_simplex(target)
                    np.testing.assert_allclose(mu[i][where], expected, rtol=0, atol=1e-12)
                    seen += 1
    assert seen >= 3


@pytest.mark.parametrize("which", PROBLEMS)
def test_projected_steps_are_no_longer_than_the_curvature_allows(which):
    """K / min k_j is the largest |B d|^2 / |d|^2 of changes d that sum to zero."""
    F = table_reference(which, C)
    constants = [one.block_constants(C * s, RHO_SOFT) for one, s in F.each(F.s)]
    for one, s, of_blocks, rows in F.each(F.s, constants, CASES[which][2]):
        tables = of_blocks[len(of_blocks) - len(one.shapes) :]
        for exact, shape, z in zip(tables, one.shapes, rows, strict=True):
            L = C * s * (z @ z) + np.prod(shape) / min(shape) / RHO_SOFT
            assert exact == pytest.approx(L, rel=1e-10)


@pytest.mark.parametrize("order", ["permuted", "gap"])
@steps
@pytest.mark.parametrize("which", PROBLEMS)
def test_weights_and_messages_follow_from_the_marginals(which, name, order):
    """Also when the penalty and the multipliers change; no certificate rebuilds anything here."""
    F = table_reference(which, C, WARM, BOX)
    kinds = {"projected": IDAL(passes=1)}
    solver = kinds.get(name) or AugmentedLagrangian(direction=name, passes=1)
    run = run_of(which, replace(solver, rho=RHO_SOFT, temperature=WARM, order=order), BOX)
    state = run.state
    while run.passes < 30:
        run.advance(run.blocks)
    mu, nu = point_of(F, state), messages_of(F, state.nu)
    np.testing.assert_allclose(state.w, F.w_of(mu), rtol=0, atol=1e-9)
    delta = np.concatenate(F.pack_messages(F.delta_of(mu, nu, state.total[RHO])))
    np.testing.assert_allclose(state.delta, delta, rtol=0, atol=1e-9)
    assert in_simplices(F, mu)
    assert F.violation(mu) < 2.0
    assert state.count[UPDATES] > 0


# --- what is found -------------------------------------------------------------------------------

SOFT = {
    **STEPS,
    "pairwise, gap": SoftBCFW(order="gap", check_every=2),
    "pairwise, uniform": SoftBCFW(order="uniform"),
}
CLOSING = {
    "augmented Lagrangian": AugmentedLagrangian(),
    "augmented Lagrangian, gap": AugmentedLagrangian(order="gap"),
    "IDAL": IDAL(),
}


@variants
@pytest.mark.parametrize("name", SOFT)
def test_the_penalised_optimum_is_found(which, temperature, box, name):
    """Steps toward a corner converge like 1/t, the others linearly."""
    F, tol = table_reference(which, C, temperature, box), 1e-2 if name == "toward" else 1e-5
    solver = replace(SOFT[name], rho=RHO_SOFT, temperature=temperature)
    found = solve(PROBLEMS[which], solver, C=C, bounds=box, tol=tol, max_passes=20_000)
    assert found.status is Status.SOFT_CONVERGED or found.gap <= tol * found.scale
    value, optimum = F.soft_dual(point_of(F, found.state), RHO_SOFT), F.soft_optimum(RHO_SOFT)
    assert optimum.value - found.soft_gap - 1e-8 <= value <= optimum.value + 1e-8
    # Strong convexity, of a penalised objective between its optimum and a gap above.
    assert 0.5 * found.lam * np.sum((found.w - optimum.w) ** 2) <= found.soft_gap + 1e-7


@variants
@pytest.mark.parametrize("name", CLOSING)
def test_multipliers_close_the_bracket_around_the_hard_optimum(which, temperature, box, name):
    F = table_reference(which, C, temperature, box)
    solver = replace(CLOSING[name], temperature=temperature)
    found = solve(PROBLEMS[which], solver, C=C, bounds=box, tol=1e-4, max_passes=20_000)
    assert found.status is Status.CONVERGED
    optimum = F.hard_optimum().value
    assert np.all(found.history["primal"] >= optimum - 1e-8)
    assert np.all(found.history["dual"] <= optimum + 1e-8)
    assert found.primal - found.dual <= 1e-4 * found.scale


@pytest.mark.parametrize("which", PROBLEMS)
def test_the_bracket_holds_for_an_exact_oracle_and_is_tight_where_the_relaxation_is(which):
    F, solver = table_reference(which, C), AugmentedLagrangian()
    found = solve(PROBLEMS[which], solver, C=C, tol=1e-4, max_passes=20_000)
    exact = F.exact_primal(found.w)
    assert exact <= found.primal + 1e-12
    if which == "one table":
        assert exact >= found.dual


@pytest.mark.parametrize("which", PROBLEMS)
def test_a_linear_program_finds_a_value_within_the_bracket(which):
    """The relaxed objective at the weights found, by HiGHS, whose values are good to 1e-7."""
    problem, solver = PROBLEMS[which], AugmentedLagrangian()
    found = solve(problem, solver, C=C, tol=1e-3, max_passes=20_000)
    work, y, total = problem.new_work(), np.zeros(problem.longest, np.int32), 0.0
    for i in range(problem.n):
        problem.scores(found.w, i, work)
        problem.add_loss(i, work)
        total += problem.weight(i) * problem.argmax(found.w, i, work, y)
    value = total / problem.n + 0.5 * found.lam * (found.w @ found.w)
    assert table_reference(which, C).hard_optimum().value - 1e-6 <= value <= found.primal + 1e-6


def test_tables_change_what_is_found():
    reference, *_ = CASES["loops"]
    without = table_reference("loops", C).hard_optimum().value
    bare = type(table_reference("loops", C))(reference, C, [[]] * 3, [[]] * 3)
    assert without < bare.hard_optimum().value - 1e-3


# --- prediction ----------------------------------------------------------------------------------


def to_predict(which):
    reference, tables, rows = CASES[which]
    graphs, model = reference.graphs, reference.model
    return graph_problem(
        model,
        np.concatenate([graph.rows for graph in graphs]),
        np.array([len(graph.types) for graph in graphs]),
        None,
        np.concatenate([graph.ends for graph in graphs]),
        np.array([len(graph.ends) for graph in graphs]),
        node_type=np.concatenate([graph.types for graph in graphs]),
        edge_type=np.concatenate([graph.edge_types for graph in graphs]),
        tables=tables,
        table_rows=np.concatenate(rows) if model.n_table_features else None,
    )


@pytest.mark.parametrize("few_bits", [0, 12], ids=["integer program", "all labellings"])
@pytest.mark.parametrize("which", PROBLEMS)
def test_predictions_are_the_best_labellings(which, few_bits, monkeypatch):
    monkeypatch.setattr("taut.inference.integer_program.FEW_BITS", few_bits)
    F, problem = table_reference(which, C), to_predict(which)
    w = np.random.default_rng(6).normal(size=problem.dim)
    found = np.split(decode(problem, w), problem.pointer[1:-1])
    for one, y in F.each(found):
        scores = one.psi.T @ w
        best = max(scores @ one.point(other) for other in one.labellings())
        assert scores @ one.point(y) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("which", PROBLEMS)
def test_the_best_score_beyond_the_truths_is_returned(which):
    """The truth of a problem to predict is state 0 everywhere."""
    F, problem = table_reference(which, C), to_predict(which)
    w, y = np.random.default_rng(7).normal(size=problem.dim), np.zeros(problem.longest, np.int32)
    work = problem.new_work()
    for i, one in enumerate(F.examples):
        problem.scores(w, i, work)
        value = problem.argmax(w, i, work, y)
        scores, n = one.psi.T @ w, len(one.states)
        beyond = scores @ (one.point(y[:n]) - one.point(np.zeros(n, int)))
        assert value == pytest.approx(beyond, abs=1e-9)
        assert problem.label_value(w, i, work, y[:n]) == pytest.approx(beyond, abs=1e-9)


# --- runs ----------------------------------------------------------------------------------------

RUNS = {"soft bcfw": SoftBCFW(check_every=3), "idal": IDAL(check_every=3, temperature=0.3)}
RUNS["augmented Lagrangian"] = AugmentedLagrangian(check_every=3, order="gap")


@pytest.mark.parametrize("name", RUNS)
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(name, tmp_path):
    options = dict(C=C, tol=0.0, max_passes=25, seed=2)
    saved = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    with killed_at(type(RUNS[name]), 8):
        solve(PROBLEMS["loops"], RUNS[name], **options, **saved)
    resumed = solve(PROBLEMS["loops"], RUNS[name], resume=True, **options, **saved)
    whole = solve(PROBLEMS["loops"], RUNS[name], **options)
    for field in ("node", "edge", "delta", "nu", "v"):
        np.testing.assert_array_equal(getattr(resumed.state, field), getattr(whole.state, field))


def test_a_solution_is_a_start_for_other_solvers():
    options = dict(C=C, tol=1e-4, max_passes=20_000)
    soft = solve(PROBLEMS["loops"], SoftBCFW(), **options)
    first = solve(PROBLEMS["loops"], AugmentedLagrangian(), warm_start=soft, **options)
    again = solve(PROBLEMS["loops"], IDAL(), warm_start=first, **options)
    assert first.status is again.status is Status.CONVERGED
    assert again.passes <= 1


@pytest.mark.parametrize("which", PROBLEMS)
def test_problems_with_tables_have_no_oracle_to_be_checked(which):
    for problem in (PROBLEMS[which], to_predict(which)):
        check_problem(problem)


def trajectory():
    """Weights and bounds of short runs, in one array."""
    rows = []
    for solver in (*STEPS.values(), IDAL(temperature=WARM), AugmentedLagrangian(order="gap")):
        run = run_of("loops", solver, BOX)
        for _ in range(3):
            run.advance(run.blocks)
        found = run.certify()
        rows += [run.state.w, [found.primal, found.dual, found.soft_gap]]
    return np.concatenate(rows)


def test_interpreted_python_walks_the_same_way(tmp_path):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    here = Path(__file__).parent
    program = (
        "import sys, numpy as np; sys.path[:0] = sys.argv[2:]; import test_factorwise_tables as t;"
        "np.save(sys.argv[1], t.trajectory())"
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, tmp_path / "found.npy", here, here.parent],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    interpreted = np.load(tmp_path / "found.npy")
    np.testing.assert_allclose(trajectory(), interpreted, rtol=0, atol=1e-10)


def test_other_tables_are_other_data():
    reference, tables, _ = CASES["one table"]
    others = [[[(members, 0)], *tables[1:]] for members in ([2, 1, 0], [0, 2, 1])]
    problems = [problem_of(reference, tables=some) for some in (tables, *others)]
    assert len({problem.fingerprint() for problem in problems}) == 3


# --- what is refused -----------------------------------------------------------------------------


def test_solvers_with_an_oracle_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"max oracle.*three or more nodes.*augmented-lagrangian"):
        solve(PROBLEMS["loops"], BCFW(), C=C)
