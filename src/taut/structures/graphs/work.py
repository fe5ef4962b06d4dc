"""Scratch memory of one thread that works on a graph problem."""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Integers, Matrix, Vector, by_reference
from taut.inference.exhaustive import ExhaustiveWork, new_exhaustive_work
from taut.inference.expansion import ExpansionWork, new_expansion_work
from taut.inference.graph_cut import CutWork, new_cut_work
from taut.inference.maxsum import MaxSumWork, new_maxsum_work
from taut.inference.message_passing import MessageWork, new_message_work
from taut.inference.methods import RELAXED, Method
from taut.inference.roof_duality import RoofWork, new_roof_work
from taut.inference.rounding import RoundingWork, new_rounding_work
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.graph_checks import check_tables


@by_reference
class Local(NamedTuple):
    """All but inference."""

    theta: Matrix  # (most nodes, K) node scores
    pair: Cube  # (most edges, K, K) edge scores
    coefficient: Vector  # of a basis
    change: Vector  # the change d of a dual block, laid out like it
    pending: Vector  # shifts of a visit, laid out like a dual block; zero between visits
    truth_sums: Vector  # edge part of the truth's image
    truth_of: Integers  # (1,) of which example it is
    known_node: Integers  # visit in which theta[t] was computed by ``margin``
    known_edge: Integers
    visit: Integers  # (1,)


@by_reference
class OracleWork(NamedTuple):
    """Of every inference method; empty for those that are not used."""

    node: Matrix  # (nodes, K) marginals
    edge: Cube  # (edges, K, K)
    max_sum: MaxSumWork
    exhaustive: ExhaustiveWork
    cut: CutWork
    expansion: ExpansionWork
    roof: RoofWork
    messages: MessageWork
    rounding: RoundingWork


@by_reference
class WorkArrays(NamedTuple):
    local: Local
    oracle: OracleWork

    def __reduce__(self) -> tuple:
        return type(None), ()  # scratch is made anew


def new_work_arrays(arrays: GraphArrays, nodes: int, edges: int) -> WorkArrays:
    """Memory for graphs of up to so many nodes and edges."""
    width, n_weights = arrays.nodes.width, arrays.edges.n_weights
    tables = 2 if arrays.search.method in RELAXED else 1  # scores, and marginals if it relaxes
    check_tables(tables, edges, width)
    basis = np.concatenate([arrays.nodes.basis.size, arrays.edges.basis.size])
    local = Local(
        theta=np.zeros((nodes, width)),
        pair=np.zeros((edges, width, width)),
        coefficient=np.zeros(basis.max()),
        change=np.zeros(nodes * width + n_weights),
        pending=np.zeros(nodes * width + n_weights),
        truth_sums=np.zeros(n_weights),
        truth_of=np.full(1, -1),
        known_node=np.zeros(nodes, np.int64),
        known_edge=np.zeros(edges, np.int64),
        visit=np.zeros(1, np.int64),
    )
    return WorkArrays(local, _oracle_work(arrays.search.method, nodes, edges, width))


def _oracle_work(method: int, nodes: int, edges: int, width: int) -> OracleWork:
    def room(*methods: Method) -> tuple[int, int]:
        return (nodes, edges) if method in methods else (0, 0)

    marginals = room(*RELAXED)
    return OracleWork(
        node=np.zeros((marginals[0], width)),
        edge=np.zeros((marginals[1], width, width)),
        max_sum=new_maxsum_work(*room(Method.MAX_SUM), width),
        exhaustive=new_exhaustive_work(*room(Method.EXHAUSTIVE)),
        cut=new_cut_work(*room(Method.GRAPH_CUT)),
        expansion=new_expansion_work(*room(Method.EXPANSION)),
        roof=new_roof_work(*room(Method.ROOF_DUALITY)),
        messages=new_message_work(*room(Method.MESSAGE_PASSING), width),
        rounding=new_rounding_work(*room(Method.MESSAGE_PASSING, Method.LP), width),
    )
