"""What ``check_problem`` finds wrong with a model in plain Python."""

import copy
from typing import Any

import numpy as np

from taut.check.functions import spread
from taut.problem.python_problem import PythonProblem, label_key


def model_findings(problem: PythonProblem, n_examples: int, weights: list[np.ndarray]) -> list[str]:
    findings: list[str] = []
    for i in spread(n_examples, problem.n):
        try:
            findings += _Example(problem, i).findings(weights)
        except Exception as error:
            findings.append(f"example {i}: {type(error).__name__}: {error}")
    return findings


class _Example:
    def __init__(self, problem: PythonProblem, i: int):
        self.problem, self.model, self.i = problem, problem.model, i
        self.x, self.y = problem.X[i], problem.Y[i]

    def features(self, label: Any) -> np.ndarray:
        return self.problem.features(self.i, label).to_dense(self.problem.dim)

    def findings(self, weights: list[np.ndarray]) -> list[str]:
        found: list[str] = []
        model, i, x, y = self.model, self.i, self.x, self.y
        before = copy.deepcopy((x, y))
        if model.loss(y, y) != 0:
            found.append(f"example {i}: loss(y, y) is {model.loss(y, y)}; the truth must cost 0")
        if not np.array_equal(self.features(y), self.features(y)):
            found.append(f"example {i}: joint_feature(x, y) differs from one call to the next")
        candidates = {label_key(y): y}
        answers = []
        name = self.problem.oracle_name
        for w in weights:
            given = w.copy()
            oracle, predicted = getattr(model, name)(given, x, y), model.predict(given, x)
            if not np.array_equal(given, w):
                found.append(f"example {i}: {name} or predict modifies w; work on a copy")
            answers.append((w, oracle, predicted))
            for label in (oracle, predicted):
                candidates.setdefault(label_key(label), label)
        for label in candidates.values():
            loss = model.loss(y, label)
            if not (np.isfinite(loss) and loss >= 0):
                found.append(f"example {i}: loss(y, {label!r}) is {loss}; it must be >= 0")
        phi = {key: self.features(label) for key, label in candidates.items()}
        loss = {key: float(model.loss(y, label)) for key, label in candidates.items()}
        for w, oracle, predicted in answers:
            score = {k: float(phi[k] @ w) for k in phi}
            if self.problem.formulation == "slack":
                value = {k: loss[k] * (1.0 + score[k] - score[label_key(y)]) for k in score}
            else:
                value = {k: loss[k] + score[k] for k in score}
            found += self._beaten(name, oracle, value, candidates, self.problem.maximised)
            found += self._beaten("predict", predicted, score, candidates, "<w, joint_feature>")
        if _differ(before, (x, y)):
            found.append(f"example {i}: the model modifies x or y; work on a copy")
        return found

    def _beaten(
        self, name: str, answer: Any, value: dict[Any, float], labels: dict, what: str
    ) -> list[str]:
        own = value[label_key(answer)]
        best = max(value, key=lambda key: value[key])
        if own >= value[best] - 1e-9 * (1.0 + abs(value[best])):
            return []
        return [
            f"example {self.i}: {name} does not maximise {what}: it answers {answer!r} with "
            f"{own:.6g}, but {labels[best]!r} has {value[best]:.6g}"
        ]


def _differ(a: Any, b: Any) -> bool:
    try:
        np.testing.assert_equal(a, b)
    except AssertionError:
        return True
    except Exception:
        return False  # objects that cannot be compared
    return False
