"""Constraints: the search runs over the possible labellings, and says where there are none."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from taut_reference import chain_pair, random_constraints

from taut.constraints import ImpossibleConstraint, InvalidTruth
from taut.decode import decode
from taut.inference.enumeration import enumerate_chain, possible_labellings
from taut.solvers import BCFW, FrankWolfe, solve
from taut.structures import Pairwise, chain_problem, multiclass_problem
from taut.structures.features import node_features


class Interpreted(Pairwise):
    """The same arrays; functions then run as Python source."""

    is_compiled = False


def anything(K):
    return np.ones(K, bool), np.ones(K, bool), np.ones((K, K), bool)


@st.composite
def sequences_to_label(draw):
    """Weights and a problem for prediction, with its tables and forced labels.

    Whole numbers make ties; tables go from nearly nothing allowed to everything.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    K, n_step = draw(st.integers(1, 4)), draw(st.sampled_from([0, 2]))
    lengths = np.array(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    share, n_nodes = draw(st.sampled_from([0.2, 0.5, 0.8, 1.0])), int(lengths.sum())
    allowed = rng.random(K) < share, rng.random(K) < share, rng.random((K, K)) < share
    is_forced = rng.random(n_nodes) < draw(st.sampled_from([0.0, 0.3]))
    forced = np.where(is_forced, rng.integers(0, K, n_nodes), -1)
    rows = rng.integers(-1, 2, (n_nodes, 2)).astype(float)
    steps = rng.integers(-1, 2, (n_nodes, n_step)).astype(float) if n_step else None
    truth = np.zeros(n_nodes, int)
    problem = chain_problem(rows, lengths, truth, K, step_features=steps)
    integers = draw(st.booleans())
    w = rng.integers(-1, 2, problem.dim) if integers else rng.normal(size=problem.dim)
    return problem.constrained(allowed, forced), w.astype(float), allowed, forced


def parts(values, problem):
    return np.split(values, problem.pointer[1:-1])


def enumerated(problem, w, allowed, forced):
    """The best possible labelling of every example, None where there is none."""
    found = []
    for i, forced_here in enumerate(parts(forced, problem)):
        work = problem.new_work()
        Pairwise.scores(problem, w, i, work)
        length = len(forced_here)
        pair = work.pair if len(work.pair) == 1 else work.pair[: max(length - 1, 1)]
        found.append(enumerate_chain(work.theta[:length], pair, allowed, forced_here)[1])
    return found


def has_prefix(position, length, K, allowed, forced):
    """Whether the labels up to a position can be chosen without breaking a rule."""
    begin, end, step = allowed
    end = end if position == length - 1 else np.ones(K, bool)
    prefixes = possible_labellings(position + 1, K, (begin, end, step), forced[: position + 1])
    return next(prefixes, None) is not None


@pytest.mark.parametrize("kind", [Pairwise, Interpreted])
@given(case=sequences_to_label())
@settings(max_examples=200)
def test_decoding_is_enumeration_of_the_possible_labellings(kind, case):
    """Bit for bit, ties included; an error exactly where enumeration finds nothing."""
    problem, w, allowed, forced = case
    expected = enumerated(problem, w, allowed, forced)
    problem = kind(*problem)
    impossible = [i for i, y in enumerate(expected) if y is None]
    if not impossible:
        assert decode(problem, w).tolist() == np.concatenate(expected).tolist()
        return
    with pytest.raises(ImpossibleConstraint) as caught:
        decode(problem, w)
    error = caught.value
    assert error.example == impossible[0]
    here = parts(forced, problem)[error.example]
    rules = len(here), problem.n_states, allowed, here
    assert not has_prefix(error.position, *rules)
    assert error.position == 0 or has_prefix(error.position - 1, *rules)
    assert error.forced == here[error.position]


@given(case=sequences_to_label(), seed=st.integers(0, 10**6))
def test_a_truth_that_breaks_a_rule_is_refused_where_it_does(case, seed):
    problem, _, allowed, forced = case
    truth = np.random.default_rng(seed).integers(0, problem.n_states, len(forced))
    lengths = np.diff(problem.pointer)

    def build():
        rows = problem.features.rows.dense
        chain_problem(rows, lengths, truth, problem.n_states, allowed=allowed, forced=forced)

    wrong = [
        (i, t)
        for i, (y, f) in enumerate(zip(parts(truth, problem), parts(forced, problem), strict=True))
        for t in range(len(y))
        if not has_prefix(t, len(y), problem.n_states, allowed, np.where(f < 0, y, f))
        or f[t] not in (-1, y[t])
    ]
    # Up to the first wrong position, labels are forced to the truth: the only prefix there is.
    if not wrong:
        build()
        return
    with pytest.raises(InvalidTruth) as caught:
        build()
    assert (caught.value.example, caught.value.position) == wrong[0]
    assert caught.value.label == parts(truth, problem)[wrong[0][0]][wrong[0][1]]


# --- the errors in words -------------------------------------------------------------------------


def tags(truth, lengths=None, **constraints):
    """Labels O, B, I; I may neither begin nor follow O."""
    begin = np.array([True, True, False])
    step = np.array([[True, True, False], [True, True, True], [True, True, True]])
    options = dict(allowed=(begin, np.ones(3, bool), step)) | constraints
    truth = np.array(truth)
    return chain_problem(np.eye(len(truth)), lengths or [len(truth)], truth, 3, **options)


@pytest.mark.parametrize(
    ("build", "numbers", "message"),
    [
        (
            lambda: tags([0, 1, 2, 0, 2, 1], [3, 3]),
            (1, 1, "step", 2, 0),
            "sequence 1, position 1: 'I' may not follow 'O'; correct the labels",
        ),
        (
            lambda: tags([1, 2, 2, 0], [2, 2]),
            (1, 0, "first", 2, -1),
            "sequence 1, position 0: 'I' may not come first;",
        ),
        (
            lambda: tags(
                [0, 1], allowed=(anything(3)[0], np.eye(3, dtype=bool)[0], anything(3)[2])
            ),
            (0, 1, "last", 1, -1),
            "sequence 0, position 1: 'B' may not come last;",
        ),
        (
            lambda: tags([0, 1, 2], forced=np.array([-1, 0, -1])),
            (0, 1, "forced", 1, 0),
            "sequence 0, position 1: 'B' is the true label, but 'O' is forced;",
        ),
    ],
)
def test_an_invalid_truth_names_place_rule_and_labels(build, numbers, message):
    with pytest.raises(InvalidTruth) as caught:
        build()
    error = caught.value
    assert (error.example, error.position, error.rule, error.label, error.other) == numbers
    assert f"label {numbers[3]}" in str(error)
    assert str(error.with_names(["O", "B", "I"])).startswith(message)


def test_an_impossible_constraint_names_place_and_reasons():
    model = tags([0, 1, 2])
    forced = np.array([-1, -1, 0, 2, -1])
    problem = model.for_prediction(node_features(np.zeros((5, 3))), [1, 4], None, forced)
    with pytest.raises(ImpossibleConstraint) as caught:
        decode(problem, np.zeros(model.dim))
    error = caught.value
    assert (error.example, error.position, error.forced, error.before) == (1, 2, 2, [0])
    assert str(error.with_names(["O", "B", "I"])) == (
        "sequence 1, position 2: no label is possible here under the constraints ('I' is forced, "
        "before it there can only be 'O'); force other labels, or none"
    )
    assert "(label 2 is forced, before it there can only be label 0)" in str(error)


def test_the_errors_survive_pickling():
    """As they must between processes."""
    for error in (InvalidTruth(1, 2, "step", 0, 1), ImpossibleConstraint(1, 2, 0, [1], ["a", "b"])):
        copy = pickle.loads(pickle.dumps(error))
        assert str(copy) == str(error)
        assert (copy.example, copy.position) == (1, 2)


def test_the_first_impossible_sequence_is_named_whatever_the_threads():
    model = tags([0, 1, 2])
    forced = np.full(40, -1)
    forced[[13, 22, 35]] = 2  # sequences of one label, which may not be I
    problem = model.for_prediction(node_features(np.zeros((40, 3))), np.ones(40, int), None, forced)
    for n_threads in (1, 2, 3):
        with pytest.raises(ImpossibleConstraint) as caught:
            decode(problem, np.zeros(model.dim), n_threads)
        assert (caught.value.example, caught.value.position) == (13, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(allowed=anything(3)[:2]), "allowed has 2 tables"),
        (dict(allowed=anything(2)), r"'begin' must be boolean and have shape \(3,\)"),
        (dict(allowed=(*anything(3)[:2], np.ones((3, 3)))), "'step' must be boolean"),
        (dict(forced=np.zeros(4, int)), "each of the 3 positions"),
        (dict(forced=np.zeros(3)), "one whole number"),
        (dict(forced=np.array([-1, 3, -1])), r"forced\[1\] is 3; expected a label from 0 to 2"),
        (dict(forced=np.array([-1, 0, -2])), r"forced\[2\] is -2"),
    ],
)
def test_constraints_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        chain_problem(np.eye(3), [3], np.zeros(3, int), 3, **options)


def test_tables_need_steps_but_forced_labels_do_not():
    problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), 3)
    with pytest.raises(ValueError, match="no steps"):
        problem.constrained(anything(3))
    w = np.random.default_rng(0).normal(size=problem.dim)
    free = decode(problem, w)
    forced = np.array([-1, (free[1] + 1) % 3, -1])
    expected = [free[0], forced[1], free[2]]
    assert decode(problem.constrained(forced=forced), w).tolist() == expected


# --- training ------------------------------------------------------------------------------------


def test_tables_that_allow_everything_change_nothing():
    problem, _ = chain_pair([3, 1, 4, 2], 3, seed=1)
    rows, lengths = problem.features.rows.dense, np.diff(problem.pointer)
    options = dict(allowed=anything(3), forced=np.full(10, -1))
    same = chain_problem(rows, lengths, problem.truth, 3, **options)
    assert same.fingerprint() == problem.fingerprint()
    ours, theirs = (solve(one, C=0.6, tol=1e-6) for one in (same, problem))
    np.testing.assert_array_equal(ours.w, theirs.w)


@pytest.mark.parametrize(
    "solver", [BCFW(order="permuted"), BCFW(order="cyclic", direction="corrective"), FrankWolfe()]
)
def test_a_constrained_search_without_constraints_walks_the_same_way(solver):
    """Adding zero to a score does not change a bit of it."""
    problem, _ = chain_pair([3, 1, 4, 2], 3, n_step=2, seed=1)
    open_tables = problem._replace(closed=np.zeros((5, 3)), forced=np.full(10, -1, np.int32))
    ours, theirs = (
        solve(one, solver, C=0.6, tol=0, max_passes=30) for one in (open_tables, problem)
    )
    np.testing.assert_array_equal(ours.w, theirs.w)
    assert (ours.primal, ours.dual) == (theirs.primal, theirs.dual)


def test_the_objective_at_zero_is_found_by_the_oracle_and_counted():
    free, _ = chain_pair([3, 2, 4, 1], 4, seed=39)
    bound, reference = chain_pair([3, 2, 4, 1], 4, constrained=True, seed=39)
    ours, theirs = (solve(problem, max_passes=0) for problem in (bound, free))
    worst = [reference.table(i)[0].max() for i in range(4)]
    assert ours.scale == pytest.approx(np.mean(worst))
    assert ours.scale < theirs.scale
    assert (ours.oracle_calls, theirs.oracle_calls) == (4, 0)


def test_nothing_is_left_to_learn_where_all_labels_are_forced():
    problem = tags([0, 1, 2], forced=np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="nothing to learn"):
        solve(problem)


def test_training_under_constraints_is_another_problem():
    """So a warm start from one to the other, whose dual would prove nothing, is refused."""
    free = chain_problem(np.eye(3), [3], np.array([0, 1, 2]), 3)
    prints = {
        problem.fingerprint()
        for problem in (
            free,
            tags([0, 1, 2]),
            tags([0, 1, 2], forced=np.array([-1, 1, -1])),
            tags([0, 1, 2], forced=np.array([0, -1, -1])),
        )
    }
    assert len(prints) == 4
    with pytest.raises(ValueError, match="proves nothing here"):
        solve(tags([0, 1, 2]), warm_start=solve(free))


# --- problems made from others -------------------------------------------------------------------


def test_prediction_keeps_the_tables_and_forgets_forced_labels():
    trained = tags([0, 1, 2], forced=np.array([-1, 1, -1]))
    rows = node_features(np.zeros((4, 3)))
    problem = trained.for_prediction(rows, [4], None)
    np.testing.assert_array_equal(problem.closed, trained.closed)
    assert problem.forced.size == 0
    forced = np.array([-1, -1, 2, -1])
    again = trained.for_prediction(rows, [4], None, forced)
    assert decode(again, np.zeros(trained.dim)).tolist() == [0, 1, 2, 0]
    free = again.constrained()
    assert (free.closed.size, free.forced.size) == (0, 0)


def test_an_extended_problem_is_constrained_throughout():
    whole = tags([0, 1, 2, 1, 2], [3, 2], forced=np.array([-1, -1, -1, 1, -1]))
    rows = np.eye(5)
    begin, end, step = (whole.closed[place] == 0 for place in (3, 4, slice(3)))
    options = dict(allowed=(begin, end, step))
    part = chain_problem(rows[:3], [3], whole.truth[:3], 3, **options)
    more = chain_problem(rows[3:], [2], whole.truth[3:], 3, forced=np.array([1, -1]))
    extended = part.extended(more)
    assert extended.fingerprint() == whole.fingerprint()
    # What was proved of the first sequences still holds: going on from there is possible.
    warm = solve(extended, C=0.5, tol=1e-6, warm_start=solve(part, C=0.5, tol=1e-6))
    cold = solve(whole, C=0.5, tol=1e-6)
    assert max(warm.dual, cold.dual) <= min(warm.primal, cold.primal) + 1e-14
    invalid = chain_problem(rows[3:], [2], np.array([0, 2]), 3)
    with pytest.raises(InvalidTruth, match="sequence 1, position 1"):
        part.extended(invalid)


def test_the_random_constraints_of_the_reference_hold_for_its_truth():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 6)
    (begin, end, step), forced = random_constraints(rng, [4, 2], truth, 3)
    for y, f in ((truth[:4], forced[:4]), (truth[4:], forced[4:])):
        assert tuple(y) in set(possible_labellings(len(y), 3, (begin, end, step), f))
