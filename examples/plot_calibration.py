"""
Can one believe the probabilities?
==================================

A conditional random field says how sure it is. That is worth something if it is right about as
often as it says: of all the labels it gives 80 %, about 80 % should be true. A *reliability
diagram* looks whether they are. Here the labels are handwritten digits, spoiled by noise and in
part covered, in words of a language in which every digit has three possible followers.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import ChainCRF, ChainCRFCV
from taut.datasets import make_digit_words

X, y = make_digit_words(300)
X_test, y_test = make_digit_words(1000, images="test")
truth = np.concatenate(y_test)


def per_digit(model, X, y):
    """How probable the true labels are: the mean of their log-likelihood."""
    return model.log_likelihood(X, y).sum() / sum(map(len, y))


# %%
# One model whose ``C`` was chosen by the likelihood of held-out words, one that keeps its weights
# much smaller, and one that fits its training words as closely as it can.

chosen = ChainCRFCV(cv=3, n_lambdas=10, scoring=per_digit, random_state=0).fit(X, y)
models = {
    "C too small": ChainCRF(C=chosen.C_ / 30, random_state=0).fit(X, y),
    "C by cross-validation": chosen,
    "C too large": ChainCRF(C=chosen.C_ * 300, random_state=0).fit(X, y),
}
marginals = {name: np.concatenate(model.predict_proba(X_test)) for name, model in models.items()}
for name, model in models.items():
    print(
        f"{name:22} (C = {model.solution_.C:6.2f}): {model.score(X_test, y_test):.3f} of the "
        f"digits, log-likelihood {per_digit(model, X_test, y_test):.3f}"
    )

# %%
# All probabilities of all ten digits at all positions of new words are sorted into bins. In each
# bin the mean of the probabilities is compared with how often the label was the true one. What
# they differ by on average, each bin counted by its size, is the *expected calibration error*; it
# is computed from the most probable digits alone, since nearly all others are next to zero.


def reliability(probability, is_true, edges):
    """Mean probability, share of true labels and number in each bin that is not empty."""
    number = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, len(edges) - 2)
    count = np.bincount(number, minlength=len(edges) - 1)
    said = np.bincount(number, probability, minlength=len(count))
    found = np.bincount(number, is_true, minlength=len(count))
    filled = count > 0
    return said[filled] / count[filled], found[filled] / count[filled], count


def calibration_error(rows, edges):
    said, found, count = reliability(rows.max(axis=1), rows.argmax(axis=1) == truth, edges)
    return np.average(np.abs(said - found), weights=count[count > 0])


edges = np.linspace(0, 1, 11)
middles = (edges[:-1] + edges[1:]) / 2
is_true = np.arange(10) == truth[:, None]
fig, axes = plt.subplots(
    2, 3, figsize=(10, 5.2), height_ratios=[3, 1], sharex=True, sharey="row", layout="constrained"
)
for (name, rows), (above, below) in zip(marginals.items(), axes.T, strict=True):
    said, found, count = reliability(rows.ravel(), is_true.ravel(), edges)
    above.plot([0, 1], [0, 1], color="gray", lw=1, ls="--")
    above.plot(said, found, "o-", color="tab:blue")
    above.set_title(f"{name}\ncalibration error {calibration_error(rows, edges):.3f}", fontsize=10)
    below.bar(middles, count, width=0.09, color="tab:gray", log=True)
    below.set_xlabel("probability that the model gives")
axes[0, 0].set_ylabel("share that is true")
axes[1, 0].set_ylabel("labels")
plt.show()

# %%
# On the left the model is right more often than it dares to say. On the right it is too sure: much
# of what it gives 80 % is not true, and some of what it nearly excludes is. In the middle one can
# take its word for it. The share of digits that are right hardly tells the first two apart.

for name, rows in marginals.items():
    right = rows.argmax(axis=1) == truth
    print(f"{name:22} says {rows.max(axis=1).mean():.3f}, and {right.mean():.3f} are right")

# %%
# One word that is hard to read. Rows of the picture are digits, columns positions; a frame marks
# the truth. The list says what the word could be as a whole. That is not what one gets by combining
# the most probable digits: the language knows which of them follow each other.

singly = [rows.argmax(axis=1) for rows in chosen.predict_proba(X_test)]
hard = [i for i, digits in enumerate(chosen.predict(X_test)) if (digits != singly[i]).any()]
shown = max(hard, key=lambda i: len(X_test[i]))
word, digits = X_test[shown], y_test[shown]
posterior = chosen.predict_proba([word])[0]

fig, axes = plt.subplots(
    2, 1, figsize=(0.9 * len(word) + 1.5, 6), height_ratios=[1, 5], layout="constrained"
)
axes[0].imshow(np.hstack(word.reshape(-1, 8, 8)), cmap="gray_r")
axes[0].axis("off")
image = axes[1].imshow(posterior.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for t, digit in enumerate(digits):
    axes[1].add_patch(plt.Rectangle((t - 0.5, digit - 0.5), 1, 1, fill=False, ec="tab:red", lw=2))
    for k in np.flatnonzero(posterior[t] > 0.05):
        color = "white" if posterior[t, k] > 0.5 else "black"
        axes[1].text(t, k, f"{posterior[t, k]:.2f}", ha="center", va="center", color=color)
axes[1].set(xticks=range(len(word)), yticks=range(10), xlabel="position", ylabel="digit")
plt.colorbar(image, ax=axes[1], label="probability")

print("truth      ", *digits)
print("one by one ", *singly[shown])
for labels, probability in chosen.predict_nbest([word], 5)[0]:
    print(f"{probability:.3f}      ", *labels)
plt.show()
