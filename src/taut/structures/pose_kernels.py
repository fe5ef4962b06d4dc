"""The arithmetic of a pose problem in pieces; ``pose`` puts them together."""

import numpy as np

from taut._compile import both_modes, compiled
from taut.inference.distance_transform import distance_transform


@both_modes
def placed(problem, i, part, label):
    """Type, row and column of a label.

    Labels read from a checkpoint are known to be below ``n_states`` only; clipped, none leads
    outside the arrays.
    """
    width = problem.width[i]
    size = problem.height[i] * width
    label = min(label, problem.types[part] * size - 1)
    kind = label // size
    position = label - kind * size
    row = position // width
    return kind, row, position - row * width


@both_modes
def hung(problem, i, part, label, above):
    """How a part hangs on its parent: entries of spring and bias, displacement in units."""
    kind, row, column = placed(problem, i, part, label)
    parent = problem.parent[part]
    kind_above, row_above, column_above = placed(problem, i, parent, above)
    anchor = problem.anchor[problem.type_at[part] + kind]
    spring = problem.spring_at[part] + 4 * kind
    bias = problem.bias_at[part] + kind * problem.types[parent] + kind_above
    dx = (column - column_above - anchor[0]) / problem.unit
    dy = (row - row_above - anchor[1]) / problem.unit
    return spring, bias, dx, dy


@both_modes
def hung_score(problem, w, i, part, label, above):
    spring, bias, dx, dy = hung(problem, i, part, label, above)
    across = dx * (w[spring] + dx * w[spring + 1])
    down = dy * (w[spring + 2] + dy * w[spring + 3])
    return w[bias] - across - down


@both_modes
def part_score(problem, w, i, part, label):
    """<w_part[type], channels of the part at its position>."""
    kind, row, column = placed(problem, i, part, label)
    size = problem.height[i] * problem.width[i]
    at = problem.map_at[i] + part * problem.n_channels * size + row * problem.width[i] + column
    first = (problem.type_at[part] + kind) * problem.n_channels
    total = 0.0
    for f in range(problem.n_channels):
        total += w[first + f] * problem.maps[at + f * size]
    return total


@both_modes
def add_part(problem, i, part, label, amount, image):
    """image += amount * features of one part at its position."""
    kind, row, column = placed(problem, i, part, label)
    size = problem.height[i] * problem.width[i]
    at = problem.map_at[i] + part * problem.n_channels * size + row * problem.width[i] + column
    first = (problem.type_at[part] + kind) * problem.n_channels
    for f in range(problem.n_channels):
        image[first + f] += amount * problem.maps[at + f * size]


@both_modes
def add_hung(problem, i, part, label, above, amount, image):
    """image += amount * features of a part's spring and types."""
    spring, bias, dx, dy = hung(problem, i, part, label, above)
    image[spring] -= amount * dx
    image[spring + 1] -= amount * dx * dx
    image[spring + 2] -= amount * dy
    image[spring + 3] -= amount * dy * dy
    image[bias] += amount


@both_modes
def add_features(problem, i, y, amount, image):
    """image += amount * phi_i(y)."""
    for part in range(problem.n_parts):
        add_part(problem, i, part, y[part], amount, image)
        parent = problem.parent[part]
        if parent >= 0:
            add_hung(problem, i, part, y[part], y[parent], amount, image)


@both_modes
def add_difference(problem, i, y, truth, amount, image):
    """image += amount * (phi_i(y) - phi_i(truth)), at the cost of the parts that differ."""
    for part in range(problem.n_parts):
        differs = y[part] != truth[part]
        if differs:
            add_part(problem, i, part, y[part], amount, image)
            add_part(problem, i, part, truth[part], -amount, image)
        parent = problem.parent[part]
        if parent >= 0 and (differs or y[parent] != truth[parent]):
            add_hung(problem, i, part, y[part], y[parent], amount, image)
            add_hung(problem, i, part, truth[part], truth[parent], -amount, image)


@both_modes
def loss_of(problem, i, y):
    """Mean over parts of min(1, dist^2 / s^2)."""
    truth = problem.truth[problem.pointer[i] :]
    reach = problem.reach[i]
    total = 0.0
    for part in range(problem.n_parts):
        _, row, column = placed(problem, i, part, y[part])
        _, true_row, true_column = placed(problem, i, part, truth[part])
        down, across = row - true_row, column - true_column
        total += min(1.0, (down * down + across * across) / (reach * reach))
    return total / problem.n_parts


@both_modes
def total_score(problem, w, i, work, y):
    """Score of labelling y under the current scores."""
    size = problem.height[i] * problem.width[i]
    total = 0.0
    for part in range(problem.n_parts):
        kind, row, column = placed(problem, i, part, y[part])
        at = (problem.type_at[part] + kind) * size + row * problem.width[i] + column
        total += work.theta[at]
        parent = problem.parent[part]
        if parent >= 0:
            total += hung_score(problem, w, i, part, y[part], y[parent])
    return total


@both_modes
def subtract_bump(problem, i, part, share, theta):
    """theta -= share * max(0, 1 - dist^2 / s^2) for all types, near the true position only."""
    height, width, reach = problem.height[i], problem.width[i], problem.reach[i]
    label = problem.truth[problem.pointer[i] + part]
    _, true_row, true_column = placed(problem, i, part, label)
    radius = int(min(reach, float(height + width)))
    first, last = max(true_column - radius, 0), min(true_column + radius, width - 1)
    for kind in range(problem.types[part]):
        start = (problem.type_at[part] + kind) * height * width
        for row in range(max(true_row - radius, 0), min(true_row + radius, height - 1) + 1):
            down = row - true_row
            for column in range(first, last + 1):
                across = column - true_column
                near = 1.0 - (down * down + across * across) / (reach * reach)
                theta[start + row * width + column] -= share * max(near, 0.0)


# --- max-sum over the tree -------------------------------------------------------------------


@both_modes
def max_sum(problem, w, i, work, y):
    """Write the best labelling of the tree into ``y`` and return its score.

    total[p, t, x] = theta[p, t, x] + sum_{c hangs on p} message_c[t, x]
    message_c[t, x] = max_s (bias_c[s, t] + max_z (total[c, s, z] - spring_c[s](z - x)))
    """
    order, parent = problem.order, problem.parent
    size = problem.height[i] * problem.width[i]
    copy_to(work.theta[: problem.type_at[problem.n_parts] * size], work.total)
    for k in range(problem.n_parts - 1, 0, -1):
        send(problem, w, i, order[k], work)
    root = order[0]
    first = problem.type_at[root] * size
    best = highest(work.total[first : first + problem.types[root] * size])
    y[root] = best
    for k in range(1, problem.n_parts):
        part = order[k]
        y[part] = best_below(problem, w, i, part, y[parent[part]], work)
    return work.total[first + best]


@both_modes
def send(problem, w, i, part, work):
    """Add the message of a part to its parent's totals; remember where it came from."""
    height, width = problem.height[i], problem.width[i]
    size = height * width
    parent = problem.parent[part]
    n_above = problem.types[parent]
    unit = problem.unit
    message, best = work.message[:size], work.best
    for kind in range(problem.types[part]):
        number = problem.type_at[part] + kind
        spring = problem.spring_at[part] + 4 * kind
        at = number * size
        distance_transform(
            work.total[at : at + size].reshape((height, width)),
            (w[spring + 1] / (unit * unit), w[spring] / unit, problem.anchor[number, 0]),
            (w[spring + 3] / (unit * unit), w[spring + 2] / unit, problem.anchor[number, 1]),
            work.transform,
            message.reshape((height, width)),
            work.row[at : at + size].reshape((height, width)),
            work.column[at : at + size].reshape((height, width)),
        )
        bias = problem.bias_at[part] + kind * n_above
        for above in range(n_above):
            keep_best(message, w[bias + above], kind == 0, best[above * size :])
    above_at = problem.type_at[parent] * size
    add_all(best[: n_above * size], work.total[above_at:])


@both_modes
def best_below(problem, w, i, part, above, work):
    """The best label of a part whose parent has the label ``above``."""
    width = problem.width[i]
    size = problem.height[i] * width
    _, row_above, column_above = placed(problem, i, problem.parent[part], above)
    best, best_value = 0, -np.inf
    for kind in range(problem.types[part]):
        at = (problem.type_at[part] + kind) * size
        row = work.row[at + row_above * width + column_above]
        column = work.column[at + row * width + column_above]
        label = kind * size + row * width + column
        value = work.total[at + row * width + column]
        value += hung_score(problem, w, i, part, label, above)
        if value > best_value:
            best, best_value = label, value
    return best


@compiled
def copy_to(source, target):
    for j in range(source.size):
        target[j] = source[j]


@compiled
def add_all(source, target):
    for j in range(source.size):
        target[j] += source[j]


@compiled
def keep_best(message, bias, is_first, best):
    if is_first:
        for j in range(message.size):
            best[j] = message[j] + bias
    else:
        for j in range(message.size):
            candidate = message[j] + bias
            best[j] = candidate if candidate > best[j] else best[j]


@compiled
def highest(total):
    """The first place of the largest number."""
    best = 0
    for j in range(1, total.size):
        if total[j] > total[best]:
            best = j
    return best


@compiled
def channel_scores(maps, w, theta):
    """theta = sum_f w[f] * channel f."""
    size = theta.size
    for j in range(size):
        theta[j] = w[0] * maps[j]
    for f in range(1, w.size):
        channel = maps[f * size :]
        for j in range(size):
            theta[j] += w[f] * channel[j]


@compiled
def fill_truth(problem, mu):
    """The image of the truth in every block."""
    for i in range(problem.n):
        block = mu[i * (problem.dim + 1) : (i + 1) * (problem.dim + 1)]
        add_features(problem, i, problem.truth[problem.pointer[i] :], 1.0, block)
