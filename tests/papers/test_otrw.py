"""The Gini-OTRW entropy by its definition, and IDAL with it."""

import numpy as np
import pytest
from factor_problems import COUNTS, PROBLEMS, messages_of, point_of, problem_of
from factor_reference import FactorReference
from graph_reference import complete, cycle, path, random_reference

from papers.hu.otrw import GiniOTRW, spanning_trees
from taut.solvers.objective import Objective

C, GAMMA = 0.7, 0.3
GRAPHS = {
    "trees": random_reference([path(4), (4, [(1, 0), (1, 2), (1, 3)])], states=(3,), seed=1),
    "loops": random_reference([complete(4), cycle(3)], states=(2, 3), joins=((0, 0), (0, 1), (1, 1),
                              (1, 0)), random_types=True, seed=2),
}  # fmt: skip
TREE = (5, [(1, 0), (1, 2), (2, 3), (2, 4)])


def ends_of(graph):
    return np.array(graph[1])


@pytest.mark.parametrize("graph", [TREE, cycle(5), complete(6)], ids=["tree", "cycle", "complete"])
def test_every_node_is_the_root_or_has_one_parent(graph):
    root, first, second = spanning_trees(graph[0], ends_of(graph))
    total = root.copy()
    np.add.at(total, ends_of(graph)[:, 0], first)
    np.add.at(total, ends_of(graph)[:, 1], second)
    np.testing.assert_allclose(total, 1.0, atol=1e-12)
    assert min(first.min(), second.min()) > 0.0


def test_parents_are_those_of_all_rooted_spanning_trees():
    """A cycle of four has four spanning trees, one without each edge."""
    n, ends = 4, ends_of(cycle(4))
    counts = np.zeros((n, n))
    for left_out in range(n):
        for root in range(n):
            beside: dict = {t: [] for t in range(n)}
            for k, (u, v) in enumerate(ends):
                if k != left_out:
                    beside[u].append(v)
                    beside[v].append(u)
            seen, queue = {root}, [root]
            for t in queue:
                for other in beside[t]:
                    if other not in seen:
                        counts[other, t] += 1
                        seen.add(other)
                        queue.append(other)
    _, first, second = spanning_trees(n, ends)
    for (u, v), a, b in zip(ends, first, second, strict=True):
        assert a == pytest.approx(counts[u, v] / n**2)
        assert b == pytest.approx(counts[v, u] / n**2)


def new_run(problem, **options):
    solver = GiniOTRW(temperature=GAMMA, rho=0.5, **options)
    run = solver.start(problem, Objective(C, bounds=None, seed=1, n_threads=1))
    run.compile()
    return run


def oriented_entropy(table, first, second):
    """rho(u|v) H(X_u | X_v) + rho(v|u) H(X_v | X_u) of a table."""
    h = lambda p: -np.sum(p * np.log(p))  # noqa: E731
    return first * (h(table) - h(table.sum(axis=0))) + second * (h(table) - h(table.sum(axis=1)))


def test_it_is_the_expansion_of_the_oriented_entropy_at_the_uniform_table():
    first, second, shape = 0.3, 0.6, (2, 3)
    uniform, random = np.full(shape, 1 / 6), np.random.default_rng(0)
    for _ in range(5):
        d = random.normal(size=shape)
        d -= d.mean()
        step = 1e-4
        value = lambda t: oriented_entropy(uniform + t * d, first, second)  # noqa: B023, E731
        curvature = (value(step) - 2 * value(0.0) + value(-step)) / step**2
        form = (first + second) * 6 * np.sum(d**2)
        form -= first * 3 * np.sum(d.sum(axis=0) ** 2) + second * 2 * np.sum(d.sum(axis=1) ** 2)
        assert curvature == pytest.approx(-form, rel=1e-4)
        assert form > 0.0


def gini_otrw(F, mu):
    """Its mean over examples, 0 at a labelling."""
    total = 0.0
    for one, x in zip(F.examples, mu, strict=True):
        root, first, second = spanning_trees(len(one.states), np.array(one.ends))
        for share, where in zip(root, one.at_node, strict=True):
            p = x[where]
            total += 0.5 * share * len(p) * (1.0 - p @ p)
        for (k, j), a, b, where in zip(one.tables, first, second, one.at_edge, strict=True):
            p = x[where].reshape(k, j)
            given_v = k * j * np.sum(p**2) - j * np.sum(p.sum(axis=0) ** 2)
            given_u = k * j * np.sum(p**2) - k * np.sum(p.sum(axis=1) ** 2)
            total += 0.5 * (a * (k * j - j - given_v) + b * (k * j - k - given_u))
    return total / F.n


@pytest.mark.parametrize("which", GRAPHS)
def test_no_step_lowers_the_dual_and_values_are_those_of_the_definitions(which):
    run = new_run(problem_of(GRAPHS[which]), passes=10**6)
    F = FactorReference(GRAPHS[which], C)
    last = -np.inf
    for _ in range(60):
        run.advance(1)
        found = run.values()
        mu = point_of(F, run.state)
        entropy = found.f_rho - F.soft_dual(mu, 0.5, messages_of(F, run.state.nu))
        assert entropy == pytest.approx(GAMMA * gini_otrw(F, mu), abs=1e-12)
        assert found.f_rho >= last - 1e-12
        assert found.gap >= 0.0
        last = found.f_rho


@pytest.mark.parametrize("which", GRAPHS)
def test_it_converges_to_a_consistent_point_without_a_gap(which):
    run = new_run(problem_of(GRAPHS[which]))
    start = run.values()
    for _ in range(1500):
        run.advance(run.blocks)  # updates of multipliers come between calls
    found = run.values()
    assert found.gap < 1e-5 * start.g
    assert found.square < 1e-8


def test_counts_are_refused():
    with pytest.raises(ValueError, match="without counts"):
        new_run(PROBLEMS[next(iter(COUNTS))])
