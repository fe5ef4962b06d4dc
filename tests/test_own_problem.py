"""The compiled problem of one's own from the documentation, as a reader would use it."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from taut import BCFW, PythonProblem, solve
from taut._compile import cache
from taut._compile.modes import PLAIN
from taut.problem.capability import SVM, Capability
from taut.structures import slack_rescaled

SOURCE = Path(__file__).parents[1] / "docs" / "ordinal.py"


@pytest.fixture(scope="module")
def ordinal():
    spec = importlib.util.spec_from_file_location("ordinal", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    return X, np.clip((X @ [1.0, -0.5, 0.2] + 2).round(), 0, 3).astype(int)


class Grades:
    """The same model in plain Python."""

    def joint_feature(self, x, y):
        return np.concatenate([y * x, -(np.arange(1, 4) <= y).astype(float)])

    def loss(self, y, z):
        return float(abs(y - z))

    def oracle(self, w, x, y):
        return max(range(4), key=lambda z: abs(y - z) + w @ self.joint_feature(x, z))

    def slack_oracle(self, w, x, y):
        phi = self.joint_feature
        return max(range(4), key=lambda z: abs(y - z) * (1 + w @ (phi(x, z) - phi(x, y))))

    def predict(self, w, x):
        return max(range(4), key=lambda z: w @ self.joint_feature(x, z))


def test_compiled_interpreted_and_plain_python_agree(ordinal):
    X, y = data()
    problem = ordinal.ordinal_problem(X, y)
    solver = BCFW(direction="pairwise")
    compiled = solve(problem, solver, C=0.3, tol=1e-4)

    class Interpreted(ordinal.Ordinal):
        is_compiled = False

    np.testing.assert_array_equal(
        solve(Interpreted(*problem), solver, C=0.3, tol=1e-4).w, compiled.w
    )
    plain = solve(PythonProblem(Grades(), X, y.tolist()), solver, C=0.3, tol=1e-4)
    assert max(plain.dual, compiled.dual) <= min(plain.primal, compiled.primal) + 1e-14


def with_slack_oracle(ordinal):
    """What its author adds to rescale slacks: the oracle."""

    class WithSlackOracle(ordinal.Ordinal):
        capabilities = SVM | Capability.RESCALED_ORACLE

        def dual_size(problem, n):
            return n * (problem.n_grades - 1)

        def rescaled_argmax(problem, w, i, work, search, y):
            true, best = problem.truth[i], 0.0
            y[0] = true
            for k in range(problem.n_grades):
                value = abs(k - true) * (1.0 + work.theta[k] - work.theta[true])
                if value > best:
                    best = value
                    y[0] = k

    return WithSlackOracle


def test_slack_rescaling_of_a_foreign_class(ordinal):
    X, y = data()

    class Interpreted(with_slack_oracle(ordinal)):
        is_compiled = False

    own = slack_rescaled(Interpreted(*ordinal.ordinal_problem(X, y)))
    plain = PythonProblem(Grades(), X, y.tolist(), formulation="slack")
    for direction in ("pairwise", "corrective"):
        one, other = (
            solve(problem, BCFW(direction=direction), C=0.3, tol=1e-3) for problem in (own, plain)
        )
        assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-14
    with pytest.raises(ValueError, match=r"slack rescaling, which Ordinal\w* does not"):
        slack_rescaled(ordinal.ordinal_problem(X, y))


def test_compiled_slack_rescaling_of_a_foreign_class(ordinal):
    """One that needs no more memory for its oracle than its work."""
    compiled = with_slack_oracle(ordinal)(*ordinal.ordinal_problem(*data()))

    class Interpreted(type(compiled)):
        is_compiled = False

    one, other = (
        solve(slack_rescaled(problem), BCFW(direction="corrective"), C=0.3, tol=1e-3)
        for problem in (compiled, Interpreted(*compiled))
    )
    np.testing.assert_array_equal(one.w, other.w)


FIT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ordinal import ordinal_problem
from taut import BCFW, solve
from taut._compile import cache
X = np.random.default_rng(0).normal(size=(30, 3))
y = np.clip((X @ [1.0, -0.5, 0.2] + 2).round(), 0, 3).astype(int)
solve(ordinal_problem(X, y), BCFW(direction="pairwise"), C=0.3, max_passes=2)
print(sorted(what for what, new in cache.used.items() if new))
"""


@pytest.mark.skipif(PLAIN, reason="plain numba keeps nothing on disk")
def test_a_new_process_compiles_only_the_foreign_class_itself():
    """And that is not kept: nothing could tell that it was edited."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIT, str(SOURCE.parent)], capture_output=True, text=True
        )
        assert done.stderr == ""
    assert ast.literal_eval(done.stdout) == [
        f"ordinal.Ordinal {group}" for group in ("argmax", "labels", "learn", "scores")
    ]
    assert not any("ordinal" in what for what, _, _ in cache.entries())
