"""The sum oracle of chains with sparse steps: the image of the marginals, and log Z."""

import numpy as np

from taut._compile import both_modes
from taut.inference.forward_backward import WIDEST, scaled, scaled_step, spread
from taut.inference.likely_labels import add_likely, choose_likely
from taut.inference.log_forward_backward import logarithmic, logarithmic_step
from taut.inference.sparse_forward_backward import (
    add_pair_marginals,
    are_close,
    keep_most,
    sparse_log_z,
    sparse_marginals,
)
from taut.structures.pairwise_kernels import close_scores
from taut.structures.sparse_chain_kernels import pairs_of_image, write_dense_steps

# Where less than this may be lost at a position, a step toward few labels is so much worse than one
# toward all that training takes more passes, and longer in the end (French, 245 labels: measured).
WORTH_LOSING = 1e-3


@both_modes
def write_sparse_expectation(problem, i, work, sums, sharpness, image):
    """Write the image of the marginals of exp(sharpness * score); returns log Z."""
    first = problem.pointer[i]
    length = problem.pointer[i + 1] - first
    n_states = problem.n_states
    nodes = length * n_states
    theta, node = work.theta, image[:nodes].reshape((length, n_states))
    pairs = image[nodes : nodes + pairs_of_image(problem, length)]
    pairs[:] = 0.0
    if problem.closed.size > 0 or problem.forced.size > 0:
        if problem.closed.size > 0:
            write_dense_steps(problem, length, work.step, work.pair)
        close_scores(problem, first, length, work)
        theta = work.closed_theta
    if problem.closed.size == 0 and are_close(theta, work.step, length, sharpness):
        log_z = sparse_marginals(
            theta, work.step, problem.steps.pairs, length, sharpness, sums, node
        )
        sums.log_z[0] = log_z
        if log_z > -np.inf:
            add_pair_marginals(length, problem.steps.pairs, sums, pairs)
        return log_z
    sums.log_z[0] = np.nan
    return _by_full_tables(problem, length, work, sums, sharpness, theta, node, pairs)


@both_modes
def log_z_alone(problem, i, work, sums, sharpness):
    """log Z without the marginals; not a number where that is no less work."""
    length = problem.pointer[i + 1] - problem.pointer[i]
    if problem.closed.size > 0 or problem.forced.size > 0:
        return np.nan
    if not are_close(work.theta, work.step, length, sharpness):
        return np.nan
    return sparse_log_z(work.theta, work.step, problem.steps.pairs, length, sharpness, sums)


@both_modes
def narrow(problem, i, work, sums, sharpness, loss, image):
    """Limit the distribution of this image to the labels that have most of it, at each position
    at least exp(-loss / length); returns the logarithm of what is left, 0 if nothing was done.

    It is the same distribution, under the condition that no other label occurs.
    """
    first = problem.pointer[i]
    length = problem.pointer[i + 1] - first
    if not sums.log_z[0] > -np.inf or problem.forced.size > 0:
        return 0.0
    nodes = length * problem.n_states
    node, theta = image[:nodes].reshape((length, problem.n_states)), work.reach
    enough = np.exp(-loss / length)
    for t in range(length):
        keep_most(node[t], work.theta[t], enough, theta[t])
    if not are_close(theta, work.step, length, sharpness):
        return 0.0
    before = sums.log_z[0]
    pairs = image[nodes : nodes + pairs_of_image(problem, length)]
    pairs[:] = 0.0
    log_z = sparse_marginals(theta, work.step, problem.steps.pairs, length, sharpness, sums, node)
    add_pair_marginals(length, problem.steps.pairs, sums, pairs)
    return min(log_z - before, 0.0)


@both_modes
def write_likely(problem, i, work, sums, sharpness, loss, most, image):
    """Write the image of the distribution under the condition that only likely labels occur, with
    at least exp(-loss / length) of the probability at each position, as far as what comes before
    it tells. Returns log Z, or minus infinity where this cannot be done."""
    length = problem.pointer[i + 1] - problem.pointer[i]
    if problem.closed.size > 0 or problem.forced.size > 0 or loss < WORTH_LOSING * length:
        return -np.inf
    nodes = length * problem.n_states
    enough = np.exp(-loss / length)
    log_z = choose_likely(
        work.theta,
        work.step,
        problem.steps.pairs,
        length,
        sharpness,
        enough,
        most,
        sums,
    )
    if log_z > -np.inf:
        image[: nodes + pairs_of_image(problem, length)] = 0.0
        node = image[:nodes].reshape((length, problem.n_states))
        add_likely(length, most, sums, node, image[nodes:])
    return log_z


@both_modes
def _by_full_tables(problem, length, work, sums, sharpness, theta, node, pairs):
    """Where steps are forbidden, or scores too far apart: all steps have their score in a table."""
    steps, dense = problem.steps, sums.dense
    pair = work.closed_pair
    if problem.closed.size == 0:
        pair = sums.pair
        write_dense_steps(problem, length, work.step, pair)
    by_scaling = spread(theta, pair, length, sharpness) <= WIDEST
    if by_scaling:
        log_z = scaled(theta, pair, length, sharpness, dense, node)
    else:
        log_z = logarithmic(theta, pair, length, sharpness, dense, node)
    if log_z == -np.inf:
        return log_z
    n_pairs = steps.pairs.target.size
    for t in range(length - 1):
        if by_scaling:
            scaled_step(t, dense, dense.step)
        else:
            logarithmic_step(t, pair, sharpness, dense, dense.step)
        at = t * n_pairs if steps.weights.size > 1 else 0
        for source in range(problem.n_states):
            for s in range(steps.pairs.begin[source], steps.pairs.begin[source + 1]):
                pairs[at + s] += dense.step[source, steps.pairs.target[s]]
    return log_z
