"""Slack rescaling by its definition: all labellings of all examples, in plain NumPy.

H_i(y; w) = loss_i(y) (1 + <w, phi_i(y) - phi_i(truth)>) = loss_i(y) - <w, psi_i(y)>
"""

import numpy as np
from quadratic_program import QuadraticProgram


class SlackReference:
    """Made from a reference of margin rescaling, of chains or of graphs, which has phi and loss."""

    def __init__(self, reference):
        self.n, self.dim, self.s = reference.n, reference.dim, reference.s
        self.truth, self.labellings, self.loss, self.psi = [], [], [], []
        for i in range(self.n):
            if hasattr(reference, "graphs"):
                truth, labellings = reference.graphs[i].truth, reference.labellings[i]
            else:
                truth, labellings = reference.Y[i], reference.labellings(i)
            loss = np.array([reference.loss(i, y) for y in labellings])
            difference = [reference.phi(i, truth) - reference.phi(i, y) for y in labellings]
            self.truth.append(truth)
            self.labellings.append([tuple(map(int, y)) for y in labellings])
            self.loss.append(loss)
            self.psi.append(loss[:, None] * np.array(difference))

    def values(self, i, w):
        """H_i(y; w) of all labellings."""
        return self.loss[i] - self.psi[i] @ w

    def primal(self, w, C):
        hinge = sum(self.s[i] * self.values(i, w).max() for i in range(self.n))
        return 0.5 * (w @ w) / (C * self.n) + hinge / self.n

    def optimum(self, C):
        """The best objective and weights, by a generic solver."""
        program = QuadraticProgram()
        w = program.variables(1.0 / (C * self.n), np.zeros(self.dim))
        slack = program.variables(0.0, self.s / self.n)
        for i in range(self.n):
            picked = np.zeros((len(self.loss[i]), self.n))
            picked[:, i] = -1.0
            program.below([(w, -self.psi[i]), (slack, picked)], -self.loss[i])
        value, x, _ = program.solve()
        return value, x[w]
