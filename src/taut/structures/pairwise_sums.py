"""The sum oracle of chains and single nodes: the image of the marginals, and log Z."""

from typing import Any

from taut._compile import both_modes
from taut.inference.forward_backward import (
    ChainSums,
    chain_expectation,
    independent,
    new_chain_sums,
)
from taut.structures.pairwise_kernels import close_scores


def new_pairwise_sums(problem: Any) -> ChainSums:
    n_tables = max(problem.longest - 1, 1) if problem.step_features.size else 1
    return new_chain_sums(problem.longest, n_tables, problem.n_states)


@both_modes
def write_expectation(problem, i, work, sums, sharpness, image):
    """Write the image of the marginals of exp(sharpness * score); returns log Z."""
    first = problem.pointer[i]
    length = problem.pointer[i + 1] - first
    theta, pair = work.theta, work.pair
    if problem.closed.size > 0 or problem.forced.size > 0:
        close_scores(problem, first, length, work)
        theta = work.closed_theta
        if problem.closed.size > 0:
            pair = work.closed_pair
    if problem.n_step == 0:
        n_states = problem.n_states
        node = image[: length * n_states].reshape((length, n_states))
        return independent(theta, length, sharpness, node)
    features = problem.step_features[first:]
    return chain_expectation(theta, pair, length, sharpness, features, sums, image)
