"""Regularisation paths of problems with every labelling listed: optima, gaps and first lambdas.

Plain NumPy and a generic QP solver, independent of taut's kernels, in the *lambda form*

    primal  lambda/2 |w|^2 + 1/n sum_i s_i max_y H_i(y; w),   H_i = loss_i - <w, psi_i>
    dual    1/n sum_i s_i <alpha_i, loss_i> - lambda (<v, w> - |w|^2 / 2)
            v = 1/(lambda n) sum_i s_i psi_i' alpha_i,   w = clip(v, lower, upper)

An optimum is not believed of the QP solver: its multipliers are made a dual point, and what a
primal and a dual point prove together is what counts.
"""

from dataclasses import dataclass
from functools import lru_cache

import clarabel
import numpy as np
from decomposition_reference import FREE, EnumeratedProblem, enumerated
from scipy import sparse
from sparse_reference import sparse_pair
from taut_reference import chain_pair, multiclass_pair

# The dual value of the QP solver's point is this near to the optimum, or an error is raised.
PRECISE = 1e-9


class PathReference:
    def __init__(self, listed: EnumeratedProblem, bounds=FREE):
        self.listed = listed
        self.bounds = tuple(np.broadcast_to(np.asarray(b, float), listed.dim) for b in bounds)
        self.optimum = lru_cache(maxsize=None)(self._optimum)

    @property
    def scale(self):
        """The objective at w = 0."""
        return self.hinge(np.zeros(self.listed.dim))

    def hinge(self, w):
        return self.listed.s @ self.listed.slacks(w) / self.listed.n

    def primal(self, w, lam):
        return 0.5 * lam * (w @ w) + self.hinge(w)

    # --- a dual point ------------------------------------------------------------------------

    def direction(self, alpha, lam):
        """v."""
        return self.listed.direction(alpha, 1.0 / (lam * self.listed.n))

    def weights(self, alpha, lam):
        return np.clip(self.direction(alpha, lam), *self.bounds)

    def loss(self, alpha):
        losses = [a @ loss for a, loss in zip(alpha, self.listed.loss, strict=True)]
        return self.listed.s @ losses / self.listed.n

    def dual(self, alpha, lam):
        v = self.direction(alpha, lam)
        w = np.clip(v, *self.bounds)
        return self.loss(alpha) - lam * (v @ w - 0.5 * (w @ w))

    def gap(self, alpha, lam):
        return self.primal(self.weights(alpha, lam), lam) - self.dual(alpha, lam)

    # --- the optimum -------------------------------------------------------------------------

    def _optimum(self, lam):
        """A proved lower bound on the best objective, at most ``PRECISE`` below it.

        The program is in sqrt(lambda) w, whose length does not depend much on lambda.
        """
        listed, root = self.listed, np.sqrt(lam)
        n, dim = listed.n, listed.dim
        counts = [len(loss) for loss in listed.loss]
        owner = np.repeat(np.eye(n), counts, axis=0)
        rows = [np.hstack([-np.vstack(listed.psi) / root, -owner])]
        right = [-np.concatenate(listed.loss)]
        for sign, bound in zip((-1.0, 1.0), self.bounds, strict=True):
            finite = np.isfinite(bound)
            rows.append(sign * np.eye(dim, dim + n)[finite])
            right.append(sign * root * bound[finite])
        found = _solved(np.r_[np.ones(dim), np.zeros(n)], np.r_[np.zeros(dim), listed.s / n],
                        np.vstack(rows), np.concatenate(right))  # fmt: skip
        w = np.clip(np.array(found.x)[:dim] / root, *self.bounds)
        multipliers = np.maximum(np.array(found.z)[: sum(counts)], 0.0)
        alpha = [z / z.sum() if z.sum() > 0 else np.eye(1, len(z))[0]
                 for z in np.split(multipliers, np.cumsum(counts)[:-1])]  # fmt: skip
        best = self.dual(alpha, lam)
        assert 0 <= self.primal(w, lam) - best + 1e-14 <= PRECISE, self.primal(w, lam) - best
        return best

    def suboptimality(self, w, lam):
        """How far from the optimum, too large by at most ``PRECISE``."""
        return self.primal(w, lam) - self.optimum(lam)

    # --- where Osokin's path begins ------------------------------------------------------------

    def first_lambda(self, target):
        """Algorithm 6, by enumeration; ``target`` is kappa eps. For bounds in {0, -inf, inf}."""
        listed = self.listed
        worst = [np.eye(1, len(loss), loss.argmax())[0] for loss in listed.loss]
        psi = self.direction(worst, 1.0)
        w = np.clip(psi, *self.bounds)
        theta = np.array([max(-rows @ w) for rows in listed.psi])
        return (w @ psi + listed.s @ theta / listed.n) / target


def _solved(quadratic, linear, G, h):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    return clarabel.DefaultSolver(
        sparse.diags(quadratic, format="csc"), linear, sparse.csc_matrix(G), h,
        [clarabel.NonnegativeConeT(len(h))], settings,
    ).solve()  # fmt: skip


# --- problems ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A problem of taut's with its reference, for any bounds."""

    problem: object
    listed: EnumeratedProblem

    @property
    def dim(self):
        return self.listed.dim

    def reference(self, bounds=None):
        return PathReference(self.listed, FREE if bounds is None else bounds)


def _case(pair):
    problem, reference = pair
    return Case(problem, enumerated(reference))


def tiny_cases():
    """Multiclass problems and chains, with and without costs and sample weights."""
    return {
        "multiclass": _case(multiclass_pair(8, 3, n_features=2, seed=1)),
        "weighted multiclass": _case(multiclass_pair(7, 3, n_features=2, weighted=True, seed=2)),
        "chain": _case(chain_pair([3, 1, 2, 3], 2, n_features=2, seed=3)),
        "weighted chain": _case(
            chain_pair([2, 3, 1, 2], 2, n_features=2, weighted=True, normalize=False, seed=4)
        ),
        "sparse steps": _case(sparse_pair([2, 3, 1, 2], 2, n_features=2, n_attributes=2, seed=3)),
    }


BOUNDS = {
    "free": lambda dim: None,
    "nonnegative": lambda dim: (0.0, np.inf),
    "around zero": lambda dim: (-0.15, 0.2),
    # Some weights must not be zero.
    "without zero": lambda dim: (np.where(np.arange(dim) % 3 == 0, 0.1, -1.0), 1.0),
}
