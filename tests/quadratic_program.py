"""Quadratic programs written down group by group of variables, and solved by clarabel."""

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import nnls


class QuadraticProgram:
    """min 1/2 sum_j quadratic_j x_j^2 + <linear, x> with equations and inequalities.

    A constraint is on the sum of matrix @ x[group] over its terms (group, matrix).
    """

    def __init__(self):
        self.quadratic, self.linear, self.equations, self.inequalities = [], [], [], []
        self.size = 0

    def variables(self, quadratic, linear):
        """A new group of variables: where they are in the solution."""
        self.quadratic.append(np.broadcast_to(quadratic, np.shape(linear)))
        self.linear.append(linear)
        self.size += len(linear)
        return slice(self.size - len(linear), self.size)

    def equal(self, terms, right):
        """New equations: where their multipliers are."""
        start = sum(len(other) for _, other in self.equations)
        self.equations.append((terms, right))
        return slice(start, start + len(right))

    def below(self, terms, right):
        self.inequalities.append((terms, right))

    def _matrix(self, constraints):
        rows, rights = [sparse.csr_array((0, self.size))], [np.zeros(0)]
        for terms, right in constraints:
            row = sparse.lil_array((len(right), self.size))
            for group, matrix in terms:
                row[:, group] = matrix
            rows.append(row)
            rights.append(right)
        return sparse.vstack(rows), np.concatenate(rights)

    def solve(self):
        """(value, x, multipliers of the equations)."""
        found, n_equations = self._solve()
        # More than this precision may be out of reach; duality gaps tell what was reached.
        assert str(found.status) in ("Solved", "AlmostSolved"), found.status
        return found.obj_val, np.array(found.x), np.array(found.z)[:n_equations]

    def solve_sharply(self):
        """(x, multipliers of the inequalities), where all constraints are inequalities.

        An interior point of gap eps may be sqrt(eps) away from the solution. It tells which
        constraints hold with equality, though, or nearly so: those that are violated join, those
        without a multiplier leave. The equations give the solution to rounding; what multipliers
        >= 0 leave of the gradient, and how far their constraints are from equality, prove it.
        """
        assert not self.equations
        found, _ = self._solve()
        G, h = self._matrix(self.inequalities)
        G, P, q = G.toarray(), np.diag(np.concatenate(self.quadratic)), np.concatenate(self.linear)
        slack, multiplier = np.array(found.s), np.array(found.z)
        best = np.inf, None, None
        for active in [multiplier > slack, *(slack <= 10.0**-k for k in range(3, 11))]:
            for _ in range(10):
                A, z = G[active], np.zeros(len(h))
                system = np.block([[P, A.T], [A, np.zeros((len(A), len(A)))]])
                x = np.linalg.lstsq(system, np.concatenate([-q, h[active]]))[0][: self.size]
                left = np.linalg.norm(P @ x + q)
                if len(A):
                    z[active], left = nnls(A.T, -(P @ x + q))
                beyond = G @ x - h
                off = np.max(abs(beyond[z > 0]), initial=0.0)
                error = max(left / (1 + abs(q).max()), np.max(beyond, initial=off))
                best = min(best, (error, x, z), key=lambda one: one[0])
                if error < 1e-13:
                    return x, z
                active = (z > 0) | (beyond > 1e-13)
        assert best[0] < 1e-10, best[0]
        return best[1:]

    def _solve(self):
        (A, b), (G, h) = self._matrix(self.equations), self._matrix(self.inequalities)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        found = clarabel.DefaultSolver(
            sparse.diags(np.concatenate(self.quadratic), format="csc"),
            np.concatenate(self.linear),
            sparse.csc_matrix(sparse.vstack([A, G])),
            np.concatenate([b, h]),
            [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(len(h))],
            settings,
        ).solve()
        return found, len(b)
