"""
A tagger from a template
========================

Who, where, on which day, at what time? The sentences are made up by a grammar, with names that can
be several things (May, Paris) and names in the test part that training never saw. A template turns
words and parts of speech into features; the model tells afterwards what it goes by.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import ChainSVM
from taut.datasets import make_appointments
from taut.metrics import span_f1, span_report
from taut.plotting import plot_confusion

sentences, tags = make_appointments(500)
test_sentences, test_tags = make_appointments(300, subset="test")
for sentence, labels in list(zip(sentences, tags, strict=True))[1:3]:
    print(" ".join(word for word, _ in sentence))
    print(" ".join(labels), end="\n\n")

# %%
# The more of its surroundings a token sees, the better it is understood.

templates = {
    "word": "w[0]",
    "+ shape": "w[0]; brief(w[0])",
    "+ neighbours": "w[-1..1]; brief(w[-1..1])",
    "+ two away": "w[-2..2]; brief(w[-1..1])",
    "+ part of speech": "w[-2..2]; brief(w[-1..1]); pos[-1..1]",
}
scores = {}
for name, template in templates.items():
    clf = ChainSVM(C=0.1, template=template, scheme="IOB2", tol=0.01, random_state=0)
    clf.fit(sentences, tags)
    scores[name] = span_f1(test_tags, clf.predict(test_sentences))

fig, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
bars = axis.barh(list(scores), [100 * f1 for f1 in scores.values()], color="tab:green")
axis.bar_label(bars, fmt="%.1f", padding=3)
axis.set(xlabel="F1 of spans with unseen names (%)", xlim=(0, 108))
axis.invert_yaxis()
plt.show()

# %%
# The strongest features of the last model: weights have names, so they can be read.

labels = ["B-PER", "B-LOC", "B-DATE", "B-TIME", "I-LOC", "O"]
fig, axes = plt.subplots(2, 3, figsize=(10, 4.6), layout="constrained")
for axis, label in zip(axes.flat, labels, strict=True):
    weights = {f: value for (f, k), value in clf.state_features_.items() if k == label}
    strongest = sorted(weights, key=weights.get, reverse=True)[:7]
    axis.barh(strongest, [weights[f] for f in strongest], color="tab:gray")
    axis.invert_yaxis()
    axis.set_title(label, fontsize=10)
    axis.tick_params(labelsize=8)
plt.show()

# %%
# How well are spans found? A span counts only if it is found from its first to its last word.

predicted = clf.predict(test_sentences)
print(span_report(test_tags, predicted))

# %%
# What is left are mostly sentences that do not tell: "We all look forward to August."

figure = plot_confusion(test_tags, predicted)
plt.show()

wrong = [i for i in range(len(predicted)) if predicted[i] != test_tags[i]]
for i in wrong[:3]:
    words = np.array([word for word, _ in test_sentences[i]])
    at = np.flatnonzero(np.array(predicted[i]) != np.array(test_tags[i]))
    print(" ".join(words), "|", *(f"{words[t]}: {predicted[i][t]}" for t in at))
