"""What taut translates itself, instead of numba, means what it means in Python."""

import math
import os
import re
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from taut._compile import Vector, both_modes, by_reference, compiled
from taut._compile.modes import INTERPRETED, PLAIN

if not PLAIN:
    from taut._compile import linking

SIZES = (0, 1, 5)
BOUNDS = (-7, -5, -2, -1, 0, 1, 3, 5, 6, 2**62, -(2**62))


def same(function, *arguments):
    """The result of compiled code, which is that of the same source in Python."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result, expected = function(*arguments), function.py_func(*copies)
    np.testing.assert_array_equal(result, expected)
    for given, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(given, copy)
    return result


# --- elements -------------------------------------------------------------------------------------


@compiled
def element(a, i):
    return a[i]


@compiled
def corner(a, i, j):
    return a[i, j]


@compiled
def deep(a, i, j, k):
    return a[i, j, k]


@compiled
def of_a_row(a, i, j):
    return a[i][j]


@compiled
def of_a_plane(a, i, j, k):
    plane = a[i]
    return plane[j, k] + a[i, j][k]


@compiled
def write(a, i, value):
    a[i] = value
    return a[i]


@compiled
def write_corner(a, i, j, value):
    a[i, j] += value
    a[i][j] *= 2
    return a[i, j]


@compiled
def fixed(a):
    a[0] = a[-1]
    a[-2] = a[1]
    return a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[-2]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.int16, np.uint64])
def test_an_element_of_any_type_by_any_index(kind):
    a = np.arange(1, 6).astype(kind)
    for i in (0, 4, -1, -5, np.int32(2), np.int16(-2), np.uint8(3), np.uint64(4)):
        assert same(element, a, i) == a[i]
        same(write, a.copy(), i, kind(7))


def test_true_and_false():
    a = np.array([True, False, True])
    assert [same(element, a, i) for i in (0, 1, -1)] == [True, False, True]
    same(write, a, 1, True)
    same(write, a, 0, False)


@pytest.mark.parametrize("kind", [np.float64, np.int32])
def test_elements_of_matrices_and_cubes(kind):
    a = np.arange(12).reshape(3, 4).astype(kind)
    cube = np.arange(24).reshape(2, 3, 4).astype(kind)
    for i in (0, 2, -1, -3, np.int32(1)):
        for j in (0, 3, -1, np.int32(-4)):
            same(corner, a, i, j)
            same(of_a_row, a, i, j)
            same(write_corner, a.copy(), i, j, kind(5))
            for k in (0, 1, -1, -2):
                same(deep, cube, k, i, j)
                same(of_a_plane, cube, k, i, j)


def test_a_number_is_converted_to_the_type_of_the_array():
    same(write, np.zeros(3, np.int32), 1, 2.75)
    same(write, np.zeros(3, np.float32), 1, 0.1)
    same(write, np.zeros(3), 1, 3)


def test_indices_that_are_written_in_the_source():
    same(fixed, np.array([1.0, 2.0, 3.0, 4.0]))
    same(fixed, np.array([1, 2, 3], np.int32))


# --- rows and slices ------------------------------------------------------------------------------


@both_modes
def weighed(a):
    """The sum of all elements, each with a number of its place, and the shape."""
    total = 0.0
    for i in range(a.size):
        total += (i + 1) * a[i]
    return total + 1000.0 * a.shape[0]


@compiled
def between(a, i, j):
    return weighed(a[i:j])


@compiled
def from_on(a, i):
    return weighed(a[i:])


@compiled
def up_to(a, j):
    return weighed(a[:j])


@compiled
def of_a_slice(a, i, j):
    part = a[1:][i:j]
    if part.size > 0:
        part[0] = -9.0
    return weighed(part)


@compiled
def rows_between(a, i, j):
    part = a[i:j]
    total = 0.0
    for k in range(part.shape[0]):
        total += (k + 1) * weighed(part[k])
    return total + 1000.0 * part.shape[0]


@compiled
def row_parts(a, i, j, k):
    return weighed(a[i][j:k])


@compiled
def assigned(a, i, j):
    a[i:j] = 0.5
    return a.size


@pytest.mark.parametrize("size", SIZES)
def test_slices_end_where_the_array_does(size):
    a = np.arange(1.0, size + 1)
    for i in BOUNDS:
        same(from_on, a, i)
        same(up_to, a, i)
        for j in BOUNDS:
            same(between, a, i, j)
            same(of_a_slice, a.copy(), i, j)
            same(assigned, a.copy(), i, j)


def test_slices_of_rows():
    a = np.arange(12.0).reshape(4, 3)
    for i in BOUNDS:
        for j in BOUNDS:
            same(rows_between, a, i, j)
            same(row_parts, a, -1, i, j)


# --- the same memory, seen otherwise --------------------------------------------------------------


@compiled
def flat(a):
    return weighed(a.reshape(-1))


@compiled
def reshaped(a, rows, columns):
    b = a.reshape((rows, columns))
    b[rows - 1, 0] = 5.0
    return weighed(b[0]) + 7.0 * weighed(b[rows - 1])


@compiled
def reshaped_by_numbers(a, rows, columns):
    return weighed(a.reshape(rows, columns)[-1])


@compiled
def reshaped_to_the_rest(a, rows):
    return weighed(a.reshape(rows, -1)[-1])


@compiled
def as_words(a):
    words = a.view(np.int64)
    words[0] += 1
    return words.size


@compiled
def as_floats(a, size):
    numbers = a[:size].view(np.float64)
    numbers[0] = 0.25
    return weighed(numbers)


def test_other_shapes():
    a = np.arange(12.0)
    assert same(flat, a.reshape(3, 4)) == same(flat, a.reshape(2, 2, 3)) == same(flat, a)
    for rows, columns in ((3, 4), (12, 1), (1, 12)):
        same(reshaped, a.copy(), rows, columns)
        same(reshaped_by_numbers, a, rows, columns)
        same(reshaped_to_the_rest, a, rows)


def test_other_types():
    same(as_words, np.array([0.1, 0.2]))
    same(as_floats, np.arange(6, dtype=np.int32), 4)


# --- loops ----------------------------------------------------------------------------------------


@compiled
def up(stop, out):
    at = 0
    for i in range(stop):
        out[at] = i
        at += 1
    return at


@compiled
def through(start, stop, out):
    at, last = 0, -99
    for i in range(start, stop):
        if i == 2:
            continue
        if i > 5:
            break
        out[at] = last = i
        at += 1
    return 100 * at + last


@compiled
def down(start, stop, out):
    at = 0
    for i in range(start, stop, -1):
        out[at] = i
        at += 1
    return at


@compiled
def by_two(start, stop, out):
    at = 0
    for i in range(start, stop, 2):
        out[at] = i
        at += 1
    return at


@compiled
def by_steps(start, stop, step, out):
    at = 0
    for i in range(start, stop, step):
        out[at] = i
        at += 1
    return at


@compiled
def nested(n, out):
    at = 0
    for i in range(n):
        for j in range(i, n):
            for i in range(j, 0, -1):
                out[at] = 100 * i + j
                at += 1
        out[at] = i
        at += 1
    return at


def test_loops():
    for stop in (-3, 0, 1, 9, np.int32(4)):
        same(up, stop, np.zeros(60))
        for start in (-4, 0, 3, 9):
            for loop in (through, down, by_two):
                same(loop, start, stop, np.zeros(60))
            for step in (-3, -1, 1, 2):
                same(by_steps, start, stop, step, np.zeros(60))
    same(nested, 4, np.zeros(60))


# --- numbers --------------------------------------------------------------------------------------


@compiled
def extremes(a, b, c):
    return max(a, b) + 10 * min(a, c) + 100 * max(b, a, c) + 1000 * min(c, b, a)


@compiled
def greatest(a, b):
    return max(a, b)


@compiled
def least(a, b):
    return min(a, b)


@compiled
def whole(a):
    return int(a)


def test_max_and_min():
    for numbers in ((3, 1, 2), (1.5, 2, -1.0), (np.int32(4), 7, 2.5), (-1, -2, -3)):
        same(extremes, *numbers)
    for a in (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan):
        for b in (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan):
            for which in (greatest, least):
                assert np.signbit(same(which, a, b)) == np.signbit(which.py_func(a, b))
    big = np.uint64(2**63 + 1)
    assert greatest(big, np.uint64(3)) == big


def test_int_cuts_off():
    for a in (2.75, -2.75, 0.0, -0.5, 1e15, np.float32(3.5)):
        assert same(whole, a) == int(a)


@compiled
def of_two(a, b, out):
    out[0], out[1], out[2] = a + b, a - b, a * b
    out[3] = a / b if b != 0 else -1.0
    out[4], out[5], out[6] = a < b, a <= b, a > b
    out[7], out[8], out[9] = a >= b, a == b, a != b
    total = 0
    total += a
    total -= b
    total *= a
    out[10] = total
    out[11] = a // b if b != 0 else -1.0
    out[12] = a % b if b != 0 else -1.0
    return out[10]


@compiled
def either(a, b, n):
    """Variables that are an integer here and a float there."""
    x = 0
    for i in range(n):
        x = a[i] if i < 2 else b[i]
        x = x + 1
    y = int(b[0]) if n > 1 else b[0]
    z = max(a[0], 0) if n > 1 else max(b[0], 0)
    return x + 10 * y + 100 * z


def test_arithmetic():
    numbers = (3, -2, 0, 2.5, -0.0, np.inf, np.nan, np.int32(7), np.float32(0.1), True)
    with np.errstate(all="ignore"):
        for a in numbers:
            for b in numbers:
                x, y = (float(v) if isinstance(v, np.float32 | bool) else v for v in (a, b))
                same(of_two, x, y, np.zeros(13))


def test_variables_of_two_types():
    for n in range(1, 5):
        same(either, np.arange(4), np.arange(4) + 0.75, n)


# --- what only looks like it ----------------------------------------------------------------------


@both_modes
def one_more(a, b):
    return slice(a, b + 1)


@both_modes
def up_to_and_with(a, b):
    return range(a, b + 1)


@compiled
def through_functions(x, a, b):
    total = weighed(x[one_more(a, b)])
    for i in up_to_and_with(a, b):
        total += 100 * i
    return total


@compiled
def of_tuples(a, b):
    bounds = (a, b)
    total = 10 * max(*bounds) + min(*bounds, 2)
    for i in range(*bounds):
        total += 100 * i
    return total


@compiled
def of_numbas_own(a, b):
    return math.gcd(a, b) + 100 * (2.0 in range(a))


@compiled
def unsigned(start, stop):
    count = 0
    for _ in range(start, stop):
        count += 1
    return count


@compiled
def as_large_as(a, k):
    return a.reshape(k).size + 100 * a.reshape((k, 2)).shape[0] + 1000 * a.reshape(2, k).shape[1]


@compiled
def everything(a):
    return a[()].size


def test_functions_that_return_a_range_or_a_slice():
    same(through_functions, np.arange(10.0), 0, 3)


def test_arguments_in_tuples():
    same(of_tuples, 1, 5)


def test_functions_of_numba_keep_their_own():
    same(of_numbas_own, 12, 18)


def test_other_ranges_and_shapes():
    assert unsigned(np.uint64(2**63 - 2), np.uint64(2**63 + 2)) == 4
    assert as_large_as(np.zeros((3, 4)), -1) == 12 + 600 + 6000
    same(everything, np.zeros((2, 3)))


@pytest.mark.skipif(PLAIN or INTERPRETED, reason="these settings concern our own translation")
@pytest.mark.parametrize("setting", ["NUMBA_DEBUGINFO", "NUMBA_BOUNDSCHECK"])
def test_settings_of_numba(setting, tmp_path):
    script = (
        "import numpy as np; from taut.arrays.accumulator import add_scaled, dot; "
        "x = np.arange(5.0); add_scaled(x, 2.0, x); print(dot(x, x))"
    )
    environment = {**os.environ, setting: "1", "TAUT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True)
    assert (done.stdout, done.stderr) == (b"270.0\n", b"")


# --- that it is short -----------------------------------------------------------------------------


@compiled
def sum_of_a_slice(a, i, j):
    total = 0.0
    part = a[i:j]
    for k in range(part.size):
        total += part[k]
    return total


@pytest.mark.skipif(
    PLAIN or INTERPRETED, reason="in this mode numba or Python runs it, not our translation"
)
def test_it_is_short():
    """numba's own translation of this takes 350 instructions, before anything is optimised."""
    with linking.compiling():
        made = linking.translated(
            sum_of_a_slice.helper, (numba.float64[::1], numba.int64, numba.int64)
        )
    functions = made.library._final_module.functions
    assert sum(len(list(b.instructions)) for f in functions for b in f.blocks) < 100


# --- what a kernel cannot do ----------------------------------------------------------------------


@by_reference
class Pair(NamedTuple):
    a: Vector
    b: float


@both_modes
def makes(p):
    return Pair(p.a, 2.0)


@both_modes
def says(p):
    print(p.b)
    return p.b


@both_modes
def allocates(p):
    return np.zeros(2)[0]


@pytest.mark.skipif(
    PLAIN or INTERPRETED, reason="in this mode numba or Python runs it, not our translation"
)
@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (makes, "a function that local(Pair) made"),
        (says, "NUMBA_DISABLE_JIT"),
        (allocates, "zeros"),
    ],
)
def test_what_a_kernel_cannot_do_is_said_with_the_place(mistake, said):
    @compiled
    def wrong(p):
        return mistake(p)

    with pytest.raises(Exception, match=re.escape(said)) as caught:
        wrong(Pair(np.ones(2), 1.0))
    notes = caught.value.__notes__
    assert re.search(r"while taut compiled .*wrong, .*test_lean.py:\d+", notes[0])
    assert len(notes) == 1 + (mistake is allocates)
