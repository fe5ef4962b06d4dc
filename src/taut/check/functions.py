"""What ``check_problem`` finds wrong with the functions of a problem.

Everything a solver relies on follows from few numbers: of each labelling its value, its loss, and
the features by which it differs from the truth. Each function says something of these, and must
agree with the others.
"""

from typing import Any

import numpy as np

from taut.check.changes import check_changes
from taut.check.example import Broken, Example, failure
from taut.check.sums import check_rescaled, check_sums
from taut.problem.capability import Capability


def check_data(problem: Any) -> list[str]:
    """What is wrong before any function of an example is called."""
    found = []
    for name in ("n", "dim", "longest"):
        value = getattr(problem, name)
        if not (isinstance(value, int | np.integer) and value >= 1):
            found.append(f"the problem: {name} is {value!r}; a number, at least 1, is expected")
    importance = np.asarray(problem.importance)
    if importance.shape != (problem.n,) or not np.all(np.isfinite(importance) & (importance >= 0)):
        found.append(
            f"the problem: importance has shape {importance.shape}; {problem.n} sample weights are "
            "expected, finite and not negative"
        )
    made = {}
    for name in ("fingerprint", "new_dual", "new_work", "new_delta", "worst_losses"):
        try:
            made[name] = getattr(problem, name)()
        except Exception as error:
            found.append(f"the problem: {failure(name, error)}")
    if found:
        return found
    dual, worst = made["new_dual"], made["worst_losses"]
    if made["fingerprint"] != problem.fingerprint(problem.n):
        found.append("the problem: fingerprint() differs from fingerprint(n), or between two calls")
    if problem.n > 1 and made["fingerprint"] == problem.fingerprint(problem.n - 1):
        found.append(
            "the problem: fingerprint(n - 1) is that of all n examples; it must tell the first "
            "examples from all of them"
        )
    if problem.is_compiled and not (
        isinstance(dual, np.ndarray) and dual.dtype == np.float64 and dual.ndim == 1
    ):
        found.append("the problem: new_dual is no vector of floating-point numbers")
    sized = Capability.SUM_ORACLE | Capability.RESCALED_ORACLE
    fixed = problem.capabilities & sized and not problem.dual_grows
    if not found and fixed and problem.dual_size(problem.n) != dual.size:
        found.append(
            f"the problem: dual_size(n) is {problem.dual_size(problem.n)}, but new_dual has "
            f"{dual.size} numbers"
        )
    if worst is not None and np.shape(worst) != (problem.n,):
        found.append(f"the problem: worst_losses has shape {np.shape(worst)}, not ({problem.n},)")
    return found


def function_findings(
    problem: Any, n_examples: int, weights: list[np.ndarray], random: np.random.Generator
) -> list[str]:
    found: list[str] = []
    before = problem.fingerprint()
    for i in spread(n_examples, problem.n):
        example = Example(problem, i)
        try:
            example.begin(random)
            check_truth(example)
            for w in weights:
                check_oracle(example, w)
            for w in weights[-2:]:
                check_changes(example, w)
            if example.can(Capability.SUM_ORACLE):
                check_sums(example, weights[1])
            if example.can(Capability.RESCALED_ORACLE):
                check_rescaled(example, weights[1])
        except Broken as error:
            example.say(str(error))
        found += example.found
    if problem.fingerprint() != before:
        found.append("the problem: its own data are changed by one of its functions")
    return found


def spread(n_examples: int, n: int) -> list[int]:
    """So many examples from the first to the last: where labels are sorted, neighbours are alike.

    >>> spread(4, 100)
    [0, 33, 66, 99]
    """
    return np.unique(np.linspace(0, n - 1, min(n_examples, n)).astype(int)).tolist()


def check_truth(example: Example) -> None:
    i, problem = example.i, example.problem
    example.compare("weight", example.call("weight", i), "importance", problem.importance[i])
    loss = example.call("label_loss", i, example.truth)
    if loss != 0:
        example.say(f"label_loss of the truth is {loss:.6g}; the truth must cost 0")


def check_oracle(example: Example, w: np.ndarray) -> None:
    i, problem, work, given = example.i, example.problem, example.work, w.copy()
    mu = problem.new_dual()
    example.measure(w)
    example.call("scores", given, i, work)
    example.compare(
        "label_value of the truth without loss",
        example.value(given, example.truth),
        "that of any truth",
        0.0,
    )
    if example.can(Capability.DECODING):
        example.know(example.written("argmax", given, i, work))
    example.prepare(given, work)
    example.compare(
        "label_value of the truth", example.value(given, example.truth), "that of any truth", 0.0
    )
    example.compare(
        "block_value at the truth",
        example.call("block_value", given, i, work, mu),
        "that of any truth",
        0.0,
    )
    memory = problem.memory.copy()
    value, y, attained = example.answer(given, work)
    example.know(y)
    check_best(example, given, value, y, attained)
    if example.worst is not None and not w.any() and problem.slack() == 0:
        example.compare("worst_losses", example.worst[i], "the oracle's value at w = 0", value)
    check_repeats(example, given, memory, value, y)
    if not np.array_equal(given, w):
        example.say("scores, argmax or a value modifies w; it is the solver's")
    if not example.same_dual(mu, problem.new_dual()):
        example.say("block_value modifies the dual; only advance and shift may")


def check_best(
    example: Example, w: np.ndarray, value: float, y: np.ndarray, attained: float
) -> None:
    own = example.value(w, y)
    if example.differ(attained, own):
        example.say(
            f"argmax returns {attained:.6g} for {example.name(y)}, but label_value of that is "
            f"{own:.6g}"
        )
    values = [example.value(w, z) for z in example.labellings]
    best = int(np.argmax(values))
    if value < values[best] and example.differ(value, values[best]):
        example.say(
            f"argmax does not maximise label_value: it answers {example.name(y)} with "
            f"{value:.6g}, but {example.name(example.labellings[best])} has {values[best]:.6g}"
        )


def check_repeats(
    example: Example, w: np.ndarray, memory: np.ndarray, value: float, y: np.ndarray
) -> None:
    """The answer depends on nothing that scratch memory was used for before."""
    problem, work = example.problem, example.problem.new_work()
    other = (example.i + 1) % problem.n
    example.call("scores", -w, other, work)
    example.call("add_loss", other, work)
    example.call("argmax", -w, other, work, np.zeros(problem.longest, np.int32))
    problem.memory[...] = memory
    example.prepare(w, work)
    again, z, _ = example.answer(w, work)
    if again != value or not np.array_equal(y[: example.size], z[: example.size]):
        example.say(
            f"argmax differs from one call to the next: {example.name(y)} with {value:.6g}, then "
            f"{example.name(z)} with {again:.6g}; is work what another example left?"
        )
