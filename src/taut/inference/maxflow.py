"""Maximum flow and minimum cut with float capacities, for many small graphs in a row.

Nodes 0 .. n-1 have a signed terminal capacity, ``terminal[v] > 0`` from the source to v or
``-terminal[v]`` from v to the sink, and edge e has one capacity for either direction.

The algorithm is incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan and Werneck, 2011):
as in Boykov and Kolmogorov's, one tree of residual arcs grows from the source and one from the
sink, an arc between the two completes an augmenting path, and the nodes that an augmentation cuts
off from their tree (*orphans*) look for a new parent nearby instead of starting over. But ``label``
is always the exact distance from the node's terminal, so that every path is a shortest one:

    grow     all nodes at distance ``depth`` of a tree look for free nodes, and for the other tree
    augment  push the bottleneck along source -> ... -> u -> v -> ... -> sink
    adopt    an orphan takes a parent that is one step closer; if there is none it rises to one
             more than the closest neighbour, and its children become orphans; what would rise
             beyond the tree's depth becomes free

It terminates, whatever rounding does. A bottleneck b is one of the residuals along its path: that
one becomes x - x = 0 exactly, the others x - b with x >= b, never negative. So residuals are
positive or exactly zero, and which paths exist depends on nothing else. An arc emptied at one
distance is filled only by a push the other way, which needs greater distances: these only rise and
are below n, so that there are O(nm) augmentations. Boykov and Kolmogorov's paths need not be
shortest, and with floats nothing bounds their number.

Of all minimum cuts the one with the smallest source side is found. It is the same for all maximum
flows, so ties are settled by the graph, not by the order of its arcs.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import LabelCube, LabelMatrix, Labels, Vector, by_reference, compiled

SOURCE, SINK, FREE = 0, 1, 2  # which tree a node is in
NONE = -1  # end of a list of nodes; no arc
AT_TERMINAL, ORPHAN = -2, -3  # in place of the arc to a node's parent


@by_reference
class FlowWork(NamedTuple):
    """A graph, the flow on it and the search trees: scratch memory of one thread.

    The arcs out of node v are ``first[v] .. first[v+1]``, and ``sister[a]`` is a reversed.
    """

    first: Labels  # (nodes + 1,)
    head: Labels  # (2 edges,) where an arc ends
    sister: Labels  # (2 edges,)
    slot: Labels  # (edges,) the arc of edge e from its first end to its second
    residual: Vector  # (2 edges,) what an arc can still carry
    terminal: Vector  # (nodes,) the same for source (positive) and sink (negative)
    tree: Labels  # (nodes,) SOURCE, SINK or FREE; after the run SOURCE is the source side
    label: Labels  # (nodes,) distance from the terminal of the node's tree
    parent: Labels  # (nodes,) the arc to the parent
    frontier: LabelCube  # (2 trees, 2, nodes) at [tree, depth % 2]: nodes whose arcs to look at
    waiting: LabelMatrix  # (2 trees, 2) lengths of these lists
    depth: Labels  # (2 trees,) all nodes closer than this have been looked at
    bucket: LabelMatrix  # (2 trees, nodes + 2) the first orphan of each label
    following: Labels  # (nodes,) the next orphan of the same label


def new_flow_work(max_nodes, max_edges):
    """Scratch memory for graphs of up to that many nodes and edges.

    >>> work = new_flow_work(2, 1)
    >>> link_arcs(np.array([[0, 1]], np.int32), 2, 1, work)
    >>> work.terminal[:] = 3.0, -5.0  # source -> 0 and 1 -> sink
    >>> work.residual[work.slot[0]] = 2.0  # 0 -> 1
    >>> work.residual[work.sister[work.slot[0]]] = 0.0  # 1 -> 0
    >>> float(max_flow(2, work)), (work.tree == SOURCE).tolist()
    (2.0, [True, False])
    """
    return FlowWork(
        first=np.zeros(max_nodes + 1, np.int32),
        head=np.zeros(2 * max_edges, np.int32),
        sister=np.zeros(2 * max_edges, np.int32),
        slot=np.zeros(max_edges, np.int32),
        residual=np.zeros(2 * max_edges),
        terminal=np.zeros(max_nodes),
        tree=np.zeros(max_nodes, np.int32),
        label=np.zeros(max_nodes, np.int32),
        parent=np.zeros(max_nodes, np.int32),
        frontier=np.zeros((2, 2, max_nodes), np.int32),
        waiting=np.zeros((2, 2), np.int32),
        depth=np.zeros(2, np.int32),
        bucket=np.full((2, max_nodes + 2), NONE, np.int32),
        following=np.zeros(max_nodes, np.int32),
    )


@compiled
def link_arcs(ends, n, m, work):
    """Sort the two arcs of every edge by the node they leave; capacities are filled in later."""
    first, head, sister, slot = work.first, work.head, work.sister, work.slot
    for v in range(n + 1):
        first[v] = 0
    for e in range(m):
        first[ends[e, 0]] += 1
        first[ends[e, 1]] += 1
    for v in range(1, n + 1):
        first[v] += first[v - 1]
    # first[v] is now where v's arcs end; filled from the back, it stops where they begin.
    for e in range(m - 1, -1, -1):
        u, v = ends[e, 0], ends[e, 1]
        first[u] -= 1
        first[v] -= 1
        slot[e] = first[u]
        head[first[u]], sister[first[u]] = v, first[v]
        head[first[v]], sister[first[v]] = u, first[u]


@compiled(inline=True)
def _can_extend(side, arc, residual, sister):
    """Whether a tree can grow along this arc: the source's forwards, the sink's backwards.

    The arc from an orphan to its parent is one that the *other* tree could grow along.
    """
    return residual[arc if side == SOURCE else sister[arc]] > 0.0


@compiled(inline=True)
def _enter_frontier(side, v, work):
    layer = work.label[v] % 2
    work.frontier[side, layer, work.waiting[side, layer]] = v
    work.waiting[side, layer] += 1


@compiled(inline=True)
def _make_orphan(side, v, work):
    work.parent[v] = ORPHAN
    work.following[v] = work.bucket[side, work.label[v]]
    work.bucket[side, work.label[v]] = v


@compiled
def _plant(n, work):
    """Begin both trees: the nodes next to the terminals."""
    for side in range(2):
        work.depth[side] = 1
        work.waiting[side, 0] = 0
        work.waiting[side, 1] = 0
    for v in range(n):
        work.tree[v] = FREE
        work.parent[v] = NONE
        if work.terminal[v] != 0.0:
            side = SOURCE if work.terminal[v] > 0.0 else SINK
            work.tree[v] = side
            work.label[v] = 1
            work.parent[v] = AT_TERMINAL
            _enter_frontier(side, v, work)


@compiled(inline=True)
def _bottleneck(bridge, work):
    """The least residual on the path through ``bridge``, an arc between the trees."""
    head, sister, parent, residual = work.head, work.sister, work.parent, work.residual
    least = residual[bridge]
    v = head[sister[bridge]]
    while parent[v] != AT_TERMINAL:
        least = min(least, residual[sister[parent[v]]])
        v = head[parent[v]]
    least = min(least, work.terminal[v])
    v = head[bridge]
    while parent[v] != AT_TERMINAL:
        least = min(least, residual[parent[v]])
        v = head[parent[v]]
    return min(least, -work.terminal[v])


@compiled(inline=True)
def _augment(bridge, work):
    """Push as much as possible along the path through ``bridge``, and return how much."""
    head, sister, parent, residual = work.head, work.sister, work.parent, work.residual
    amount = _bottleneck(bridge, work)
    residual[bridge] -= amount
    residual[sister[bridge]] += amount
    for side in range(2):
        v = head[sister[bridge]] if side == SOURCE else head[bridge]
        while parent[v] != AT_TERMINAL:
            up = parent[v]
            arc = sister[up] if side == SOURCE else up
            residual[arc] -= amount
            residual[sister[arc]] += amount
            if residual[arc] == 0.0:
                _make_orphan(side, v, work)
            v = head[up]
        work.terminal[v] += amount if side == SINK else -amount
        if work.terminal[v] == 0.0:
            _make_orphan(side, v, work)
    return amount


@compiled(inline=True)
def _adopt(side, limit, work):
    """Find a parent for every orphan of a tree, the closest first, or set it free.

    Closest first: when it is the turn of the orphans of a label, all smaller labels are final.
    """
    first, head, sister, residual = work.first, work.head, work.sister, work.residual
    tree, label, parent, bucket = work.tree, work.label, work.parent, work.bucket
    own = 1
    while own <= limit:
        v = bucket[side, own]
        if v == NONE:
            own += 1
            continue
        bucket[side, own] = work.following[v]

        # Orphans among the neighbours count too: their labels are lower bounds.
        closest, up = limit, NONE
        for arc in range(first[v], first[v + 1]):
            u = head[arc]
            if (
                tree[u] == side
                and label[u] < closest
                and _can_extend(1 - side, arc, residual, sister)
            ):
                closest, up = label[u], arc
                if closest < own:
                    break
        if closest < own:
            parent[v] = up
            continue

        for arc in range(first[v], first[v + 1]):
            if parent[head[arc]] == sister[arc]:
                _make_orphan(side, head[arc], work)
        if up == NONE:
            tree[v] = FREE
            parent[v] = NONE
            continue
        label[v] = closest + 1
        if label[v] >= work.depth[side]:
            _enter_frontier(side, v, work)
        if parent[head[up]] == ORPHAN:
            _make_orphan(side, v, work)
        else:
            parent[v] = up


@compiled(inline=True)
def _grow(side, work):
    """Extend a tree by one level, augmenting on the way; return the amount of flow added."""
    first, head, sister, residual = work.first, work.head, work.sister, work.residual
    tree, label, parent = work.tree, work.label, work.parent
    depth, other = work.depth[side], 1 - side
    layer = depth % 2
    added = 0.0
    at = 0
    while at < work.waiting[side, layer]:
        v = work.frontier[side, layer, at]
        at += 1
        arc = first[v]
        # A node in the list may have left the tree or risen since, even while it is looked at.
        while arc < first[v + 1] and tree[v] == side and label[v] == depth:
            u = head[arc]
            if tree[u] == side or not _can_extend(side, arc, residual, sister):
                arc += 1
            elif tree[u] == FREE:
                tree[u] = side
                label[u] = depth + 1
                parent[u] = sister[arc]
                _enter_frontier(side, u, work)
                arc += 1
            else:
                added += _augment(arc if side == SOURCE else sister[arc], work)
                _adopt(side, depth + 1, work)
                _adopt(other, work.depth[other], work)
    work.waiting[side, layer] = 0
    work.depth[side] += 1
    return added


@compiled
def max_flow(n, work):
    """Return the value of the maximum flow; ``tree[v] == SOURCE`` marks the source side of the cut.

    The graph is in ``work``: arcs from ``link_arcs``, capacities in ``residual`` and ``terminal``,
    which become what the flow leaves of them. All must be finite, those of arcs non-negative.
    """
    _plant(n, work)
    waiting, depth = work.waiting, work.depth
    value = 0.0
    while True:
        sources = waiting[SOURCE, depth[SOURCE] % 2]
        sinks = waiting[SINK, depth[SINK] % 2]
        if sources == 0:
            return value
        # The flow is maximal as soon as one tree cannot grow. The source's goes on without the
        # sink's, to be the whole source side.
        side = SOURCE if sources <= sinks or sinks == 0 else SINK
        value += _grow(side, work)
