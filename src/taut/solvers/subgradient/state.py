"""Everything a subgradient run moves.

Its dual point averages what the oracle found at its visits: mu_i the points
e(truth) + a_i (e(y) - e(truth)), ``ell`` their losses a_i loss_i(y), ``mass`` the a_i, which are
slopes of the slack's penalty (all 1 with linear slacks).

Kernels know fields and positions by heart; naming ``taut._compile`` here makes it notice edits.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Opaque, Vector, by_reference
from taut.accumulator import Accumulator, dense_accumulator
from taut.solvers.penalty import SlackPenalty
from taut.solvers.sampling import Order, Sampler, new_sampler
from taut.solvers.subgradient.options import Subgradient

# positions in State.count: steps of this run, and visits also of the runs that it continues
STEPS, ORACLE_CALLS, AVERAGED, VISITS = 0, 1, 2, 3
# positions in State.total: Polyak's lower bound, and the loss of its averaged dual points
LOWER, MEAN_LOSS = 0, 1


@by_reference
class State(NamedTuple):
    w: Vector
    v: Vector  # of mu; Pegasos computes it for certificates only
    lower: Vector  # (dim,), or empty without bounds
    upper: Vector
    mu: Vector  # the dual, as the problem keeps it
    ell: Vector  # (n,) loss of mu_i
    mass: Vector  # (n,) of squared slacks, or empty
    visits: Integers  # (n,) to each example; empty for Polyak
    found: Vector  # (dim,) sum over all visits of s_i a_i psi_i(y); likewise
    sampler: Sampler
    average: Vector  # (dim,) of the iterates, or empty
    mean_mass: Vector  # (n,) average of ``mass`` over Polyak's iterates, or empty
    count: Integers  # type: ignore[assignment]
    total: Vector
    delta: Accumulator  # psi_i of one labelling
    direct: Accumulator  # adds to v itself
    pull: Accumulator  # adds to found itself
    work: Opaque
    y: Labels  # a labelling
    truth: Labels  # another


def cold_state(
    problem: Any,
    solver: Subgradient,
    box: tuple[np.ndarray, np.ndarray],
    seed: int,
    penalty: SlackPenalty,
) -> State:
    """At the truth: v = 0."""
    lower, upper = box
    dim, n, polyak = problem.dim, problem.n, solver.is_polyak
    squared = penalty is SlackPenalty.SQUARED
    assert isinstance(solver.order, Order)
    v = np.zeros(dim)
    w = v if polyak else np.zeros(dim)
    found = np.zeros(0 if polyak else dim)
    return State(
        w=np.clip(v, lower, upper) if lower.size else w,
        v=v,
        lower=lower,
        upper=upper,
        mu=problem.new_dual(),
        ell=np.zeros(n),
        mass=np.zeros(n * squared),
        visits=np.zeros(0 if polyak else n, np.int64),
        found=found,
        sampler=new_sampler(solver.order, n, seed),
        average=np.zeros(dim * solver.averaging),
        mean_mass=np.zeros(n * (squared and polyak and solver.averaging)),
        count=np.zeros(4, np.int64),
        total=np.zeros(2),
        delta=problem.new_delta(),
        direct=dense_accumulator(v),
        pull=dense_accumulator(found),
        work=problem.new_work(),
        y=np.zeros(problem.longest, np.int32),
        truth=np.zeros(problem.longest, np.int32),
    )
