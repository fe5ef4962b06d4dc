"""DLPW: dual losses, primal weights. The upper bound itself is minimised, in messages and weights.

    g(w, delta) = lambda/2 |w|^2 + 1/n sum_i s_i [sum over blocks of max theta_hat - truth's score]

is convex in both. A visit of example i first lowers its part in delta, edge by edge and exactly.
With a = theta_hat of a node without the message of the edge (u, v),

    delta_u(k) = 1/2 (max_l [theta(k, l) + a_v(l)] - a_u(k)),   delta_v(l) likewise        (MPLP)

both at once. Then the weights take a subgradient step, mu_i being the maximisers of the blocks:

    w <- (1 - step) w + step C n s_i Psi_i (truth_i - mu_i),     step = eta / t

(at most 1) at visit t, counted from n: the start, w = 0 and mu_i = truth_i, counts as a pass. From
t = 1 the first weights would be n times too large, and take many passes to be forgotten. With
eta = 1 these are Pegasos's steps 1 / (lambda t), and w is the mean over all visits.

Fitted messages leave ties: an edge's table often has its maximum at several pairs. Of those, the
pair of its nodes' maximisers is taken if it is one; an arbitrary choice makes the weights drift
away from the optimum for good.

``smoothing`` = epsilon > 0 replaces each max by epsilon log sum exp(. / epsilon), which is larger
by at most epsilon log(states), and maximisers by soft-max. Messages to the two ends of an edge
then have no common closed form; each in turn has:

    delta_u(k) = 1/2 (epsilon log sum_l exp([theta(k, l) - delta_v(l)] / epsilon) - a_u(k)).

What it proves. w and delta are variables, so g(w, delta) is an upper bound as it stands, without
smoothing. The means of the mu_i (with the weights they have in w) are marginals; after whole passes
with eta = 1, w is what follows from them. Repaired, they give a lower bound for any rate.
There is no soft gap; the tolerance is about the bracket, which closes slowly, and need not close at
all: without smoothing, messages can stall where no single edge improves, and with it the limit is
off by up to epsilon times the sum of log(states) over blocks.

A step costs what the example's features cost: w is kept as a number times v, also from call to
call, as calls end where the clock says, and bits must not depend on it. With bounds, w is clipped,
and each visit costs a pass over the weights.

Reference: Meshi, Sontag, Jaakkola, Globerson (2010), Learning efficiently with approximate
inference via dual losses; smoothed: Hazan, Urtasun (2010), A primal-dual message-passing algorithm
for approximated large scale structured prediction. Written without those papers, from what Meshi,
Srebro, Hazan (2015, section 6) say of them: where t begins, the choice among ties, the order of
edges, bounds on weights and the lower bound are ours.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from papers.meshi.edge_messages import fit_messages, fit_softly
from taut._compile import both_modes, compiled
from taut.graph_training.factor_solver import FactorSolver, is_real
from taut.graph_training.factor_state import (
    SCALE,
    STEPS,
    VISITS,
    FactorState,
    View,
    move_edge,
    move_node,
    write_weights,
)
from taut.solvers.sampling import draw
from taut.solvers.solution import Solution
from taut.structures.graphs.blocks import (
    add_messages_to_node,
    add_node_loss,
    take_messages_of_edge,
)
from taut.structures.graphs.factors import Factors
from taut.structures.graphs.kernels import score_edge, score_node

# Of the number that v is multiplied by; below, it is multiplied in.
SMALLEST_SCALE = 1e-100
# Scores that differ by so little, relatively, are equal but for rounding.
TIE = 1e-9


@dataclass(frozen=True)
class DLPW(FactorSolver):
    """Message passing on the messages of an example, then a subgradient step on the weights.

    ``rate`` is eta of the step eta / t, ``smoothing`` the temperature of soft-max (0:
    none), ``sweeps`` how often a visit goes over the edges. The rate must be tried out: 1 is safe
    on small problems, 0.1 far better on Yeast. ``order`` is "permuted" or "cyclic"; ``rho`` and
    ``anneal`` have no meaning here.

    >>> DLPW(temperature=0.1)
    Traceback (most recent call last):
    ValueError: temperature=0.1; DLPW minimises the objective of the structured SVM, smoothed if \
you like: smoothing=0.1. GDMM and IDAL have a temperature
    """

    rate: float = 1.0
    smoothing: float = 0.0
    sweeps: int = 1

    closes_bracket: ClassVar[bool] = True
    has_free_weights: ClassVar[bool] = True
    name: ClassVar[str] = "dual losses, primal weights"

    def extend(self, state: FactorState, factors: Factors, n: int) -> FactorState:
        state = state._replace(share=np.zeros(n), w=state.w.copy())
        count_as_visited(state)
        return state

    def keep_free_variables(self, state: FactorState, earlier: Solution, C: float) -> None:
        """Messages as they were, and weights too if they are those of this solver and this C."""
        count_as_visited(state)
        before = earlier.state
        if not isinstance(before, FactorState):
            return
        state.delta[:] = before.delta
        if before.share.size and earlier.C == C:
            state.v[:], state.share[:] = before.v, before.share
            state.total[SCALE], state.count[VISITS] = before.total[SCALE], before.count[VISITS]
            write_weights(state)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_example_order()
        if self.temperature != 0:
            raise ValueError(
                f"temperature={self.temperature!r}; DLPW minimises the objective of the structured "
                f"SVM, smoothed if you like: smoothing={self.temperature!r}. GDMM and IDAL have a "
                "temperature"
            )
        if not (is_real(self.rate) and 0 < self.rate < float("inf")):
            raise ValueError(f"rate={self.rate!r}; a positive number, 1 for the steps of Pegasos")
        if not (is_real(self.smoothing) and 0 <= self.smoothing < float("inf")):
            raise ValueError(f"smoothing={self.smoothing!r}; a number, 0 for no smoothing")
        if not isinstance(self.sweeps, int) or self.sweeps < 1:
            raise ValueError(f"sweeps={self.sweeps!r}; how often over the edges, at least 1")

    @property
    def first_rho(self) -> float:
        return self.rho

    def check_factors(self, factors: Factors) -> None:
        if len(factors.low):
            raise ValueError(
                f"DLPW has messages of edges only, and there are {len(factors.low)} count factors; "
                'use solver="augmented-lagrangian" or "idal"'
            )

    def move(self, view: View, n_steps: int) -> None:
        dual_loss_steps(view, n_steps, float(self.rate), float(self.smoothing), int(self.sweeps))
        write_weights(view.state)
        view.state.nu[:] = view.state.delta  # where other solvers would start

    def describe(self) -> str:
        parts = [f"rate {self.rate:g}", f"sweeps {self.sweeps}"]
        if self.smoothing > 0:
            parts.append(f"smoothing {self.smoothing:g}")
        return f"{self.name} ({', '.join(parts)})"


def count_as_visited(state: FactorState) -> None:
    """Whatever weights and marginals are given count as the mean over one pass."""
    state.count[VISITS] = len(state.share)
    state.share[:] = 1.0 / len(state.share)


# --- one example ---------------------------------------------------------------------------------


@both_modes
def best_state(theta):
    best = 0
    for k in range(1, theta.size):
        best = k if theta[k] > theta[best] else best
    return best


@both_modes
def write_maximiser(theta, best, smoothing, out):
    """The marginals where max <theta, p> is attained, at ``best``, or its smoothed version."""
    if smoothing == 0.0:
        for k in range(theta.size):
            out[k] = 0.0
        out[best] = 1.0
        return
    total = 0.0
    for k in range(theta.size):
        out[k] = np.exp((theta[k] - theta[best]) / smoothing)
        total += out[k]
    for k in range(theta.size):
        out[k] /= total


@compiled
def score_example(view, i, w, scale):
    """Scratch memory gets theta_hat of all its nodes, and theta of all its edges, at scale * w."""
    graph, factors, state = view.graph, view.factors, view.state
    scratch = state.scratch
    first_node = factors.node_at[graph.pointer[i]]
    first_edge = factors.edge_at[factors.edge_start[i]]
    for t in range(graph.pointer[i], graph.pointer[i + 1]):
        theta = scratch.nodes[factors.node_at[t] - first_node : factors.node_at[t + 1] - first_node]
        score_node(graph.nodes, w, t, scratch.c, theta)
        for k in range(theta.size):
            theta[k] *= scale
        add_node_loss(graph.nodes, graph.loss, t, graph.loss.scale[i], theta)
        add_messages_to_node(factors, state.delta, t, theta)
    for e in range(factors.edge_start[i], factors.edge_start[i + 1]):
        theta = scratch.edges[factors.edge_at[e] - first_edge : factors.edge_at[e + 1] - first_edge]
        v = factors.ends[e, 1]
        n_v = factors.node_at[v + 1] - factors.node_at[v]
        score_edge(graph.edges, w, factors.number[e], n_v, scratch.c, theta)
        for k in range(theta.size):
            theta[k] *= scale


@compiled
def sweep_edges(view, i, smoothing):
    """Fit the messages of all edges of example i, one edge after the other."""
    graph, factors, state = view.graph, view.factors, view.state
    scratch, node_at = state.scratch, factors.node_at
    first_node = node_at[graph.pointer[i]]
    first_edge = factors.edge_at[factors.edge_start[i]]
    for e in range(factors.edge_start[i], factors.edge_start[i + 1]):
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        hat_u = scratch.nodes[node_at[u] - first_node : node_at[u + 1] - first_node]
        hat_v = scratch.nodes[node_at[v] - first_node : node_at[v + 1] - first_node]
        table = scratch.edges[factors.edge_at[e] - first_edge : factors.edge_at[e + 1] - first_edge]
        messages = state.delta[factors.message_at[e] : factors.message_at[e + 1]]
        if smoothing == 0.0:
            fit_messages(table, messages, hat_u, hat_v)
        else:
            fit_softly(table, messages, hat_u, hat_v, smoothing, scratch.first)


@both_modes
def take_in(mu, truth, share, mean):
    """mean += share (mu - mean); mu becomes mu - truth."""
    for k in range(mu.size):
        mean[k] += share * (mu[k] - mean[k])
    mu[truth] -= 1.0


@compiled
def push_maximisers(view, i, weight, smoothing):
    """v += weight C n s_i Psi_i (truth_i - mu_i), and the means of marginals take mu_i in."""
    graph, factors, state = view.graph, view.factors, view.state
    scratch, truth, node_at = state.scratch, graph.loss.truth, factors.node_at
    amount = -weight * view.rules.C * view.importance.size * view.importance[i]
    state.share[i] += weight
    share = weight / state.share[i]
    first_node = node_at[graph.pointer[i]]
    first_edge = factors.edge_at[factors.edge_start[i]]
    for t in range(graph.pointer[i], graph.pointer[i + 1]):
        at, end = node_at[t], node_at[t + 1]
        d = scratch.d[: end - at]
        theta = scratch.nodes[at - first_node : end - first_node]
        write_maximiser(theta, best_state(theta), smoothing, d)
        take_in(d, truth[t], share, state.node[at:end])
        move_node(graph.nodes, t, d, amount, scratch.c, state.v)
    for e in range(factors.edge_start[i], factors.edge_start[i + 1]):
        at, end = factors.edge_at[e], factors.edge_at[e + 1]
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        n_u, n_v = node_at[u + 1] - node_at[u], node_at[v + 1] - node_at[v]
        theta, d = scratch.edges[at - first_edge : end - first_edge], scratch.d[: end - at]
        take_messages_of_edge(state.delta[factors.message_at[e] :], n_u, n_v, theta)
        best = best_state(theta)
        agreed = best_state(scratch.nodes[node_at[u] - first_node :][:n_u]) * n_v
        agreed += best_state(scratch.nodes[node_at[v] - first_node :][:n_v])
        # Fitted messages leave ties, and not every choice among them leads on.
        if theta[agreed] >= theta[best] - TIE * (1.0 + abs(theta[best])):
            best = agreed
        write_maximiser(theta, best, smoothing, d)
        take_in(d, truth[u] * n_v + truth[v], share, state.edge[at:end])
        move_edge(graph.edges, factors.number[e], n_v, d, amount, scratch.c, state.v)


# --- many ----------------------------------------------------------------------------------------


@compiled
def multiply_in(state, scale):
    """What stood for scale * v is v again."""
    for j in range(state.v.size):
        state.v[j] *= scale
    for i in range(state.share.size):
        state.share[i] *= scale


@compiled
def clip_weights(state, scale):
    for j in range(state.lower.size):
        state.w[j] = min(max(scale * state.v[j], state.lower[j]), state.upper[j])


@compiled
def dual_loss_steps(view, n_steps, rate, smoothing, sweeps):
    """Visit examples until so many blocks were seen; v, not w, is up to date without bounds."""
    graph, factors, state = view.graph, view.factors, view.state
    sampler, count, has_bounds = state.sampler, state.count, state.lower.size > 0
    scale = state.total[SCALE]
    end = count[STEPS] + n_steps
    while count[STEPS] < end:
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        if has_bounds:
            score_example(view, i, state.w, 1.0)
        else:
            score_example(view, i, state.v, scale)
        for _ in range(sweeps):
            sweep_edges(view, i, smoothing)
        count[VISITS] += 1
        step = min(rate / count[VISITS], 1.0)
        scale *= 1.0 - step
        if scale < SMALLEST_SCALE:
            multiply_in(state, scale)
            scale = 1.0
        push_maximisers(view, i, step / scale, smoothing)
        clip_weights(state, scale)
        count[STEPS] += graph.pointer[i + 1] - graph.pointer[i]
        count[STEPS] += factors.edge_start[i + 1] - factors.edge_start[i]
    state.total[SCALE] = scale
