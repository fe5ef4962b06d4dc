"""Many labels: training says what it would need, instead of asking numpy for all of it."""

import numpy as np
import pytest
from scipy import sparse
from untrained import as_if_trained

from taut import (
    BCFW,
    ChainCRF,
    ChainSVM,
    ChainSVMCV,
    GraphCRF,
    GraphSVM,
    MulticlassSVM,
    MultilabelSVM,
    TreeCRF,
)


@pytest.fixture(autouse=True)
def memory_of(monkeypatch):
    """The machine has as many bytes as a test says, or 25 GB."""

    def has(size):
        monkeypatch.setattr("taut.memory.memory_bytes", lambda: size)

    has(25e9)
    return has


def one_each(n_labels):
    """A sequence of one row for each label."""
    return [np.ones((1, 1))] * n_labels, [[k] for k in range(n_labels)]


def row_of(n_labels):
    """One graph, a path on which each node has another label."""
    edges = np.stack([np.arange(n_labels - 1), np.arange(1, n_labels)], axis=1)
    return [(np.ones((n_labels, 1)), edges)], [list(range(n_labels))]


@pytest.mark.parametrize(
    "estimator",
    [
        ChainSVM(transitions="all"),
        ChainSVM(transitions="all", solver="fw"),
        ChainSVM(transitions="all", solver="subgradient"),
        ChainSVM(transitions="all", solver="simplicial"),
        ChainSVM(transitions="all", slack_penalty="squared"),
        ChainSVMCV(cv=2, transitions="all"),
        ChainCRF(transitions="all", solver="sdca"),
        ChainCRF(transitions="all", solver="lbfgs"),
    ],
    ids=repr,
)
def test_pairs_of_5000_labels_in_5000_sequences(estimator):
    message = (
        r"^y: there are 5000 labels \(0, 1, 2, 3, 4, \.\.\.\); training takes 1,000.2 GB of "
        "memory, most of it for pairs of labels in each sequence, and there are 25.0 GB; are these "
        r"the labels\? Merge rare ones, or train on fewer examples$"
    )
    with pytest.raises(ValueError, match=message):
        estimator.fit(*one_each(5000))


def test_tables_of_60000_labels_where_only_steps_that_were_seen_have_weights():
    message = (
        r"^y: there are 60000 labels \(0, 1, 2, 3, 4, \.\.\.\); training takes 230.4 GB of memory, "
        "most of it for tables of all pairs of labels, and there are"
    )
    with pytest.raises(ValueError, match=message):
        ChainSVM().fit(*one_each(60_000))


def test_sequences_added_later_count_with_those_before(memory_of):
    X, y = one_each(20)
    clf = as_if_trained(ChainSVM(), X, y)
    clf.solution_.state, clf.solution_.solver = "there", BCFW()
    clf.solution_.slack_penalty = "linear"
    memory_of(150_000)  # 8 * 20^3 bytes would fit, and twice that do not
    with pytest.raises(ValueError, match=r"there are 20 labels; training takes 0.0 GB of memory"):
        clf.partial_fit(X, y)


def test_a_table_of_60000_classes():
    message = "there are 60000 labels; what mistakes cost takes 57.6 GB of memory, most of it for"
    for clf, data in (
        (MulticlassSVM(), (np.ones((120_000, 1)), np.arange(120_000) // 2)),
        (GraphSVM(), row_of(60_000)),
    ):
        with pytest.raises(ValueError, match=message):
            clf.fit(*data)


def test_labels_of_each_example(memory_of):
    """Without steps there are no pairs."""
    memory_of(100_000)
    with pytest.raises(ValueError, match=r"20 labels; training takes .* for labels in each examp"):
        MulticlassSVM().fit(np.ones((1000, 1)), np.arange(1000) % 20)


def test_weights_of_many_features():
    X, y = sparse.csr_array((10, 10**9)), np.arange(10) % 5
    message = r"there are 5 labels and 5,000,000,005 weights; training takes 80.0 GB of memory"
    with pytest.raises(ValueError, match=message):
        MulticlassSVM().fit(X, y)
    with pytest.raises(ValueError, match=r"there are 1,000,000,000 features; training takes 40.0"):
        ChainSVM(features="observed").fit([X], [y])


def test_step_features_make_a_table_for_each_step(memory_of):
    X, y = [(np.ones((50, 1)), np.ones((49, 2)))], [np.arange(50) % 10]
    clf = as_if_trained(ChainSVM(), X, y)
    memory_of(40_000)  # 8 * 49 * 10^2 bytes are most of it
    with pytest.raises(ValueError, match=r"10 labels; .* for pairs of labels at each of 49 steps"):
        clf.predict(X)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GraphSVM(), "300 labels; inference takes 0.2 GB .* at each edge of a graph that has 299"),
        (GraphCRF(), "300 labels; inference takes 0.4 GB .* at each edge of a graph that has 299"),
        (GraphSVM(solver="idal"), "299 edges; training without inference takes 0.2 GB"),
        (GraphSVM(pairwise="full"), r"pairwise scores \(full\) of 300 labels takes 129.6 GB"),
        (GraphSVM(pairwise="symmetric"), r"scores \(symmetric\) of 300 labels takes 65.0 GB"),
        (GraphSVM(pairwise="associative"), r"scores \(associative\) of 300 labels takes 0.4 GB"),
        (GraphSVM(attractive=True), "attractive=True: .* of 300 labels takes 0.4 GB"),
        (TreeCRF(), r"pairwise scores \(full\) of 300 labels takes 129.6 GB"),
    ],
    ids=repr,
)
def test_pairs_of_labels_of_graphs(estimator, message, memory_of):
    memory_of(1e8)
    with pytest.raises(ValueError, match=message):
        estimator.fit(*row_of(300))


def test_weights_of_edges_in_each_graph(memory_of):
    graphs, labels = row_of(10)
    problem = GraphSVM(pairwise="full").prepare(graphs * 1000, labels * 1000).problem
    memory_of(1e6)
    with pytest.raises(ValueError, match=r"1000 examples and 100 weights of edges; training takes"):
        problem.new_dual()


def test_pairs_of_all_labels_of_a_label_set(memory_of):
    X, Y = np.ones((50, 1)), np.eye(50, dtype=int)
    problem = MultilabelSVM().prepare(X, Y).problem
    memory_of(5e4)
    with pytest.raises(ValueError, match=r'joining all 50 labels .*; use edges="tree" or "none"'):
        MultilabelSVM().fit(X, Y)
    memory_of(1e6)
    with pytest.raises(ValueError, match=r"50 examples and 4900 weights of edges; training takes"):
        problem.new_dual()
