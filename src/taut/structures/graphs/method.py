"""Which inference method a graph problem uses: what the user named, if it fits, or the best fit."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from taut.inference.maxsum import forest_order
from taut.inference.methods import ATTRACTIVE_ONLY, Method, fitting_method, named_method
from taut.structures.graphs.basis import ATTRACTIVE
from taut.structures.graphs.graph_model import GraphModel


class Topology:
    """The edges of all graphs, or those that all of them share."""

    def __init__(
        self,
        pointer: np.ndarray,
        states: np.ndarray,
        ends: np.ndarray,
        start: np.ndarray,
        stop: np.ndarray,
        shared: bool,
    ):
        self.pointer, self.states, self.ends = pointer, states, ends
        self.start, self.stop = start, stop
        self.different = min(len(start), 1) if shared else len(start)

    def _whole(self) -> tuple[int, np.ndarray, np.ndarray]:
        """All graphs as one: its nodes, the graph of each edge, and edges between its nodes."""
        sizes = (self.stop - self.start)[: self.different]
        graph = np.repeat(np.arange(self.different), sizes)
        return int(self.pointer[self.different]), graph, self.ends + self.pointer[graph][:, None]

    def order(self) -> np.ndarray:
        """The order that max-sum needs of all graphs, which are forests."""
        n, graph, ends = self._whole()
        order = forest_order(n, ends)
        assert order is not None
        edge = np.where(order >= 0, order, -order - 1)
        by_graph = np.argsort(graph[edge], kind="stable")
        order, edge = order[by_graph], edge[by_graph]
        number = edge - self.start[graph[edge]]
        return np.where(order >= 0, number, -number - 1).astype(np.int32)

    def cycle(self) -> int | None:
        """The first graph that is not a forest."""
        n, graph, ends = self._whole()
        joined = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
        count, component = csgraph.connected_components(joined, directed=False)
        graph_of = np.repeat(np.arange(self.different), np.diff(self.pointer)[: self.different])
        owner = np.zeros(count, np.int64)
        owner[component] = graph_of
        components = np.bincount(owner, minlength=self.different)
        nodes = np.bincount(graph_of, minlength=self.different)
        edges = np.bincount(graph, minlength=self.different)
        cyclic = np.flatnonzero(edges > nodes - components)
        return int(cyclic[0]) if cyclic.size else None

    def bits(self) -> np.ndarray:
        """log2 of the number of labellings of every graph."""
        return np.add.reduceat(np.log2(self.states), self.pointer[:-1])


def chosen_method(inference: str, model: GraphModel, topology: Topology, *, trains: bool) -> Method:
    """The method of this name, or for "auto" the one that fits.

    In training edges must be attractive whatever the weights; prediction has its weights, and finds
    out whether they are.
    """
    if not isinstance(inference, str):
        raise TypeError(f"inference={inference!r}; the name of a method is expected")
    if inference == "auto":
        return fitting_method(
            is_forest=topology.cycle() is None,
            n_states=int(topology.states.max()),
            bits=float(topology.bits().max()),
            attractive=model.attractive,
        )
    method = named_method(inference)
    _check_fit(method, topology)
    if trains and method in ATTRACTIVE_ONLY and not model.attractive:
        raise ValueError(
            f"inference={inference!r} needs edges that are attractive whatever the weights: set "
            f"attractive=True (non-negative edge weights), with pairwise one of {ATTRACTIVE}"
        )
    return method


def _check_fit(method: Method, topology: Topology) -> None:
    states, pointer = topology.states, topology.pointer
    cycle = topology.cycle() if method is Method.MAX_SUM else None
    if cycle is not None:
        raise ValueError(
            f'inference="max-sum" needs forests, but the edges of graph {cycle} close a cycle; '
            'use "auto" or "message-passing"'
        )
    if method in (Method.GRAPH_CUT, Method.ROOF_DUALITY) and np.any(states != 2):
        node = int(np.flatnonzero(states != 2)[0])
        graph = int(np.searchsorted(pointer, node, "right")) - 1
        raise ValueError(
            f"inference={method.text!r} is for two states per node, node {node - pointer[graph]} "
            f'of graph {graph} has {states[node]}; use "auto" or "message-passing"'
        )
    if method is Method.EXHAUSTIVE and topology.bits().max() > MOST_BITS:
        i = int(topology.bits().argmax())
        raise ValueError(
            f'inference="exhaustive" would try 2^{topology.bits()[i]:.0f} labellings of graph {i}; '
            'use "auto"'
        )


# Beyond so many labellings, one oracle call would take longer than most people wait.
MOST_BITS = 24
