"""
Making the most of every oracle call
====================================

Simplicial decomposition and cutting planes remember what the oracle found and weigh all of it anew,
exactly, before they ask again. They need few oracle calls, and a quadratic programme after each
pass; steps on single examples need many calls and little else. Which is faster depends on what a
call costs, and on how many weights there are.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from taut import BCFW, ChainSVM, CuttingPlane, GraphSVM, Simplicial, Subgradient
from taut.datasets import make_digit_words, make_gaussian_potts

# %%
# Grids of two states seen through noise, whose oracle is a minimum cut, and seven weights. All
# solvers minimise the same objective and are judged by the same certificate, whose own oracle calls
# are counted. A short fit of each comes first, so that no time is spent on compiling.

grids, states = make_gaussian_potts(60, size=10, n_states=2, coupling=0.7)

solvers = {
    "simplicial, product": Simplicial(),
    "simplicial, one": Simplicial(simplexes="one"),
    "cutting planes, one slack": CuttingPlane(slacks="one"),
    "block Frank-Wolfe, gap, cache": BCFW(order="gap", cache=True, refresh=5),
    "subgradient (Pegasos)": Subgradient(check_every=5),
}
runs = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, solver in solvers.items():
        options = {"C": 0.1, "solver": solver, "attractive": True, "random_state": 0}
        GraphSVM(**options, max_passes=1).fit(grids[:5], states[:5])
        clf = GraphSVM(**options, tol=1e-5, max_passes=150, time_limit=1).fit(grids, states)
        runs[name] = run = clf.solution_
        reached = np.flatnonzero(run.history.gap <= 1e-3 * run.scale)
        calls = f"{run.history.oracle_calls[reached[0]] / len(grids):.0f}" if reached.size else "-"
        print(
            f"{name:30} relative gap {run.relative_gap:.0e}, calls per example to 1e-3: {calls:>3}"
        )

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for name, run in runs.items():
    gap = np.maximum(run.history.gap / run.scale, 1e-9)
    axes[0].loglog(run.history.oracle_calls / len(grids), gap, ".-", label=name)
    axes[1].loglog(np.maximum(run.history.seconds, 1e-3), gap, ".-")
axes[0].set(xlabel="oracle calls per example", ylabel="relative gap")
axes[1].set(xlabel="seconds")
axes[0].legend(fontsize=8)
for axis in axes:
    axis.grid(alpha=0.3)

# %%
# The optimum lies between dual and primal of every run, whichever solver it was.

highest, lowest = max(r.dual for r in runs.values()), min(r.primal for r in runs.values())
print(f"the optimum lies in [{highest:.5f}, {lowest:.5f}]")
for name, run in runs.items():
    print(f"{name:30} {run.dual:.5f} {run.primal:.5f}  {run.status.name}")

# %%
# What slack rescaling asks for
# -----------------------------
# Under margin rescaling the truth has to lead a labelling by its loss, here the number of wrong
# letters; under slack rescaling by one, whatever the loss. Each dot is a word of four digits and
# its strongest competitor among the labellings with so many wrong letters; those below the line
# have slack. Margin rescaling spends part of its weights on lifting what is all wrong.

words, digits = make_digit_words(200, lengths=(4, 4))
labellings = np.array(np.meshgrid(*[range(10)] * 4)).reshape(4, -1)  # all 10,000


def smallest_leads(clf, x, y):
    """Of the truth over the labellings with 1, 2, 3 and 4 wrong letters."""
    node = x @ clf.coef_.T + clf.intercept_
    score = sum(node[t, labellings[t]] for t in range(4))
    score += sum(clf.transitions_[labellings[t], labellings[t + 1]] for t in range(3))
    loss = (labellings != y[:, None]).sum(axis=0)
    return [score[loss == 0][0] - score[loss == wrong].max() for wrong in (1, 2, 3, 4)]


fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
places = np.arange(1, 5) + np.random.default_rng(0).uniform(-0.3, 0.3, size=(len(words), 1))
for axis, formulation in zip(axes, ("margin", "slack"), strict=True):
    clf = ChainSVM(C=0.1, formulation=formulation, random_state=0).fit(words, digits)
    print(f"{formulation}: {clf.solution_}")
    leads = [smallest_leads(clf, x, y) for x, y in zip(words, digits, strict=True)]
    axis.plot(places, leads, ".", ms=3, alpha=0.5, color="C0")
    wanted = [0.5, 4.5] if formulation == "margin" else [1, 1]
    axis.plot([0.5, 4.5], wanted, color="C3", label="what is asked for")
    axis.set(xlabel="wrong letters", xticks=range(1, 5), title=f'formulation="{formulation}"')
axes[0].set(ylabel="lead of the truth")
axes[0].legend()
plt.show()
