"""The blocks of one example, nodes, edges and count factors, and what they say to each other.

Plain NumPy from the definitions; what points and messages are stands in ``factor_reference``.
"""

from itertools import pairwise

import numpy as np

NODE, EDGE, COUNT = range(3)


def project_to_simplex(v):
    """The nearest point with entries >= 0 that sum to one."""
    falling = np.sort(v)[::-1]
    levels = (np.cumsum(falling) - 1.0) / np.arange(1, len(v) + 1)
    return np.maximum(v - levels[np.flatnonzero(falling > levels)[-1]], 0.0)


def phi(v, gamma):
    """max over the simplex of <v, p> + gamma (1 - |p|^2)."""
    if gamma == 0.0:
        return v.max()
    # Shifting v moves the value only, and keeps the projection accurate.
    p = project_to_simplex((v - v.max()) / (2.0 * gamma))
    return v @ p + gamma * (1.0 - p @ p)


def best_count(v, low, high):
    """max of <v, p> over 0 <= p <= 1 with low <= sum p <= high, both whole numbers."""
    falling = np.sort(v)[::-1]
    return falling[:low].sum() + np.maximum(falling[low:high], 0.0).sum()


def move_to_count(p, low, high):
    """p in [0, 1], scaled towards 0 or towards 1 so that low <= sum p <= high."""
    total = p.sum()
    if total > high:
        return p * (high / total)
    if total < low:
        return 1.0 - (1.0 - p) * ((len(p) - low) / (len(p) - total))
    return p


def complete_table(table, row, column):
    """A table with these row and column sums: scale down what is too much, fill up the rest."""
    table = table.copy()
    for axis, wanted in ((1, row), (0, column)):
        sums = table.sum(axis)
        factor = np.divide(wanted, sums, out=np.ones_like(sums), where=sums > wanted)
        table *= np.expand_dims(factor, axis)
    missing_row, missing_column = (
        np.maximum(wanted - table.sum(axis), 0.0) for axis, wanted in ((1, row), (0, column))
    )
    if missing_row.sum() > 0.0:
        table += np.outer(missing_row, missing_column) / missing_row.sum()
    return table


def slices(sizes, start=0):
    ends = start + np.cumsum([0, *sizes], dtype=int)
    return [slice(a, b) for a, b in pairwise(ends)]


class Example:
    """The blocks of one example: where they are in its point, and what joins them."""

    def __init__(self, reference, i, counts):
        graph, K = reference.graphs[i], reference.K
        self.states = [reference.model.states[kind] for kind in graph.types]
        self.ends, self.counts = [tuple(pair) for pair in graph.ends], counts
        assert all(self.states[t] == 2 for nodes, *_ in counts for t in nodes)
        assert all(0 <= low <= high <= len(nodes) for nodes, low, high in counts)
        n = len(self.states)
        self.tables = [(self.states[u], self.states[v]) for u, v in self.ends]
        self.at_node = slices(self.states)
        self.at_edge = slices([k * j for k, j in self.tables], sum(self.states))
        self.n_local = self.at_edge[-1].stop if self.ends else sum(self.states)
        self.at_count = slices([len(nodes) for nodes, *_ in counts], self.n_local)
        self.size = self.at_count[-1].stop if counts else self.n_local
        self.n_edge_messages = sum(k + j for k, j in self.tables)
        self.n_messages = self.n_edge_messages + 2 * sum(len(nodes) for nodes, *_ in counts)
        # Where the numbers of nodes and edges are in the padded vector of GraphReference.
        self.kept = np.array(
            [t * K + k for t in range(n) for k in range(self.states[t])]
            + [n * K + (e * K + k) * K + j for e, (a, b) in enumerate(self.tables)
               for k in range(a) for j in range(b)]
        )  # fmt: skip
        more = self.size - self.n_local
        self.psi = np.pad(reference.psi[i][:, self.kept], ((0, 0), (0, more)))
        self.losses = np.pad(reference.losses[i][self.kept], (0, more))
        self.truth = self.with_counts(reference.truth(i)[self.kept])
        self.has_entropy = np.arange(self.size) < self.n_local
        self.n_simplices = n + len(self.ends)

    def blocks(self):
        """(kind, where it is) of every block."""
        kinds = (NODE, self.at_node), (EDGE, self.at_edge), (COUNT, self.at_count)
        return [(kind, where) for kind, wheres in kinds for where in wheres]

    def with_counts(self, x):
        """Nodes and edges, and after them count factors that agree with their nodes."""
        p = [x[self.at_node[t]][1] for nodes, *_ in self.counts for t in nodes]
        return np.concatenate([x, p])

    def messages(self):
        """(node, its part of delta) of every edge's first end, second end, ..., then of counts."""
        ends = [t for pair in self.ends for t in pair] + [t for ts, *_ in self.counts for t in ts]
        return list(zip(ends, slices([self.states[t] for t in ends]), strict=True))

    def factor_marginals(self, x):
        """What edges and count factors say about their nodes; x is a point, or has them as columns.

        In the order of ``messages``.
        """
        for where, (k, j) in zip(self.at_edge, self.tables, strict=True):
            table = x[where].reshape(k, j, *x.shape[1:])
            yield table.sum(1)
            yield table.sum(0)
        for where in self.at_count:
            for p in x[where]:
                yield np.stack([1.0 - p, p])

    def consistency(self, x):
        """B x: the marginals of factors minus those of their nodes."""
        told = zip(self.messages(), self.factor_marginals(x), strict=True)
        parts = [told_by - x[self.at_node[t]] for (t, _), told_by in told]
        return np.concatenate(parts) if parts else np.zeros((0, *x.shape[1:]))

    def theta_hat(self, w, delta):
        """Scores of a point, and a number: block by block theta plus or minus messages.

        A count factor's score is -sum_i [delta_i0 (1 - p_i) + delta_i1 p_i], hence the number.
        """
        theta, constant = self.psi.T @ w + self.losses, 0.0
        messages = [delta[where] for _, where in self.messages()]
        for (t, _), message in zip(self.messages(), messages, strict=True):
            theta[self.at_node[t]] += message
        for e, where in enumerate(self.at_edge):
            theta[where] -= np.add.outer(messages[2 * e], messages[2 * e + 1]).ravel()
        for position, message in enumerate(messages[2 * len(self.ends) :]):
            theta[self.n_local + position] -= message[1] - message[0]
            constant -= message[0]
        return theta, constant

    def best_values(self, theta, gamma):
        """phi_gamma of every block."""
        values = [phi(theta[where], gamma) for where in self.at_node + self.at_edge]
        for where, (_, low, high) in zip(self.at_count, self.counts, strict=True):
            values.append(best_count(theta[where], low, high))
        return np.array(values)

    def gini(self, x):
        return sum(1.0 - x[where] @ x[where] for where in self.at_node + self.at_edge)

    def repair(self, x):
        """A consistent point near x: means of nodes, then tables with these marginals."""
        told = zip(self.messages(), self.factor_marginals(x), strict=True)
        opinions = [[x[where]] for where in self.at_node]
        for (t, _), told_by in told:
            opinions[t].append(told_by)
        node = [np.mean(opinion, axis=0) for opinion in opinions]
        counted = [t for nodes, *_ in self.counts for t in nodes]
        assert len(set(counted)) == len(counted), "count factors that overlap"
        for nodes, low, high in self.counts:
            moved = move_to_count(np.array([node[t][1] for t in nodes]), low, high)
            for t, p in zip(nodes, moved, strict=True):
                node[t] = np.array([1.0 - p, p])
        tables = [
            complete_table(x[where].reshape(shape), node[u], node[v]).ravel()
            for where, shape, (u, v) in zip(self.at_edge, self.tables, self.ends, strict=True)
        ]
        return self.with_counts(np.concatenate([*node, *tables]))

    def zero_sum(self):
        """The projection to directions within simplices; count factors move freely."""
        T = np.eye(self.size)
        for where in self.at_node + self.at_edge:
            T[where, where] -= 1.0 / (where.stop - where.start)
        return T

    def block_constants(self, C, rho):
        """The largest eigenvalue of C Psi_c' Psi_c + B_c' B_c / rho for moves of each block c."""
        T, (B, _) = self.zero_sum(), self.consistency_matrix()
        hessian = T @ (C * self.psi.T @ self.psi + B.T @ B / rho) @ T
        return [np.linalg.eigvalsh(hessian[where, where])[-1] for _, where in self.blocks()]

    def consistency_norm(self):
        """|B T|^2, the largest |B d|^2 of a move d of length 1."""
        B, _ = self.consistency_matrix()
        return np.linalg.norm(B @ self.zero_sum(), 2) ** 2 if len(B) else 0.0

    def limits(self):
        """(E, r, G, h): x lies in its simplices and counts if E x = r and G x <= h."""
        eye = np.eye(self.size)
        simplices = [eye[where].sum(0) for where in self.at_node + self.at_edge]
        upper = [(-row, 0.0) for row in eye] + [(row, 1.0) for row in eye[self.n_local :]]
        for where, (_, low, high) in zip(self.at_count, self.counts, strict=True):
            total = eye[where].sum(0)
            upper += [(-total, -low), (total, high)]
        rows, right = zip(*upper, strict=True)
        return np.array(simplices), np.ones(len(simplices)), np.array(rows), np.array(right, float)

    def consistency_matrix(self):
        """(B, b) with B x + b for what ``consistency`` says; b is not zero for count factors."""
        b = self.consistency(np.zeros(self.size))
        return self.consistency(np.eye(self.size)) - b[:, None], b
