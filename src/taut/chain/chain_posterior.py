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
    first = np.arange(max(problem.longest - 1, 0), dtype=np.int32)
    ends, states = np.stack([first, first + 1], axis=1), np.full(problem.longest, problem.n_states)
    for i in range(problem.n):
        in_mode(scores_of, problem)(problem, w, i, work)
        theta, pair = problem.allowed_scores(i, work)
        yield Forest(
            theta / temperature,
            states[: len(theta)].astype(np.int32),
            ends[: len(theta) - 1],
            pair / temperature,
            first[: len(theta) - 1],
        )


@compiled
def scores_of(problem, w, i, work):
    scores(problem, w, i, work)
