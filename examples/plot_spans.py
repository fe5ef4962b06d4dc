"""
Valid spans, known labels, early stopping
=========================================

Tokens described by dicts, as for sklearn-crfsuite. Labels such as ``B-PER`` and ``I-PER`` have
rules; prediction can be held to them, and to labels that are known already. And held-out sentences
say when to stop.
"""

import matplotlib.pyplot as plt

from taut import BCFW, ChainSVM
from taut.datasets import make_appointments
from taut.metrics import span_f1, spans


def describe(sentence, t):
    word, part = sentence[t]
    token = {"word": word, "part": part, "suffix": [word[-2:], word[-3:]]}
    if t > 0:
        token["before"] = {"word": sentence[t - 1][0], "part": sentence[t - 1][1]}
    if t + 1 < len(sentence):
        token["after"] = {"word": sentence[t + 1][0], "part": sentence[t + 1][1]}
    return token


def tokens_of(sentences):
    return [[describe(sentence, t) for t in range(len(sentence))] for sentence in sentences]


sentences, tags = make_appointments(400)
test_sentences, test_tags = make_appointments(400, subset="test")
X, X_test = tokens_of(sentences), tokens_of(test_sentences)
print(X[1][3])

# %%
# With few sentences to learn from, a model breaks the rules now and then: an ``I-LOC`` that follows
# ``B-PER`` belongs to no span. ``scheme="IOB2"`` searches among the valid labellings only. The
# weights are the same; the predictions are always well-formed, and mostly a little better.

sizes = [10, 20, 40, 80]
broken, f1 = {None: [], "IOB2": []}, {None: [], "IOB2": []}
for n in sizes:
    for scheme in broken:
        clf = ChainSVM(C=0.1, scheme=scheme, tol=0.01, random_state=0).fit(X[:n], tags[:n])
        predicted = clf.predict(X_test)
        valid = set(spans(predicted, mode="strict", scheme="IOB2"))
        broken[scheme].append(len(set(spans(predicted)) - valid))
        f1[scheme].append(span_f1(test_tags, predicted, mode="strict", scheme="IOB2"))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for scheme, name in ((None, "unconstrained"), ("IOB2", "IOB2")):
    left.plot(sizes, broken[scheme], "o-", label=name)
    right.plot(sizes, f1[scheme], "o-", label=name)
left.set(xlabel="training sentences", ylabel="invalid spans in the test part")
right.set(xlabel="training sentences", ylabel="F1 of spans, read strictly")
right.legend()
for axis in (left, right):
    axis.grid(alpha=0.3)
plt.show()

# %%
# A label that is known, because a person said so, is forced; the rest is labelled to fit it. Here
# the model takes "May Rose" for a person until it is told otherwise.

sentence = [("May", "NAME"), ("Rose", "NAME"), ("waits", "VERB"), (".", "PUNCT")]
[x] = tokens_of([sentence])
clf = ChainSVM(C=0.1, scheme="IOB2", tol=0.01, random_state=0).fit(X, tags)
print(clf.predict_single(x))
print(clf.predict_single(x, forced=[None, "I-LOC", None, None]))

try:
    clf.predict_single(x, forced=["O", "I-LOC", None, None])
except ValueError as error:
    print(error)

# %%
# Held-out sentences give a score to every certificate. Training stops when five in a row brought no
# better one, long before the gap is small, and the weights with the best score are returned.

X_val, val_tags = make_appointments(200, subset="test", random_state=1)
X_val = tokens_of(X_val)
solver = BCFW(order="permuted", averaging=True, refresh=1)  # a certificate after every pass
clf = ChainSVM(C=1, solver=solver, scheme="IOB2", patience=5, random_state=0)
clf.fit(X, tags, X_val=X_val, y_val=val_tags)
print(clf.solution_)

history = clf.solution_.history[1:]  # the first row is that of zero weights
best = history.score.argmax()
fig, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axis.plot(history.passes, history.score, "o-", color="tab:green")
axis.axvline(history.passes[best], color="tab:green", ls=":", lw=1)
axis.set(xlabel="passes over the data")
axis.set_ylabel("labels right on held-out sentences", color="tab:green")
other = axis.twinx()
other.plot(history.passes, history.gap, "s-", color="tab:gray", ms=4)
other.set(yscale="log")
other.set_ylabel("gap of the best weights so far", color="tab:gray")
axis.grid(alpha=0.3)
plt.show()
