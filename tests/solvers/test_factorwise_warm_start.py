"""Training without inference: seeds, and starts from what another run found."""

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
    soft_optimum,
)
from graph_reference import cycle, graph_pair, path
from slices import killed_at

from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.graph_training.soft_bcfw import Step
from taut.solvers import BCFW, FrankWolfe, solve
from taut.solvers.solution import Status

C, BOX, WARM = 0.6, (-0.3, 0.04), 0.1
SOLVERS = {
    "pairwise": SoftBCFW(rho=0.5),
    "toward, uniform": SoftBCFW(rho=0.5, direction="toward", order="uniform"),
    "pairwise, gap": SoftBCFW(rho=0.5, order="gap"),
    "pairwise, cyclic": SoftBCFW(rho=0.5, order="cyclic", anneal=1.0),
    "projected, temperature": SoftSDCA(rho=0.5, temperature=WARM),
    "augmented Lagrangian": AugmentedLagrangian(),
    "augmented Lagrangian, gap": AugmentedLagrangian(order="gap"),
    "IDAL": IDAL(),
    "IDAL, temperature": IDAL(temperature=WARM),
}
solvers = pytest.mark.parametrize("name", SOLVERS)
problems = pytest.mark.parametrize("which", PROBLEMS)
CLOSING = {name: solver for name, solver in SOLVERS.items() if solver.closes_bracket}


def tolerance(solver):
    return 1e-2 if getattr(solver, "direction", None) is Step.TOWARD else 1e-5


def converged(which, solver, **options):
    options = dict(C=C, tol=tolerance(solver), max_passes=20_000) | options
    return solve(PROBLEMS[which], solver, **options)


def is_converged(solution):
    return solution.status in (Status.CONVERGED, Status.SOFT_CONVERGED)


def assert_identical(one, two):
    np.testing.assert_array_equal(one.w, two.w)
    for name in ("node", "edge", "chosen", "delta", "nu", "v"):
        np.testing.assert_array_equal(getattr(one.state, name), getattr(two.state, name))
    assert (one.primal, one.dual, one.passes) == (two.primal, two.dual, two.passes)
    assert one.history.soft_gap.tolist() == two.history.soft_gap.tolist()


# --- seeds ---------------------------------------------------------------------------------------


@problems
@solvers
def test_the_same_seed_gives_the_same_bits_whatever_the_threads(which, name):
    one, two = (
        converged(which, SOLVERS[name], tol=0, max_passes=23, seed=5, n_threads=n) for n in (1, 3)
    )
    assert_identical(one, two)


@pytest.mark.parametrize("name", [n for n in SOLVERS if "cyclic" not in n])
def test_another_seed_takes_another_way_to_the_same_place(name):
    which, solver = "loops of two types", SOLVERS[name]
    one, two = (converged(which, solver, seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.w, two.w)
    assert is_converged(one)
    assert is_converged(two)
    radius = sum(np.sqrt(2 * max(s.soft_gap, s.gap * solver.closes_bracket) / s.lam)
                 for s in (one, two))  # fmt: skip
    assert np.linalg.norm(one.w - two.w) <= radius


# --- from runs without inference -----------------------------------------------------------------


@problems
@solvers
def test_a_converged_solution_needs_no_more_steps(which, name):
    solver = SOLVERS[name]
    first = converged(which, solver)
    again = converged(which, solver, warm_start=first, tol=1.01 * tolerance(solver))
    assert is_converged(first)
    assert again.passes == 0
    assert again.status is first.status
    np.testing.assert_allclose(again.state.w, first.state.w, rtol=0, atol=1e-11)
    np.testing.assert_allclose(again.state.delta, first.state.delta, rtol=0, atol=1e-11)
    assert again.soft_gap == pytest.approx(first.soft_gap, abs=1e-11)
    assert again.violation == pytest.approx(first.violation, abs=1e-12)


@problems
@pytest.mark.parametrize("name", CLOSING)
@pytest.mark.parametrize("keep", ["dual", "primal"])
def test_a_start_at_another_c_ends_at_its_optimum(which, name, keep):
    first = converged(which, CLOSING[name], C=0.1)
    warm = converged(which, CLOSING[name], warm_start=first, keep=keep)
    optimum = hard_optimum(which, C, CLOSING[name].temperature).value
    assert warm.status is Status.CONVERGED
    assert warm.dual - 1e-8 <= optimum <= warm.primal + 1e-8
    assert warm.gap <= tolerance(CLOSING[name]) * warm.scale


@problems
@pytest.mark.parametrize("name", ["pairwise", "projected, temperature", "IDAL"])
def test_keep_primal_keeps_the_weights_when_c_grows(which, name):
    first = converged(which, SOLVERS[name], C=0.1)
    F = factor_reference(which, C)
    for keep, factor in (("primal", 1.0), ("dual", C / 0.1)):
        start = solve(
            PROBLEMS[which], SOLVERS[name], C=C, warm_start=first, keep=keep, max_passes=0
        )
        np.testing.assert_allclose(start.state.v, factor * first.state.v, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            start.state.v, F.v_of(point_of(F, start.state)), rtol=0, atol=1e-11
        )
    # A smaller C has no room for the same weights: then the dual point is kept.
    back = solve(
        PROBLEMS[which], SOLVERS[name], C=0.05, warm_start=first, keep="primal", max_passes=0
    )
    np.testing.assert_array_equal(back.state.node, first.state.node)


@problems
@pytest.mark.parametrize("rho", [0.1, 3.0])
def test_a_start_at_another_penalty_ends_at_its_optimum(which, rho):
    first = converged(which, SoftBCFW(rho=0.5))
    warm = converged(which, SoftBCFW(rho=rho), warm_start=first)
    F = factor_reference(which, C)
    value = F.soft_dual(point_of(F, warm.state), rho)
    assert is_converged(warm)
    assert value == pytest.approx(soft_optimum(which, C, rho).value, abs=warm.soft_gap + 1e-8)


@problems
def test_the_multipliers_of_another_penalty_are_still_good(which):
    """delta's scale is that of scores, whatever rho: the new start is as good as the old end."""
    first = converged(which, AugmentedLagrangian(rho=0.5), tol=1e-8)
    start = converged(which, IDAL(rho=2.0), warm_start=first, max_passes=0)
    np.testing.assert_array_equal(start.state.nu, first.state.nu)
    F = factor_reference(which, C)
    mu, nu = point_of(F, start.state), messages_of(F, start.state.nu)
    delta = np.concatenate(F.pack_messages(F.delta_of(mu, nu, 2.0)))
    np.testing.assert_allclose(start.state.delta, delta, rtol=0, atol=1e-12)
    # The violation enters once more, at another scale, and is what is left of it by now.
    assert start.history.gap[0] <= first.gap + 10 * first.violation


@problems
@pytest.mark.parametrize(("before", "after"), [(WARM, 0.0), (0.0, WARM), (0.5, 0.01)])
def test_a_start_at_another_temperature_ends_at_its_optimum(which, before, after):
    first = converged(which, IDAL(temperature=before))
    warm = converged(which, IDAL(temperature=after), warm_start=first)
    optimum = hard_optimum(which, C, after).value
    assert warm.status is Status.CONVERGED
    # Bounds of the other problem were not taken over.
    assert warm.dual - 1e-8 <= optimum <= warm.primal + 1e-8
    assert warm.history.iterate_dual.max() <= optimum + 1e-8


@problems
def test_soft_constraints_forget_multipliers_and_multipliers_take_over_soft_ones(which):
    hard = converged(which, AugmentedLagrangian())
    soft = converged(which, SoftBCFW(rho=0.5), warm_start=hard)
    assert not soft.state.nu.any()
    F = factor_reference(which, C)
    value = F.soft_dual(point_of(F, soft.state), 0.5)
    assert value == pytest.approx(soft_optimum(which, C, 0.5).value, abs=soft.soft_gap + 1e-8)
    again = converged(which, AugmentedLagrangian(), warm_start=soft)
    assert again.status is Status.CONVERGED
    assert again.dual - 1e-8 <= hard_optimum(which, C).value <= again.primal + 1e-8


@pytest.mark.parametrize("name", ["augmented Lagrangian", "IDAL"])
def test_a_start_in_another_box_ends_at_its_optimum(name):
    which = "loops of two types"
    first = converged(which, SOLVERS[name])
    warm = converged(which, SOLVERS[name], warm_start=first, bounds=BOX)
    optimum = hard_optimum(which, C, 0.0, BOX).value
    assert warm.status is Status.CONVERGED
    assert warm.dual - 1e-8 <= optimum <= warm.primal + 1e-8
    assert np.all((warm.w >= BOX[0]) & (warm.w <= BOX[1]))


def test_a_start_leaves_the_earlier_solution_alone():
    which = "binary, counts"
    first = converged(which, AugmentedLagrangian())
    node, nu = first.state.node.copy(), first.state.nu.copy()
    converged(which, IDAL(temperature=WARM), warm_start=first, keep="primal", C=2 * C)
    np.testing.assert_array_equal(first.state.node, node)
    np.testing.assert_array_equal(first.state.nu, nu)


def test_an_earlier_proof_of_the_same_problem_still_counts():
    which = "loops of two types"
    first = converged(which, AugmentedLagrangian(), tol=1e-7)
    again = solve(PROBLEMS[which], SoftSDCA(rho=5.0), C=C, warm_start=first, tol=0, max_passes=50)
    assert again.passes == 50
    assert again.dual >= first.dual


# --- from runs with an oracle --------------------------------------------------------------------

REMEMBERING = {
    "corrective": BCFW(direction="corrective"),
    "pairwise": BCFW(direction="pairwise"),
    "away": BCFW(order="permuted", direction="away"),
}
# Only marginals of nodes are known of these.
FORGETFUL = {"toward": BCFW(), "batch": FrankWolfe()}
EXACT = {
    "trees of two types": PROBLEMS["trees of two types"],
    "loops of two types": PROBLEMS["loops of two types"],
}


@pytest.mark.parametrize("which", EXACT)
@pytest.mark.parametrize("name", REMEMBERING)
def test_the_mixture_of_remembered_labellings_is_the_dual_point(which, name):
    """The first certificate has the exact dual value; on trees it is the optimum's already."""
    exact = solve(EXACT[which], REMEMBERING[name], C=C, tol=1e-7, max_passes=5000)
    assert exact.certifies == ""
    start = solve(EXACT[which], IDAL(), C=C, warm_start=exact, max_passes=0)
    F = factor_reference(which, C)
    mu = point_of(F, start.state)
    assert F.violation(mu) <= 1e-10
    assert start.dual == pytest.approx(exact.history.iterate_dual[-1], abs=1e-10)
    np.testing.assert_allclose(start.state.w, exact.state.w, rtol=0, atol=1e-9)
    warm = solve(EXACT[which], IDAL(), C=C, warm_start=exact, tol=1e-6, max_passes=20_000)
    optimum = hard_optimum(which, C).value
    assert warm.status is Status.CONVERGED
    assert warm.dual - 1e-8 <= optimum <= warm.primal + 1e-8
    if which == "trees of two types":
        assert start.dual == pytest.approx(optimum, abs=1e-6)


@pytest.mark.parametrize("which", EXACT)
@pytest.mark.parametrize("name", FORGETFUL)
@pytest.mark.parametrize("solver", [SoftBCFW(), AugmentedLagrangian()], ids=["soft", "hard"])
def test_marginals_of_nodes_are_taken_over_and_tables_made_to_fit(which, name, solver):
    exact = solve(EXACT[which], FORGETFUL[name], C=C, tol=1e-2, max_passes=5000)
    problem, F = EXACT[which], factor_reference(which, C)
    start = solve(problem, solver, C=C, warm_start=exact, max_passes=0)
    mu, reference = point_of(F, start.state), REFERENCES[which]
    assert F.violation(mu) <= 1e-10
    for i, image in enumerate(reference.images(exact.state.mu)):
        expected = image[: len(reference.graphs[i].truth) * reference.K]
        np.testing.assert_allclose(
            F.to_local(i, mu[i])[: len(expected)], expected, rtol=0, atol=1e-10
        )
    warm = solve(problem, solver, C=C, warm_start=exact, tol=1e-5, max_passes=20_000)
    assert is_converged(warm)
    assert warm.dual - 1e-8 <= hard_optimum(which, C).value <= warm.primal + 1e-8


@pytest.mark.parametrize("direction", ["toward", "corrective"])
@pytest.mark.parametrize("keep", ["dual", "primal"])
def test_a_start_from_the_relaxation_with_an_oracle(direction, keep):
    """Labellings are points of the local polytope there; only their nodes' marginals are known."""
    problem, reference = graph_pair(
        [cycle(3), cycle(4), path(3)], inference="roof-duality", relaxed=True, weighted=True,
        n_edge_features=1, seed=6,
    )  # fmt: skip
    relaxed = solve(problem, BCFW(direction=direction), C=C / 2, tol=1e-3)
    optimum = reference.optimum(C)[0]
    warm = solve(
        problem, AugmentedLagrangian(), C=C, warm_start=relaxed, keep=keep, tol=1e-6,
        max_passes=20_000,
    )  # fmt: skip
    assert warm.status is Status.CONVERGED
    assert warm.dual - 1e-7 <= optimum <= warm.primal + 1e-7
    same = solve(problem, BCFW(direction="corrective"), C=C, tol=1e-8)
    proved = solve(problem, AugmentedLagrangian(), C=C, warm_start=same, tol=1e-6)
    # The oracle's certificate is of the same problem, and holds.
    assert (proved.passes, proved.status) == (0, Status.CONVERGED)
    assert proved.gap <= same.gap + 1e-14


# --- starts that are refused ---------------------------------------------------------------------


def test_other_data_are_refused():
    first = converged("loops of two types", SoftBCFW(), max_passes=1)
    with pytest.raises(ValueError, match=r"warm_start: the training data or the loss differ"):
        solve(PROBLEMS["trees of two types"], SoftBCFW(), warm_start=first)
    with pytest.raises(ValueError, match="keep='both'"):
        converged("loops of two types", SoftBCFW(), warm_start=first, keep="both")


@pytest.mark.parametrize("counts", ["none", "more"])
def test_other_counts_are_other_data(counts):
    """They change the problem: a bound that was proved with them does not hold without."""
    which = "binary, counts"
    first = converged(which, AugmentedLagrangian(), max_passes=1)
    more = [[(nodes, low, len(nodes)) for nodes, low, _ in of] for of in COUNTS[which]]
    other = problem_of(REFERENCES[which], None if counts == "none" else more)
    with pytest.raises(ValueError, match=r"warm_start: the training data or the loss differ"):
        solve(other, AugmentedLagrangian(), warm_start=first)


def test_an_oracle_cannot_go_on_from_marginals_that_disagree():
    which = "loops of two types"
    first = converged(which, SoftBCFW(), max_passes=3)
    with pytest.raises(ValueError, match=r"of the LP relaxation, this run of the exact"):
        solve(PROBLEMS[which], BCFW(), warm_start=first)


# --- a run that goes on --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pairwise", "pairwise, gap", "augmented Lagrangian", "IDAL"])
@pytest.mark.parametrize("calls_before", [7, 8])
@pytest.mark.parametrize("which", ["binary, counts", "attractive Potts"])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(name, which, calls_before, tmp_path):
    """Killed at any moment, the rest of the run is the same, bit for bit."""
    options = dict(C=C, tol=0.0, max_passes=25, seed=2)
    saved = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)

    with killed_at(type(SOLVERS[name]), calls_before + 1):
        solve(PROBLEMS[which], SOLVERS[name], **options, **saved)
    resumed = solve(PROBLEMS[which], SOLVERS[name], resume=True, **options, **saved)
    whole = solve(PROBLEMS[which], SOLVERS[name], **options)
    for name in ("node", "edge", "chosen", "delta", "nu", "v"):
        np.testing.assert_array_equal(getattr(resumed.state, name), getattr(whole.state, name))
    for column in ("passes", "primal", "soft_gap", "violation"):
        assert resumed.history[column].tolist() == whole.history[column].tolist()
    # Lower bounds are of the points seen at certificates, and resuming makes one more.
    optimum = hard_optimum(which, C).value
    assert resumed.dual <= optimum + 1e-8
