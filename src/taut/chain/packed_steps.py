"""Steps between labels to arrays of a model file, where not all of them have weights."""

import numpy as np

from taut.chain.model import ChainModel

Arrays = dict[str, np.ndarray]


def packed_steps(model: ChainModel) -> tuple[Arrays, np.ndarray, np.ndarray]:
    """Pairs of labels and attributes of steps that have a weight that is not zero, these weights in
    the order of a layout without the others, and which attributes are used."""
    layout = model.layout
    steps, pairs = layout.steps, layout.steps.pairs
    constant, weights = np.split(model.w[layout.step_at :], [steps.n_pairs])
    of_attribute = np.repeat(np.arange(steps.n_attributes), np.diff(steps.weights))
    kept = np.flatnonzero(weights)
    has_weight = constant != 0.0
    has_weight[steps.of_pair[kept]] = True
    number = np.cumsum(has_weight) - 1
    counts = np.bincount(of_attribute[kept], minlength=steps.n_attributes)
    arrays = {
        "steps.pair": pairs.codes[has_weight],
        "steps.count": counts[counts > 0],
        "steps.of_pair": number[steps.of_pair[kept]],
    }
    return arrays, np.concatenate([constant[has_weight], weights[kept]]), counts > 0
