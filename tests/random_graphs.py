"""Random graph models for the tests of graph cut and its relatives, and their enumeration."""

import itertools

import numpy as np
from hypothesis import strategies as st


def random_ends(rng, n, m):
    """m edges between different nodes of n; parallel edges and isolated nodes occur."""
    if n < 2:
        return np.zeros((0, 2), np.int32)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    return np.stack([first, second], axis=1).astype(np.int32)


@st.composite
def models(draw, *, integers, supermodular=False, n_states=2, most_nodes=7):
    """(theta, ends, pair) with up to ``most_nodes`` nodes. Small integers force ties."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, most_nodes))
    ends = random_ends(rng, n, draw(st.integers(0, 3 * n)))
    shapes = (n, n_states), (len(ends), n_states, n_states)
    if integers:
        theta, pair = (rng.integers(-2, 3, shape).astype(float) for shape in shapes)
    else:
        scale = 10.0 ** rng.integers(-2, 7)
        theta, pair = (scale * rng.normal(size=shape) for shape in shapes)
    if supermodular:
        q = pair[:, 0, 0] + pair[:, 1, 1] - pair[:, 0, 1] - pair[:, 1, 0]
        pair[q < 0] = pair[q < 0, ::-1]  # exchanging the rows changes the sign of q
    return theta, ends, pair


def score(model, y):
    theta, ends, pair = model
    y = np.asarray(y)
    nodes = theta[np.arange(len(theta)), y].sum()
    return nodes + pair[np.arange(len(ends)), y[ends[:, 0]], y[ends[:, 1]]].sum()


def rounding(model):
    """A bound on the rounding errors of any score: 1e-13 is hundreds of additions' worth."""
    theta, _, pair = model
    return 1e-13 * (1.0 + abs(theta).sum() + abs(pair).sum())


def all_labellings(model):
    """All labellings and their scores."""
    n, n_states = model[0].shape
    labellings = np.array(list(itertools.product(range(n_states), repeat=n)))
    return labellings, np.array([score(model, y) for y in labellings])


def with_unused_rows(model):
    """The same model in buffers that are too large, filled with NaN and impossible nodes."""
    theta, ends, pair = model
    return (
        np.concatenate([theta, np.full((2, *theta.shape[1:]), np.nan)]),
        np.concatenate([ends, np.full((3, 2), 10**6, np.int32)]),
        np.concatenate([pair, np.full((3, *pair.shape[1:]), np.nan)]),
    )
