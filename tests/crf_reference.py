"""Conditional random fields by their definitions: every labelling listed, in plain NumPy.

    value_i(w) = T log sum_y exp(H_i(y; w) / T),   H_i(y; w) = [loss_i(y)] - <w, psi_i(y)>
    primal(w)  = lambda/2 |w|^2 + 1/n sum_i s_i value_i(w)
    dual       = 1/n sum_i s_i (loss_i(mu_i) + T entropy_i) - lambda (<v, w> - |w|^2 / 2)
                 v = C sum_i s_i psi_i(mu_i),   w = clip(v, lower, upper)

with psi_i(y) = phi_i(truth) - phi_i(y), and the loss only if the CRF is augmented by it. A dual
point is a distribution over the labellings of each example; what taut keeps of one is its image and
a number that its entropy is at least. ``most_entropy`` finds the entropy that an image allows.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, logsumexp, softmax
from sparse_reference import sparse_pair
from taut_reference import Reference, chain_pair, multiclass_pair

from taut.structures import smoothed


class CRFReference:
    def __init__(self, reference: Reference, temperature=1.0, loss_augmented=False):
        self.of, self.T, self.loss_augmented = reference, temperature, loss_augmented
        self.n, self.dim, self.s = reference.n, reference.dim, reference.s

    # --- one example -------------------------------------------------------------------------

    def values(self, i, w):
        """H_i of all labellings."""
        loss, psi = self.of.table(i)
        return self.loss_augmented * loss - psi @ w

    def value(self, i, w):
        return self.T * logsumexp(self.values(i, w) / self.T)

    def distribution(self, i, w):
        return softmax(self.values(i, w) / self.T)

    def corners(self, i):
        """Images of all labellings, flat."""
        return np.array([flat(self.of.image(i, y)) for y in self.of.labellings(i)])

    def truth(self, i):
        """The number of the true labelling."""
        return [y.tolist() for y in self.of.labellings(i)].index(self.of.Y[i].tolist())

    def loss(self, i, alpha):
        """Loss of a distribution over labellings, its entropy included."""
        return self.loss_augmented * (alpha @ self.of.table(i)[0]) + self.T * entropy(alpha)

    def most_entropy(self, i, image):
        """The largest entropy of a distribution with this image, which must be in the interior.

        It is an exponential family's: minimise log Z(theta) - <theta, image>, a convex function.
        """
        corners = self.corners(i)
        if len(corners) == 1:
            return 0.0
        # Coordinates in which images of distributions are all there is.
        centre = corners.mean(0)
        _, size, axes = np.linalg.svd(corners - centre, full_matrices=False)
        axes = axes[size > 1e-9 * size.max()]
        points, place = (corners - centre) @ axes.T, axes @ (image - centre)
        assert np.linalg.norm(axes.T @ place - (image - centre)) < 1e-7

        def excess(theta):
            p = softmax(points @ theta)
            return logsumexp(points @ theta) - theta @ place, p @ points - place

        found = minimize(excess, np.zeros(len(axes)), jac=True, method="BFGS", tol=1e-9)
        p = softmax(points @ found.x)
        np.testing.assert_allclose(p @ corners, image, rtol=0, atol=1e-6)
        return entropy(p)

    # --- the two objectives ------------------------------------------------------------------

    def primal(self, w, C):
        value = sum(self.s[i] * self.value(i, w) for i in range(self.n))
        return 0.5 * (w @ w) / (C * self.n) + value / self.n

    def gradient(self, w, C):
        total = w / (C * self.n)
        for i in range(self.n):
            total = total - self.s[i] / self.n * self.distribution(i, w) @ self.of.table(i)[1]
        return total

    def dual(self, mu, entropies, C, bounds=None):
        v = self.of.weights(mu, C)
        w = v if bounds is None else np.clip(v, *bounds)
        loss = self.T * (self.s @ entropies)
        if self.loss_augmented:
            images = enumerate(self.of.images(mu))
            loss += sum(self.s[i] * self.of.loss_of(i, image) for i, image in images)
        return loss / self.n - (v @ w - 0.5 * (w @ w)) / (C * self.n)

    def bracket(self, C, bounds=None):
        """A proved lower and an upper bound on the best objective, and the weights of the latter.

        SciPy's minimiser is not believed: the marginals at its weights are a dual point.
        """
        box = None if bounds is None else list(zip(*np.broadcast_arrays(*bounds), strict=True))
        found = minimize(
            self.primal, self.start(bounds), (C,), jac=self.gradient, method="L-BFGS-B",
            bounds=box, options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-12},
        )  # fmt: skip
        p = [self.distribution(i, found.x) for i in range(self.n)]
        mu = self.of.joined([p[i] @ self.corners(i) for i in range(self.n)])
        lower = self.dual(mu, np.array([entropy(one) for one in p]), C, bounds)
        return lower, self.primal(found.x, C), found.x

    def start(self, bounds):
        zero = np.zeros(self.dim)
        return zero if bounds is None else np.clip(zero, *bounds)

    def scale(self):
        """The objective at w = 0."""
        return self.primal(np.zeros(self.dim), 1.0)


def crf_pairs():
    """Problems with their references: dense features, and one kind of sparse ones to compile."""

    def pair(made, *options):
        base, reference = made
        temperature, augmented = options or (1.0, False)
        problem = smoothed(base, temperature, loss_augmented=augmented)
        return problem, CRFReference(reference, temperature, augmented)

    return {
        "multiclass": pair(multiclass_pair(8, 3, seed=1)),
        "chain": pair(chain_pair([3, 1, 2, 3], 3, seed=2)),
        "weighted chain": pair(chain_pair([2, 3, 1, 3], 3, weighted=True, seed=5)),
        "loss-augmented chain": pair(
            chain_pair([2, 3, 1, 3], 3, weighted=True, normalize=False, seed=6), 0.4, True
        ),
        "chain with step features": pair(chain_pair([3, 2, 1, 3], 2, n_step=2, seed=4)),
        "constrained chain": pair(chain_pair([3, 2, 4, 1], 4, constrained=True, seed=39)),
        "observed chain": pair(
            chain_pair([2, 3, 3, 1], 3, kind="observed", n_features=5, seed=3), 2.0, False
        ),
        "sparse steps": pair(sparse_pair([3, 1, 2, 3], 3, weighted=True, seed=2)),
        "loss-augmented step attributes": pair(
            sparse_pair([3, 2, 1, 3], 3, n_attributes=3, kind="sparse", seed=4), 0.4, True
        ),
        "constrained step attributes": pair(
            sparse_pair([3, 2, 4, 1], 4, n_attributes=2, constrained=True, seed=39)
        ),
    }


def boxes(problem):
    """Bounds on the weights; those that only fill a row of observed features stay zero."""
    sides = {"tight": (-0.05, 0.1), "nonnegative": (0.0, np.inf), "without zero": (0.02, 0.3)}
    result = {}
    for name, pair in sides.items():
        result[name] = [np.full(problem.dim, side) for side in pair]
        for side in result[name]:
            side[problem.held_at_zero()] = 0.0
    return {"free": None, **result}


def entropy(p):
    return float(entr(p).sum())


def flat(image):
    return np.concatenate([np.ravel(part) for part in image])


# --- chains of scores ----------------------------------------------------------------------------


class Enumerated(NamedTuple):
    log_z: float
    node: np.ndarray  # (T, K)
    step: np.ndarray  # (T - 1, K, K)


def enumerated_chain(theta, pair, sharpness=1.0):
    """log Z and the marginals of nodes and steps; ``pair`` has a table per step, or one for all."""
    length, n_states = theta.shape
    steps = np.arange(length - 1)
    tables = np.broadcast_to(pair, (length - 1, n_states, n_states)) if len(pair) == 1 else pair
    labellings = np.array(list(product(range(n_states), repeat=length)))
    score = theta[np.arange(length), labellings].sum(1)
    score = score + tables[steps, labellings[:, :-1], labellings[:, 1:]].sum(1)
    node, step = np.zeros(theta.shape), np.zeros((length - 1, n_states, n_states))
    if score.max() == -np.inf:
        return Enumerated(-np.inf, node, step)
    log_z = logsumexp(sharpness * score)
    for y, p in zip(labellings, np.exp(sharpness * score - log_z), strict=True):
        node[np.arange(length), y] += p
        step[steps, y[:-1], y[1:]] += p
    return Enumerated(float(log_z), node, step)
