"""A problem under slack rescaling is a problem like others: what a solver asks, by its definition.

All calls here are interpreted; that compiled code does the same is a matter of the solvers' tests.
"""

import pickle

import numpy as np
import pytest
from graph_reference import alone, cycle, graph_pair, label_set_pair, path
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_reference import SlackReference
from taut_reference import chain_pair, multiclass_pair, tiny_pairs

from taut import PythonProblem
from taut.arrays.accumulator import dense_accumulator
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    begin_change,
    begin_margins,
    block_value,
    finish_shifts,
    label_loss,
    label_value,
    length,
    margin,
    project,
    scores,
    shift,
    true_label,
)
from taut.structures import chain_problem, multiclass_problem, slack_rescaled
from taut.structures.loss_levels import whole_levels

# Sums of a few dozen products of numbers around 1.
EXACT = dict(rel=0, abs=1e-12)
TREE = 5, [(0, 1), (2, 0), (2, 3), (2, 4)]
COST = np.array([[0.0, 0.5, 1.5], [1.0, 0.0, 0.0], [2.0, 0.5, 0.0]])


def costly_chain(seed):
    """Costs that are multiples of 1/2, one of them zero, and forbidden labellings."""
    problem, reference = chain_pair([3, 1, 4], 3, constrained=True, normalize=False, seed=seed)
    reference.cost = COST
    return problem._replace(cost=COST), reference


CASES = {
    "multiclass with any costs": lambda seed: multiclass_pair(4, 4, weighted=True, seed=seed),
    "chain": lambda seed: chain_pair([3, 1, 2], 3, seed=seed),
    "observed chain with step features": lambda seed: chain_pair(
        [1, 3, 2], 3, kind="observed", n_step=2, normalize=False, seed=seed
    ),
    "constrained chain with costs": costly_chain,
    "forests of two node types": lambda seed: graph_pair(
        [TREE, path(3), (4, [(0, 2)])], states=(2, 3), joins=((0, 0), (0, 1), (1, 1)),
        random_types=True, n_edge_features=2, seed=seed,
    ),
    "label sets on a tree": lambda seed: label_set_pair(3, 4, [(0, 1), (1, 2), (1, 3)], seed=seed),
    "cycles with any costs and node weights": lambda seed: graph_pair(
        [cycle(4), cycle(3)], weighted=True, inference="exhaustive", seed=seed
    ),
    "nodes alone with any costs": lambda seed: graph_pair(
        [alone(1)] * 3, states=(3,), weighted=True, seed=seed
    ),
}  # fmt: skip
laws = lambda test: pytest.mark.parametrize("case", CASES)(  # noqa: E731
    given(seed=st.integers(0, 10**6))(settings(max_examples=8)(test))
)


class Example:
    """One example of a random problem, a dual point at the truth, and its definition."""

    def __init__(self, case, seed):
        base, reference = CASES[case](seed)
        self.problem, self.reference = slack_rescaled(base), SlackReference(reference)
        self.rng = np.random.default_rng(seed)
        self.i = int(self.rng.integers(self.problem.n))
        self.work, self.mu = self.problem.new_work(), self.problem.new_dual()
        self.w = self.rng.normal(size=self.problem.dim)
        self.w[self.problem.held_at_zero()] = 0.0
        self.loss, self.psi = self.reference.loss[self.i], self.reference.psi[self.i]
        self.labellings = self.reference.labellings[self.i]

    def label(self, j):
        return np.array(self.labellings[j], np.int32)

    def some(self):
        """The number of a random labelling."""
        return int(self.rng.integers(len(self.labellings)))

    @property
    def truth(self):
        return self.labellings.index(tuple(self.reference.truth[self.i]))

    def prepare(self):
        scores(self.problem, self.w, self.i, self.work)
        add_loss(self.problem, self.i, self.work)

    def assert_dual_is(self, alpha):
        """mu_i is the combination alpha of all labellings, in every way it can be seen."""
        problem, i, work, mu = self.problem, self.i, self.work, self.mu
        self.prepare()
        assert mu[-problem.n :][i] == pytest.approx(alpha @ self.loss, **EXACT)
        value = block_value(problem, self.w, i, work, mu)
        assert value == pytest.approx(alpha @ self.reference.values(i, self.w), **EXACT)
        v = np.zeros(problem.dim)
        begin_change(problem, i, mu, -1.0, work)
        add_corner(problem, i, self.label(self.truth), 1.0, work)
        project(problem, i, work, 2.0, dense_accumulator(v))
        np.testing.assert_allclose(v, 2.0 * alpha @ self.psi, rtol=0, atol=1e-12)


@laws
def test_values_of_labellings_and_the_oracle(case, seed):
    example = Example(case, seed)
    problem, w, i, work = example.problem, example.w, example.i, example.work
    example.prepare()
    values = example.reference.values(i, w)
    for j, loss in enumerate(example.loss):
        y = example.label(j)
        assert label_value(problem, w, i, work, y) == pytest.approx(values[j], **EXACT)
        assert label_loss(problem, i, y) == pytest.approx(loss, **EXACT)
    best = np.zeros(problem.longest, np.int32)
    value = argmax(problem, w, i, work, best)
    assert value == pytest.approx(values.max(), **EXACT)
    assert value == label_value(problem, w, i, work, best)
    found = tuple(best[: length(problem, i)].tolist())
    assert values[example.labellings.index(found)] == pytest.approx(value, **EXACT)


@laws
def test_at_weights_zero_the_oracle_finds_the_worst_loss(case, seed):
    example = Example(case, seed)
    example.w[:] = 0.0
    example.prepare()
    y = np.zeros(example.problem.longest, np.int32)
    value = argmax(example.problem, example.w, example.i, example.work, y)
    assert value == pytest.approx(example.loss.max(), **EXACT)
    worst = example.problem.worst_losses()
    assert worst is None or worst[example.i] == pytest.approx(value, **EXACT)


@laws
def test_margins_are_those_of_the_scaled_features(case, seed):
    example = Example(case, seed)
    begin_margins(example.problem, example.i, example.work)
    for j, psi in enumerate(example.psi):
        found = margin(example.problem, example.w, example.i, example.label(j), example.work)
        assert found == pytest.approx(psi @ example.w, **EXACT)


@laws
def test_changes_move_the_dual_point_and_the_weights_together(case, seed):
    """Steps toward a labelling, between two of them, and away from one, in any order."""
    example = Example(case, seed)
    problem, i, work, mu = example.problem, example.i, example.work, example.mu
    alpha = np.eye(len(example.labellings))[example.truth]
    example.assert_dual_is(alpha)
    for keep, add, drop in [(-1.0, 1.0, 0.0), (0.0, 1.0, -1.0), (-1.0, 1.0, 0.0), (1.0, 0.0, -1.0)]:
        plus, away, step = example.some(), example.some(), example.rng.uniform(0.1, 0.6)
        d = keep * alpha + add * np.eye(len(alpha))[plus] + drop * np.eye(len(alpha))[away]
        begin_change(problem, i, mu, keep, work)
        if add:
            add_corner(problem, i, example.label(plus), add, work)
        if drop:
            add_corner(problem, i, example.label(away), drop, work)
        change = np.zeros(problem.dim)
        project(problem, i, work, 0.7, dense_accumulator(change))
        np.testing.assert_allclose(change, -0.7 * d @ example.psi, rtol=0, atol=1e-12)
        advance(problem, i, mu, step, work)
        alpha = alpha + step * d
        example.assert_dual_is(alpha)


@laws
def test_shifts_move_the_dual_point_and_the_weights_together(case, seed):
    example = Example(case, seed)
    problem, i, work, mu = example.problem, example.i, example.work, example.mu
    alpha = np.eye(len(example.labellings))[example.truth]
    for _ in range(2):  # what one visit leaves behind must not disturb the next
        chosen = [example.truth, example.some(), example.some()]
        amounts = example.rng.normal(size=3)
        amounts -= amounts.mean()
        change = np.zeros(problem.dim)
        for j, amount in zip(chosen, amounts, strict=True):
            delta = dense_accumulator(change)
            shift(problem, i, example.label(j), amount, 0.7, mu, delta, work)
            alpha[j] += amount
        finish_shifts(problem, i, 0.7, mu, dense_accumulator(change), work)
        expected = sum(0.7 * a * example.psi[j] for j, a in zip(chosen, amounts, strict=True))
        np.testing.assert_allclose(change, expected, rtol=0, atol=1e-12)
        example.assert_dual_is(alpha)


def test_where_labellings_agree_with_the_truth_nothing_moves():
    """Their shares cancel exactly, so that sparse moves stay sparse."""
    problem = slack_rescaled(chain_pair([9], 3, boundary=False, bias=False, seed=0)[0])
    work, mu = problem.new_work(), problem.new_dual()
    truth = np.zeros(9, np.int32)
    true_label(problem, 0, truth)
    y, z = truth.copy(), truth.copy()
    y[0], z[:7] = (truth[0] + 1) % 3, (truth[:7] + 2) % 3
    begin_change(problem, 0, mu, 0.0, work)
    add_corner(problem, 0, y, 1.0, work)
    add_corner(problem, 0, z, -1.0, work)
    project(problem, 0, work, 1.0, problem.new_delta())
    nodes = work.base.change[:27].reshape(9, 3)
    assert not nodes[7:].any()
    assert (nodes[:7] != 0.0).any(axis=1).all()


# --- the Python side ----------------------------------------------------------------------------


def test_a_fingerprint_of_its_own():
    base = chain_pair([3, 1, 2], 3, seed=0)[0]
    problem = slack_rescaled(base)
    assert problem.fingerprint() != base.fingerprint()
    assert problem.fingerprint() == slack_rescaled(base).fingerprint()
    shorter = slack_rescaled(chain_problem(base.features.rows.dense[:4], [3, 1], base.truth[:4], 3))
    assert problem.fingerprint(2) == shorter.fingerprint()


@pytest.mark.parametrize("case", ["chain", "label sets on a tree"])
def test_a_dual_point_survives_an_array(case):
    example = Example(case, 3)
    problem, mu = example.problem, example.mu
    begin_change(problem, example.i, mu, -1.0, example.work)
    add_corner(problem, example.i, example.label(example.some()), 1.0, example.work)
    advance(problem, example.i, mu, 0.3, example.work)
    copy = problem.new_dual()
    problem.copy_dual(problem.dual_array(mu), copy)
    np.testing.assert_array_equal(copy, mu)
    problem.copy_dual(mu, again := problem.new_dual())
    np.testing.assert_array_equal(again, mu)
    with pytest.raises(ValueError, match="by dual_size of"):
        problem.copy_dual(problem.dual_array(mu)[1:], copy)
    for place in (0, -1):
        damaged = problem.dual_array(mu)
        damaged[place] = np.nan
        with pytest.raises(ValueError, match="finite"):
            problem.copy_dual(damaged, copy)


@pytest.mark.parametrize("case", ["chain", "label sets on a tree"])
def test_a_problem_survives_pickling(case):
    problem = Example(case, 1).problem
    assert pickle.loads(pickle.dumps(problem)).fingerprint() == problem.fingerprint()


# --- where there is no oracle -------------------------------------------------------------------


def test_no_problem_is_rescaled_twice():
    problem = slack_rescaled(multiclass_problem(np.eye(2), np.array([0, 1]), 2))
    with pytest.raises(ValueError, match="slack rescaled already"):
        slack_rescaled(problem)


@pytest.mark.parametrize("inference", ["graph-cut", "roof-duality", "message-passing", "lp"])
def test_graphs_that_only_sums_can_be_maximised_of(inference):
    options = dict(pairwise="potts", attractive=True) if inference == "graph-cut" else {}
    base, _ = graph_pair(
        [cycle(4)], inference=inference, relaxed=inference != "graph-cut", seed=0, **options
    )
    message = f"no exact oracle of slack rescaling under inference='{inference}'.*\"exhaustive\""
    with pytest.raises(ValueError, match=message) as error:
        slack_rescaled(base)
    assert 'formulation="margin"' in str(error.value)
    assert "slack_oracle" in str(error.value)


def test_problems_without_any():
    class Model:
        def joint_feature(self, x, y):
            return np.array([x * y])

        loss = oracle = predict = joint_feature

    with pytest.raises(ValueError, match="oracle of slack rescaling, which PythonProblem"):
        slack_rescaled(PythonProblem(Model(), [1.0], [1.0]))


def test_costs_without_a_common_unit():
    cost = np.array([[0.0, 1.0, np.sqrt(2)], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    base = chain_problem(np.eye(4), [4], np.array([0, 1, 2, 1]), 3, cost=cost)
    with pytest.raises(
        ValueError, match=r"costs of labels .* must be whole multiples of one number"
    ):
        slack_rescaled(base)
    weights, _ = graph_pair([path(3)], weighted=True, seed=0)
    with pytest.raises(ValueError, match=r'weights of nodes must be .* inference="exhaustive"'):
        slack_rescaled(weights)


@pytest.mark.parametrize("kind", ["chain", "path"])
def test_tables_that_would_take_too_much_memory_are_refused_at_once(kind):
    n = 17_000
    if kind == "chain":
        base = chain_problem(np.zeros((n + 1, 1)), [1, n], np.zeros(n + 1, np.int32), 2)
    else:
        base, _ = graph_pair([alone(1), path(n)], seed=0)
    with pytest.raises(
        ValueError, match=r"takes \d\.\d GiB for (example|graph) 1, which has 17000"
    ):
        slack_rescaled(base)


# --- units --------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.sampled_from([1.0, 0.1, 1 / 3, 7e-5, 123.456, 1e6]),
)
def test_multiples_of_a_unit_are_recognised_whatever_the_unit(numbers, unit):
    levels = whole_levels(unit * np.array(numbers, float))
    divisor = max(np.gcd.reduce(numbers), 1)
    assert levels.tolist() == [number // divisor for number in numbers]


@pytest.mark.parametrize(
    "costs",
    [[1.0, np.pi], [1.0, np.inf], [1e-300, 1e300], [1.0, 1.0 + 1e-7], [5e-324, 1.0]],
    ids=str,
)
def test_numbers_without_a_common_unit(costs):
    assert whole_levels(np.array(costs)) is None


@pytest.mark.parametrize("which", ["constrained chain", "constrained chain with step features"])
def test_only_labellings_that_constraints_allow_are_found(which):
    problem, reference = tiny_pairs()[which]
    wrapped, rng = slack_rescaled(problem), np.random.default_rng(0)
    work, y = wrapped.new_work(), np.zeros(wrapped.longest, np.int32)
    for w in rng.normal(size=(5, problem.dim)):
        for i in range(problem.n):
            wrapped.scores(w, i, work)
            found = wrapped.argmax(w, i, work, y)
            values = [
                reference.loss(i, z) * (1.0 + reference.value(i, z, w, with_loss=False))
                for z in reference.labellings(i)
            ]
            assert found == pytest.approx(max(values), rel=1e-12, abs=1e-12)
