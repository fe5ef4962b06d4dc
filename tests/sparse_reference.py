"""Chains whose steps have few weights, or attributes, by their definition in plain NumPy.

With the pairs s of labels that follow each other somewhere in the true labels, and the attributes a
of the step that leads to node t, with values x_ta, the last groups of the feature map are

    [ sum_t 1[(y_t-1, y_t) = s] | x_ta 1[(y_t-1, y_t) = s] summed over t, where s was seen with a ]

The image of a labelling is node indicators (T, K) and pair indicators: (T - 1, pairs), or without
attributes their sum, (1, pairs).
"""

from dataclasses import dataclass, field, fields
from itertools import pairwise

import numpy as np
from scipy import sparse
from taut_reference import Reference, chain_pair

from taut.structures import chain_problem
from taut.structures.sparse_chain import SparseChain
from taut.structures.sparse_steps import new_steps


@dataclass
class SparseReference(Reference):
    number: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), int))  # (K, K), -1 if none
    attributes: list[np.ndarray] | None = None  # per example (T, A)
    seen: list[tuple[int, int]] = field(default_factory=list)  # (attribute, pair) of each weight

    @property
    def n_pairs(self):
        return self.number.max(initial=-1) + 1

    def image(self, i, y):
        node = np.eye(self.K)[y]
        step = np.zeros((len(y) - 1, self.n_pairs))
        for t in range(len(y) - 1):
            if self.number[y[t], y[t + 1]] >= 0:
                step[t, self.number[y[t], y[t + 1]]] = 1.0
        return node, step if self.attributes is not None else step.sum(0, keepdims=True)

    def features_of(self, i, image):
        node, step = image
        phi = np.zeros(self.dim)
        kept = self.place >= 0
        phi[self.place[kept]] = (self.X[i].T @ node)[kept]
        rest = [node.sum(0)] * self.bias + [node[0], node[-1]] * self.boundary + [step.sum(0)]
        if self.attributes is not None:
            values = self.attributes[i][1:].T @ step
            rest.append(np.array([values[a, s] for a, s in self.seen]))
        rest = np.concatenate(rest)
        phi[self.dim - rest.size :] = rest
        return phi

    def joined(self, images):
        at, head, pool = 4 + 4 * len(images), [], []
        for image in images:
            keys, size = np.arange(len(image), dtype=np.int32), len(image)
            head += [at, size, size, size]
            padded = np.append(keys, np.zeros(size % 2, np.int32))
            pool += [image, padded.view(np.float64)]
            at += size + len(padded) // 2
        whole = np.array([len(images), at, at, max(map(len, images)), *head])
        return np.concatenate([whole.view(np.float64), *pool])

    def images(self, mu):
        """The blocks of the dual: each is a list of places of its image, and of values."""
        whole = mu.view(np.int64)
        assert whole[0] == self.n
        for i in range(self.n):
            start, size, room, _ = whole[4 + 4 * i : 8 + 4 * i]
            keys = mu.view(np.int32)[2 * (start + room) :][:size]
            assert len(set(keys.tolist())) == size
            node, step = self.image(i, self.Y[i])
            image = np.zeros(node.size + step.size)
            image[keys] = mu[start : start + size]
            yield image[: node.size].reshape(node.shape), image[node.size :].reshape(step.shape)


def sparse_pair(lengths, K, *, only_seen=True, n_attributes=0, kind="dense", seed=0, **options):
    """A random problem and its reference; options are those of ``chain_pair``."""
    dense, base = chain_pair(lengths, K, kind=kind, seed=seed, **options)
    rng = np.random.default_rng(seed)
    rows, truth, ends = np.concatenate(base.X), np.concatenate(base.Y), np.cumsum(lengths)[:-1]
    values = rng.integers(-2, 3, (len(rows), n_attributes)) * 0.5
    values[rng.random(values.shape) < 0.4] = 0.0
    problem = chain_problem(
        rows if kind == "dense" else sparse.csr_array(rows), lengths, truth, K, cost=base.cost,
        normalize=base.normalize, bias=base.bias, boundary=base.boundary,
        observed=kind == "observed", importance=base.importance, allowed=base.allowed,
        forced=None if base.forced is None else np.concatenate(base.forced),
        only_seen_steps=only_seen,
        step_attributes=sparse.csr_array(values) if n_attributes else None,
    )  # fmt: skip
    if not only_seen and not n_attributes:  # such a chain is left to tables, unless one insists
        problem = SparseChain(*dense)._replace(steps=new_steps(np.arange(K * K), K))
    attributes = np.split(values, ends) if n_attributes else None
    number, seen = weights_of_steps(base.Y, attributes, K, only_seen)
    reference = SparseReference(
        **{each.name: getattr(base, each.name) for each in fields(Reference)},
        number=number, attributes=attributes, seen=seen,
    )  # fmt: skip
    reference.dim += int(reference.n_pairs) + len(seen) - K * K
    return problem, reference


def weights_of_steps(Y, attributes, K, only_seen):
    """The number of every pair, and (attribute, pair) of all weights that attributes have."""
    followed = {(a, b) for y in Y for a, b in pairwise(y)}
    number = np.full((K, K), -1)
    for a in range(K):
        for b in range(K):
            if (a, b) in followed or not only_seen:
                number[a, b] = number.max() + 1
    seen = set()
    for y, values in zip(Y, attributes or [], strict=False):
        for t in range(1, len(y)):
            seen |= {(int(a), int(number[y[t - 1], y[t]])) for a in np.flatnonzero(values[t])}
    return number, sorted(seen)


def sparse_pairs():
    """One problem of every kind, small enough to enumerate."""
    return {
        "sparse steps": sparse_pair([3, 1, 2, 3], 3, seed=2),
        "weighted sparse steps": sparse_pair(
            [2, 4, 3, 1], 3, kind="observed", n_features=5, weighted=True, normalize=False, seed=3
        ),
        "step attributes": sparse_pair([3, 2, 1, 4], 3, n_attributes=3, kind="sparse", seed=4),
        "step attributes of all pairs": sparse_pair(
            [3, 1, 4], 3, only_seen=False, n_attributes=2, seed=5
        ),
        "constrained sparse steps": sparse_pair([3, 2, 4, 1], 4, constrained=True, seed=39),
        "constrained step attributes": sparse_pair(
            [3, 4, 2], 3, n_attributes=2, kind="observed", n_features=5, constrained=True, seed=18
        ),
    }
