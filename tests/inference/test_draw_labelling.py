"""Labellings are drawn with their probability, and never with none."""

import numpy as np
import pytest
from forest_models import forests, possible, random_forest
from graph_models import random_model
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from taut.inference.draw_labelling import draw_labelling
from taut.inference.marginals import forest_marginals
from taut.inference.maxsum import forest_order

LARGEST_BELOW_ONE = np.nextafter(1.0, 0.0)


class Drawing:
    """A model's distribution; buffers are larger than the example."""

    def __init__(self, model):
        self.states, self.ends = model.states, model.ends
        self.order = forest_order(len(model.theta), model.ends)
        (self.node, self.edge, _), self.log_z = forest_marginals(*model)

    def draw(self, uniforms, function=draw_labelling):
        n, m = len(self.node), len(self.ends)
        y = np.full(n + 2, 77, np.int32)
        function(self.node, self.edge, self.states, self.ends, n, m, self.order, uniforms, y)
        assert (y[n:] == 77).all()
        return y[:n]


@pytest.mark.parametrize("seed", [14, 23, 32])
def test_labellings_are_drawn_as_often_as_they_should_be(seed):
    draws = 20_000
    model = random_forest(6, 3, "normal", 0.1, seed)
    labels, scores = possible(model)
    assert len(labels) > 50
    drawing, rng = Drawing(model), np.random.default_rng(seed)
    counts = dict.fromkeys(map(tuple, labels), 0)
    for uniforms in rng.random((draws, 6)):
        counts[tuple(drawing.draw(uniforms))] += 1
    observed, expected = np.array([*counts.values()]), draws * special.softmax(scores)
    # The statistic is χ² only where a count is expected to be 5 or more; the rest are one bin.
    rare = expected < 5.0
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@given(
    forests(shares=[0.1, 0.4]),
    st.lists(
        st.sampled_from([0.0, 0.5, LARGEST_BELOW_ONE]) | st.floats(0.0, LARGEST_BELOW_ONE),
        min_size=6,
        max_size=6,
    ),
)
def test_what_is_forbidden_is_never_drawn(model, uniforms):
    drawing = Drawing(model)
    assume(drawing.log_z > -np.inf)
    y = drawing.draw(np.array(uniforms))
    assert model.score(y) > -np.inf


@given(st.integers(0, 1000), st.sampled_from([0.0, LARGEST_BELOW_ONE]))
def test_states_that_rounding_almost_removed_lead_nowhere_wrong(seed, uniform):
    """Scores hundreds apart have marginals down to the smallest number that there is."""
    model = random_forest(6, 4, "normal", 0.2, seed)
    model = model._replace(theta=300.0 * model.theta, pair=300.0 * model.pair)
    drawing = Drawing(model)
    assume(drawing.log_z > -np.inf)
    y = drawing.draw(np.full(6, uniform))
    assert model.score(y) > -np.inf


def test_a_state_too_unlikely_to_have_a_likely_child_is_not_drawn():
    """Half of the smallest number is zero: the child of such a state would have no marginals."""
    theta, ends = np.array([[-744.0, 0.0], [0.0, 0.0]]), np.array([[0, 1]], np.int32)
    for pair in (np.zeros((1, 2, 2)), np.array([[[-np.inf, 0.0], [0.0, 0.0]]])):
        (node, edge, _), _ = forest_marginals(theta, np.array([2, 2]), ends, pair)
        assert node[0, 0] > 0.0
        y = np.zeros(2, np.int32)
        order = forest_order(2, ends)
        draw_labelling(node, edge, np.array([2, 2], np.int32), ends, 2, 1, order, np.zeros(2), y)
        assert y.tolist() == [1, 0]


@given(forests(shares=[0.0, 0.1]), st.integers(0, 1000))
def test_interpreted_it_draws_the_same(model, seed):
    drawing, uniforms = Drawing(model), np.random.default_rng(seed).random(6)
    assume(drawing.log_z > -np.inf)
    interpreted = drawing.draw(uniforms, function=draw_labelling.py_func)
    assert drawing.draw(uniforms).tolist() == interpreted.tolist()


def test_one_state_needs_no_luck():
    model = random_model("forest", 4, 1, "normal", 0)
    assert Drawing(model).draw(np.array([0.0, 0.3, 0.9, LARGEST_BELOW_ONE])).tolist() == [0] * 4
