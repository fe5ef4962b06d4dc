"""Quadratic programs written down group by group of variables, and solved by clarabel."""

import clarabel
import numpy as np
from scipy import sparse


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
        # More than this precision may be out of reach; duality gaps tell what was reached.
        assert str(found.status) in ("Solved", "AlmostSolved"), found.status
        return found.obj_val, np.array(found.x), np.array(found.z)[: len(b)]
