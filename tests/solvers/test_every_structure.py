"""The solvers with a master problem and subgradient steps, on every structure there is.

Each reports a true objective and a lower bound below everyone's objective: so they agree on the
optimum within their gaps. The others are compared in ``test_certificate``; the rest of these on
chains in files of their own.
"""

import numpy as np
import pytest
from graph_reference import tiny_graph_pairs
from sparse_reference import sparse_pairs
from taut_reference import tiny_pairs

from taut import PoseSVM
from taut.datasets import make_stick_figures
from taut.solvers import CuttingPlane, Simplicial, Subgradient, solve

C = 0.6
CHAINS = ["observed chain", "chain with step features", "constrained chain"]
SPARSE = sparse_pairs()
PAIRS = {name: tiny_pairs()[name] for name in CHAINS} | SPARSE | tiny_graph_pairs()
SOLVERS = {
    "simplicial": (Simplicial(), 1e-6),
    "one simplex": (Simplicial("one"), 1e-4),
    "cutting planes": (CuttingPlane("n"), 1e-6),
    "one slack": (CuttingPlane("one"), 1e-4),
    "Pegasos": (Subgradient(), 0.1),
}


def solvers_for(which):
    """All of graphs, which are one type for the compiler; chains are several."""
    if which == "linear programs":
        return ["simplicial", "one slack"]  # HiGHS is slow
    if which in CHAINS:
        return ["simplicial"]
    if which in SPARSE:
        return [name for name in SOLVERS if name != "Pegasos"]  # which keeps a dual of one size
    return list(SOLVERS)


@pytest.mark.parametrize("which", PAIRS)
def test_all_agree_on_the_optimum_within_their_gaps(which):
    problem, reference = PAIRS[which]
    exact = which not in ("message passing", "message passing, two types", "linear programs")
    found = {}
    for name in solvers_for(which):
        solver, tol = SOLVERS[name]
        solution = found[name] = solve(problem, solver, C=C, tol=tol, max_passes=5000)
        assert solution.gap <= tol * solution.scale, name
        rounding = 1e-9 if exact else 1e-6
        assert solution.primal == pytest.approx(reference.primal(solution.w, C), abs=rounding), name
    lowest = min(solution.primal for solution in found.values())
    highest = max(solution.dual for solution in found.values())
    assert highest <= lowest + 1e-9


def test_poses_have_springs_that_pull_under_a_master_problem_too():
    """Their weights are in a box, so the master problem is not quadratic."""
    figures = make_stick_figures(8, size=24)
    clf, other = (
        PoseSVM(solver=name, tol=1e-3, random_state=0).fit(figures.heat_maps, figures.joints)
        for name in ("simplicial", "auto")
    )
    for one, two in ((clf, other), (other, clf)):
        assert one.solution_.dual <= two.solution_.primal + 1e-9
    assert all(np.all(springs[:, [1, 3]] <= 0) or np.all(springs[:, [1, 3]] >= 0)
               for springs in clf.springs_)  # fmt: skip
