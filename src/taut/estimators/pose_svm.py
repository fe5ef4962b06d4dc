"""Poses: where the parts of a body are, given what a detector of each part sees."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from taut.decode import decode
from taut.estimators._base import StructuredEstimator
from taut.losses import checked_weights
from taut.prepared import Prepared
from taut.solvers import Solution
from taut.structures.pose import Pose
from taut.structures.pose_arrays import SPRING
from taut.structures.pose_build import (
    Arrays,
    checked_joints,
    checked_tree,
    pose_problem,
    stacked_maps,
)

# A joint is found if it is within this share of the longer side of the true pose's bounding box.
FOUND_WITHIN = 0.1
# Displacements of wrong poses are then around 1, like the scores of a detector: on made-up figures
# and on LSP training then takes 15 passes instead of 80 (with 1), to the same scores.
FAR = 4.0


class PoseSVM(StructuredEstimator):
    """Parts on a grid, joined by springs to a tree, trained as a structured SVM.

    Any detector's scores go in, one heat map per part or several; positions come out. The score of
    a pose adds the weighted heat maps at its positions and the costs of springs, which pull every
    part toward where it rests relative to its parent; :mod:`taut.structures.pose` has the formula.
    Inference is exact and linear in the number of positions. The loss is the mean over parts of
    min(1, dist² / scale²).

    Parameters are those of :class:`taut.ChainSVM`, less what concerns sequences, and

    tree : sequence of int or None
        For each part the number of the part on which it hangs, -1 for the root. None: the tree
        over which displacements between parts vary least in the training data, hanging on part 0.
    n_types : int
        Springs per part. With more than one, the displacements of each part from its parent are
        clustered by k-means, and the model chooses among the clusters: an arm that is up or down.

    Attributes
    ----------
    tree_ : array (P,)
        The parents.
    anchors_ : list of arrays (n_types, 2)
        Where each type of a part rests relative to its parent, (x, y) in positions.
    springs_ : list of arrays (n_types, 4)
        Weights of dx, dx², dy and dy², displacements counted in units of ``unit_`` positions.
    part_weights_ : list of arrays (n_types, channels)
        Weights of the heat maps of each part.
    solution_ : Solution
        The certificate.

    Examples
    --------
    >>> from taut import PoseSVM
    >>> from taut.datasets import make_stick_figures
    >>> figures = make_stick_figures(20, size=32)
    >>> clf = PoseSVM(tol=0.1, random_state=0).fit(figures.heat_maps, figures.joints)
    >>> clf.predict(figures.heat_maps)[0].shape, clf.solution_.status.name
    ((14, 2), 'CONVERGED')
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        tree: Sequence[int] | None = None,
        n_types: int = 1,
        slack_penalty: str = "linear",
        solver: Any = "auto",
        averaging: bool = False,
        tol: float = 1e-2,
        max_passes: float = 1000,
        time_limit: float | None = None,
        cpu_limit: float | None = None,
        bounds: tuple | None = None,
        callback: Callable | None = None,
        warm_start: bool | str = False,
        checkpoint: Any = None,
        checkpoint_seconds: float = 60.0,
        resume: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ):
        self.C = C
        self.tree = tree
        self.n_types = n_types
        self.slack_penalty = slack_penalty
        self.solver = solver
        self.averaging = averaging
        self.tol = tol
        self.max_passes = max_passes
        self.time_limit = time_limit
        self.cpu_limit = cpu_limit
        self.bounds = bounds
        self.callback = callback
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Arrays,
        Y: Arrays,
        scale: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "PoseSVM":
        """Train on heat maps and true positions.

        Parameters
        ----------
        X : sequence of arrays (P, H, W) or (P, channels, H, W)
            Scores of the detectors of P parts; grids may differ in size. Kept in single precision.
        Y : sequence of arrays (P, 2)
            True positions, x (column) and y (row); rounded to the grid.
        scale : array (n,) or number, optional
            Distance at which a part counts as wholly wrong; by default a tenth of the longer side
            of the bounding box of the joints.
        sample_weight : array (n,), optional
        """
        return self._fit(self.prepare(X, Y, sample_weight, scale))

    def prepare(
        self,
        X: Arrays,
        y: Arrays,
        sample_weight: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ) -> Prepared:
        earlier = self._earlier()
        if not (isinstance(self.n_types, int | np.integer) and self.n_types >= 1):
            raise ValueError(f"n_types={self.n_types!r}; a number of springs, at least 1")
        weights = checked_weights(sample_weight, len(X))
        joints = _stacked_joints(y)
        tree = spanning_tree(joints) if self.tree is None else self.tree
        parent, _ = checked_tree(tree)
        if len(parent) != joints.shape[1]:
            raise ValueError(f"tree has {len(parent)} parts, the joints have {joints.shape[1]}")
        anchors, types = self._types(joints, parent)
        unit = _unit(joints, parent, anchors, types)
        problem = pose_problem(
            X, joints, parent, anchors=anchors, types=types, unit=unit, importance=weights,
            reach=default_scale(joints) if scale is None else scale,
        )  # fmt: skip

        def complete(solution: Solution) -> None:
            self._store(solution)
            self._store_parts(problem, solution.w)

        return self._prepared(self._formulated(problem), complete, earlier)

    def _types(self, joints: np.ndarray, parent: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Anchors of the types of each part, and the type of each part of each example."""
        random = check_random_state(self.random_state)
        anchors, types = [], np.zeros(joints.shape[:2], np.int64)
        for part, above in enumerate(parent):
            if above < 0:
                anchors.append(np.zeros((1, 2)))
                continue
            displaced = (joints[:, part] - joints[:, above]).astype(np.float64)
            n_types = min(int(self.n_types), len(np.unique(displaced, axis=0)))
            clusters = KMeans(n_types, n_init=4, random_state=random.randint(2**31 - 1))
            types[:, part] = clusters.fit_predict(displaced)
            anchors.append(clusters.cluster_centers_)
        return anchors, types

    def _store_parts(self, problem: Pose, w: np.ndarray) -> None:
        at, types = problem.type_at, problem.types
        node = w[: at[-1] * problem.n_channels].reshape(at[-1], problem.n_channels)
        self.tree_ = problem.parent
        self.unit_ = problem.unit
        self.anchors_ = np.split(problem.anchor, at[1:-1])
        self.part_weights_ = np.split(node, at[1:-1])
        self.springs_ = [
            w[first : first + SPRING * n].reshape(n, SPRING)
            if first >= 0
            else np.zeros((0, SPRING))
            for first, n in zip(problem.spring_at, types, strict=True)
        ]
        self._layout = problem.layout()

    def predict(self, X: Arrays) -> list[np.ndarray]:
        """The best pose of each example: arrays (P, 2) of x (column) and y (row)."""
        check_is_fitted(self)
        layout = self._layout
        problem = layout.for_prediction(*stacked_maps(X, layout.n_parts, layout.n_channels))
        labels = decode(problem, self.w_, self._n_threads()).reshape(problem.n, -1)
        x = labels % problem.width[:, None]
        y = labels // problem.width[:, None] % problem.height[:, None]
        return list(np.stack([x, y], axis=2).astype(np.int64))

    def score(self, X: Arrays, Y: Arrays, scale: ArrayLike | None = None) -> float:
        """Share of joints found within ``scale`` of their true positions.

        With the default scale of :meth:`fit` this is known as PCK at 0.1.
        """
        joints = _stacked_joints(Y)
        if len(X) != len(joints):
            raise ValueError(f"X has {len(X)} examples but Y has {len(joints)}")
        within = np.asarray(default_scale(joints) if scale is None else scale, np.float64)
        distance = np.linalg.norm(np.stack(self.predict(X)) - joints, axis=2)
        return float(np.mean(distance <= within.reshape(-1, 1)))


def default_scale(joints: np.ndarray) -> np.ndarray:
    """A tenth of the longer side of each pose's bounding box, at least one position.

    >>> default_scale(np.array([[(0, 0), (5, 40)]]))
    array([4.])
    """
    return np.maximum(FOUND_WITHIN * np.ptp(joints, axis=1).max(axis=1), 1.0)


def spanning_tree(joints: np.ndarray) -> np.ndarray:
    """Parents in the tree over which displacements vary least, hanging on part 0.

    >>> spanning_tree(np.array([[(0, 0), (5, 1), (9, 1)], [(0, 0), (3, 1), (7, 1)]]))
    array([-1,  0,  1])
    """
    between = (joints[:, :, None] - joints[:, None]).astype(np.float64)
    # Plus 1, because what is nearly zero means no edge to scipy; the tree stays the same.
    variance = between.var(axis=0).sum(axis=2) + 1.0
    _, parent = breadth_first_order(minimum_spanning_tree(variance), 0, directed=False)
    return np.maximum(parent, -1).astype(np.int64)


def _stacked_joints(Y: Arrays) -> np.ndarray:
    """All joints, (n, P, 2), rounded; the first example says how many parts there are."""
    if len(Y) == 0:
        raise ValueError("there are no joints; at least one example is needed")
    if np.ndim(Y[0]) != 2 or np.shape(Y[0])[1] != 2 or np.shape(Y[0])[0] == 0:
        raise ValueError(
            f"the joints of example 0 have shape {np.shape(Y[0])}; expected (parts, 2), x and y of "
            "every part"
        )
    n_parts = np.shape(Y[0])[0]
    return np.stack([checked_joints(Y[i], i, n_parts) for i in range(len(Y))])


def _unit(
    joints: np.ndarray, parent: np.ndarray, anchors: list[np.ndarray], types: np.ndarray
) -> float:
    """The unit of displacements: FAR times as much as parts typically are from where they rest."""
    hung = np.flatnonzero(parent >= 0)
    if hung.size == 0:
        return 1.0
    at_rest = np.stack([anchors[part][types[:, part]] for part in hung], axis=1)
    displaced = joints[:, hung] - joints[:, parent[hung]] - at_rest
    return max(FAR * float(np.sqrt(np.mean(displaced**2))), 1.0)
