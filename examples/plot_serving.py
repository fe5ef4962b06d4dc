"""
A model at work
===============

A trained chain is one file, and a ``taut.Tagger`` reads it: with NumPy alone, at once, in as many
threads as ask. Here it says how sure it is of each word of a sentence that can be read in two ways.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

import taut
from taut.datasets import make_appointments

sentences, tags = make_appointments(300)
crf = taut.ChainCRF(template="chunking", scheme="IOB2", random_state=0).fit(sentences, tags)

with TemporaryDirectory() as folder:
    path = Path(folder, "appointments.taut")
    crf.save(path)
    print(f"{path.stat().st_size / 1000:.0f} kB")
    start = time.process_time()
    tagger = taut.Tagger(path)
    print(f"{tagger}, loaded in {1000 * (time.process_time() - start):.0f} ms")

# %%
# August is a person's name in some sentences of training and a month in others.

words = ["We", "all", "look", "forward", "to", "August", "."]
parts = ["PRON", "DET", "VERB", "ADV", "PREP", "NAME", "PUNCT"]
sentence = list(zip(words, parts, strict=True))
for labels, probability in tagger.nbest(sentence, 3):
    print(f"{probability:.3f}", *labels)

fig, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
image = axis.imshow(tagger.marginals(sentence).T, vmin=0, vmax=1, cmap="Blues", aspect="auto")
axis.set_xticks(range(len(words)), words)
axis.set_yticks(range(len(tagger.labels)), tagger.labels)
fig.colorbar(image, label="probability")

# %%
# Four threads ask the same tagger; the answers are those of ``predict``.

questions, _ = make_appointments(300, subset="test")
with ThreadPoolExecutor(4) as pool:
    answers = list(pool.map(tagger.tag, questions))
print(answers == crf.predict(questions), answers == tagger.tag_many(questions))
