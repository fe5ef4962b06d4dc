"""On forests and small graphs the oracle of slack rescaling finds the best product."""

import numpy as np
import pytest
from graph_models import graph_models
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.maxsum import forest_order
from taut.inference.rescaled_exhaustive import new_rescaled_exhaustive_work, try_all_rescaled
from taut.inference.rescaled_forest import (
    new_merges,
    new_rescaled_forest_work,
    plan_merges,
    rescaled_max_sum,
)


def padded(array, value, spare):
    return np.concatenate([array, np.full((spare, *array.shape[1:]), value, array.dtype)])


def rubbish(work):
    for scratch in work:
        if isinstance(scratch, tuple):
            rubbish(scratch)
        else:
            scratch[...] = True if scratch.dtype == bool else 10**6


def by_forest(model, loss, truth, *, spare=0):
    n, m = model.size
    order = forest_order(n, model.ends)
    level = loss.astype(np.int64)
    rows = plan_merges(level, model.states, model.ends, n, m, order, new_merges(n))
    highest = sum(level[t, : model.states[t]].max() for t in range(n))
    width = model.theta.shape[1]
    work = new_rescaled_forest_work(n + spare, rows, highest + 1, width)
    rubbish(work)
    y = np.full(n + spare, -1, np.int32)
    value = rescaled_max_sum(
        *(padded(model.theta, np.nan, spare), padded(model.states, 10**6, spare)),
        *(padded(model.ends, 10**6, spare), padded(model.pair, np.nan, spare), n, m),
        *(padded(order, 10**6, spare), padded(level, -1, spare), padded(truth, -1, spare)),
        *(work, y),
    )
    assert (y[n:] == -1).all()
    return value, y[:n]


def by_trying_all(model, loss, truth, *, spare=0):
    n, m = model.size
    work = new_rescaled_exhaustive_work(n + spare, m + spare)
    rubbish(work)
    y = np.full(n + spare, -1, np.int32)
    value = try_all_rescaled(
        *(padded(model.theta, np.nan, spare), padded(model.states, 10**6, spare)),
        *(padded(model.ends, 10**6, spare), padded(model.pair, np.nan, spare), n, m),
        *(padded(loss, np.nan, spare), padded(truth, -1, spare), work, y),
    )
    assert (y[n:] == -1).all()
    return value, y[:n]


def value_of(model, loss, truth, y):
    total = sum(row[k] for row, k in zip(loss, y, strict=True))
    return total * (1.0 + model.score(y) - model.score(truth))


def rounding(model, loss):
    return 1e-13 * model.scale * (1.0 + loss.sum())


@st.composite
def rescaled_models(draw, kinds, whole):
    """A model, the losses of its nodes' states (whole numbers, ties, zeros), and a truth."""
    model = draw(graph_models(kinds=kinds))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    truth = rng.integers(0, model.states).astype(np.int32)
    most = draw(st.sampled_from([1, 3, 40]))
    loss = rng.integers(0 if most == 3 else most, most + 1, model.theta.shape).astype(float)
    if not whole:
        loss *= rng.random(loss.shape)
    loss[np.arange(len(truth)), truth] = 0.0
    return model, loss, truth


def check(search, problem, spare):
    model, loss, truth = problem
    value, y = search(model, loss, truth, spare=spare)
    error = rounding(model, loss)
    best = max(value_of(model, loss, truth, z) for z in model.labellings())
    assert value == pytest.approx(best, rel=0, abs=error)
    assert value_of(model, loss, truth, y) == pytest.approx(value, rel=0, abs=error)
    if value == 0.0:
        assert y.tolist() == truth.tolist()


@given(rescaled_models(["forest"], whole=True), st.sampled_from([0, 2]))
def test_of_a_forest_the_value_is_the_largest_over_all_labellings(problem, spare):
    check(by_forest, problem, spare)


@given(
    rescaled_models(["complete", "cycle", "forest", "anything"], whole=False),
    st.sampled_from([0, 2]),
)
def test_of_any_graph_the_value_is_the_largest_over_all_labellings(problem, spare):
    check(by_trying_all, problem, spare)


@given(rescaled_models(["forest"], whole=True))
def test_both_ways_agree(problem):
    model, loss, truth = problem
    value, y = by_forest(model, loss, truth)
    other, z = by_trying_all(model, loss, truth)
    assert value == pytest.approx(other, rel=0, abs=rounding(model, loss))
    values = [value_of(model, loss, truth, labels) for labels in (y, z)]
    assert values[0] == pytest.approx(values[1], rel=0, abs=rounding(model, loss))


def test_the_tables_of_a_path_are_those_of_its_beginnings():
    """n nodes alone have 2 levels each, and the beginnings of length 2, ..., n up to n + 1."""
    n = 6
    ends = np.array([(t, t + 1) for t in range(n - 1)], np.int32)
    level, states = np.tile(np.array([[0, 1]]), (n, 1)), np.full(n, 2, np.int32)
    rows = plan_merges(level, states, ends, n, n - 1, forest_order(n, ends), new_merges(n))
    assert rows == 2 * n + sum(range(3, n + 2))
