"""Small problems for training without inference, with their references and count factors."""

from functools import cache

import numpy as np
from factor_reference import FactorReference
from graph_reference import GraphReference, alone, complete, cycle, path, random_reference
from scipy import sparse

from taut.structures.graphs import graph_problem


def problem_of(reference, counts=None, *, sparse_nodes=False, sparse_edges=False, **options):
    """The problem of a ``GraphReference``, in taut's arrays."""
    graphs, model = reference.graphs, reference.model
    stack = lambda name: np.concatenate([getattr(graph, name) for graph in graphs])  # noqa: E731
    csr = lambda matrix, is_sparse: sparse.csr_array(matrix) if is_sparse else matrix  # noqa: E731
    return graph_problem(
        model,
        csr(stack("rows"), sparse_nodes),
        np.array([len(graph.truth) for graph in graphs]),
        stack("truth"),
        stack("ends"),
        np.array([len(graph.ends) for graph in graphs]),
        edge_rows=csr(stack("edge_rows"), sparse_edges) if model.n_edge_features else None,
        node_type=stack("types"),
        edge_type=stack("edge_types"),
        cost=reference.cost,
        node_weight=stack("node_weight"),
        normalize=reference.normalize,
        importance=reference.s,
        counts=counts,
        **options,
    )


def counts_that_hold(reference):
    """For every graph "exactly one of these" and "at most as many as now" of the other nodes."""
    counts = []
    for graph in reference.graphs:
        one = int(np.argmax(graph.truth))
        zeros = [int(t) for t in np.flatnonzero(graph.truth == 0)]
        first = [one, *zeros[:2]] if graph.truth[one] else []
        rest = [t for t in range(len(graph.truth)) if t not in first][::-1]
        factors = [(first, 1, 1)] if first else []
        if rest:
            factors.append((rest, 0, int(graph.truth[rest].sum())))
        counts.append(factors)
    return counts


def twice(reference):
    """Every example two times."""
    return GraphReference(
        reference.model, reference.graphs * 2, cost=reference.cost,
        normalize=reference.normalize, importance=np.tile(reference.s, 2),
    )  # fmt: skip


MIXED = dict(states=(2, 3), joins=((0, 0), (0, 1), (1, 1), (1, 0), (0, 1)), random_types=True)
REFERENCES = {
    "trees of two types": random_reference(
        [path(3), (4, [(1, 0), (1, 3)]), path(2), alone(1)], **MIXED, sparse_nodes=True,
        n_edge_features=2, weighted=True, seed=1,
    ),
    "loops of two types": random_reference(
        [complete(4), cycle(3), alone(2)], **MIXED, n_edge_features=1, weighted=True, seed=2
    ),
    "attractive Potts": random_reference(
        [cycle(3), complete(4), path(2)], states=(3,), pairwise="potts", attractive=True,
        normalize=False, bias=False, seed=3,
    ),
    "binary, counts": random_reference(
        [complete(4), cycle(5), alone(3), (2, [(0, 1), (1, 0)])], unary="binary", n_edge_features=1,
        weighted=True, seed=4,
    ),
}  # fmt: skip
COUNTS = {"binary, counts": counts_that_hold(REFERENCES["binary, counts"])}
SPARSE = {
    "trees of two types": dict(sparse_nodes=True, sparse_edges=True),
    "loops of two types": dict(sparse_edges=True),
}
PROBLEMS = {
    name: problem_of(reference, COUNTS.get(name), **SPARSE.get(name, {}))
    for name, reference in REFERENCES.items()
}


def bounds_of(which, box=None):
    """The whole box: what the structure needs and what the user asks for; None without any."""
    model, reference = REFERENCES[which].model, REFERENCES[which]
    lower, upper = (np.full(reference.dim, side) for side in (box or (-np.inf, np.inf)))
    if model.attractive:
        lower[reference.weights_at :] = np.maximum(lower[reference.weights_at :], 0.0)
    return (lower, upper) if box or model.attractive else None


@cache
def factor_reference(which, C, temperature=0.0, box=None):
    return FactorReference(
        REFERENCES[which], C, gamma=temperature, counts=COUNTS.get(which),
        bounds=bounds_of(which, box),
    )  # fmt: skip


@cache
def hard_optimum(which, C, temperature=0.0, box=None):
    return factor_reference(which, C, temperature, box).hard_optimum()


@cache
def soft_optimum(which, C, rho, temperature=0.0, box=None):
    return factor_reference(which, C, temperature, box).soft_optimum(rho)


def point_of(F, state):
    """Marginals of a run, as lists of the reference."""
    return F.unpack(state.node, state.edge, state.chosen)


def messages_of(F, messages):
    """delta or nu of a run, likewise."""
    edges = sum(one.n_edge_messages for one in F.examples)
    return F.unpack_messages(messages[:edges], messages[edges:])
