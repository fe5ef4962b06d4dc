"""
Labels that go together
=======================

A piece of music can be both sad and calm, but hardly sad and angry. A model that knows which labels
go together answers with whole sets of labels instead of a list of independent guesses, and its
weights can be read: a matrix of who likes whom.

The music (*emotions*, from the Mulan collection) is read from the folder that ``TAUT_DATA`` names.
Without it, made-up scenes with five labels take its place.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from taut import MultilabelSVM
from taut.datasets import LabelSets, load_mulan
from taut.plotting import plot_pair_scores


def make_scenes(n, seed):
    """Only six combinations of five labels occur; what is seen of each label is noisy."""
    possible = ["11000", "01100", "11100", "00010", "00011", "00001"]
    rng = np.random.default_rng(seed)
    Y = np.array([list(map(int, row)) for row in possible])[rng.integers(6, size=n)]
    X = Y + rng.normal(scale=0.7, size=Y.shape)
    return LabelSets(X, Y, ["beach", "sea", "boat", "forest", "snow"], None)


try:
    train, test = load_mulan("emotions", subset="train"), load_mulan("emotions", subset="test")
except FileNotFoundError as error:
    print(f"no music: {error}")
    train, test = make_scenes(300, seed=0), make_scenes(1000, seed=1)
print(f"{len(train.X)} examples with {train.X.shape[1]} features for training")
for name, count in zip(train.label_names, train.Y.sum(axis=0), strict=True):
    print(f"{count:4} {name}")

# %%
# Three models: every label on its own, a tree of labels, all pairs. What is compared is the share
# of sets that are right as a whole, of single labels, and F1 (mean over examples).

models, scores = {}, {}
for edges in ("none", "tree", "full"):
    svm = MultilabelSVM(C=0.1, edges=edges, tol=0.01, random_state=0)
    models[edges] = make_pipeline(StandardScaler(), svm).fit(train.X, train.Y)
    predicted = models[edges].predict(test.X)
    scores[edges] = (
        np.mean((predicted == test.Y).all(axis=1)),
        np.mean(predicted == test.Y),
        f1_score(test.Y, predicted, average="samples", zero_division=0),
    )
    print(f"{edges:5} inference by {svm.inference_}, relative gap {svm.solution_.relative_gap:.1e}")

fig, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for k, (edges, values) in enumerate(scores.items()):
    bars = axis.bar(np.arange(3) + 0.27 * (k - 1), values, width=0.25, label=f"edges: {edges}")
    axis.bar_label(bars, fmt="%.2f", fontsize=8)
axis.set_xticks(range(3), ["whole sets right", "labels right", "F1"])
axis.set(ylim=(0, 1.05))
axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# How often labels occur together in the training data, and what the model made of it. Its scores
# say what two labels gain by going together *beyond* what the features tell already.

names = train.label_names
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
together = np.corrcoef(train.Y.T)
plot_pair_scores(together - np.diag(np.diag(together)), names, ax=axes[0])
axes[0].images[0].colorbar.set_label("correlation")
axes[0].set_title("correlation in the data", fontsize=10)
plot_pair_scores(models["full"][-1].pair_scores_, names, ax=axes[1])
axes[1].set_title("learned pair scores", fontsize=10)

# %%
# The tree joins each label to those that tell most about it.

for u, v in models["tree"][-1].edges_:
    score = models["tree"][-1].pair_scores_[u, v]
    print(f"{names[u]} {'with' if score > 0 else 'without'} {names[v]} ({score:+.2f})")

# %%
# Where they differ: sets of labels that independent answers got wrong and the pairs put right.

before, after = models["none"].predict(test.X), models["full"].predict(test.X)
mended = (before != test.Y).any(axis=1) & (after == test.Y).all(axis=1)


def named(row):
    return ", ".join(name for name, there in zip(names, row, strict=True) if there) or "nothing"


for i in np.flatnonzero(mended)[:5]:
    print(f"{named(before[i])}  ->  {named(after[i])}")
plt.show()
