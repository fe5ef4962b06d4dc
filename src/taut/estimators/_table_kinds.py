"""Which kinds of tables graphs have: numbered by the user, or by the types of their nodes."""

from typing import Any

import numpy as np

from taut.graphs import StackedGraphs, place_of
from taut.structures.graphs import GraphModel


def table_kinds(stacked: StackedGraphs, most_absent: int) -> tuple[tuple[int, ...], ...]:
    """The node types that each kind of table joins, from the first table of each."""
    tables = stacked.tables
    if tables is None:
        return ()
    joined = _joined_types(stacked)
    if tables.type is None:
        # Without types of their own, tables are as different as the nodes they join.
        return tuple(sorted(set(joined)))
    if tables.type.max(initial=0) >= max(len(joined), most_absent):
        f = int(tables.type.argmax())
        raise ValueError(
            f"{place_of(f, tables.per_graph, 'table')} is of type {tables.type[f]}, and there are "
            f"{len(joined)} tables; number the types from 0"
        )
    first = {int(kind): joined[f] for f, kind in reversed(list(enumerate(tables.type)))}
    # Of kinds that these graphs lack nothing is known; their weights stay zero.
    some = joined[0] if joined else (0, 0, 0)
    return tuple(first.get(kind, some) for kind in range(max(first, default=-1) + 1))


def numbered_tables(
    stacked: StackedGraphs, model: GraphModel
) -> list[list[tuple[Any, int]]] | None:
    """(nodes, kind) of all tables, as the problem wants them."""
    tables = stacked.tables
    if tables is None:
        return None
    if not model.tables and tables.per_graph.any():
        graph = int(tables.per_graph.argmax())
        raise ValueError(
            f"graphs[{graph}] has tables, and the model was fitted without; leave them out, or fit "
            "GraphSVM on graphs with tables"
        )
    if tables.type is None:
        number = {types: kind for kind, types in enumerate(model.tables)}
        joined = _joined_types(stacked)
        unknown = next((f for f, types in enumerate(joined) if types not in number), None)
        if unknown is not None:
            raise ValueError(
                f"{place_of(unknown, tables.per_graph, 'table')} joins node types "
                f"{joined[unknown]}, in that order; no table did in training"
            )
        kinds = [number[types] for types in joined]
    else:
        kinds = tables.type.tolist()
    rest = iter(kinds)
    return [[(nodes, next(rest)) for nodes in of_graph] for of_graph in tables.nodes]


def _joined_types(stacked: StackedGraphs) -> list[tuple[int, ...]]:
    """The types of the nodes of every table, in order."""
    assert stacked.tables is not None
    types = stacked.node_type
    if types is None:
        types = np.zeros(int(stacked.lengths.sum()), np.int32)
    of_graphs = np.split(types, np.cumsum(stacked.lengths)[:-1])
    return [
        tuple(of_nodes[nodes].tolist())
        for of_nodes, of_graph in zip(of_graphs, stacked.tables.nodes, strict=True)
        for nodes in of_graph
    ]
