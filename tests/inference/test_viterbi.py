"""Viterbi finds the maximum over all labellings, and breaks ties as enumeration does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.enumeration import enumerate_chain
from taut.inference.viterbi import independent_argmax, viterbi


def run_viterbi(theta, pair):
    length, n_states = theta.shape
    y = np.full(length, -1, np.int32)
    scratch = np.full((length, n_states), np.nan), np.full((length, n_states), np.nan)
    return viterbi(theta, pair, length, *scratch, y), y


@st.composite
def chains(draw, integers):
    """Scores of a chain. K up to 9 crosses the blocks of four labels; integers force ties."""
    n_states = draw(st.integers(1, 9))
    length = draw(st.integers(1, 5 if n_states <= 4 else 3))
    n_tables = draw(st.sampled_from([1, max(length - 1, 1)]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shapes = (length, n_states), (n_tables, n_states, n_states)
    if integers:
        return tuple(rng.integers(-1, 2, shape).astype(float) for shape in shapes)
    return tuple(rng.normal(size=shape) for shape in shapes)


@given(chains(integers=True))
def test_with_integer_scores_value_and_labels_equal_enumeration_bit_for_bit(chain):
    value, y = run_viterbi(*chain)
    best, labels = enumerate_chain(*chain)
    assert value == best
    assert y.tolist() == labels.tolist()


@given(chains(integers=False))
def test_the_value_is_the_maximum_over_all_labellings(chain):
    # Both add from left to right, so not even rounding separates them.
    value, y = run_viterbi(*chain)
    best, labels = enumerate_chain(*chain)
    assert value == best
    assert y.tolist() == labels.tolist()


def test_a_shared_table_is_the_same_as_its_copies():
    rng = np.random.default_rng(0)
    theta, pair = rng.normal(size=(6, 5)), rng.normal(size=(1, 5, 5))
    value, y = run_viterbi(theta, pair)
    value_of_copies, y_of_copies = run_viterbi(theta, np.repeat(pair, 5, axis=0))
    assert value == value_of_copies
    assert y.tolist() == y_of_copies.tolist()


def test_among_equal_scores_the_lowest_labels_win():
    value, y = run_viterbi(np.zeros((4, 6)), np.zeros((1, 6, 6)))
    assert value == 0.0
    assert y.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("length", [1, 2, 4])
def test_forbidden_steps_are_avoided(length):
    """Minus infinity forbids a step: only alternating labellings of two states remain."""
    theta = np.zeros((length, 2))
    theta[0, 1] = 1.0
    pair = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)[None]
    value, y = run_viterbi(theta, pair)
    assert value == 1.0
    assert y.tolist() == [1, 0, 1, 0][:length]


@given(chains(integers=True), st.integers(0, 10**6), st.sampled_from([0.1, 0.4, 0.7]))
def test_the_value_is_minus_infinity_exactly_if_everything_is_forbidden(chain, seed, share):
    rng = np.random.default_rng(seed)
    theta, pair = (np.where(rng.random(part.shape) < share, -np.inf, part) for part in chain)
    value, y = run_viterbi(theta, pair)
    best, labels = enumerate_chain(theta, pair)
    assert value == best
    if labels is not None:
        assert y.tolist() == labels.tolist()


def test_only_the_first_positions_are_read_and_written():
    """Scratch memory of the longest sequence serves all others."""
    rng = np.random.default_rng(1)
    theta, pair = rng.normal(size=(3, 4)), rng.normal(size=(1, 4, 4))
    longer = np.vstack([theta, np.full((2, 4), np.nan)])
    y = np.full(5, -1, np.int32)
    value = viterbi(longer, pair, 3, np.empty((5, 4)), np.empty((5, 4)), y)
    assert (value, y[:3].tolist()) == (
        run_viterbi(theta, pair)[0],
        run_viterbi(theta, pair)[1].tolist(),
    )
    assert y[3:].tolist() == [-1, -1]


@given(chains(integers=True))
def test_independent_argmax_is_the_argmax_of_every_row(chain):
    theta, _ = chain
    y = np.zeros(len(theta), np.int32)
    value = independent_argmax(theta, len(theta), y)
    assert value == theta.max(axis=1).sum()
    assert y.tolist() == theta.argmax(axis=1).tolist()


@given(chains(integers=True))
def test_a_chain_with_zero_steps_is_independent_nodes(chain):
    theta, pair = chain
    y = np.zeros(len(theta), np.int32)
    value = independent_argmax(theta, len(theta), y)
    chain_value, chain_y = run_viterbi(theta, 0.0 * pair)
    assert (value, y.tolist()) == (chain_value, chain_y.tolist())
