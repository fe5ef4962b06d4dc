"""CRFs on forests: the objective, its optimum and all probabilities, by enumeration."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from taut import BCFW, LBFGS, SDCA, ChainCRF, Graph, GraphCRF, Status, TreeCRF

STAR = [[0, 1], [2, 1], [1, 3]]


def random_edges(rng, n):
    """A forest; edges point up or down, and some nodes stay alone."""
    edges = [(int(rng.integers(t)), t) for t in range(1, n) if rng.random() < 0.8]
    return [edge[::-1] if rng.random() < 0.5 else edge for edge in edges]


def random_forests(n, seed=0, names="abc"):
    """Labels show in the features, and neighbours differ mostly."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for size in rng.integers(1, 6, n):
        edges = random_edges(rng, size)
        numbers = rng.integers(0, len(names), size)
        for u, v in edges:
            numbers[v] = (numbers[u] + 1) % len(names) if rng.random() < 0.6 else numbers[v]
        graphs.append((0.7 * np.eye(3)[numbers % 3] + rng.normal(size=(size, 3)), edges))
        labels.append([names[k] for k in numbers])
    return graphs, labels


GRAPHS, LABELS = random_forests(30)
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def crf():
    return TreeCRF(C=0.5, temperature=0.8, tol=1e-7, random_state=0).fit(GRAPHS, LABELS)


# --- by their definitions, in plain NumPy ------------------------------------------------------


def features(x, edges, y, n_states=3):
    """phi(x, y), laid out as coef_, intercept_ and edge_coef_ are."""
    nodes, pairs = np.eye(n_states)[y], np.zeros((n_states, n_states))
    for u, v in edges:
        pairs[y[u], y[v]] += 1.0
    return np.concatenate([(nodes.T @ x).ravel(), nodes.sum(axis=0), pairs.ravel()])


def table(crf, graph, n_states=3):
    """All labellings of a graph, their features, and their probabilities."""
    x, edges = graph
    some = list(product(range(n_states), repeat=len(x)))
    phi = np.array([features(x, edges, np.array(y), n_states) for y in some])
    weights = np.concatenate([crf.coef_.ravel(), crf.intercept_, crf.edge_coef_.ravel()])
    values = phi @ weights / crf.temperature
    p = np.exp(values - values.max())
    return some, phi, p / p.sum()


def largest_norm(graphs):
    """No labelling has features of a larger norm."""
    return max(
        np.linalg.norm([np.linalg.norm(x, axis=1).sum(), len(x), len(edges)]) for x, edges in graphs
    )


def numbers(labels):
    return [None if label in (None, -1) else NAMES.index(label) for label in labels]


def agrees(y, truth):
    return all(k is None or k == other for k, other in zip(truth, y, strict=True))


def likelihoods(crf, graphs, labels):
    """log p of what is known, and its gradient, of every graph."""
    for graph, truth in zip(graphs, labels, strict=True):
        some, phi, p = table(crf, graph)
        p_known = p * [agrees(y, numbers(truth)) for y in some]
        yield np.log(p_known.sum()), (p_known / p_known.sum() - p) @ phi / crf.temperature


def objective(crf, graphs, labels, sample_weight=None):
    """lambda/2 |w|^2 - T/n sum_i s_i log p_i, and its gradient."""
    w = np.concatenate([crf.coef_.ravel(), crf.intercept_, crf.edge_coef_.ravel()])
    n, T = len(graphs), crf.temperature
    s = np.ones(n) if sample_weight is None else sample_weight
    value, gradient = 0.5 * (w @ w) / (crf.C * n), w / (crf.C * n)
    for weight, (log_p, slope) in zip(s, likelihoods(crf, graphs, labels), strict=True):
        value -= T * weight * log_p / n
        gradient = gradient - T * weight * slope / n
    return value, gradient


# --- training ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_the_objective_is_what_it_says_and_optimal(solver):
    """|gradient|^2 <= 2 L (primal - optimum) where second derivatives are at most L: here lambda +
    s |phi|^2 / T, of weights s up to 2 and features |phi|."""
    weights = np.random.default_rng(1).uniform(0.3, 2.0, len(GRAPHS))
    crf = TreeCRF(C=0.5, temperature=0.8, solver=solver, tol=1e-7, random_state=0)
    crf.fit(GRAPHS, LABELS, weights)
    solution = crf.solution_
    assert solution.status is Status.CONVERGED
    value, gradient = objective(crf, GRAPHS, LABELS, weights)
    assert value == pytest.approx(solution.primal, rel=1e-12)
    assert solution.dual <= value <= solution.dual + 1e-7 * solution.scale * (1 + 1e-9)
    bound = 2 * (solution.lam + 2.0 * largest_norm(GRAPHS) ** 2 / 0.8) * solution.gap
    assert gradient @ gradient <= bound
    assert solution.scale == pytest.approx(
        0.8 * np.mean(weights * [len(x) * np.log(3) for x, _ in GRAPHS]), rel=1e-12
    )


def test_an_l1_norm_makes_weights_zero():
    crf = TreeCRF(C=0.5, l1=1.0, temperature=0.8, tol=1e-6, random_state=0).fit(GRAPHS, LABELS)
    assert 0 < np.count_nonzero(crf.w_) < crf.w_.size
    value, _ = objective(crf, GRAPHS, LABELS)
    solution = crf.solution_
    assert value + solution.lam * abs(crf.w_).sum() == pytest.approx(solution.primal, rel=1e-12)
    assert solution.status is Status.CONVERGED
    with pytest.raises(ValueError, match=r"l1=1.0: an l1 norm is for .* this one is relaxed"):
        GraphCRF(l1=1.0, solver="idal").fit(GRAPHS, LABELS)


def test_a_margin_can_be_asked_for():
    """Mistakes are scored up by one each."""
    crf = TreeCRF(C=0.5, temperature=0.5, loss_augmented=True, tol=1e-6, random_state=0)
    crf.fit(GRAPHS[:8], LABELS[:8])
    w = np.concatenate([crf.coef_.ravel(), crf.intercept_, crf.edge_coef_.ravel()])
    total = 0.5 * (w @ w) / (0.5 * 8)
    for (x, edges), truth in zip(GRAPHS[:8], LABELS[:8], strict=True):
        truth = np.array(numbers(truth))
        some = [np.array(y) for y in product(range(3), repeat=len(x))]
        values = [features(x, edges, y) @ w + np.sum(y != truth) for y in some]
        total += 0.5 * np.logaddexp.reduce(np.array(values) / 0.5) / 8
        total -= features(x, edges, truth) @ w / 8
    assert total == pytest.approx(crf.solution_.primal, rel=1e-12)


def test_a_chain_is_a_tree():
    """The same objective by other code: the optimum lies between both duals and both primals."""
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(size, 3)) for size in (1, 2, 5, 4)]
    y = [[NAMES[k] for k in rng.integers(0, 3, len(x))] for x in X]
    graphs = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    options = dict(C=2.0, temperature=0.7, tol=1e-9, random_state=0)
    tree = TreeCRF(**options).fit(graphs, y)
    chain = ChainCRF(**options, boundary=False).fit(X, y)
    first, second = tree.solution_, chain.solution_
    assert first.scale == pytest.approx(second.scale, rel=1e-12)
    assert max(first.dual, second.dual) <= min(first.primal, second.primal) + 1e-12
    assert abs(first.primal - second.primal) <= first.gap + second.gap + 1e-12
    # Weights are within sqrt(2 gap / lambda) of the optimum's, so no score is off by more than that
    # times its features, and no ratio of two probabilities by more than the exponential.
    distance = sum(np.sqrt(2 * part.gap / part.lam) for part in (first, second))
    tolerance = np.expm1(2 * distance * largest_norm(graphs) / 0.7)
    assert tolerance < 0.01
    for ours, theirs in zip(tree.predict_proba(graphs), chain.predict_proba(X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def test_sparse_features_types_and_edge_features_end_at_the_same_certificate():
    """Both solvers prove it: their brackets of the optimum overlap."""
    rng = np.random.default_rng(3)
    graphs, labels = [], []
    for _ in range(8):
        types = rng.integers(0, 2, 4)
        edges = [edge for edge in STAR if types[edge[0]] <= types[edge[1]]]
        graphs.append(
            Graph(
                sparse.csr_array(rng.normal(size=(4, 3)) * (rng.random((4, 3)) < 0.6)), edges,
                rng.normal(size=(len(edges), 2)), types,
            )
        )  # fmt: skip
        labels.append([rng.choice(["a", "b"] if kind == 0 else ["p", "q", "r"]) for kind in types])
    found = [
        TreeCRF(solver=solver, tol=1e-6, random_state=0).fit(graphs, labels).solution_
        for solver in ("sdca", "lbfgs")
    ]
    assert max(s.dual for s in found) <= min(s.primal for s in found) + 1e-12
    crf = TreeCRF(tol=1e-3, random_state=0).fit(graphs, labels)
    best = crf.predict_nbest(graphs, 1)
    assert [some[0][0] for some in best] == crf.predict(graphs)
    for rows, graph in zip(crf.predict_proba(graphs), graphs, strict=True):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert not rows[np.array(graph.node_types) == 0, 2].any()


def test_a_crf_has_the_manners_of_scikit_learn(crf):
    other = clone(crf)
    assert other.get_params() == crf.get_params()
    assert {"rho", "inference", "attractive"}.isdisjoint(crf.get_params())
    with pytest.raises(NotFittedError):
        other.predict_nbest(GRAPHS, 1)
    np.testing.assert_array_equal(other.fit(GRAPHS, LABELS).w_, crf.w_)
    again = pickle.loads(pickle.dumps(crf))
    np.testing.assert_array_equal(
        again.predict_proba(GRAPHS[:1])[0], crf.predict_proba(GRAPHS[:1])[0]
    )
    assert crf.inference_ == "sum-product"
    assert "a conditional random field" in str(crf.solution_)


def test_results_do_not_depend_on_the_number_of_threads():
    one, two = (
        TreeCRF(solver="lbfgs", n_jobs=jobs, tol=1e-4).fit(GRAPHS, LABELS) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.w_, two.w_)
    for first, second in zip(one.predict_proba(GRAPHS), two.predict_proba(GRAPHS), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_a_warm_start_goes_on(solver):
    crf = TreeCRF(solver=solver, warm_start=True, random_state=0).fit(GRAPHS, LABELS)
    proved = crf.solution_.dual
    crf.set_params(solver="auto", tol=1e-6).fit(GRAPHS, LABELS)
    assert type(crf.solution_.solver) is {"sdca": SDCA, "lbfgs": LBFGS}[solver]
    assert crf.solution_.dual >= proved
    assert crf.solution_.relative_gap <= 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    path = tmp_path / "run"
    options = dict(tol=0.0, random_state=0)
    whole = TreeCRF(**options, max_passes=20).fit(GRAPHS, LABELS)
    TreeCRF(**options, max_passes=10, checkpoint=path).fit(GRAPHS, LABELS)
    rest = TreeCRF(**options, max_passes=20, checkpoint=path, resume=True).fit(GRAPHS, LABELS)
    np.testing.assert_array_equal(rest.solution_.state.w, whole.solution_.state.w)


# --- probabilities -------------------------------------------------------------------------------


def test_marginals_are_those_of_all_labellings_and_sum_to_one(crf):
    for graph, rows in zip(GRAPHS, crf.predict_marginals(GRAPHS), strict=True):
        some, _, p = table(crf, graph)
        expected = np.einsum("y,ytk->tk", p, np.eye(3)[np.array(some)])
        np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_the_n_best_come_with_their_probabilities(crf):
    for graph, found in zip(GRAPHS, crf.predict_nbest(GRAPHS, 7), strict=True):
        some, _, p = table(crf, graph)
        by_labels = {tuple(NAMES[k] for k in y): q for y, q in zip(some, p, strict=True)}
        assert len(found) == min(7, len(some))
        assert len({tuple(labels) for labels, _ in found}) == len(found)
        for labels, probability in found:
            assert probability == pytest.approx(by_labels[tuple(labels)], rel=1e-11)
        best = np.sort(p)[::-1][: len(found)]
        np.testing.assert_allclose([q for _, q in found], best, rtol=1e-11)
    assert [found[0][0] for found in crf.predict_nbest(GRAPHS, 1)] == crf.predict(GRAPHS)


def test_all_labellings_of_a_forest_have_probability_one(crf):
    small = [graph for graph in GRAPHS if len(graph[0]) < 4]
    for found in crf.predict_nbest(small, 100):
        assert sum(probability for _, probability in found) == pytest.approx(1.0, abs=1e-12)


def test_samples_are_as_frequent_as_probable(crf):
    """Of n draws a labelling of probability p has n p, give or take sqrt(n p (1 - p)): five of
    those, for a test that is fixed by its seed."""
    graph, n = (np.random.default_rng(0).normal(size=(3, 3)), [[0, 1], [2, 1]]), 4000
    drawn = crf.sample([graph], n, random_state=0)[0]
    assert len(drawn) == n
    some, _, p = table(crf, graph)
    for y, q in zip(some, p, strict=True):
        count = sum(labels == [NAMES[k] for k in y] for labels in drawn)
        assert abs(count - n * q) <= 5 * np.sqrt(n * q * (1 - q)) + 1
    assert drawn == crf.sample([graph], n, random_state=0)[0]
    assert drawn != crf.sample([graph], n, random_state=1)[0]


def test_the_log_likelihood_of_labels_some_of_them_missing(crf):
    expected = [log_p for log_p, _ in likelihoods(crf, GRAPHS, LABELS)]
    np.testing.assert_allclose(crf.log_likelihood(GRAPHS, LABELS), expected, rtol=0, atol=1e-12)
    n, total = len(GRAPHS), 0.5 * (crf.w_ @ crf.w_) / (0.5 * len(GRAPHS))
    assert total - 0.8 * sum(expected) / n == pytest.approx(crf.solution_.primal, rel=1e-12)
    partial = hidden(LABELS, 0.5)
    expected = [log_p for log_p, _ in likelihoods(crf, GRAPHS, partial)]
    np.testing.assert_allclose(crf.log_likelihood(GRAPHS, partial), expected, rtol=0, atol=1e-12)
    nothing = [[None] * len(labels) for labels in LABELS]
    np.testing.assert_allclose(crf.log_likelihood(GRAPHS, nothing), 0.0, rtol=0, atol=1e-12)


def test_a_label_never_seen_has_no_probability(crf):
    unseen = [["z", *LABELS[0][1:]], LABELS[1]]
    found = crf.log_likelihood(GRAPHS[:2], unseen)
    np.testing.assert_array_equal(np.isfinite(found), [False, True])


def test_posterior_decoding_takes_every_nodes_most_probable_label(crf):
    other = pickle.loads(pickle.dumps(crf)).set_params(decoding="posterior")
    rows = crf.predict_marginals(GRAPHS)
    assert other.predict(GRAPHS) == [[NAMES[k] for k in row.argmax(axis=1)] for row in rows]
    # There must be a graph where that is not the best labelling.
    noise = random_forests(200, seed=7)[0]
    assert other.predict(noise) != crf.predict(noise)


# --- missing labels ------------------------------------------------------------------------------


def hidden(labels, share, seed=4):
    rng = np.random.default_rng(seed)
    return [[None if rng.random() < share else k for k in part] for part in labels]


def test_missing_labels_are_summed_over():
    """The likelihood of what is known has no slope at the weights found. The gap is that of the
    tangent, |gradient|^2 / (2 lambda)."""
    partial = hidden(LABELS, 0.4)
    assert [None] in partial  # a graph about which nothing is known
    crf = TreeCRF(C=0.5, tol=1e-8).fit(GRAPHS, partial)
    solution = crf.solution_
    assert isinstance(solution.solver, LBFGS)
    assert solution.status is Status.CONVERGED
    value, gradient = objective(crf, GRAPHS, partial)
    assert value == pytest.approx(solution.primal, rel=1e-12)
    assert 0.5 * (gradient @ gradient) / solution.lam == pytest.approx(solution.gap, rel=1e-3)
    assert solution.gap <= 1e-8 * solution.scale


def test_missing_labels_of_one_node_say_something_about_its_neighbours():
    """Left out, the middle node would cut the chain in two."""
    x, edges = np.array([[1.0], [0.0], [-1.0]]), [[0, 1], [1, 2]]
    graphs, partial = [(x, edges)] * 4, [["a", None, "b"]] * 3 + [["a", "b", "b"]]
    assert TreeCRF(C=10.0).fit(graphs, partial).edge_coef_[0, 3] > 0.1  # from b to b


def test_a_missing_label_may_have_a_name_and_labels_may_be_arrays():
    names = [np.array(part) for part in hidden([[f"{k}" for k in part] for part in LABELS], 0.0)]
    masked = [np.where(part == "c", "?", part) for part in names]
    crf = TreeCRF(missing_label="?").fit(GRAPHS, masked)
    assert crf.classes_.tolist() == ["a", "b"]
    assert isinstance(crf.predict(GRAPHS)[0], np.ndarray)
    assert isinstance(crf.predict_nbest(GRAPHS[:1], 1)[0][0][0], np.ndarray)


# --- small and large -----------------------------------------------------------------------------


def test_one_node_is_logistic_regression():
    """p(k) is the softmax of its scores."""
    x = np.random.default_rng(5).normal(size=(20, 3))
    graphs, labels = [(row[None], []) for row in x], [["abc"[k % 3]] for k in range(20)]
    crf = TreeCRF(tol=1e-6, random_state=0).fit(graphs, labels)
    scores = x @ crf.coef_.T + crf.intercept_
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = np.concatenate(crf.predict_proba(graphs))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert not crf.edge_coef_.any()


def test_isolated_nodes_are_independent(crf):
    x = np.random.default_rng(6).normal(size=(4, 3))
    whole = crf.predict_proba([(x, [[2, 0]])])[0]
    alone = crf.predict_proba([(x[[1]], []), (x[[3]], [])])
    np.testing.assert_allclose(whole[[1, 3]], np.concatenate(alone), rtol=0, atol=1e-14)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("kind", [TreeCRF, GraphCRF])
def test_one_label_is_refused(kind, solver):
    labels = [["a"] * len(part) for part in LABELS]
    with pytest.raises(ValueError, match=r"one label only, 'a'; there is nothing to learn"):
        kind(solver=solver).fit(GRAPHS, labels)


@pytest.mark.parametrize("kind", [TreeCRF, GraphCRF])
def test_labels_that_are_missing_are_no_second_label(kind):
    labels = [["a"] * len(part) for part in LABELS]
    labels[0][0] = None
    with pytest.raises(ValueError, match=r"one label only, 'a'; .*None and missing_label="):
        kind().fit(GRAPHS, labels)
    labels[1][0] = "b"
    assert kind().fit(GRAPHS, labels).classes_.tolist() == ["a", "b"]


def test_one_label_is_refused_on_cycles():
    ring = np.eye(3), [[0, 1], [1, 2], [2, 0]]
    with pytest.raises(ValueError, match="one label only, 'a'"):
        GraphCRF().fit([ring], [["a"] * 3])


def test_a_node_type_may_have_one_label_if_another_has_several():
    x, edges = np.random.default_rng(0).normal(size=(4, 2)), [[0, 1], [2, 3]]
    graph = Graph(x, edges, node_types=[0, 1, 0, 1], edge_types=[0, 0])
    crf = TreeCRF(pairwise="full").fit([graph], [["a", "x", "a", "y"]])
    assert [names.tolist() for names in crf.classes_] == [["a"], ["x", "y"]]
    with pytest.raises(ValueError, match="one label only, 'a'"):
        TreeCRF(pairwise="full").fit([graph], [["a", "x", "a", "x"]])


def test_huge_scores_have_probabilities(crf):
    sure = clone(crf).fit(GRAPHS, LABELS)
    sure.w_ = 1e4 * crf.w_
    for rows, labels in zip(sure.predict_proba(GRAPHS), sure.predict(GRAPHS), strict=True):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert [NAMES[k] for k in rows.argmax(axis=1)] == labels
    assert np.isfinite(sure.log_likelihood(GRAPHS, LABELS)).all()


# --- GraphCRF ------------------------------------------------------------------------------------


def test_graphs_without_cycles_are_trained_exactly_by_a_graph_crf(crf):
    same = GraphCRF(C=0.5, temperature=0.8, pairwise="full", tol=1e-7, random_state=0)
    np.testing.assert_array_equal(same.fit(GRAPHS, LABELS).w_, crf.w_)
    assert same.inference_ == "sum-product"


def test_with_one_cycle_all_is_relaxed_and_nodes_without_a_label_are_left_out():
    ring = np.zeros((3, 3)), [[0, 1], [1, 2], [2, 0]]
    graphs, labels = [*GRAPHS[:5], ring], [*LABELS[:5], ["a", None, "b"]]
    crf = GraphCRF(C=0.5, tol=0.01, random_state=0).fit(graphs, labels)
    by_name = GraphCRF(C=0.5, tol=0.01, solver="idal", random_state=0).fit(graphs, labels)
    assert crf.inference_ == "none"
    np.testing.assert_array_equal(crf.w_, by_name.w_)
    np.testing.assert_allclose(crf.predict_proba([ring])[0].sum(axis=1), 1.0, atol=1e-12)
    assert len(crf.set_params(decoding="posterior").predict([ring])[0]) == 3
    # What the model says of forests is exact, though it was trained on more.
    assert np.exp(crf.log_likelihood(GRAPHS[:1], LABELS[:1])) == pytest.approx(
        dict((tuple(y), p) for y, p in crf.predict_nbest(GRAPHS[:1], 1000)[0])[tuple(LABELS[0])]
    )


def test_attractive_edges_stay_attractive():
    crf = GraphCRF(C=5.0, attractive=True, pairwise="associative", random_state=0)
    free = clone(crf).set_params(attractive=False).fit(GRAPHS, LABELS)
    assert crf.fit(GRAPHS, LABELS).edge_coef_.min() == 0.0
    assert free.edge_coef_.min() < 0.0


# --- what is refused -----------------------------------------------------------------------------

RING = [*GRAPHS[:1], (np.zeros((3, 3)), [[0, 1], [1, 2], [2, 0]])]
RING_LABELS = [*LABELS[:1], ["a", "b", "b"]]


def test_cycles_are_refused_by_their_graph(crf):
    with pytest.raises(ValueError, match=r"graphs\[1\] close a cycle, and TreeCRF.*use GraphCRF"):
        TreeCRF().fit(RING, RING_LABELS)
    for ask in (crf.predict, crf.predict_proba, lambda g: crf.predict_nbest(g, 1), crf.sample):
        with pytest.raises(ValueError, match=r"graphs\[1\] close a cycle"):
            ask(RING)
    with pytest.raises(ValueError, match=r"graphs\[1\] close a cycle, and solver='sdca'.*auto"):
        GraphCRF(solver="sdca").fit(RING, RING_LABELS)
    relaxed = GraphCRF(tol=0.1).fit(RING, RING_LABELS)
    for ask in (
        lambda: relaxed.predict_nbest(RING, 1),
        lambda: relaxed.sample(RING),
        lambda: relaxed.log_likelihood(RING, RING_LABELS),
    ):
        with pytest.raises(ValueError, match=r"graphs\[1\] close a cycle, and only forests"):
            ask()


def test_a_model_of_forests_has_no_marginals_of_cycles():
    """Relaxed marginals belong to another model: they were off by up to 0.4."""
    exact = GraphCRF(random_state=0).fit(GRAPHS, LABELS)
    with pytest.raises(ValueError, match=r"graphs\[1\] close a cycle, and only forests.*idal"):
        exact.predict_proba(RING)
    assert len(exact.predict(RING)) == 2  # the best labels are known of any graph
    assert GraphCRF(tol=0.1).fit(RING, RING_LABELS).predict_proba(RING)[1].shape == (3, 3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(temperature=0.0), ValueError, "temperature=0.0; a positive number .* GraphSVM"),
        (dict(decoding="best"), ValueError, "decoding='best'; expected one of .*posterior"),
        (dict(class_weight="balanced"), ValueError, "class_weight is what mistakes cost"),
        (
            dict(solver="idal"),
            ValueError,
            "solver='idal' trains graphs .*; expected 'auto', 'sdca', 'lbfgs', or",
        ),
        (
            dict(solver=BCFW()),
            TypeError,
            "trains SVMs; expected 'auto', 'sdca', 'lbfgs', or such an object",
        ),
        (dict(solver=SDCA), TypeError, r"solver=SDCA is a class; make one: SDCA\(\)"),
    ],
    ids=["temperature", "decoding", "class weight", "name", "object", "class"],
)
def test_options_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        TreeCRF(**options).fit(GRAPHS, LABELS)


def test_labels_that_make_no_sense_are_refused(crf):
    partial = hidden(LABELS, 0.3)
    with pytest.raises(ValueError, match="needs all labels, and some are missing"):
        TreeCRF(loss_augmented=True).fit(GRAPHS, partial)
    with pytest.raises(ValueError, match=r'needs all labels, .* use LBFGS .solver="lbfgs"'):
        TreeCRF(solver="sdca").fit(GRAPHS, partial)
    with pytest.raises(ValueError, match="no node has a label"):
        TreeCRF().fit(GRAPHS, [[None] * len(part) for part in LABELS])
    for n in (0, 1.5, "2"):
        with pytest.raises(ValueError, match="whole number of labellings"):
            crf.predict_nbest(GRAPHS, n)


def test_a_type_of_which_no_node_has_a_label_is_refused():
    graph = Graph(np.eye(2), [[0, 1]], node_types=[0, 1])
    with pytest.raises(ValueError, match="no node of type 1 has a label"):
        TreeCRF(missing_label=None).fit([graph] * 2, [["a", None], ["b", None]])


def test_unfinished_training_is_said():
    with pytest.warns(ConvergenceWarning, match="TreeCRF"):
        TreeCRF(tol=1e-9, max_passes=1).fit(GRAPHS, LABELS)
