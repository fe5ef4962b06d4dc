"""Graphs as people have them: stacked, thinned out, or refused with the place named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from taut import Graph
from taut.graphs import stack_graphs, without_nodes

SQUARE = (np.arange(8.0).reshape(4, 2), [[0, 1], [1, 2], [2, 3], [3, 0]])
POINT = (np.ones((1, 2)), [])


def test_graphs_stand_one_after_the_other():
    stacked = stack_graphs([SQUARE, POINT, SQUARE])
    assert stacked.lengths.tolist() == [4, 1, 4]
    assert stacked.n_edges.tolist() == [4, 0, 4]
    assert stacked.ends.tolist() == 2 * SQUARE[1]
    np.testing.assert_array_equal(stacked.rows[5:], SQUARE[0])
    assert stacked.edge_rows is stacked.node_type is stacked.edge_type is None
    assert stacked.n_edge_features == 0


@pytest.mark.parametrize(
    "graphs",
    [
        [SQUARE, POINT],
        [list(SQUARE), list(POINT)],
        [Graph(*SQUARE), POINT],
        (SQUARE, POINT),
        [(SQUARE[0].tolist(), np.array(SQUARE[1])), (POINT[0].astype(int), np.zeros((0, 2), int))],
        [(SQUARE[0].astype(np.float32), tuple(SQUARE[1])), (np.ones((1, 2), bool), ())],
    ],
    ids=["tuples", "lists", "Graph", "a tuple of them", "lists of numbers", "other numbers"],
)
def test_all_ways_of_writing_a_graph_mean_the_same(graphs):
    one, two = stack_graphs([SQUARE, POINT]), stack_graphs(graphs)
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_array_equal(one.ends, two.ends)
    assert two.rows.dtype == np.float64
    assert two.ends.dtype == np.int32


def test_sparse_features_stay_sparse():
    kinds = [sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
    graphs = [(kind(SQUARE[0]), SQUARE[1], kind(np.eye(4, 3))) for kind in kinds]
    stacked = stack_graphs(graphs)
    assert sparse.issparse(stacked.rows)
    np.testing.assert_array_equal(stacked.rows.toarray(), np.tile(SQUARE[0], (3, 1)))
    np.testing.assert_array_equal(stacked.edge_rows.toarray(), np.tile(np.eye(4, 3), (3, 1)))


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_graph_without_edges_may_leave_out_their_features(as_matrix):
    with_features = (*SQUARE, as_matrix(np.eye(4, 3)))
    for graphs in ([with_features, POINT], [POINT, with_features], [(*POINT, None), with_features]):
        assert stack_graphs(graphs).edge_rows.shape == (4, 3)


def test_types_and_weights_are_stacked():
    graph = Graph(*SQUARE, None, [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0.5, 2])
    point = Graph(*POINT, None, [1], [], [3])
    stacked = stack_graphs([graph, point])
    assert stacked.node_type.tolist() == [0, 1, 0, 1, 1]
    assert stacked.edge_type.tolist() == [0, 0, 1, 1]
    assert stacked.node_weight.tolist() == [1, 1, 0.5, 2, 3]


NAN, INF = SQUARE[0].copy(), SQUARE[0].copy()
NAN[2, 1], INF[3, 0] = np.nan, np.inf


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        ((NAN, SQUARE[1]), ValueError, r"node features of graphs\[1\].* at node 2, column 1"),
        ((INF, SQUARE[1]), ValueError, r"node features of graphs\[1\].* at node 3, column 0"),
        ((sparse.csr_array(NAN), SQUARE[1]), ValueError, r"graphs\[1\].* at node 2, column 1"),
        ((np.ones((4, 3)), SQUARE[1]), ValueError, r"graphs\[1\] has 3 features per node but gr"),
        ((sparse.csr_array(SQUARE[0]), SQUARE[1]), TypeError, r"graphs\[1\] and graphs\[0\] mix"),
        ((SQUARE[0], [[0, 1], [1, 4]]), ValueError, r"edge 1 of graphs\[1\] joins nodes 1 and 4"),
        ((SQUARE[0], [[0, -1]]), ValueError, r"edge 0 of graphs\[1\] joins nodes 0 and -1"),
        ((SQUARE[0], [[0, 2**40]]), ValueError, r"edge 0 of graphs\[1\] joins nodes 0 and"),
        ((SQUARE[0], [[0, 1], [2, 2]]), ValueError, r"edge 1 of graphs\[1\] joins node 2 with its"),
        ((SQUARE[0], [0, 1]), ValueError, r"edges of graphs\[1\] are an array of shape \(2,\)"),
        ((SQUARE[0], [[0, 1, 2]]), ValueError, r"edges of graphs\[1\] are an array of shape \(1,"),
        ((SQUARE[0], [[0.0, 1.0]]), ValueError, r"edges of graphs\[1\] are .* type float64"),
        ((SQUARE[0], [["a", "b"]]), ValueError, r"edges of graphs\[1\] are an array"),
        ((np.ones(4), SQUARE[1]), ValueError, r"node features of graphs\[1\] have shape \(4,\)"),
        ((np.ones((0, 2)), []), ValueError, r"graphs\[1\] has no nodes"),
        (([["a", "b"]], []), TypeError, r"node features of graphs\[1\] are not a matrix of num"),
        (([[1, 2], [3]], []), TypeError, r"node features of graphs\[1\] are not a matrix of num"),
        ((1j * SQUARE[0], []), TypeError, r"node features of graphs\[1\] are not a matrix of num"),
        ((SQUARE[0],), TypeError, r"graphs\[1\] is a tuple of 1 values; \(node_features, edges\)"),
        (SQUARE[0], TypeError, r"graphs\[1\] is a ndarray"),
    ],
    ids=[
        "NaN", "infinity", "NaN in CSR", "width", "dense and sparse",
        "no such node", "negative node", "huge node", "loop", "flat edges", "wide edges",
        "fractional edges", "named edges", "flat features", "no nodes", "strings", "ragged",
        "complex", "one value", "a matrix",
    ],
)  # fmt: skip
def test_a_bad_graph_is_refused_with_its_place(graph, error, message):
    with pytest.raises(error, match=message):
        stack_graphs([SQUARE, graph])


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        ((*SQUARE, NAN), ValueError, r"edge features of graphs\[1\].* at edge 2, column 1"),
        ((*SQUARE, np.ones((3, 2))), ValueError, r"graphs\[1\] has 4 edges but 3 rows of edge"),
        ((*SQUARE, np.ones((4, 3))), ValueError, r"graphs\[1\] has 3 features per edge but gr"),
        ((*SQUARE, sparse.csr_array((4, 2))), TypeError, r"graphs\[1\] and graphs\[0\] mix.* edge"),
        (SQUARE, ValueError, r"graphs\[1\] has no edge features but graphs\[0\] has"),
    ],
    ids=["NaN", "rows", "width", "dense and sparse", "none"],
)
def test_bad_edge_features_are_refused_with_their_place(graph, error, message):
    with pytest.raises(error, match=message):
        stack_graphs([(*SQUARE, np.ones((4, 2))), graph])


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        ([], ValueError, "graphs is empty"),
        (Graph(*SQUARE), TypeError, "graphs is a Graph; a list of graphs"),
        (None, TypeError, "graphs is a NoneType"),
        ({0: SQUARE}, TypeError, "graphs is a dict"),
    ],
    ids=["empty", "one graph", "nothing", "a dict"],
)
def test_what_is_no_list_of_graphs_is_refused(graphs, error, message):
    with pytest.raises(error, match=message):
        stack_graphs(graphs)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (dict(node_types=[0, 1]), r"node_types of graphs\[0\] has shape \(2,\), it has 4 nodes"),
        (dict(edge_types=[0]), r"edge_types of graphs\[0\] has shape \(1,\), it has 4 edges"),
        (
            dict(node_types=[0, 1, 0, -1]),
            r"node 3 of graphs\[0\] is of type -1; types are integers",
        ),
        (
            dict(node_types=[0, 1, 0, 0.5]),
            r"node 0 of graphs\[0\] is of type 0.0; types are integers",
        ),
        (dict(node_weights=[0, 1, 0, np.nan]), r"node 3 of graphs\[0\] has weight nan; it must be"),
        (dict(node_weights=[0, 1, 0, -1]), r"node 3 of graphs\[0\] has weight -1; it must be fin"),
        (dict(node_types=[0, 1, 0, 0]), r"graphs\[1\] has no node_types but graphs\[0\] has"),
    ],
    ids=["too few", "too few edges", "negative", "fraction", "NaN", "negative weight", "some only"],
)
def test_types_and_weights_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        stack_graphs([Graph(*SQUARE, **fields), POINT])


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2**32, "4294967296"),  # which is 0 in 32 bits
        (2**31, "2147483648"),  # which is negative there
        (2**64 - 1, "0.0"),  # numpy makes floats of these
        (2**70, "1180591620717411303424"),
        (-1, "-1"),
        (1.0, "0.0"),
        (np.nan, "0.0"),
        (None, "None"),
        ("a", "'0'"),
    ],
)
@pytest.mark.parametrize("what", ["node", "edge"])
def test_types_out_of_range_are_refused_with_their_place(what, value, written):
    types = {f"{what}_types": [0, 0, 0, value]}
    expected = (
        rf"{what} \d of graphs\[1\] is of type {written}.*; types are integers from 0 to 2147483647"
    )
    with pytest.raises(ValueError, match=expected):
        stack_graphs([Graph(*SQUARE, **{f"{what}_types": [0] * 4}), Graph(*SQUARE, **types)])


def test_types_of_every_kind_that_holds_integers_are_taken():
    for kind in (np.int8, np.uint64, np.int64, object):
        stacked = stack_graphs([Graph(*SQUARE, node_types=np.array([0, 1, 2, 1], kind))])
        assert stacked.node_type.tolist() == [0, 1, 2, 1]
        assert stacked.node_type.dtype == np.int32


@pytest.mark.parametrize("field", ["node_types", "edge_types", "node_weights"])
def test_ragged_types_and_weights_are_refused_with_their_place(field):
    with pytest.raises(ValueError, match=rf"{field} of graphs\[0\] are ragged; one number per"):
        stack_graphs([Graph(*SQUARE, **{field: [[0], [0, 1], 0, 0]})])


def test_ragged_edges_are_refused_with_their_place():
    with pytest.raises(ValueError, match=r"the edges of graphs\[0\] are ragged; integers of shape"):
        stack_graphs([(SQUARE[0], [[0, 1], [2]])])


@pytest.mark.parametrize("edges", [[[0, 1], [0, 1]], [[0, 1], [2, 3], [1, 0]]])
def test_two_edges_between_the_same_nodes_are_refused(edges):
    with pytest.raises(ValueError, match=r"graphs\[1\] has two edges between nodes 0 and 1"):
        stack_graphs([SQUARE, (SQUARE[0], edges, np.eye(len(edges), 3))])


def test_edges_of_different_types_may_join_the_same_nodes():
    graph = Graph(SQUARE[0], [[0, 1], [1, 0]], edge_types=[0, 1])
    assert stack_graphs([graph]).n_edges.tolist() == [2]


# --- leaving nodes out ------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_without_nodes_is_the_graphs_rebuilt_without_them(seed):
    rng = np.random.default_rng(seed)
    graphs, kept_graphs, keep = [], [], []
    for n in rng.integers(1, 6, 4):
        x, kept = rng.normal(size=(n, 2)), rng.random(n) < 0.6
        pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
        edges = rng.permutation(pairs)[:6]
        Z, types = rng.normal(size=(len(edges), 3)), rng.integers(0, 2, len(edges))
        graphs.append(Graph(x, edges, Z, np.arange(n), types, rng.random(n)))
        keep.append(kept)
        if kept.any():
            number, both = np.cumsum(kept) - 1, kept[edges].all(axis=1)
            kept_graphs.append(
                Graph(
                    x[kept], number[edges[both]], Z[both], np.arange(n)[kept], types[both],
                    graphs[-1].node_weights[kept],
                )
            )  # fmt: skip
    if not kept_graphs:
        return
    thinned, left = without_nodes(stack_graphs(graphs), np.concatenate(keep))
    assert left.tolist() == [part.any() for part in keep]
    for one, two in zip(thinned, stack_graphs(kept_graphs), strict=True):
        np.testing.assert_array_equal(one, two)


def test_keeping_all_nodes_changes_nothing():
    stacked = stack_graphs([SQUARE, POINT])
    same, left = without_nodes(stacked, np.ones(5, bool))
    assert same is stacked
    assert left.all()


def test_sparse_features_can_be_thinned_out_too():
    graph = (sparse.csr_array(SQUARE[0]), SQUARE[1], sparse.csr_array(np.eye(4, 3)))
    thinned, _ = without_nodes(stack_graphs([graph]), np.array([True, True, True, False]))
    np.testing.assert_array_equal(thinned.rows.toarray(), SQUARE[0][:3])
    np.testing.assert_array_equal(thinned.edge_rows.toarray(), np.eye(2, 3))
    assert thinned.ends.tolist() == [[0, 1], [1, 2]]
