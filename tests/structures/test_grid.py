"""The edges of a grid join exactly the cells that are one step apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.structures.grid import grid_edges


@given(height=st.integers(1, 7), width=st.integers(1, 7))
def test_an_edge_joins_each_two_cells_one_step_apart(height, width):
    edges, direction = grid_edges(height, width)
    assert (edges.dtype, edges.shape) == (np.int32, (len(direction), 2))
    row, column = np.divmod(np.arange(height * width), width)
    expected = {
        (u, v, direction)
        for u in range(height * width)
        for v in range(height * width)
        for direction, step in enumerate([(0, 1), (1, 0)])
        if (row[v] - row[u], column[v] - column[u]) == step
    }
    found = [(u, v, d) for (u, v), d in zip(edges.tolist(), direction.tolist(), strict=True)]
    assert len(found) == len(expected)
    assert set(found) == expected


@pytest.mark.parametrize(("height", "width"), [(0, 3), (3, 0), (-1, 2)])
def test_a_grid_without_cells_is_refused(height, width):
    with pytest.raises(ValueError, match="at least 1"):
        grid_edges(height, width)
