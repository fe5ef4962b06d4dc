"""One source, two modes: interpreted Python walks the same trajectory as machine code."""

import numpy as np
import pytest
from sparse_reference import sparse_pairs
from taut_reference import tiny_pairs

from taut.solvers import BCFW, FrankWolfe
from taut.solvers.objective import Objective
from taut.structures import Pairwise
from taut.structures.sparse_chain import SparseChain

PAIRS = tiny_pairs() | sparse_pairs()
SOLVERS = [
    FrankWolfe(),
    FrankWolfe(step="fixed"),
    FrankWolfe(step="parabola"),
    BCFW(order="uniform", step="fixed"),
    BCFW(order="cyclic", direction="pairwise", safeguard=True),
    BCFW(order="uniform", direction="away", safeguard=True, step="parabola"),
    BCFW(order="cyclic"),
    BCFW(order="gap", cache=True),
    BCFW(order="permuted", direction="pairwise", averaging=True),
    BCFW(order="uniform", direction="away"),
    BCFW(order="gap", direction="corrective"),
]


class Interpreted(Pairwise):
    """The same arrays; solvers then run the functions' Python source."""

    is_compiled = False

    def new_dual(problem):
        return Pairwise(*problem).new_dual()


class InterpretedSparse(SparseChain):
    is_compiled = False


INTERPRETED = {Pairwise: Interpreted, SparseChain: InterpretedSparse}


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("box", [None, (-0.05, 0.1)])
@pytest.mark.parametrize(
    "which",
    ["chain", "observed chain", "weighted chain", "constrained chain", "sparse steps",
     "weighted sparse steps", "step attributes", "constrained step attributes"],
)  # fmt: skip
def test_the_trajectories_are_the_same(which, box, solver):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    problem, _ = PAIRS[which]
    runs = [
        solver.start(one, Objective(0.6, bounds=box, seed=4, n_threads=1))
        for one in (problem, INTERPRETED[type(problem)](*problem))
    ]
    certificates = [[], []]
    for run, rows in zip(runs, certificates, strict=True):
        for _ in range(4):
            rows.append(run.certify())
            run.advance(problem.n)
    compiled, interpreted = runs
    np.testing.assert_allclose(interpreted.state.w, compiled.state.w, rtol=0, atol=1e-10)
    for i in range(problem.n):
        images = [problem.image_in(run.state.mu, i) for run in (interpreted, compiled)]
        np.testing.assert_allclose(*images, rtol=0, atol=1e-10)
    assert interpreted.state.count.tolist() == compiled.state.count.tolist()
    assert interpreted.state.sampler.random[0] == compiled.state.sampler.random[0]
    for ours, theirs in zip(*certificates, strict=True):
        assert ours.primal == pytest.approx(theirs.primal, abs=1e-10)
        assert ours.dual == pytest.approx(theirs.dual, abs=1e-10)
