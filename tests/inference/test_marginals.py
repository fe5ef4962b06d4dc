"""Marginals of a graph: exact on forests, relaxed on others, checked before either."""

import numpy as np
import pytest
from graph_models import graph_models, random_model
from hypothesis import given

from taut.inference.marginals import forest_marginals, graph_marginals, relaxed_marginals


def same(one, two):
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@given(graph_models(kinds=["forest", "cycle"], scores=["normal"]))
def test_forests_get_exact_marginals_and_other_graphs_relaxed_ones(model):
    found = graph_marginals(*model, temperature=0.5)
    is_cycle = len(model.ends) == len(model.theta)
    right = relaxed_marginals if is_cycle else lambda *a, **k: forest_marginals(*a, **k)[0]
    assert same(found, right(*model, temperature=0.5))
    assert is_cycle or found.gap == 0.0


@given(graph_models(kinds=["forest", "cycle"], scores=["normal"]))
def test_only_the_ratio_of_scores_and_temperature_matters(model):
    # Powers of two, so that not even rounding differs; but the gap is in units of the scores.
    doubled = model._replace(theta=2.0 * model.theta, pair=2.0 * model.pair)
    one = graph_marginals(*model, temperature=1.0, accuracy=1e-6)
    two = graph_marginals(*doubled, temperature=2.0, accuracy=2e-6)
    assert same(one[:2], two[:2])
    assert two.gap == 2.0 * one.gap


def test_exact_marginals_of_a_cycle_are_refused():
    with pytest.raises(ValueError, match="3 edges between 3 nodes close a cycle"):
        forest_marginals(*random_model("cycle", 3, 2, "binary", 0))


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan])
@pytest.mark.parametrize("kind", ["forest", "cycle"])
def test_a_temperature_is_positive(kind, temperature):
    with pytest.raises(ValueError, match=f"temperature={temperature}; expected a positive"):
        graph_marginals(*random_model(kind, 3, 2, "binary", 0), temperature=temperature)


def test_when_rounds_run_out_the_gap_says_so():
    model = random_model("complete", 6, 3, "normal", 0)
    assert relaxed_marginals(*model, rounds=1).gap > 1e-3
    assert relaxed_marginals(*model).gap <= 1e-6
