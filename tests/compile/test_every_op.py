"""Every function of every class of problems does compiled what it does without a compiler."""

import os
import subprocess
import sys
from functools import cache

import numpy as np
import op_calls
import pytest

from taut import problem as ops
from taut._compile import Opaque, Problem, compiled
from taut._compile.modes import INTERPRETED, PLAIN

if not PLAIN:
    from taut._compile.ops import OPS

pytestmark = pytest.mark.skipif(PLAIN or INTERPRETED, reason="there are no tables of functions")
PROBLEMS = op_calls.problems()
# Converged to an accuracy; and maps in single precision, which Python's own numbers do not raise.
ROUGH = {"message passing", "message passing, two types", "poses"}


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    """Results of a process in which nothing is compiled."""
    file = tmp_path_factory.mktemp("interpreted") / "results.npz"
    done = subprocess.run(
        [sys.executable, op_calls.__file__, str(file)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(np.load(file))


@cache
def through_the_table(name):
    """A kernel that calls this function of a problem that it does not know."""
    op = OPS[name]
    names = {"__name__": "op_calls", "Problem": Problem, "Opaque": Opaque}
    names[name] = getattr(ops, name)
    kinds = {"problem": ": Problem", "work": ": Opaque", "sums": ": Opaque", "search": ": Opaque"}
    parameters = ", ".join(each + kinds.get(each, "") for each in op.parameters)
    source = f"def call_{name}({parameters}):\n    return {name}({', '.join(op.parameters)})"
    exec(source, names)
    return compiled(names[f"call_{name}"])


def assert_same(found, expected, op, which):
    assert found.dtype == expected.dtype
    if found.dtype == np.int32 and found.size % 2 == 0 and not np.array_equal(found, expected):
        found, expected = found.view(float), expected.view(float)  # an image: the bits of numbers
    close = 1e-6 if which in ROUGH else 1e-12
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=close, err_msg=op)


@pytest.mark.parametrize("which", PROBLEMS)
def test_compiled_it_does_the_same(which, interpreted):
    problem = PROBLEMS[which]
    found = op_calls.call_all(problem, through_the_table)
    own = {name for name in OPS if hasattr(type(problem), name)}
    assert {OPS[name].group for name in own - set(found)} <= {"sums", "rescaled"}  # not for all
    for op, results in found.items():
        for number, result in enumerate(results):
            assert_same(result, interpreted[f"{which}; {op}; {number}"], op, which)


def test_no_function_was_left_out(interpreted):
    called = {name.split("; ")[1] for name in interpreted}
    assert called == {name for name in OPS if hasattr(ops, name)}
