"""Training without inference by its definitions, in plain NumPy, with optima by clarabel.

The blocks of an example are its nodes, its edges and, if there are any, its count factors. Its
*point* is one vector, the marginals of its blocks one after another,

    nodes: states[t] numbers | edges: a table k_u * k_v, row major | counts: p for each node

and its *messages* delta hold for every edge k_u numbers of the first end and k_v of the second,
then for every count factor two numbers, of the states 0 and 1, of each of its nodes. A count factor
(nodes, low, high) says that low to high of these two-state nodes are in state 1: its marginals
are 0 <= p <= 1 with low <= sum p <= high, it has no weights and no entropy. ``mu``, ``delta``
and ``nu`` are lists, one vector per example; ``pack`` and ``unpack`` turn them into arrays of all
nodes, all edges and all counts.

With B mu = marginals of a factor minus those of its nodes, lambda = 1 / (C n), the Gini entropy
H = sum of 1 - |mu_c|^2 over nodes and edges, and sample weights s_i, the values here are

    hard dual    1/n sum_i s_i [<loss, mu_i> + gamma H(mu_i)] - lambda/2 |w(mu)|^2,   B mu = 0
    hard primal  1/n sum_i s_i sum of phi_gamma(theta_hat) over blocks + lambda/2 |w|^2
    soft dual    the hard one - 1/n sum_i s_i [<nu_i, B mu_i> + |B mu_i|^2 / (2 rho)], any B mu
    soft primal  the hard one + 1/n sum_i s_i rho/2 |delta_i - nu_i|^2

The penalty's rho does not depend on n: that of Meshi et al. (2015) is rho / n. With gamma = 0
it is the structured SVM and phi_gamma the maximum; else the model of Hu and Obozinski (2018).
"""

from typing import NamedTuple

import numpy as np
from factor_blocks import COUNT, Example, move_to_count
from quadratic_program import QuadraticProgram


class Packed(NamedTuple):
    """Numbers of all nodes, all edges and all count factors of all examples."""

    node: np.ndarray
    edge: np.ndarray
    count: np.ndarray


class Messages(NamedTuple):
    """delta or nu of all edges and all count factors of all examples."""

    edge: np.ndarray
    count: np.ndarray


class Optimum(NamedTuple):
    value: float
    w: np.ndarray
    mu: list
    delta: list


def joined(parts):
    return np.concatenate([np.zeros(0), *parts])


class FactorReference:
    """Objectives, their parts and their optima, for the problem of a ``GraphReference``.

    ``counts[i]`` are the count factors (nodes, low, high) of example i; ``bounds`` a box for w.
    """

    def __init__(self, reference, C, *, gamma=0.0, counts=None, bounds=None):
        self.reference, self.C, self.gamma = reference, C, gamma
        self.n, self.s, self.dim = reference.n, np.asarray(reference.s, float), reference.dim
        self.lam = 1.0 / (C * self.n)
        lower, upper = (-np.inf, np.inf) if bounds is None else bounds
        self.bounds = np.broadcast_to(lower, self.dim), np.broadcast_to(upper, self.dim)
        counts = [[]] * self.n if counts is None else counts
        self.examples = [Example(reference, i, counts[i]) for i in range(self.n)]

    def mean(self, values):
        """1/n sum_i s_i values_i."""
        return self.s @ np.array(values, float) / self.n

    def each(self, *lists):
        return zip(self.examples, *lists, strict=True)

    # --- layouts ---------------------------------------------------------------------------------

    def pack(self, mu):
        """Node marginals of all examples, then tables of edges, then the p of count factors."""
        parts = [np.split(x, [sum(one.states), one.n_local]) for one, x in self.each(mu)]
        return Packed(*(joined(kind) for kind in zip(*parts, strict=True)))

    def unpack(self, node, edge, count=()):
        nodes = [sum(one.states) for one in self.examples]
        edges = [one.n_local - k for one, k in self.each(nodes)]
        counts = [one.size - one.n_local for one in self.examples]
        return self._unpack((node, nodes), (edge, edges), (count, counts))

    def pack_messages(self, delta):
        parts = [np.split(d, [one.n_edge_messages]) for one, d in self.each(delta)]
        return Messages(*(joined(kind) for kind in zip(*parts, strict=True)))

    def unpack_messages(self, edge, count=()):
        edges = [one.n_edge_messages for one in self.examples]
        counts = [one.n_messages - one.n_edge_messages for one in self.examples]
        return self._unpack((edge, edges), (count, counts))

    def _unpack(self, *kinds):
        for numbers, sizes in kinds:
            assert len(numbers) == sum(sizes)
        parts = [np.split(np.asarray(x, float), np.cumsum(k)[:-1]) for x, k in kinds]
        return [np.concatenate(of_one) for of_one in zip(*parts, strict=True)]

    def to_local(self, i, x):
        """The padded vector of ``GraphReference``, without counts."""
        one = self.examples[i]
        local = np.zeros(len(self.reference.losses[i]))
        local[one.kept] = x[: one.n_local]
        return local

    def from_local(self, i, local):
        """The point of a padded vector; count factors agree with their nodes."""
        return self.examples[i].with_counts(local[self.examples[i].kept])

    # --- points ----------------------------------------------------------------------------------

    def truth(self):
        return [one.truth for one in self.examples]

    def random_point(self, rng):
        """A random point of the product of simplices, as a rule not consistent."""
        mu = []
        for one in self.examples:
            x = np.zeros(one.size)
            for where in one.at_node + one.at_edge:
                x[where] = rng.dirichlet(np.ones(where.stop - where.start))
            for where, (nodes, low, high) in zip(one.at_count, one.counts, strict=True):
                x[where] = move_to_count(rng.random(len(nodes)), low, high)
            mu.append(x)
        return mu

    def no_messages(self):
        return [np.zeros(one.n_messages) for one in self.examples]

    def random_messages(self, rng):
        return [rng.normal(size=one.n_messages) for one in self.examples]

    def repair(self, mu):
        """A consistent point near mu."""
        return [one.repair(x) for one, x in self.each(mu)]

    def violation(self, mu):
        """How far mu is from the local polytope and the counts: the worst constraint."""
        worst = 0.0
        for one, x in self.each(mu):
            E, r, G, h = one.limits()
            for part in (one.consistency(x), E @ x - r, np.maximum(G @ x - h, 0.0)):
                worst = max(worst, np.abs(part).max(initial=0.0))
        return worst

    # --- values at a point -----------------------------------------------------------------------

    def v_of(self, mu):
        """C sum_i s_i Psi_i (truth_i - mu_i), which the box clips."""
        differences = [one.psi @ (one.truth - x) for one, x in self.each(mu)]
        return self.C * (self.s @ np.array(differences))

    def w_of(self, mu):
        return np.clip(self.v_of(mu), *self.bounds)

    def consistency(self, mu):
        """B mu, in the layout of messages."""
        return [one.consistency(x) for one, x in self.each(mu)]

    def delta_of(self, mu, nu=None, rho=1.0):
        """nu + B mu / rho."""
        nu = self.no_messages() if nu is None else nu
        return [v + b / rho for v, b in zip(nu, self.consistency(mu), strict=True)]

    def gini(self, mu):
        """H(mu_i) of every example."""
        return np.array([one.gini(x) for one, x in self.each(mu)])

    def hard_dual(self, mu):
        """A lower bound of the optimum if mu is consistent."""
        v, w = self.v_of(mu), self.w_of(mu)
        losses = np.array([one.losses @ x for one, x in self.each(mu)])
        # The general form is for boxes: without one v = w, and half the square is left.
        return self.mean(losses + self.gamma * self.gini(mu)) - self.lam * (v @ w - 0.5 * (w @ w))

    def soft_dual(self, mu, rho, nu=None):
        nu = self.no_messages() if nu is None else nu
        pairs = zip(nu, self.consistency(mu), strict=True)
        return self.hard_dual(mu) - self.mean([v @ b + b @ b / (2.0 * rho) for v, b in pairs])

    def theta_hat(self, w, delta):
        """Scores of all points; s_i / n (theta_hat - 2 gamma mu) is the soft dual's gradient."""
        return [one.theta_hat(w, d)[0] for one, d in self.each(delta)]

    def hard_primal(self, w, delta):
        """An upper bound of the optimum for any w in the box and any delta."""
        values = []
        for one, d in self.each(delta):
            theta, constant = one.theta_hat(w, d)
            best = one.best_values(theta, self.gamma).sum()
            values.append(best + constant - w @ (one.psi @ one.truth))
        return self.mean(values) + 0.5 * self.lam * (w @ w)

    def soft_primal(self, w, delta, rho, nu=None):
        nu = self.no_messages() if nu is None else nu
        squares = [0.5 * rho * ((d - v) @ (d - v)) for d, v in zip(delta, nu, strict=True)]
        return self.hard_primal(w, delta) + self.mean(squares)

    def block_gaps(self, w, delta, mu):
        """(1/n) s_i [phi_gamma(theta_hat) - <theta_hat, mu> - gamma (1 - |mu|^2)] of every block.

        At gamma = 0 these are Frank-Wolfe's gaps. At w(mu) and delta(mu) their sum is the soft
        primal minus the soft dual; at w(mu) and any delta, if mu is consistent, the hard primal
        minus the hard dual.
        """
        gaps = [], [], []
        for s, one, d, x in zip(self.s, self.examples, delta, mu, strict=True):
            theta, _ = one.theta_hat(w, d)
            best = one.best_values(theta, self.gamma)
            for value, (kind, where) in zip(best, one.blocks(), strict=True):
                entropy = 0.0 if kind == COUNT else self.gamma * (1.0 - x[where] @ x[where])
                gaps[kind].append(s * (value - theta[where] @ x[where] - entropy) / self.n)
        return Packed(*map(np.array, gaps))

    def block_constants(self, rho):
        """L of every block: moving it by d changes its theta_hat by at most L |d|."""
        constants = [], [], []
        for one, s in self.each(self.s):
            for (kind, _), L in zip(
                one.blocks(), one.block_constants(self.C * s, rho), strict=True
            ):
                constants[kind].append(L)
        return Packed(*map(np.array, constants))

    # --- optima ----------------------------------------------------------------------------------

    def hard_optimum(self):
        """g*, the optimum of the LP-relaxed problem, where B mu = 0."""
        program = QuadraticProgram()
        points, w = self._begin(program)
        rows = []
        for one, x in self.each(points):
            B, b = one.consistency_matrix()
            rows.append(program.equal([(x, B)], -b))
        value, found, multipliers = program.solve()
        # They are s_i delta_i / n; an example of weight 0 has no say, so any delta will do.
        scale = np.divide(self.n, self.s, out=np.zeros(self.n), where=self.s > 0)
        delta = [c * multipliers[row] for c, row in zip(scale, rows, strict=True)]
        return Optimum(self._constant() - value, found[w], [found[x] for x in points], delta)

    def soft_optimum(self, rho, nu=None):
        """The optimum of the penalised problem with multipliers nu."""
        nu = self.no_messages() if nu is None else nu
        program = QuadraticProgram()
        points, w = self._begin(program)
        for s, one, x, multiplier in zip(self.s, self.examples, points, nu, strict=True):
            B, b = one.consistency_matrix()
            z = program.variables(s / (self.n * rho), s / self.n * multiplier)
            program.equal([(x, B), (z, -np.eye(len(b)))], -b)
        value, found, _ = program.solve()
        mu = [found[x] for x in points]
        return Optimum(self._constant() - value, found[w], mu, self.delta_of(mu, nu, rho))

    def inference(self, i, w, with_loss=True):
        """max of <scores, x> + gamma H(x) over the local polytope of example i, and its x.

        Without loss these x are the relaxed model's own marginals.
        """
        one, program = self.examples[i], QuadraticProgram()
        x = self._point(program, one, one.psi.T @ w + with_loss * one.losses, 1.0)
        B, b = one.consistency_matrix()
        program.equal([(x, B)], -b)
        value, found, _ = program.solve()
        return self.gamma * one.n_simplices - value, found

    def _point(self, program, one, scores, weight):
        """The point of an example, worth weight * (<scores, x> - gamma |x|^2)."""
        x = program.variables(2.0 * weight * self.gamma * one.has_entropy, -weight * scores)
        E, r, G, h = one.limits()
        program.equal([(x, E)], r)
        program.below([(x, G)], h)
        return x

    def _begin(self, program):
        """Points and weights, and what the two problems have in common.

        v = w + above - below, where above and below are what the box cuts off: clip(v) is the w
        that minimises lambda (1/2 |w|^2 + <upper, above> - <lower, below>).
        """
        (lower, upper), eye = self.bounds, np.eye(self.dim)
        low, high = np.isfinite(lower), np.isfinite(upper)
        w = program.variables(self.lam, np.zeros(self.dim))
        above = program.variables(0.0, self.lam * upper[high])
        below = program.variables(0.0, -self.lam * lower[low])
        for cut in (above, below):
            program.below([(cut, -np.eye(cut.stop - cut.start))], np.zeros(cut.stop - cut.start))
        points = [self._point(program, one, one.losses, s / self.n) for one, s in self.each(self.s)]
        terms = [(x, self.C * s * one.psi) for one, s, x in self.each(self.s, points)]
        cuts = [(w, eye), (above, eye[:, high]), (below, -eye[:, low])]
        at_truth = sum(self.C * s * (one.psi @ one.truth) for one, s in self.each(self.s))
        program.equal(terms + cuts, at_truth)
        return points, w

    def _constant(self):
        """gamma H counts 1 for every simplex."""
        return self.gamma * self.mean([one.n_simplices for one in self.examples])
