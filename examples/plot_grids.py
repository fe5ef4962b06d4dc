"""
Grids seen through noise
========================

Each cell of a grid has one of three states, and neighbours tend to agree. What is seen is the state
plus noise. A model without edges judges every cell by itself; one with edges learns from the data
how much neighbours are to be trusted, and repairs most of what the noise broke.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import GraphSVM
from taut.datasets import make_gaussian_potts

SIZE, K = 20, 3
options = {"size": SIZE, "n_states": K, "noise": 0.8}
grids, states = make_gaussian_potts(20, **options)
test_grids, test_states = make_gaussian_potts(20, **options, random_state=1)

# %%
# The training ends with a certificate. Graphs of cells have cycles, so it is about the LP
# relaxation: cells may be in several states at once, by fractions, while the model is trained.


def without_edges(graphs):
    return [(x, []) for x, edges in graphs]


alone = GraphSVM(C=0.01, tol=0.01, random_state=0).fit(without_edges(grids), states)
clf = GraphSVM(C=0.01, tol=0.01, attractive=True, random_state=0).fit(grids, states)
print(clf.solution_)
print(f"a disagreement of neighbours costs {clf.edge_coef_[0, 0]:.2f}")
print(f"cells right: {alone.score(without_edges(test_grids), test_states):.3f} alone,")
print(f"             {clf.score(test_grids, test_states):.3f} with edges")

# %%
# Four test grids.

cells = [test_states, [x[:, 0] for x, _ in test_grids]]
cells += [alone.predict(without_edges(test_grids)), clf.predict(test_grids)]
fig, axes = plt.subplots(4, 4, figsize=(7, 7.2), layout="constrained")
for row, values, name in zip(axes, cells, ("truth", "seen", "alone", "with edges"), strict=True):
    for axis, grid in zip(row, values[:4], strict=True):
        axis.imshow(grid.reshape(SIZE, SIZE), cmap="viridis", vmin=-0.5, vmax=K - 0.5)
        axis.set_axis_off()
    row[0].set_title(name, loc="left", fontsize=10)

# %%
# Two ways to find a good labelling with these weights: message passing, which solves the relaxation
# and rounds it, and alpha-expansion, a sequence of minimum cuts.

answers = {}
for method in ("message-passing", "expansion"):
    answers[method] = np.concatenate(clf.predict(test_grids, inference=method))
    right = np.mean(answers[method] == np.concatenate(test_states))
    print(f"{method:16} {right:.3f} of the cells right")
same = np.mean(answers["message-passing"] == answers["expansion"])
print(f"they agree on {same:.1%} of the cells")

# %%
# The more noise, the more the edges are worth.

levels = [0.2, 0.4, 0.6, 0.8, 1.0]
right = {"alone": [], "with edges": []}
for noise in levels:
    options["noise"] = noise
    grids, states = make_gaussian_potts(20, **options)
    test_grids, test_states = make_gaussian_potts(20, **options, random_state=1)
    alone.fit(without_edges(grids), states)
    clf.fit(grids, states)
    right["alone"].append(alone.score(without_edges(test_grids), test_states))
    right["with edges"].append(clf.score(test_grids, test_states))

fig, axis = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for name, values in right.items():
    axis.plot(levels, values, "o-", label=name)
axis.set(xlabel="noise", ylabel="cells right")
axis.grid(alpha=0.3)
axis.legend()
plt.show()
