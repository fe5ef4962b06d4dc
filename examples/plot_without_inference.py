"""
Training without inference
==========================

Finding the best labelling of a grid is hard, and training that asks for it thousands of times is
slow. Here it is never asked for. Each cell and each edge has beliefs of its own, is improved alone,
and pays for disagreeing with its neighbours. Two bounds tell how good the weights are.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import AugmentedLagrangian, GraphCRF, GraphSVM, SoftBCFW
from taut.datasets import make_gaussian_potts

SIZE, K = 10, 3
options = {"size": SIZE, "n_states": K, "noise": 0.8}
grids, states = make_gaussian_potts(20, **options)
test_grids, test_states = make_gaussian_potts(20, **options, random_state=1)

# %%
# SoftBCFW lets edges and cells disagree a little, for good: its own gap (the soft one) closes, the
# bracket of the problem without disagreement does not. The augmented Lagrangian learns prices for
# the disagreement, and closes both. A certificate every other pass is for the picture.

solvers = {
    "SoftBCFW": SoftBCFW(check_every=2),
    "augmented Lagrangian": AugmentedLagrangian(check_every=2),
}
runs = {}
for name, solver in solvers.items():
    clf = GraphSVM(C=0.01, solver=solver, tol=0.003, random_state=0).fit(grids, states)
    runs[name] = clf.solution_
    right = clf.score(test_grids, test_states)
    print(f"{name}: {clf.solution_.status.name}, {right:.3f} of the test cells are right")

fig, axes = plt.subplots(2, 2, figsize=(9, 6), sharex="col", sharey="row", layout="constrained")
for (above, below), (name, run) in zip(axes.T, runs.items(), strict=True):
    history = run.history
    above.fill_between(history.passes, history.dual, history.primal, alpha=0.2)
    above.plot(history.passes, history.primal, label="upper bound")
    above.plot(history.passes, history.dual, label="lower bound")
    above.set(title=name, ylim=(0, 1.1 * run.scale))
    for field, label in (("gap", "bracket"), ("soft_gap", "soft gap"), ("violation", "violation")):
        below.semilogy(history.passes, history[field], label=label)
    below.set(xlabel="passes over all cells and edges")
    for axis in (above, below):
        axis.grid(alpha=0.3)
axes[0, 0].set_ylabel("objective")
axes[0, 1].legend()
axes[1, 0].legend()

# %%
# The same without the margin and with an entropy is a conditional random field. On graphs with
# cycles its marginals are those of a relaxation: what a cell probably is, as far as it and its
# neighbours can tell. Improbable states get exactly zero.

crf = GraphCRF(C=0.1, tol=0.01, random_state=0).fit(grids, states)
print(crf.solution_)
marginals = crf.predict_marginals(test_grids)

fig, axes = plt.subplots(3, K + 2, figsize=(8, 5), layout="constrained")
for row, y, (x, _), of_cells in zip(axes, test_states, test_grids, marginals, strict=False):
    for axis, values in zip(row, (y, x[:, 0]), strict=False):
        axis.imshow(values.reshape(SIZE, SIZE), cmap="viridis", vmin=-0.5, vmax=K - 0.5)
    for axis, of_state in zip(row[2:], of_cells.T, strict=True):
        shown = axis.imshow(of_state.reshape(SIZE, SIZE), cmap="magma", vmin=0, vmax=1)
titles = ["truth", "seen", *(f"P(state {k})" for k in range(K))]
for axis, name in zip(axes[0], titles, strict=True):
    axis.set_title(name, fontsize=10)
for axis in axes.flat:
    axis.set_axis_off()
fig.colorbar(shown, ax=axes, shrink=0.6)

# %%
# Where the model is surer, it is right more often.

cells, truth = np.concatenate(marginals), np.concatenate(test_states)
confidence, right = cells.max(axis=1), cells.argmax(axis=1) == truth
for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
    among = (low <= confidence) & (confidence < high)
    if among.any():
        share = right[among].mean()
        print(f"most probable state {low:.1f} to {min(high, 1):.1f}: {share:.2f} right")
plt.show()
