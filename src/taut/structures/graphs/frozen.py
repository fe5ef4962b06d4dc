"""Reads a graph problem's arrays back in compiled code; see :func:`taut._compile.freeze`.

The types are those of these examples, whatever the graphs: all are compiled once.
"""

import numpy as np

from taut._compile import thawed_as
from taut.inference.methods import Method
from taut.structures.graphs.arrays import Counts, Edges, GraphArrays, Loss, Nodes, Search
from taut.structures.graphs.basis import packed_basis
from taut.structures.graphs.rows import as_rows
from taut.structures.graphs.work import new_work_arrays

_numbers, _small = np.zeros(0, np.int64), np.zeros(0, np.int32)
_none = np.zeros(1, np.int64)  # where the first of none would begin
_rows, _basis = as_rows(np.zeros((0, 0))), packed_basis([np.eye(2)], 2)

EXAMPLE = GraphArrays(
    nodes=Nodes(
        rows=_rows,
        row=_numbers,
        type=_small,
        states=_small,
        basis=_basis,
        at=_numbers,
        feature_stride=_numbers,
        basis_stride=_numbers,
        bias_at=_numbers,
        width=2,
    ),
    edges=Edges(
        rows=_rows,
        start=_numbers,
        stop=_numbers,
        ends=np.zeros((0, 2), np.int32),
        type=_small,
        basis=_basis,
        at=_numbers,
        weights_at=0,
        n_weights=0,
        lower=np.zeros(0),
        width=2,
    ),
    loss=Loss(truth=_small, cost=np.zeros((0, 2, 2)), node_weight=np.zeros(0), scale=np.zeros(0)),
    counts=Counts(pointer=_none, member=_small, low=_small, high=_small, start=_none),
    search=Search(
        method=int(Method.MAX_SUM),
        relaxed=False,
        order=_small,
        messages=np.zeros((0, 2, 2)),
        message_start=_numbers,
        rounds=0,
        accuracy=0.0,
    ),
    pointer=_none,
    known=np.zeros(0, np.bool_),
)

graph_of = thawed_as(EXAMPLE)
work_of = thawed_as(new_work_arrays(EXAMPLE, 0, 0))
