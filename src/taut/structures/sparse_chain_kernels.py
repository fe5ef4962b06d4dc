"""The arithmetic of a chain with sparse steps in pieces; ``sparse_chain`` puts them together."""

from taut._compile import both_modes, compiled
from taut.arrays.accumulator import push, row_place
from taut.inference.pairs import found, pair_of
from taut.structures.pairwise_kernels import push_row


@both_modes
def pairs_of_image(problem, length):
    """How many numbers of an image are those of pairs."""
    n_pairs = problem.steps.pairs.target.size
    return n_pairs * (length - 1) if problem.steps.weights.size > 1 else n_pairs


@both_modes
def key_of_step(problem, nodes, y, t):
    """The key of the step that leads to node t, -1 if it is no pair; ``nodes`` come before."""
    pair = pair_of(problem.steps.pairs, y[t - 1], y[t])
    if pair < 0:
        return -1
    if problem.steps.weights.size > 1:
        return nodes + (t - 1) * problem.steps.pairs.target.size + pair
    return nodes + pair


@both_modes
def pair_scores(problem, w, first, length, step):
    """step[e, s] = score of pair s at step e; one row if all steps score alike."""
    steps = problem.steps
    n_pairs = steps.pairs.target.size
    constant = w[problem.step_at : problem.step_at + n_pairs]
    at = problem.step_at + n_pairs
    if steps.weights.size <= 1:
        for s in range(n_pairs):
            step[0, s] = constant[s]
        return
    rows = steps.rows
    for t in range(1, length):
        row, node = step[t - 1], first + t
        for s in range(n_pairs):
            row[s] = constant[s]
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            attribute, value = rows.indices[position], rows.data[position]
            for j in range(steps.weights[attribute], steps.weights[attribute + 1]):
                row[steps.of_pair[j]] += value * w[at + j]


@both_modes
def pair_score(problem, w, node, source, target):
    """The score of one step that leads to a node."""
    steps = problem.steps
    pair = pair_of(steps.pairs, source, target)
    if pair < 0:
        return 0.0
    total = w[problem.step_at + pair]
    if steps.weights.size > 1:
        at, rows = problem.step_at + steps.pairs.target.size, steps.rows
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            attribute = rows.indices[position]
            begin, end = steps.weights[attribute], steps.weights[attribute + 1]
            j = found(steps.of_pair, begin, end, pair)
            if j >= 0:
                total += rows.data[position] * w[at + j]
    return total


@both_modes
def push_pair(problem, first, number, amount, delta):
    """delta += amount * what one number of the image, of a pair, stands for."""
    steps = problem.steps
    n_pairs = steps.pairs.target.size
    if steps.weights.size <= 1:
        push(delta, problem.step_at + number, amount)
        return
    before = number // n_pairs
    pair = number - before * n_pairs
    node, rows = first + before + 1, steps.rows
    push(delta, problem.step_at + pair, amount)
    at = problem.step_at + n_pairs
    for position in range(rows.indptr[node], rows.indptr[node + 1]):
        attribute = rows.indices[position]
        begin, end = steps.weights[attribute], steps.weights[attribute + 1]
        j = found(steps.of_pair, begin, end, pair)
        if j >= 0:
            push(delta, at + j, amount * rows.data[position])


@both_modes
def push_pairs(problem, first, length, numbers, amount, delta):
    """The same for all numbers of pairs, where ``delta`` keeps rows."""
    steps = problem.steps
    n_pairs = steps.pairs.target.size
    if n_pairs == 0:
        return
    if steps.weights.size <= 1:
        push_row(delta, problem.step_at, numbers[:n_pairs], amount)
        return
    rows, at = steps.rows, problem.step_at + n_pairs
    for t in range(1, length):
        row, node = numbers[(t - 1) * n_pairs : t * n_pairs], first + t
        push_row(delta, problem.step_at, row, amount)
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            attribute, value = rows.indices[position], amount * rows.data[position]
            begin, end = steps.weights[attribute], steps.weights[attribute + 1]
            if begin < end:
                place = row_place(delta, at + begin, end - begin)
                for j in range(begin, end):
                    delta.value[place + j - begin] += value * row[steps.of_pair[j]]


@both_modes
def score_of(problem, work, y, length):
    """Score of labelling y under the current scores."""
    total = 0.0
    shared = work.step.shape[0] == 1
    for t in range(length):
        total += work.theta[t, y[t]]
        if t > 0:
            pair = pair_of(problem.steps.pairs, y[t - 1], y[t])
            if pair >= 0:
                total += work.step[0 if shared else t - 1, pair]
    return total


@both_modes
def write_dense_steps(problem, length, step, pair):
    """The scores of all steps: zero but for pairs. Other entries of ``pair`` are zero already."""
    pairs = problem.steps.pairs
    for e in range(min(pair.shape[0], length - 1)):
        for source in range(problem.n_states):
            for s in range(pairs.begin[source], pairs.begin[source + 1]):
                pair[e, source, pairs.target[s]] = step[e, s]


@compiled
def touch(work, key, amount):
    """change[key] += amount."""
    if work.place[key] == 0:
        work.touched[work.count[0]] = key
        work.count[0] += 1
        work.place[key] = work.count[0]
        work.change[key] = amount
    else:
        work.change[key] += amount


@compiled
def clear_change(work):
    """No key is touched, and the change is zero."""
    for j in range(work.count[0]):
        key = work.touched[j]
        work.change[key] = 0.0
        work.place[key] = 0
    work.count[0] = 0
