"""What a trained chain CRF knows beyond the best labelling: probabilities, n-best lists, samples.

All of it is under the model's scheme and the labels forced: what these forbid has probability zero.
"""

from typing import Any

import numpy as np

from taut._compile import compiled, in_mode
from taut.chain_model import ChainModel, Stacked
from taut.inference.draw_labelling import draw_labelling
from taut.inference.nbest import n_best, new_n_best_work
from taut.inference.sum_product import new_sum_product_work, sum_product
from taut.posterior import posterior
from taut.problem import scores
from taut.structures.pairwise_kernels import close_scores


def node_marginals(
    model: ChainModel, text: Stacked, forced: np.ndarray | None = None, n_threads: int = 1
) -> np.ndarray:
    """(positions, K) probability of every label at every position of all sequences."""
    problem = model.problem(text, forced)
    with model.named_errors():
        return posterior(problem, model.w, model.temperature, n_threads)[0]


def log_likelihoods(
    model: ChainModel, text: Stacked, numbers: np.ndarray, n_threads: int = 1
) -> np.ndarray:
    """log p(labels) of every sequence; labels of number -1 are summed over.

    Minus infinity for labellings that the scheme forbids.
    """
    problem = model.problem(text)
    known = problem.constrained_to(numbers)
    _, all_of_them = posterior(problem, model.w, model.temperature, n_threads)
    _, agreeing = posterior(known, model.w, model.temperature, n_threads, forbidden_is_error=False)
    return agreeing - all_of_them


def n_best_labellings(
    model: ChainModel, text: Stacked, count: int, forced: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of every sequence the ``count`` most probable labellings (count, T), with probabilities."""
    problem, found = model.problem(text, forced), []
    with model.named_errors():
        _, log_z = posterior(problem, model.w, model.temperature)
    chains = Chains(problem, model.w)
    work = new_n_best_work(problem.longest, problem.n_states, count)
    for i in range(problem.n):
        theta, pair, truth_score = chains.scores(i)
        length, steps = len(theta), len(theta) - 1
        labels, values = np.zeros((count, length), np.int32), np.zeros(count)
        states, ends, order = chains.shape(length)
        kept = n_best(theta, states, ends, pair, length, steps, order, count, work, labels, values)
        log_p = (values[:kept] - truth_score) / model.temperature - log_z[i]
        found.append((labels[:kept], np.exp(log_p)))
    return found


def sampled_labellings(
    model: ChainModel,
    text: Stacked,
    count: int,
    random: np.random.RandomState,
    forced: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Of every sequence ``count`` labellings (count, T), drawn from the posterior."""
    problem, found = model.problem(text, forced), []
    n_states, chains = problem.n_states, Chains(problem, model.w)
    for i in range(problem.n):
        theta, pair, _ = chains.scores(i)
        length, steps = len(theta), len(theta) - 1
        states, ends, order = chains.shape(length)
        node, edge = np.zeros((length, n_states)), np.zeros((steps, n_states, n_states))
        log_z = sum_product(
            theta / model.temperature, states, ends, pair / model.temperature, length, steps,
            order, new_sum_product_work(length, n_states), node, edge,
        )  # fmt: skip
        if log_z == -np.inf:
            with model.named_errors():
                raise problem.impossible(i, model.w)
        labels = np.zeros((count, length), np.int32)
        for y in labels:
            uniforms = random.random_sample(length)
            draw_labelling(node, edge, states, ends, length, steps, order, uniforms, y)
        found.append(labels)
    return found


@compiled
def closed_scores(problem, w, i, work):
    """Scores of example i, minus infinity where constraints forbid a label or a step."""
    scores(problem, w, i, work)
    first = problem.pointer[i]
    if problem.closed.size > 0 or problem.forced.size > 0:
        close_scores(problem, first, problem.pointer[i + 1] - first, work)


class Chains:
    """The sequences of a problem one by one, as inference on forests wants them."""

    def __init__(self, problem: Any, w: np.ndarray):
        self.problem, self.w = problem, np.require(w, np.float64, ["C", "A", "W"])
        self.work = problem.new_work()
        self.closed_node = problem.closed.size > 0 or problem.forced.size > 0
        first = np.arange(max(problem.longest - 1, 0), dtype=np.int32)
        self.ends, self.order = np.stack([first, first + 1], axis=1), first
        self.states = np.full(problem.longest, problem.n_states, np.int32)

    def shape(self, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States of nodes, ends of edges, and their order from the first to the last."""
        steps = max(length - 1, 0)
        return self.states[:length], self.ends[:steps], self.order[:steps]

    def scores(self, i: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Of nodes and steps, and that of the labelling all zero, which log Z is relative to."""
        problem, work = self.problem, self.work
        in_mode(closed_scores, problem)(problem, self.w, i, work)
        length = int(problem.pointer[i + 1] - problem.pointer[i])
        theta = work.closed_theta if self.closed_node else work.theta
        pair = work.closed_pair if problem.closed.size else work.pair
        shared = len(pair) == 1
        zero = float(work.theta[:length, 0].sum())
        zero += float(
            work.pair[0, 0, 0] * (length - 1) if shared else work.pair[: length - 1, 0, 0].sum()
        )
        return theta[:length], pair if shared else pair[: length - 1], zero
