"""
Finding horses
==============

Which part of a photograph is the horse? The image is divided into superpixels, small regions of one
colour. Each says by its colour, texture and place what it looks like; neighbours that look alike
should get the same label. Two labels and edges that can only reward agreement: a minimum cut finds
the best labelling of each image exactly.

The photographs (Weizmann horses) are read from the folder that ``TAUT_DATA`` names, forty for
training and forty for testing. Without them, noisy discs stand in for horses.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import Graph, GraphSVM
from taut.datasets import Superpixels, horse_image, load_horses
from taut.plotting import plot_segmentation


def make_discs(n, seed, size=16, cell=6):
    """Images of one bright disc each; the superpixels are squares."""
    rng = np.random.default_rng(seed)
    row, column = np.indices((size, size))  # of superpixels
    numbers = np.arange(size * size, dtype=np.int32).reshape(size, size)
    edges = np.concatenate(
        [
            np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1),
            np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1),
        ]
    )
    data = Superpixels([], [], [], [], [], [], ["background", "disc"])
    images = []
    for i in range(n):
        centre, radius = rng.uniform(0.3 * size, 0.7 * size, 2), rng.uniform(0.15, 0.3) * size
        disc = np.hypot(row - centre[0], column - centre[1]) < radius
        light = np.clip(0.37 + 0.26 * disc + rng.normal(scale=0.15, size=disc.shape), 0, 1)
        alike = np.exp(-np.abs(light.ravel()[edges[:, 0]] - light.ravel()[edges[:, 1]]) / 0.2)
        features = 4 * light.reshape(-1, 1) - 2
        data.graphs.append((features, edges, np.stack([np.ones(len(edges)), alike], axis=1)))
        data.labels.append(disc.ravel() * 1)
        data.sizes.append(np.full(disc.size, cell * cell))
        data.maps.append(np.kron(numbers, np.ones((cell, cell), np.int32)))
        data.pixel_labels.append(np.kron(disc, np.ones((cell, cell))).astype(np.int8))
        data.image_ids.append(f"disc {i}")
        images.append(np.kron(light, np.ones((cell, cell))))
    return data, images


try:
    train, test = load_horses(subset="train", n_images=40), load_horses(subset="test", n_images=40)
    images = [horse_image(name) for name in test.image_ids[:6]]
    C = 0.003
except (FileNotFoundError, ImportError) as error:
    print(f"no horses: {error}")
    (train, _), (test, images) = make_discs(20, seed=0), make_discs(40, seed=1)
    C = 0.02

features, edges, edge_features = train.graphs[0]
print(f"first image: {len(features)} superpixels with {features.shape[1]} features,")
print(f"{len(edges)} edges with {edge_features.shape[1]} features")

# %%
# With the sizes of superpixels as weights the loss is the share of wrong pixels. A model without
# edges sees the same features.

graphs = [Graph(*graph, node_weights=size) for graph, size in zip(*train[:3:2], strict=True)]
lonely = [graph._replace(edges=[], edge_features=None) for graph in graphs]
options = {"C": C, "unary": "binary", "loss": "hamming", "tol": 0.02, "random_state": 0}

alone = GraphSVM(**options).fit(lonely, train.labels)
clf = GraphSVM(**options, attractive=True).fit(graphs, train.labels)
print("inference by", clf.inference_)
print(clf.solution_)

# %%
# How many pixels are right, and how well do predicted and true horses overlap?

labels = {
    "alone": alone.predict([(features, []) for features, _, _ in test.graphs]),
    "with edges": clf.predict(test.graphs),
}
truth = np.concatenate([pixels.ravel() for pixels in test.pixel_labels]) == 1
for name, predicted in labels.items():
    found = np.concatenate([y[m].ravel() for y, m in zip(predicted, test.maps, strict=True)]) == 1
    overlap = np.sum(found & truth) / np.sum(found | truth)
    print(f"{name:10} {np.mean(found == truth):.1%} of the pixels, overlap {overlap:.1%}")

# %%
# Six test images: superpixels alone, with edges, and the truth.

fig, axes = plt.subplots(3, 6, figsize=(11, 5.2), layout="constrained")
for row, name, predicted in zip(
    axes, (*labels, "truth"), (*labels.values(), test.labels), strict=True
):
    for axis, image, superpixels, y in zip(row, images, test.maps, predicted, strict=False):
        plot_segmentation(image, superpixels, y, ax=axis)
    row[0].set_title(name, loc="left", fontsize=10)

# %%
# What holds neighbours together: the price of a border between two superpixels if their labels
# differ. Where they look alike it is high (dark); the cut runs along the cheap ones.

_, edges, edge_features = test.graphs[0]
superpixels = test.maps[0]
price = np.zeros((superpixels.max() + 1,) * 2)
price[edges[:, 0], edges[:, 1]] = price[edges[:, 1], edges[:, 0]] = (
    edge_features @ clf.edge_coef_[:, 0]
)
borders = np.maximum(
    price[superpixels[:-1, :-1], superpixels[:-1, 1:]],
    price[superpixels[:-1, :-1], superpixels[1:, :-1]],
)
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
plot_segmentation(images[0], superpixels, labels["with edges"][0], axes[0], test.classes)
picture = axes[1].imshow(np.ma.masked_equal(borders, 0), cmap="viridis_r", vmin=0)
axes[1].set_axis_off()
fig.colorbar(picture, ax=axes[1], label="price of a border", shrink=0.8)
plt.show()
