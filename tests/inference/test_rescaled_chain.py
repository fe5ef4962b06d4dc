"""On chains the oracle of slack rescaling finds the best product over all labellings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.enumeration import possible_labellings
from taut.inference.rescaled_chain import new_level_work, rescaled_viterbi


def score(theta, pair, y):
    total = sum(theta[t, k] for t, k in enumerate(y))
    return total + sum(pair[min(t, len(pair) - 1), y[t], y[t + 1]] for t in range(len(y) - 1))


def value_of(theta, pair, level, truth, y):
    """Zero where there is no loss, also of a labelling that is forbidden."""
    loss = sum(level[true, k] for true, k in zip(truth, y, strict=True))
    if loss == 0:
        return 0.0
    return loss * (1.0 + score(theta, pair, y) - score(theta, pair, truth))


def run(theta, pair, level, truth, *, spare=0):
    length, n_states = theta.shape
    rows = length * (sum(level[true].max() for true in truth) + 1)
    work = new_level_work(rows + spare, n_states)
    for scratch in work:
        scratch[:] = np.nan
    y = np.full(length + spare, -1, np.int32)
    theta = np.concatenate([theta, np.full((spare, n_states), np.nan)])
    truth = np.concatenate([truth, np.full(spare, 99)]).astype(np.int32)
    value = rescaled_viterbi(theta, pair, level, truth, length, work, y)
    assert (y[length:] == -1).all()
    return value, y[:length]


def best_value(theta, pair, level, truth):
    length, n_states = theta.shape
    return max(
        value_of(theta, pair, level, truth, y) for y in possible_labellings(length, n_states)
    )


def rounding(theta, pair, level):
    """A bound on the rounding errors of any value: 1e-13 is hundreds of additions' worth."""
    finite = sum(abs(part[np.isfinite(part)]).sum() for part in (theta, pair))
    return 1e-13 * (1.0 + finite) * (1.0 + len(theta) * level.max())


@st.composite
def chains(draw, most_states=6):
    """Scores, losses and truth; some labels and steps forbidden, but not the truth's."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_states = draw(st.integers(1, most_states))
    length = draw(st.integers(1, 5 if n_states <= 3 else 3))
    shapes = (
        (length, n_states),
        (draw(st.sampled_from([1, max(length - 1, 1)])), n_states, n_states),
    )
    scale = draw(st.sampled_from(["ties", "small", "large"]))
    if scale == "ties":
        theta, pair = (rng.integers(-1, 2, shape).astype(float) for shape in shapes)
    else:
        size = {"small": 1.0, "large": 1e6}[scale]
        theta, pair = (size * rng.normal(size=shape) for shape in shapes)
    truth = rng.integers(0, n_states, length).astype(np.int32)
    kind = draw(st.sampled_from(["Hamming", "costs", "gaps"]))
    level = 1 - np.eye(n_states, dtype=np.int64)
    if kind != "Hamming":
        costs = np.arange(4) if kind == "costs" else np.array([0, 40, 41])
        level *= rng.choice(costs, (n_states, n_states))
    if draw(st.booleans()):
        theta, pair = (np.where(rng.random(a.shape) < 0.3, -np.inf, a) for a in (theta, pair))
        for t in range(length):
            theta[t, truth[t]] = 0.0
        for t in range(length - 1):
            pair[min(t, len(pair) - 1), truth[t], truth[t + 1]] = 0.0
    return theta, pair, level, truth


@given(chains(), st.sampled_from([0, 2]))
def test_the_value_is_the_largest_over_all_labellings(chain, spare):
    value, y = run(*chain, spare=spare)
    error = rounding(*chain[:3])
    assert value == pytest.approx(best_value(*chain), rel=0, abs=error)
    assert value_of(*chain, y) == pytest.approx(value, rel=0, abs=error)


@given(chains())
def test_the_answer_is_the_truth_where_nothing_has_a_positive_value(chain):
    theta, pair, level, truth = chain
    theta = theta - 1e8  # the truth alone keeps its scores
    theta[np.arange(len(truth)), truth] += 1e8
    value, y = run(theta, pair, level, truth)
    assert value == 0.0
    assert y.tolist() == truth.tolist()


def test_at_weights_zero_the_largest_loss_wins():
    rng = np.random.default_rng(0)
    level = rng.integers(1, 5, (4, 4)) * (1 - np.eye(4, dtype=np.int64))
    truth = np.array([0, 3, 1, 2, 2])
    value, y = run(np.zeros((5, 4)), np.zeros((1, 4, 4)), level, truth)
    assert value == level[truth].max(axis=1).sum()
    assert y.tolist() == level[truth].argmax(axis=1).tolist()


def test_margin_rescaling_would_choose_another_labelling():
    """All wrong: 3 + 0.2 beats 2 + 1.1, but 3 * (1 + 0.2) does not beat 2 * (1 + 1.1)."""
    theta = np.array([[0.0, 1.0], [0.0, -0.9], [0.0, 0.1]])
    level = 1 - np.eye(2, dtype=np.int64)
    value, y = run(theta, np.zeros((1, 2, 2)), level, np.zeros(3, np.int64))
    assert value == pytest.approx(4.2, rel=1e-15)
    assert y.tolist() == [1, 0, 1]


@given(chains(most_states=3))
def test_the_interpreted_source_gives_the_same(chain):
    theta, pair, level, truth = chain
    rows = len(theta) * (sum(level[true].max() for true in truth) + 1)
    y = np.zeros(len(theta), np.int32)
    source = rescaled_viterbi.__wrapped__
    value = source(theta, pair, level, truth, len(theta), new_level_work(rows, theta.shape[1]), y)
    compiled_value, compiled_y = run(*chain)
    assert value == compiled_value
    assert y.tolist() == compiled_y.tolist()
