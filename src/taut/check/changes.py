"""What ``check_problem`` finds wrong with changes of a dual point, and of the weights with it."""

from typing import Any

import numpy as np

from taut.check.example import ROUNDING, Example
from taut.problem.capability import Capability

STEP = 0.4  # of a change that is tried


def check_changes(example: Example, w: np.ndarray) -> None:
    example.measure(w)
    for y in example.labellings[1:9]:
        example.prepare(w, example.work)
        value, loss = example.value(w, y), example.call("label_loss", example.i, y)
        if not (np.isfinite(loss) and loss >= 0):
            example.say(f"label_loss of {example.name(y)} is {loss}; it must be >= 0")
        psi = example.features(y)
        example.compare(
            f"project of {example.name(y)}: <w, features>",
            float(psi @ w),
            "label_value - label_loss",
            value - loss,
        )
        example.compare_weights(
            f"project of {example.name(y)} by 0.3", example.features(y, 0.3), 0.3 * psi
        )
        example.call("begin_change", example.i, example.problem.new_dual(), 0.0, example.work)
        for corner, amount in ((y, 0.3), (example.truth, -0.3)):
            example.call("add_corner", example.i, corner, amount, example.work)
        example.compare_weights(
            f"begin_change with keep = 0, 0.3 add_corner of {example.name(y)}: project",
            example.projected(1.0),
            0.3 * psi,
        )
        check_advance(example, w, y, value, psi)
        if example.can(Capability.MAX_ORACLE):
            example.call("begin_margins", example.i, example.work)
            margin = example.call("margin", w, example.i, y, example.work)
            example.compare(
                f"margin of {example.name(y)}", margin, "label_loss - label_value", loss - value
            )
            check_shift(example, y, psi)


def moved(example: Example, y: np.ndarray) -> Any:
    """The dual with a part of example i moved to y."""
    mu = example.problem.with_room(example.problem.new_dual(), False)
    example.call("begin_change", example.i, mu, -1.0, example.work)
    example.call("add_corner", example.i, y, 1.0, example.work)
    if not example.same_dual(mu, example.problem.new_dual()):
        example.say("begin_change or add_corner modifies the dual; only advance and shift may")
    example.call("advance", example.i, mu, STEP, example.work)
    return mu


def check_advance(
    example: Example, w: np.ndarray, y: np.ndarray, value: float, psi: np.ndarray
) -> None:
    i, n, mu = example.i, example.problem.n, moved(example, y)
    for j in {(i - 1) % n, (i + 1) % n} - {i}:
        example.call("scores", w, j, example.work)
        if example.differ(example.call("block_value", w, j, example.work, mu), 0.0):
            example.say(f"advance changes the dual of example {j}, too")
    example.prepare(w, example.work)
    mean = example.call("block_value", w, i, example.work, mu)
    example.compare(
        f"advance by {STEP} to {example.name(y)}: block_value",
        mean,
        f"{STEP} label_value",
        STEP * value,
    )
    kept = example.problem.new_dual()
    if isinstance(kept, np.ndarray):
        kept[:] = 0.0
    kept = example.problem.copy_dual(example.problem.dual_array(mu), kept)
    if not example.same_dual(kept, mu):
        example.say("copy_dual does not take back what dual_array gave")
    example.call("begin_change", i, mu, -1.0, example.work)
    example.call("add_corner", i, example.truth, 1.0, example.work)
    example.compare_weights(
        f"begin_change, back from {example.name(y)}: project", example.projected(1.0), -STEP * psi
    )
    example.call("advance", i, mu, 1.0, example.work)
    example.prepare(w, example.work)
    mean = example.call("block_value", w, i, example.work, mu)
    example.compare(
        f"begin_change, back from {example.name(y)}: block_value", mean, "that of any truth", 0.0
    )


def check_shift(example: Example, y: np.ndarray, psi: np.ndarray) -> None:
    problem, expected = example.problem, moved(example, y)
    mu = problem.with_room(problem.new_dual(), False)
    example.call("remember", example.i, y, mu, example.work)
    # A change that was begun before margins are asked for is no part of what is shifted.
    example.features(y)
    example.call("begin_margins", example.i, example.work)
    for each, amount in ((y, STEP), (example.truth, -STEP)):
        example.call("shift", example.i, each, amount, 0.5, mu, example.delta, example.work)
    example.call("finish_shifts", example.i, 0.5, mu, example.delta, example.work)
    example.compare_weights(f"shift to {example.name(y)}", example.collected(), -0.5 * STEP * psi)
    one, other = problem.dual_array(mu), problem.dual_array(expected)
    if not np.allclose(one, other, rtol=ROUNDING, atol=ROUNDING):
        example.say(f"shift to {example.name(y)} and advance to it leave different dual points")
