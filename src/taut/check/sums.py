"""What ``check_problem`` finds wrong with sum oracles, and with oracles of slack rescaling."""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from taut.check.example import Example

SHARPNESS = 1.3


def check_sums(example: Example, w: np.ndarray) -> None:
    problem, i, work = example.problem, example.i, example.work
    try:
        sums = problem.new_sums()
    except ValueError:  # there is no exact one for these examples, and it says why
        return
    size = example.call("image_size", i)
    if not 1 <= size <= problem.largest_image:
        example.say(f"image_size is {size}; from 1 to largest_image, {problem.largest_image}")
        return
    example.measure(w)
    example.prepare(w, work)
    image = np.zeros(size)

    def mean(name: str, *before: Any) -> float:
        return example.call(name, *before, image)

    example.call("true_image", i, image)
    for name, value in (
        ("image_value", mean("image_value", w, i, work)),
        ("image_loss", mean("image_loss", i)),
    ):
        example.compare(f"{name} of true_image", value, "that of any truth", 0.0)
    log_z = example.call("expected", w, i, work, sums, SHARPNESS, image)
    values = np.array([example.value(w, y) for y in example.labellings])
    total = logsumexp(SHARPNESS * values)
    if log_z < total / SHARPNESS and example.differ(log_z, total / SHARPNESS):
        example.say(
            f"expected returns {log_z:.6g}, but a sum over fewer labellings is "
            f"{total / SHARPNESS:.6g}"
        )
    if not np.isclose(_number_of_labellings(example), len(values)):
        return
    weights = np.exp(SHARPNESS * values - total)
    losses = np.array([example.call("label_loss", i, y) for y in example.labellings])
    for name, value, expected, of_all in (
        ("expected", log_z, "the sum over all labellings", total / SHARPNESS),
        ("image_value", mean("image_value", w, i, work), "the mean label_value", weights @ values),
        ("image_loss", mean("image_loss", i), "the mean label_loss", weights @ losses),
    ):
        example.compare(f"{name} of all labellings", value, expected, of_all)


def _number_of_labellings(example: Example) -> float:
    """NaN if nothing tells."""
    counts, choices = example.problem.log_counts(), example.problem.choices(example.i)
    by_counts = np.nan if counts is None else float(np.exp(counts[example.i]))
    if choices is None:
        return by_counts
    number = float(np.prod(np.asarray(choices, np.float64)))
    if counts is not None:
        example.compare("log_counts", counts[example.i], "by choices it", float(np.log(number)))
    return number


def check_rescaled(example: Example, w: np.ndarray) -> None:
    problem, i, work = example.problem, example.i, example.work
    try:
        search = problem.new_rescaled_search()
    except ValueError:
        return
    example.measure(w)
    example.call("scores", w, i, work)
    y = example.written("rescaled_argmax", w, i, work, search)

    def rescaled(z: np.ndarray) -> float:
        return example.call("label_loss", i, z) * (1.0 + example.value(w, z))

    own, values = rescaled(y), [rescaled(z) for z in example.labellings]
    best = int(np.argmax(values))
    if own < values[best] and example.differ(own, values[best]):
        example.say(
            f"rescaled_argmax does not maximise loss * (1 + label_value): it answers "
            f"{example.name(y)} with {own:.6g}, but {example.name(example.labellings[best])} has "
            f"{values[best]:.6g}"
        )
