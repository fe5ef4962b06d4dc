"""The reference of the decomposition methods obeys the theory that it is to be used for."""

import numpy as np
import pytest
from decomposition_reference import (
    FREE,
    LINEAR,
    SQUARED,
    ListedModel,
    compiled_pairs,
    enumerated,
    enumerated_model,
    python_problem,
    qp_optimum,
    random_problem,
    simplicial,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from python_models import Multiclass
from taut_reference import tiny_pairs

from taut import PythonProblem, solve
from taut.solvers import FrankWolfe

BOUNDS = {
    "free": FREE,
    "signs": (np.array([0.0, -np.inf, 0.0]), np.inf),
    "box without 0": (np.array([0.1, -0.2, -np.inf]), np.array([0.4, -0.1, 0.3])),
    "narrow box": (np.array([-0.5, 0.2, 0.3]), np.array([-0.4995, 0.2, 0.30001])),
}
problems = st.builds(
    random_problem,
    st.integers(0, 10**6),
    n=st.integers(1, 6),
    labellings=st.integers(2, 7),
    ties=st.booleans(),
)
formulations = st.sampled_from(["margin", "slack"])
penalties = st.sampled_from([LINEAR, SQUARED])
bounds = st.sampled_from(list(BOUNDS.values()))
constants = st.sampled_from([0.05, 1.0, 20.0])


def random_alpha(problem, penalty, seed):
    rng = np.random.default_rng(seed)
    alpha = [rng.dirichlet(np.full(len(loss), 0.5)) for loss in problem.loss]
    return alpha if penalty == LINEAR else [rng.uniform(0.1, 3.0) * one for one in alpha]


# --- optimum -----------------------------------------------------------------------------------


@given(problems, formulations, penalties, bounds, constants)
def test_the_multipliers_of_the_optimum_prove_it(problem, formulation, penalty, box, C):
    problem = problem.formulated(formulation)
    best = qp_optimum(problem, C, penalty, box)
    size = 1.0 + best.value
    assert abs(problem.gap(best.alpha, C, penalty, box)) <= 1e-11 * size
    np.testing.assert_allclose(problem.weights(best.alpha, C, box), best.w, atol=1e-10 * size)
    assert best.in_lambda_form * C * problem.n == pytest.approx(best.value)
    for one in best.alpha:
        assert one.min() >= 0
        if penalty == LINEAR:
            assert one.sum() == pytest.approx(1.0)
    if penalty == SQUARED:
        used = problem.s > 0
        masses = problem.masses(best.alpha)
        np.testing.assert_allclose(masses[used], best.slacks[used], atol=1e-9 * size)


@given(problems, penalties, bounds, st.integers(0, 10**6))
def test_nothing_lies_below_the_optimum_or_above_it(problem, penalty, box, seed):
    best = qp_optimum(problem, 1.0, penalty, box)
    w = best.w + 0.1 * np.random.default_rng(seed).normal(size=problem.dim)
    rounding = 1e-12 * (1.0 + best.value)
    assert problem.primal(np.clip(w, *box), 1.0, penalty) >= best.value - rounding
    alpha = random_alpha(problem, penalty, seed)
    assert problem.dual(alpha, 1.0, penalty, box) <= best.value + rounding


@given(problems, formulations, penalties, bounds, constants, st.integers(0, 10**6))
def test_the_gap_is_the_sum_of_the_block_gaps(problem, formulation, penalty, box, C, seed):
    problem = problem.formulated(formulation)
    alpha = random_alpha(problem, penalty, seed)
    gaps = problem.block_gaps(alpha, C, penalty, box)
    size = problem.primal(problem.weights(alpha, C, box), C, penalty)
    assert gaps.min() >= -1e-12 * size
    assert gaps.sum() == pytest.approx(problem.gap(alpha, C, penalty, box), abs=1e-12 * size)


def test_block_gaps_are_the_gradient_times_corner_minus_point():
    """Formulas 7.2, by its own words: gradient (w, 1) in the space of (-psi, loss)."""
    problem, C = random_problem(3), 0.7
    alpha = random_alpha(problem, LINEAR, 0)
    w = problem.weights(alpha, C)
    gradient = np.append(-w, 1.0)
    for s, (psi, loss), one, gap in zip(
        problem.s, problem.examples, alpha, problem.block_gaps(alpha, C), strict=True
    ):
        rows = C * s * np.column_stack([psi, loss])
        corner = max(rows, key=lambda row: row @ gradient)
        assert gap == pytest.approx(gradient @ (corner - one @ rows))


def test_weights_of_examples_and_their_repetition_are_one():
    once = random_problem(4, n=3, weighted=False)
    thrice = type(once)(once.psi, once.loss, np.array([2.0, 1.0, 3.0]))
    order = [0, 0, 1, 2, 2, 2]
    listed = type(once)([once.psi[i] for i in order], [once.loss[i] for i in order], np.ones(6))
    np.testing.assert_allclose(qp_optimum(thrice, 0.5).w, qp_optimum(listed, 0.5).w, atol=1e-12)


# --- simplicial decomposition --------------------------------------------------------------------


@settings(max_examples=40)
@given(problems, formulations, penalties, bounds, constants)
def test_a_product_of_hulls_finds_the_optimum(problem, formulation, penalty, box, C):
    problem = problem.formulated(formulation)
    best = qp_optimum(problem, C, penalty, box)
    for limit in (None, problem.dim + 1):
        steps = simplicial(problem, C, limit=limit, penalty=penalty, bounds=box)
        assert steps[-1].gap <= 1e-11 * steps[0].primal
        assert steps[-1].dual == pytest.approx(best.value, abs=1e-10 * (1.0 + best.value))
        assert np.diff([step.dual for step in steps]).min(initial=0.0) >= -1e-12 * (1 + best.value)


@settings(max_examples=40)
@given(problems, formulations, constants)
def test_one_simplex_needs_dim_plus_one_points(problem, formulation, C):
    problem = problem.formulated(formulation)
    steps = simplicial(problem, C, simplexes="one", limit=problem.dim + 1, iterations=60)
    assert steps[-1].gap <= 1e-11 * steps[0].primal


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_as_many_points_as_the_face_has_dimensions_are_too_few(dim):
    """Erratum Y1: with one point more the same problems end after a few iterations."""
    endless = 0
    for seed in range(12):
        problem = random_problem(seed, n=1, dim=dim, labellings=8)
        whole = simplicial(problem, 30.0, simplexes="one")
        corners = whole[-1].in_use[0]  # of the face of the optimum, a simplex
        if corners != dim + 1:
            continue
        few, enough = (
            simplicial(problem, 30.0, simplexes="one", limit=limit, iterations=30)
            for limit in (corners - 1, corners)
        )
        assert len(enough) <= 15
        endless += len(few) > 30
    assert endless > 0


@pytest.mark.parametrize("which", ["multiclass", "chain"])
@pytest.mark.parametrize("box", [None, (0.0, np.inf)], ids=["free", "signs"])
def test_one_simplex_of_one_point_is_frank_wolfe(which, box):
    """Both search the same segments, so the dual values are equal, iterate by iterate."""
    problem, listed = compiled_pairs()[which]
    C = 0.8
    python = python_problem(listed)
    steps = simplicial(
        listed, C, simplexes="one", limit=1, bounds=box or FREE, iterations=12
    )  # fmt: skip
    expected = [listed.in_lambda_form(step.dual, C) for step in steps]
    for one in (problem, python):
        solution = solve(one, FrankWolfe(), C=C, tol=0, max_passes=12, bounds=box)
        np.testing.assert_allclose(solution.history.iterate_dual, expected, atol=1e-12)


# --- problems ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tiny_pairs())
def test_enumeration_has_the_objective_of_the_reference(name):
    _, reference = tiny_pairs()[name]
    problem = enumerated(reference)
    w = np.random.default_rng(0).normal(size=reference.dim)
    expected = reference.primal(w, 0.6)
    assert problem.in_lambda_form(problem.primal(w, 0.6), 0.6) == pytest.approx(expected)


def test_enumeration_of_a_python_model_is_the_list_it_was_made_of():
    listed = random_problem(0)
    model = ListedModel(listed)
    again = enumerated_model(
        model, model.X, model.Y, lambda x: [(x, y) for y in range(len(listed.loss[x]))], listed.s
    )
    for (psi, loss), (other_psi, other_loss) in zip(again.examples, listed.examples, strict=True):
        np.testing.assert_array_equal(psi, other_psi)
        np.testing.assert_array_equal(loss, other_loss)


def test_a_python_model_has_the_optimum_of_its_enumeration():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(9, 2)), rng.integers(0, 3, 9).tolist()
    best = qp_optimum(enumerated_model(Multiclass(3), X, Y, lambda _: range(3)), 0.5)
    solution = solve(PythonProblem(Multiclass(3), X, Y), C=0.5, tol=1e-3)
    assert solution.dual <= best.in_lambda_form + 1e-12
    assert solution.primal >= best.in_lambda_form - 1e-12


def test_ties_bring_every_degenerate_case():
    """What the property tests draw: duplicates, free labellings, single ones, no weight."""
    problems = [random_problem(seed, ties=True) for seed in range(20)]
    rows = [np.column_stack([psi, loss]) for one in problems for psi, loss in one.examples]
    assert any(len(np.unique(some, axis=0)) < len(some) for some in rows)
    assert any((some[1:, -1] == 0).any() for some in rows)
    assert any(len(some) == 1 for some in rows)
    assert any((one.s == 0).any() for one in problems)
