"""Forward-backward finds the marginals of a chain, whatever its scores: by two roads."""

import numba
import numpy as np
import pytest
from crf_reference import enumerated_chain
from hypothesis import assume, given
from hypothesis import strategies as st

from taut.inference import forward_backward
from taut.inference.forward_backward import (
    WIDEST,
    chain_expectation,
    independent,
    new_chain_sums,
    scaled,
    scaled_step,
    scaled_step_sum,
    spread,
)
from taut.inference.log_forward_backward import logarithmic, logarithmic_step

EPS = np.finfo(float).eps
# A sum of K quotients by that very sum is rounded by 1e-16 for each.
ONE = 1e-12
NO_FEATURES = np.zeros((0, 0))


class Chain:
    def __init__(self, theta, pair, sharpness=1.0):
        self.theta, self.pair, self.sharpness = theta, pair, sharpness
        self.length, self.K = theta.shape

    @property
    def rounding(self):
        """A score is rounded relative to the largest, once or twice for each step before it; the
        exponential of a sum by as much absolutely."""
        finite = np.concatenate([self.theta.ravel(), self.pair.ravel()])
        largest = np.abs(finite[np.isfinite(finite)]).max(initial=1.0)
        return 16 * EPS * self.length * (1.0 + self.sharpness * largest)

    def enumerated(self):
        return enumerated_chain(self.theta, self.pair, self.sharpness)

    def padded(self, spare):
        """Buffers may be longer than the chain; nothing may read what is not its own."""
        theta = np.vstack([self.theta, np.full((spare, self.K), np.nan)])
        pair = self.pair
        if len(pair) > 1:
            pair = np.concatenate([pair, np.full((spare, self.K, self.K), np.nan)])
        return theta, pair

    def marginals(self, by, spare=0):
        """log Z, node and step marginals by ``scaled`` or ``logarithmic``."""
        theta, pair = self.padded(spare)
        sums = new_chain_sums(len(theta), len(pair), self.K)
        for part in (sums.forward, sums.backward, sums.arrive, sums.step):
            part[:] = np.nan
        node = np.full(theta.shape, -7.0)
        log_z = by(theta, pair, self.length, self.sharpness, sums, node)
        assert (node[self.length :] == -7.0).all()
        step = np.zeros((self.length - 1, self.K, self.K))
        if log_z > -np.inf:
            for t in range(self.length - 1):
                if by is scaled:
                    scaled_step(t, sums, step[t])
                else:
                    logarithmic_step(t, pair, self.sharpness, sums, step[t])
            if by is scaled and len(pair) == 1:
                total = np.full((self.K, self.K), np.nan)
                scaled_step_sum(self.length, sums, total)
                np.testing.assert_allclose(total, step.sum(0), rtol=1e-13, atol=0)
        return log_z, node[: self.length], step

    def expectation(self, features=NO_FEATURES, spare=0):
        """log Z, node marginals and the sums of step marginals, as a problem gets them."""
        theta, pair = self.padded(spare)
        sums = new_chain_sums(len(theta), len(pair), self.K)
        n_tables = max(features.shape[1], 1)
        nodes, steps = self.length * self.K, n_tables * self.K**2
        image = np.full(nodes + steps + spare, -7.0)
        log_z = chain_expectation(theta, pair, self.length, self.sharpness, features, sums, image)
        assert (image[nodes + steps :] == -7.0).all()
        node = image[:nodes].reshape(self.length, self.K)
        return log_z, node, image[nodes : nodes + steps].reshape(n_tables, self.K, self.K)


def random_chain(length, K, seed, *, shared=True, scale=1.0, forbidden=0.0, sharpness=1.0):
    rng = np.random.default_rng(seed)
    theta = scale * rng.normal(size=(length, K))
    pair = scale * rng.normal(size=(1 if shared else max(length - 1, 1), K, K))
    for scores in (theta, pair):
        scores[rng.random(scores.shape) < forbidden] = -np.inf
    return Chain(theta, pair, sharpness)


chains = st.builds(
    random_chain,
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 10**6),
    shared=st.booleans(),
    scale=st.sampled_from([0.0, 1.0, 8.0]),
    forbidden=st.sampled_from([0.0, 0.0, 0.3, 0.6]),
    sharpness=st.sampled_from([1.0, 0.3, 4.0]),
)
roads = pytest.mark.parametrize("by", [scaled, logarithmic], ids=["scaled", "logarithmic"])


def assert_consistent(node, step, tolerance):
    """Steps are distributions, and so are their sums over either end: those of the nodes."""
    np.testing.assert_allclose(node.sum(1), 1.0, rtol=0, atol=ONE)
    np.testing.assert_allclose(step.sum((1, 2)), 1.0, rtol=0, atol=max(ONE, tolerance))
    np.testing.assert_allclose(step.sum(2), node[:-1], rtol=0, atol=tolerance)
    np.testing.assert_allclose(step.sum(1), node[1:], rtol=0, atol=tolerance)


# --- the definition ------------------------------------------------------------------------------


@roads
@given(chain=chains, spare=st.sampled_from([0, 3]))
def test_marginals_are_those_of_the_enumerated_distribution(by, chain, spare):
    log_z, node, step = chain.marginals(by, spare)
    right = chain.enumerated()
    assert log_z == pytest.approx(right.log_z, rel=0, abs=chain.rounding)
    if log_z == -np.inf:
        return
    np.testing.assert_allclose(node, right.node, rtol=0, atol=chain.rounding)
    np.testing.assert_allclose(step, right.step, rtol=0, atol=chain.rounding)
    assert_consistent(node, step, chain.rounding)
    # What is forbidden, or out of reach, has no probability at all, not a small one.
    closed = [np.where(np.isfinite(scores), 0.0, -np.inf) for scores in (chain.theta, chain.pair)]
    occurs = enumerated_chain(*closed)
    assert not node[occurs.node == 0.0].any()
    assert not step[occurs.step == 0.0].any()


@given(chain=chains, spare=st.sampled_from([0, 3]), n_features=st.integers(0, 3))
def test_the_image_holds_nodes_and_the_sums_of_steps(chain, spare, n_features):
    """With step features, their sums weighted by each; without, the plain sum."""
    assume(n_features > 0 or len(chain.pair) == 1)
    features = np.random.default_rng(n_features).normal(size=(chain.length, n_features))
    log_z, node, steps = chain.expectation(features, spare)
    right = chain.enumerated()
    assert log_z == pytest.approx(right.log_z, rel=0, abs=chain.rounding)
    if log_z == -np.inf:
        return
    each = features[:-1] if n_features else np.ones((chain.length - 1, 1))
    expected = np.einsum("tf,tkl->fkl", each, right.step)
    np.testing.assert_allclose(node, right.node, rtol=0, atol=chain.rounding)
    np.testing.assert_allclose(steps, expected, rtol=0, atol=4 * chain.length * chain.rounding)


@given(chain=chains)
def test_one_table_can_serve_all_steps(chain):
    assume(len(chain.pair) == 1)
    repeated = Chain(chain.theta, np.repeat(chain.pair, max(chain.length - 1, 1), 0))
    repeated.sharpness = chain.sharpness
    for by in (scaled, logarithmic):
        log_z, node, step = chain.marginals(by)
        other_log_z, other_node, other_step = repeated.marginals(by)
        assert log_z == pytest.approx(other_log_z, rel=0, abs=chain.rounding)
        if log_z > -np.inf:
            np.testing.assert_allclose(node, other_node, rtol=1e-12, atol=0)
            np.testing.assert_allclose(step, other_step, rtol=1e-12, atol=0)


@given(chain=chains)
def test_unconnected_nodes_are_a_chain_without_step_scores(chain):
    alone = Chain(chain.theta, np.zeros((1, chain.K, chain.K)), chain.sharpness)
    node = np.zeros(chain.theta.shape)
    log_z = independent(chain.theta, chain.length, chain.sharpness, node)
    right = alone.enumerated()
    assert log_z == pytest.approx(right.log_z, rel=0, abs=alone.rounding)
    if log_z > -np.inf:
        np.testing.assert_allclose(node, right.node, rtol=0, atol=alone.rounding)


@given(chain=chains, factor=st.sampled_from([0.5, 2.0]))
def test_sharpness_multiplies_the_scores(chain, factor):
    """Exactly, where the factor is a power of two."""
    sharper = Chain(chain.theta, chain.pair, factor)
    scores = Chain(factor * chain.theta, factor * chain.pair)
    for by in (scaled, logarithmic):
        for one, two in zip(sharper.marginals(by), scores.marginals(by), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=0)


@pytest.mark.parametrize("shared", [True, False], ids=["one table", "a table per step"])
def test_the_gradient_of_log_z_is_the_marginals(shared):
    chain = random_chain(4, 3, 5, shared=shared, forbidden=0.1)
    _, node, step = chain.marginals(scaled)
    gradient = step.sum(0, keepdims=True) if shared else step
    h = 1e-4
    assert np.isinf(chain.theta).any() or np.isinf(chain.pair).any()
    for scores, marginals in ((chain.theta, node), (chain.pair, gradient)):
        for at in zip(*np.nonzero(np.isfinite(scores)), strict=True):
            before, values = scores[at], []
            for moved in (before + h, before - h):
                scores[at] = moved
                values.append(chain.expectation(np.ones((4, 1)))[0])
            scores[at] = before
            slope = (values[0] - values[1]) / (2 * h)
            # The third cumulant of a number of occurrences, at most 3, is below 3^3.
            assert slope == pytest.approx(marginals[at], rel=0, abs=3**3 / 6 * h**2 + 1e-11)


# --- which road ----------------------------------------------------------------------------------


def by_definition(chain, sharpness):
    """Scores that meet in a sum: at one node and one step; under constraints, all that add up, and
    so do the labels they are summed over."""
    tables = chain.pair[: chain.length - 1]
    ranges = lambda rows: [  # noqa: E731
        np.ptp(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0 for row in rows
    ]
    nodes, steps = ranges(chain.theta), ranges(tables)
    if np.isfinite(tables).all():  # forbidden labels are missing from all sums alike
        return sharpness * (max(nodes) + max(steps, default=0.0))
    total = sum(nodes) + sum(steps) * (chain.length - 1 if len(steps) == 1 else 1)
    return sharpness * total + chain.length * np.log(chain.theta.shape[1])


@given(chain=chains, spare=st.sampled_from([0, 3]), sharpness=st.sampled_from([0.1, 1.0, 7.0]))
def test_spread_is_how_far_scores_that_meet_can_be_apart(chain, spare, sharpness):
    found = spread(*chain.padded(spare), chain.length, sharpness)
    assert found == pytest.approx(by_definition(chain, sharpness), rel=1e-12)


@pytest.mark.parametrize(("excess", "road"), [(0.99, "scaled"), (1.01, "logarithmic")])
@pytest.mark.parametrize("sharpness", [1.0, 10.0])
def test_the_road_is_chosen_by_the_spread(excess, road, sharpness):
    """The two leave other things behind in their scratch memory: numbers, and their logarithms."""
    theta = np.array([[0.0, 0.5], [0.5, 0.0]]) * excess * WIDEST / sharpness
    pair = np.array([[[0.0, 0.5], [0.5, 0.0]]]) * excess * WIDEST / sharpness
    sums = new_chain_sums(2, 1, 2)
    chain_expectation(theta, pair, 2, sharpness, NO_FEATURES, sums, np.zeros(8))
    took_logarithms = (sums.forward < 0.0).any()
    assert took_logarithms == (road == "logarithmic")


def test_labellings_that_are_few_among_many():
    """All scores are equal, but label 0 comes only after itself, and must be the last."""
    length, n_states = 800, 10
    theta, pair = np.zeros((length, n_states)), np.zeros((1, n_states, n_states))
    pair[0, 1:, 0] = theta[-1, 1:] = -np.inf
    for sharpness in (0.01, 1.0):
        sums, image = new_chain_sums(length, 1, n_states), np.zeros((length + n_states) * n_states)
        log_z = chain_expectation(theta, pair, length, sharpness, NO_FEATURES, sums, image)
        assert log_z == pytest.approx(0.0, abs=1e-12)  # one labelling, of score 0
        assert np.all(image[: length * n_states].reshape(length, -1)[:, 0] == 1.0)


# --- extreme scores ------------------------------------------------------------------------------


@pytest.mark.parametrize("forbidden", [0.0, 0.2], ids=["free", "constrained"])
@pytest.mark.parametrize("where", ["nodes", "steps", "both"])
def test_scores_of_ten_thousand(where, forbidden):
    """Whole numbers add up exactly, so that the enumeration is right to the last digits."""
    rng = np.random.default_rng(3)
    for shared in (True, False):
        for _ in range(5):
            theta = np.zeros((5, 3))
            pair = np.zeros((1 if shared else 4, 3, 3))
            if where != "steps":
                theta += rng.choice([-1e4, 0.0, 1e4], theta.shape)
            if where != "nodes":
                pair += rng.choice([-1e4, 0.0, 1e4], pair.shape)
            theta += rng.integers(-2, 3, theta.shape)
            pair[rng.random(pair.shape) < forbidden] = -np.inf
            chain = Chain(theta, pair)
            right = chain.enumerated()
            log_z, node, steps = chain.expectation(np.ones((5, 1)))
            assert log_z == pytest.approx(right.log_z, rel=0, abs=chain.rounding)
            if log_z > -np.inf:
                np.testing.assert_allclose(node, right.node, rtol=0, atol=chain.rounding)
                total = right.step.sum(0)
                np.testing.assert_allclose(steps[0], total, rtol=0, atol=5 * chain.rounding)
                np.testing.assert_allclose(node.sum(1), 1.0, rtol=0, atol=ONE)


@pytest.mark.parametrize("way", ["constraints", "steps", "many small steps", "just scaled"])
def test_a_label_that_lags_behind_and_then_must_win(way):
    """Label 1 is e^-400 times as probable as label 0, until label 0 ends: then it is certain."""
    length = 6
    theta, pair = np.zeros((length, 2)), np.zeros((1, 2, 2))
    apart = {"constraints": -np.inf, "steps": -1e3, "many small steps": -np.inf}.get(way, -200.0)
    pair[0, [0, 1], [1, 0]] = apart
    if way == "many small steps":  # no single range is above the limit
        theta[:-1, 1] = -80.0
    elif way == "just scaled":  # 90 + 200, below the limit: what lags comes back through a step
        theta[:, 1] = -90.0
    else:
        theta[0, 1] = -400.0
    theta[-1, 0] = -99.0 if way == "just scaled" else -np.inf if apart == -np.inf else -2e3
    chain = Chain(theta, pair)
    right = chain.enumerated()
    log_z, node, steps = chain.expectation()
    assert log_z == pytest.approx(right.log_z, rel=0, abs=chain.rounding)
    np.testing.assert_allclose(node, right.node, rtol=0, atol=chain.rounding)
    np.testing.assert_allclose(steps[0], right.step.sum(0), rtol=0, atol=5 * chain.rounding)
    if way != "just scaled":
        np.testing.assert_array_equal(node[:, 1], np.ones(length))
        assert spread(theta, pair, length, 1.0) > WIDEST
    else:
        assert spread(theta, pair, length, 1.0) <= WIDEST


@pytest.mark.parametrize(
    ("by", "scale"),
    [(scaled, 1.0), (scaled, 15.0), (logarithmic, 1.0), (logarithmic, 15.0), (logarithmic, 1e4)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
@pytest.mark.parametrize("shared", [True, False], ids=["one table", "a table per step"])
def test_long_chains_neither_overflow_nor_lose_digits(shared, by, scale):
    chain = random_chain(2000, 4, 1, shared=shared, scale=scale)
    assert by is logarithmic or spread(chain.theta, chain.pair, 2000, 1.0) <= WIDEST
    log_z, node, step = chain.marginals(by)
    assert np.isfinite(log_z)
    # One message is rounded on its way from a node to a step, at the size of its scores.
    assert_consistent(node, step, 64 * EPS * (1.0 + 4 * scale))
    again_log_z, again_node, steps = chain.expectation(np.ones((2000, 1)))
    assert again_log_z == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(again_node, node, rtol=0, atol=chain.rounding)
    assert steps.sum() == pytest.approx(1999, rel=1e-10)


def test_long_chains_agree_on_both_roads():
    chain = random_chain(2000, 5, 2, scale=20.0)
    assert spread(chain.theta, chain.pair, 2000, 1.0) <= WIDEST
    one, two = chain.marginals(scaled), chain.marginals(logarithmic)
    assert one[0] == pytest.approx(two[0], rel=1e-13)
    np.testing.assert_allclose(one[1], two[1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(one[2], two[2], rtol=0, atol=1e-11)


# --- the smallest chains, and impossible ones ----------------------------------------------------


@roads
def test_a_single_node_is_a_softmax(by):
    theta = np.array([[1.0, -2.0, 0.5]])
    log_z, node, step = Chain(theta, np.zeros((1, 3, 3))).marginals(by)
    p = np.exp(theta[0]) / np.exp(theta[0]).sum()
    np.testing.assert_allclose(node[0], p, rtol=1e-15)
    assert log_z == pytest.approx(np.log(np.exp(theta[0]).sum()), rel=1e-15)
    assert step.shape == (0, 3, 3)
    assert not Chain(theta, np.zeros((1, 3, 3))).expectation()[2].any()


@roads
@pytest.mark.parametrize("score", [0.0, 1e4, -1e4])
def test_one_label_is_certain(by, score):
    chain = Chain(np.full((5, 1), score), np.full((1, 1, 1), 2 * score))
    log_z, node, step = chain.marginals(by)
    assert log_z == pytest.approx(13 * score, rel=1e-15)
    np.testing.assert_array_equal(node, np.ones((5, 1)))
    np.testing.assert_array_equal(step, np.ones((4, 1, 1)))


@pytest.mark.parametrize("features", [NO_FEATURES, np.ones((3, 2))], ids=["constant", "features"])
@pytest.mark.parametrize("where", ["one node", "all steps", "one step", "in concert"])
def test_where_every_labelling_is_forbidden_log_z_is_minus_infinity(where, features):
    theta = np.zeros((3, 2))
    pair = np.zeros((1 if features.size == 0 else 2, 2, 2))
    if where == "one node":
        theta[1] = -np.inf
    elif where == "all steps":
        pair[:] = -np.inf
    elif where == "one step":
        pair[-1] = -np.inf
    else:  # every node and every step alone is possible
        theta[0, 0] = theta[1, 1] = -np.inf
        pair[0, 1, 0] = -np.inf
    chain = Chain(theta, pair)
    assert chain.expectation(features)[0] == -np.inf
    assert chain.marginals(scaled)[0] == chain.marginals(logarithmic)[0] == -np.inf
    if where == "one node":
        assert independent(theta, 3, 1.0, np.zeros((3, 2))) == -np.inf


# --- one source, two modes -----------------------------------------------------------------------


@pytest.mark.parametrize("forbidden", [0.0, 0.3])
def test_interpreted_it_computes_the_same_without_a_warning(forbidden, monkeypatch):
    functions = {
        name: value
        for name, value in vars(forward_backward).items()
        if isinstance(value, numba.core.dispatcher.Dispatcher)
    }
    assert "scaled" in functions
    cases = [
        random_chain(4, 3, seed, shared=seed % 2 == 0, scale=scale, forbidden=forbidden)
        for seed in range(8)
        for scale in (1.0, 200.0)
    ]
    features = np.random.default_rng(0).normal(size=(4, 2))

    def image(function, chain):
        out = np.zeros(4 * 3 + 2 * 9)
        sums = new_chain_sums(4, len(chain.pair), 3)
        log_z = function(chain.theta, chain.pair, 4, 1.0, features, sums, out)
        return log_z, out * np.isfinite(log_z)

    compiled = [image(chain_expectation, chain) for chain in cases]
    for name, function in functions.items():
        monkeypatch.setattr(forward_backward, name, function.py_func)
    for chain, (log_z, out) in zip(cases, compiled, strict=True):
        other_log_z, other = image(chain_expectation.__wrapped__, chain)
        assert other_log_z == pytest.approx(log_z, rel=0, abs=chain.rounding)
        # Two implementations of exp and log may round differently.
        np.testing.assert_allclose(other, out, rtol=0, atol=16 * chain.rounding)
