"""Probabilities: the marginals of every node under trained weights, on all cores."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.inference.viterbi import viterbi
from taut.problem import expected, image_size, length, scores
from taut.problem.problem_type import weights_of


@compiled
def posterior_range(
    problem: Problem,
    w,
    sharpness,
    first,
    last,
    work: Opaque,
    sums: Opaque,
    image,
    node_at,
    node,
    value,
):
    """Marginals of the nodes of some examples, and log Z / sharpness minus the truth's score."""
    for i in range(first, last):
        scores(problem, w, i, work)
        size = image_size(problem, i)
        value[i] = expected(problem, w, i, work, sums, sharpness, image[:size])
        for t in range(length(problem, i)):
            row = node[node_at[i] + t]
            for k in range(row.size):
                row[k] = image[t * row.size + k]


def posterior(
    problem: Any,
    w: np.ndarray,
    temperature: float,
    n_threads: int = 1,
    forbidden_is_error: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Marginals (nodes, K) of p(y) ∝ exp(score(y) / temperature), example after example, and minus
    the log-likelihood of each example's true labelling.

    Raises :class:`taut.constraints.ImpossibleConstraint` for the first example whose
    constraints contradict each other, unless that is to have a value of minus infinity.
    """
    w = weights_of(problem, w)
    node = np.zeros((int(problem.pointer[-1]), problem.n_states))
    value = np.zeros(problem.n)
    edges = np.linspace(0, problem.n, max(min(n_threads, problem.n), 1) + 1).astype(int)

    def part(k: int) -> None:
        in_mode(posterior_range, problem)(
            problem, w, 1.0 / temperature, edges[k], edges[k + 1], problem.new_work(),
            problem.new_sums(), np.zeros(problem.largest_image), problem.pointer, node, value,
        )  # fmt: skip

    if len(edges) == 2:
        part(0)
    else:
        with ThreadPoolExecutor(len(edges) - 1) as pool:
            list(pool.map(part, range(len(edges) - 1)))
    forbidden = np.flatnonzero(value == -np.inf)
    if forbidden.size and forbidden_is_error:
        raise problem.impossible(int(forbidden[0]), w)
    return node, value / temperature


@compiled
def label_by_marginals(pointer, node, step, begin, end, theta, best, reach, labels):
    """The possible labelling of every chain whose labels' marginals have the largest sum."""
    for i in range(pointer.size - 1):
        first, stop = pointer[i], pointer[i + 1]
        for t in range(first, stop):
            row = theta[t - first]
            for k in range(row.size):
                row[k] = node[t, k] if node[t, k] > 0.0 else -np.inf
                row[k] += begin[k] if t == first else 0.0
                row[k] += end[k] if t == stop - 1 else 0.0
        viterbi(theta, step, stop - first, best, reach, labels[first:stop])


def posterior_labels(
    problem: Any, w: np.ndarray, temperature: float, n_threads: int = 1
) -> np.ndarray:
    """Labels that are expected to be right most often (minimum Bayes risk under Hamming loss).

    Without constraints these are the most probable labels of every node by itself; the labelling
    they make need not be a probable one.
    """
    node, _ = posterior(problem, w, temperature, n_threads)
    if not problem.closed.size:
        return node.argmax(axis=1).astype(np.int32)
    n_states, labels = problem.n_states, np.zeros(len(node), np.int32)
    rows = [np.zeros((problem.longest, n_states)) for _ in range(3)]
    step, begin, end = np.split(problem.closed, [n_states, n_states + 1])
    label_by_marginals(problem.pointer, node, step[None], begin[0], end[0], *rows, labels)
    return labels
