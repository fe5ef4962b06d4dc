"""Which edges touch a node: compressed rows, made by a counting sort in scratch memory.

A *half edge* is an edge seen from one of its ends: ``half = 2 * e + side`` touches the node
``ends[e, side]``, and ``ends[e, 1 - side]`` is the neighbour. The half edges of node t are
``half[start[t] : start[t + 1]]``, in the order of the edges.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Labels, by_reference, compiled


@by_reference
class Incidence(NamedTuple):
    start: Labels  # (N + 1,)
    half: Labels  # (2 M,)


def new_incidence(max_nodes, max_edges):
    return Incidence(np.zeros(max_nodes + 1, np.int32), np.zeros(2 * max_edges, np.int32))


@compiled
def fill_incidence(ends, n, m, incidence):
    """Sort the half edges of the first ``m`` edges by the ``n`` nodes they touch."""
    start, half = incidence.start, incidence.half
    for t in range(n + 1):
        start[t] = 0
    for e in range(m):
        start[ends[e, 0]] += 1
        start[ends[e, 1]] += 1
    end = 0
    for t in range(n):
        end += start[t]
        start[t] = end
    start[n] = end
    # Backwards, so that each start slides down to its place and the order of the edges is kept.
    for e in range(m - 1, -1, -1):
        for side in range(1, -1, -1):
            t = ends[e, side]
            start[t] -= 1
            half[start[t]] = 2 * e + side
