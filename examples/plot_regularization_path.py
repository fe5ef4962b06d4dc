"""
The whole regularisation path
=============================

Instead of training for a few values of ``C``, follow the solution through all of them. The result
is a piecewise linear function of 1/lambda (lambda = 1/(C n)): weights for every lambda, with a
proof that they are within ``eps`` of the optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import ChainSVM, ChainSVMCV, regularization_path
from taut.datasets import make_digit_words

X, y = make_digit_words(300)
X_val, y_val = make_digit_words(300, images="test")

# %%
# Words of handwritten digits, in a language in which every digit has three possible followers. The
# path is scored on other words while it is computed. Where it was solved there is a dot; in between
# a formula knows how far from the optimum the interpolated weights can be. In the last panel weak
# regularisation finds out which digits follow a 3.

svm = ChainSVM(random_state=0)
path = regularization_path(
    svm, X, y, eps=0.1, validate=(X_val, y_val), validate_at=np.geomspace(1000, 1e-3, 60)
)
print(path)

digit, n_digits = 3, 10
n_weights = len(path.weights(1.0))
first = n_weights - n_digits**2 + n_digits * digit  # the transitions are the last of the weights
path.plot(
    weights=range(first, first + n_digits),
    names=[f"{digit} then {follower}" for follower in range(n_digits)],
)

# %%
# Any lambda, or any ``C``, has weights, a certificate and a fitted estimator.

best = path.score_lambdas[path.scores.argmax()]
print(path.solution(best))
print(f"{path.estimator(best).score(X_val, y_val):.3f} of the held-out digits")

# %%
# Why the pieces are linear
# -------------------------
# Weights that stay as they are until the next breakpoint err in proportion to the distance from it,
# interpolated ones only with its square. So the number of breakpoints grows with 1/eps or with its
# root, and the oracle calls with the breakpoints.

accuracies = [0.3, 0.1, 0.03]
lengths, passes = {}, {}
for method in ("linear", "constant"):
    paths = [regularization_path(svm, X, y, eps=eps, method=method) for eps in accuracies]
    lengths[method] = [len(p) for p in paths]
    passes[method] = [p.oracle_calls / len(X) for p in paths]
    print(method, lengths[method])

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axis, counts, name in zip(
    axes, (lengths, passes), ("breakpoints", "oracle passes"), strict=True
):
    for method, values in counts.items():
        axis.loglog(accuracies, values, "o-", label=method)
        for eps, value in zip(accuracies, values, strict=True):
            axis.annotate(f"{value:.0f}", (eps, value), (0, 6), textcoords="offset points")
    axis.invert_xaxis()
    axis.set_xticks(accuracies, accuracies)
    axis.minorticks_off()
    axis.margins(0.15)
    axis.set(xlabel="eps", ylabel=name)
    axis.grid(alpha=0.3)
axes[0].legend()

# %%
# Choosing C
# ----------
# ``ChainSVMCV`` follows a path for every fold and scores each along the way. The bars are standard
# errors over the folds. The one-standard-error rule takes the strongest regularisation that is
# within one of them of the best.

clf = ChainSVMCV(cv=5, random_state=0).fit(X, y)
careful = ChainSVMCV(cv=5, one_standard_error=True, random_state=0).fit(X, y)
means = clf.scores_.mean(axis=1)
errors = clf.scores_.std(axis=1, ddof=1) / np.sqrt(clf.scores_.shape[1])

fig, axis = plt.subplots(figsize=(9, 3.8), layout="constrained")
axis.plot(clf.Cs_, clf.scores_, color="0.8", lw=0.8)
axis.errorbar(clf.Cs_, means, errors, fmt=".-", elinewidth=0.8, label="mean of five folds")
for chosen, name, color in ((clf, "best", "C3"), (careful, "one standard error", "C2")):
    accuracy = chosen.score(X_val, y_val)
    label = f"{name}: C = {chosen.C_:.2g}, {accuracy:.3f} on new words"
    axis.axvline(chosen.C_, color=color, ls=":", label=label)
    print(label)
axis.set(xscale="log", xlabel="C", ylabel="digits read correctly", ylim=(0.6, 1.0))
axis.legend(loc="lower right")
axis.grid(alpha=0.3)
plt.show()
