"""
Poses of stick figures
======================

Fourteen detectors, one for each joint of a body, say how much every position of the image looks
like their joint. They are easily fooled: by the other side of the body, by clutter, by noise. A
tree of springs between the joints puts most of it right.
"""

import matplotlib.pyplot as plt
import numpy as np

from taut import PoseSVM
from taut.datasets import make_stick_figures
from taut.datasets.stick_figures import JOINTS, PARENTS
from taut.estimators.pose_svm import default_scale

train = make_stick_figures(100, size=48, random_state=0)
test = make_stick_figures(100, size=48, random_state=1)

# %%
# A figure, and what three of the detectors see of it; crosses are the true joints.

fig, axes = plt.subplots(1, 4, figsize=(9, 2.5), layout="constrained")
axes[0].imshow(test.images[0], cmap="gray_r")
axes[0].set_title("figure 0", fontsize=10)
for axis, name in zip(axes[1:], ("left knee", "right wrist", "head"), strict=True):
    part = JOINTS.index(name)
    axis.imshow(test.heat_maps[0][part], cmap="gray_r")
    axis.plot(*test.joints[0][part], "x", color="C3")
    axis.set_title(name, fontsize=10)
for axis in axes:
    axis.set_axis_off()

# %%
# Each part alone goes where its detector answers most. The tree weighs answers and springs.

alone = np.stack(
    [
        np.stack(np.unravel_index(maps.reshape(14, -1).argmax(axis=1), (48, 48))[::-1], axis=1)
        for maps in test.heat_maps
    ]
)
clf = PoseSVM(tree=PARENTS, tol=0.02, random_state=0).fit(train.heat_maps, train.joints)
print(clf.solution_)
tree = np.stack(clf.predict(test.heat_maps))


def found(poses):
    """Which joints are within a tenth of the figure's size of where they should be."""
    return np.linalg.norm(poses - test.joints, axis=2) <= default_scale(test.joints)[:, None]


print(f"joints found: {found(alone).mean():.0%} alone, {found(tree).mean():.0%} with the tree")

# %%
# Five test figures: above each part alone, below the pose of the tree. Joints that are not found
# are red.

fig, axes = plt.subplots(2, 5, figsize=(9, 3.9), layout="constrained")
for row, poses in zip(axes, (alone, tree), strict=True):
    for i, axis in enumerate(row):
        axis.imshow(test.images[i], cmap="gray_r", vmax=3)
        for joint, parent in enumerate(PARENTS):
            if parent >= 0:
                axis.plot(*poses[i, [joint, parent]].T, color="C0", linewidth=1)
        right = found(poses)[i]
        axis.plot(*poses[i, right].T, ".", color="C0")
        axis.plot(*poses[i, ~right].T, ".", color="C3")
        axis.set_axis_off()
axes[0, 0].set_title("alone", loc="left", fontsize=10)
axes[1, 0].set_title("tree", loc="left", fontsize=10)

# %%
# Who profits? All joints do; the ends of limbs move most and are the hardest to find.

fig, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
order = np.argsort(found(tree).mean(axis=0))
axis.barh(np.arange(14), found(tree).mean(axis=0)[order], color="C0", label="tree")
axis.barh(np.arange(14), found(alone).mean(axis=0)[order], color="0.7", height=0.5, label="alone")
axis.set_yticks(np.arange(14), [JOINTS[joint] for joint in order])
axis.set(xlabel="share of joints found", xlim=(0, 1))
axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
