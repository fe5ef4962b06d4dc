"""Max-sum finds the best labelling of a forest, and says which graphs are none."""

import numpy as np
import pytest
from graph_models import graph_models, random_model
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.enumeration import enumerate_chain
from taut.inference.maxsum import forest_order, max_sum, new_maxsum_work


def run_max_sum(model, *, spare=0):
    """Buffers may be larger than the example; nothing may read what is not its own."""
    n, m = model.size
    K = model.theta.shape[1]
    pad = lambda a, value: np.concatenate([a, np.full((spare, *a.shape[1:]), value, a.dtype)])  # noqa: E731
    work = new_maxsum_work(n + spare, m + spare, K)
    work.best[:], work.choice[:], work.is_child[:] = np.nan, 10**6, True
    y = np.full(n + spare, -1, np.int32)
    value = max_sum(
        pad(model.theta, np.nan), pad(model.states, 10**6), pad(model.ends, 10**6),
        pad(model.pair, np.nan), n, m, forest_order(n, model.ends), work, y,
    )  # fmt: skip
    assert (y[n:] == -1).all()
    return value, y[:n]


@given(graph_models(kinds=["forest"], most_nodes=7), st.sampled_from([0, 3]))
def test_the_value_is_the_maximum_over_all_labellings(model, spare):
    value, y = run_max_sum(model, spare=spare)
    rounding = 1e-14 * model.scale
    assert value == pytest.approx(model.best_score(), rel=0, abs=rounding)
    assert model.score(y) == pytest.approx(value, rel=0, abs=rounding)


@given(graph_models(kinds=["forest"], scores=["ties"], most_nodes=7))
def test_with_integer_scores_not_even_rounding_separates_them(model):
    value, y = run_max_sum(model)
    assert value == model.best_score() == model.score(y)


@given(graph_models(kinds=["forest"], scores=["no pairs"]))
def test_among_equal_scores_the_lowest_states_win(model):
    model.theta[~np.isnan(model.theta)] = 0.0
    value, y = run_max_sum(model)
    assert value == 0.0
    assert y.tolist() == [0] * len(y)


@given(st.integers(2, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_a_chain_is_labelled_as_viterbi_does(length, n_states, seed):
    rng = np.random.default_rng(seed)
    model = random_model("no edges", length, 1, "normal", seed)._replace(
        theta=rng.normal(size=(length, n_states)),
        states=np.full(length, n_states, np.int32),
        ends=np.array([(t, t + 1) for t in range(length - 1)], np.int32).reshape(-1, 2),
        pair=rng.normal(size=(length - 1, n_states, n_states)),
    )
    value, y = run_max_sum(model)
    best, labels = enumerate_chain(model.theta, model.pair)
    assert value == pytest.approx(best, rel=0, abs=1e-14 * model.scale)
    assert y.tolist() == labels.tolist()


@given(graph_models())
def test_an_order_exists_exactly_if_there_is_no_cycle(model):
    n, m = model.size
    root = list(range(n))
    closes = False
    for u, v in model.ends:
        closes |= root[u] == root[v]
        old, new = root[v], root[u]
        root = [new if r == old else r for r in root]
    order = forest_order(n, model.ends)
    assert (order is None) == closes
    if order is None:
        return
    assert sorted(e if e >= 0 else -e - 1 for e in order) == list(range(m))
    # Every node sends at most once, and only after its children have.
    sent = set()
    for e in order:
        child, parent = model.ends[e] if e >= 0 else model.ends[-e - 1][::-1]
        assert child not in sent
        assert parent not in sent
        sent.add(child)
    assert len(sent) == m


def test_a_long_chain_and_a_wide_star_are_no_trouble():
    """Neither depth nor degree is bounded."""
    n = 30_000
    for ends in (
        np.stack([np.arange(n - 1), np.arange(1, n)], axis=1),
        np.stack([np.arange(1, n), np.zeros(n - 1, int)], axis=1),
    ):
        order = forest_order(n, ends)
        theta, pair = np.zeros((n, 2)), np.tile(np.eye(2), (n - 1, 1, 1))
        theta[n // 2, 1] = 0.5
        y = np.zeros(n, np.int32)
        value = max_sum(
            theta, np.full(n, 2, np.int32), ends.astype(np.int32), pair, n, n - 1, order,
            new_maxsum_work(n, n - 1, 2), y,
        )  # fmt: skip
        assert value == n - 0.5
        assert y.all()
