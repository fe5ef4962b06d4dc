"""
A path of C with warm starts
============================

The best ``C`` is found by trying several. Fits of neighbouring values resemble each other, so
each one starts from the last: the dual point of the smaller ``C`` is feasible for the larger one,
and the certificate is worth as much as that of a cold start.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import BCFW, ChainSVM
from taut.datasets import make_digit_words

X, y = make_digit_words(400)
X_test, y_test = make_digit_words(400, images="test")
values = np.geomspace(0.003, 3, 13)


def path(warm_start):
    clf = ChainSVM(
        tol=1e-3,
        solver=BCFW(direction="corrective", refresh=2),  # stop soon after the gap is small enough
        warm_start=warm_start,
        random_state=0,
    )
    calls, train, test = [], [], []
    for C in values:
        clf.set_params(C=float(C)).fit(X, y)
        calls.append(clf.solution_.oracle_calls / len(X))
        train.append(clf.score(X, y))
        test.append(clf.score(X_test, y_test))
    return np.array(calls), np.array(train), np.array(test)


cold, train, test = path(warm_start=False)
warm, _, _ = path(warm_start=True)
print(f"oracle passes along the path: {cold.sum():.0f} cold, {warm.sum():.0f} warm")
print(f"best C: {values[test.argmax()]:.2g} with a test accuracy of {test.max():.3f}")

# %%
# Each point of either curve is within a relative gap of 0.001 of its optimum. That makes
# the right panel a statement about ``C`` and not about where a solver happened to stop.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(values, cold, "o-", label="cold")
left.plot(values, warm, "o-", label="warm")
left.set(xscale="log", xlabel="C", ylabel="oracle passes", ylim=(0, None))
left.legend()
right.plot(values, train, "o-", color="tab:gray", label="training words")
right.plot(values, test, "o-", color="tab:green", label="test words")
right.axvline(values[test.argmax()], color="tab:green", ls=":", lw=1)
right.set(xscale="log", xlabel="C", ylabel="digits read correctly")
right.legend()
for axis in (left, right):
    axis.grid(alpha=0.3)
plt.show()
