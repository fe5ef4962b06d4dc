"""The layout of blocks, against the references' lists of one example after the other."""

import numpy as np
import pytest
from factor_problems import COUNTS, PROBLEMS, REFERENCES, factor_reference
from factor_reference import FactorReference
from graph_reference import complete, label_set_pair

from taut.structures.graphs import GraphModel, graph_problem
from taut.structures.graphs.factors import factors_of

# All label sets share their edges, and the rows of features of their labels.
SHARED, SHARED_REFERENCE = label_set_pair(4, 3, [(0, 2), (2, 1)], seed=4)
SPARSE, SPARSE_REFERENCE = label_set_pair(3, 3, complete(3)[1], sparse_rows=True, seed=5)
CASES = {
    **{name: (PROBLEMS[name], factor_reference(name, 0.7)) for name in PROBLEMS},
    "label sets": (SHARED, FactorReference(SHARED_REFERENCE, 0.7)),
    "label sets, sparse rows": (SPARSE, FactorReference(SPARSE_REFERENCE, 0.7)),
}
cases = pytest.mark.parametrize("which", CASES)


def case(which):
    problem, F = CASES[which]
    return problem, F, factors_of(problem.arrays)


def joined(parts):
    return np.concatenate([np.zeros(0, int), *map(np.asarray, parts)])


@cases
def test_marginals_are_packed_nodes_first_then_edges_then_counts(which):
    _, F, factors = case(which)
    states = joined(one.states for one in F.examples)
    cells = joined([k * j for k, j in one.tables] for one in F.examples)
    members = [nodes for one in F.examples for nodes, *_ in one.counts]
    assert factors.sizes == (len(states), len(cells), len(members))
    for at, sizes in (
        (factors.node_at, states),
        (factors.edge_at, cells),
        (factors.count_at, list(map(len, members))),
    ):
        np.testing.assert_array_equal(at, [0, *np.cumsum(sizes)])
    packed = F.pack(F.truth())
    lengths = [factors.node_at[-1], factors.edge_at[-1], factors.count_at[-1]]
    assert lengths == list(map(len, packed))


@cases
def test_every_block_knows_its_example(which):
    _, F, factors = case(which)
    owners = [
        np.repeat(np.arange(F.n), [len(kind(one)) for one in F.examples])
        for kind in (lambda one: one.states, lambda one: one.ends, lambda one: one.counts)
    ]
    np.testing.assert_array_equal(factors.owner, joined(owners))
    np.testing.assert_array_equal(
        factors.edge_start, [0, *np.cumsum([len(one.ends) for one in F.examples])]
    )
    np.testing.assert_array_equal(
        factors.count_start, [0, *np.cumsum([len(one.counts) for one in F.examples])]
    )


@cases
def test_edges_join_nodes_counted_over_all_examples(which):
    problem, F, factors = case(which)
    first = problem.arrays.pointer
    ends = [np.array(one.ends).reshape(-1, 2) + first[i] for i, one in enumerate(F.examples)]
    np.testing.assert_array_equal(factors.ends, np.concatenate(ends))
    types = joined(graph.edge_types for graph in F.reference.graphs)
    np.testing.assert_array_equal(problem.arrays.edges.type[factors.number], types)
    if problem.arrays.edges.rows.n_features:
        norms = joined((graph.edge_rows**2).sum(1) for graph in F.reference.graphs)
        np.testing.assert_allclose(factors.edge_norm[factors.number], norms, rtol=1e-15)
    else:
        assert np.all(factors.edge_norm == 1.0)


def test_examples_that_share_edges_have_blocks_of_their_own():
    _, _, factors = case("label sets")
    assert factors.number.tolist() == [0, 1] * 4
    assert factors.ends[:4].tolist() == [[0, 2], [2, 1], [3, 5], [5, 4]]
    assert factors.row_norm.shape == (4,)
    assert factors.edge_norm.shape == (2,)


@cases
def test_messages_come_from_the_factors_of_a_node(which):
    """Edges send to both ends, counts to all members; all of edges lie before all of counts."""
    problem, F, factors = case(which)
    expected = [[] for _ in range(len(factors.node_at) - 1)]
    begins, at = [0], 0
    pieces = [(i, False) for i in range(F.n)] + [(i, True) for i in range(F.n)]
    for i, of_counts in pieces:
        one, first = F.examples[i], problem.arrays.pointer[i]
        cut = 2 * len(one.ends)
        messages = one.messages()[cut:] if of_counts else one.messages()[:cut]
        sizes = [len(nodes) for nodes, *_ in one.counts] if of_counts else [2] * len(one.ends)
        for size in sizes:
            for t, where in messages[:size]:
                expected[first + t].append(at)
                at += where.stop - where.start
            messages = messages[size:]
            begins.append(at)
    np.testing.assert_array_equal(factors.message_at, begins)
    for t, senders in enumerate(expected):
        found = factors.sender_at[factors.sender_start[t] : factors.sender_start[t + 1]]
        assert found.tolist() == senders
    assert factors.sender_start[-1] == len(factors.sender_at) == sum(map(len, expected))


@cases
def test_members_and_limits_of_counts(which):
    problem, F, factors = case(which)
    counts = [(problem.arrays.pointer[i], c) for i in range(F.n) for c in F.examples[i].counts]
    members = joined([first + t for t in nodes] for first, (nodes, *_) in counts)
    np.testing.assert_array_equal(factors.member, members)
    assert factors.low.tolist() == [low for _, (_, low, _) in counts]
    assert factors.high.tolist() == [high for _, (_, _, high) in counts]
    assert (len(members) > 0) == (which in COUNTS)


# --- curvature -----------------------------------------------------------------------------------


def largest_eigenvalue(table):
    """Of T U'U T, where T keeps what sums to zero."""
    T = np.eye(table.shape[1]) - 1.0 / table.shape[1]
    return np.linalg.eigvalsh(T @ table.T @ table @ T)[-1]


@cases
def test_spreads_are_eigenvalues_on_changes_that_sum_to_zero(which):
    problem, F, factors = case(which)
    reference = F.reference
    seen = np.unique(problem.arrays.nodes.type)
    for kind in seen:
        expected = largest_eigenvalue(reference.U[kind])
        assert factors.node_spread[kind] == pytest.approx(expected, abs=1e-12)
    for kind in np.unique(problem.arrays.edges.type):
        table = reference.B[kind].reshape(len(reference.B[kind]), -1)
        assert factors.edge_spread[kind] == pytest.approx(largest_eigenvalue(table), abs=1e-12)
    assert len(factors.node_spread) == len(reference.U)
    assert len(factors.edge_spread) == len(reference.B)


@cases
def test_squared_norms_of_features_have_the_bias(which):
    problem, F, factors = case(which)
    rows = np.concatenate([graph.rows for graph in F.reference.graphs])
    expected = (rows**2).sum(1) + F.reference.model.bias
    np.testing.assert_allclose(factors.row_norm[problem.arrays.nodes.row], expected, rtol=1e-14)


@cases
def test_they_bound_the_curvature_of_every_block(which):
    """The bound of projected steps: exact for nodes, where penalty and features are in line."""
    problem, F, factors = case(which)
    rho, C, nodes = 0.3, F.C, problem.arrays.nodes
    constants = F.block_constants(rho)
    scale = C * F.s[factors.owner]
    n_nodes, n_edges, _ = factors.sizes
    of_nodes = scale[:n_nodes] * factors.row_norm[nodes.row] * factors.node_spread[nodes.type]
    of_nodes += np.diff(factors.sender_start) / rho
    np.testing.assert_allclose(of_nodes, constants.node, rtol=1e-10)
    spread = factors.edge_spread[problem.arrays.edges.type]
    of_edges = scale[n_nodes : n_nodes + n_edges] * (factors.edge_norm * spread)[factors.number]
    of_edges += nodes.states[factors.ends].max(axis=1) / rho
    assert np.all(of_edges >= constants.edge * (1 - 1e-12))
    # Both parts are attained, though not always by the same direction.
    assert np.all(of_edges <= 2.0 * constants.edge)


def test_types_that_no_node_or_edge_has_are_harmless():
    model = GraphModel((2, 3), ((0, 0), (0, 1), (1, 1)), 1, 0)
    problem = graph_problem(
        model, np.ones((2, 1)), np.array([1, 1]), np.array([0, 1]), np.zeros((0, 2)),
        np.array([0, 0]),
    )  # fmt: skip
    factors = factors_of(problem.arrays)
    assert factors.sizes == (2, 0, 0)
    assert factors.sender_start.tolist() == [0, 0, 0]
    assert factors.node_spread.tolist() == [pytest.approx(1.0), 0.0]
    assert factors.edge_spread.tolist() == [0.0, 0.0, 0.0]


# --- count factors that are refused --------------------------------------------------------------


def with_counts(counts, truth=(0, 1, 0, 0), states=2):
    """Two graphs of two nodes."""
    return graph_problem(
        GraphModel((states,), ((0, 0),), 1, 0), np.ones((4, 1)), np.array([2, 2]),
        np.array(truth), np.array([[0, 1], [0, 1]]), np.array([1, 1]), counts=counts,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[([0, 1], 0, 1)]], r"counts lists the factors of 1 graphs, there are 2"),
        ([[([0.5], 0, 1)], []], r"graph 0: counts\[0\] has nodes of type float64; .* integers"),
        ([[([0], 0, 1), ([2], 0, 1)], []], r"graph 0: counts\[1\] is over node 2, .* 0 to 1"),
        ([[([-1], 0, 1)], []], r"graph 0: counts\[0\] is over node -1, but"),
        ([[([0, 0], 0, 1)], []], r"graph 0: counts\[0\] lists a node twice: \[0, 0\]"),
        ([[], [([1], 0, 1), ([0, 1], 0, 1)]], r"graph 1: counts\[1\] has node 1, .* at most one"),
        ([[([0, 1], -1, 1)], []], r"graph 0: counts\[0\] wants -1 to 1 of 2 nodes .* 0 <= low"),
        ([[([0, 1], 2, 1)], []], r"graph 0: counts\[0\] wants 2 to 1 of 2 nodes"),
        ([[], [([0, 1], 3, 3)]], r"graph 1: counts\[0\] wants 3 to 3 of 2 nodes"),
        ([[([0, 1], 0.5, 1)], []], r"graph 0: counts\[0\] wants 0.5 to 1 of 2 nodes .* integers"),
        ([[], [([0, 1], 1, 1)]], r"graph 1: counts\[0\] allows 1 to 1 .* the truth has 0; train"),
        ([[([1, 0], 0, 0)], []], r"graph 0: counts\[0\] allows 0 to 0 .* the truth has 1"),
    ],
    ids=[
        "one list too few", "half a node", "a node of no graph", "a negative node",
        "a node twice", "a node in two factors", "negative", "low above high", "more than nodes",
        "half a node at least", "fewer in the truth", "more in the truth",
    ],
)  # fmt: skip
def test_counts_that_make_no_sense_are_refused_with_graph_factor_and_values(counts, message):
    with pytest.raises(ValueError, match=message):
        with_counts(counts)


def test_only_nodes_of_two_states_can_be_counted():
    with pytest.raises(ValueError, match=r"graph 1: counts\[0\] is over node 0, which has 3"):
        with_counts([[], [([0, 1], 0, 1)]], states=3)


def test_counts_of_the_whole_range_are_allowed():
    factors = factors_of(with_counts([[([1], 1, 1), ([0], 0, 0)], [([1, 0], 0, 2)]]).arrays)
    assert factors.member.tolist() == [1, 0, 3, 2]
    assert factors.count_start.tolist() == [0, 2, 3]


def test_at_most_more_than_there_are_allows_all():
    factors = factors_of(with_counts([[([1, 0], 1, 7)], []]).arrays)
    assert (factors.low.tolist(), factors.high.tolist()) == ([1], [2])


@pytest.mark.parametrize("which", PROBLEMS)
def test_the_problems_of_these_tests_have_what_they_are_for(which):
    """Several types, unequal states, loops, isolated nodes: or the tests above show little."""
    graphs = REFERENCES[which].graphs
    if "two types" in which:
        assert {k for graph in graphs for k in graph.types} == {0, 1}
        assert len({k for graph in graphs for k in graph.edge_types}) > 1
    assert any(len(graph.ends) == 0 for graph in graphs) or which == "attractive Potts"
    loops = any(len(graph.ends) >= len(graph.truth) for graph in graphs)
    assert loops == (which != "trees of two types")
    if which in COUNTS:
        assert {(low, high) for of in COUNTS[which] for _, low, high in of} >= {(1, 1), (0, 1)}
