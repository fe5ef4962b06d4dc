"""
The certificate, and how solvers get to it
==========================================

Every run ends with a primal value, a dual value and their gap. The dual value is a proved lower
bound on the objective of *any* weights, so the gap says how much better the model could be at
most.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from taut import BCFW, ChainSVM
from taut.datasets import make_digit_words
from taut.plotting import plot_convergence

X, y = make_digit_words(300)
X_test, y_test = make_digit_words(300, images="test")

clf = ChainSVM(C=0.1, tol=1e-3, random_state=0).fit(X, y)
print(clf.solution_)

# %%
# The same optimum, four ways. A certificate after every pass (``refresh=1``) makes smooth curves
# and costs one more pass of the oracle each time; 150 passes are not enough for all of them. A
# short fit of each comes first, so that no time is spent on compiling in the one that is drawn.

solvers = {
    "toward": BCFW(direction="toward", refresh=1),
    "pairwise": BCFW(direction="pairwise", refresh=1),
    "pairwise, cache": BCFW(direction="pairwise", cache=True, refresh=1),
    "corrective": BCFW(direction="corrective", refresh=1),
}
runs = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, solver in solvers.items():
        ChainSVM(C=0.1, max_passes=2, solver=solver, random_state=0).fit(X[:30], y[:30])
        clf = ChainSVM(C=0.1, tol=1e-4, max_passes=150, solver=solver, random_state=0).fit(X, y)
        runs[name] = clf.solution_
        print(
            f"{name:16} relative gap {clf.solution_.relative_gap:.1e} after "
            f"{clf.solution_.oracle_calls / len(X):3.0f} oracle passes, "
            f"accuracy {clf.score(X_test, y_test):.3f}"
        )

plot_convergence(runs)

# %%
# The optimum lies between dual and primal of every run, so the solvers check each other: no dual
# value may exceed a primal one.

print(
    "intervals overlap:", max(r.dual for r in runs.values()) <= min(r.primal for r in runs.values())
)

fig, axis = plt.subplots(figsize=(7, 2.4), layout="constrained")
for row, run in enumerate(runs.values()):
    axis.plot([run.dual, run.primal], [row, row], "|-", lw=3, ms=14)
    axis.annotate(f"gap {run.gap:.1e}", (run.primal, row), (8, -3), textcoords="offset points")
axis.set(yticks=range(len(runs)), yticklabels=runs, xlabel="objective")
axis.margins(x=0.3, y=0.2)
axis.invert_yaxis()
plt.show()
