"""Kernels that know no structure find its functions in a table."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from taut._compile import Opaque, Problem, Vector, by_reference, compiled, generic, local
from taut._compile.modes import PLAIN
from taut._compile.ops import Table

pytestmark = pytest.mark.skipif(PLAIN, reason="plain numba has no tables")


@generic(group="test")
def value_of(problem: Problem, i: int, work: Opaque) -> float:
    """A number for example i."""


@generic(group="test")
def bonus(problem: Problem, i: int) -> float:
    """Something on top."""


@generic(group="test")
def fill(problem: Problem, out: Vector) -> None:
    """Write something."""


@generic(group="test of what nobody has")
def missing(problem: Problem) -> float:
    """A function that no class has."""


@by_reference
class Scratch(NamedTuple):
    factor: Vector


@by_reference
class Plain(NamedTuple):
    numbers: Vector

    def value_of(problem, i, work):
        return problem.numbers[i] * work.factor[0]

    def bonus(problem, i):
        return 0.25

    def fill(problem, out):
        out[0] = problem.numbers[0]

    def new_work(problem) -> Scratch:
        return Scratch(np.array([2.0]))


@by_reference
class Other(NamedTuple):
    offset: float

    def value_of(problem, i, work):
        return i + problem.offset  # an integer and a float

    def bonus(problem, i):
        return 1  # made a float

    def fill(problem, out):
        out[0] = problem.offset

    def new_work(problem) -> Scratch:
        return Scratch(np.zeros(0))


@by_reference
class OuterScratch(NamedTuple):
    base: Opaque


@by_reference
class Negated(NamedTuple):
    """A problem made of another, of any class."""

    base: Problem

    def value_of(problem, i, work):
        return -value_of(problem.base, i, work.base)

    def bonus(problem, i):
        return 0.25

    def fill(problem, out):
        fill(problem.base, out)
        out[0] *= -1.0

    def new_work(problem) -> OuterScratch:
        return OuterScratch(problem.base.new_work())


@compiled
def total(problem: Problem, n, work: Opaque):
    result = 0.0
    for i in range(n):
        result += value_of(problem, i, work) + bonus(problem, i)
    return result


@compiled
def first(problem: Problem, out):
    fill(problem, out)
    return out[0]


PROBLEMS = [
    Plain(np.arange(5.0)),
    Other(0.5),
    Negated(Plain(np.arange(5.0))),
    Negated(Other(0.5)),
    Negated(Negated(Plain(np.arange(5.0)))),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_a_kernel_runs_on_every_class_as_interpreted(problem):
    work = problem.new_work()
    assert total(problem, 5, work) == total.py_func(problem, 5, work)
    assert first(problem, np.zeros(1)) == first.py_func(problem, np.zeros(1))


def test_kernels_are_compiled_once_for_all_classes():
    for problem in PROBLEMS:
        total(problem, 5, problem.new_work())
    assert len(total.units) == 1


def of_a_new_class(factor=1.0):
    """A problem of a class that no kernel has met."""

    @by_reference
    class Unmet(NamedTuple):
        numbers: Vector

        def value_of(problem, i, work):
            return factor * problem.numbers[i]

        def bonus(problem, i):
            return 0.25

        def fill(problem, out):
            out[0] = 7.0

        def new_work(problem) -> Scratch:
            return Scratch(np.zeros(1))

    return Unmet(np.ones(2))


def test_a_problem_inside_another_has_its_functions_before_they_are_called():
    """A class that no kernel has met by itself."""
    problem = Negated(of_a_new_class(3.0))
    assert total(problem, 2, problem.new_work()) == -6.0 + 0.5


def test_a_function_that_a_class_lacks_is_an_error_before_the_kernel_runs():
    @compiled
    def ask(problem: Problem, out):
        out[0] = 1.0
        return missing(problem)

    out = np.zeros(1)
    with pytest.raises(TypeError, match=r"Plain has no method missing, which .*ask needs: write"):
        ask(PROBLEMS[0], out)
    assert out[0] == 0.0
    with pytest.raises(TypeError, match="Negated has no method missing"):
        ask(PROBLEMS[2], out)


def test_scratch_memory_of_unknown_type_is_an_error_that_says_what_to_annotate():
    @by_reference
    class Vague(NamedTuple):
        numbers: Vector

        def value_of(problem, i, work):
            return 0.0

        bonus = value_of

        def fill(problem, out):
            pass

        def new_work(problem):
            return Scratch(np.zeros(0))

    problem = Vague(np.zeros(1))
    with pytest.raises(TypeError, match="annotate what new_work returns"):
        total(problem, 1, problem.new_work())


def test_an_argument_of_the_wrong_type_is_an_error_that_names_it():
    @compiled
    def wrong(problem: Problem, out):
        fill(problem, out)

    with pytest.raises(Exception, match=r"fill: out is array\(float32, 1d, C\), where"):
        wrong(PROBLEMS[0], np.zeros(1, np.float32))


@compiled
def through_its_owner(problem, i, work: Opaque):
    return value_of(problem.base, i, work)


def test_a_problem_inside_a_named_tuple_of_known_type_has_its_functions_too():
    problem = Negated(of_a_new_class())
    assert through_its_owner(problem, 1, problem.base.new_work()) == 1.0


def test_a_table_without_its_functions_fails_without_a_crash(monkeypatch):
    monkeypatch.setattr(Table, "provide", lambda self, names, caller: None)

    @by_reference
    class Never(NamedTuple):
        numbers: Vector

    with pytest.raises(SystemError):
        first(Never(np.zeros(1)), np.zeros(1))


@by_reference
class Holder(NamedTuple):
    name: int
    negated: Negated


@compiled
def through_two(holder, i, work: Opaque):
    return value_of(holder.negated.base, i, work)


def test_problems_deep_inside_have_their_functions_at_the_first_call():
    problem = of_a_new_class()
    assert through_two(Holder(1, Negated(problem)), 1, problem.new_work()) == 1.0

    class Deeper(type(problem)):
        pass

    twice = Negated(Negated(Deeper(np.ones(2))))
    assert total(twice, 2, twice.new_work()) == 2.5


def test_threads_that_meet_a_class_at_once_share_its_table():
    def meet(k: int) -> list[Any]:
        class New(Plain):
            pass

        problem = Negated(New(np.arange(5.0)))
        work = problem.new_work()
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda _: total(problem, 5, work), range(4)))

    assert [meet(k) for k in range(3)] == [[-20.0 + 1.25] * 4] * 3


def test_a_function_of_numba_alone_is_told_that_it_cannot_call_a_kernel():
    @compiled
    def inner(x):
        return x[0]

    @numba.njit
    def outer(x):
        return inner(x)

    with pytest.raises(numba.TypingError, match="inner is a kernel of taut"):
        outer(np.zeros(1))


def test_kernels_are_pickled_by_their_name():
    assert pickle.loads(pickle.dumps(total)) is total


made_here = local(Scratch)


@compiled
def summed(n, factor):
    result = 0.0
    for k in range(n):
        result += bonus_of(made_here(factor[k:]))
    return result


@compiled
def bonus_of(scratch):
    return scratch.factor[0] + scratch.factor.size


def test_a_named_tuple_made_within_a_kernel_is_read_as_it_was_made():
    factor = np.arange(4.0)
    assert summed(4, factor) == summed.py_func(4, factor) == 6.0 + 10.0


def test_a_named_tuple_made_of_other_types_is_refused():
    with pytest.raises(Exception, match=r"Scratch\.factor is made of .*float32"):
        summed(1, np.zeros(2, np.float32))


def test_scratch_memory_of_another_class_than_promised_is_refused():
    @by_reference
    class Wrong(NamedTuple):
        numbers: Vector

        def new_work(problem) -> Scratch:
            return problem

    with pytest.raises(TypeError, match=r"new_work returned a Wrong, .* promises a Scratch$"):
        Wrong(np.zeros(1)).new_work()


def test_a_class_that_is_defined_again_has_its_own_functions():
    """As when the cell of a notebook is run again, or in two modules."""
    for factor in (2.0, 3.0, 5.0):
        problem = of_a_new_class(factor)
        assert total(problem, 2, problem.new_work()) == 2 * factor + 0.5


def test_a_class_that_is_not_marked_is_named_with_the_remedy():
    class Unmarked(NamedTuple):
        numbers: Vector

    @compiled
    def nothing(problem: Problem, n):
        return n

    with pytest.raises(TypeError, match="Unmarked is not marked by_reference: write"):
        nothing(Unmarked(np.ones(2)), 2)
