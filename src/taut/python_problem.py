"""A user's own model in plain Python, seen by the same solvers as the built-in ones.

A model is any object with four methods:

    joint_feature(x, y)   phi(x, y): a 1-d array, or a scipy sparse vector, always of one length
    loss(y, y_hat)        the cost of answering y_hat where y is right; 0 for y itself
    oracle(w, x, y)       argmax over y_hat of loss(y, y_hat) + <w, joint_feature(x, y_hat)>
    predict(w, x)         argmax over y_hat of <w, joint_feature(x, y_hat)>

Labels may be any objects. A solver knows them by *tokens*: labelling ``[k]`` of example i is the
k-th label this problem remembers for i, the truth being 0. A label is forgotten, and its token used
again, when the solver holds no reference to it.

The dual block of an example is (psi, loss), averaged over mu_i, with psi = phi(truth) - phi(label):
what the objective can see of it.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from taut._compile import compiled
from taut.accumulator import DENSE, Accumulator, new_accumulator, push
from taut.structures.features import add_scaled, dot

METHODS = ("joint_feature", "loss", "oracle", "predict")


class Vector:
    """A feature vector: dense, or sorted indices with values."""

    __slots__ = ("indices", "values")

    def __init__(self, values: np.ndarray, indices: np.ndarray | None = None):
        self.values, self.indices = values, indices

    def dot(self, w: np.ndarray) -> float:
        if self.indices is None:
            return dot(self.values, w)
        return sparse_dot(self.indices, self.values, w)

    def add_to(self, delta: Accumulator, amount: float) -> None:
        if self.indices is None:
            delta.count[0] = DENSE
            add_scaled(self.values, amount, delta.value)
        else:
            push_all(delta, self.indices, self.values, amount)

    def scale(self, factor: float) -> None:
        self.values *= factor

    def add(self, other: "Vector", amount: float) -> None:
        """self += amount * other."""
        if self.indices is None or other.indices is None:
            add_scaled(other.values, amount, self.values)
            return
        at = np.searchsorted(self.indices, other.indices)
        at[at == self.indices.size] = 0
        if not self.indices.size or not np.array_equal(self.indices[at], other.indices):
            union = np.union1d(self.indices, other.indices)
            values = np.zeros(union.size)
            values[np.searchsorted(union, self.indices)] = self.values
            self.indices, self.values = union, values
            at = np.searchsorted(union, other.indices)
        self.values[at] += amount * other.values


@compiled
def sparse_dot(indices, values, w):
    total = 0.0
    for j in range(indices.size):
        total += values[j] * w[indices[j]]
    return total


@compiled
def push_all(delta, indices, values, amount):
    for j in range(indices.size):
        if values[j] != 0.0:
            push(delta, indices[j], amount * values[j])


class Label:
    """What is remembered of one label of one example."""

    __slots__ = ("key", "label", "loss", "psi", "references")

    def __init__(self, label: Any, key: Any, psi: Vector | None, loss: float):
        self.label, self.key, self.psi, self.loss = label, key, psi, loss
        self.references = 1


class Change:
    """A prepared change of one dual block: keep * block + sum of amount * corner."""

    __slots__ = ("keep", "terms")


class Dual:
    """(psi, loss) of every block."""

    def __init__(self, psi: list[Vector], loss: np.ndarray):
        self.psi, self.loss = psi, loss


class PythonProblem:
    """``n`` examples of a model written in plain Python; give it to :func:`taut.solve`.

    >>> class Nearest:  # one weight: answer 1 if w * x is positive
    ...     def joint_feature(self, x, y): return np.array([x * y])
    ...     def loss(self, y, y_hat): return float(y != y_hat)
    ...     def predict(self, w, x): return max((-1, 1), key=lambda y: w[0] * x * y)
    ...     def oracle(self, w, x, y):
    ...         return max((-1, 1), key=lambda z: (y != z) + w[0] * x * z)
    >>> problem = PythonProblem(Nearest(), [2.0, -1.0], [1, -1])
    >>> from taut import solve
    >>> solve(problem, tol=1e-6).w.round(3)
    array([0.5])
    """

    is_compiled = False
    longest = 1

    def __init__(
        self, model: Any, X: Sequence, Y: Sequence, sample_weight: np.ndarray | None = None
    ):
        missing = [name for name in METHODS if not callable(getattr(model, name, None))]
        if missing:
            raise TypeError(
                f"the model {type(model).__name__} has no method {missing[0]}; "
                f"a model needs {', '.join(METHODS)}"
            )
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
        if len(X) == 0:
            raise ValueError("there are no examples")
        self.model, self.X, self.Y = model, X, Y
        self.n = len(X)
        self.importance = np.ones(self.n) if sample_weight is None else np.asarray(sample_weight)
        self._truth = [self._features(i, Y[i]) for i in range(self.n)]
        self.dim = self._dim
        self._known: list[list[Label | None]] = []
        self._tokens: list[dict[Any, int]] = []
        for y in Y:
            truth = Label(y, label_key(y), None, 0.0)
            self._known.append([truth])
            self._tokens.append({truth.key: 0})

    def _features(self, i: int, y: Any) -> Vector:
        phi = self.model.joint_feature(self.X[i], y)
        if sparse.issparse(phi):
            if phi.ndim == 2 and 1 not in phi.shape:
                raise ValueError(f"{self._place(i)} returned a matrix of shape {phi.shape}")
            phi = phi.reshape(1, -1).tocoo() if phi.ndim == 2 else phi.tocoo()
            size = phi.shape[-1]
            indices, inverse = np.unique(phi.coords[-1], return_inverse=True)
            values = np.bincount(inverse, phi.data, minlength=indices.size).astype(np.float64)
            vector = Vector(values, indices.astype(np.int64))
        else:
            values = np.array(phi, np.float64)
            if values.ndim != 1:
                raise ValueError(
                    f"{self._place(i)} returned an array of shape {values.shape}; "
                    "a feature vector is 1-dimensional"
                )
            size = values.size
            vector = Vector(values)
        if not hasattr(self, "_dim"):
            self._dim, self._sparse = size, vector.indices is not None
        if size != self._dim:
            raise ValueError(
                f"{self._place(i)} returned {size} features, others have {self._dim}; "
                "all feature vectors must have one length"
            )
        if (vector.indices is not None) != self._sparse:
            raise ValueError(f"{self._place(i)} mixes dense and sparse feature vectors")
        if not np.all(np.isfinite(vector.values)):
            raise ValueError(f"{self._place(i)} returned a feature that is not finite")
        return vector

    def _place(self, i: int) -> str:
        return f"joint_feature of example {i}"

    def _remember(self, i: int, label: Any) -> int:
        """The token of a label, with one reference more."""
        key = label_key(label)
        token = self._tokens[i].get(key)
        known = self._known[i]
        if token is not None:
            entry = known[token]
            assert entry is not None
            entry.references += 1
            return token
        psi = self._features(i, label)
        psi.scale(-1.0)
        psi.add(self._truth[i], 1.0)
        loss = float(self.model.loss(self.Y[i], label))
        if not loss >= 0:
            raise ValueError(f"loss of example {i} is {loss}; a loss is finite and not negative")
        entry = Label(label, key, psi, loss)
        token = known.index(None) if None in known else len(known)
        if token == len(known):
            known.append(entry)
        else:
            known[token] = entry
        self._tokens[i][key] = token
        return token

    def recall(self, earlier: "PythonProblem") -> None:
        """Take over the labels an earlier problem of the same examples remembers."""
        if [known[0].key for known in earlier._known] != [known[0].key for known in self._known]:
            raise ValueError("warm_start: the labels differ from those of the last fit")
        self._known, self._tokens = earlier._known, earlier._tokens

    def label(self, i: int, token: int) -> Any:
        entry = self._known[i][token]
        assert entry is not None
        return entry.label

    # --- what a solver calls; see taut.problem for the contracts -------------------------------

    def length(self, i):
        return 1

    def weight(self, i):
        return self.importance[i]

    def true_label(self, i, y):
        y[0] = 0

    def scores(self, w, i, work):
        pass

    def add_loss(self, i, work):
        pass  # the user's oracle adds it

    def argmax(self, w, i, work, y):
        frozen = w.view()
        frozen.flags.writeable = False
        token = self._remember(i, self.model.oracle(frozen, self.X[i], self.Y[i]))
        y[0] = token
        if token == 0:
            return 0.0
        entry = self._known[i][token]
        score = entry.psi.dot(w)
        value = entry.loss - score
        if not value >= -1e-9 * (1.0 + abs(score) + entry.loss):
            raise ValueError(
                f"example {i}: oracle returned a value below the true label's "
                f"({value:.6g} < 0); it is not maximising loss + <w, joint_feature>. "
                "check_problem() says more"
            )
        return value

    def label_value(self, w, i, work, y):
        return self._known[i][y[0]].loss - self.margin(w, i, y, work)

    def block_value(self, w, i, work, mu):
        return mu.loss[i] - mu.psi[i].dot(w)

    def label_loss(self, i, y):
        return self._known[i][y[0]].loss

    def begin_change(self, i, mu, keep, work):
        work.keep = keep, mu.psi[i], mu.loss[i]
        work.terms = []

    def add_corner(self, i, y, amount, work):
        if y[0] != 0:
            entry = self._known[i][y[0]]
            work.terms.append((amount, entry.psi, entry.loss))

    def project(self, i, work, amount, delta):
        keep, psi, _ = work.keep
        if keep != 0.0:
            psi.add_to(delta, -amount * keep)
        for part, psi, _ in work.terms:
            psi.add_to(delta, -amount * part)

    def advance(self, i, mu, step, work):
        keep, psi, loss = work.keep
        if keep != 0.0:
            psi.scale(1.0 + step * keep)
            loss *= 1.0 + step * keep
        for part, other, other_loss in work.terms:
            psi.add(other, step * part)
            loss += step * part * other_loss
        mu.loss[i] = loss

    def begin_margins(self, i, work):
        pass

    def margin(self, w, i, y, work):
        return 0.0 if y[0] == 0 else self._known[i][y[0]].psi.dot(w)

    def shift(self, i, y, amount, scale, mu, delta):
        if y[0] != 0:
            entry = self._known[i][y[0]]
            mu.psi[i].add(entry.psi, amount)
            mu.loss[i] += amount * entry.loss
            entry.psi.add_to(delta, scale * amount)

    def forget(self, i, y):
        token = int(y[0])
        entry = self._known[i][token]
        entry.references -= 1
        if token != 0 and entry.references == 0:
            self._known[i][token] = None
            del self._tokens[i][entry.key]

    # --- what the Python side calls ------------------------------------------------------------

    def new_dual(self) -> Dual:
        if self._sparse:
            nothing = [Vector(np.zeros(0), np.zeros(0, np.int64)) for _ in range(self.n)]
        else:
            nothing = [Vector(np.zeros(self.dim)) for _ in range(self.n)]
        return Dual(nothing, np.zeros(self.n))

    def copy_dual(self, source: Any, target: Dual) -> None:
        if isinstance(source, np.ndarray):  # from a checkpoint
            pointer = np.searchsorted(source["block"], np.arange(self.n + 1))
            for i in range(self.n):
                part = source[pointer[i] : pointer[i + 1]]
                target.loss[i] = part["value"][0]
                if self._sparse:
                    target.psi[i] = Vector(part["value"][1:].copy(), part["index"][1:].copy())
                else:
                    target.psi[i].values[part["index"][1:]] = part["value"][1:]
            return
        for i, psi in enumerate(source.psi):
            indices = None if psi.indices is None else psi.indices.copy()
            target.psi[i] = Vector(psi.values.copy(), indices)
        target.loss[: len(source.loss)] = source.loss

    def dual_array(self, mu: Dual) -> np.ndarray:
        """The dual as rows (block, index, value); the first row of a block holds its loss."""
        parts = []
        for i, psi in enumerate(mu.psi):
            indices = np.flatnonzero(psi.values) if psi.indices is None else psi.indices
            values = psi.values[indices] if psi.indices is None else psi.values
            part = np.zeros(indices.size + 1, [("block", "i8"), ("index", "i8"), ("value", "f8")])
            part["block"], part["index"][0], part["value"][0] = i, -1, mu.loss[i]
            part["index"][1:], part["value"][1:] = indices, values
            parts.append(part)
        return np.concatenate(parts)

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(f"{self.n} {self.dim}".encode(), digest_size=16)
        for phi in self._truth:
            digest.update(phi.values.tobytes())
        return digest.hexdigest()

    def new_work(self) -> Change:
        return Change()

    def new_delta(self) -> Accumulator:
        return new_accumulator(self.dim, self.dim if self._sparse else 0)

    def worst_losses(self) -> np.ndarray:
        """The oracle's values at w = 0: one call per example."""
        w, y = np.zeros(self.dim), np.zeros(1, np.int32)
        losses = np.zeros(self.n)
        for i in range(self.n):
            losses[i] = self.argmax(w, i, None, y)
            self.forget(i, y)
        return losses


def label_key(label: Any) -> Any:
    """Something hashable that is equal for equal labels.

    >>> label_key(np.array([1, 2])) == label_key(np.array([1, 2]))
    True
    """
    if isinstance(label, np.ndarray):
        return label.shape, label.dtype.str, label.tobytes()
    if isinstance(label, list | tuple):
        return type(label).__name__, tuple(label_key(part) for part in label)
    if isinstance(label, dict):
        return "dict", tuple((key, label_key(value)) for key, value in label.items())
    if isinstance(label, set):
        return "set", frozenset(label)
    try:
        hash(label)
    except TypeError:
        raise TypeError(
            f"labels of type {type(label).__name__} cannot be compared; use hashable labels, "
            "arrays, or lists, tuples, sets and dicts of these"
        ) from None
    return label
