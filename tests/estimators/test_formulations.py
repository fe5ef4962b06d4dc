"""What estimators make of formulation= and slack_penalty=."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from taut import ChainSVM, GraphSVM, MulticlassSVM, MultilabelSVM, StructuredSVM, load
from taut.datasets import make_gaussian_potts
from taut.solvers.decomposition import Simplicial

X, Y = load_iris(return_X_y=True)
GRID = (np.eye(4), [[0, 1], [1, 3], [3, 2], [2, 0]])


def test_formulations_are_found_by_a_grid_search():
    grid = {"formulation": ["margin", "slack"], "slack_penalty": ["linear", "squared"]}
    cost = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    search = GridSearchCV(MulticlassSVM(cost=cost, random_state=0), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_both_formulations_are_one_where_every_mistake_costs_one():
    margin, slack = (
        MulticlassSVM(formulation=formulation, tol=1e-9, random_state=0).fit(X, Y)
        for formulation in ("margin", "slack")
    )
    np.testing.assert_allclose(margin.coef_, slack.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"transitions": "observed"}, "needs all: use transitions=.auto"),
        ({"template": "w[0]; step: w[0]"}, "the template has features of steps"),
    ],
)
def test_slack_rescaling_has_no_oracle_for_sparse_steps(options, reason):
    clf = ChainSVM(formulation="slack", **{"template": "w[0]", **options})
    with pytest.raises(ValueError, match=reason) as caught:
        clf.fit([["a", "b"], ["b"]], [["X", "Y"], ["Y"]])
    assert 'formulation="margin"' in str(caught.value)


@pytest.mark.parametrize("options", [{"inference": "lp"}, {"inference": "roof-duality"}])
def test_no_graph_is_silently_trained_by_margins(options):
    clf = GraphSVM(formulation="slack", **options)
    with pytest.raises(ValueError, match=r"formulation=.margin"):
        clf.fit([GRID], [[0, 0, 1, 1]])


def test_label_sets_under_counts_have_no_oracle_for_slacks():
    clf = MultilabelSVM(formulation="slack", counts=[(range(3), 0, 2)])
    with pytest.raises(ValueError, match=r"formulation=.margin"):
        clf.fit(np.eye(3), np.eye(3, dtype=int))


def test_solvers_without_inference_know_margins_only():
    clf = GraphSVM(formulation="slack", solver="soft-bcfw")
    with pytest.raises(ValueError, match="needs an oracle"):
        clf.fit([GRID], [[0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "margins"}, "formulation='margins'; expected one of"),
        ({"slack_penalty": "square"}, "slack_penalty='square'; expected"),
        (
            {"slack_penalty": "squared", "solver": "bcfw"},
            "use Simplicial, CuttingPlane or Subgradient",
        ),
        ({"slack_penalty": "squared", "averaging": True}, 'use solver="subgradient"'),
        ({"solver": "simplicial", "averaging": True}, "returns the solution of its master problem"),
    ],
)
def test_what_cannot_be_is_said_before_training(options, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVM(**options).fit(X, Y)


def test_a_model_without_slack_oracle_is_refused():
    class Model:
        def joint_feature(self, x, y):
            return np.array([x * y])

        def loss(self, y, other):
            return float(y != other)

        def oracle(self, w, x, y):
            return max((-1, 1), key=lambda z: (y != z) + w[0] * x * z)

        def predict(self, w, x):
            return max((-1, 1), key=lambda z: w[0] * x * z)

    with pytest.raises(TypeError, match="slack_oracle"):
        StructuredSVM(Model(), formulation="slack").fit([1.0, -1.0], [1, -1])
    clf = StructuredSVM(Model()).fit([1.0, -1.0], [1, -1])
    assert clf.solution_.solver == Simplicial(prune_after=None)


def test_few_weights_and_large_examples_are_for_simplicial_decomposition():
    table = MulticlassSVM(C=0.1, random_state=0).fit(X, Y)
    assert not isinstance(table.solution_.solver, Simplicial)
    graphs, labels = make_gaussian_potts(10, size=4, n_states=2)
    clf = GraphSVM(C=0.1, random_state=0).fit(graphs, labels)
    assert isinstance(clf.solution_.solver, Simplicial)
    averaged = GraphSVM(C=0.1, averaging=True, random_state=0).fit(graphs, labels)
    assert not isinstance(averaged.solution_.solver, Simplicial)


def test_training_goes_on_with_more_examples_and_another_constant():
    clf = MulticlassSVM(C=0.1, solver="simplicial", warm_start=True, random_state=0).fit(X, Y)
    cold = MulticlassSVM(C=1.0, tol=1e-6, random_state=0).fit(X, Y).solution_
    warm = clf.set_params(C=1.0, tol=1e-6).fit(X, Y).solution_
    assert warm.primal == pytest.approx(cold.primal, abs=2e-6 * cold.scale)
    sequences = [np.eye(2)[[0, 1]], np.eye(2)[[1, 1]], np.eye(2)[[0, 0]]]
    labels = [["a", "b"], ["b", "b"], ["a", "a"]]
    chain = ChainSVM(C=1.0, solver="simplicial", random_state=0).fit(sequences[:2], labels[:2])
    chain.partial_fit(sequences[2:], labels[2:])
    assert chain.solution_.n_examples == 3
    table = MulticlassSVM(C=0.1, solver="corrective", warm_start=True, random_state=0).fit(X, Y)
    again = table.set_params(solver="simplicial").fit(X, Y).solution_
    assert again.passes <= 1  # the dual point was taken over
    assert len(pickle.dumps(again)) < 100_000  # without inner products


def test_a_saved_chain_knows_its_penalty(tmp_path):
    clf = ChainSVM(C=1.0, slack_penalty="squared", random_state=0)
    clf.fit([np.eye(2)[[0, 1]], np.eye(2)[[1, 1]]], [["a", "b"], ["b", "b"]])
    clf.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.solution_.slack_penalty == loaded.slack_penalty == "squared"
