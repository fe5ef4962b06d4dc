"""
Weights with bounds
===================

Knowledge about weights can be given as bounds: here, that ink at a pixel may only speak *for* a
digit, never against it. The line search stays exact, and the certificate is that of the bounded
problem.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import ChainSVM
from taut.datasets import make_digit_words

X, y = make_digit_words(400)
X_test, y_test = make_digit_words(400, images="test")

free = ChainSVM(C=0.1, tol=1e-2, random_state=0).fit(X, y)

# %%
# Bounds are one number for all weights or an array in the order of ``w_``: first come the 64 × 10
# pixel weights, then biases and transitions, which stay free.

lower = np.full(free.w_.size, -np.inf)
lower[: free.coef_.size] = 0.0
bounded = ChainSVM(C=0.1, tol=1e-2, random_state=0, bounds=(lower, np.inf)).fit(X, y)
for name, clf in (("free", free), ("bounded", bounded)):
    print(
        f"{name:8} objective {clf.solution_.primal:.4f} (gap {clf.solution_.gap:.1e}), "
        f"accuracy {clf.score(X_test, y_test):.3f}, "
        f"{np.mean(clf.coef_ == 0):.0%} of the pixel weights are 0"
    )

# %%
# Pixel weights of the ten digits, free above and bounded below: what remains looks like the
# digits.

fig, axes = plt.subplots(2, 10, figsize=(9, 2.3), layout="constrained")
largest = np.abs(free.coef_).max()
for row, clf in zip(axes, (free, bounded), strict=True):
    for axis, weights, digit in zip(row, clf.coef_, clf.classes_, strict=True):
        axis.imshow(weights.reshape(8, 8), cmap="RdBu_r", vmin=-largest, vmax=largest)
        axis.set(xticks=[], yticks=[])
        if clf is free:
            axis.set_title(digit, fontsize=10)
axes[0, 0].set_ylabel("free")
axes[1, 0].set_ylabel("bounded")
plt.show()
