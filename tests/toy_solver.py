"""A solver from outside the package, as CONTRIBUTING.md ("Adding a solver") says: one file.

Dual coordinate ascent with a fixed step. Examples are drawn as ``order`` says; with y* the oracle's
answer

    mu_i += step (e(y*) - mu_i),        w -= C s_i step Psi_i (e(y*) - mu_i)

where the step is the same at every visit, shortened only where it would lead down again.
"""

from dataclasses import dataclass

from taut._compile import Problem, both_modes, compiled, in_mode
from taut.arrays.accumulator import squared_norm
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    attained,
    begin_change,
    block_value,
    forget,
    label_loss,
    project,
    scores,
    weight,
)
from taut.solvers.block_solver import BlockRun, BlockSolver
from taut.solvers.block_state import AVERAGED, ORACLE_CALLS, STEPS, line_search, move
from taut.solvers.sampling import draw


@dataclass(frozen=True)
class FixedStep(BlockSolver):
    """Options: the step, the order of the examples, and the passes between two certificates."""

    step: float = 0.1
    order: str = "permuted"
    refresh: int = 5

    def __post_init__(self):
        self.check_options()
        if not 0 < self.step <= 1:
            raise ValueError(f"step={self.step!r}; a number above 0, at most 1")

    def describe(self):
        return f"dual coordinate ascent (step {self.step:g})"

    def start(self, problem, objective):
        return FixedStepRun(problem, self, objective)


class FixedStepRun(BlockRun):
    def visit(self, n_blocks):
        steps, step = in_mode(fixed_steps, self.problem), float(self.solver.step)
        steps(self.problem, self.state, self.C, step, n_blocks)


@compiled
def fixed_steps(problem: Problem, state, C, longest_step, n_steps):
    sampler = state.sampler
    for _ in range(n_steps):
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        state.count[STEPS] += 1
        state.count[ORACLE_CALLS] += 1
        state.count[AVERAGED] += 1
        ascend(problem, state, C * weight(problem, i), longest_step, i)
        forget(problem, i, state.y)


@both_modes
def ascend(problem, state, scale, longest_step, i):
    w, work, y = state.w, state.work, state.y
    scores(problem, w, i, work)
    add_loss(problem, i, work)
    gain = -block_value(problem, w, i, work, state.mu)
    bound = argmax(problem, w, i, work, y)
    gain += attained(problem, w, i, work, y, bound)
    if gain <= 0.0:
        return
    begin_change(problem, i, state.mu, -1.0, work)
    add_corner(problem, i, y, 1.0, work)
    project(problem, i, work, 1.0, state.delta)
    curvature = scale * squared_norm(state.delta)
    step = line_search(state, state.delta, scale, curvature, gain, longest_step)
    change = step * (label_loss(problem, i, y) - state.ell[i])
    advance(problem, i, state.mu, step, work)
    state.ell[i] += change
    move(state, state.delta, scale, step, weight(problem, i) * change)
