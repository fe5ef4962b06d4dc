"""Where most steps score zero, sums over pairs give the marginals that sums over all steps do."""

import numpy as np
import pytest
from crf_reference import enumerated_chain
from hypothesis import given, settings
from hypothesis import strategies as st

from taut.inference import sparse_forward_backward
from taut.inference.forward_backward import WIDEST, new_chain_sums
from taut.inference.log_forward_backward import logarithmic, logarithmic_step
from taut.inference.pairs import new_pairs
from taut.inference.sparse_forward_backward import (
    FEW_DIGITS,
    add_pair_marginals,
    are_close,
    keep_most,
    new_sparse_sums,
    sparse_marginals,
)

EPS = np.finfo(float).eps


class Chain:
    """Scores of nodes, of the steps that are pairs, and the same steps as tables."""

    def __init__(self, theta, codes, step, sharpness=1.0):
        self.theta, self.step, self.codes = theta, step, np.asarray(codes, np.int64)
        self.length, self.K = theta.shape
        self.sharpness = sharpness
        self.pairs = new_pairs(self.codes, self.K)
        self.tables = np.zeros((len(step), self.K**2))
        self.tables[:, self.codes] = step
        self.tables = self.tables.reshape(len(step), self.K, self.K)

    @property
    def rounding(self):
        """Of scores, relative to the largest, step by step; and of differences of sums."""
        finite = np.concatenate([self.theta.ravel(), self.step.ravel()])
        largest = np.abs(finite[np.isfinite(finite)]).max(initial=1.0)
        of_scores = 16 * EPS * (1.0 + self.sharpness * largest)
        return self.length * (of_scores + 2 * self.K * EPS / FEW_DIGITS)

    def of_pairs(self, step):
        return step.reshape(len(step), self.K**2)[:, self.codes]

    def found(self):
        """log Z, marginals of nodes, and of pairs: one row each, or their sum."""
        rows = len(self.step)
        sums = new_sparse_sums(self.length + 1, rows, self.K, len(self.codes))
        for part in (sums.dense.forward, sums.dense.backward, sums.dense.arrive, sums.with_pair):
            part[:] = np.nan
        node = np.full((self.length, self.K), np.nan)
        log_z = sparse_marginals(
            self.theta, self.step, self.pairs, self.length, self.sharpness, sums, node
        )
        out = np.zeros((1 if rows == 1 else self.length - 1, len(self.codes)))
        if log_z > -np.inf:
            add_pair_marginals(self.length, self.pairs, sums, out.reshape(-1))
        return log_z, node, out

    def by_logarithms(self):
        """log Z and the marginals of nodes and pairs, by tables, right for any scores."""
        sums = new_chain_sums(self.length, len(self.tables), self.K)
        node = np.zeros((self.length, self.K))
        log_z = logarithmic(self.theta, self.tables, self.length, self.sharpness, sums, node)
        step = np.zeros((self.length - 1, self.K, self.K))
        for t in range(self.length - 1):
            logarithmic_step(t, self.tables, self.sharpness, sums, step[t])
        return log_z, node, step

    def are_close(self):
        return are_close(self.theta, self.step, self.length, self.sharpness)

    def check(self, log_z, node, step, rounding=None):
        rounding = self.rounding if rounding is None else rounding
        found_log_z, found_node, found_pairs = self.found()
        assert found_log_z == pytest.approx(log_z, rel=rounding, abs=rounding)
        np.testing.assert_allclose(found_node.sum(1), 1.0, rtol=0, atol=1e-12)
        # Relative to each: small probabilities are right, too.
        np.testing.assert_allclose(found_node, node, rtol=rounding, atol=1e-250)
        expected = self.of_pairs(step)
        if len(self.step) == 1:
            expected = expected.sum(0, keepdims=True)
        if expected.size:
            np.testing.assert_allclose(found_pairs, expected, rtol=rounding, atol=1e-250)


def random_chain(length, K, seed, *, share, shared, scale, forbidden=0.0, sharpness=1.0):
    rng = np.random.default_rng(seed)
    codes = np.flatnonzero(rng.random(K * K) < share)
    theta = scale * rng.normal(size=(length, K))
    theta[rng.random(theta.shape) < forbidden] = -np.inf
    step = scale * rng.normal(size=(1 if shared else max(length - 1, 1), len(codes)))
    return Chain(theta, codes, step, sharpness)


def chains(longest, labels, scales, forbidden=(0.0, 0.0, 0.4)):
    return st.builds(
        random_chain,
        st.integers(1, longest),
        st.integers(1, labels),
        st.integers(0, 10**6),
        share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
        shared=st.booleans(),
        scale=st.sampled_from(scales),
        forbidden=st.sampled_from(forbidden),
        sharpness=st.sampled_from([1.0, 0.3, 4.0]),
    )


@given(chains(4, 4, [0.0, 1.0, 3.0]))
def test_the_marginals_are_those_of_all_labellings(chain):
    expected = enumerated_chain(chain.theta, chain.tables, chain.sharpness)
    if expected.log_z == -np.inf:
        assert chain.found()[0] == -np.inf
    else:
        assert chain.are_close()
        chain.check(*expected)


@settings(max_examples=200)
@given(chains(6, 12, [0.1, 1.0, 8.0, 15.0]))
def test_the_marginals_are_those_by_logarithms(chain):
    """Scores up to what exponentials can do: also where nearly all that is summed is pairs."""
    log_z, node, step = chain.by_logarithms()
    if chain.are_close() and log_z > -np.inf:
        chain.check(log_z, node, step)


@pytest.mark.parametrize("shared", [True, False])
def test_steps_that_hardly_anyone_takes_keep_their_digits(shared):
    """Label 1 comes after 0 at a price of 80, and the text wants it by 100; that 2, from where it
    is free, is there before, has a probability of 1e-17 or so. A difference of sums knows nothing
    of either."""
    theta = np.array([[0.0, -39.0, -38.5], [0.0, 100.0, 0.0], [0.0, 90.0, 0.0]])
    step = np.full((1 if shared else 2, 3), [-80.0, -70.0, -85.0])
    chain = Chain(theta, [0 * 3 + 1, 1 * 3 + 0, 1 * 3 + 1], step)
    assert chain.are_close()
    expected = enumerated_chain(chain.theta, chain.tables)
    assert expected.node[2, 1] > 0.01 or expected.node[1, 1] > 0.01
    chain.check(*expected)


def test_without_the_sum_of_few_the_same_chain_is_wrong(monkeypatch):
    """So that the test above can fail: its chain needs what it tests."""
    f = np.array([1.0, 1e-17, 1e-18])
    assert (f.sum() - f[0]) == 0.0
    pairs = new_pairs(np.array([1]), 3)
    assert sparse_forward_backward._rest_into(f, pairs, 1) == 1e-17 + 1e-18
    assert sparse_forward_backward._rest_from(f, new_pairs(np.array([0]), 3), 0) == 1e-17 + 1e-18


@given(chains(5, 6, [100.0, 1e4]))
def test_scores_far_apart_are_left_to_logarithms(chain):
    widest = 0.0
    for row in chain.theta:
        finite = row[row > -np.inf]
        widest = max(widest, np.ptp(finite) if finite.size else 0.0)
    used = chain.step[: chain.length - 1]
    widest += used.max(initial=0.0) - used.min(initial=0.0)
    assert chain.are_close() == (chain.sharpness * widest <= WIDEST)


def test_steps_beyond_the_last_do_not_count():
    """A table of steps is as long as the longest example's."""
    theta, step = np.zeros((3, 2)), np.zeros((4, 1))
    step[2:] = 1e9
    assert are_close(theta, step, 3, 1.0)
    step[1] = 1e9
    assert not are_close(theta, step, 3, 1.0)


# --- the most probable labels --------------------------------------------------------------------


@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.sampled_from([0.1, 1.0, 20.0]),
    st.sampled_from([0.0, 1e-300, 0.1, 0.5, 0.9, 0.999, 1.0 - 1e-15, 1.0]),
)
def test_what_is_kept_has_enough_probability(seed, K, scale, enough):
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=K)
    probability = np.exp(scores - scores.max())
    probability /= probability.sum()
    out = np.full(K, np.nan)
    keep_most(probability, scores, enough, out)
    kept = out > -np.inf
    np.testing.assert_array_equal(out[kept], scores[kept])
    assert kept.any()
    # Sums in another order; and where all have less than enough, all are kept.
    assert probability[kept].sum() >= min(enough, probability.sum()) - 1e-14
    # A look takes labels within a factor of four.
    if not kept.all():
        assert probability[~kept].max() <= 4.0 * probability[kept].min()


def test_no_more_labels_are_kept_than_are_wanted():
    probability = np.array([0.3, 0.2, 0.2, 0.2, 0.1])
    for enough, count in [(0.3, 1), (0.31, 2), (0.5, 2), (0.51, 3), (0.9, 4), (0.91, 5)]:
        out = np.zeros(5)
        keep_most(probability, np.ones(5), enough - 1e-9, out)
        assert np.flatnonzero(out == 1.0).tolist() == list(range(count))
