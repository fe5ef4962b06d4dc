"""The grids follow the Potts model, and the observations their states."""

import itertools

import numpy as np
import pytest

from taut.datasets import make_gaussian_potts


def test_shapes():
    graphs, labels = make_gaussian_potts(3, size=4, n_states=2)
    assert len(graphs) == len(labels) == 3
    for (features, edges), states in zip(graphs, labels, strict=True):
        assert (features.shape, edges.shape, states.shape) == ((16, 2), (24, 2), (16,))
        assert set(states) <= {0, 1}
        np.testing.assert_array_equal(features[:, 1], features[:, 0] ** 2)


@pytest.mark.parametrize("coupling", [-1.0, 0.0, 0.8])
def test_labels_follow_the_potts_model(coupling):
    n, n_states = 4000, 3
    graphs, labels = make_gaussian_potts(n, size=2, n_states=n_states, coupling=coupling)
    u, v = graphs[0][1].T
    all_grids = np.array(list(itertools.product(range(n_states), repeat=4)))
    probability = np.exp(coupling * (all_grids[:, u] == all_grids[:, v]).sum(axis=1))
    probability /= probability.sum()
    expected = np.bincount(
        (all_grids[:, u] == all_grids[:, v]).sum(axis=1), weights=probability, minlength=5
    )
    drawn = np.array(labels)
    found = np.bincount((drawn[:, u] == drawn[:, v]).sum(axis=1), minlength=5) / n
    # Five standard errors of a frequency; three equal edges force the fourth, so bin 3 is empty.
    assert expected[3] == found[3] == 0
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)).all()


def test_observations_are_the_state_and_noise():
    graphs, labels = make_gaussian_potts(40, noise=0.5, random_state=3)
    residuals = np.concatenate([graph[0][:, 0] for graph in graphs]) - np.concatenate(labels)
    n = len(residuals)  # 4,000 normal numbers; five standard errors of mean and deviation
    assert abs(residuals.mean()) <= 5 * 0.5 / np.sqrt(n)
    assert abs(residuals.std() - 0.5) <= 5 * 0.5 / np.sqrt(2 * n)


def test_without_noise_the_state_is_seen():
    graphs, labels = make_gaussian_potts(2, size=3, noise=0.0)
    for (features, _), states in zip(graphs, labels, strict=True):
        np.testing.assert_array_equal(features[:, 0], states)


def test_one_seed_makes_one_data_set():
    first, again, other = (make_gaussian_potts(2, size=5, random_state=k) for k in (0, 0, 1))
    np.testing.assert_array_equal(first[0][1][0], again[0][1][0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[1], other[1])


def test_a_grid_of_one_cell_has_no_edges():
    graphs, labels = make_gaussian_potts(1, size=1)
    assert (graphs[0][0].shape, graphs[0][1].shape, labels[0].shape) == ((1, 2), (0, 2), (1,))


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"size": 0}, {"n_states": 0}, {"coupling": np.inf}, {"noise": -1.0}]
)
def test_wrong_arguments_are_named(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name} must be .*, not {value}"):
        make_gaussian_potts(**wrong)
