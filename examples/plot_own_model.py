"""
A model of your own: which digits are in the picture?
=====================================================

The output of a structured model can be anything with a score and a loss. Here it is a *set* of
digits: each input is the sum of the images of one to three different digits, and the model names
them all. Four methods in plain Python say everything.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from taut import PythonProblem, StructuredSVM, check_problem

pixels, digits = load_digits(return_X_y=True)


def pictures(n, images, seed):
    """Overlaid images of digits, and the sets of digits in them."""
    rng = np.random.default_rng(seed)
    sets = [frozenset(rng.choice(10, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    X = [
        sum(pixels[rng.choice(images[digits[images] == digit])] for digit in chosen) / 16
        for chosen in sets
    ]
    return [np.append(x, 1.0) for x in X], sets


half = np.random.default_rng(0).permutation(len(digits))
X, y = pictures(300, half[:900], seed=1)
X_test, y_test = pictures(300, half[900:], seed=2)

# %%
# The model. Each digit has a weight for every pixel, and each *pair* of digits a weight of its
# own, so the digits cannot be judged one by one. There are only 175 sets: the oracle tries them
# all.

PAIRS = {pair: 650 + k for k, pair in enumerate(combinations(range(10), 2))}
SETS = [frozenset(s) for size in (1, 2, 3) for s in combinations(range(10), size)]
MEMBER = np.array([[digit in s for digit in range(10)] for s in SETS], dtype=float)
PAIRED = np.array([[set(pair) <= s for pair in PAIRS] for s in SETS], dtype=float)


class DigitSets:
    def joint_feature(self, x, y):
        phi = np.zeros(695)
        for digit in y:
            phi[65 * digit : 65 * (digit + 1)] = x
        for pair in combinations(sorted(y), 2):
            phi[PAIRS[pair]] = 1
        return phi

    def loss(self, y, y_hat):
        return len(y ^ y_hat) / 3  # digits missed and digits invented

    def scores(self, w, x):
        return MEMBER @ (w[:650].reshape(10, 65) @ x) + PAIRED @ w[650:]

    def predict(self, w, x):
        return SETS[np.argmax(self.scores(w, x))]

    def oracle(self, w, x, y):
        truth = np.array([digit in y for digit in range(10)], dtype=float)
        return SETS[np.argmax(self.scores(w, x) + np.abs(MEMBER - truth).sum(axis=1) / 3)]


# %%
# ``check_problem`` tries the model on some examples and says in words what is wrong with it. Had
# the oracle counted only the digits missed, it would say so:

check_problem(PythonProblem(DigitSets(), X, y))  # silence is good


class Careless(DigitSets):
    def oracle(self, w, x, y):
        truth = np.array([digit in y for digit in range(10)], dtype=float)
        return SETS[np.argmax(self.scores(w, x) + np.maximum(truth - MEMBER, 0).sum(axis=1) / 3)]


try:
    check_problem(PythonProblem(Careless(), X, y), n_examples=2)
except ValueError as error:
    print(error)

# %%
# Training. The certificate is the same as for a built-in model.

svm = StructuredSVM(DigitSets(), C=0.03, tol=1e-2, solver="corrective", random_state=0).fit(X, y)
print(svm.solution_)
right = np.mean([s == t for s, t in zip(svm.predict(X_test), y_test, strict=True)])
print(f"{right:.0%} of the sets are read exactly; mean loss {1 - svm.score(X_test, y_test):.3f}")

# %%
# Some pictures with their truth, and what was read where that is different.

fig, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for axis, x, truth, answer in zip(
    axes.flat, X_test, y_test, svm.predict(X_test[:12]), strict=False
):
    axis.imshow(x[:64].reshape(8, 8), cmap="gray_r")
    axis.set_axis_off()
    title = " ".join(map(str, sorted(truth)))
    if answer != truth:
        title += f"\nread {' '.join(map(str, sorted(answer)))}"
    axis.set_title(title, fontsize=10, color="black" if answer == truth else "tab:red")
plt.show()
