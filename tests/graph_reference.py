"""Graph problems by their definitions, in plain NumPy: slow, and independent of taut's kernels.

Everything about example i is linear in its *local* marginals, the numbers node[t, k] and
edge[e, k, l] in one vector: its features are ``psi[i] @ local``, its loss is ``losses[i] @ local``.
A labelling is a vector of zeros and ones; the marginal polytope is the hull of those, the local
polytope all local >= 0 whose nodes sum to one and whose edges agree with their nodes. Both are
written as

    { columns @ a : equations @ a = right, a >= 0 }

with the labellings as columns and one equation, or with the identity and the constraints.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog, nnls

from taut.structures.graphs import GraphModel, graph_problem, label_model, multilabel_problem

# HiGHS's own tolerances of 1e-7 would be the largest error of all.
PRECISE = dict(primal_feasibility_tolerance=1e-10, dual_feasibility_tolerance=1e-10)


def unary_basis(kind, states):
    """U[b, k]."""
    if not isinstance(kind, str):
        return np.asarray(kind, float)
    return {"full": lambda: np.eye(states), "binary": lambda: np.array([[-1.0, 1.0]])}[kind]()


def pairwise_basis(kind, first, second):
    """B[b, k, l]."""
    if not isinstance(kind, str):
        return np.asarray(kind, float)
    cells = list(product(range(first), range(second)))
    groups = {
        "full": [[cell] for cell in cells],
        "symmetric": [[(k, j), (j, k)] for k, j in cells if k <= j],
        "associative": [[(k, k)] for k in range(first)],
        "potts": [[(k, j) for k, j in cells if k != j]],
    }[kind]
    table = np.zeros((len(groups), first, second))
    for b, group in enumerate(groups):
        for cell in group:
            table[b][cell] = -1.0 if kind == "potts" else 1.0
    return table


@dataclass
class Graph:
    """One example; ``rows`` are features of nodes, ``edge_rows`` those of edges (or 1)."""

    rows: np.ndarray
    types: np.ndarray
    truth: np.ndarray
    ends: np.ndarray
    edge_types: np.ndarray
    edge_rows: np.ndarray
    node_weight: np.ndarray


class GraphReference:
    def __init__(self, model, graphs, *, cost=None, normalize=True, importance=None, relaxed=False):
        self.model, self.graphs, self.n = model, graphs, len(graphs)
        self.K = max(model.states)
        self.s = np.ones(self.n) if importance is None else importance
        self.cost, self.normalize, self.relaxed = cost, normalize, relaxed
        self._lay_out()
        self.psi = [self._psi(graph) for graph in graphs]
        self.losses = [self._losses(graph) for graph in graphs]
        self._polytopes = {}

    # --- the feature map -----------------------------------------------------------------------

    def _lay_out(self):
        """Weights are [nodes | biases | edges], by type; see ``GraphModel.by_feature``."""
        model = self.model
        pick = lambda kinds, j: kinds[j] if isinstance(kinds, list) else kinds  # noqa: E731
        self.U = [unary_basis(pick(model.unary, j), k) for j, k in enumerate(model.states)]
        self.B = [
            pairwise_basis(pick(model.pairwise, j), model.states[u], model.states[v])
            for j, (u, v) in enumerate(model.joins)
        ]
        F, Z = model.n_features, max(model.n_edge_features, 1)
        total = sum(map(len, self.U))
        whole = np.arange(total * F)
        # One row per number b of all types, one column per feature.
        place = whole.reshape(F, total).T if model.by_feature else whole.reshape(total, F)
        cuts = np.cumsum([len(u) for u in self.U])[:-1]
        self.node_place = np.split(place, cuts)
        biases = np.arange(total * F, total * F + total * model.bias)
        self.bias_place = np.split(biases, cuts) if model.bias else [None] * len(self.U)
        self.weights_at = at = total * (F + model.bias)
        self.edge_place = []
        for table in self.B:
            self.edge_place.append(at + np.arange(Z * len(table)).reshape(Z, len(table)).T)
            at += Z * len(table)
        self.dim = at

    def _psi(self, graph):
        """(dim, n K + m K K)."""
        K, n = self.K, len(graph.truth)
        psi = np.zeros((self.dim, n * K + len(graph.ends) * K * K))
        for t, kind in enumerate(graph.types):
            for b, k in zip(*np.nonzero(self.U[kind]), strict=True):
                column, value = t * K + k, self.U[kind][b, k]
                psi[self.node_place[kind][b], column] += value * graph.rows[t]
                if self.bias_place[kind] is not None:
                    psi[self.bias_place[kind][b], column] += value
        for e, kind in enumerate(graph.edge_types):
            for b, k, j in zip(*np.nonzero(self.B[kind]), strict=True):
                column, value = n * K + (e * K + k) * K + j, self.B[kind][b, k, j]
                psi[self.edge_place[kind][b], column] += value * graph.edge_rows[e]
        return psi

    def _losses(self, graph):
        """(n K + m K K), the loss of every state of every node."""
        losses = np.zeros((len(graph.truth), self.K))
        for t, (kind, true) in enumerate(zip(graph.types, graph.truth, strict=True)):
            k = self.model.states[kind]
            of_type = 1.0 - np.eye(k) if self.cost is None else self.cost[kind][:k, :k]
            losses[t, :k] = graph.node_weight[t] * of_type[true]
        if self.normalize:
            losses /= graph.node_weight.sum()
        return np.concatenate([losses.ravel(), np.zeros(len(graph.ends) * self.K**2)])

    @cached_property
    def labellings(self):
        """All labellings of every example, of which large graphs have too many to be asked for."""
        states = [[range(self.model.states[k]) for k in graph.types] for graph in self.graphs]
        return [[np.array(y) for y in product(*of_nodes)] for of_nodes in states]

    def local(self, i, y):
        """The local marginals of a labelling."""
        graph = self.graphs[i]
        node = np.eye(self.K)[y]
        u, v = graph.ends.T
        return np.concatenate([node.ravel(), np.einsum("ek,el->ekl", node[u], node[v]).ravel()])

    def truth(self, i):
        return self.local(i, self.graphs[i].truth)

    # --- images: what taut keeps of local marginals ----------------------------------------------

    def image_of(self, i, local):
        """Node marginals, then for every weight of the edges the sum that it multiplies."""
        nodes = len(self.graphs[i].truth) * self.K
        return np.concatenate(
            [local[:nodes], self.psi[i][self.weights_at :, nodes:] @ local[nodes:]]
        )

    def features_of(self, i, image):
        nodes = len(self.graphs[i].truth) * self.K
        phi = self.psi[i][:, :nodes] @ image[:nodes]
        phi[self.weights_at :] += image[nodes:]
        return phi

    def loss_of(self, i, image):
        nodes = len(self.graphs[i].truth) * self.K
        return self.losses[i][:nodes] @ image[:nodes]

    def image(self, i, y):
        return self.image_of(i, self.local(i, y))

    def phi(self, i, y):
        return self.psi[i] @ self.local(i, y)

    def loss(self, i, y):
        return self.losses[i] @ self.local(i, y)

    def sizes(self):
        return [len(g.truth) * self.K + self.dim - self.weights_at for g in self.graphs]

    def images(self, mu):
        """The blocks of the flat dual vector."""
        assert mu.size == sum(self.sizes())
        return np.split(mu, np.cumsum(self.sizes())[:-1])

    # --- the polytope ----------------------------------------------------------------------------

    def polytope(self, i, relaxed=None):
        """(columns, equations, right); of the labellings, or of the local polytope."""
        relaxed = self.relaxed if relaxed is None else relaxed
        if (i, relaxed) not in self._polytopes:
            self._polytopes[i, relaxed] = self._local_polytope(i) if relaxed else self._hull(i)
        return self._polytopes[i, relaxed]

    def _hull(self, i):
        columns = np.stack([self.local(i, y) for y in self.labellings[i]], axis=1)
        return columns, np.ones((1, columns.shape[1])), np.ones(1)

    def _local_polytope(self, i):
        graph, K = self.graphs[i], self.K
        n, m = len(graph.truth), len(graph.ends)
        node = np.arange(n * K).reshape(n, K)
        edge = n * K + np.arange(m * K * K).reshape(m, K, K)
        states = np.array(self.model.states)[graph.types]
        equations = []
        for t in range(n):
            equations.append(([*node[t]], [], 1.0))
        for e, (u, v) in enumerate(graph.ends):
            equations += [([*edge[e, k]], [node[u, k]], 0.0) for k in range(states[u])]
            equations += [([*edge[e, :, k]], [node[v, k]], 0.0) for k in range(states[v])]
        matrix = np.zeros((len(equations), n * K + m * K * K))
        for row, (plus, minus, _) in zip(matrix, equations, strict=True):
            row[plus], row[minus] = 1.0, -1.0
        possible = np.arange(K) < states[:, None]
        u, v = graph.ends.T
        kept = np.concatenate(
            [possible.ravel(), (possible[u][:, :, None] & possible[v][:, None]).ravel()]
        )
        columns = np.eye(kept.size)[:, kept]
        return columns, matrix[:, kept], np.array([right for *_, right in equations])

    def distance_to_polytope(self, i, image):
        """0 if and only if an image is that of a point of the polytope."""
        columns, equations, right = self.polytope(i)
        images = np.stack([self.image_of(i, column) for column in columns.T], axis=1)
        return nnls(np.vstack([images, equations]), np.concatenate([image, right]))[1]

    # --- the two objectives ----------------------------------------------------------------------

    def worst(self, i, w, relaxed=None):
        """max_y H_i(y; w) over the polytope."""
        columns, equations, right = self.polytope(i, relaxed)
        scores = (self.losses[i] + self.psi[i].T @ w) @ columns
        if len(right) == 1:
            best = scores.max()
        else:
            best = -linprog(-scores, A_eq=equations, b_eq=right, options=PRECISE).fun
        return best - w @ (self.psi[i] @ self.truth(i))

    def value(self, i, image, w, with_loss=True):
        """H_i(mu_i; w)."""
        difference = self.features_of(i, image) - self.psi[i] @ self.truth(i)
        return with_loss * self.loss_of(i, image) + w @ difference

    def primal(self, w, C):
        hinge = sum(self.s[i] * self.worst(i, w) for i in range(self.n))
        return 0.5 * (w @ w) / (C * self.n) + hinge / self.n

    def weights(self, mu, C):
        """v = C sum_i s_i (phi_i(truth) - phi_i(mu_i)); the model is w = clip(v)."""
        v = np.zeros(self.dim)
        for i, image in enumerate(self.images(mu)):
            v += C * self.s[i] * (self.psi[i] @ self.truth(i) - self.features_of(i, image))
        return v

    def dual(self, mu, C, bounds=None):
        v = self.weights(mu, C)
        w = v if bounds is None else np.clip(v, *bounds)
        loss = sum(self.s[i] * self.loss_of(i, image) for i, image in enumerate(self.images(mu)))
        return loss / self.n - (v @ w - 0.5 * (w @ w)) / (C * self.n)

    def block_gaps(self, mu, w):
        gaps = [self.worst(i, w) - self.value(i, m, w) for i, m in enumerate(self.images(mu))]
        return self.s * np.array(gaps) / self.n

    def optimum(self, C, bounds=None, relaxed=None):
        """The best objective and weights, by a generic solver of quadratic programs.

        max { c a : E a = r, a >= 0 } = min { r z : E' z >= c }, so with c = scores(w) the training
        problem is one quadratic program in w and the z of all examples.
        """
        blocks = [self.polytope(i, relaxed) for i in range(self.n)]
        sizes = [len(right) for *_, right in blocks]
        offsets = self.dim + np.cumsum([0, *sizes])
        rows, limits = [], []
        linear = np.zeros(offsets[-1])
        for i, (columns, equations, right) in enumerate(blocks):
            row = np.zeros((columns.shape[1], offsets[-1]))
            row[:, : self.dim] = (self.psi[i] @ columns).T
            row[:, offsets[i] : offsets[i + 1]] = -equations.T
            rows.append(row)
            limits.append(-self.losses[i] @ columns)
            linear[offsets[i] : offsets[i + 1]] = self.s[i] * right / self.n
            linear[: self.dim] -= self.s[i] / self.n * (self.psi[i] @ self.truth(i))
        for sign, bound in zip((-1.0, 1.0), bounds or (), strict=False):
            bound = np.broadcast_to(bound, self.dim)
            finite = np.flatnonzero(np.isfinite(bound))
            rows.append(sign * np.eye(offsets[-1])[finite])
            limits.append(sign * bound[finite])
        quadratic = np.zeros(offsets[-1])
        quadratic[: self.dim] = 1.0 / (C * self.n)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        limits = np.concatenate(limits)
        found = clarabel.DefaultSolver(
            sparse.diags(quadratic, format="csc"),
            linear,
            sparse.csc_matrix(np.vstack(rows)),
            limits,
            [clarabel.NonnegativeConeT(len(limits))],
            settings,
        ).solve()
        assert str(found.status) == "Solved"
        return found.obj_val, np.array(found.x)[: self.dim]


# --- random problems with their references ----------------------------------------------------


def path(n):
    return n, [(t, t + 1) for t in range(n - 1)]


def cycle(n):
    return n, [(t, (t + 1) % n) for t in range(n)]


def complete(n):
    return n, [(u, v) for u in range(n) for v in range(u + 1, n)]


def alone(n):
    return n, []


def random_reference(
    shapes, *, states=(2,), joins=((0, 0),), n_features=2, n_edge_features=0, sparse_nodes=False,
    weighted=False, normalize=True, random_types=False, positive_edges=False, density=0.6,
    relaxed=False, by_feature=None, seed=0, **model_options,
):  # fmt: skip
    """A random problem on graphs of these shapes, (number of nodes, edges).

    ``random_types``: every node has a random type, and edges whose ends no edge type joins are
    left out. ``weighted``: random costs, node weights and weights of examples.
    """
    rng = np.random.default_rng(seed)
    model = GraphModel(
        states, joins, n_features, n_edge_features,
        by_feature=sparse_nodes if by_feature is None else by_feature, **model_options,
    )  # fmt: skip
    graphs = []
    for n, edges in shapes:
        types = rng.integers(0, len(states), n) if random_types else np.zeros(n, int)
        ends = np.array(edges, int).reshape(-1, 2)
        if random_types:
            pairs = [tuple(pair) for pair in types[ends]]
            ends = ends[[pair in joins for pair in pairs]]
        kinds = [np.flatnonzero([j == tuple(pair) for j in joins]) for pair in types[ends]]
        rows, edge_rows = rng.normal(size=(n, n_features)), np.ones((len(ends), 1))
        if sparse_nodes:
            rows[rng.random(rows.shape) >= density] = 0.0
        if n_edge_features:
            edge_rows = rng.normal(size=(len(ends), n_edge_features))
            edge_rows[rng.random(edge_rows.shape) < 0.3] = 0.0
            edge_rows = abs(edge_rows) if positive_edges else edge_rows
        graphs.append(
            Graph(
                rows,
                types,
                rng.integers(0, np.array(states)[types]),
                ends,
                np.array([rng.choice(kind) for kind in kinds], int),
                edge_rows,
                rng.uniform(0.2, 2.0, n) if weighted else np.ones(n),
            )
        )
    cost = importance = None
    if weighted:
        K = max(states)
        cost = rng.uniform(0.3, 2.0, (len(states), K, K)) * (1 - np.eye(K))
        importance = rng.uniform(0.3, 3.0, len(graphs))
    return GraphReference(
        model, graphs, cost=cost, normalize=normalize, importance=importance, relaxed=relaxed
    )


def graph_pair(
    shapes, *, sparse_nodes=False, sparse_edges=False, weighted=False, random_types=False,
    inference="auto", rounds=200, accuracy=1e-4, **options,
):  # fmt: skip
    """A random problem of taut's, and its reference; the other options are of that."""
    reference = random_reference(
        shapes, sparse_nodes=sparse_nodes, weighted=weighted, random_types=random_types, **options
    )
    graphs, n_edge_features = reference.graphs, reference.model.n_edge_features
    stack = lambda name: np.concatenate([getattr(graph, name) for graph in graphs])  # noqa: E731
    csr = lambda matrix, is_sparse: sparse.csr_array(matrix) if is_sparse else matrix  # noqa: E731
    problem = graph_problem(
        reference.model,
        csr(stack("rows"), sparse_nodes),
        np.array([len(graph.truth) for graph in graphs]),
        stack("truth"),
        stack("ends"),
        np.array([len(graph.ends) for graph in graphs]),
        edge_rows=csr(stack("edge_rows"), sparse_edges) if n_edge_features else None,
        node_type=stack("types") if random_types else None,
        edge_type=stack("edge_types"),
        cost=reference.cost,
        node_weight=stack("node_weight") if weighted else None,
        normalize=reference.normalize,
        importance=reference.s if weighted else None,
        inference=inference,
        rounds=rounds,
        accuracy=accuracy,
    )
    assert problem.relaxed == reference.relaxed
    return problem, reference


def label_set_pair(n, n_labels, ends, *, relaxed=False, seed=0, sparse_rows=False, **options):
    """Rows with random label sets: a label is a node type, a pair of ``ends`` an edge type."""
    rng = np.random.default_rng(seed)
    ends = np.array(ends, int).reshape(-1, 2)
    rows, Y = rng.normal(size=(n, 2)), rng.integers(0, 2, (n, n_labels))
    model = label_model(n_labels, ends, 2, by_feature=sparse_rows, **options.pop("model", {}))
    problem = multilabel_problem(
        model, sparse.csr_array(rows) if sparse_rows else rows, Y, **options
    )
    assert problem.relaxed == relaxed
    graphs = [
        Graph(
            np.tile(row, (n_labels, 1)), np.arange(n_labels), y, ends, np.arange(len(ends)),
            np.ones((len(ends), 1)), np.ones(n_labels),
        )
        for row, y in zip(rows, Y, strict=True)
    ]  # fmt: skip
    return problem, GraphReference(model, graphs, relaxed=relaxed)


# Message passing is asked for this part of an example's worst loss, which is at most 1 here.
ACCURACY = 1e-8
MESSAGES = dict(
    inference="message-passing", relaxed=True, accuracy=ACCURACY, rounds=100_000, seed=11
)
MIXED = dict(states=(2, 3), joins=((0, 0), (0, 1), (1, 1), (1, 0), (0, 1)), random_types=True)


def tiny_graph_pairs():
    """One problem of every kind of graph and inference, small enough for the reference."""
    return {
        "trees of two types": graph_pair(
            [path(3), (4, [(1, 0), (1, 3)]), path(2), alone(1)], **MIXED, sparse_nodes=True,
            n_edge_features=2, weighted=True, seed=1,
        ),
        "cycles, all labellings": graph_pair(
            [cycle(3), complete(4), path(2)], states=(3,), pairwise="potts", n_edge_features=2,
            inference="exhaustive", seed=2,
        ),
        "graph cut": graph_pair(
            [complete(4), cycle(5), path(3), alone(2)], unary="binary", pairwise="potts",
            attractive=True, n_edge_features=2, positive_edges=True, inference="graph-cut", seed=3,
        ),
        "label sets": label_set_pair(5, 3, complete(3)[1], seed=4),
        "label sets, roof duality": label_set_pair(
            5, 4, complete(4)[1], inference="roof-duality", relaxed=True, seed=5
        ),
        "roof duality": graph_pair(
            [complete(4), cycle(3), cycle(5)], inference="roof-duality", relaxed=True,
            n_edge_features=1, sparse_edges=True, weighted=True, seed=6,
        ),
        "message passing": graph_pair([complete(4), cycle(3), path(3)], states=(3,), **MESSAGES),
        "message passing, two types": graph_pair([complete(4), complete(3)], **MIXED, **MESSAGES),
        "linear programs": graph_pair(
            [cycle(3), complete(4)], inference="lp", relaxed=True, seed=7
        ),
    }  # fmt: skip
