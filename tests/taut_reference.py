"""The definitions, in plain NumPy and by enumeration: slow, and independent of taut's kernels.

Feature map of example i (truth y_i, node features x_t, step features e_t):

    phi(y) = [ sum_t x_t (x) 1[y_t] | sum_t 1[y_t] | 1[y_first] | 1[y_last]
             | sum_t e_t (x) 1[y_t] (x) 1[y_t+1] ]

It is linear in the *image* of y: node indicators (T, K) and the feature-weighted sum of step
indicators (F, K, K). Everything below is written with images, for labellings and marginals alike.
Under constraints, "all labellings" are those that obey them.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from taut.inference.enumeration import possible_labellings
from taut.structures import chain_problem, multiclass_problem


@dataclass
class Reference:
    X: list[np.ndarray]  # per example (T, n_features)
    Y: list[np.ndarray]
    K: int
    place: np.ndarray  # (n_features, K): where the weight of (feature, label) is, -1 if none
    dim: int
    bias: bool = True
    boundary: bool = True
    steps: list[np.ndarray] | None = None  # per example (T - 1, n_step); None: no steps at all
    cost: np.ndarray | None = None
    normalize: bool = True
    importance: np.ndarray | None = None
    allowed: tuple | None = None  # boolean tables begin, end, step
    forced: list[np.ndarray] | None = None  # per example, -1: free
    tables: list = field(default_factory=list)

    def __post_init__(self):
        self.n = len(self.X)
        self.cost = 1.0 - np.eye(self.K) if self.cost is None else self.cost
        self.s = np.ones(self.n) if self.importance is None else self.importance

    # --- feature map -------------------------------------------------------------------------

    def image(self, i, y):
        """Node indicators and summed step features of a labelling."""
        node = np.eye(self.K)[y]
        if self.steps is None:
            return node, np.zeros((0, self.K, self.K))
        return node, np.einsum("tf,tk,tl->fkl", self.steps[i], node[:-1], node[1:])

    def features_of(self, i, image):
        node, step = image
        phi = np.zeros(self.dim)
        kept = self.place >= 0
        phi[self.place[kept]] = (self.X[i].T @ node)[kept]
        rest = [node.sum(0)] * self.bias + [node[0], node[-1]] * self.boundary + [step.ravel()]
        rest = np.concatenate(rest)
        phi[self.dim - rest.size :] = rest
        return phi

    def phi(self, i, y):
        return self.features_of(i, self.image(i, y))

    def loss_of(self, i, image):
        scale = 1.0 / len(self.Y[i]) if self.normalize else 1.0
        return scale * float((self.cost[self.Y[i]] * image[0]).sum())

    def loss(self, i, y):
        return self.loss_of(i, self.image(i, y))

    def value(self, i, y, w, with_loss=True):
        """H_i(y; w) = loss_i(y) + <w, phi_i(y) - phi_i(truth)>."""
        return with_loss * self.loss(i, y) + w @ (self.phi(i, y) - self.phi(i, self.Y[i]))

    def labellings(self, i):
        forced = None if self.forced is None else self.forced[i]
        return [
            np.array(y) for y in possible_labellings(len(self.Y[i]), self.K, self.allowed, forced)
        ]

    def table(self, i):
        """(losses, psi) of all labellings, psi = phi(truth) - phi(y)."""
        while len(self.tables) <= i:
            j = len(self.tables)
            truth = self.phi(j, self.Y[j])
            all_y = self.labellings(j)
            self.tables.append(
                (
                    np.array([self.loss(j, y) for y in all_y]),
                    np.array([truth - self.phi(j, y) for y in all_y]),
                )
            )
        return self.tables[i]

    # --- a dual point ------------------------------------------------------------------------

    def images(self, mu):
        """The blocks of the flat dual vector, as images."""
        at = 0
        for i in range(self.n):
            T, F = len(self.Y[i]), 0 if self.steps is None else self.steps[i].shape[1]
            node = mu[at : at + T * self.K].reshape(T, self.K)
            at += T * self.K
            step = mu[at : at + F * self.K**2].reshape(F, self.K, self.K)
            at += F * self.K**2
            yield node, step
        assert at == mu.size

    def joined(self, images):
        """The dual vector of these flat images, one of each example."""
        return np.concatenate(images)

    def weights(self, mu, C):
        """v = C sum_i s_i (phi_i(truth) - phi_i(mu_i)); the model is w = clip(v)."""
        v = np.zeros(self.dim)
        for i, image in enumerate(self.images(mu)):
            v += C * self.s[i] * (self.phi(i, self.Y[i]) - self.features_of(i, image))
        return v

    def distance_to_polytope(self, i, image):
        """Distance of an image to the convex hull of the images of labellings."""
        flat = lambda image: np.concatenate([image[0].ravel(), image[1].ravel(), [1.0]])  # noqa: E731
        corners = np.array([flat(self.image(i, y)) for y in self.labellings(i)])
        return nnls(corners.T, flat(image))[1]

    # --- the two objectives ------------------------------------------------------------------

    def primal(self, w, C):
        hinge = 0.0
        for i in range(self.n):
            loss, psi = self.table(i)
            hinge += self.s[i] * np.max(loss - psi @ w)
        return 0.5 * (w @ w) / (C * self.n) + hinge / self.n

    def dual(self, mu, C, bounds=None):
        v = self.weights(mu, C)
        w = v if bounds is None else np.clip(v, *bounds)
        loss = sum(self.s[i] * self.loss_of(i, image) for i, image in enumerate(self.images(mu)))
        return loss / self.n - (v @ w - 0.5 * (w @ w)) / (C * self.n)

    def block_gaps(self, mu, w):
        gaps = []
        for i, image in enumerate(self.images(mu)):
            loss, psi = self.table(i)
            now = self.phi(i, self.Y[i]) - self.features_of(i, image)
            gaps.append(self.s[i] * (np.max(loss - psi @ w) - self.loss_of(i, image) + now @ w))
        return np.array(gaps) / self.n


def by_label(n_features, K):
    """Dense features: all weights of label 0, then of label 1, ..."""
    return np.arange(n_features * K).reshape(K, n_features).T


def by_feature(n_features, K):
    """Sparse features: all weights of feature 0, then of feature 1, ..."""
    return np.arange(n_features * K).reshape(n_features, K)


def observed_places(features, n_features, K):
    """Where ``ObservedFeatures`` says that it keeps the weight of (feature, label)."""
    place = np.full((n_features, K), -1)
    for f in range(n_features):
        for entry in range(features.weight_pointer[f], features.weight_pointer[f + 1]):
            if features.weight_state[entry] >= 0:
                place[f, features.weight_state[entry]] = entry
    return place


def chain_pair(
    lengths, K, *, n_features=3, kind="dense", n_step=0, bias=True, boundary=True, weighted=False,
    normalize=True, constrained=False, seed=0,
):  # fmt: skip
    """A random chain problem and its reference; ``n_step`` = 0: constant steps.

    ``constrained``: about half of all steps are allowed, and some labels are forced.
    """
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    n_nodes = int(lengths.sum())
    if kind == "dense":
        rows = rng.normal(size=(n_nodes, n_features))
    else:
        rows = rng.integers(0, 3, size=(n_nodes, n_features)) * (
            rng.random((n_nodes, n_features)) < 0.6
        ).astype(float)
    truth = rng.integers(0, K, n_nodes).astype(np.int32)
    cost = importance = E = None
    if weighted:
        cost = rng.uniform(0.3, 2.0, (K, K)) * (1 - np.eye(K))
        importance = rng.uniform(0.3, 3.0, len(lengths))
    if n_step:
        E = rng.normal(size=(n_nodes, n_step))
    allowed = forced = None
    if constrained:
        allowed, forced = random_constraints(rng, lengths, truth, K)
    problem = chain_problem(
        rows if kind == "dense" else sparse.csr_array(rows), lengths, truth, K, cost=cost,
        normalize=normalize, bias=bias, boundary=boundary, observed=kind == "observed",
        step_features=E, importance=importance, allowed=allowed, forced=forced,
    )  # fmt: skip
    ends = np.cumsum(lengths)[:-1]
    place = {"dense": by_label, "sparse": by_feature}.get(
        kind, lambda F, K: observed_places(problem.features, F, K)
    )(n_features, K)
    E = np.ones((n_nodes, 1)) if E is None else E
    n_node_weights = problem.features.dim(K)
    reference = Reference(
        np.split(rows, ends), np.split(truth, ends), K, place,
        n_node_weights + K * bias + 2 * K * boundary + E.shape[1] * K * K,
        bias=bias, boundary=boundary, steps=[e[:-1] for e in np.split(E, ends)], cost=cost,
        normalize=normalize, importance=importance, allowed=allowed,
        forced=None if forced is None else np.split(forced, ends),
    )  # fmt: skip
    return problem, reference


def random_constraints(rng, lengths, truth, K):
    """Tables and forced labels that the truth obeys."""
    begin, end, step = rng.random(K) < 0.5, rng.random(K) < 0.5, rng.random((K, K)) < 0.5
    for y in np.split(truth, np.cumsum(lengths)[:-1]):
        begin[y[0]] = end[y[-1]] = True
        step[y[:-1], y[1:]] = True
    return (begin, end, step), np.where(rng.random(len(truth)) < 0.2, truth, -1)


def multiclass_pair(n, K, *, n_features=3, kind="dense", bias=True, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, n_features))
    if kind == "sparse":
        rows = np.where(rng.random(rows.shape) < 0.6, rows, 0.0)
    truth = rng.integers(0, K, n).astype(np.int32)
    cost = importance = None
    if weighted:
        cost = rng.uniform(0.3, 2.0, (K, K)) * (1 - np.eye(K))
        importance = rng.uniform(0.3, 3.0, n)
    problem = multiclass_problem(
        rows if kind == "dense" else sparse.csr_array(rows), truth, K, cost=cost, bias=bias,
        importance=importance,
    )  # fmt: skip
    place = (by_label if kind == "dense" else by_feature)(n_features, K)
    reference = Reference(
        list(rows[:, None]), list(truth[:, None]), K, place, n_features * K + K * bias, bias=bias,
        boundary=False, cost=cost, importance=importance,
    )  # fmt: skip
    return problem, reference


def tiny_pairs():
    """One problem of every kind, small enough to enumerate."""
    return {
        "multiclass": multiclass_pair(8, 3, seed=1),
        "chain": chain_pair([3, 1, 2, 3], 3, seed=2),
        "observed chain": chain_pair([2, 3, 3, 1], 3, kind="observed", n_features=5, seed=3),
        "chain with step features": chain_pair([3, 2, 1, 3], 2, n_step=2, seed=4),
        "weighted chain": chain_pair([2, 3, 1, 3], 3, weighted=True, normalize=False, seed=5),
        "constrained chain": chain_pair([3, 2, 4, 1], 4, constrained=True, seed=39),
        "constrained chain with step features": chain_pair(
            [3, 4, 2], 3, n_step=2, kind="observed", n_features=5, constrained=True, seed=18
        ),
    }
