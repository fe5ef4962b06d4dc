"""Which block comes next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.solvers.sampling import (
    Order,
    draw,
    new_sampler,
    set_all_gaps,
    set_gap,
    stored_gap,
    uniform,
)

gap_lists = st.lists(st.sampled_from([0.0, 1e-9, 0.25, 1.0, 3.0, 1e6]), min_size=1, max_size=20)


def drawn(sampler, count):
    kind, permutation, position, tree, random = sampler
    return np.array([draw(kind, permutation, position, tree, random) for _ in range(count)])


@given(gap_lists, st.data())
def test_the_root_is_the_sum_and_parents_are_the_sums_of_their_children(gaps, data):
    tree = new_sampler(Order.GAP, len(gaps), 0).tree
    set_all_gaps(tree, np.array(gaps))
    changed = data.draw(st.integers(0, len(gaps) - 1))
    set_gap(tree, changed, 7.0)
    gaps[changed] = 7.0
    assert [stored_gap(tree, i) for i in range(len(gaps))] == gaps
    leaves = tree.size // 2
    for node in range(1, leaves):
        assert tree[node] == tree[2 * node] + tree[2 * node + 1]
    # Recomputed bottom-up: at most log2(20) + 1 roundings.
    assert tree[1] == pytest.approx(sum(gaps), rel=1e-14)


def test_negative_gaps_are_rounding_and_count_as_zero():
    tree = new_sampler(Order.GAP, 3, 0).tree
    set_all_gaps(tree, np.array([-1e-18, 1.0, -2.0]))
    set_gap(tree, 2, -1e-17)
    assert [stored_gap(tree, i) for i in range(3)] == [0.0, 1.0, 0.0]
    assert tree[1] == 1.0


@given(gap_lists, st.integers(0, 1000))
def test_a_block_without_gap_is_never_drawn(gaps, seed):
    sampler = new_sampler(Order.GAP, len(gaps), seed)
    set_all_gaps(sampler.tree, np.array(gaps))
    blocks = drawn(sampler, 50)
    assert np.all((blocks >= 0) & (blocks < len(gaps)))
    if any(gaps):
        assert all(gaps[i] > 0 for i in blocks)


@pytest.mark.parametrize("n", [2, 5, 8, 13])
def test_blocks_are_drawn_in_proportion_to_their_gaps(n):
    gaps = np.random.default_rng(n).uniform(0.1, 2.0, n)
    sampler = new_sampler(Order.GAP, n, 11)
    set_all_gaps(sampler.tree, gaps)
    count = 20_000
    expected = count * gaps / gaps.sum()
    observed = np.bincount(drawn(sampler, count), minlength=n)
    chi_square = np.sum((observed - expected) ** 2 / expected)
    # Mean n - 1, standard deviation sqrt(2 (n - 1)): five of them.
    assert chi_square <= (n - 1) + 5 * np.sqrt(2 * (n - 1))


def test_uniform_order_is_uniform():
    count, n = 20_000, 7
    observed = np.bincount(drawn(new_sampler(Order.UNIFORM, n, 5), count), minlength=n)
    chi_square = np.sum((observed - count / n) ** 2 / (count / n))
    assert chi_square <= (n - 1) + 5 * np.sqrt(2 * (n - 1))


@pytest.mark.parametrize("order", list(Order))
def test_a_single_block_is_always_drawn(order):
    sampler = new_sampler(order, 1, 0)
    assert not drawn(sampler, 5).any()
    set_gap(sampler.tree, 0, 2.0)
    assert not drawn(sampler, 5).any()


def test_cyclic_order_goes_round():
    assert drawn(new_sampler(Order.CYCLIC, 3, 0), 7).tolist() == [0, 1, 2, 0, 1, 2, 0]


@given(st.integers(1, 12), st.integers(0, 1000))
def test_permuted_order_visits_every_block_once_per_pass(n, seed):
    passes = drawn(new_sampler(Order.PERMUTED, n, seed), 4 * n).reshape(4, n)
    for one in passes:
        assert sorted(one) == list(range(n))


def test_permutations_differ_from_pass_to_pass():
    passes = drawn(new_sampler(Order.PERMUTED, 10, 3), 40).reshape(4, 10)
    assert len({tuple(one) for one in passes}) == 4


def test_without_any_gap_blocks_are_drawn_uniformly():
    """All stored gaps zero does not mean converged: they may be stale."""
    assert set(drawn(new_sampler(Order.GAP, 4, 0), 200)) == {0, 1, 2, 3}


def test_the_generator_is_uniform_on_the_unit_interval():
    random = np.array([9], np.uint64)
    numbers = np.array([uniform(random) for _ in range(20_000)])
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    # Mean 1/2 with standard deviation 1/sqrt(12 * 20000) = 0.002.
    assert abs(numbers.mean() - 0.5) < 5 * 0.00205
    counts = np.histogram(numbers, 20, (0.0, 1.0))[0]
    assert np.sum((counts - 1000) ** 2 / 1000) <= 19 + 5 * np.sqrt(38)


def test_splitmix64_gives_its_published_numbers():
    """First outputs for seed 1234567 (Vigna's splitmix64.c)."""
    random = np.array([1234567], np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [uniform(random) for _ in published] == [(z >> 11) / 2**53 for z in published]
