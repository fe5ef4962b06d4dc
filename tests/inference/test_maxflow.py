"""The maximum flow equals the minimum cut, and scipy's maximum flow where that applies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import random_ends
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from taut.inference.maxflow import SOURCE, link_arcs, max_flow, new_flow_work


def run_max_flow(ends, capacity, terminal, work=None):
    """The flow's value and which nodes are on the source's side. ``capacity`` is (m, 2)."""
    n, m = len(terminal), len(ends)
    work = new_flow_work(n, m) if work is None else work
    link_arcs(ends, n, m, work)
    forward = work.slot[:m]
    work.residual[forward] = capacity[:, 0]
    work.residual[work.sister[forward]] = capacity[:, 1]
    work.terminal[:n] = terminal
    value = max_flow(n, work)
    return value, work.tree[:n] == SOURCE


def cut_value(ends, capacity, terminal, source_side):
    first, second = source_side[ends[:, 0]], source_side[ends[:, 1]]
    return (
        capacity[first & ~second, 0].sum()
        + capacity[~first & second, 1].sum()
        + np.maximum(terminal, 0.0)[~source_side].sum()
        + np.maximum(-terminal, 0.0)[source_side].sum()
    )


def scipy_flow(ends, capacity, terminal):
    n = len(terminal)
    dense = np.zeros((n + 2, n + 2), np.int32)
    np.add.at(dense, (ends[:, 0], ends[:, 1]), capacity[:, 0].astype(np.int32))
    np.add.at(dense, (ends[:, 1], ends[:, 0]), capacity[:, 1].astype(np.int32))
    dense[n, :n] = np.maximum(terminal, 0.0)
    dense[:n, n + 1] = np.maximum(-terminal, 0.0)
    return maximum_flow(csr_array(dense), n, n + 1).flow_value


def random_network(n, m, seed, integers):
    """Sparse and dense, a quarter of the capacities zero, many nodes at no terminal."""
    rng = np.random.default_rng(seed)
    ends = random_ends(rng, n, m)
    capacity = rng.integers(0, 4, (len(ends), 2)).astype(float)
    terminal = rng.integers(-6, 7, n) * (rng.random(n) < 0.6)
    if not integers:
        capacity *= 10.0 ** rng.uniform(-3, 6, capacity.shape)
        terminal = terminal * 10.0 ** rng.uniform(-3, 6, n)
    return ends, capacity, terminal.astype(float)


sizes = st.tuples(st.integers(1, 14), st.integers(0, 60), st.integers(0, 10**6))


@given(sizes)
def test_with_integer_capacities_the_value_is_scipys(size):
    network = random_network(*size, integers=True)
    value, source_side = run_max_flow(*network)
    assert value == scipy_flow(*network)
    assert value == cut_value(*network, source_side)


@given(sizes)
def test_with_float_capacities_the_cut_proves_the_flow_maximal(size):
    network = random_network(*size, integers=False)
    value, source_side = run_max_flow(*network)
    # Each of at most nm augmentations rounds the residuals of its path once.
    total = abs(network[1]).sum() + abs(network[2]).sum()
    assert value == pytest.approx(cut_value(*network, source_side), rel=1e-13, abs=1e-13 * total)


@given(sizes)
def test_the_source_side_is_the_smallest_of_all_minimum_cuts(size):
    ends, capacity, terminal = random_network(*size, integers=True)
    value, source_side = run_max_flow(ends, capacity, terminal)
    # Moving a node to the sink cannot keep the cut minimal: forced there, it costs more.
    for v in np.flatnonzero(source_side):
        forced = terminal.copy()
        forced[v] -= 1000.0
        _, side = run_max_flow(ends, capacity, forced)
        assert cut_value(ends, capacity, terminal, side) > value
        assert not side[v]


@given(sizes)
def test_no_list_of_nodes_outgrows_the_number_of_nodes(size):
    """What the bounds of the scratch memory rely on: a node enters each list at most once."""
    ends, capacity, terminal = random_network(*size, integers=False)
    n = len(terminal)
    work = new_flow_work(n + 1, len(ends))
    work.frontier[:] = -7
    run_max_flow(ends, capacity, terminal, work)
    assert (work.frontier[:, :, n] == -7).all()
    assert (work.bucket == -1).all()


def test_scratch_memory_of_a_large_graph_serves_small_ones():
    work = new_flow_work(20, 80)
    for seed in range(30):
        network = random_network(1 + seed % 20, 2 * seed, seed, integers=True)
        assert run_max_flow(*network, work)[0] == scipy_flow(*network)


def test_the_flow_of_a_long_path_is_its_narrowest_edge():
    """Distances far beyond those of random graphs."""
    n = 300
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1).astype(np.int32)
    capacity = np.full((n - 1, 2), 5.0)
    capacity[200] = 2.0
    terminal = np.zeros(n)
    terminal[0], terminal[-1] = 9.0, -9.0
    value, source_side = run_max_flow(ends, capacity, terminal)
    assert value == 2.0
    assert source_side.tolist() == [True] * 201 + [False] * 99


def test_nodes_without_edges_or_capacity_are_on_the_side_of_their_terminal():
    ends = np.array([[0, 1]], np.int32)
    value, source_side = run_max_flow(ends, np.zeros((1, 2)), np.array([2.0, -3.0, 0.0, 1.0]))
    assert value == 0.0
    assert source_side.tolist() == [True, False, False, True]


def test_an_arc_too_thin_to_change_its_terminals_does_not_go_on_forever():
    """1e-20 vanishes in the rounding of 1.0: only the emptied arc shows that something flowed."""
    ends = np.array([[0, 1], [1, 2]], np.int32)
    value, _ = run_max_flow(ends, np.full((2, 2), 1e-20), np.array([1.0, 0.0, -1.0]))
    assert value == 1e-20
