"""The LP relaxation by HiGHS, by message passing and, for two states, by roof duality.

The same relaxations for all. Complete graphs with two states: normal scores, and scores as
training makes them (weak interactions, most labels unlikely). Superpixel graphs of the Stanford
background images with eight states: node scores that favour the true label under noise; pair scores
that reward equal labels (Potts), that depend on both labels by one matrix for all edges (shared),
or that are all drawn at random (random: the relaxation is fractional almost everywhere).

Message passing stops at a gap of 1e-6 of the value with two states, of 1e-4 of the sum of all
ranges of scores with eight. "warm" starts from the messages of the first call after all scores
have changed by about one percent. Differences are those of bound and value to HiGHS's value, the
larger one, relative to that value. CPU milliseconds, means over the graphs; HiGHS includes building
its matrix. The second table fits the exponent of cost against nodes + edges on grids with eight
states; 1 is linear.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
import numpy as np
from common import table

from taut.datasets import load_stanford
from taut.inference.lp import lp_relaxation
from taut.inference.message_passing import lp_by_messages, new_message_work
from taut.inference.roof_duality import new_roof_work, roof_duality

MOST_ROUNDS = 100_000


class Model(NamedTuple):
    theta: np.ndarray
    states: np.ndarray
    ends: np.ndarray
    pair: np.ndarray

    @property
    def ranges(self) -> float:
        return float(np.ptp(self.theta, axis=1).sum() + np.ptp(self.pair, axis=(1, 2)).sum())

    def perturbed(self, random: np.random.Generator) -> "Model":
        theta, pair = (
            scores * (1.0 + 0.01 * random.normal(size=scores.shape))
            for scores in (self.theta, self.pair)
        )
        return self._replace(theta=theta, pair=pair)


def model(theta: np.ndarray, ends: np.ndarray, pair: np.ndarray) -> Model:
    n, n_states = theta.shape
    ends = np.ascontiguousarray(ends, np.int32)
    return Model(theta, np.full(n, n_states, np.int32), ends, np.ascontiguousarray(pair))


# --- models -----------------------------------------------------------------------------------


def complete(n: int, trained: bool, random: np.random.Generator) -> Model:
    ends = np.stack(np.triu_indices(n, 1), axis=1)
    if not trained:
        return model(random.normal(size=(n, 2)), ends, random.normal(size=(len(ends), 2, 2)))
    theta = np.zeros((n, 2))
    theta[:, 1] = random.normal(-0.5, 1.0, n)
    pair = 0.05 * random.normal(size=(len(ends), 2, 2))
    strength = random.choice([0.1, 0.5], len(ends)) * random.normal(size=len(ends))
    pair += strength[:, None, None] * np.eye(2)
    return model(theta, ends, pair)


def scores_of_edges(
    kind: str, m: int, random: np.random.Generator, n_states: int = 8
) -> np.ndarray:
    strength = random.random((m, 1, 1))
    noise = random.normal(size=(m, n_states, n_states))
    if kind == "Potts":
        return strength * np.eye(n_states)
    if kind == "random":
        return 0.5 * noise
    shared = 0.5 * random.normal(size=(n_states, n_states))
    return strength * (shared + shared.T + np.eye(n_states)) + 0.1 * noise


def superpixels(kind: str, graph: Any, labels: np.ndarray, random: np.random.Generator) -> Model:
    theta = random.normal(size=(len(labels), 8))
    theta[np.arange(len(labels)), np.maximum(labels, 0)] += 1.0
    edges = np.asarray(graph[1])
    return model(theta, edges, scores_of_edges(kind, len(edges), random))


def grid(side: int, kind: str, random: np.random.Generator) -> Model:
    node = np.arange(side * side).reshape(side, side)
    across = node[:, :-1].ravel(), node[:, 1:].ravel()
    down = node[:-1].ravel(), node[1:].ravel()
    ends = np.concatenate([np.stack(pairs, axis=1) for pairs in (across, down)])
    theta = random.normal(size=(side * side, 8))
    return model(theta, ends, scores_of_edges(kind, len(ends), random))


def families(quick: bool) -> Iterator[tuple[str, list[Model]]]:
    random = np.random.default_rng(0)
    for n in (14, 30):
        for trained in (False, True):
            name = f"complete {n}, {'as trained' if trained else 'normal'}"
            yield name, [complete(n, trained, random) for _ in range(5 if quick else 20)]
    data = load_stanford(subset="test")
    # HiGHS needs a minute for one with random scores.
    for kind, count in ("Potts", 10), ("shared", 10), ("random", 2):
        count = (1 if kind == "random" else 3) if quick else count
        pairs = zip(data.graphs[:count], data.labels[:count], strict=True)
        yield f"superpixels, {kind}", [superpixels(kind, *pair, random) for pair in pairs]


# --- contestants ------------------------------------------------------------------------------


def timed(call: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """CPU milliseconds, the least of some calls, and what the last one returned."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        times.append(1e3 * (time.process_time() - start))
    return min(times), result


class Messages(NamedTuple):
    milliseconds: float
    bound: float
    value: float
    rounds: np.ndarray
    messages: np.ndarray


def pass_messages(
    m: Model, start: np.ndarray, tol: float, most_rounds: int = MOST_ROUNDS, repeats: int = 3
) -> Messages:
    size = len(m.theta), len(m.ends)
    work = new_message_work(*size, m.theta.shape[1])
    node, edge, messages = np.zeros_like(m.theta), np.zeros_like(m.pair), start.copy()

    def call() -> tuple[float, float]:
        messages[:] = start
        return lp_by_messages(*m, *size, messages, work, node, edge, most_rounds, tol)

    milliseconds, (bound, value) = timed(call, repeats)
    return Messages(milliseconds, bound, value, work.rounds, messages)


def no_messages(m: Model) -> np.ndarray:
    return np.zeros((len(m.ends), 2, m.theta.shape[1]))


def by_roof_duality(m: Model) -> tuple[float, float]:
    """Milliseconds and value."""
    size = len(m.theta), len(m.ends)
    work, node, edge = new_roof_work(*size), np.zeros_like(m.theta), np.zeros_like(m.pair)
    arguments = m.theta, m.ends, m.pair, *size, work, node, edge
    milliseconds, (_, value) = timed(lambda: roof_duality(*arguments), 3)
    return milliseconds, value


def compare(m: Model, random: np.random.Generator) -> dict[str, float]:
    highs, (exact, _, _) = timed(lambda: lp_relaxation(*m))
    binary = m.theta.shape[1] == 2
    tol = 1e-6 * abs(exact) if binary else 1e-4 * m.ranges
    cold = pass_messages(m, no_messages(m), tol)
    warm = pass_messages(m.perturbed(random), cold.messages, tol)
    found = {
        "highs": highs,
        "cold": cold.milliseconds,
        "warm": warm.milliseconds,
        "sweeps": float(cold.rounds[0]),
        "steps": float(cold.rounds[1]),
        "difference": max(abs(cold.bound - exact), abs(cold.value - exact)) / abs(exact),
    }
    if binary:
        found["roof"], value = by_roof_duality(m)
        found["roof difference"] = abs(value - exact) / abs(exact)
    return found


# --- tables -----------------------------------------------------------------------------------


def comparison(quick: bool) -> None:
    random = np.random.default_rng(1)
    rows: list[list[Any]] = []
    for name, models in families(quick):
        found = [compare(m, random) for m in models]
        mean = {key: float(np.mean([entry[key] for entry in found])) for key in found[0]}
        most = {key: max(entry[key] for entry in found) for key in found[0]}
        roof = mean.get("roof")
        rows.append([
            name, len(models), mean["highs"], mean["cold"], mean["highs"] / mean["cold"],
            mean["warm"], mean["highs"] / mean["warm"],
            f"{mean['sweeps']:.0f} + {mean['steps']:.0f}", most["difference"],
            roof, None if roof is None else mean["highs"] / roof, most.get("roof difference"),
        ])  # fmt: skip
    header = ["relaxations", "number", "HiGHS ms", "messages ms", "ratio", "warm ms", "ratio",
              "sweeps + steps", "difference", "roof duality ms", "ratio", "difference"]  # fmt: skip
    table(header, rows)


def scaling(quick: bool) -> None:
    """Forty rounds on random scores (mostly steps), and from nothing to the gap on Potts scores."""
    sides = (10, 20, 40, 80) if quick else (10, 20, 40, 80, 160, 320)
    random = np.random.default_rng(2)
    rows: list[list[Any]] = []
    sizes, costs = [], []
    for side in sides:
        hard, easy = grid(side, "random", random), grid(side, "Potts", random)
        rounds = pass_messages(hard, no_messages(hard), 0.0, 40)
        solved = pass_messages(easy, no_messages(easy), 1e-4 * easy.ranges)
        sizes.append(len(easy.theta) + len(easy.ends))
        costs.append([rounds.milliseconds, solved.milliseconds])
        per_size = 1e3 * rounds.milliseconds / (40 * sizes[-1])
        rows.append([f"{side} x {side}", f"{sizes[-1]:,}", *costs[-1], per_size,
                     f"{solved.rounds[0]} + {solved.rounds[1]}"])  # fmt: skip
    slopes = [
        float(np.polyfit(np.log(sizes), np.log(cost), 1)[0]) for cost in zip(*costs, strict=True)
    ]
    rows.append(["exponent", None, *slopes, None, None])
    table(["grid", "nodes + edges", "40 rounds ms", "Potts to the gap ms",
           "us a round and node or edge", "sweeps + steps"], rows)  # fmt: skip


def main() -> None:
    options = common.arguments(__doc__)
    # Compile before anything is timed.
    small = complete(4, False, np.random.default_rng(0))
    compare(small, np.random.default_rng(0))
    comparison(options.quick)
    scaling(options.quick)


if __name__ == "__main__":
    main()
