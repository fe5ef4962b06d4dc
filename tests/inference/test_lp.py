"""The LP relaxation bounds the best labelling, and on forests it is the best labelling."""

import numpy as np
import pytest
from graph_models import assert_in_local_polytope, graph_models, random_model
from hypothesis import given

from taut.inference.lp import lp_relaxation

# HiGHS accepts constraints and reduced costs that are violated by 1e-7.
HIGHS = 1e-7


@given(graph_models(kinds=["forest"]))
def test_on_forests_the_relaxation_is_exact(model):
    value, node, edge = lp_relaxation(*model)
    assert value == pytest.approx(model.best_score(), abs=HIGHS * model.scale)
    assert value == pytest.approx(model.expected_score(node, edge), abs=HIGHS * model.scale)


@given(graph_models())
def test_the_relaxation_is_an_upper_bound_attained_in_the_polytope(model):
    value, node, edge = lp_relaxation(*model)
    assert value >= model.best_score() - HIGHS * model.scale
    assert value == pytest.approx(model.expected_score(node, edge), abs=HIGHS * model.scale)
    assert_in_local_polytope(model, node, edge, 10 * HIGHS)


def test_a_frustrated_triangle_has_a_fractional_optimum():
    """Three nodes that all want to differ: labels satisfy two edges, halves all three."""
    ends = np.array([[0, 1], [1, 2], [2, 0]])
    pair = np.repeat(1.0 - np.eye(2)[None], 3, axis=0)
    value, node, _ = lp_relaxation(np.zeros((3, 2)), np.array([2, 2, 2]), ends, pair)
    assert value == pytest.approx(3.0, abs=HIGHS)
    np.testing.assert_allclose(node, 0.5, rtol=0.0, atol=HIGHS)


def test_scores_without_a_maximum_are_refused():
    model = random_model("cycle", 3, 3, "binary", 0)
    model.theta[0, 0] = np.inf
    with pytest.raises((RuntimeError, ValueError), match=r"3 nodes and 3 edges|inf"):
        lp_relaxation(*model)
