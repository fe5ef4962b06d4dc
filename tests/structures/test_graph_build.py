"""Arrays that do not fit never reach compiled code; what was left out is filled in."""

import numpy as np
import pytest
from graph_reference import alone, complete, cycle, graph_pair, path
from scipy import sparse

from taut.structures.graphs import (
    GraphModel,
    graph_problem,
    label_edges,
    label_model,
    multilabel_problem,
)
from taut.structures.graphs.label_sets import mutual_information

ONE_TYPE = GraphModel((2,), ((0, 0),), n_features=3, n_edge_features=0)


def build(model=ONE_TYPE, **changes):
    """Two graphs, of three and two nodes, with two edges and one; anything may be changed."""
    arguments = dict(
        rows=np.ones((5, 3)),
        lengths=np.array([3, 2]),
        truth=np.array([0, 1, 1, 0, 1]),
        ends=np.array([[0, 1], [2, 1], [1, 0]]),
        n_edges=np.array([2, 1]),
    )
    return graph_problem(model, **{**arguments, **changes})


TYPES = dict(node_type=np.array([0, 1, 0, 0, 1]), truth=np.array([0, 2, 1, 0, 1]))
TWO_TYPES = GraphModel((2, 3), ((0, 1), (1, 0)), n_features=3, n_edge_features=0)
WITH_FEATURES = GraphModel((2,), ((0, 0),), 3, 2, pairwise="potts", attractive=True)


def test_the_standard_arguments_are_right():
    assert build().n == 2
    assert build(TWO_TYPES, **TYPES, edge_type=np.array([0, 0, 1])).n == 2
    assert build(WITH_FEATURES, edge_rows=np.ones((3, 2))).n == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(rows=np.ones((5, 2))), "the nodes have 2 features, the model has 3"),
        (dict(rows=np.ones((4, 3))), "4 rows of node features for 5 nodes"),
        (dict(rows=np.ones((6, 3))), "6 rows of node features for 5 nodes"),
        (dict(node_row=np.array([0, 1, 2, 3, 5])), r"node_row\[4\] is 5, but there are 5 rows"),
        (dict(node_row=np.array([0, 1, 2, 3, -1])), r"node_row\[4\] is -1; whole numbers from 0"),
        (dict(node_row=np.array([0, 1])), r"node_row has shape \(2,\); expected \(5,\)"),
        (dict(edge_rows=np.ones((3, 2))), "the edges have 2 features, the model has 0"),
        (dict(lengths=np.array([5, 0])), "every graph needs at least one node"),
        (
            dict(rows=np.ones((0, 3)), lengths=np.array([], int), n_edges=np.array([], int)),
            "there must be a graph",
        ),
        (dict(n_edges=np.array([2, 2])), "n_edges add up to 4, there are 3"),
        (dict(n_edges=np.array([3])), r"n_edges has shape \(1,\)"),
        (dict(n_edges=np.array([4, -1])), r"n_edges\[1\] is -1; whole numbers from 0 to"),
        (dict(ends=np.array([[0, 1], [2, 3], [1, 0]])), "edge 1 of graph 0 joins nodes 2 and 3"),
        (dict(ends=np.array([[0, 1], [2, 1], [1, 2]])), "edge 0 of graph 1 joins nodes 1 and 2"),
        (dict(ends=np.array([[0, 1], [2, -1], [1, 0]])), "edge 1 of graph 0 joins nodes 2 and -1"),
        (dict(ends=np.array([[0, 1], [2, 1], [1, 1]])), "edge 0 of graph 1 joins node 1 with it"),
        (dict(truth=np.array([0, 1, 1, 0])), "4 labels for 5 nodes"),
        (dict(truth=np.array([0, 1, 1, 0, 2])), "node 1 of graph 1 has state 2, but its"),
        (dict(truth=np.array([0, 1, -1, 0, 1])), "node 2 of graph 0 has state -1"),
        (dict(edge_type=np.array([0, 0, 1])), "edge 0 of graph 1 is of type 1, the model has"),
        (dict(edge_type=np.array([0, -1, 0])), r"edge_type\[1\] is -1; whole numbers from 0"),
        (dict(edge_type=np.array([0, 0])), r"edge_type has shape \(2,\); expected \(3,\)"),
        (dict(node_type=np.array([0, 0, 0, 0, 1])), "node 1 of graph 1 is of type 1, the model"),
        (dict(node_type=np.array([0, 0, 0, 0, -1])), r"node_type\[4\] is -1; whole numbers"),
        (dict(node_type=np.array([0, 0, 0])), r"node_type has shape \(3,\)"),
        (dict(node_weight=np.ones(4)), "node_weight has"),
        (dict(node_weight=np.array([1, 1, 1, 1, -1.0])), r"node_weight\[4\] is -1.0; it must be"),
        (dict(node_weight=np.array([1, 1, 1, 1, np.nan])), r"node_weight\[4\] is nan; it must be"),
        (dict(importance=np.ones(3)), "importance has"),
        (dict(importance=np.array([1.0, -1.0])), r"importance\[1\] is -1.0; it must be finite"),
        (dict(cost=np.zeros((1, 1))), r"cost has shape \(1, 1\)"),
        (dict(cost=np.ones((2, 2))), "cost must be finite and not negative, and 0 for"),
        (dict(cost=-1.0 + np.eye(2)), "cost must be finite and not negative, and 0 for"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        build(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(node_type=np.array([0, 0, 0, 0, 2**32])), r"node_type\[4\] is 4294967296; whole"),
        (dict(node_type=np.array([0, 0, 0, 0, 2**31])), r"node_type\[4\] is 2147483648; whole"),
        (dict(edge_type=np.array([0, 0, 2**32])), r"edge_type\[2\] is 4294967296; whole numbers"),
        (dict(edge_type=np.array([0, 0, 2**64 - 1], np.uint64)), r"edge_type\[2\] is 184467440"),
        (dict(node_row=np.array([0, 1, 2, 3, 2**64 - 1], np.uint64)), r"node_row\[4\] is 18446744"),
        (dict(node_row=np.array([0, 1, 2, 3, 2**32])), r"node_row\[4\] is 4294967296; whole"),
        # The sum of these wraps around, to 5.
        (dict(lengths=np.array([2**63 - 1, 2**63 - 1, 7]), n_edges=np.array([3, 0, 0])),
         r"lengths\[0\] is 9223372036854775807; whole numbers from 0 to 2147483647"),
        (dict(n_edges=np.array([2**63, 2**63 + 3], np.uint64)), r"n_edges\[0\] is 92233720368547"),
        (dict(ends=np.array([[0, 1], [2, 2**32], [1, 0]])), "joins nodes 2 and 4294967296, but"),
        (dict(ends=np.array([[0, 1], [2, -9], [1, 0]])), "joins nodes 2 and -9, but"),
        (dict(ends=np.array([[0, 1], [2, 2**64 - 1], [1, 0]], np.uint64)), "2 and 184467440737095"),
        (dict(truth=np.array([0, 1, 1, 0, 2**32])), "node 1 of graph 1 has state 4294967296, but"),
        (dict(truth=np.array([0, 1, 1, 0, 2**64 - 1], np.uint64)), "has state 1844674407370955161"),
        (dict(truth=np.array([[0], [1], [1], [0], [1]])), r"truth has shape \(5, 1\); expected"),
        (dict(truth=np.array([0, 1, 1, 0, 1.0])), "truth has numbers of type float64"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)  # fmt: skip
def test_numbers_that_would_wrap_around_are_refused(changes, message):
    """Kernels have 32 bits for most of them, where 2**32 is 0 and others are negative."""
    with pytest.raises(ValueError, match=message):
        build(**changes)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_integers_of_any_type_are_taken(kind):
    names = {"lengths": [3, 2], "n_edges": [2, 1], "truth": [0, 1, 1, 0, 1], "edge_type": [0] * 3}
    arrays = {name: np.array(values, kind) for name, values in names.items()}
    problem = build(**arrays, ends=np.array([[0, 1], [2, 1], [1, 0]], kind))
    assert problem.arrays.edges.ends.dtype == np.int32
    assert problem.pointer.tolist() == [0, 3, 5]


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.full((4, 3), 2**32), r"Y\[0, 0\] is 4294967296; 0 or 1 is expected"),
        (np.full((4, 3), 0.5), r"Y\[0, 0\] is 0.5; 0 or 1"),
        (np.full((4, 3), np.nan), r"Y\[0, 0\] is nan; 0 or 1"),
        (np.full((4, 3), -1), r"Y\[0, 0\] is -1; 0 or 1"),
        (np.ones((3, 4), int), r"Y has shape \(3, 4\); expected \(4, 3\)"),
    ],
)
def test_indicators_are_refused_before_they_are_cast(Y, message):
    model = label_model(3, label_edges("full", np.eye(3, dtype=int)), n_features=2)
    with pytest.raises(ValueError, match=message):
        multilabel_problem(model, np.ones((4, 2)), Y)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (
            TWO_TYPES,
            dict(TYPES, edge_type=np.array([0, 1, 1])),
            r"edge 1 of graph 0 is of type 1, which joins node types \(1, 0\), but .* \(0, 1\)",
        ),
        (
            TWO_TYPES,
            dict(TYPES, edge_type=np.array([0, 0, 0])),
            r"edge 0 of graph 1 is of type 0, which joins node types \(0, 1\), but .* \(1, 0\)",
        ),
        (
            TWO_TYPES,
            dict(TYPES, edge_type=np.array([0, 0, 1]), truth=np.array([0, 2, 2, 0, 1])),
            "node 2 of graph 0 has state 2",
        ),
        (WITH_FEATURES, dict(edge_rows=np.ones((2, 2))), "2 rows of edge features for 3 edges"),
        (WITH_FEATURES, {}, "the edges have 0 features, the model has 2"),
        (
            WITH_FEATURES,
            dict(edge_rows=np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -3.0]])),
            r"edge 0 of graph 1 has -3.0 in column 1",
        ),
        (
            WITH_FEATURES,
            dict(edge_rows=sparse.csr_array([[1.0, 0.0], [0.0, -2.0], [1.0, 3.0]])),
            r"edge 1 of graph 0 has -2.0 in column 1",
        ),
    ],
    ids=["type of a middle edge", "type of the last edge", "state of a type", "edge rows",
         "no edge rows", "negative", "negative in CSR"],
)  # fmt: skip
def test_types_and_edge_features_that_do_not_fit_are_refused(model, changes, message):
    with pytest.raises(ValueError, match=message):
        build(model, **changes)


def test_the_sign_of_edge_features_matters_only_to_attractive_models():
    edge_rows = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -3.0]])
    free = GraphModel((2,), ((0, 0),), 3, 2, pairwise="potts")
    assert build(free, edge_rows=edge_rows).required_bounds() is None


@pytest.mark.parametrize("n_edges", [[2, 0], [0, 2], [0, 2, 0]])
def test_graphs_without_edges_may_stand_anywhere(n_edges):
    """Also where the first graph has all edges, and more nodes than the others."""
    lengths = [3 if m else 1 for m in n_edges]
    problem = graph_problem(
        ONE_TYPE, np.ones((sum(lengths), 3)), np.array(lengths), np.zeros(sum(lengths), int),
        np.array([[0, 1], [2, 1]]), np.array(n_edges),
    )  # fmt: skip
    assert problem.most_edges == 2


def test_shared_edges_must_fit_every_graph():
    def shared(lengths):
        return graph_problem(
            ONE_TYPE, np.ones((5, 3)), np.array(lengths), np.zeros(5, int),
            np.array([[0, 1], [1, 2]]), np.array([2, 2]), shared_edges=True,
        )  # fmt: skip

    with pytest.raises(ValueError, match="joins nodes 1 and 2, but its nodes are 0 to 1"):
        shared([3, 2])


def test_shared_edges_must_fit_the_types_of_every_graph():
    model = GraphModel((2, 3), ((0, 1),), 3, 0)
    with pytest.raises(ValueError, match="node types in all graphs: those of graph 1"):
        graph_problem(
            model, np.ones((4, 3)), np.array([2, 2]), np.zeros(4, int), np.array([[0, 1]]),
            np.array([1, 1]), node_type=np.array([0, 1, 1, 0]), shared_edges=True,
        )  # fmt: skip


# --- models -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairwise", "is_attractive"),
    [
        ("potts", True),
        ("associative", True),
        ("full", False),
        ("symmetric", False),
        ([[[1.0, 0.0], [0.0, 1.0]]], True),
        ([[[0.0, 1.0], [1.0, 0.0]]], False),
        ([[[0.0, 1.0], [-1.0, 0.0]]], True),  # modular: B(0,0) + B(1,1) = B(0,1) + B(1,0)
    ],
    ids=["potts", "associative", "full", "symmetric", "agreement", "disagreement", "modular"],
)
def test_attractive_models_are_attractive_whatever_the_weights(pairwise, is_attractive):
    pairwise = pairwise if isinstance(pairwise, str) else np.array(pairwise)
    model = GraphModel((2,), ((0, 0),), 3, 0, pairwise=pairwise, attractive=True)
    if is_attractive:
        lower, upper = build(model).required_bounds()
        assert lower.tolist() == [-np.inf] * 8 + [0.0] * (model.layout()[1]["n_weights"])
        assert np.all(upper == np.inf)
    else:
        with pytest.raises(ValueError, match="basis of edge type 0 is not attractive"):
            build(model)


def test_attraction_of_different_types_has_no_meaning():
    model = GraphModel((2, 3), ((0, 1),), 3, 0, attractive=True)
    with pytest.raises(ValueError, match="edge type 0 is not attractive"):
        model.check_attractive()


def test_lists_of_bases_have_one_for_each_type():
    with pytest.raises(ValueError, match="unary lists 1 values for 2 types"):
        GraphModel((2, 3), ((0, 1),), 3, 0, unary=["full"]).unary_tables()
    with pytest.raises(ValueError, match="pairwise lists 2 values for 1 types"):
        GraphModel((2, 3), ((0, 1),), 3, 0, pairwise=["full", "full"]).pairwise_tables()


@pytest.mark.parametrize("by_feature", [False, True])
def test_weights_by_type_score_as_the_whole_vector_does(by_feature):
    """coef (n_basis, features), bias (n_basis,), edges (features, n_basis)."""
    _, reference = graph_pair(
        [complete(4)], states=(2, 3), joins=((0, 1), (1, 0), (1, 1)), random_types=True,
        n_edge_features=2, by_feature=by_feature, seed=5,
    )  # fmt: skip
    graph, w = reference.graphs[0], np.random.default_rng(0).normal(size=reference.dim)
    coef, bias, edge_coef = reference.model.weights(w)
    y = graph.truth
    total = 0.0
    for t, kind in enumerate(graph.types):
        total += reference.U[kind][:, y[t]] @ (coef[kind] @ graph.rows[t] + bias[kind])
    for e, kind in enumerate(graph.edge_types):
        u, v = graph.ends[e]
        total += graph.edge_rows[e] @ edge_coef[kind] @ reference.B[kind][:, y[u], y[v]]
    assert total == pytest.approx(w @ reference.phi(0, y), abs=1e-12)


def test_the_dimension_is_the_sum_of_the_groups():
    assert graph_pair([path(2)], states=(3,), n_features=4)[0].dim == 12 + 3 + 9
    assert graph_pair([path(2)], unary="binary", pairwise="potts", bias=False)[0].dim == 2 + 1
    assert (
        graph_pair([cycle(3)], states=(3,), pairwise="associative", n_edge_features=5)[0].dim
        == 6 + 3 + 15
    )
    assert graph_pair([alone(2)], joins=())[0].dim == 4 + 2


# --- label sets -------------------------------------------------------------------------------


def test_label_graphs():
    Y = np.random.default_rng(0).integers(0, 2, (30, 5))
    assert len(label_edges("full", Y)) == 10
    assert label_edges("none", Y).shape == (0, 2)
    assert label_edges([], Y).shape == (0, 2)
    assert label_edges([[3, 1], [0, 2]], Y).tolist() == [[3, 1], [0, 2]]


def test_the_tree_joins_the_labels_that_say_most_of_each_other():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 500)
    noise = lambda: rng.random(500) < 0.1  # noqa: E731
    # A chain 2 - 0 - 3 - 1: each copies the one before it, with noise.
    third = first ^ noise()
    last = third ^ noise()
    Y = np.stack([third, last ^ noise(), first, last], axis=1).astype(int)
    assert {tuple(sorted(e)) for e in label_edges("tree", Y)} == {(0, 2), (0, 3), (1, 3)}


def test_mutual_information():
    """Of a fair coin with itself log 2, with another coin nothing."""
    Y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    np.testing.assert_allclose(mutual_information(Y), np.log(2) * np.eye(2), atol=1e-15)


def test_labels_that_never_vary_are_joined_all_the_same():
    assert len(label_edges("tree", np.zeros((4, 3), int))) == 2
    assert label_edges("tree", np.zeros((4, 1), int)).shape == (0, 2)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("ring", "edges='ring'"),
        ([[0, 5]], r"edge 0 joins labels \[0, 5\]; .* from 0 to 4"),
        ([[0, 1], [2, 2]], r"edge 1 joins labels \[2, 2\]"),
        ([[0, -1]], r"edge 0 joins labels \[0, -1\]"),
        ([0, 1], r"shape \(2,\)"),
        ([[0.0, 1.0]], "type float64"),
    ],
    ids=["name", "no such label", "itself", "negative", "flat", "fractions"],
)
def test_label_edges_that_join_nothing_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        label_edges(edges, np.zeros((4, 5), int))


def test_label_sets_share_edges_and_rows():
    model = label_model(3, label_edges("full", np.eye(3)), 2)
    problem = multilabel_problem(model, np.ones((100, 2)), np.zeros((100, 3), int))
    assert problem.arrays.edges.ends.shape == (3, 2)
    assert problem.arrays.nodes.rows.n_rows == 100
    assert (problem.n, problem.most_nodes, problem.most_edges) == (100, 3, 3)
