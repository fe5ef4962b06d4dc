"""A user's own model in plain Python, seen by the same solvers as the built-in ones.

A model is any object with four methods:

    joint_feature(x, y)   phi(x, y): a 1-d array, or a scipy sparse vector, always of one length
    loss(y, y_hat)        the cost of answering y_hat where y is right; 0 for y itself
    oracle(w, x, y)       argmax over y_hat of loss(y, y_hat) + <w, joint_feature(x, y_hat)>
    predict(w, x)         argmax over y_hat of <w, joint_feature(x, y_hat)>

Under slack rescaling, ``formulation="slack"``, the loss multiplies. In place of ``oracle`` there is

    slack_oracle(w, x, y) argmax over y_hat of
                          loss(y, y_hat) * (1 + <w, joint_feature(x, y_hat) - joint_feature(x, y)>)

Labels may be any objects. A solver knows them by *tokens*: labelling ``[k]`` of example i is the
k-th label this problem remembers for i, the truth being 0. A label is forgotten, and its token used
again, when the solver holds no reference to it.

The dual block of an example is (psi, loss), averaged over mu_i, with psi = phi(truth) - phi(label):
what the objective can see of it. The value of a label is loss - <w, psi>, and under slack rescaling
too, with psi multiplied by the loss.
"""

import copy
import hashlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.arrays.accumulator import Accumulator, dense_accumulator, new_accumulator
from taut.arrays.vectors import Vector, as_vector
from taut.losses import checked_weights
from taut.problem.capability import Capability
from taut.problem.problem_type import problem_type

# The oracle of each formulation, and what it maximises.
ORACLES = {
    "margin": ("oracle", "loss + <w, joint_feature>"),
    "slack": ("slack_oracle", "loss * (1 + <w, joint_feature - that of y>)"),
}


class Label:
    """What is remembered of one label of one example."""

    __slots__ = ("key", "label", "loss", "psi", "references")

    def __init__(self, label: Any, key: Any, psi: Vector | None, loss: float):
        self.label, self.key, self.psi, self.loss = label, key, psi, loss
        self.references = 1


class Change:
    """A prepared change of one dual block: keep * block + sum of amount * corner."""

    __slots__ = ("keep", "loss", "psi", "terms")

    keep: float
    psi: Vector  # of the block
    loss: float
    terms: list[tuple[float, Vector, float]]  # amount, psi and loss of the corners


class Dual:
    """(psi, loss) of every block, and which labels the tokens of its run stand for."""

    def __init__(self, psi: list[Vector], loss: np.ndarray, known: list[list[Label | None]]):
        self.psi, self.loss, self.known = psi, loss, known


@problem_type
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

    capabilities = Capability.MAX_ORACLE
    is_compiled = False
    longest = 1
    formulation: str
    oracle_seconds = 0.0  # in the model's oracle, of all its calls

    def __init__(
        self,
        model: Any,
        X: Sequence,
        Y: Sequence,
        sample_weight: np.ndarray | None = None,
        *,
        formulation: str = "margin",
    ):
        if formulation not in ORACLES:
            raise ValueError(f'formulation={formulation!r}; expected "margin" or "slack"')
        self.formulation = formulation
        self.oracle_name, self.maximised = ORACLES[formulation]
        methods = "joint_feature", "loss", self.oracle_name, "predict"
        missing = [name for name in methods if not callable(getattr(model, name, None))]
        if missing:
            raise TypeError(
                f"the model {type(model).__name__} has no method {missing[0]}; under "
                f"formulation={formulation!r} a model needs {', '.join(methods)}, where "
                f"{self.oracle_name}(w, x, y) is the label that maximises {self.maximised}"
            )
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
        if len(X) == 0:
            raise ValueError("there are no examples")
        self.model, self.X, self.Y = model, X, Y
        self.n = len(X)
        weights = checked_weights(sample_weight, self.n)
        self.importance = np.ones(self.n) if weights is None else weights
        self._worst: np.ndarray | None = None
        first, self.dim = self._read(0, Y[0])
        self._sparse = first.indices is not None
        # Copies: a model may return the same buffer every time.
        self._truth = [self.features(i, Y[i]).copy() for i in range(self.n)]
        self._known: list[list[Label | None]] = []
        self._tokens: list[dict[Any, int]] = []
        for y in Y:
            truth = Label(y, label_key(y), None, 0.0)
            self._known.append([truth])
            self._tokens.append({truth.key: 0})

    def features(self, i: int, y: Any) -> Vector:
        """The model's features of label y for example i, checked."""
        vector, size = self._read(i, y)
        if size != self.dim:
            raise ValueError(
                f"joint_feature of example {i} returned {size} features, others have {self.dim}; "
                "all feature vectors must have one length"
            )
        if (vector.indices is not None) != self._sparse:
            raise ValueError(
                f"joint_feature of example {i} is {'dense' if self._sparse else 'sparse'}, others "
                "are not; return one kind"
            )
        if not vector.is_finite():
            raise ValueError(
                f"joint_feature of example {i} returned a feature that is NaN or infinite"
            )
        return vector

    def _read(self, i: int, y: Any) -> tuple[Vector, int]:
        try:
            return as_vector(self.model.joint_feature(self.X[i], y))
        except (TypeError, ValueError) as error:
            raise type(error)(f"joint_feature of example {i}: {error}") from error

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
        loss = float(self.model.loss(self.Y[i], label))
        if not 0.0 <= loss < np.inf:
            raise ValueError(f"loss of example {i} is {loss}; a loss is finite and not negative")
        factor = loss if self.formulation == "slack" else 1.0
        psi = self._truth[i].combined(factor, self.features(i, label), -factor)
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
        if earlier.formulation != self.formulation:
            raise ValueError(
                f"warm_start: the last fit had formulation={earlier.formulation!r}, this one has "
                f"{self.formulation!r}; start cold"
            )
        if [label_key(y) for y in earlier.Y] != [label_key(y) for y in self.Y]:
            raise ValueError("warm_start: the labels differ from those of the last fit")
        # Copies: what this run forgets, the earlier one still remembers.
        self._known = [[copy.copy(entry) for entry in known] for known in earlier._known]
        self._tokens = [dict(tokens) for tokens in earlier._tokens]

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

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
        oracle = getattr(self.model, self.oracle_name)
        began = time.perf_counter()
        label = oracle(frozen, self.X[i], self.Y[i])
        self.oracle_seconds += time.perf_counter() - began
        token = self._remember(i, label)
        y[0] = token
        if token == 0:
            return 0.0
        entry = self._known[i][token]
        score = entry.psi.dot(w)
        value = entry.loss - score
        if not value >= -1e-9 * (1.0 + abs(score) + entry.loss):
            raise ValueError(
                f"example {i}: {self.oracle_name} returned a value below the true label's; it is "
                f"not maximising {self.maximised} ({value:.6g} less than the true label). "
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
        work.keep, work.psi, work.loss = keep, mu.psi[i], mu.loss[i]
        work.terms = []

    def add_corner(self, i, y, amount, work):
        if y[0] != 0:
            entry = self._known[i][y[0]]
            work.terms.append((amount, entry.psi, entry.loss))

    def project(self, i, work, amount, delta):
        if work.keep != 0.0:
            work.psi.add_to(delta, -amount * work.keep)
        for part, psi, _ in work.terms:
            psi.add_to(delta, -amount * part)

    def advance(self, i, mu, step, work):
        psi, factor = work.psi, 1.0 + step * work.keep
        loss = factor * work.loss
        for part, corner, corner_loss in work.terms:
            psi = psi.combined(factor, corner, step * part)
            loss += step * part * corner_loss
            factor = 1.0
        if factor != 1.0:
            psi = psi.scaled(factor)
        mu.psi[i], mu.loss[i] = psi, loss

    def margin(self, w, i, y, work):
        return 0.0 if y[0] == 0 else self._known[i][y[0]].psi.dot(w)

    def shift(self, i, y, amount, scale, mu, delta, work):
        if y[0] != 0:
            entry = self._known[i][y[0]]
            mu.psi[i] = mu.psi[i].combined(1.0, entry.psi, amount)
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
            nothing = Vector(np.zeros(0), np.zeros(0, np.int64))
        else:
            nothing = Vector(np.zeros(self.dim))
        return Dual([nothing] * self.n, np.zeros(self.n), self._known)

    def copy_dual(self, source: Any, target: Dual) -> Dual:
        if isinstance(source, np.ndarray):  # from a checkpoint
            ends = np.searchsorted(source["block"], np.arange(self.n), "right")
            for i, part in enumerate(np.split(source, ends[:-1])):
                index = part["index"]
                sound = index.size and index[0] == -1 and np.all(index[1:] > index[:-1])
                if not sound or index[-1] >= self.dim or not np.all(np.isfinite(part["value"])):
                    raise ValueError(f"block {i} is not a dual block")
                target.loss[i] = part["value"][0]
                indices, values = part["index"][1:].copy(), part["value"][1:].copy()
                psi = Vector(values, indices)
                target.psi[i] = psi if self._sparse else Vector(psi.to_dense(self.dim))
            return target
        # Vectors are never modified, so sharing them is safe.
        target.psi[: len(source.psi)] = source.psi
        target.loss[: len(source.loss)] = source.loss
        return target

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

    def fingerprint(self, n: int | None = None) -> str:
        """A hash of the truth's features, the worst losses and the sample weights of n examples."""
        n = self.n if n is None else n
        kind = "" if self.formulation == "margin" else self.formulation
        digest = hashlib.blake2b(f"{n} {self.dim}{kind}".encode(), digest_size=16)
        digest.update(self.importance[:n].tobytes())
        digest.update(self.worst_losses()[:n].tobytes())
        for phi in self._truth[:n]:
            digest.update(phi.values.tobytes())
            if phi.indices is not None:
                digest.update(phi.indices.tobytes())
        return digest.hexdigest()

    def hold(self, i: int, y: np.ndarray, mu: Dual) -> None:
        """One more holder of a label: it is forgotten when all have forgotten it.

        ``y`` becomes its token here: the run it comes from may have been of another object.
        """
        if y[0] != 0:
            entry = mu.known[i][int(y[0])]
            assert entry is not None  # that run holds it
            y[0] = self._remember(i, entry.label)

    def new_work(self) -> Change:
        return Change()

    def new_delta(self) -> Accumulator:
        if self._sparse:
            return new_accumulator(self.dim, self.dim)
        return dense_accumulator(np.zeros(self.dim))

    def worst_losses(self) -> np.ndarray:
        """The oracle's values at w = 0: one call per example, once."""
        if self._worst is None:
            w, y = np.zeros(self.dim), np.zeros(1, np.int32)
            losses = np.zeros(self.n)
            for i in range(self.n):
                losses[i] = self.argmax(w, i, None, y)
                self.forget(i, y)
            self._worst = losses
        return self._worst


def label_key(label: Any) -> Any:
    """Something hashable that is equal for equal labels.

    >>> label_key(np.array([1, 2])) == label_key(np.array([1, 2]))
    True
    """
    try:
        hash(label)
    except TypeError:
        pass
    else:
        return label
    if isinstance(label, np.ndarray):
        if label.dtype == object:
            return "array", label.shape, label_key(label.ravel().tolist())
        return "array", label.shape, label.dtype.str, label.tobytes()
    if isinstance(label, list | tuple):
        return type(label).__name__, tuple(label_key(part) for part in label)
    if isinstance(label, dict):
        return "dict", frozenset((key, label_key(value)) for key, value in label.items())
    if isinstance(label, set):
        return "set", frozenset(label)
    raise TypeError(
        f"labels of type {type(label).__name__} cannot be compared; use hashable labels, "
        "arrays, or lists, tuples, sets and dicts of these"
    )
