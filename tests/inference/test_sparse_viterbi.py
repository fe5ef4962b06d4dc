"""Where most steps score zero, Viterbi finds the same labellings, by looking at few of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.pairs import new_pairs, pair_of
from taut.inference.sparse_viterbi import best_of_few, new_sparse_search, sparse_viterbi
from taut.inference.viterbi import best_steps, viterbi


class Chain:
    """Scores of nodes, of the steps that are pairs, and the same steps as tables."""

    def __init__(self, theta, codes, step):
        self.theta, self.step = theta, step
        self.length, self.K = theta.shape
        self.pairs = new_pairs(np.asarray(codes, np.int64), self.K)
        self.tables = np.zeros((len(step), self.K**2))
        self.tables[:, codes] = step
        self.tables = self.tables.reshape(len(step), self.K, self.K)

    def dense(self):
        return solved(viterbi, self.theta, self.tables, self.length)

    def sparse(self, search=None):
        search = search or new_sparse_search(len(self.step), self.K)

        def by_pairs(theta, step, length, best, reach, y):
            return sparse_viterbi(theta, step, self.pairs, length, best, reach, search, y)

        return solved(by_pairs, self.theta, self.step, self.length)

    def enumerated(self):
        """The largest score, and the labelling among the best that ``viterbi`` promises."""
        best, winner = -np.inf, None
        steps = np.arange(self.length - 1)
        which = 0 * steps if len(self.step) == 1 else steps
        for y in map(np.array, product(range(self.K), repeat=self.length)):
            score = self.theta[np.arange(self.length), y].sum()
            score += self.tables[which, y[:-1], y[1:]].sum()
            if winner is None or score > best or (score == best and tuple(y[::-1]) < winner):
                best, winner = score, tuple(y[::-1])
        return best, list(winner[::-1])


def solved(by, theta, steps, length):
    """Value, labels and tables; buffers are longer than the chain, and hold rubbish."""
    spare = 2
    y = np.full(length + spare, -9, np.int32)
    best, reach = np.full((2, length + spare, theta.shape[1]), np.nan)
    padded = np.vstack([theta, np.full((spare, theta.shape[1]), np.nan)])
    value = by(padded, steps, length, best, reach, y)
    assert (y[length:] == -9).all()
    return value, y[:length].tolist(), best[:length], reach[1:length]


def random_chain(length, K, seed, *, share, shared, kind, forbidden):
    rng = np.random.default_rng(seed)
    codes = np.flatnonzero(rng.random(K * K) < share)
    shapes = (length, K), (1 if shared else max(length - 1, 1), len(codes))
    if kind == "ties":  # numbers whose sums are exact, and often equal
        theta, step = (rng.integers(-2, 3, shape).astype(float) for shape in shapes)
    else:
        scale = {"small": 0.1, "large": 1e3}[kind]
        theta, step = (scale * rng.normal(size=shape) for shape in shapes)
    for scores in (theta, step):
        scores[rng.random(scores.shape) < forbidden] = -np.inf
    return Chain(theta, codes, step)


def chains(longest, labels, kinds=("ties", "small", "large")):
    return st.builds(
        random_chain,
        st.integers(1, longest),
        st.integers(1, labels),
        st.integers(0, 10**6),
        share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
        shared=st.booleans(),
        kind=st.sampled_from(kinds),
        forbidden=st.sampled_from([0.0, 0.0, 0.3, 0.8, 1.0]),
    )


@given(chains(7, 30))
def test_every_bit_is_that_of_viterbi_on_tables(chain):
    value, y, best, reach = chain.sparse()
    same_value, same_y, same_best, same_reach = chain.dense()
    assert (value, y) == (same_value, same_y)
    np.testing.assert_array_equal(best, same_best)
    np.testing.assert_array_equal(reach, same_reach)


@given(chains(4, 4, ["ties"]))
def test_it_finds_the_first_of_the_best_labellings(chain):
    best, winner = chain.enumerated()
    value, y, *_ = chain.sparse()
    assert value == best
    if best > -np.inf:
        assert y == winner


@given(st.integers(0, 10**6))
def test_scratch_memory_may_hold_another_example(seed):
    """One search serves all examples of a problem: other lengths, other scores, the same pairs."""
    rng = np.random.default_rng(seed)
    K, shared = 6, bool(rng.integers(2))
    codes = np.flatnonzero(rng.random(K * K) < 0.4)
    search = new_sparse_search(1 if shared else 7, K)
    for length in rng.integers(1, 9, 4):
        step = rng.normal(size=(1 if shared else 7, len(codes)))
        chain = Chain(rng.normal(size=(length, K)), codes, step)
        value, y, *_ = chain.sparse(search)
        same_value, same_y, *_ = chain.dense()
        assert (value, y) == (same_value, same_y)


@given(seed=st.integers(0, 10**6), K=st.integers(1, 40))
def test_one_row_is_the_maximum_over_all_sources(seed, K):
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((K, K)) < 0.2, rng.normal(size=(K, K)), 0.0)
    before = rng.choice([1.0, 10.0]) * rng.normal(size=K)
    before[rng.random(K) < 0.3] = -np.inf
    row, expected = np.full((2, K), np.nan)
    best_of_few(before, table, table.max(axis=1), row)
    best_steps(before, table, expected)
    np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_found_by_their_labels(seed):
    rng = np.random.default_rng(seed)
    K = 9
    codes = np.flatnonzero(rng.random(K * K) < [0.0, 0.3, 1.0][seed])
    pairs = new_pairs(codes, K)
    number = {code: e for e, code in enumerate(codes.tolist())}
    source, target = np.divmod(np.arange(K * K), K)
    expected = [number.get(code, -1) for code in range(K * K)]
    found = [pair_of(pairs, a, b) for a, b in zip(source, target, strict=True)]
    assert found == expected == pairs.numbers(source, target).tolist()
    assert pairs.codes.tolist() == codes.tolist()
    assert pairs.n_into.tolist() == np.bincount(codes % K, minlength=K).tolist()
