"""Estimators that train without inference: GraphCRF, and GraphSVM and MultilabelSVM by name."""

import pickle
from itertools import product

import numpy as np
import pytest
from altered_checkpoints import save_altered
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from taut import (
    IDAL,
    AugmentedLagrangian,
    ChainSVM,
    Graph,
    GraphCRF,
    GraphSVM,
    MultilabelSVM,
)
from taut.solvers import Status

SQUARE = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
PATH = SQUARE[:3]


def rings(n, seed=0, edges=SQUARE):
    """Graphs of four nodes with equal labels mostly, and a noisy feature each."""
    rng = np.random.default_rng(seed)
    labels = [np.where(rng.random(4) < 0.9, k, 1 - k) for k in rng.integers(0, 2, n)]
    return [(y[:, None] - 0.5 + rng.normal(size=(4, 1)), edges) for y in labels], labels


GRAPHS, LABELS = rings(12)
X = np.random.default_rng(1).normal(size=(40, 3))
Y = (X @ np.array([[1.0, 0.5, -1.0], [0.0, 1.0, 1.0], [1.0, -1.0, 0.0]]) > 0.3).astype(int)


@pytest.fixture(scope="module")
def crf():
    return GraphCRF(C=0.5, temperature=0.5, random_state=0).fit(GRAPHS, LABELS)


# --- manners ----------------------------------------------------------------------------------


def test_a_crf_has_the_manners_of_scikit_learn(crf):
    other = clone(crf)
    assert other.get_params() == crf.get_params()
    with pytest.raises(NotFittedError):
        other.predict(GRAPHS)
    same = other.fit(GRAPHS, LABELS)
    np.testing.assert_array_equal(same.w_, crf.w_)
    assert pickle.loads(pickle.dumps(crf)).score(GRAPHS, LABELS) == crf.score(GRAPHS, LABELS)


def test_the_certificate_is_of_the_relaxed_crf(crf):
    solution = crf.solution_
    assert solution.status is Status.CONVERGED
    assert solution.relative_gap <= crf.tol
    assert solution.inference == crf.inference_ == "none"
    assert "relaxed CRF (Gini entropy, temperature 0.5)" in str(solution)
    assert np.isfinite([solution.soft_gap, solution.violation]).all()


def test_without_loss_and_weights_all_labellings_are_equal():
    """At w = 0 every block is uniform: the objective is the entropy of four nodes and edges."""
    at_zero = GraphCRF(temperature=2.0, max_passes=0, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        at_zero.fit(GRAPHS, LABELS)
    assert at_zero.solution_.scale == pytest.approx(2.0 * (4 * (1 - 1 / 2) + 4 * (1 - 1 / 4)))


def test_a_cold_crf_with_a_loss_is_the_svm():
    """The entropy of a graph lies between 0 and 4 (1/2) + 4 (3/4) = 5, so the optima differ by at
    most 5 temperatures."""
    svm = GraphSVM(C=0.5, solver="augmented-lagrangian", tol=1e-5, max_passes=10_000)
    svm.fit(GRAPHS, LABELS)
    crf = GraphCRF(C=0.5, temperature=1e-3, loss_augmented=True, tol=1e-5).fit(GRAPHS, LABELS)
    assert svm.solution_.dual <= crf.solution_.primal
    assert crf.solution_.dual <= svm.solution_.primal + 5e-3


# --- marginals ----------------------------------------------------------------------------------


def test_on_trees_marginals_are_exact():
    graphs, labels = rings(8, edges=PATH)
    crf = GraphCRF(C=0.5, temperature=0.7, pairwise="full", solver="idal").fit(graphs, labels)
    x, _ = graphs[0]
    theta = x @ crf.coef_.T + crf.intercept_
    pair = crf.edge_coef_.reshape(2, 2)
    weights = np.zeros((4, 2))
    for y in product(range(2), repeat=4):
        score = sum(theta[t, k] for t, k in enumerate(y)) + sum(pair[y[u], y[v]] for u, v in PATH)
        for t, k in enumerate(y):
            weights[t, k] += np.exp(score / 0.7)
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(crf.predict_marginals(graphs[:1])[0], expected, atol=1e-12)


def test_on_rings_marginals_are_distributions_and_cold_ones_are_labels(crf):
    for rows in crf.predict_marginals(GRAPHS):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
        assert rows.min() >= 0.0
    # At low temperature they solve the LP relaxation, which with attractive edges has the best
    # labelling as its solution.
    assert np.all(crf.edge_coef_ > 0)
    cold = clone(crf).fit(GRAPHS, LABELS).set_params(temperature=1e-3)
    for rows, labels in zip(cold.predict_marginals(GRAPHS), crf.predict(GRAPHS), strict=True):
        np.testing.assert_array_equal(crf.classes_[rows.argmax(axis=1)], labels)


def test_columns_are_the_labels_of_the_nodes_own_type():
    rng = np.random.default_rng(0)
    names = [["a", "b"], ["p", "q", "r"]]
    graphs, labels = [], []
    for _ in range(6):
        numbers = [rng.integers(0, 2), rng.integers(0, 3)]
        features = np.array(numbers)[:, None] + 0.1 * rng.normal(size=(2, 1))
        graphs.append(Graph(features, [[0, 1]], node_types=[0, 1]))
        labels.append([names[kind][k] for kind, k in enumerate(numbers)])
    crf = GraphCRF(C=1.0, pairwise="full", solver="idal").fit(graphs, labels)
    rows = crf.predict_marginals(graphs[:1])[0]
    assert rows.shape == (2, 3)
    assert rows[0, 2] == 0.0
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)


# --- solvers by name ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["augmented-lagrangian", "idal"])
def test_solvers_that_close_the_bracket_agree_with_the_lp(solver):
    """Objectives are within their gaps of the same optimum."""
    by_lp = GraphSVM(C=0.5, inference="message-passing", tol=1e-4).fit(GRAPHS, LABELS)
    other = GraphSVM(C=0.5, solver=solver, tol=1e-4, max_passes=20_000).fit(GRAPHS, LABELS)
    assert other.solution_.dual <= by_lp.solution_.primal
    assert by_lp.solution_.dual <= other.solution_.primal


@pytest.mark.parametrize("solver", ["soft-bcfw", "soft-sdca"])
def test_soft_solvers_say_that_their_bracket_stays_open(solver):
    clf = MultilabelSVM(C=0.5, solver=solver, rho=0.5, max_passes=5000).fit(X, Y)
    solution = clf.solution_
    assert solution.status is Status.SOFT_CONVERGED
    assert "the bracket of the hard problem stays open" in str(solution)
    assert solution.soft_gap <= clf.tol * solution.scale
    by_lp = MultilabelSVM(C=0.5, tol=1e-5).fit(X, Y)
    assert solution.dual <= by_lp.solution_.primal
    assert by_lp.solution_.dual <= solution.primal


def test_rho_is_that_of_the_named_solver_and_an_object_has_its_own():
    clf = GraphSVM(C=0.5, solver="soft-bcfw", rho=0.25).fit(GRAPHS, LABELS)
    assert clf.solution_.solver.rho == 0.25
    given = AugmentedLagrangian(rho=0.125, passes=3)
    assert GraphSVM(C=0.5, solver=given, rho=9.0).fit(GRAPHS, LABELS).solution_.solver == given


def test_a_warm_start_goes_from_an_oracle_to_no_inference():
    clf = GraphSVM(C=0.5, inference="message-passing", solver="corrective", warm_start=True)
    clf.fit(GRAPHS, LABELS).set_params(solver="augmented-lagrangian", tol=1e-4, max_passes=20_000)
    proved = clf.solution_.dual
    clf.fit(GRAPHS, LABELS)
    assert clf.inference_ == "none"
    assert clf.solution_.dual >= proved


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            GraphSVM(solver="soft-bcfw", rho=0.0),
            "rho=0.0; the penalty parameter must be a positive",
        ),
        (GraphSVM(solver="idal", rho=-1), "rho=-1; the penalty"),
        (GraphSVM(solver="idal", rho="1"), "rho='1'; the penalty"),
        (GraphSVM(solver="soft_bcfw"), "'auto', .* did you mean 'soft-bcfw'"),
        (GraphSVM(solver="idal", rho=None), "rho=None; the penalty"),
        (GraphSVM(solver=IDAL(temperature=1.0)), "the solver has temperature 1, the estimator 0"),
        (
            ChainSVM(solver="idal"),
            "solver='idal' trains graphs without inference .*GraphSVM.*; expected 'auto'",
        ),
        (
            GraphSVM(solver="idal", averaging=True),
            "averaging=True is for solvers .* returns its last iterate",
        ),
        (GraphCRF(temperature=0.0), "temperature=0.0; a positive number .* GraphSVM"),
        (GraphCRF(temperature=-1), "temperature=-1; a positive number"),
        (
            GraphCRF(solver="bcfw"),
            "solver='bcfw' trains SVMs; expected 'auto', 'sdca', 'lbfgs', 'soft-bcfw',",
        ),
        (GraphCRF(C=0.0), "C=0.0; it must be a positive number"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else type(value).__name__,
)
def test_options_that_make_no_sense_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit([x for x, _ in GRAPHS] if isinstance(estimator, ChainSVM) else GRAPHS, LABELS)


def test_inference_is_that_of_prediction():
    """Alpha-expansion proves nothing, so it could not train; here it need not."""
    options = dict(C=0.5, solver="idal", attractive=True, random_state=0)
    clf = GraphSVM(**options, inference="expansion").fit(GRAPHS, LABELS)
    exact = GraphSVM(**options).fit(GRAPHS, LABELS)
    np.testing.assert_array_equal(clf.w_, exact.w_)
    # Of two labels an expansion move is the best of all labellings.
    np.testing.assert_array_equal(clf.predict(GRAPHS), exact.predict(GRAPHS))


@pytest.mark.parametrize("inference", ["lp", "message-passing", "exhaustive"])
def test_every_inference_has_an_automatic_solver(inference):
    clf = GraphSVM(C=0.01, tol=0.1, inference=inference).fit(GRAPHS[:3], LABELS[:3])
    assert clf.inference_ == inference


def test_stopped_early_it_returns_weights_that_are_not_zero():
    clf = GraphSVM(solver="augmented-lagrangian", C=10.0, max_passes=10, tol=0.0)
    with pytest.warns(ConvergenceWarning, match="or try another rho"):
        clf.fit(GRAPHS, LABELS)
    assert clf.w_.any()


def test_going_on_automatically_does_not_mean_without_inference():
    clf = GraphSVM(C=0.5, solver="idal", warm_start=True).fit(GRAPHS, LABELS)
    with pytest.raises(ValueError, match="or start cold"):
        clf.set_params(solver="auto").fit(GRAPHS, LABELS)


# --- counts ---------------------------------------------------------------------------------------


def test_predictions_respect_counts_and_are_the_best_that_do():
    clf = MultilabelSVM(C=1.0, counts=[(range(3), 0, 1)], tol=1e-3).fit(
        X[Y.sum(1) < 2], Y[Y.sum(1) < 2]
    )
    assert isinstance(clf.solution_.solver, AugmentedLagrangian)
    free = clone(clf).set_params(counts=None).fit(X, Y)
    assert free.predict(X).sum(axis=1).max() > 1
    for x, row in zip(X[:10], clf.predict(X[:10]), strict=True):
        allowed = [y for y in product((0, 1), repeat=3) if sum(y) <= 1]
        values = [label_score(clf, x, np.array(y)) for y in allowed]
        assert tuple(row) in allowed
        assert label_score(clf, x, row) == pytest.approx(max(values), abs=1e-6)


def label_score(clf, x, y):
    """Differences of this are differences of scores: pairs add up where labels agree."""
    sign = 2 * y - 1
    node = sign @ (clf.coef_ @ x + clf.intercept_)
    tables = clf._graph_model.pairwise_tables()
    edge_coef = clf._graph_model.weights(clf.w_)[2]
    pairs = sum(
        np.tensordot(weight[0], table, 1)[y[u], y[v]]
        for (u, v), table, weight in zip(clf._graph_model.joins, tables, edge_coef, strict=True)
    )
    return node + pairs


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([([0, 1], 1, 1)], "allows 1 to 1 of the labels .0, 1., but row"),
        ([([0, 7], 0, 2)], "counts.0. has label 7; labels are numbered 0 to 2"),
        ([([0, 1], 0, 2), ([1, 2], 0, 2)], "counts.1. has label 1, which is counted already"),
        (3, "a list of .label numbers, low, high. is expected"),
        ([(0, 1)], "a list of .label numbers, low, high. is expected"),
    ],
    ids=["truth", "no such label", "twice", "a number", "a pair"],
)
def test_counts_that_do_not_fit_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        MultilabelSVM(counts=counts).fit(X, Y)


def test_other_inference_knows_nothing_of_counts():
    with pytest.raises(ValueError, match="knows nothing of counts"):
        MultilabelSVM(counts=[(range(3), 0, 3)], inference="roof-duality").fit(X, Y)


# --- checkpoints ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    path = tmp_path / "run"
    options = dict(C=0.5, tol=0.0, random_state=0)
    whole = GraphCRF(**options, max_passes=60).fit(GRAPHS, LABELS)
    GraphCRF(**options, max_passes=30, checkpoint=path).fit(GRAPHS, LABELS)
    rest = GraphCRF(**options, max_passes=60, checkpoint=path, resume=True).fit(GRAPHS, LABELS)
    np.testing.assert_array_equal(rest.solution_.state.w, whole.solution_.state.w)
    np.testing.assert_array_equal(rest.solution_.state.delta, whole.solution_.state.delta)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["node", "edge", "delta", "v", "sampler.permutation", "total"])
def test_a_checkpoint_with_wrong_numbers_is_refused(tmp_path, name):
    path = tmp_path / "run"
    GraphCRF(C=0.5, tol=0.0, max_passes=10, checkpoint=path).fit(GRAPHS, LABELS)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays[name] = arrays[name] - 3
    with open(path, "wb") as file:
        save_altered(file, arrays)
    with pytest.raises(ValueError, match="is not a whole taut checkpoint"):
        GraphCRF(C=0.5, tol=0.0, max_passes=20, checkpoint=path, resume=True).fit(GRAPHS, LABELS)
