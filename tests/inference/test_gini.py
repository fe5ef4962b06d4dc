"""The Gini marginals of a graph are feasible, as near to the solution as their gap says, unique."""

import clarabel
import numpy as np
import pytest
from graph_models import assert_in_local_polytope, graph_models, random_model
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from taut.inference.gini import gini_marginals, new_gini_work
from taut.inference.lp import lp_relaxation

GAMMAS = 0.01, 0.3, 10.0
ONE = 1e-12


def run_gini(model, gamma, *, accuracy=1e-8, rounds=20_000, spare=0):
    """Buffers may be larger than the example; nothing may read what is not its own."""
    n, m = model.size
    K = model.theta.shape[1]
    pad = lambda a, value: np.concatenate([a, np.full((spare, *a.shape[1:]), value, a.dtype)])  # noqa: E731
    work = new_gini_work(n + spare, m + spare, K)
    for array in work:
        array[:] = np.nan
    node, edge = np.full((n + spare, K), -7.0), np.full((m + spare, K, K), -7.0)
    gap = gini_marginals(
        pad(model.theta, np.nan), pad(model.states, 10**6), pad(model.ends, 10**6),
        pad(model.pair, np.nan), n, m, gamma, accuracy, rounds, work, node, edge,
    )  # fmt: skip
    assert (node[n:] == -7.0).all()
    assert (edge[m:] == -7.0).all()
    return gap, node[:n], edge[:m]


def objective(model, gamma, node, edge):
    blocks = len(node) + len(edge)
    return model.expected_score(node, edge) + gamma * (blocks - (node**2).sum() - (edge**2).sum())


def phi(values, gamma):
    """max ⟨values, p⟩ + gamma (1 − ‖p‖²) over a simplex: the support has the largest values."""
    ordered = np.sort(values)[::-1] / (2.0 * gamma)
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, values.size + 1)
    p = np.maximum(values / (2.0 * gamma) - thresholds[ordered > thresholds][-1], 0.0)
    return values @ p + gamma * (1.0 - p @ p)


def by_clarabel(model, gamma):
    """The value and the marginals, by a generic solver of quadratic programs."""
    n, m = model.size
    K = model.theta.shape[1]
    node = np.arange(n * K).reshape(n, K)
    edge = n * K + np.arange(m * K * K).reshape(m, K, K)
    scores = np.concatenate([model.theta.ravel(), model.pair.ravel()])
    exists = ~np.isnan(scores)
    rows = [(node[t], [], 1.0) for t in range(n)]
    for e, (u, v) in enumerate(model.ends):
        rows += [(edge[e, k], [node[u, k]], 0.0) for k in range(model.states[u])]
        rows += [(edge[e, :, k], [node[v, k]], 0.0) for k in range(model.states[v])]
    equations = np.zeros((len(rows), scores.size))
    for row, (plus, minus, _) in zip(equations, rows, strict=True):
        row[plus], row[minus] = 1.0, -1.0
    size = int(exists.sum())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = clarabel.DefaultSolver(
        2.0 * gamma * sparse.eye(size, format="csc"),
        -scores[exists],
        sparse.csc_matrix(np.vstack([equations[:, exists], -np.eye(size)])),
        np.concatenate([[right for *_, right in rows], np.zeros(size)]),
        [clarabel.ZeroConeT(len(rows)), clarabel.NonnegativeConeT(size)],
        settings,
    ).solve()
    assert str(found.status) in ("Solved", "AlmostSolved")
    marginals = np.zeros(scores.size)
    marginals[exists] = found.x
    return gamma * (n + m) - found.obj_val, marginals[node], marginals[edge]


@given(graph_models(scores=["normal", "binary", "ties", "no pairs"]), st.sampled_from(GAMMAS))
def test_marginals_are_those_of_a_generic_solver(model, gamma):
    gap, node, edge = run_gini(model, gamma)
    assert gap <= 1e-8
    value, right_node, right_edge = by_clarabel(model, gamma)
    # clarabel closes its own gap to 1e-10 of the value; 1e-7 is what its feasibility can move it.
    assert objective(model, gamma, node, edge) == pytest.approx(value, rel=0, abs=1e-7)
    distance = np.sqrt(((node - right_node) ** 2).sum() + ((edge - right_edge) ** 2).sum())
    # ‖q − mu‖² ≤ gap / gamma, for ours and for clarabel's.
    assert distance <= np.sqrt(gap / gamma) + np.sqrt(1e-7 / gamma)


@given(graph_models(), st.sampled_from(GAMMAS), st.sampled_from([0, 1, 25]))
def test_the_point_is_in_the_local_polytope_whenever_it_stops(model, gamma, rounds):
    gap, node, edge = run_gini(model, gamma, rounds=rounds, spare=2)
    assert gap >= 0.0
    assert_in_local_polytope(model, node, edge, ONE)
    assert not node[np.isnan(model.theta)].any()
    assert not edge[np.isnan(model.pair)].any()


@given(graph_models(scores=["normal", "ties", "large"]), st.sampled_from(GAMMAS))
def test_the_gap_is_proved(model, gamma):
    """However early it stops, the maximum is at most value + gap."""
    early_gap, *early = run_gini(model, gamma, rounds=10)
    _, *late = run_gini(model, gamma, rounds=2000)
    rounding = 1e-13 * model.scale
    bound = objective(model, gamma, *early) + early_gap
    assert objective(model, gamma, *late) <= bound + rounding


@given(graph_models(scores=["normal", "ties"]), st.sampled_from(GAMMAS))
def test_without_a_step_the_gap_is_that_of_independent_blocks(model, gamma):
    gap, node, edge = run_gini(model, gamma, rounds=0)
    blocks = [scores[~np.isnan(scores)] for scores in (*model.theta, *model.pair)]
    bound = sum(phi(block, gamma) for block in blocks)
    rounding = 1e-14 * model.scale
    assert gap == pytest.approx(bound - objective(model, gamma, node, edge), rel=0, abs=rounding)


@given(graph_models(kinds=["complete", "cycle"], scores=["normal"]))
def test_more_steps_never_give_a_larger_gap_at_the_end(model):
    gaps = [run_gini(model, 2.0, accuracy=0.0, rounds=20 * j)[0] for j in range(1, 6)]
    assert gaps == sorted(gaps, reverse=True)


@given(graph_models(scores=["normal"]))
def test_marginals_become_uniform_as_gamma_grows(model):
    right = model.theta * 0.0 + 1.0 / model.states[:, None]
    product = model.states[model.ends[:, 0]] * model.states[model.ends[:, 1]]
    right_edge = model.pair * 0.0 + 1.0 / product[:, None, None]
    for gamma in (1e2, 1e6):
        _, node, edge = run_gini(model, gamma, accuracy=1e-6 / gamma)
        distance = np.nansum((node - right) ** 2) + np.nansum((edge - right_edge) ** 2)
        # The uniform point u maximises H, so gamma ‖q − u‖² ≤ ⟨scores, q − u⟩ + 1e-6 / gamma.
        norm = np.sqrt(np.nansum(model.theta**2) + np.nansum(model.pair**2))
        assert np.sqrt(distance) <= norm / gamma + 1e-3 / gamma


@given(graph_models(kinds=["complete", "cycle", "anything"], scores=["normal"]))
def test_as_gamma_vanishes_the_score_becomes_that_of_the_lp_relaxation(model):
    gamma = 1e-3
    gap, node, edge = run_gini(model, gamma, accuracy=1e-5)
    value = lp_relaxation(*model)[0]
    score = model.expected_score(node, edge)
    # H lies between 0 and the number of blocks; HiGHS is right to 1e-7 of the scores.
    assert value - gamma * sum(model.size) - gap <= score + 1e-7 * model.scale
    assert score <= value + 1e-7 * model.scale


@given(graph_models(scores=["normal"]), st.sampled_from(GAMMAS))
def test_solutions_do_not_depend_on_constants_added_to_a_block(model, gamma):
    shifted = model._replace(theta=model.theta + 1000.0, pair=model.pair - 1000.0)
    (gap, *found), (other_gap, *other) = (run_gini(each, gamma) for each in (model, shifted))
    for one, two in zip(found, other, strict=True):
        distance = np.sqrt(gap / gamma) + np.sqrt(other_gap / gamma)
        assert np.linalg.norm(one - two) <= distance + 1e-9


def test_isolated_nodes_are_projected_onto_their_simplices_without_a_step():
    model = random_model("no edges", 3, 3, "normal", 0)._replace(
        theta=np.array([[0.5, 0.0, 0.0], [3.0, 0.0, 0.0], [7.0, np.nan, np.nan]]),
        states=np.array([3, 3, 1], np.int32),
        ends=np.zeros((0, 2), np.int32),
        pair=np.zeros((0, 3, 3)),
    )
    gap, node, _ = run_gini(model, 1.0, rounds=0)
    # Proj(theta / 2): of (1/4, 0, 0) it is (1/2, 1/4, 1/4), of (3/2, 0, 0) the first corner.
    np.testing.assert_allclose(node, [[0.5, 0.25, 0.25], [1, 0, 0], [1, 0, 0]], rtol=0, atol=ONE)
    assert gap == pytest.approx(0.0, abs=1e-24)


def test_scores_ten_thousand_times_gamma_are_solved():
    model = random_model("complete", 14, 2, "binary", 0)
    model.theta[:] *= 100.0
    model.pair[:] *= 100.0
    gap, node, edge = run_gini(model, 0.01, accuracy=1e-6, rounds=2000)
    assert gap <= 1e-6
    assert_in_local_polytope(model, node, edge, ONE)
