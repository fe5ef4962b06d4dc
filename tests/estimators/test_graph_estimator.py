"""GraphSVM: graphs and labels as people have them, in scikit-learn's manner."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from untrained import as_if_trained

from taut import Graph, GraphCRF, GraphSVM, MulticlassSVM, TreeCRF


def grid(n):
    """Edges of a grid of n x n nodes."""
    number = np.arange(n * n).reshape(n, n)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def patches(n_graphs, n=3, noise=0.6, seed=0):
    """Grids whose left and right halves have different labels, seen through noise."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for _ in range(n_graphs):
        y = np.repeat([np.r_[np.zeros(n // 2), np.ones(n - n // 2)]], n, axis=0).ravel().astype(int)
        y = y if rng.random() < 0.5 else 1 - y
        x = np.stack([y - 0.5 + noise * rng.normal(size=n * n), np.ones(n * n)], axis=1)
        graphs.append((x, grid(n)))
        labels.append(y)
    return graphs, labels


GRAPHS, LABELS = patches(6)
STANDARD = dict(C=0.5, tol=1e-4, random_state=0)


def renamed(labels, names):
    return [[names[k] for k in part] for part in labels]


def same_optimum(one, two):
    """The objective is strongly convex: |w - w*| <= sqrt(2 gap / lambda) for each."""
    a, b = one.solution_, two.solution_
    radius = sum(np.sqrt(2 * max(s.gap, 1e-14) / s.lam) for s in (a, b))
    return bool(np.linalg.norm(one.w_ - two.w_) <= radius)


@pytest.fixture(scope="module")
def fitted():
    return GraphSVM(**STANDARD).fit(GRAPHS, LABELS)


# --- manners ----------------------------------------------------------------------------------


def test_parameters_are_stored_as_they_are_given():
    table = np.ones((1, 2, 2))
    clf = GraphSVM(C=3.0, pairwise=table, missing_label="?", bounds=(-1, 1))
    assert clf.pairwise is table
    copy = clone(clf)
    assert copy.get_params().keys() == clf.get_params().keys()
    assert (copy.C, copy.missing_label, copy.bounds) == (3.0, "?", (-1, 1))
    np.testing.assert_array_equal(clf.set_params(C=2.0).pairwise, copy.pairwise)
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(kernel="rbf")


def test_fitting_does_not_touch_the_data(fitted):
    before = [x.copy() for x, _ in GRAPHS]
    clone(fitted).fit(GRAPHS, LABELS).predict(GRAPHS)
    for (x, _), old in zip(GRAPHS, before, strict=True):
        np.testing.assert_array_equal(x, old)


def test_a_pickled_model_predicts_and_goes_on_as_the_original():
    clf = GraphSVM(**STANDARD, warm_start=True).fit(GRAPHS, LABELS)
    other = pickle.loads(pickle.dumps(clf))
    for ours, theirs in zip(clf.predict(GRAPHS), other.predict(GRAPHS), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for one in (clf, other):
        one.set_params(tol=1e-7).fit(GRAPHS, LABELS)
    np.testing.assert_array_equal(clf.w_, other.w_)


def test_what_is_not_fitted_predicts_nothing():
    with pytest.raises(NotFittedError):
        GraphSVM().predict(GRAPHS)


def test_the_same_random_state_gives_the_same_bits_whatever_the_threads(fitted):
    again, threads = (GraphSVM(**STANDARD, n_jobs=n).fit(GRAPHS, LABELS) for n in (None, 3))
    np.testing.assert_array_equal(fitted.w_, again.w_)
    np.testing.assert_array_equal(fitted.w_, threads.w_)


def test_neighbours_help(fitted):
    graphs, labels = patches(5, n=6, seed=2)
    nodes = [(x, []) for x, _ in graphs]
    alone = GraphSVM(**STANDARD).fit([(x, []) for x, _ in GRAPHS], LABELS)
    with_edges = fitted.score(graphs, labels)
    assert with_edges > alone.score(nodes, labels) + 0.05
    right = sum(np.sum(a == b) for a, b in zip(fitted.predict(graphs), labels, strict=True))
    assert with_edges == right / sum(map(len, labels))


def test_the_attributes_say_what_was_learned(fitted):
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.coef_.shape == (2, 2)
    assert fitted.intercept_.shape == (2,)
    assert fitted.edge_coef_.shape == (1, 1)
    assert fitted.n_features_in_ == 2
    assert fitted.w_.size == 4 + 2 + 1
    assert fitted.inference_ == "exhaustive"
    assert fitted.solution_.relative_gap <= 1e-4
    assert fitted.solution_.certifies == ""


def test_running_out_of_passes_is_said():
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        GraphSVM(tol=1e-9, max_passes=1, random_state=0).fit(GRAPHS, LABELS)


def test_a_relaxation_is_called_one():
    clf = GraphSVM(**STANDARD, inference="roof-duality").fit(GRAPHS, LABELS)
    assert clf.solution_.certifies == "LP relaxation"
    assert clf.solution_.inference == clf.inference_ == "roof-duality"
    assert "inference by roof-duality: objective and proof are those of the LP relaxation" in str(
        clf.solution_
    )


# --- labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [["sea", "sky"], [3, 7], [("a", 1), ("b", 2)], [False, True], ["x", 0]],
    ids=["strings", "integers", "tuples", "booleans", "mixed"],
)
def test_labels_may_be_anything_and_come_back_as_they_were(fitted, names):
    clf = GraphSVM(**STANDARD).fit(GRAPHS, renamed(LABELS, names))
    predicted = clf.predict(GRAPHS)
    assert all(type(part) is list for part in predicted)
    flat = {label for part in predicted for label in part}
    assert flat == set(names)
    if names != ["x", 0]:  # sorted, mixed kinds by their type
        assert predicted == renamed(fitted.predict(GRAPHS), names)


def test_arrays_come_back_as_arrays(fitted):
    names = np.array(["no", "yes"])
    clf = GraphSVM(**STANDARD).fit(GRAPHS, [names[part] for part in LABELS])
    predicted = clf.predict(GRAPHS)
    assert predicted[0].dtype == names.dtype
    assert [p.tolist() for p in predicted] == [names[p].tolist() for p in fitted.predict(GRAPHS)]


def forgetful(labels, missing, seed=0):
    rng = np.random.default_rng(seed)
    return [[missing if rng.random() < 0.3 else int(k) for k in part] for part in labels]


@pytest.mark.parametrize(
    ("missing", "options"),
    [(-1, {}), (None, {}), ("?", dict(missing_label="?")), (99, dict(missing_label=99))],
    ids=["-1", "None", "own string", "own number"],
)
def test_nodes_without_a_label_are_left_out_of_training(missing, options):
    """With their edges: the same as graphs that never had them."""
    labels = forgetful(LABELS, missing)
    labels[2] = [missing] * 9  # a graph of which nothing is known
    graphs, rest = [], []
    for (x, edges), part in zip(GRAPHS, labels, strict=True):
        kept = np.array([label != missing for label in part])
        if kept.any():
            number = np.cumsum(kept) - 1
            graphs.append((x[kept], number[edges[kept[edges].all(axis=1)]]))
            rest.append([label for label in part if label != missing])
    with_gaps = GraphSVM(**STANDARD, **options).fit(GRAPHS, labels)
    without = GraphSVM(**STANDARD).fit(graphs, rest)
    np.testing.assert_array_equal(with_gaps.w_, without.w_)
    assert with_gaps.solution_.primal == without.solution_.primal
    # All nodes are labelled by prediction, and those that are known count for the score.
    predicted = with_gaps.predict(GRAPHS)
    assert [len(part) for part in predicted] == [9] * 6
    pairs = [
        (a, b) for p, y in zip(predicted, labels, strict=True) for a, b in zip(p, y, strict=True)
    ]
    known = [a == b for a, b in pairs if b != missing]
    assert with_gaps.score(GRAPHS, labels) == np.mean(known)


def test_missing_labels_in_arrays():
    arrays = [np.array(part) for part in forgetful(LABELS, -1)]
    one = GraphSVM(**STANDARD).fit(GRAPHS, arrays)
    two = GraphSVM(**STANDARD).fit(GRAPHS, forgetful(LABELS, None))
    np.testing.assert_array_equal(one.w_, two.w_)
    assert one.classes_.tolist() == [0, 1]


def test_the_weights_of_graphs_follow_the_graphs_that_are_left():
    labels = [list(map(int, part)) for part in LABELS]
    labels[1] = [-1] * 9
    weight = np.array([1.0, 100.0, 2.0, 1.0, 0.5, 1.0])
    rest = [0, 2, 3, 4, 5]
    one = GraphSVM(**STANDARD).fit(GRAPHS, labels, sample_weight=weight)
    two = GraphSVM(**STANDARD).fit(
        [GRAPHS[i] for i in rest], [labels[i] for i in rest], sample_weight=weight[rest]
    )
    np.testing.assert_array_equal(one.w_, two.w_)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (LABELS[:5], ValueError, "graphs has 6 .* but labels has 5"),
        ([*LABELS[:5], [0, 1]], ValueError, r"labels\[5\] has 2 labels but graphs\[5\] has 9"),
        ([[0] * 9] * 6, ValueError, "one label only, 0"),
        ([[-1] * 9] * 6, ValueError, "no node has a label"),
        ("sky", TypeError, "labels is a str"),
        ([*LABELS[:5], "abcdefghi"], TypeError, r"labels\[5\] is 'abcdefghi'"),
        ([*LABELS[:5], [[0]] * 9], TypeError, "hashable"),
        ([*LABELS[:5], np.zeros((9, 1))], ValueError, r"labels\[5\] has shape \(9, 1\)"),
    ],
    ids=["graphs", "nodes", "one class", "none known", "string", "strings", "lists", "column"],
)
def test_labels_that_do_not_fit_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        GraphSVM().fit(GRAPHS, labels)


def test_a_score_needs_labels(fitted):
    with pytest.raises(ValueError, match="nothing to score"):
        fitted.score(GRAPHS, [[None] * 9] * 6)
    # A label that was never seen is a mistake, not an error.
    assert fitted.score(GRAPHS[:1], [["never"] * 9]) == 0.0


# --- graphs -----------------------------------------------------------------------------------


def test_graphs_of_other_sizes_can_be_labelled(fitted):
    graphs, labels = patches(3, n=6, seed=2)
    point = (np.array([[2.0, 1.0]]), [])
    predicted = fitted.predict([graphs[0], point, *graphs[1:]])
    assert [len(part) for part in predicted] == [36, 1, 36, 36]
    assert predicted[1].tolist() == [1]
    assert fitted.score(graphs, labels) > 0.8


@pytest.mark.parametrize("inference", ["exhaustive", "roof-duality", "message-passing", "lp"])
def test_every_method_predicts_the_best_labels_where_the_relaxation_is_tight(fitted, inference):
    """Learned smoothness attracts, so all are exact here."""
    assert fitted.edge_coef_[0, 0] > 0
    for ours, theirs in zip(
        fitted.predict(GRAPHS, inference=inference), fitted.predict(GRAPHS), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("inference", ["graph-cut", "expansion"])
def test_attractive_models_predict_by_cuts(inference):
    clf = GraphSVM(**STANDARD, attractive=True, inference="exhaustive").fit(GRAPHS, LABELS)
    assert clf.edge_coef_[0, 0] >= 0
    for ours, theirs in zip(
        clf.predict(GRAPHS, inference=inference), clf.predict(GRAPHS), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_three_labels_are_trained_by_messages_and_predicted_by_expansion():
    rng = np.random.default_rng(4)
    labels = [np.repeat(rng.permutation(3), 3) for _ in range(6)]
    graphs = [(np.eye(3)[y] + 0.7 * rng.normal(size=(9, 3)), grid(3)) for y in labels]
    clf = GraphSVM(C=0.5, tol=1e-3, attractive=True, random_state=0).fit(graphs, labels)
    assert clf.inference_ == "message-passing"
    assert clf.solution_.relative_gap <= 1e-3
    assert clf.edge_coef_[0, 0] >= 0
    best = np.concatenate(clf.predict(graphs, inference="exhaustive"))
    for inference in ("expansion", "message-passing"):
        assert np.mean(np.concatenate(clf.predict(graphs, inference=inference)) == best) > 0.9
    assert clf.score(graphs, labels) > 0.7


def test_on_forests_max_sum_predicts_what_enumeration_does(fitted):
    chain = [(x, [[t, t + 1] for t in range(8)]) for x, _ in GRAPHS]
    for ours, theirs in zip(
        fitted.predict(chain, inference="max-sum"),
        fitted.predict(chain, inference="exhaustive"),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_sparse_features_are_the_same_features(fitted):
    sparse_graphs = [(sparse.csr_array(x), edges) for x, edges in GRAPHS]
    clf = GraphSVM(**STANDARD).fit(sparse_graphs, LABELS)
    a, b = clf.solution_, fitted.solution_
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) + 1e-12
    np.testing.assert_allclose(clf.coef_, fitted.coef_, atol=0.05)
    for x, y in zip(clf.predict(GRAPHS), clf.predict(sparse_graphs), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_constant_edge_feature_is_none():
    ones = [(x, edges, np.ones((len(edges), 1))) for x, edges in GRAPHS]
    csr = [(x, edges, sparse.csr_array(z)) for x, edges, z in ones]
    with_none = GraphSVM(**STANDARD).fit(GRAPHS, LABELS)
    for graphs in (ones, csr):
        assert same_optimum(GraphSVM(**STANDARD).fit(graphs, LABELS), with_none)


def test_graphs_without_edges_are_examples_of_a_multiclass_problem():
    """The loss counts nodes, so every node is an example of its own: C is that of all nodes."""
    nodes = [(x, []) for x, _ in GRAPHS]
    clf = GraphSVM(C=0.5, tol=1e-7).fit(nodes, LABELS)
    other = MulticlassSVM(C=0.5, tol=1e-7).fit(
        np.concatenate([x for x, _ in GRAPHS]), np.concatenate(LABELS)
    )
    # The same objective but for its scale, 1 over the number of examples.
    a, b = clf.solution_, other.solution_
    assert max(6 * a.dual, 54 * b.dual) <= min(6 * a.primal, 54 * b.primal) + 1e-12
    np.testing.assert_allclose(clf.coef_, other.coef_, atol=1e-2)


def test_node_weights_scale_the_loss():
    """Weight zero is a node without a loss, but with its edges; weight two counts twice."""
    rng = np.random.default_rng(3)
    weighted = [Graph(x, e, node_weights=rng.integers(0, 3, 9)) for x, e in GRAPHS]
    clf = GraphSVM(**STANDARD).fit(weighted, LABELS)
    graph, y = weighted[0], LABELS[0]
    at_zero = sum(float(np.sum(g.node_weights)) for g in weighted) / 6
    assert clf.solution_.scale == pytest.approx(at_zero)
    plain = [Graph(g.nodes, g.edges, node_weights=np.ones(9)) for g in weighted]
    assert same_optimum(
        GraphSVM(**STANDARD).fit(plain, LABELS), GraphSVM(**STANDARD).fit(GRAPHS, LABELS)
    )
    assert len(clf.predict([graph])[0]) == len(y)


def test_losses():
    """At w = 0 the objective is the mean of the worst losses."""
    scale = lambda **options: GraphSVM(**STANDARD, **options).fit(GRAPHS, LABELS).solution_.scale  # noqa: E731
    ones = np.mean([part.sum() for part in LABELS])
    assert scale() == pytest.approx(9.0)
    assert scale(loss="hamming") == pytest.approx(1.0)
    assert scale(loss=[[0.0, 2.0], [5.0, 0.0]]) == pytest.approx(5 * ones + 2 * (9 - ones))
    assert scale(class_weight={1: 3.0}) == pytest.approx(9 + 2 * ones)
    assert scale(class_weight="balanced") == pytest.approx(9.0)


# --- types ------------------------------------------------------------------------------------


def typed_graphs(seed=0, n=8):
    """Words (two labels) and the boxes they are in (three labels); boxes are joined in a row."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for _ in range(n):
        box = rng.integers(0, 3, 2)
        word = (rng.random(4) < np.array([0.1, 0.5, 0.9])[np.repeat(box, 2)]).astype(int)
        x = np.concatenate([box, word])[:, None] - 1.0 + 0.5 * rng.normal(size=(6, 1))
        edges = [[0, 2], [0, 3], [1, 4], [1, 5], [0, 1]]
        graphs.append(Graph(x, edges, node_types=[0, 0, 1, 1, 1, 1]))
        labels.append([f"box {k}" for k in box] + [f"word {k}" for k in word])
    return graphs, labels


def test_every_node_type_has_its_own_labels_and_weights():
    graphs, labels = typed_graphs()
    clf = GraphSVM(**STANDARD, pairwise="full").fit(graphs, labels)
    assert [c.tolist() for c in clf.classes_] == [
        ["box 0", "box 1", "box 2"],
        ["word 0", "word 1"],
    ]
    assert [c.shape for c in clf.coef_] == [(3, 1), (2, 1)]
    # Edges are as different as the nodes they join: box to box, box to word.
    assert [c.shape for c in clf.edge_coef_] == [(1, 9), (1, 6)]
    assert clf.inference_ == "max-sum"
    predicted = clf.predict(graphs)
    assert all(label.startswith("box") for part in predicted for label in part[:2])
    assert all(label.startswith("word") for part in predicted for label in part[2:])
    assert clf.score(graphs, labels) > 0.6


def test_edge_types_given_or_found_are_the_same_model():
    graphs, labels = typed_graphs()
    named = [graph._replace(edge_types=[1, 1, 1, 1, 0]) for graph in graphs]
    found = GraphSVM(**STANDARD, pairwise="full").fit(graphs, labels)
    given = GraphSVM(**STANDARD, pairwise="full").fit(named, labels)
    np.testing.assert_array_equal(found.w_, given.w_)


def test_edge_types_have_their_own_bases():
    directions = [
        Graph(x, edges, edge_types=np.repeat([0, 1], len(edges) // 2)) for x, edges in GRAPHS
    ]
    clf = GraphSVM(**STANDARD, pairwise=["potts", "full"]).fit(directions, LABELS)
    assert [c.shape for c in clf.edge_coef_] == [(1, 1), (1, 4)]
    assert clf.score(directions, LABELS) > 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(node_types=None), "was fitted with 2 node types; give node_types"),
        (
            dict(node_types=[0, 0, 1, 1, 1, 2]),
            r"node 5 of graphs\[1\] is of type 2, the model was fitted with types 0 to 1",
        ),
        (dict(edges=[[2, 0]]), r"edge 0 of graphs\[1\] joins node types 1 and 0, in that order"),
        (dict(edges=[[0, 1]], edge_types=[5]), "edge 0 of graph 1 is of type 5"),
    ],
    ids=["no types", "another node type", "another direction", "another edge type"],
)
def test_types_unknown_to_the_model_are_refused(change, message):
    graphs, labels = typed_graphs()
    clf = as_if_trained(GraphSVM(**STANDARD, pairwise="full"), graphs, labels)
    # All graphs have types and edge types, or none has.
    before = {name: None for name, value in change.items() if value is None and "type" in name}
    if "edge_types" in change:
        before["edge_types"] = np.zeros(len(graphs[0].edges), int)
    with pytest.raises(ValueError, match=message):
        clf.predict([graphs[0]._replace(**before), graphs[0]._replace(**change)])


@pytest.mark.parametrize("last", [2, 10**6, 2**31 - 1])
def test_a_node_type_without_labels_is_refused(last):
    """At once, however many there would be."""
    graphs, labels = typed_graphs()
    skipping = [graph._replace(node_types=[0, 0, *[last] * 4]) for graph in graphs]
    with pytest.raises(ValueError, match="no node of type 1 has a label; number the types from 0"):
        GraphSVM().fit(skipping, labels)


@pytest.mark.parametrize("estimator", [GraphSVM, GraphCRF, TreeCRF])
def test_types_do_not_wrap_around(estimator):
    """2**32 was type 0, and trained as such."""
    graph = Graph(np.eye(4), [[0, 1], [1, 2], [2, 3]])
    message = r"(node 3|edge 2) of graphs\[0\] is of type 4294967296; types are integers from 0 to"
    for types in (dict(node_types=[0, 0, 0, 2**32]), dict(edge_types=[0, 0, 2**32])):
        with pytest.raises(ValueError, match=message):
            estimator().fit([graph._replace(**types)], [["a", "b", "a", "b"]])
        trained = as_if_trained(estimator(), [graph], [["a", "b", "a", "b"]])
        with pytest.raises(ValueError, match=message):
            trained.predict([graph._replace(**types)])


def test_edge_types_may_be_missing_but_not_by_the_million():
    """Each has weights, whether there is such an edge or not."""
    graph = Graph(np.eye(4), [[0, 1], [1, 2], [2, 3]], edge_types=[0, 0, 5])
    assert len(GraphSVM().prepare([graph], [list("abab")]).problem.arrays.edges.at) == 6
    for last in (10**7, 2**31 - 1):
        message = rf"edge 2 of graphs\[0\] is of type {last}, and there are 3 edges; number the"
        with pytest.raises(ValueError, match=message):
            GraphSVM().fit([graph._replace(edge_types=[0, 0, last])], [list("abab")])


def test_only_nodes_with_the_same_labels_can_be_compared():
    with pytest.raises(ValueError, match=r"'potts' compares labels, but edge type 1 joins node ty"):
        GraphSVM(pairwise="potts").fit(*typed_graphs())


def test_a_cost_matrix_is_for_one_node_type():
    with pytest.raises(ValueError, match="one node type"):
        GraphSVM(loss=np.zeros((3, 3)), pairwise="full").fit(*typed_graphs())


# --- attractive models ------------------------------------------------------------------------


def repulsive():
    """Neighbours on a cycle always differ."""
    graphs = [(np.random.default_rng(i).normal(size=(10, 1)), cycle_of(10)) for i in range(4)]
    return graphs, [np.tile([0, 1], 5)] * 4


def cycle_of(n):
    return [[t, (t + 1) % n] for t in range(n)]


def test_the_box_keeps_edges_attractive():
    free = GraphSVM(**STANDARD).fit(*repulsive())
    boxed = GraphSVM(**STANDARD, attractive=True).fit(*repulsive())
    assert free.edge_coef_[0, 0] < 0
    assert (free.inference_, boxed.inference_) == ("roof-duality", "graph-cut")
    assert boxed.edge_coef_[0, 0] == 0.0
    assert boxed.solution_.certifies == ""


def test_cuts_refuse_edges_that_repel_and_name_them():
    graphs, labels = repulsive()
    free = GraphSVM(**STANDARD).fit(graphs, labels)
    for inference in ("graph-cut", "expansion"):
        with pytest.raises(ValueError, match=r"edge \d of graph 0, between nodes \d and \d"):
            free.predict(graphs, inference=inference)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(inference="graph-cut"), "set attractive=True"),
        (dict(attractive=True, pairwise="full"), "edge type 0 is not attractive"),
        (dict(attractive=True, pairwise="symmetric"), "edge type 0 is not attractive"),
        (dict(inference="expansion", attractive=True), "would certify nothing"),
        (dict(attractive=True, bounds=(-np.inf, -1.0)), "bounds= keeps weight 4 of 5 between"),
        (dict(inference="max-sum"), "the edges of graph 0 close a cycle"),
        (dict(inference="magic"), "inference='magic'"),
        (dict(pairwise="magic"), "pairwise='magic'"),
        (dict(unary="magic"), "unary='magic'"),
        (dict(pairwise=np.ones((1, 3, 3))), r"pairwise basis of edge type 0 has shape"),
        (dict(loss="magic"), "loss='magic'"),
        (dict(loss=np.zeros((3, 3))), r"cost matrix has shape \(3, 3\)"),
        (dict(class_weight={7: 1.0}), "class_weight names 7"),
        (dict(C=-1.0), "C=-1.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_cannot_be_trained_say_why(options, message):
    with pytest.raises(ValueError, match=message):
        GraphSVM(**options).fit(*repulsive())


def test_attractive_needs_edge_features_that_are_not_negative():
    graphs, labels = repulsive()
    graphs = [(x, edges, np.ones((10, 2))) for x, edges in graphs]
    graphs[2][2][7, 1] = -0.5
    with pytest.raises(ValueError, match=r"edge 7 of graph 2 has -0\.5 in column 1"):
        GraphSVM(attractive=True).fit(graphs, labels)


@pytest.mark.parametrize("wrong", [-1, 10])
def test_an_edge_to_a_node_that_does_not_exist_is_refused(wrong):
    graphs, labels = repulsive()
    graphs[3] = (graphs[3][0], [[0, 1], [wrong, 2]])
    with pytest.raises(ValueError, match=rf"edge 1 of graphs\[3\] joins nodes {wrong} and 2"):
        GraphSVM().fit(graphs, labels)


def test_features_that_do_not_fit_the_model_are_refused(fitted):
    x, edges = GRAPHS[0]
    with pytest.raises(ValueError, match="3 features per node, the model was fitted with 2"):
        fitted.predict([(np.ones((9, 3)), edges)])
    with pytest.raises(ValueError, match="1 features per edge, the model was fitted with none"):
        fitted.predict([(x, edges, np.ones((len(edges), 1)))])


def test_edge_features_are_needed_where_there_are_edges():
    graphs = [(x, edges, np.ones((len(edges), 2))) for x, edges in GRAPHS]
    clf = GraphSVM(**STANDARD).fit(graphs, LABELS)
    with pytest.raises(ValueError, match="no edge features, the model was fitted with 2"):
        clf.predict(GRAPHS)
    assert [len(part) for part in clf.predict([(x, []) for x, _ in GRAPHS])] == [9] * 6


# --- going on ---------------------------------------------------------------------------------


def test_a_warm_start_goes_on_from_the_last_fit():
    clf = GraphSVM(C=0.5, tol=1e-2, random_state=0, warm_start=True).fit(GRAPHS, LABELS)
    first = clf.n_iter_
    cold = GraphSVM(C=0.5, tol=1e-5, random_state=0).fit(GRAPHS, LABELS)
    warm = clf.set_params(tol=1e-5).fit(GRAPHS, LABELS)
    assert first > 0
    assert same_optimum(warm, cold)
    again = warm.set_params(tol=1e-4).fit(GRAPHS, LABELS)
    assert again.n_iter_ == 0


def test_a_warm_start_with_other_labels_is_refused():
    clf = GraphSVM(**STANDARD, warm_start=True).fit(GRAPHS, LABELS)
    with pytest.raises(ValueError, match="the labels differ"):
        clf.fit(GRAPHS, renamed(LABELS, ["a", "b"]))


def test_a_checkpoint_goes_on_with_the_run(tmp_path):
    options = dict(STANDARD, checkpoint=tmp_path / "run.npz")
    first = GraphSVM(**options).fit(GRAPHS, LABELS)
    resumed = GraphSVM(**options, resume=True).fit(GRAPHS, LABELS)
    np.testing.assert_array_equal(first.w_, resumed.w_)
    assert resumed.solution_.passes == first.solution_.passes
