"""Cost of graphs against nodes + edges: inference and a training pass must grow linearly.

Random scores. Max-sum with four states on trees within a grid (each node hangs on the one left of
it or above it); graph cut on grids with two states and attractive edges; forty rounds of message
passing on grids with eight states; a pass of BCFW and a certificate of GraphSVM's problem on 16
grids with ten features (Potts, graph cut). CPU milliseconds, the least of three calls. The
exponents are slopes of log cost on log size by least squares; 1 is linear.

Max-sum and cut take microseconds on small graphs, and a processor that sees the same few thousand
comparisons again learns them by heart. So every size has as many different graphs as make up the
largest one, called one after the other, and their mean is reported.

The second table is one oracle call (scores, then cut) on superpixel graphs of 150 nodes with 200
node and 100 edge features: the mean over a pass of the oracle. Target: 1 ms.
"""

from functools import partial
from typing import Any

import common  # first: it limits threads before numpy starts
import numpy as np
from common import new_run, table
from inference import Model, grid, model, no_messages, pass_messages, timed

from taut.inference.graph_cut import graph_cut, new_cut_work
from taut.inference.maxsum import forest_order, max_sum, new_maxsum_work
from taut.solvers import BCFW
from taut.solvers.certificate import OraclePass
from taut.structures.graphs import GraphModel, GraphProblem, graph_problem
from taut.structures.grid import grid_edges

ROUNDS = 40
N_GRIDS = 16


# --- inference --------------------------------------------------------------------------------


def tree_in_grid(side: int, random: np.random.Generator) -> Model:
    node = np.arange(1, side * side)
    goes_left = (node < side) | ((node % side > 0) & (random.random(len(node)) < 0.5))
    ends = np.stack([node - np.where(goes_left, 1, side), node], axis=1)
    theta = random.normal(size=(side * side, 4))
    return model(theta, ends, random.normal(size=(len(ends), 4, 4)))


def attractive_grid(side: int, random: np.random.Generator) -> Model:
    ends, _ = grid_edges(side, side)
    pair = random.random((len(ends), 1, 1)) * np.eye(2)
    return model(random.normal(size=(side * side, 2)), ends, pair)


def by_max_sum(models: list[Model]) -> float:
    n, n_edges = len(models[0].theta), len(models[0].ends)
    orders = [forest_order(n, m.ends) for m in models]
    work, y = new_maxsum_work(n, n_edges, 4), np.zeros(n, np.int32)

    def call() -> None:
        for m, order in zip(models, orders, strict=True):
            max_sum(*m, n, n_edges, order, work, y)

    return timed(call, 3)[0] / len(models)


def by_cut(models: list[Model]) -> float:
    n, n_edges = len(models[0].theta), len(models[0].ends)
    work, y = new_cut_work(n, n_edges), np.zeros(n, np.int32)

    def call() -> None:
        for m in models:
            graph_cut(m.theta, m.ends, m.pair, n, n_edges, work, y)

    return timed(call, 3)[0] / len(models)


def by_messages(m: Model) -> float:
    return pass_messages(m, no_messages(m), 0.0, ROUNDS).milliseconds


# --- training ---------------------------------------------------------------------------------


def problem_of(
    ends: np.ndarray, n_nodes: int, n_graphs: int, n_features: int, n_edge_features: int
) -> GraphProblem:
    """Graphs of one shape; features hint at labels that neighbours share, so cuts do matter."""
    random = np.random.default_rng(0)
    truth = np.repeat(random.integers(0, 2, (n_graphs, n_nodes // 10 + 1)), 10, axis=1)[:, :n_nodes]
    rows = random.normal(size=(n_graphs * n_nodes, n_features))
    rows[:, 0] += truth.ravel()
    edge_rows = random.random((n_graphs * len(ends), n_edge_features)) if n_edge_features else None
    potts = GraphModel(
        (2,), ((0, 0),), n_features, n_edge_features, pairwise="potts", attractive=True
    )
    return graph_problem(
        potts, rows, np.full(n_graphs, n_nodes), truth.ravel(),
        np.tile(ends, (n_graphs, 1)), np.full(n_graphs, len(ends)),
        edge_rows=edge_rows, inference="graph-cut",
    )  # fmt: skip


def training(side: int) -> tuple[float, float]:
    """Milliseconds of a pass and of a certificate, once weights are no longer zero."""
    ends, _ = grid_edges(side, side)
    run = new_run(problem_of(ends, side * side, N_GRIDS, 10, 0), BCFW(order="cyclic"), 1.0)
    run.advance(2 * run.n)
    return timed(lambda: run.advance(run.n), 3)[0], timed(run.certify, 3)[0]


# --- tables -----------------------------------------------------------------------------------


def scaling(sides: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    rows: list[list[Any]] = []
    sizes, costs = [], []
    for side in sides:
        count = (sides[-1] // side) ** 2
        trees = [tree_in_grid(side, random) for _ in range(count)]
        grids = [attractive_grid(side, random) for _ in range(count)]
        n_nodes, n_edges = len(grids[0].theta), len(grids[0].ends)
        sizes.append([2 * n_nodes - 1] + [n_nodes + n_edges] * 4)
        costs.append([by_max_sum(trees), by_cut(grids), by_messages(grid(side, "random", random)),
                      *training(side)])  # fmt: skip
        rows.append([f"{side} x {side}", f"{sizes[-1][0]:,}", f"{sizes[-1][-1]:,}", *costs[-1]])
    slopes = [
        float(np.polyfit(np.log(size), np.log(cost), 1)[0])
        for size, cost in zip(np.transpose(sizes), np.transpose(costs), strict=True)
    ]
    rows.append(["exponent", None, None, *slopes])
    header = ["nodes", "of a tree, with edges", "of a grid, with edges", "max-sum ms", "cut ms",
              f"{ROUNDS} rounds ms", "BCFW pass ms", "certificate ms"]  # fmt: skip
    table(header, rows)


def superpixel_oracle() -> None:
    """A 10 x 15 grid with one diagonal has 150 nodes and 401 edges, as superpixels do."""
    node = np.arange(150).reshape(10, 15)
    diagonal = np.stack([node[:-1, :-1].ravel(), node[1:, 1:].ravel()], axis=1)
    ends = np.concatenate([grid_edges(10, 15)[0], diagonal]).astype(np.int32)
    rows: list[list[Any]] = []
    for n_edge_features in (0, 31, 100):
        problem = problem_of(ends, 150, 100, 200, n_edge_features)
        run = new_run(problem, BCFW(order="cyclic"), 1.0)
        run.advance(5 * run.n)
        oracle = OraclePass(problem, 1)
        w, mu = run.state.w, run.state.mu
        milliseconds, _ = timed(partial(oracle.run, w, mu), 5)
        active = int((w[-max(n_edge_features, 1) :] > 0).sum())
        rows.append([150, len(ends), 200, n_edge_features, active, milliseconds / problem.n])
    header = ["nodes", "edges", "node features", "edge features", "positive edge weights",
              "oracle ms an example"]  # fmt: skip
    table(header, rows)


def main() -> None:
    options = common.arguments(__doc__)
    # Compile before anything is timed.
    random = np.random.default_rng(0)
    by_max_sum([tree_in_grid(2, random)])
    by_cut([attractive_grid(2, random)])
    by_messages(grid(2, "random", random))
    training(2)
    scaling((40, 80, 160) if options.quick else (40, 80, 160, 320))
    superpixel_oracle()


if __name__ == "__main__":
    main()
