"""The points a master problem is made of: what the objective can see of labellings, and weights.

A point of block b is (row, loss): for labelling y of example i that is s_i (psi_i(y), loss_i(y)),
Yu & Rousu's (beta, gamma) without C and with the sign of w. Rows are dense where features are,
sparse otherwise. The Gram matrix of all rows grows by a row for each new point.

A block's *retained* point is no labelling but where it stood at some time: first the origin (the
truth), later a combination of points that were dropped.
"""

from typing import Any

import numpy as np
from scipy import sparse

from taut.arrays.sound_sparse import check_sound

Rows = Any  # (m, dim) array or CSR array

PER_POINT = ("loss", "block", "weight", "retained", "idle")


class Points:
    def __init__(self, dim: int, n_blocks: int, *, is_sparse: bool, keeps_gram: bool):
        self.n_blocks = n_blocks
        self.rows: Rows = sparse.csr_array((0, dim)) if is_sparse else np.zeros((0, dim))
        self.loss = np.zeros(0)
        self.block = np.zeros(0, np.int64)
        self.weight = np.zeros(0)
        self.retained = np.zeros(0, bool)
        self.idle = np.zeros(0, np.int64)  # masters since the weight was last positive
        self.keeps_gram = keeps_gram
        self._gram = np.zeros((0, 0))

    def __len__(self) -> int:
        return len(self.loss)

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.rows, np.ndarray)

    @property
    def dim(self) -> int:
        return self.rows.shape[1]

    def fitting(self, memory: float) -> int:
        """How many points fit: half of the memory for rows, half for their Gram matrix."""
        row = 12.0 * self.rows.nnz / max(len(self), 1) if self.is_sparse else 8.0 * self.dim
        if not self.keeps_gram:
            return int(memory / max(row, 1.0))
        # The matrix is twice as large as needed each way, and the master's factor as large again.
        return int(min(0.5 * memory / max(row, 1.0), np.sqrt(0.5 * memory / 40.0)))

    def add(
        self, rows: Rows, loss: np.ndarray, block: np.ndarray, *, retained: bool = False
    ) -> None:
        """Append points with weight zero (retained ones: weight one)."""
        before, added = len(self), len(loss)
        if self.is_sparse:
            self.rows = sparse.vstack([self.rows, sparse.csr_array(rows)], format="csr")
        else:
            self.rows = np.concatenate([self.rows, rows])
        new = dict(
            loss=loss,
            block=block,
            weight=np.full(added, float(retained)),
            retained=np.full(added, retained),
            idle=np.zeros(added, np.int64),
        )
        for name, values in new.items():
            setattr(self, name, np.concatenate([getattr(self, name), values]))
        if self.keeps_gram:
            self._grow_gram(before)

    def add_origins(self, blocks: np.ndarray) -> None:
        """Blocks that stand at the truth."""
        rows = sparse.csr_array((len(blocks), self.rows.shape[1]))
        self.add(
            rows if self.is_sparse else dense(rows), np.zeros(len(blocks)), blocks, retained=True
        )

    def move_toward_origin(self, share: float) -> None:
        """Weights times ``share``; each block's origin takes the rest."""
        at_origin = self.retained & (self.loss == 0) & (norms(self.rows) == 0)
        missing = np.setdiff1d(np.arange(self.n_blocks), self.block[at_origin])
        if missing.size:
            self.retained[np.isin(self.block, missing)] = False
            self.add_origins(missing)
            self.weight[-missing.size :] = 0.0
            at_origin = np.concatenate([at_origin, np.ones(missing.size, bool)])
        self.weight *= share
        self.weight[at_origin] += 1.0 - share

    def take(self, other: "Points", rows: Rows) -> None:
        """Copies of another run's points, with these rows, of which there may be fewer blocks."""
        self.restore(rows, **{name: getattr(other, name).copy() for name in PER_POINT})

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint. The Gram matrix, computed anew, would round differently."""
        arrays = {name: getattr(self, name) for name in PER_POINT}
        if self.is_sparse:
            rows: Any = self.rows
            arrays["data"] = rows.data
            arrays["indices"] = rows.indices.astype(np.int64)
            arrays["indptr"] = rows.indptr.astype(np.int64)
        else:
            arrays["rows"] = self.rows
        if self.keeps_gram:
            arrays["gram"] = self._gram[: len(self), : len(self)].ravel()
        return arrays

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        """Be the points of these arrays; ValueError if they are none."""
        saved = {name: arrays[name].copy() for name in PER_POINT}
        count, block = len(saved["loss"]), saved["block"]
        if any(value.shape != (count,) for value in saved.values()):
            raise ValueError("the points have arrays of different lengths")
        if count and not (block.min() >= 0 and block.max() < self.n_blocks):
            raise ValueError("a point belongs to no example")
        if self.is_sparse:
            parts = tuple(arrays[name].copy() for name in ("data", "indices", "indptr"))
            rows = sparse.csr_array(parts, shape=(count, self.dim))
            check_sound(rows, "the points")
        else:
            rows = arrays["rows"].copy()
            if rows.shape != (count, self.dim):
                raise ValueError(f"the rows of the points have shape {rows.shape}")
        self.restore(rows, **saved)
        if self.keeps_gram:
            computed, stored = self._gram[:count, :count], arrays["gram"]
            rounding = 1e-9 * (1.0 + np.abs(computed).max(initial=0.0))
            if stored.size != count**2 or not np.allclose(
                computed.ravel(), stored, rtol=0, atol=rounding
            ):
                raise ValueError("rows and inner products of the points do not belong together")
            computed[...] = stored.reshape(count, count)

    def restore(self, rows: Rows, **per_point: np.ndarray) -> None:
        """Put these points in the place of all."""
        self.rows = rows
        for name, values in per_point.items():
            setattr(self, name, values)
        self.forget_gram()
        if self.keeps_gram:
            self._grow_gram(0)

    def set_weights(self, of: Any, weights: np.ndarray) -> None:
        self.weight[of] = weights
        self.idle[of] = np.where(weights > 0, 0, self.idle[of] + 1)

    def _grow_gram(self, before: int) -> None:
        m = len(self)
        if m > len(self._gram):
            larger = np.zeros((2 * m, 2 * m))
            larger[:before, :before] = self._gram[:before, :before]
            self._gram = larger
        products = inner_products(self.rows[before:], self.rows)
        self._gram[before:m, :m] = products
        self._gram[:m, before:m] = products.T

    def gram(self, which: np.ndarray | None = None) -> np.ndarray:
        """Inner products of some points; of all, with room for more, unless said which."""
        if self.keeps_gram:
            return self._gram if which is None else self._gram[np.ix_(which, which)]
        rows = self.rows if which is None else self.rows[which]
        return np.ascontiguousarray(inner_products(rows, rows))

    def forget_gram(self) -> None:
        """It is large; ``restore`` computes it again."""
        self._gram = np.zeros((0, 0))

    def keep(self, mask: np.ndarray) -> None:
        """Drop the points where ``mask`` is false."""
        if mask.all():
            return
        at = np.flatnonzero(mask)
        if self.keeps_gram:
            # In place, row by row: rows only move up.
            for to, k in enumerate(at):
                self._gram[to, : at.size] = self._gram[k, at]
        self.rows = self.rows[at]
        for name in PER_POINT:
            setattr(self, name, getattr(self, name)[at])

    def prune(self, after: int | None) -> None:
        """Forget extreme points that had no weight in so many masters."""
        if after is not None:
            self.keep((self.idle < after) | self.retained)

    def sizes(self) -> np.ndarray:
        """(n_blocks,) number of extreme points."""
        return np.bincount(self.block[~self.retained], minlength=self.n_blocks)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(n_blocks,) sums of values of points, by block."""
        return np.bincount(self.block, weights=values, minlength=self.n_blocks)

    def combination(self) -> np.ndarray:
        """sum_k weight_k row_k."""
        used = np.flatnonzero(self.weight)
        return np.asarray(self.weight[used] @ self.rows[used])

    def total_loss(self) -> float:
        return float(self.weight @ self.loss)

    def retain(self, blocks: np.ndarray, *, is_cone: bool) -> None:
        """Replace the retained point of blocks by where they stand: it takes all their weight."""
        in_blocks = np.isin(self.block, blocks)
        places = np.searchsorted(blocks, self.block[in_blocks])  # blocks are sorted
        which = np.flatnonzero(in_blocks)
        weights = sparse.csr_array(
            (self.weight[which], (places, which)), shape=(len(blocks), len(self))
        )
        mass = np.asarray(weights.sum(axis=1)).ravel() if is_cone else np.ones(len(blocks))
        used = mass > 0
        rows = weights[used] / mass[used, None] @ self.rows
        loss = (weights @ self.loss)[used] / mass[used]
        self.weight[which] = 0.0
        self.keep(~(self.retained & in_blocks))
        self.add(rows, loss, blocks[used], retained=True)
        self.weight[len(self) - int(used.sum()) :] = mass[used]


def inner_products(rows: Rows, others: Rows) -> np.ndarray:
    """Of all pairs; ValueError if they are too large: no master problem can be solved with them."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = dense(rows @ others.T)
    if not np.all(np.isfinite(products)):
        largest = max(norms(rows).max(initial=0.0), norms(others).max(initial=0.0))
        raise ValueError(
            f"features of labellings, times sample weights, are as large as {largest:.3g}, and "
            "their inner products overflow: scale the features or the sample weights down"
        )
    return products


def norms(rows: Rows) -> np.ndarray:
    """Largest absolute entry of every row."""
    if isinstance(rows, np.ndarray):
        return np.abs(rows).max(axis=1, initial=0.0)
    return abs(rows).max(axis=1).toarray().ravel() if rows.shape[0] else np.zeros(0)


def dense(matrix: Any) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
