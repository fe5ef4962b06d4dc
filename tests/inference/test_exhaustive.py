"""Trying all labellings is enumeration, with less work."""

import numpy as np
import pytest
from graph_models import graph_models
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.exhaustive import new_exhaustive_work, try_all


def run_try_all(model, *, spare=0):
    n, m = model.size
    pad = lambda a, value: np.concatenate([a, np.full((spare, *a.shape[1:]), value, a.dtype)])  # noqa: E731
    work = new_exhaustive_work(n + spare, m + spare)
    for scratch in work:
        scratch[:] = 10**6
    y = np.full(n + spare, -1, np.int32)
    value = try_all(
        pad(model.theta, np.nan), pad(model.states, 10**6), pad(model.ends, 10**6),
        pad(model.pair, np.nan), n, m, work, y,
    )  # fmt: skip
    assert (y[n:] == -1).all()
    return value, y[:n]


@given(graph_models(), st.sampled_from([0, 2]))
def test_the_value_is_the_maximum_over_all_labellings(model, spare):
    value, y = run_try_all(model, spare=spare)
    rounding = 1e-14 * model.scale
    assert value == pytest.approx(model.best_score(), rel=0, abs=rounding)
    assert model.score(y) == pytest.approx(value, rel=0, abs=rounding)


@given(graph_models(scores=["ties"]))
def test_among_equal_scores_the_first_labelling_wins(model):
    value, y = run_try_all(model)
    best = max(model.labellings(), key=model.score)  # the first of the best
    assert value == model.score(best)
    assert y.tolist() == list(best)


def test_one_node_and_one_state():
    for states in (1, 3):
        theta = np.array([[0.0, 2.0, 1.0]])
        y = np.full(1, -1, np.int32)
        value = try_all(
            theta, np.array([states], np.int32), np.zeros((0, 2), np.int32), np.zeros((0, 3, 3)),
            1, 0, new_exhaustive_work(1, 0), y,
        )  # fmt: skip
        assert (value, y[0]) == ((0.0, 0) if states == 1 else (2.0, 1))
