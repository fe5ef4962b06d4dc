"""Functions called through a pointer, and arrays handed over by reference.

A call that cannot work must end in an error: through a wrong pointer it would end the process.
"""

import subprocess
import sys

import numba
import numpy as np
import pytest

from taut._compile import FROZEN, INDEX, NUMBER, apart, compiled, freeze, thawed_as
from taut.inference.maxsum import MaxSumWork
from taut.structures.graphs.basis import Basis


def parts(scale=1.0):
    """Arrays, numbers and named tuples, of taut's own classes: types of kernels on disk are found
    by their module, and a class of the tests would be missed by every other process."""
    basis = Basis(np.arange(4), np.zeros(3, np.int32), scale * np.arange(3.0), np.ones(1, np.int32))
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    work = MaxSumWork(scale * np.ones((1, 2)), np.zeros((1, 2), np.int32), np.zeros(1, np.bool_))
    return basis, 0.5, table, 7, work


parts_of = thawed_as(parts())


@apart(FROZEN, INDEX, NUMBER)
def weighted(frozen, i, amount):
    basis, factor, table, count, _ = parts_of(frozen)
    return amount * factor * basis.value[i] + table[1, 2] + count


@apart(FROZEN, NUMBER)
def fill_last(frozen, value):
    work = parts_of(frozen)[4]
    work.best[:] = value
    return work.best[0, 1] + 1.0


@apart(INDEX)
def never_ready(i):
    return float(i)


@apart(INDEX)
def fails(i):
    if i > 2:
        raise ZeroDivisionError
    return 1.0 + i


@apart(INDEX)
def returns_an_integer(i):
    return i


@compiled
def call_weighted(frozen, i, amount):
    return weighted(frozen, i, amount)


@compiled
def call_never_ready(i):
    return never_ready(i)


@compiled
def call_fails(i):
    return fails(i)


def test_frozen_arrays_are_read_back():
    """2 * 0.5 * value[2] + table[1, 2] + count, called from compiled code and from Python."""
    values = parts()
    frozen = freeze(values, parts_of)
    weighted.make_ready()
    assert call_weighted(frozen, 2, 2.0) == 2.0 + 5.0 + 7.0
    assert weighted(frozen, 2, 2.0) == 2.0 + 5.0 + 7.0
    assert weighted.__wrapped__.__name__ == "weighted"


def test_they_are_references_not_copies():
    values = parts()
    frozen = freeze(values, parts_of)
    values[0].value[2] = 100.0
    weighted.make_ready()
    assert call_weighted(frozen, 2, 2.0) == 100.0 + 12.0
    assert fill_last(frozen, 3.0) == 4.0
    assert values[4].best.tolist() == [[3.0, 3.0]]
    assert values[0].value.tolist() == [0.0, 1.0, 100.0]


def test_several_frozen_values_do_not_mix():
    one, two = parts(), parts(scale=10.0)
    frozen = [freeze(values, parts_of) for values in (one, two)]
    weighted.make_ready()
    assert [call_weighted(f, 1, 2.0) for f in frozen] == [13.0, 22.0]


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (1, 7),
        (2, np.zeros((2, 3))),
        (2, np.zeros((3, 2), np.int32).T),
        (0, parts()[0]._replace(value=np.zeros(3, np.float32))),
        (4, parts()[0]),
    ],
    ids=["number", "numbers", "order", "precision", "another tuple"],
)
def test_values_of_another_type_cannot_be_frozen(place, other):
    values = list(parts())
    values[place] = other
    with pytest.raises(TypeError, match="would be read as"):
        freeze(tuple(values), parts_of)


def test_read_only_arrays_cannot_be_frozen():
    values = parts()
    values[2].flags.writeable = False
    with pytest.raises(TypeError, match="would be read as"):
        freeze(values, parts_of)


def test_a_call_before_the_function_is_ready_is_an_error():
    with pytest.raises(RuntimeError, match=r"never_ready was not made ready"):
        call_never_ready(1)
    never_ready.make_ready()
    assert call_never_ready(1) == 1.0


def test_making_ready_twice_is_making_ready():
    weighted.make_ready()
    weighted.make_ready()
    assert call_weighted(freeze(parts(), parts_of), 0, 1.0) == 12.0


def test_errors_inside_reach_the_caller():
    fails.make_ready()
    assert call_fails(2) == 3.0
    with pytest.raises(ZeroDivisionError):
        call_fails(3)


@pytest.mark.parametrize(
    "arguments",
    [(1, 1.0), (np.zeros(1, np.uint64), 0.5, 1.0), (np.zeros(1), 0, 1.0)],
    ids=["too few", "not an index", "not frozen"],
)
def test_arguments_of_other_types_are_refused_when_compiling(arguments):
    call = {2: lambda i, a: weighted(i, a), 3: lambda f, i, a: weighted(f, i, a)}[len(arguments)]
    with pytest.raises(TypeError, match=r"weighted is for .* not"):
        numba.njit(call)(*arguments)


def test_only_numbers_are_returned():
    with pytest.raises(TypeError, match="returns int64, not a float64"):
        returns_an_integer.make_ready()


SCRIPT = """
import numpy as np
from taut.solvers import BCFW, solve
from taut.solvers.bcfw import bcfw_steps
from taut.solvers.certificate import ask_oracle
from taut.structures.graphs import GraphModel, graph_problem
from taut.structures.graphs.compute import ALL
from taut.structures.graphs.oracle import METHODS
model = GraphModel((2,), ((0, 0),), 1, 0, pairwise="potts")
problem = graph_problem(
    model, np.array([[1.0], [-1.0], [0.5]]), np.array([3]), np.array([0, 1, 1]),
    np.array([[0, 1], [1, 2], [2, 0]]), np.array([3]), inference="INFERENCE",
)
print(solve(problem, BCFW(order="cyclic"), tol=0, max_passes=3).primal)
parts = [part.make_ready.__self__.dispatcher for part in (*ALL, *METHODS.values())]
for kernel in (bcfw_steps, ask_oracle, *parts):
    stats = kernel.stats
    print(kernel.__name__, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run_fresh(inference: str) -> tuple[float, dict[str, tuple[int, int]]]:
    """Train in a new process: the objective, and how often each kernel was on disk and was not."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("INFERENCE", inference)],
        capture_output=True,
        text=True,
        check=True,
    )
    primal, *rows = done.stdout.splitlines()
    return float(primal), {
        name: (int(hits), int(misses)) for name, hits, misses in (row.split() for row in rows)
    }


def test_later_processes_find_everything_on_disk():
    """Pointers differ from process to process; what is on disk knows them by name."""
    first, _ = run_fresh("exhaustive")
    again, kernels = run_fresh("exhaustive")
    assert again == first
    assert all(misses == 0 for _, misses in kernels.values())
    assert kernels["bcfw_steps"] == kernels["prepare_scores"] == (1, 0)
    assert kernels["by_trying_all"] == (1, 0)
    assert kernels["by_messages"] == (0, 0)
    # The same kernels of the solver now call another method, which this process makes ready.
    _, kernels = run_fresh("roof-duality")
    assert kernels["bcfw_steps"] == kernels["ask_oracle"] == (1, 0)
    assert kernels["by_trying_all"] == (0, 0)
    assert sum(kernels["by_roof_duality"]) == 1
