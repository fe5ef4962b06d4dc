"""Steps between labels to arrays of a model file and back, where not all of them have weights."""

import numpy as np

from taut.chain.model import ChainModel
from taut.structures.sparse_steps import Steps, new_steps

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


def unpacked_steps(K: int, pair: np.ndarray, count: np.ndarray, of_pair: np.ndarray) -> Steps:
    """Whole numbers of a file, as a layout of K labels wants them; ValueError if they are none."""
    if not pair.ndim == count.ndim == of_pair.ndim == 1:
        raise ValueError("its steps are not in rows")
    if pair.min(initial=0) < 0 or pair.max(initial=-1) >= K**2 or np.any(np.diff(pair) <= 0):
        raise ValueError("a weight belongs to a step that does not exist")
    if count.min(initial=1) < 1 or count.max(initial=0) > len(pair) or count.sum() != len(of_pair):
        raise ValueError("an attribute of steps has no weights, or more than there are steps")
    if of_pair.min(initial=0) < 0 or of_pair.max(initial=-1) >= len(pair):
        raise ValueError("an attribute has a weight for a step that does not exist")
    first = np.zeros(len(of_pair), bool)
    first[np.cumsum(count) - count] = True
    if not np.all(first[1:] | (of_pair[1:] > of_pair[:-1])):
        raise ValueError("the weights of an attribute of steps are not in order")
    return new_steps(pair, K, counts=count if len(count) else None, of_pair=of_pair)
