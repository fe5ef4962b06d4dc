"""The arithmetic of a pairwise problem in pieces; ``pairwise`` puts them together."""

import numpy as np

from taut._compile import both_modes, compiled
from taut.arrays.accumulator import add_scaled, keeps_rows, push, row_place
from taut.structures.features import node_scores, push_node, push_states


@both_modes
def block_start(problem, i):
    """Where the dual block of example i begins."""
    steps = problem.n_step * problem.n_states * problem.n_states
    return problem.pointer[i] * problem.n_states + i * steps


@both_modes
def label_scores(problem, w, first, length, theta):
    """theta[t, k] = score of label k at node ``first + t``, steps apart."""
    node_scores(problem.features, w, first, length, theta)
    if problem.bias_at >= 0:
        for t in range(length):
            add_row(w, problem.bias_at, theta[t])
    if problem.begin_at >= 0:
        add_row(w, problem.begin_at, theta[0])
    if problem.end_at >= 0:
        add_row(w, problem.end_at, theta[length - 1])


@both_modes
def step_scores(problem, w, first, length, pair):
    n_states = problem.n_states
    matrix = n_states * n_states
    flat = pair.reshape(-1)
    at = problem.step_at
    if problem.step_features.size == 0:
        for j in range(matrix):
            flat[j] = w[at + j]
        return
    for t in range(length - 1):
        table = flat[t * matrix : (t + 1) * matrix]
        table[:] = 0.0
        for f in range(problem.n_step):
            add_scaled(
                w[at + f * matrix : at + (f + 1) * matrix],
                problem.step_features[first + t, f],
                table,
            )


@both_modes
def close_scores(problem, first, length, work):
    """Copy the scores, with minus infinity in place of what the constraints forbid."""
    n_states = problem.n_states
    theta = work.closed_theta
    for t in range(length):
        forced = -1
        if problem.forced.size > 0:
            forced = problem.forced[first + t]
        for k in range(n_states):
            theta[t, k] = work.theta[t, k] if forced < 0 or forced == k else -np.inf
    if problem.closed.size > 0:
        add_row(problem.closed[n_states], 0, theta[0])
        add_row(problem.closed[n_states + 1], 0, theta[length - 1])
        # Shared by all steps, or one for each.
        tables = 1 if work.pair.shape[0] == 1 else length - 1
        for e in range(tables):
            for k in range(n_states):
                for other in range(n_states):
                    work.closed_pair[e, k, other] = (
                        work.pair[e, k, other] + problem.closed[k, other]
                    )


@compiled
def step_score(steps, e, at, n_states):
    total = 0.0
    for f in range(e.size):
        total += e[f] * steps[at + f * n_states * n_states]
    return total


@both_modes
def biases(problem, w, t, length, k):
    total = 0.0
    if problem.bias_at >= 0:
        total += w[problem.bias_at + k]
    if t == 0 and problem.begin_at >= 0:
        total += w[problem.begin_at + k]
    if t == length - 1 and problem.end_at >= 0:
        total += w[problem.end_at + k]
    return total


@both_modes
def push_label(problem, delta, first, length, t, k, amount):
    """delta += amount * features of label k at position t."""
    push_node(problem.features, first + t, k, problem.n_states, amount, delta)
    if problem.bias_at >= 0:
        push(delta, problem.bias_at + k, amount)
    if t == 0 and problem.begin_at >= 0:
        push(delta, problem.begin_at + k, amount)
    if t == length - 1 and problem.end_at >= 0:
        push(delta, problem.end_at + k, amount)


@both_modes
def push_labels(problem, delta, first, length, t, row, amount):
    """delta += amount * features of position t, whose labels change by ``row``."""
    if not keeps_rows(delta):
        for k in range(row.size):
            if row[k] != 0.0:
                push_label(problem, delta, first, length, t, k, amount * row[k])
        return
    push_states(problem.features, first + t, row, amount, delta)
    if problem.bias_at >= 0:
        push_row(delta, problem.bias_at, row, amount)
    if t == 0 and problem.begin_at >= 0:
        push_row(delta, problem.begin_at, row, amount)
    if t == length - 1 and problem.end_at >= 0:
        push_row(delta, problem.end_at, row, amount)


@compiled
def push_row(delta, start, row, amount):
    """delta[start + k] += amount * row[k]."""
    if keeps_rows(delta):
        at = row_place(delta, start, row.size)
        add_scaled(row, amount, delta.value[at : at + row.size])
        return
    for k in range(row.size):
        if row[k] != 0.0:
            push(delta, start + k, amount * row[k])


@both_modes
def shift_step(problem, at, e, amount, scale, block, delta):
    """Add ``amount`` of one step (with features e; constant if empty) to mu_i, and to delta."""
    if e.size == 0:
        block[at] += amount
        push(delta, problem.step_at + at, -scale * amount)
    for f in range(e.size):
        entry = at + f * problem.n_states * problem.n_states
        block[entry] += amount * e[f]
        push(delta, problem.step_at + entry, -scale * amount * e[f])


@both_modes
def total_score(problem, work, y, length):
    """Score of labelling y under the current scores."""
    total = 0.0
    for t in range(length):
        total += work.theta[t, y[t]]
    if problem.n_step > 0:
        shared = work.pair.shape[0] == 1
        for t in range(length - 1):
            total += work.pair[0 if shared else t, y[t], y[t + 1]]
    return total


@both_modes
def add_image(problem, first, length, y, amount, change):
    """change += amount * image of the labelling y."""
    n_states = problem.n_states
    for t in range(length):
        change[t * n_states + y[t]] += amount
    if problem.n_step > 0:
        for t in range(length - 1):
            at = (length + y[t]) * n_states + y[t + 1]
            if problem.step_features.size == 0:
                change[at] += amount
            else:
                for f in range(problem.n_step):
                    change[at] += amount * problem.step_features[first + t, f]
                    at += n_states * n_states


@compiled
def add_row(w, at, row):
    added = w[at : at + row.size]
    for k in range(row.size):
        row[k] += added[k]
