"""
Words of handwritten digits
===========================

The built-in data set: real images of digits, strung into words of a language in which each digit
has only three possible followers. Noise and half-covered images make single digits hard to read.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut.datasets import make_digit_words

X, y = make_digit_words(600)
print(f"{len(X)} words, {sum(map(len, y))} digits, {X[0].shape[1]} pixels each")

# %%
# Five words as the model sees them, with the truth above each image.

fig, axes = plt.subplots(5, 9, figsize=(7.2, 5), layout="constrained")
for row, images, digits in zip(axes, X, y, strict=False):
    for axis in row:
        axis.set_axis_off()
    for axis, image, digit in zip(row, images, digits, strict=False):
        axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(digit, fontsize=10)

# %%
# The language: how often one digit follows another. Seven of ten followers never occur, so the
# neighbours of an unreadable digit leave little doubt about it.

counts = np.zeros((10, 10), dtype=int)
for word in y:
    np.add.at(counts, (word[:-1], word[1:]), 1)

fig, axis = plt.subplots(figsize=(4.2, 4), layout="constrained")
image = axis.imshow(counts / counts.sum(axis=1, keepdims=True), cmap="Blues", vmin=0)
axis.set(xlabel="next digit", ylabel="digit", xticks=range(10), yticks=range(10))
fig.colorbar(image, label="share", shrink=0.8)
plt.show()
