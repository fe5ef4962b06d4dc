"""A distribution limited to likely labels is the chain's, under that condition, to rounding."""

import numpy as np
import pytest
from crf_reference import enumerated_chain
from hypothesis import given, settings
from hypothesis import strategies as st

from taut.inference.likely_labels import MOST_LABELS, add_likely, choose_likely
from taut.inference.pairs import new_pairs
from taut.inference.sparse_forward_backward import new_sparse_sums


class Chain:
    """Scores of nodes and pairs, and what is found of them."""

    def __init__(self, length, K, seed, share=0.5, shared=True, scale=1.0, sharpness=1.0):
        rng = np.random.default_rng(seed)
        self.length, self.K, self.sharpness = length, K, sharpness
        self.codes = np.flatnonzero(rng.random(K * K) < share)
        self.pairs = new_pairs(self.codes, K)
        self.theta = scale * rng.normal(size=(length, K))
        self.step = scale * rng.normal(size=(1 if shared else max(length - 1, 1), len(self.codes)))

    def choose(self, enough, most):
        """log Z, and the chosen labels of every position."""
        sums = new_sparse_sums(self.length + 1, len(self.step), self.K, len(self.codes))
        sums.table[:] = np.nan
        self.most, self.sums = most, sums
        log_z = choose_likely(
            self.theta, self.step, self.pairs, self.length, self.sharpness, enough, most,
            sums,
        )  # fmt: skip
        begin, label = sums.likely.begin, sums.likely.label
        return log_z, [label[begin[t] : begin[t + 1]].tolist() for t in range(self.length)]

    def marginals(self):
        """Of nodes, and of pairs: one row each, or their sum."""
        node = np.zeros((self.length, self.K))
        out = np.zeros((len(self.step), len(self.codes)))
        add_likely(self.length, self.most, self.sums, node, out.reshape(-1))
        return node, out

    def limited(self, labels):
        """The same by enumeration, if only these labels may occur."""
        theta = np.full_like(self.theta, -np.inf)
        for t, some in enumerate(labels):
            theta[t, some] = self.theta[t, some]
        tables = np.zeros((len(self.step), self.K**2))
        tables[:, self.codes] = self.step
        found = enumerated_chain(theta, tables.reshape(-1, self.K, self.K), self.sharpness)
        of_pairs = found.step.reshape(self.length - 1, self.K**2)[:, self.codes]
        if len(self.step) == 1:
            of_pairs = of_pairs.sum(0, keepdims=True)
        return found.log_z, found.node, of_pairs


chains = st.builds(
    Chain,
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 10**6),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    shared=st.booleans(),
    scale=st.sampled_from([0.0, 1.0, 5.0]),
    sharpness=st.sampled_from([1.0, 0.3, 3.0]),
)


@settings(max_examples=200)
@given(chains, st.sampled_from([0.1, 0.6, 0.9, 0.999, 1.0]), st.integers(1, 6))
def test_it_is_the_same_distribution_under_a_condition(chain, enough, most):
    log_z, labels = chain.choose(enough, most)
    assert all(0 < len(some) <= most and sorted(set(some)) == some for some in labels)
    expected_log_z, node, of_pairs = chain.limited(labels)
    found_node, found_pairs = chain.marginals()
    assert log_z == pytest.approx(expected_log_z, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(found_node, node, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found_node.sum(1), 1.0, rtol=0, atol=1e-14)
    if chain.length > 1:
        np.testing.assert_allclose(found_pairs, of_pairs, rtol=1e-11, atol=1e-300)


@given(chains)
def test_with_room_for_all_nothing_is_left_out(chain):
    """But for labels that have less than 1e-16 of the probability together."""
    log_z, _ = chain.choose(1.0, chain.K)
    every = [list(range(chain.K))] * chain.length
    assert log_z == pytest.approx(chain.limited(every)[0], rel=1e-12, abs=1e-12)


@given(chains, st.sampled_from([0.1, 0.6, 0.9, 0.999]))
def test_the_chosen_have_enough_given_what_comes_before(chain, enough):
    """What is far below the best is not even looked at, if no step takes from the best."""
    chain.step = np.abs(chain.step)
    _, labels = chain.choose(enough, chain.K)
    for t in range(chain.length):
        before = Chain(t + 1, chain.K, 0)
        vars(before).update(vars(chain) | {"length": t + 1, "theta": chain.theta[: t + 1]})
        if len(chain.step) > 1:
            before.step = chain.step[: max(t, 1)]
        every = [*labels[:t], list(range(chain.K))]
        _, node, _ = before.limited(every)
        assert node[t, labels[t]].sum() >= enough - (1.0 - enough) - 1e-9
        # As large ones as looks by a factor of four find.
        left_out = np.setdiff1d(every[t], labels[t])
        if len(left_out):
            assert node[t, left_out].max() <= 4.0 * node[t, labels[t]].min() + 1e-12


def test_where_there_is_no_room_the_most_likely_are_chosen():
    chain = Chain(1, 6, 0)
    chain.theta[0] = np.log([0.02, 0.3, 0.05, 0.4, 0.2, 0.03])
    assert chain.choose(0.999, 3)[1] == [[1, 3, 4]]
    assert chain.choose(0.999, 6)[1] == [[0, 1, 2, 3, 4, 5]]
    assert chain.choose(0.65, 6)[1] == [[1, 3]]


def test_there_is_room_for_so_many_labels():
    chain = Chain(2, MOST_LABELS + 5, 0, scale=0.0)
    _, labels = chain.choose(1.0, MOST_LABELS + 5)
    assert [len(some) for some in labels] == [MOST_LABELS] * 2


@pytest.mark.parametrize("score", [np.inf, -np.inf, np.nan])
def test_positions_without_a_largest_score_are_refused(score):
    chain = Chain(3, 2, 0)
    chain.theta[1] = score
    assert chain.choose(0.9, 2)[0] == -np.inf


def test_steps_too_far_apart_for_exponentials_are_refused():
    chain = Chain(3, 2, 0, share=1.0)
    assert chain.choose(0.9, 2)[0] > -np.inf
    chain.step[0, 1] = 1e4
    assert chain.choose(0.9, 2)[0] == -np.inf
