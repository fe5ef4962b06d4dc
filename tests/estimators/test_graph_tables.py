"""GraphSVM on graphs with tables: scores of three or more nodes together."""

import pickle

import numpy as np
import pytest

from taut import Graph, GraphCRF, GraphSVM, TreeCRF
from taut.graphs import stack_graphs, without_nodes

PARITY = [[0, 1, 2], [3, 4, 5]]


def switches(n, seed=0):
    """Of every three switches, the last is on if exactly one of the others is: no pair tells."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for _ in range(n):
        y = rng.integers(0, 2, 6)
        y[2], y[5] = y[0] ^ y[1], y[3] ^ y[4]
        x = (2 * y - 1 + rng.normal(scale=1.5, size=6))[:, None]
        graphs.append(Graph(x, [], tables=PARITY))
        labels.append([["off", "on"][k] for k in y])
    return graphs, labels


TRAIN, TEST = switches(40), switches(60, seed=1)


def new_svm(**options):
    return GraphSVM(**{"C": 1.0, "tol": 0.01, "random_state": 0} | options)


@pytest.fixture(scope="module")
def fitted():
    return new_svm().fit(*TRAIN)


def test_what_no_pair_tells_is_learned(fitted):
    assert fitted.inference_ == "none"
    assert fitted.solution_.relative_gap <= 0.01
    odd = np.indices((2, 2, 2)).sum(axis=0) % 2 == 1
    (table,) = fitted.table_coef_  # one row: the constant 1
    assert table[~odd].min() > table[odd].max()
    pairs = [Graph(graph.nodes, [[0, 1], [1, 2], [0, 2]]) for graph in TRAIN[0]]
    by_pairs = new_svm(pairwise="full").fit(pairs, TRAIN[1])
    test_pairs = [Graph(graph.nodes, [[0, 1], [1, 2], [0, 2]]) for graph in TEST[0]]
    assert fitted.score(*TEST) > by_pairs.score(test_pairs, TEST[1]) + 0.01


def test_predictions_are_best_with_all_scores(fitted):
    for graph, predicted in zip(TEST[0][:10], fitted.predict(TEST[0][:10]), strict=True):
        scores = fitted.coef_ @ graph.nodes.T + fitted.intercept_[:, None]

        def value(y, scores=scores):
            of_tables = sum(fitted.table_coef_[0][tuple(y[nodes])] for nodes in PARITY)
            return scores[y, np.arange(6)].sum() + of_tables

        found = np.array([["off", "on"].index(label) for label in predicted])
        best = max(value(np.array(y)) for y in np.ndindex(*[2] * 6))
        assert value(found) == pytest.approx(best, abs=1e-9)


def test_graphs_to_predict_need_no_tables(fitted):
    x = np.array([[3.0], [-3.0]])
    assert fitted.predict([Graph(x, [])]) == [["on", "off"]]
    assert fitted.predict([(x, [])]) == [["on", "off"]]


def test_a_fitted_model_can_be_pickled(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(TEST[0]) == fitted.predict(TEST[0])


def test_types_of_tables_have_weights_of_their_own():
    graphs = [graph._replace(table_types=[0, 1]) for graph in TRAIN[0]]
    clf = new_svm().fit(graphs, TRAIN[1])
    assert [table.shape for table in clf.table_coef_] == [(1, 2, 2, 2)] * 2
    assert np.any(clf.table_coef_[0] != clf.table_coef_[1])


def test_without_types_tables_are_as_different_as_the_nodes_they_join():
    types = [0, 0, 1, 0, 0, 0]
    graphs = [graph._replace(node_types=types) for graph in TRAIN[0]]
    clf = new_svm(tol=0.1).fit(graphs, TRAIN[1])
    assert clf._graph_model.tables == ((0, 0, 0), (0, 0, 1))
    other = TEST[0][0]._replace(node_types=types, tables=[[2, 1, 0]])
    with pytest.raises(ValueError, match=r"table 0 of graphs\[0\] joins node types \(1, 0, 0\)"):
        clf.predict([other])


def test_features_of_tables_multiply_their_weights():
    """Of half of the tables they are zero: those say nothing."""
    graphs = [graph._replace(table_features=[[1.0, 0.0], [0.0, 0.0]]) for graph in TRAIN[0]]
    clf = new_svm(tol=0.1).fit(graphs, TRAIN[1])
    assert clf.table_coef_.shape == (2, 2, 2, 2)
    assert clf.table_coef_[0].any()
    assert not clf.table_coef_[1].any()
    assert len(clf.predict(graphs[:2])) == 2
    with pytest.raises(ValueError, match=r"graphs have no table features, the model .* with 2"):
        clf.predict(TEST[0])


def test_tables_of_nodes_without_a_label_are_left_out():
    stacked = stack_graphs([Graph(np.eye(5), [], tables=[[0, 1, 2], [4, 3, 2]])] * 2)
    keep = np.array([True] * 4 + [False] + [False] + [True] * 4)
    left, _ = without_nodes(stacked, keep)
    assert [[nodes.tolist() for nodes in of] for of in left.tables.nodes] == [
        [[0, 1, 2]],
        [[3, 2, 1]],
    ]
    labels = [[*y[:5], None] for y in TRAIN[1]]
    clf = new_svm(tol=0.1).fit(TRAIN[0], labels)
    assert clf.table_coef_.any()


# --- what is refused -----------------------------------------------------------------------------

X = np.ones((4, 1))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"tables": 3}, TypeError, r"the tables of graphs\[0\] are a int; a list of lists"),
        ({"tables": [[0, 1]]}, ValueError, r"tables\[0\] of graphs\[0\] has 2 nodes; .* edges"),
        ({"tables": [[0, 1, 2], [1, 2, 4]]}, ValueError, r"tables\[1\] .* has node 4, but the 4"),
        ({"tables": [[0, 1, 1]]}, ValueError, r"lists a node twice: \[0, 1, 1\]"),
        ({"tables": [[0, 1, 0.5]]}, ValueError, r"is \[0, 1, 0.5\]; a list of nodes"),
        ({"tables": [[0, [1], 2]]}, ValueError, r"tables\[0\] of graphs\[0\] is ragged"),
        ({"table_types": [0]}, ValueError, r"graphs\[0\] has features or types of tables, but no"),
        ({"tables": [[0, 1, 2]], "table_types": [0, 1]}, ValueError, r"shape \(2,\), it has 1"),
        ({"tables": [[0, 1, 2]], "table_types": [-1]}, ValueError, r"table 0 .* is of type -1"),
        ({"tables": [[0, 1, 2]], "table_features": [[1], [2]]}, ValueError, r"1 tables but 2 rows"),
    ],
)
def test_bad_tables_are_named_with_their_place(given, error, message):
    with pytest.raises(error, match=message):
        new_svm().fit([Graph(X, [], **given)], [[0, 1, 0, 1]])


def test_the_number_of_a_type_is_bounded():
    graph = Graph(X, [], tables=[[0, 1, 2]], table_types=[2_000_000])
    with pytest.raises(ValueError, match=r"table 0 of graphs\[0\] is of type 2000000, and there"):
        new_svm().fit([graph], [[0, 1, 0, 1]])


def test_more_than_64_joint_labels_are_refused():
    graphs = [Graph(np.eye(5), [], tables=[[0, 1, 2]])]
    with pytest.raises(ValueError, match=r"125 joint states, .* 5 \* 5 \* 5 .* at most 64"):
        new_svm().fit(graphs, [list("abcde")])


@pytest.mark.parametrize("options", [{"solver": "bcfw"}, {"formulation": "slack"}])
def test_training_with_an_oracle_is_refused_with_a_remedy(options):
    with pytest.raises(ValueError, match=r"augmented-lagrangian|margin"):
        new_svm(**options).fit(*TRAIN)


@pytest.mark.parametrize("kind", [GraphCRF, TreeCRF])
def test_crfs_have_no_tables(kind):
    with pytest.raises(ValueError, match=f"tables, which {kind.__name__} has no probabilities for"):
        kind().fit(*TRAIN)


def test_a_model_without_tables_does_not_predict_graphs_with_some():
    clf = new_svm().fit([Graph(graph.nodes, []) for graph in TRAIN[0]], TRAIN[1])
    assert clf.table_coef_ == []
    with pytest.raises(ValueError, match=r"graphs\[0\] has tables, and the model was fitted with"):
        clf.predict(TEST[0])
