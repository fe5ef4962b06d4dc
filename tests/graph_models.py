"""Random pairwise models on small graphs, for tests of inference."""

from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class GraphModel(NamedTuple):
    theta: np.ndarray  # (n, K)
    states: np.ndarray
    ends: np.ndarray  # (m, 2)
    pair: np.ndarray  # (m, K, K)

    @property
    def size(self):
        """n and m."""
        return len(self.theta), len(self.ends)

    @property
    def scale(self):
        """The sum of all absolute scores that mean something: what rounding is relative to."""
        return 1.0 + float(np.nansum(abs(self.theta)) + np.nansum(abs(self.pair)))

    def score(self, y):
        nodes = sum(row[k] for row, k in zip(self.theta, y, strict=True))
        return nodes + sum(p[y[u], y[v]] for p, (u, v) in zip(self.pair, self.ends, strict=True))

    def expected_score(self, node, edge):
        """The score of marginals; states that do not exist must have none."""
        scores, marginals = (self.theta, self.pair), (node, edge)
        for score, marginal in zip(scores, marginals, strict=True):
            assert not marginal[np.isnan(score)].any()
        return sum(np.nansum(s * mu) for s, mu in zip(scores, marginals, strict=True))

    def labellings(self):
        return product(*(range(k) for k in self.states))

    def best_score(self):
        return max(self.score(y) for y in self.labellings())


def edges_of(kind, n, rng):
    if kind == "complete":
        return [(u, v) for u in range(n) for v in range(u)]
    if kind == "cycle":
        return [(t, (t + 1) % n) for t in range(n)] if n > 2 else []
    if kind == "forest":
        chosen = [(int(rng.integers(t)), t) for t in range(1, n) if rng.random() < 0.8]
        return [chosen[i] for i in rng.permutation(len(chosen))]
    # Anything: parallel edges in both directions, isolated nodes.
    drawn = rng.integers(0, n, (n + 2, 2))
    return [(u, v) for u, v in drawn if u != v]


def random_model(kind, n, n_states, scores, seed):
    """States that do not exist have scores that are not numbers: nothing may read them."""
    rng = np.random.default_rng(seed)
    ends = np.array(edges_of(kind, n, rng), np.int32).reshape(-1, 2)
    states = rng.integers(1, n_states + 1, n).astype(np.int32)
    if scores == "binary":
        states[:] = n_states = 2
    shapes = (n, n_states), (len(ends), n_states, n_states)
    theta, pair = (rng.normal(size=shape) for shape in shapes)
    if scores == "ties":
        theta, pair = (rng.integers(-1, 2, shape).astype(float) for shape in shapes)
    elif scores == "no pairs":
        pair *= 0.0
    elif scores == "only pairs":
        theta *= 0.0
    elif scores == "large":
        theta, pair = 1e6 * theta, 1e6 * (1.0 + pair)
    possible = np.arange(n_states) < states[:, None]
    theta[~possible] = np.nan
    pair[~(possible[ends[:, 0], :, None] & possible[ends[:, 1], None, :])] = np.nan
    return GraphModel(theta, states, ends, pair)


KINDS = "complete", "cycle", "forest", "anything"
SCORES = "normal", "binary", "ties", "no pairs", "only pairs", "large"


@st.composite
def graph_models(draw, kinds=KINDS, scores=SCORES, most_nodes=6):
    return random_model(
        draw(st.sampled_from(kinds)),
        draw(st.integers(1, most_nodes)),
        draw(st.integers(1, 4)),
        draw(st.sampled_from(scores)),
        draw(st.integers(0, 10**6)),
    )


def assert_in_local_polytope(model, node, edge, tolerance):
    assert (node >= 0.0).all()
    assert (edge >= 0.0).all()
    np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=0.0, atol=tolerance)
    u, v = model.ends.T
    np.testing.assert_allclose(edge.sum(axis=2), node[u], rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(edge.sum(axis=1), node[v], rtol=0.0, atol=tolerance)
