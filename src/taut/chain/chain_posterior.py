"""What a trained chain CRF knows beyond the best labelling: probabilities, n-best lists, samples.

All of it is under the model's scheme and the labels forced: what these forbid has probability zero.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from taut._compile import compiled, in_mode
from taut.chain.model import ChainModel, Stacked
from taut.inference.forest import Forest
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
    with model.named_errors():
        _, all_of_them = posterior(problem, model.w, model.temperature, n_threads)
    _, agreeing = posterior(known, model.w, model.temperature, n_threads, forbidden_is_error=False)
    return agreeing - all_of_them


def n_best_labellings(
    model: ChainModel, text: Stacked, count: int, forced: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of every sequence the ``count`` most probable labellings (count, T), with probabilities."""
    return [chain.best(count) for chain in _possible_chains(model, text, forced)]


def sampled_labellings(
    model: ChainModel,
    text: Stacked,
    count: int,
    random: np.random.RandomState,
    forced: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Of every sequence ``count`` labellings (count, T), drawn from the posterior."""
    return [chain.drawn(count, random) for chain in _possible_chains(model, text, forced)]


def _possible_chains(
    model: ChainModel, text: Stacked, forced: np.ndarray | None
) -> Iterator[Forest]:
    """Every sequence as a forest, after all were found to have some possible labelling."""
    problem = model.problem(text, forced)
    with model.named_errors():
        posterior(problem, model.w, model.temperature)
    return chains(problem, model.w, model.temperature)


def chains(problem: Any, w: np.ndarray, temperature: float) -> Iterator[Forest]:
    """The sequences of a problem one by one, as inference on forests wants them."""
    w, work = np.require(w, np.float64, ["C", "A"]), problem.new_work()
    is_closed = problem.closed.size > 0 or problem.forced.size > 0
    theta = work.closed_theta if is_closed else work.theta
    pair = work.closed_pair if problem.closed.size else work.pair
    first = np.arange(max(problem.longest - 1, 0), dtype=np.int32)
    ends, states = np.stack([first, first + 1], axis=1), np.full(problem.longest, problem.n_states)
    for i in range(problem.n):
        in_mode(closed_scores, problem)(problem, w, i, work)
        length = int(problem.pointer[i + 1] - problem.pointer[i])
        steps = length - 1
        yield Forest(
            theta[:length] / temperature,
            states[:length].astype(np.int32),
            ends[:steps],
            pair[: 1 if len(pair) == 1 else steps] / temperature,
            first[:steps],
        )


@compiled
def closed_scores(problem, w, i, work):
    """Scores of example i, minus infinity where constraints forbid a label or a step."""
    scores(problem, w, i, work)
    first = problem.pointer[i]
    if problem.closed.size > 0 or problem.forced.size > 0:
        close_scores(problem, first, problem.pointer[i + 1] - first, work)
