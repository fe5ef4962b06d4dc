"""Which solver "auto" takes for a CRF: by C, l1 and the sizes of the data, all known before."""

import numpy as np
import pytest
from scipy import sparse

from taut import LBFGS, SDCA, ChainCRF, GraphCRF, TreeCRF, smoothed
from taut.choice.auto import choose_solver
from taut.choice.named import named_solver
from taut.structures import chain_problem, partly_labelled


def table(n=200, size=1):
    """Few weights beside many feature values: 10 columns, three labels."""
    random = np.random.default_rng(0)
    nodes = n * size
    return chain_problem(
        random.normal(size=(nodes, 10)), np.full(n, size), random.integers(0, 3, nodes), 3
    )


def words(n=200, size=10):
    """Nearly every feature value has weights of its own."""
    rows = sparse.eye_array(n * size, format="csr")
    return chain_problem(rows, np.full(n, size), np.arange(n * size) % 3, 3)


def chosen(problem, C, l1=0.0):
    return type(choose_solver(smoothed(problem), C=C, l1=l1))


@pytest.mark.parametrize("l1", [0.0, 0.1, 1.0])
def test_small_C_is_for_sdca(l1):
    for problem in (table(), words()):
        assert chosen(problem, 0.1, l1) is SDCA


def test_examples_that_pull_hard_are_for_l_bfgs():
    assert chosen(table(n=10, size=300), 1.0) is LBFGS  # few long sequences
    assert chosen(table(n=3000, size=1), 1.0) is SDCA


def test_many_examples_that_pull_on_few_weights_are_for_l_bfgs():
    """SDCA took 800 passes on a table of 2,000 rows at C = 100, L-BFGS 18."""
    assert chosen(table(n=2000), 100.0) is LBFGS
    assert chosen(table(n=2000), 1.0) is SDCA


def test_where_weights_are_many_only_an_l1_norm_is_for_l_bfgs():
    assert chosen(words(), 1e5) is SDCA
    assert chosen(words(), 100.0, 1.0) is SDCA
    assert chosen(words(), 1e5, 1.0) is LBFGS


def test_weights_that_many_positions_share_are_for_l_bfgs_where_they_are_pulled_hard():
    """200 attributes at 3,000 positions, C = 1000: SDCA did not end in 2 s, L-BFGS took 0.5 s."""
    random = np.random.default_rng(0)
    rows = sparse.eye_array(200, format="csr")[random.integers(0, 200, 3000)]
    problem = chain_problem(rows, np.full(10, 300), random.integers(0, 4, 3000), 4)
    assert chosen(problem, 0.1) is SDCA
    assert chosen(problem, 30.0) is chosen(problem, 30.0, 1.0) is LBFGS


def test_under_an_l1_norm_few_weights_are_for_l_bfgs_sooner():
    problem = table(n=20, size=50)
    C = 1500.0 / problem.mean_norm
    assert (chosen(problem, C), chosen(problem, C, 0.1)) == (SDCA, LBFGS)


def test_the_pull_is_relative_to_the_temperature():
    problem = table(n=10, size=300)
    C = 4000.0 / problem.mean_norm
    for temperature, expected in ((1.0, LBFGS), (2.0, SDCA)):
        assert isinstance(choose_solver(smoothed(problem, temperature), C=C), expected)


def test_missing_labels_averages_and_paths_leave_no_choice():
    problem = table(n=10, size=300)
    known = np.arange(len(problem.truth)) % 2 == 0
    assert isinstance(named_solver("auto", partly_labelled(problem, known), C=0.01), LBFGS)
    averaged = named_solver("auto", smoothed(problem), True, C=100.0)
    assert isinstance(averaged, SDCA)
    assert averaged.averaging
    assert isinstance(named_solver("auto", smoothed(problem)), SDCA)  # of a path, which has no C


def test_estimators_of_chains_trees_and_graphs_choose_alike():
    random = np.random.default_rng(0)
    X = [random.normal(size=(60, 4)) for _ in range(5)]
    y = [random.integers(0, 2, 60).tolist() for _ in range(5)]
    for C, expected in ((0.1, SDCA), (100.0, LBFGS)):
        assert type(ChainCRF(C=C).prepare(X, y).solver) is expected
        edges = np.array([[t, t + 1] for t in range(59)])
        graphs = [(rows, edges) for rows in X]
        for estimator in (GraphCRF(C=C), TreeCRF(C=C)):
            assert type(estimator.prepare(graphs, y).solver) is expected
