"""check_problem says in words what is wrong with a model."""

import numpy as np
import pytest
from python_models import Chain, Multiclass

from taut import PythonProblem, check_problem

X = np.random.default_rng(0).normal(size=(6, 4))
Y = [0, 1, 2, 0, 1, 2]


def check(model, X=X, Y=Y):
    check_problem(PythonProblem(model, X, Y))


def test_good_models_pass():
    check(Multiclass(3))
    for kind in ("dense", "csr", "coo"):
        check(Chain(2, 4, kind), [X[:3], X[3:]], [(0, 1, 0), (1, 1, 0)])


class Wrong(Multiclass):
    def __init__(self, **methods):
        super().__init__(3)
        self.__dict__.update(methods)


def mutate_x(w, x, y=None):
    x[0] += 1.0
    return 0


def features_by_count():
    calls = []

    def joint_feature(x, y):
        calls.append(y)
        return np.full(12, float(len(calls)))

    return joint_feature


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"loss": lambda y, z: 1.0}, r"example 0: loss\(y, y\) is 1.0; the truth must cost 0"),
        ({"loss": lambda y, z: -float(y != z)}, r"loss\(y, \d\) is -1.0; it must be >= 0"),
        ({"oracle": lambda w, x, y: y}, "example 0: oracle does not maximise loss \\+ <w, joint"),
        ({"predict": lambda w, x: 0}, "predict does not maximise <w, joint_feature>: it answers 0"),
        ({"joint_feature": lambda x, y: np.ones(12 + y)}, "returned 1. features, others have 12"),
        ({"joint_feature": features_by_count()}, "differs from one call to the next"),
        ({"oracle": lambda w, x, y: w.__setitem__(0, 5.0) or 0}, "modifies w; work on a copy"),
        ({"oracle": mutate_x}, "the model modifies x or y; work on a copy"),
        ({"predict": lambda w, x: 1 / 0}, "example 0: ZeroDivisionError"),
    ],
)
def test_findings(methods, message):
    with pytest.raises(ValueError, match=message):
        check(Wrong(**methods), X.copy(), [0] * 6 if "joint_feature" in methods else Y)


def best_by_margin(w, x, y):
    model = Chain(2, 4)
    return model.oracle(w, x, y)


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        (best_by_margin, r"slack_oracle does not maximise loss \* \(1 \+ <w"),
        (lambda w, x, y: w.fill(0.0) or y, "slack_oracle or predict modifies w"),
    ],
    ids=["margin", "modifies"],
)
def test_findings_under_slack_rescaling(oracle, message):
    X, Y = [np.tile(x, (3, 1)) for x in np.eye(4)], [(0, 1, 0)] * 4
    model = Chain(2, 4)
    check_problem(PythonProblem(model, X, Y, formulation="slack"))
    model.slack_oracle = oracle
    with pytest.raises(ValueError, match=message):
        check_problem(PythonProblem(model, X, Y, formulation="slack"))
    check_problem(PythonProblem(model, X, Y))


def test_a_feature_that_is_not_finite_for_some_label():
    def joint_feature(x, y):
        return np.full(12, np.nan) if y == 2 else Multiclass(3).joint_feature(x, y)

    with pytest.raises(ValueError, match="example 0 returned a feature that is NaN"):
        check(Wrong(joint_feature=joint_feature), X, [0, 1] * 3)


def test_all_findings_are_listed():
    with pytest.raises(ValueError, match="the model is not right") as error:
        check(Wrong(loss=lambda y, z: 1.0, predict=lambda w, x: 0))
    assert "loss(y, y) is 1.0" in str(error.value)
    assert "predict does not maximise" in str(error.value)
    assert "more like this" in str(error.value)
