"""Every function of every class of problems once, in the order in which solvers call them.

Imported by a test, which calls them in compiled code, and run as a program without a compiler.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from graph_reference import graph_pair, path, tiny_graph_pairs
from sparse_reference import sparse_pair, sparse_pairs
from taut_reference import chain_pair, tiny_pairs

from taut import problem as ops
from taut.structures import slack_rescaled, smoothed
from taut.structures.pose_build import pose_problem


def problems() -> dict[str, Any]:
    pairs = tiny_pairs() | tiny_graph_pairs() | sparse_pairs()
    made = {name: pair[0] for name, pair in pairs.items()}
    del made["linear programs"]  # Python asks another library
    made["sparse chain"] = chain_pair([3, 1, 4], 5, kind="sparse", n_features=6, seed=1)[0]
    rng = np.random.default_rng(0)
    maps = [rng.normal(size=(3, 2, 4, 5)), rng.normal(size=(3, 2, 5, 3))]
    joints = [[(0, 0), (3, 2), (4, 3)], [(1, 1), (2, 4), (0, 2)]]
    made["poses"] = pose_problem(maps, joints, [-1, 0, 1])
    made["sums of a chain"] = smoothed(made["chain"], 0.7)
    made["sums of trees"] = smoothed(made["trees of two types"], loss_augmented=True)
    made["sums of step attributes"] = smoothed(made["step attributes"], 0.7)
    made["sums of many labels"] = smoothed(sparse_pair([4, 3], 20, seed=1)[0])
    made["rescaled chain"] = slack_rescaled(made["constrained chain with step features"])
    made["rescaled trees"] = slack_rescaled(graph_pair([path(3), path(2)], states=(3,), seed=8)[0])
    made["rescaled label sets"] = slack_rescaled(made["label sets"])
    return made


def arrays(value: Any) -> list[np.ndarray]:
    """All arrays in nested tuples."""
    if isinstance(value, tuple):
        return [part for entry in value for part in arrays(entry)]
    return [value] if isinstance(value, np.ndarray) else []


class Calls:
    """Calls of the functions of one problem; ``found`` is what each returned and left in memory."""

    def __init__(self, problem: Any, caller: Callable[[str], Callable]):
        self.problem, self.caller = problem, caller
        self.private: list[np.ndarray] = []  # scratch memory
        self.found: dict[str, list[np.ndarray]] = {}

    def __call__(self, name: str, *arguments: Any) -> Any:
        if not hasattr(type(self.problem), name) and name not in OPTIONAL:
            return None
        result = self.caller(name)(self.problem, *arguments)
        left = [each.copy() for each in arrays(arguments) if not self.is_private(each)]
        self.found.setdefault(name, []).extend([np.array(0.0 if result is None else result), *left])
        return result

    def is_private(self, array: np.ndarray) -> bool:
        return any(array is each for each in self.private)


OPTIONAL = ("attained", "finish_shifts")


def call_all(problem: Any, caller: Callable[[str], Callable]) -> dict[str, list[np.ndarray]]:
    call = Calls(problem, caller)
    w = np.random.default_rng(1).normal(size=problem.dim)
    w[problem.held_at_zero()] = 0.0
    work, mu, delta = problem.new_work(), problem.new_dual(), problem.new_delta()
    y, truth = np.zeros(problem.longest, np.int32), np.zeros(problem.longest, np.int32)
    call.private += arrays(work)
    for i in range(min(problem.n, 3)):
        mu = problem.with_room(mu, False)
        call("length", i)
        call("weight", i)
        call("true_label", i, truth)
        call("scores", w, i, work)
        call("block_value", w, i, work, mu)
        call("add_loss", i, work)
        bound = call("argmax", w, i, work, y)
        call("attained", w, i, work, y, bound)
        call("dual_has_room", mu, work)
        call("label_value", w, i, work, y)
        call("label_loss", i, y)
        call("begin_change", i, mu, -1.0, work)
        call("add_corner", i, y, 1.0, work)
        call("project", i, work, 0.3, delta)
        call("advance", i, mu, 0.4, work)
        call("begin_change", i, mu, 0.0, work)
        call("add_corner", i, truth, 1.0, work)
        call("add_corner", i, y, -1.0, work)
        call("project", i, work, -0.7, delta)
        call("scores", w, i, work)
        call("block_value", w, i, work, mu)
        mu = problem.with_room(mu, False)
        call("remember", i, y, mu, work)
        call("begin_margins", i, work)
        call("margin", w, i, y, work)
        call("margin", w, i, truth, work)
        call("shift", i, y, 0.1, 0.5, mu, delta, work)
        call("shift", i, truth, -0.1, 0.5, mu, delta, work)
        call("finish_shifts", i, 0.5, mu, delta, work)
        call("forget", i, y)
        call("scores", w, i, work)
        call("thinned", w, i, work, y, call("argmax", w, i, work, y))
        call("scores", w, i, work)
        call("value_alone", w, i, work)
        call("nearly_argmax", w, i, work, y, -1e9, 0.5)
        call("scores", w, i, work)
        call_sums(problem, call, w, i, work, mu)
        call("scores", w, i, work)
        search = without_errors(problem, "new_rescaled_search")
        if search is not None:
            call.private += arrays(search)
            call("rescaled_argmax", w, i, work, search, y)
    return call.found


def without_errors(problem: Any, maker: str) -> Any:
    """Memory for an oracle that not every problem has."""
    try:
        return getattr(problem, maker)()
    except (AttributeError, ValueError):
        return None


def call_sums(problem: Any, call: Calls, w: Any, i: int, work: Any, mu: Any) -> None:
    sums = without_errors(problem, "new_sums")
    if sums is None:
        return
    image = np.zeros(call("image_size", i))
    call("true_image", i, image)
    call("scores", w, i, work)
    call.private += arrays(sums)
    call("expected", w, i, work, sums, 1.3, image)
    call("image_value", w, i, work, image)
    call("narrowed", i, work, sums, 1.3, 0.5, image)
    call("log_sum", i, work, sums, 1.3)
    call("likely", i, work, sums, 1.3, 0.5, 2, image)
    call("image_loss", i, image)
    call("begin_change", i, mu, 0.0, work)
    call("add_marginals", i, image, 0.2, work)


if __name__ == "__main__":
    everything = {}
    for name, problem in problems().items():
        for op, results in call_all(problem, ops.__dict__.__getitem__).items():
            for number, result in enumerate(results):
                everything[f"{name}; {op}; {number}"] = result
    np.savez(sys.argv[1], **everything)
