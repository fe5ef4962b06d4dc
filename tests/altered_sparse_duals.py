"""Runs resumed from checkpoints whose dual was altered and signed anew; run as a program, because
a dual that is believed and should not be may end the process.

Prints how many were refused, and how many made no difference to a proof.
"""

import sys
from pathlib import Path

import numpy as np
from altered_checkpoints import save_altered
from sparse_reference import sparse_pair

from taut import SDCA, smoothed
from taut.solvers import BCFW, FrankWolfe, solve

SOLVERS = {
    "toward": BCFW(),
    "corrective": BCFW(direction="corrective"),
    "pairwise": BCFW(direction="pairwise"),
    "batch": FrankWolfe(),
    "sdca": SDCA(),
}
TRIES = 120
FAR = (2**63 - 1, 2**62, 2**40, 2**31, 1000, 1, 0, -1, -(2**63))


def altered(mu: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One to three whole numbers of the dual changed, or its length."""
    mu = mu.copy()
    kind = rng.integers(8)
    if kind == 0:
        return mu[: rng.integers(mu.size)]
    if kind == 1:
        return np.concatenate([mu, rng.normal(size=rng.integers(1, 9))])
    n = int(mu.view(np.int64)[0])
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.5:  # the head and the entries of blocks
            whole, at = mu.view(np.int64), rng.integers(4 + 4 * n)
            near = whole[at] ^ int(rng.integers(1, 8))
            whole[at] = int(rng.choice(FAR)) if rng.random() < 0.5 else near
        elif rng.random() < 0.7:  # keys, or halves of values
            keys = mu.view(np.int32)
            at = rng.integers(2 * (4 + 4 * n), keys.size)
            keys[at] = int(rng.integers(-(2**31), 2**31)) if rng.random() < 0.3 else int(
                rng.integers(-2, 60)
            )  # fmt: skip
        else:
            mu[rng.integers(mu.size)] = rng.choice([np.nan, np.inf, 1e300, -1.0, 0.5])
    return mu


def main(name: str, folder: str) -> None:
    solver, path = SOLVERS[name], Path(folder) / "run.npz"
    problem, _ = sparse_pair([3, 1, 4, 2, 3], 4, n_attributes=2, seed=1)
    problem = smoothed(problem) if name == "sdca" else problem
    run = dict(solver=solver, C=1.0, tol=1e-9, seed=3, checkpoint=path)
    solve(problem, max_passes=10, **run)
    best = solve(problem, solver, C=1.0, tol=1e-6, max_passes=3000)
    with np.load(path) as archive:
        arrays = dict(archive)
    rng = np.random.default_rng(0)
    refused = harmless = 0
    for _ in range(TRIES):
        save_altered(path, arrays | {"mu": altered(arrays["mu"], rng)})
        try:
            found = solve(problem, max_passes=14, resume=True, **run)
        except ValueError as error:
            assert "run.npz" in str(error), error  # noqa: PT017
            refused += 1
        else:
            assert found.dual <= best.primal + 1e-9
            harmless += 1
    print(refused, harmless)


if __name__ == "__main__":
    main(*sys.argv[1:])
