"""Training without inference with tables over three or more nodes, by its definitions.

A table (nodes, kind) with features z scores their joint state y by the weights of the kind,
``<w[kind, y], z>``; these weights follow on those of the ``GraphReference``. In a point the tables
stand after the edges, and their messages after those of the edges: for each node, in order.
"""

from functools import cache
from itertools import product

import numpy as np
from factor_blocks import Example, slices
from factor_problems import problem_of
from factor_reference import FactorReference, Packed, joined
from graph_reference import alone, cycle, path, random_reference


class TableExample(Example):
    """Tables are simplices, like edges, and stand in ``at_edge`` after them."""

    def __init__(self, reference, i, tables, rows, dim):
        super().__init__(reference, i, [])
        self.of_nodes = [list(nodes) for nodes, _ in tables]
        self.shapes = [tuple(self.states[t] for t in nodes) for nodes in self.of_nodes]
        self.n_edges = len(self.at_edge)
        self.n_graph = self.n_local
        at_table = slices([int(np.prod(shape)) for shape in self.shapes], self.n_local)
        self.at_edge = self.at_edge + at_table
        self.size = self.n_local = at_table[-1].stop if tables else self.n_local
        self.n_messages = self.n_edge_messages + sum(map(sum, self.shapes))
        psi = np.zeros((dim, self.size))
        psi[: len(self.psi), : self.n_graph] = self.psi
        at_kind = reference.dim + np.cumsum([0, *weights_per_kind(reference.model)])
        for (_, kind), shape, where, z in zip(tables, self.shapes, at_table, rows, strict=True):
            for cell, y in enumerate(product(*map(range, shape))):
                number = np.ravel_multi_index(y, shape)
                for f, value in enumerate(z):
                    row = at_kind[kind] + f * int(np.prod(shape)) + number
                    psi[row, where.start + cell] = value
        truth = reference.graphs[i].truth
        self.truth = np.concatenate([self.truth, np.zeros(self.size - self.n_graph)])
        for nodes, shape, where in zip(self.of_nodes, self.shapes, at_table, strict=True):
            self.truth[where.start + np.ravel_multi_index(truth[nodes], shape)] = 1.0
        self.psi = psi
        self.losses = np.pad(self.losses, (0, self.size - self.n_graph))
        self.has_entropy = np.ones(self.size, bool)
        self.n_simplices = len(self.at_node) + len(self.at_edge)

    def messages(self):
        ends = [t for pair in self.ends for t in pair] + [t for ts in self.of_nodes for t in ts]
        return list(zip(ends, slices([self.states[t] for t in ends]), strict=True))

    def factor_marginals(self, x):
        for number, where in enumerate(self.at_edge):
            shape = (self.tables + self.shapes)[number]
            table = x[where].reshape(*shape, *x.shape[1:])
            for node in range(len(shape)):
                yield table.sum(tuple(other for other in range(len(shape)) if other != node))

    def theta_hat(self, w, delta):
        B, _ = self.consistency_matrix()
        return self.psi.T @ w + self.losses - B.T @ delta, 0.0

    def point(self, y):
        """The marginals of a labelling."""
        node = [np.eye(k)[state] for k, state in zip(self.states, y, strict=True)]
        x = np.zeros(self.size)
        wheres, members = self.at_node + self.at_edge, [[t] for t in range(len(y))]
        members += [list(pair) for pair in self.ends] + self.of_nodes
        for where, nodes in zip(wheres, members, strict=True):
            joint = node[nodes[0]]
            for t in nodes[1:]:
                joint = np.multiply.outer(joint, node[t])
            x[where] = joint.ravel()
        return x

    def labellings(self):
        return product(*map(range, self.states))


def weights_per_kind(model):
    cells = [int(np.prod([model.states[t] for t in types])) for types in model.tables]
    return [size * max(model.n_table_features, 1) for size in cells]


class TableReference(FactorReference):
    """``tables[i]`` and ``rows[i]`` are the tables of example i and their features."""

    def __init__(self, reference, C, tables, rows, *, gamma=0.0, bounds=None):
        super().__init__(reference, C, gamma=gamma)
        self.dim = reference.dim + sum(weights_per_kind(reference.model))
        lower, upper = (-np.inf, np.inf) if bounds is None else bounds
        self.bounds = np.broadcast_to(lower, self.dim), np.broadcast_to(upper, self.dim)
        self.examples = [
            TableExample(reference, i, tables[i], rows[i], self.dim) for i in range(self.n)
        ]

    def pack(self, mu):
        """As in a run: all nodes; all edges, then all tables."""
        parts = [np.split(x, [sum(one.states), one.n_graph]) for one, x in self.each(mu)]
        node, edge, table = (joined(kind) for kind in zip(*parts, strict=True))
        return Packed(node, np.concatenate([edge, table]), np.zeros(0))

    def unpack(self, node, edge, count=()):
        nodes = [sum(one.states) for one in self.examples]
        edges = [one.n_graph - k for one, k in self.each(nodes)]
        tables = [one.size - one.n_graph for one in self.examples]
        of_edges, of_tables = np.split(edge, [sum(edges)])
        return self._unpack((node, nodes), (of_edges, edges), (of_tables, tables))

    def frank_wolfe_gaps(self, w, delta, mu):
        """s_i / n (max g - <g, mu>), all nodes first, then all edges, then all tables."""
        found = [[], [], []]
        for s, one, d, x in zip(self.s, self.examples, delta, mu, strict=True):
            theta, _ = one.theta_hat(w, d)
            wheres = one.at_node, one.at_edge[: one.n_edges], one.at_edge[one.n_edges :]
            for kind, of_kind in enumerate(wheres):
                for where in of_kind:
                    g = theta[where] - 2.0 * self.gamma * x[where]
                    found[kind].append(s * (g.max() - g @ x[where]) / self.n)
        return np.concatenate(found)

    def random_consistent_point(self, rng):
        """A mixture of three labellings of each example."""
        return [
            sum(
                share * one.point([rng.integers(k) for k in one.states])
                for share in rng.dirichlet(np.ones(3))
            )
            for one in self.examples
        ]

    def exact_primal(self, w):
        """The objective of the structured SVM, by trying all labellings."""
        worst = []
        for one in self.examples:
            scores = one.psi.T @ w
            values = [(scores + one.losses) @ one.point(y) for y in one.labellings()]
            worst.append(max(values) - scores @ one.truth)
        return self.mean(worst) + 0.5 * self.lam * (w @ w)


# --- problems -------------------------------------------------------------------------------------


def with_tables(shapes, nodes, *, tables, seed, n_table_features=0, **options):
    """A random ``GraphReference``; tables over these nodes of each graph; features of these."""
    reference = random_reference(
        shapes, seed=seed, tables=tables, n_table_features=n_table_features, **options
    )
    rng, made, rows = np.random.default_rng(seed), [], []
    for graph, of_graph in zip(reference.graphs, nodes, strict=True):
        kinds = [tables.index(tuple(graph.types[some])) for some in of_graph]
        made.append(list(zip(of_graph, kinds, strict=True)))
        size = len(of_graph), n_table_features
        rows.append(rng.normal(size=size) if n_table_features else np.ones((len(of_graph), 1)))
    return reference, made, rows


CASES = {
    # Tables that overlap, beside edges; features; an example without any.
    "loops": with_tables(
        [cycle(4), path(3), alone(2)], [[[2, 0, 1], [1, 2, 3, 0]], [[0, 1, 2]], []],
        states=(2,), tables=((0, 0, 0), (0, 0, 0, 0)), n_table_features=2, weighted=True, seed=11,
    ),
    "two types": with_tables(
        [(5, [(0, 1), (1, 2)]), (4, [(0, 3)])], [[[0, 2, 4], [4, 3, 1]], [[3, 1, 0]]],
        states=(2, 3), joins=((0, 0), (0, 1), (1, 0), (1, 1)), random_types=True,
        tables=tuple(product((0, 1), repeat=3)), seed=12,
    ),
    # 64 joint states, and nothing but the table: its relaxation is exact.
    "one table": with_tables(
        [alone(3)] * 3, [[[0, 1, 2]]] * 3, states=(4,), tables=((0, 0, 0),), seed=13,
    ),
}  # fmt: skip
PROBLEMS = {
    name: problem_of(
        reference, tables=tables,
        table_rows=np.concatenate(rows) if reference.model.n_table_features else None,
    )
    for name, (reference, tables, rows) in CASES.items()
}  # fmt: skip


@cache
def table_reference(which, C, temperature=0.0, box=None):
    bounds = None if box is None else tuple(np.full(PROBLEMS[which].dim, side) for side in box)
    return TableReference(CASES[which][0], C, *CASES[which][1:], gamma=temperature, bounds=bounds)
