"""Snakes become grids with the colours around each cell as features."""

import numpy as np
import pytest

from taut.datasets import load_snakes

COLOURS = np.array([[0, 0, 0], [0, 0, 9], [0, 9, 0], [9, 0, 0], [9, 9, 9]], dtype=np.uint8)
CELLS = np.array([0, 1, 2, 3, 4, 0])


def save(home, without=(), **changes):
    arrays = {
        "shapes_train": np.array([[2, 3]]),
        "X_train": COLOURS[CELLS],
        "Y_train": np.array([0, 1, 2, 10, 0, 0], dtype=np.uint8),
        "shapes_test": np.array([[1, 1], [1, 2]]),
        "X_test": COLOURS[[2, 0, 1]],
        "Y_test": np.array([0, 0, 3], dtype=np.uint8),
    } | changes
    (home / "snakes").mkdir(exist_ok=True)
    kept = {name: arrays[name] for name in arrays if name not in without}
    np.savez_compressed(home / "snakes" / "snakes.npz", **kept)


def test_features_are_the_colours_of_the_neighbourhood(tmp_path):
    save(tmp_path)
    graphs, labels, graphs_test, labels_test = load_snakes(tmp_path)
    features, edges, edge_features = graphs[0]
    assert features.shape == (6, 45)
    grid = CELLS.reshape(2, 3)
    for cell, (row, column) in enumerate(np.ndindex(2, 3)):
        for k, (i, j) in enumerate(np.ndindex(3, 3)):
            at = row + i - 1, column + j - 1
            inside = 0 <= at[0] < 2 and 0 <= at[1] < 3
            expected = np.eye(5)[grid[at]] if inside else np.zeros(5)
            np.testing.assert_array_equal(features[cell, 5 * k : 5 * k + 5], expected)
    right = edges[:, 1] == edges[:, 0] + 1
    below = edges[:, 1] == edges[:, 0] + 3
    np.testing.assert_array_equal(edge_features, np.stack([right, below], axis=1))
    assert labels[0].tolist() == [0, 1, 2, 10, 0, 0]
    assert [graph[1].shape for graph in graphs_test] == [(0, 2), (1, 2)]
    assert [row.tolist() for row in labels_test] == [[0], [0, 3]]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"without": ["Y_test"]}, "cannot read the arrays .*Y_test"),
        ({"shapes_train": np.array([[2, 2]])}, r"X_train has the shape \(6, 3\), expected \(4, 3"),
        ({"shapes_train": np.array([[0, 3]])}, "shapes_train has values 0 to 3"),
        ({"shapes_train": np.zeros((0, 2), dtype=int)}, r"expected \(1, 2\)"),
        ({"shapes_test": np.array([1.0])}, "float64, expected integers"),
        ({"X_train": COLOURS}, r"X_train has the shape \(5, 3\), expected \(6, 3\)"),
        ({"X_train": COLOURS[[4] * 6]}, "4 colours, expected 5"),
        ({"Y_train": np.full(6, 11)}, "Y_train has values 11 to 11, expected 0 to 10"),
        ({"Y_test": np.array([0, "one", 2], dtype=object)}, "allow_pickle=False"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path, change, complaint):
    save(tmp_path, **change)
    with pytest.raises(ValueError, match=f"snakes.npz: .*{complaint}"):
        load_snakes(tmp_path)


def test_real_files(real_data):
    graphs, labels, graphs_test, labels_test = load_snakes(real_data)
    assert (len(graphs), len(graphs_test)) == (200, 100)
    for part, rows, n_cells in ((graphs, labels, 7566), (graphs_test, labels_test, 3750)):
        assert sum(len(row) for row in rows) == n_cells
        assert [graph[0].shape for graph in part] == [(len(row), 45) for row in rows]
        assert set(np.concatenate(rows)) == set(range(11))
        # Every snake is whole: one cell of each position.
        assert all(np.bincount(row, minlength=11)[1:].tolist() == [1] * 10 for row in rows)
