"""GDMM: the greedy direction method of multipliers, which moves only a working set of edges.

The problem is the augmented Lagrangian's (see ``augmented_lagrangian`` and ``idal``). Each example
has a working set of edges, empty at first. A pass does, for every example,

    1.  of the edges outside, the one with the largest gap max_mu <g_e, mu> - <g_e, mu_e> joins
    2.  its nodes, the edges of its working set and its count factors take one projected step each

and, after it, the direct step  nu += B mu / rho  on the multipliers of those edges and factors
(shortened if need be: see ``multipliers``).

The Lagrangian has all edges from the start. One outside the working set holds its first table
(the truth's; with a temperature, the uniform one), and draws its nodes there by its penalty alone:
its multipliers rest, as they would otherwise grow until the nodes obeyed a table that no one moves.
Where no edge outside has a gap, the one that disagrees most with its nodes joins; where none
disagrees either, all of them are optimal as they are. So the limit is the hard optimum.

Reference: Yen, Huang, Zhong, Zhang, Ravikumar, Dhillon (2016), Dual decomposed learning with
factorwise oracle for structural SVM of large output domain. Written without that paper, from what
Hu and Obozinski (2018, sections 2 and 7) say of it: how edges outside the working set act, the
second rule for joining, the lengths of all steps and the entropy are ours. The search for the
largest gap looks at every edge outside.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taut._compile import compiled
from taut.graph_training.count_steps import step_count
from taut.graph_training.factor_solver import FactorSolver
from taut.graph_training.factor_state import JOINED, STEPS, FactorState, View
from taut.graph_training.idal import prox_edge, prox_node
from taut.graph_training.multipliers import rho_over_L_d, update_multipliers
from taut.graph_training.steps import best_and_worst, draw_blocks, reparametrise_edge
from taut.structures.graphs.factors import Factors


@dataclass(frozen=True)
class GDMM(FactorSolver):
    """Greedy direction method of multipliers: projected steps on a growing set of edges.

    It converges to the hard LP relaxation, and the tolerance is about its bracket. The number of
    passes is at least the number of edges that the busiest example needs. ``order`` is "permuted"
    or "cyclic"; rho is not annealed unless ``anneal`` asks for it.

    >>> GDMM(order="gap")
    Traceback (most recent call last):
    ValueError: order='gap'; GDMM goes from example to example, "permuted" or "cyclic"
    """

    anneal: float | None = 1.0

    closes_bracket: ClassVar[bool] = True
    has_multipliers: ClassVar[bool] = True
    name: ClassVar[str] = "greedy direction method of multipliers"

    def extend(self, state: FactorState, factors: Factors, n: int) -> FactorState:
        """The working set: which edges are moved."""
        return state._replace(active=np.zeros(len(factors.ends), np.bool_))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_example_order()

    def after_pass(self, view: View, passes: int) -> None:
        if not self.tightens(view):
            update_multipliers(view, rho_over_L_d(view))

    def move(self, view: View, n_steps: int) -> None:
        greedy_steps(view, n_steps)


@compiled
def enlarge_working_set(view, i):
    """One more edge of example i joins; returns the largest gap outside."""
    factors, state, scratch = view.factors, view.state, view.state.scratch
    largest, most_violation = 0.0, 0.0
    chosen, violator = -1, -1
    for e in range(factors.edge_start[i], factors.edge_start[i + 1]):
        if state.active[e]:
            continue
        at, end = factors.edge_at[e], factors.edge_at[e + 1]
        first, last = factors.message_at[e], factors.message_at[e + 1]
        theta = scratch.theta[: end - at]
        reparametrise_edge(view, e, theta)
        _, _, gap = best_and_worst(theta, state.edge[at:end], view.rules.temperature)
        if gap > largest:
            chosen, largest = e, gap
        violation = 0.0
        for j in range(first, last):
            violation = max(violation, abs(state.delta[j] - state.nu[j]))
        if violation > most_violation:
            violator, most_violation = e, violation
    if chosen < 0:
        chosen = violator
    if chosen >= 0:
        state.active[chosen] = True
        state.total[JOINED] += 1.0
    return largest


@compiled
def greedy_steps(view, n_steps):
    """Visit examples, enlarge their working sets and move these, until so many blocks were seen."""
    state, count = view.state, view.state.count
    end = count[STEPS] + n_steps
    while count[STEPS] < end:
        t, t_end, e, e_end, f, f_end, _, _ = draw_blocks(view)
        enlarge_working_set(view, view.factors.owner[t])
        for node in range(t, t_end):
            prox_node(view, node)
        for edge in range(e, e_end):
            if state.active[edge]:
                prox_edge(view, edge)
        for of_counts in range(f, f_end):
            step_count(view, of_counts, False)
        count[STEPS] += (t_end - t) + (e_end - e) + (f_end - f)
