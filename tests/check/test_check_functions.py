"""check_problem says in words what is wrong with the functions of a problem."""

import importlib.util
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from op_calls import problems
from python_models import Multiclass

from taut import BCFW, PythonProblem, check_problem, solve
from taut._compile import Vector, by_reference, compiled, interpreting
from taut._compile.modes import INTERPRETED, PLAIN
from taut.problem.capability import SVM, Capability
from taut.problem.problem_type import problem_type
from taut.structures import chain_problem, partly_labelled

SOURCE = Path(__file__).parents[2] / "docs" / "ordinal.py"
spec = importlib.util.spec_from_file_location("ordinal", SOURCE)
ordinal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ordinal)
Ordinal = ordinal.Ordinal

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
Y = np.clip((X @ [1.0, -0.5, 0.2] + 2).round(), 0, 3).astype(int)


@pytest.mark.parametrize("name", problems())
def test_built_in_problems_are_right(name):
    check_problem(problems()[name], n_examples=2)


def test_the_problem_of_the_documentation_is_right():
    check_problem(ordinal.ordinal_problem(X, Y))


def test_missing_labels_are_two_problems():
    problem = chain_problem(X, [5, 7], Y, n_states=4)
    check_problem(partly_labelled(problem, np.arange(12) % 3 > 0))


# --- wrong problems, each by one function -------------------------------------------------------


def label_loss(problem, i, y):
    return float(abs(y[0] - problem.truth[i])) + 1.0


def negative_loss(problem, i, y):
    return -float(abs(y[0] - problem.truth[i]))


def another_loss(problem, i, work):
    for k in range(problem.n_grades):
        work.theta[k] += 2.0 * abs(k - problem.truth[i])


def misses_the_last(problem, w, i, work, y):
    y[0] = work.theta[: problem.n_grades - 1].argmax()
    return work.theta[y[0]] - work.theta[problem.truth[i]]


def not_relative(problem, w, i, work, y):
    y[0] = work.theta.argmax()
    return work.theta[y[0]] + 1.0


def writes_nothing(problem, w, i, work, y):
    return work.theta.max() - work.theta[problem.truth[i]]


def beyond_the_grades(problem, w, i, work, y):
    y[0] = work.theta.argmax() + 1
    return work.theta[y[0] - 1] - work.theta[problem.truth[i]]


def not_a_number(problem, w, i, work, y):
    y[0] = 0
    return np.nan


def value_of_the_grade(problem, w, i, work, y):
    return work.theta[y[0]]


def another_block(problem, w, i, work, mu):
    first = i * (problem.n_grades - 1)
    total = work.theta[0] - work.theta[problem.truth[i]]
    for k in range(2, problem.n_grades):
        total += mu[first + k - 1] * (work.theta[k] - work.theta[k - 1])
    return total


def block_value_that_writes(problem, w, i, work, mu):
    total = Ordinal.block_value(problem, w, i, work, mu)
    mu[0] += 0.5
    return total


def too_many_scores(problem, w, i, work):
    Ordinal.scores(problem, w, i, work)
    work.theta[problem.n_grades] = 0.0


def left_over_scores(problem, w, i, work):
    before = work.theta[1]
    Ordinal.scores(problem, w, i, work)
    work.theta[1] += before


def writes_to_w(problem, w, i, work):
    Ordinal.scores(problem, w, i, work)
    w[0] = 0.0


def writes_to_its_data(problem, w, i, work):
    Ordinal.scores(problem, w, i, work)
    problem.rows[i, 0] += 1.0


def without_keep(problem, i, mu, keep, work):
    first = i * work.change.size
    for j in range(work.change.size):
        work.change[j] = -mu[first + j]


def keeps_nothing(problem, i, mu, keep, work):
    work.change[:] = 0.0


def without_amount(problem, i, y, amount, work):
    work.change[: y[0]] += 1.0


def project_without_amount(problem, i, work, amount, delta):
    Ordinal.project(problem, i, work, 1.0, delta)


def project_backwards(problem, i, work, amount, delta):
    Ordinal.project(problem, i, work, -amount, delta)


def advance_without_step(problem, i, mu, step, work):
    Ordinal.advance(problem, i, mu, 1.0, work)


def advance_of_two(problem, i, mu, step, work):
    Ordinal.advance(problem, i, mu, step, work)
    Ordinal.advance(problem, (i + 1) % problem.n, mu, step, work)


def margin(problem, w, i, y, work):
    return -Ordinal.margin(problem, w, i, y, work)


def shift_without_scale(problem, i, y, amount, scale, mu, delta, work):
    Ordinal.shift(problem, i, y, amount, 1.0, mu, delta, work)


def shift_of_weights_alone(problem, i, y, amount, scale, mu, delta, work):
    Ordinal.shift(problem, i, y, amount, scale, mu.copy(), delta, work)


def copy_of_half(problem, source, target):
    target[: source.size // 2] = source[: source.size // 2]


WRONG = [
    ({"label_loss": label_loss}, "label_loss of the truth is 1; the truth must cost 0"),
    ({"label_loss": negative_loss}, r"label_loss of \[\d\] is -\d.0; it must be >= 0"),
    ({"add_loss": another_loss}, r"project of \[\d\]: <w, features> is .* label_value - label_l"),
    ({"argmax": misses_the_last}, r"argmax does not maximise label_value: it answers \[\d\] with "),
    ({"argmax": not_relative}, r"argmax returns .* for \[\d\], but label_value of that is"),
    ({"argmax": writes_nothing}, "argmax writes only a part of the 1 numbers of a labelling"),
    ({"argmax": beyond_the_grades}, r"argmax answers \[4\]; numbers below 4 are expected"),
    ({"argmax": not_a_number}, "argmax returns nan; the truth alone has value 0"),
    ({"label_value": value_of_the_grade}, "label_value of the truth without loss is .* is 0"),
    ({"block_value": another_block}, "block_value at the truth is .*, but that of any truth is 0"),
    ({"block_value": block_value_that_writes}, "block_value modifies the dual"),
    ({"scores": too_many_scores}, r"scores fails: IndexError: index 4 .*test_check_functions"),
    ({"scores": left_over_scores}, "argmax differs from one call to the next.*another example"),
    ({"scores": writes_to_w}, "scores, argmax or a value modifies w"),
    ({"scores": writes_to_its_data}, "its own data are changed by one of its functions"),
    ({"begin_change": without_keep}, r"begin_change with keep = 0, 0.3 add_corner of \[\d\]"),
    ({"begin_change": keeps_nothing}, r"project of \[\d\]: <w, features> is"),
    ({"add_corner": without_amount}, r"0.3 add_corner of \[\d\]: project adds .* where"),
    ({"project": project_without_amount}, r"project of \[\d\] by 0.3 adds .* to weight \d"),
    ({"project": project_backwards}, r"project of \[\d\]: <w, features> is"),
    ({"advance": advance_without_step}, r"advance by 0.4 to \[\d\]: block_value is .* 0.4 label_v"),
    ({"advance": advance_of_two}, "advance changes the dual of example 1, too"),
    ({"margin": margin}, r"margin of \[\d\] is .*, but label_loss - label_value is"),
    ({"shift": shift_without_scale}, r"shift to \[\d\] adds .* to weight \d, where"),
    ({"shift": shift_of_weights_alone}, r"shift to \[\d\] and advance to it leave different dual"),
    ({"copy_dual": copy_of_half}, "copy_dual does not take back what dual_array gave"),
    ({"length": lambda problem, i: 2}, "length is 2; from 1 to longest, 1, is expected"),
    ({"true_label": lambda problem, i, y: None}, "true_label writes only a part of the 1 numbers"),
    ({"weight": lambda problem, i: 2.0}, "weight is 2, but importance is 1"),
    ({"worst_losses": lambda problem: np.full(12, 3.5)}, "worst_losses is 3.5, but the oracle's"),
    ({"worst_losses": lambda problem: np.ones(3)}, r"worst_losses has shape \(3,\), not \(12,\)"),
    ({"fingerprint": lambda problem, n=None: str(n)}, r"fingerprint\(\) differs from fingerprint"),
    ({"new_dual": lambda problem: np.zeros((12, 3))}, "new_dual is no vector"),
    ({"new_work": lambda problem: 1 / 0}, "the problem: new_work fails: ZeroDivisionError"),
    ({"longest": 0}, "longest is 0; a number, at least 1, is expected"),
]


@pytest.mark.parametrize(
    ("members", "words"), WRONG, ids=[f"{', '.join(wrong)}: {words[:40]}" for wrong, words in WRONG]
)
def test_what_is_wrong_is_said(members, words):
    class Wrong(Ordinal):
        pass

    for name, member in members.items():
        setattr(Wrong, name, member)
    with pytest.raises(ValueError, match=rf"(?s)the problem is not right:\n.*{words}"):
        check_problem(Wrong(*ordinal.ordinal_problem(X.copy(), Y)), n_examples=4)


def test_an_index_error_in_a_compiled_helper_is_an_error_and_not_a_crash():
    @compiled
    def fill(theta, n):
        for k in range(n):
            theta[k] = 1.0

    class Wrong(Ordinal):
        def scores(problem, w, i, work):
            fill(work.theta, 10**9)

    with pytest.raises(ValueError, match="scores fails: IndexError: index 4 is out of bounds"):
        check_problem(Wrong(*ordinal.ordinal_problem(X, Y)))


@pytest.mark.skipif(PLAIN or INTERPRETED, reason="nothing is compiled to units here")
def test_kernels_are_machine_code_again_afterwards():
    @compiled
    def fill(theta):
        theta[0] = 1.0

    with interpreting():
        fill(np.zeros(2))
        assert not fill.units
    fill(np.zeros(2))
    assert len(fill.units) == 1


def test_an_accumulator_too_small_is_an_error_and_not_a_crash():
    class Wrong(Ordinal):
        def new_delta(problem):
            return ordinal.new_accumulator(problem.dim, 2)

    with pytest.raises(ValueError, match=r"project fails: IndexError: .*accumulator.py"):
        check_problem(Wrong(*ordinal.ordinal_problem(X, Y)))


def test_fields_that_compiled_code_could_not_read_are_named():
    problem = ordinal.ordinal_problem(X, Y)
    with pytest.raises(TypeError, match=r"Ordinal.rows must be a contiguous float64 array of 2"):
        check_problem(problem._replace(rows=X.astype(np.float32)))


@pytest.mark.skipif(PLAIN or INTERPRETED, reason="nothing is compiled here, or only in the end")
def test_what_cannot_be_compiled_is_found_in_the_end():
    class Wrong(Ordinal):
        def weight(problem, i):
            return sum([each for each in problem.importance[i : i + 1]])

    with pytest.raises(Exception, match=r"(?s).") as error:
        check_problem(Wrong(*ordinal.ordinal_problem(X, Y)))
    assert "while taut compiled" in str(error.value.__notes__)


def test_a_wrong_sum_oracle_is_found():
    class Wrong(type(chain_problem(X, [5, 7], Y, n_states=4))):
        def expected(problem, w, i, work, sums, sharpness, image):
            return -1.0

    with pytest.raises(ValueError, match="expected returns -1, but a sum over fewer labellings"):
        check_problem(Wrong(*chain_problem(X, [5, 7], Y, n_states=4)))


def test_a_wrong_oracle_of_slack_rescaling_is_found():
    class Wrong(Ordinal):
        capabilities = SVM | Capability.RESCALED_ORACLE

        def dual_size(problem, n):
            return n * (problem.n_grades - 1)

        def rescaled_argmax(problem, w, i, work, search, y):
            y[0] = problem.truth[i]

    with pytest.raises(ValueError, match=r"rescaled_argmax does not maximise loss \* \(1 \+ label"):
        check_problem(Wrong(*ordinal.ordinal_problem(X, Y)))


# --- what is missing ------------------------------------------------------------------------------


@problem_type
@by_reference
class Unfinished(NamedTuple):
    importance: Vector
    n: int
    dim: int

    def length(problem, i):
        return 1


def test_missing_members_are_named_with_their_signatures():
    with pytest.raises(TypeError, match=r"Unfinished cannot be used by check_problem") as error:
        check_problem(Unfinished(np.ones(2), 2, 3))
    said = str(error.value)
    for line in (
        "argmax(problem, w, i, work, y): Write the best labelling into ``y`` and return its score",
        "longest: Number of integers in the longest labelling.",
        "fingerprint(problem, n): A hash of data, labels and losses",
        "margin(problem, w, i, y, work): <w, phi_i(truth) - phi_i(y)>; costs only the places",
    ):
        assert f"\n  - {line}" in said
    for name in ("length(", "dim:", "begin_margins", "expected", "free"):
        assert f"- {name}" not in said


def test_a_class_that_is_not_marked_is_told_how():
    @by_reference
    class Unmarked(NamedTuple):
        n: int

    for wrong in (Unmarked(3), 3):
        with pytest.raises(TypeError, match=r"is not a problem; .* @problem_type, from "):
            check_problem(wrong)


def test_a_class_of_its_own_capabilities_that_is_not_marked_is_told_how():
    class Unmarked:
        capabilities = SVM
        n, dim = 3, 2

    for call in (check_problem, solve, lambda problem: solve(problem, BCFW())):
        with pytest.raises(TypeError, match=r"Unmarked is not a problem; .* @problem_type, from "):
            call(Unmarked())


def test_faults_of_the_last_examples_are_found():
    """Labels may be sorted."""
    X, Y = RNG.normal(size=(100, 3)), np.repeat(np.arange(4), [50, 30, 15, 5])

    class Wrong(Ordinal):
        def label_loss(problem, i, y):
            return float(abs(y[0] - problem.truth[i])) * (1.0 if problem.truth[i] < 3 else 2.0)

    with pytest.raises(ValueError, match="example 99: "):
        check_problem(Wrong(*ordinal.ordinal_problem(X, Y)))


def test_faults_of_the_last_examples_of_a_model_are_found():
    class Wrong(Multiclass):
        def loss(self, y, y_hat):
            return 1.0 if y == 2 else float(y != y_hat)

    y = np.repeat([0, 1, 2], [40, 15, 5])
    with pytest.raises(ValueError, match="example 59: loss"):
        check_problem(PythonProblem(Wrong(3), RNG.normal(size=(60, 2)), y.tolist()))


def test_a_fingerprint_tells_the_first_examples_from_all():
    class Wrong(Ordinal):
        def fingerprint(problem, n=None):
            return "always the same"

    with pytest.raises(ValueError, match=r"fingerprint\(n - 1\) is that of all n examples"):
        check_problem(Wrong(*ordinal.ordinal_problem(X, Y)))


def test_a_sum_that_is_too_large_is_found_where_choices_count_the_labellings():
    base = type(chain_problem(X, [5, 7], Y, n_states=4))

    class Wrong(base):
        def log_counts(problem):
            return None

        def choices(problem, i):
            return np.full(problem.pointer[i + 1] - problem.pointer[i], problem.n_states)

        def expected(problem, w, i, work, sums, sharpness, image):
            return 100.0

    problem = chain_problem(X, [2] * 6, Y, n_states=4)
    with pytest.raises(ValueError, match="expected of all labellings is 100, but the sum over all"):
        check_problem(Wrong(*problem))


def test_counts_that_are_not_those_of_the_choices_are_found():
    class Wrong(type(chain_problem(X, [5, 7], Y, n_states=4))):
        def log_counts(problem):
            return np.full(problem.n, np.log(15.0))

    with pytest.raises(ValueError, match=r"log_counts is 2\.70.*, but by choices it is 2\.77"):
        check_problem(Wrong(*chain_problem(X, [2] * 6, Y, n_states=4)))
