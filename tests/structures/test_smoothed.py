"""A CRF is a problem like others: what a solver asks of it, by its definition.

Calls here are interpreted; that compiled code does the same is a matter of the solvers' tests.
"""

import pickle

import numpy as np
import pytest
from crf_reference import CRFReference, entropy, flat
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sparse_reference import sparse_pair
from taut_reference import chain_pair, multiclass_pair

from taut import PythonProblem, smoothed, solve
from taut.arrays.accumulator import dense_accumulator
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    begin_change,
    block_value,
    label_loss,
    label_value,
    length,
    nearly_argmax,
    project,
    scores,
    thinned,
    true_label,
    value_alone,
    weight,
)
from taut.solvers import BCFW, Status
from taut.structures import chain_problem, multiclass_problem

# Sums of a few dozen products of numbers around 1, at temperatures down to 1/4.
EXACT = dict(rel=0, abs=1e-12)
CASES = {
    "multiclass": lambda seed: multiclass_pair(4, 4, weighted=True, seed=seed),
    "chain": lambda seed: chain_pair([3, 1, 2], 3, seed=seed),
    "observed chain with step features": lambda seed: chain_pair(
        [1, 3, 2], 3, kind="observed", n_step=2, normalize=False, weighted=True, seed=seed
    ),
    "constrained chain": lambda seed: chain_pair([3, 1, 4], 3, constrained=True, seed=seed),
    "sparse steps": lambda seed: sparse_pair([3, 1, 2], 3, weighted=True, seed=seed),
    "constrained step attributes": lambda seed: sparse_pair(
        [3, 1, 3], 3, n_attributes=2, kind="observed", constrained=True, seed=seed
    ),
}
laws = lambda test: pytest.mark.parametrize("case", CASES)(  # noqa: E731
    given(
        seed=st.integers(0, 10**6),
        temperature=st.sampled_from([1.0, 0.25, 3.0]),
        augmented=st.booleans(),
    )(settings(max_examples=12)(test))
)


class Example:
    """One example of a random problem, its dual point at the truth, and its definition."""

    def __init__(self, case, seed, temperature, augmented):
        base, reference = CASES[case](seed)
        self.problem = smoothed(base, temperature, loss_augmented=augmented)
        self.reference = CRFReference(reference, temperature, augmented)
        self.rng = np.random.default_rng(seed)
        self.i = int(self.rng.integers(base.n))
        self.work, self.mu = self.problem.new_work(), self.problem.new_dual()
        self.mu = self.problem.with_room(self.mu, False)
        self.psi = reference.table(self.i)[1]
        self.corners = self.reference.corners(self.i)
        self.w = self.random_weights()

    def random_weights(self):
        w = self.rng.normal(size=self.problem.dim)
        w[self.problem.held_at_zero()] = 0.0
        return w

    def prepare(self):
        scores(self.problem, self.w, self.i, self.work)
        add_loss(self.problem, self.i, self.work)

    def asked(self):
        """The oracle's value and labelling."""
        self.prepare()
        y = np.full(self.problem.longest, -7, np.int32)
        value = argmax(self.problem, self.w, self.i, self.work, y)
        assert (y[length(self.problem, self.i) :] == -7).all()
        return value, y

    def seen(self, y):
        """Image and entropy in the bits of a labelling."""
        numbers = y[: length(self.problem, self.i)].view(np.float64)
        return numbers[:-1], numbers[-1]


@laws
def test_the_oracle_finds_the_marginals_and_their_entropy(case, seed, temperature, augmented):
    example = Example(case, seed, temperature, augmented)
    value, y = example.asked()
    i, w, reference = example.i, example.w, example.reference
    p = reference.distribution(i, w)
    image, of_entropy = example.seen(y)
    assert value == pytest.approx(reference.value(i, w), **EXACT)
    np.testing.assert_allclose(image, p @ example.corners, rtol=0, atol=1e-12)
    assert of_entropy == pytest.approx(entropy(p), rel=0, abs=1e-11)  # divided by temperature
    # The maximum of H(q) + T entropy(q) is attained: Fenchel's inequality is an equality.
    assert label_value(example.problem, w, i, example.work, y) == pytest.approx(value, **EXACT)
    loss = label_loss(example.problem, i, y)
    assert loss == pytest.approx(reference.loss(i, p), rel=0, abs=1e-11)
    assert weight(example.problem, i) == reference.s[i]


@laws
def test_a_thinned_labelling_promises_nearly_as_much(case, seed, temperature, augmented):
    """It is the distribution under the condition that some labels do not occur; only problems whose
    duals grow have such."""
    example = Example(case, seed, temperature, augmented)
    problem, i, w, work = example.problem, example.i, example.w, example.work
    gain, y = example.asked()
    before = y.copy()
    left = thinned(problem, w, i, work, y, gain)
    assert left == pytest.approx(label_value(problem, w, i, work, y), rel=0, abs=1e-11)
    assert 0.3 * gain - 1e-11 <= left <= gain + 1e-11
    if not problem.dual_grows:
        assert left == gain
        np.testing.assert_array_equal(y, before)
    image, of_entropy = example.seen(y)
    p, corners = example.reference.distribution(i, w), example.corners
    p = p * (corners @ (image == 0.0) == 0.0)
    p /= p.sum()
    np.testing.assert_allclose(image, p @ corners, rtol=0, atol=1e-11)
    assert of_entropy == pytest.approx(entropy(p), rel=0, abs=1e-10)


@laws
def test_what_is_nearly_the_best_promises_what_it_says(case, seed, temperature, augmented):
    """It is a distribution over labellings of some labels, with its own entropy."""
    example = Example(case, seed, temperature, augmented)
    problem, i, w, work = example.problem, example.i, example.w, example.work
    value, y = example.asked()
    y[:] = 0
    for unknown in (0.0, np.inf):
        assert nearly_argmax(problem, w, i, work, y, -np.inf, unknown) == -np.inf
    found = nearly_argmax(problem, w, i, work, y, -np.inf, np.random.default_rng(seed).random())
    if found == -np.inf:
        return
    assert problem.dual_grows
    assert found <= value + 1e-11
    assert found == pytest.approx(label_value(problem, w, i, work, y), rel=0, abs=1e-11)
    assert nearly_argmax(problem, w, i, work, y, value + 1e-9, 0.5) == -np.inf
    nearly_argmax(problem, w, i, work, y, -np.inf, 0.5)
    image, of_entropy = example.seen(y)
    p, corners = example.reference.distribution(i, w), example.corners
    nodes = corners.shape[1] - problem.base.steps.n_pairs
    p = p * (corners[:, :nodes] @ (image[:nodes] == 0.0) == 0.0)
    p /= p.sum()
    np.testing.assert_allclose(image, p @ corners, rtol=0, atol=1e-11)
    assert of_entropy == pytest.approx(entropy(p), rel=0, abs=1e-10)


def test_sparse_steps_know_what_is_nearly_the_best():
    example = Example("sparse steps", 0, 1.0, False)
    value, y = example.asked()

    def found(gap):
        return nearly_argmax(example.problem, example.w, example.i, example.work, y, -np.inf, gap)

    assert value - 0.7 * 0.1 <= found(0.1) <= value + 1e-12
    assert found(1e-6) == -np.inf  # nothing can be spared


@laws
def test_the_value_alone_is_the_oracles(case, seed, temperature, augmented):
    example = Example(case, seed, temperature, augmented)
    value, _ = example.asked()
    alone = value_alone(example.problem, example.w, example.i, example.work)
    assert np.isnan(alone) == (case != "sparse steps")
    if not np.isnan(alone):
        assert alone == value


def test_labels_likely_one_by_one_but_not_together_are_not_chosen():
    """Label 1 stands at any one place, 0 before and 2 behind it: 0 and 2 are likely, but not next
    to each other. Without 1 the distribution would promise nothing."""
    truth = np.array([[0] * k + [1] + [2] * (5 - k) for k in range(6)]).ravel()
    rows = sparse.csr_array(np.ones((36, 1)))
    base = chain_problem(rows, [6] * 6, truth, 3, step_attributes=sparse.csr_array((36, 1)))
    w = np.full(base.dim, -20.0)
    w[: base.begin_at + 2] = w[base.end_at + 1 : base.step_at] = 0.0
    w[base.step_at + np.array([0, 1, 5, 8])] = 0.0  # steps 0-0, 0-1, 1-2, 2-2
    problem = smoothed(base)
    mu, work, y = problem.new_dual(), problem.new_work(), np.zeros(problem.longest, np.int32)
    scores(problem, w, 0, work)
    gain = argmax(problem, w, 0, work, y) - block_value(problem, w, 0, work, mu)
    whole = y.copy()
    assert gain == pytest.approx(np.log(6), abs=1e-6)  # others have less than 36 exp(-20) of it
    assert thinned(problem, w, 0, work, y, gain) == gain
    np.testing.assert_array_equal(y, whole)


@laws
def test_the_truth_is_a_distribution_without_entropy(case, seed, temperature, augmented):
    example = Example(case, seed, temperature, augmented)
    problem, i, reference = example.problem, example.i, example.reference
    example.prepare()
    y = np.full(problem.longest, -7, np.int32)
    true_label(problem, i, y)
    image, of_entropy = example.seen(y)
    np.testing.assert_allclose(image, flat(reference.of.image(i, reference.of.Y[i])), atol=1e-15)
    assert of_entropy == 0.0
    assert label_value(problem, example.w, i, example.work, y) == pytest.approx(0.0, **EXACT)
    assert label_loss(problem, i, y) == 0.0
    value = block_value(problem, example.w, i, example.work, example.mu)
    assert value == pytest.approx(0.0, **EXACT)


@laws
def test_steps_toward_marginals_move_dual_point_and_weights_together(
    case, seed, temperature, augmented
):
    """The entropy that is kept is the mixture's of the entropies, which the mixture's exceeds."""
    example = Example(case, seed, temperature, augmented)
    problem, i, work, mu = example.problem, example.i, example.work, example.mu
    reference = example.reference
    alpha, kept = np.eye(len(example.corners))[reference.truth(i)], 0.0
    for step in (1.0, 0.4, 0.7):
        example.w = example.random_weights()
        p = reference.distribution(i, example.w)
        _, y = example.asked()
        begin_change(problem, i, mu, -1.0, work)
        add_corner(problem, i, y, 1.0, work)
        delta = np.zeros(problem.dim)
        project(problem, i, work, 0.7, dense_accumulator(delta))
        expected = -0.7 * (p - alpha) @ example.psi
        np.testing.assert_allclose(delta, expected, rtol=0, atol=1e-12)
        advance(problem, i, mu, step, work)
        alpha, kept = alpha + step * (p - alpha), kept + step * (entropy(p) - kept)
        entropies = mu[-problem.n :]
        assert entropies[i] == pytest.approx(kept, rel=0, abs=1e-11)
        assert entropies[i] <= entropy(alpha) + 1e-11
        assert not np.delete(entropies, i).any()
        image = flat(list(reference.of.images(mu[: -problem.n]))[i])
        np.testing.assert_allclose(image, alpha @ example.corners, rtol=0, atol=1e-12)
        example.w = example.random_weights()
        example.prepare()
        value = alpha @ reference.values(i, example.w) + temperature * kept
        found = block_value(problem, example.w, i, work, mu)
        assert found == pytest.approx(value, rel=0, abs=1e-11)


@laws
def test_at_weights_zero_the_oracle_counts_labellings(case, seed, temperature, augmented):
    example = Example(case, seed, temperature, augmented)
    example.w = np.zeros(example.problem.dim)
    value, _ = example.asked()
    n_labellings = len(example.corners)
    if not augmented:
        assert value == pytest.approx(temperature * np.log(n_labellings), **EXACT)
    worst = example.problem.worst_losses()
    assert (worst is None) == (augmented or case.startswith("constrained"))
    assert worst is None or worst[example.i] == pytest.approx(value, **EXACT)


def test_where_no_labelling_is_possible_the_value_is_minus_infinity():
    base, _ = chain_pair([3, 2], 2, seed=0)
    shut = np.ones(2, bool), np.ones(2, bool), np.zeros((2, 2), bool)
    problem = smoothed(base.constrained(shut))
    work, w = problem.new_work(), np.zeros(problem.dim)
    scores(problem, w, 0, work)
    with np.errstate(invalid="ignore"):
        value = argmax(problem, w, 0, work, np.zeros(problem.longest, np.int32))
    assert value == -np.inf


# --- what optima have to do with each other ------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.1, 1e-3])
@pytest.mark.parametrize("case", ["multiclass", "chain"])
def test_a_cold_crf_is_the_svm(case, temperature):
    """max <= T log sum exp(. / T) <= max + T log(number of labellings): so are the optima."""
    base, reference = CASES[case](7)
    crf = smoothed(base, temperature, loss_augmented=True)
    crf_solution = solve(crf, C=0.6, tol=1e-3, max_passes=20_000)
    svm_solution = solve(base, BCFW(direction="corrective"), C=0.6, tol=1e-6, max_passes=20_000)
    assert crf_solution.status is svm_solution.status is Status.CONVERGED
    counts = [len(reference.labellings(i)) for i in range(base.n)]
    width = temperature * (reference.s @ np.log(counts)) / base.n
    assert svm_solution.dual <= crf_solution.primal
    assert crf_solution.dual <= svm_solution.primal + width
    # The statement is worth something: certificates are narrower than what it says.
    if temperature == 0.1:
        assert crf_solution.gap < 0.1 * width


def test_temperature_and_C_are_one_parameter():
    """With w = T w', objective(T, C) = T objective(1, C / T) at w', if the loss has no part."""
    base, _ = CASES["chain"](3)
    T, C = 0.3, 0.6
    cold = solve(smoothed(base, T), C=C, tol=1e-8, max_passes=5000)
    warm = solve(smoothed(base), C=C / T, tol=1e-8, max_passes=5000)
    assert cold.status is warm.status is Status.CONVERGED
    assert cold.scale == pytest.approx(T * warm.scale)
    assert max(cold.dual, T * warm.dual) <= min(cold.primal, T * warm.primal) + 1e-14
    # lambda/2 |w - w*|^2 <= gap for each.
    radius = [np.sqrt(2 * s.gap / s.lam) for s in (cold, warm)]
    assert np.linalg.norm(cold.w - T * warm.w) <= radius[0] + T * radius[1]


@pytest.mark.parametrize("C", [0.2, 5.0])
def test_multiclass_is_logistic_regression(C):
    """Both minimise |w|^2 / 2 + C sum_i s_i log-loss_i, here the objective divided by lambda."""
    rng = np.random.default_rng(4)
    X, y, s = rng.normal(size=(40, 3)), rng.integers(0, 4, 40), rng.uniform(0.5, 2.0, 40)
    problem = multiclass_problem(X, y, 4, bias=False, importance=s)
    ours = solve(smoothed(problem), C=C, tol=1e-10, max_passes=5000)
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-9, max_iter=10_000)
    theirs.fit(X, y, sample_weight=s)
    w = theirs.coef_.ravel()  # label by label, as dense features are laid out
    margins = X @ theirs.coef_.T
    log_loss = np.log(np.exp(margins).sum(1)) - margins[np.arange(40), y]
    objective = ours.lam * (0.5 * (w @ w) + C * (s @ log_loss))
    assert ours.status is Status.CONVERGED
    assert ours.dual - 1e-14 <= objective
    # 1-strongly convex, divided by lambda: a gradient of 1e-9 in the mean of the log-losses is one
    # of at most 1e-9 C sum(s) sqrt(12) there, and weights are off by no more.
    off = 1e-9 * C * s.sum() * np.sqrt(12)
    assert objective <= ours.primal + 0.5 * ours.lam * off**2 + 1e-14
    assert np.linalg.norm(ours.w - w) <= np.sqrt(2 * ours.gap / ours.lam) + off + 1e-12


# --- the Python side -----------------------------------------------------------------------------


def test_every_objective_has_a_fingerprint_of_its_own():
    base, other = chain_pair([3, 1, 2], 3, seed=0)[0], chain_pair([3, 1, 2], 3, seed=1)[0]
    problems = [
        smoothed(base), smoothed(base, 0.5), smoothed(base, loss_augmented=True), smoothed(other)
    ]  # fmt: skip
    prints = {problem.fingerprint() for problem in problems} | {base.fingerprint()}
    assert len(prints) == 5
    assert smoothed(base, 1.0).fingerprint() == smoothed(base).fingerprint()


def test_a_dual_point_survives_an_array():
    example = Example("chain", 3, 1.0, False)
    problem, mu = example.problem, example.mu
    _, y = example.asked()
    begin_change(problem, example.i, mu, -1.0, example.work)
    add_corner(problem, example.i, y, 1.0, example.work)
    advance(problem, example.i, mu, 0.3, example.work)
    assert mu[-problem.n :][example.i] > 0
    for source in (problem.dual_array(mu), mu):
        problem.copy_dual(source, copy := problem.new_dual())
        np.testing.assert_array_equal(copy, mu)
    with pytest.raises(ValueError, match="by dual_size of"):
        problem.copy_dual(problem.dual_array(mu)[1:], copy)
    for place in (0, -1):
        damaged = problem.dual_array(mu)
        damaged[place] = np.nan
        with pytest.raises(ValueError, match="finite"):
            problem.copy_dual(damaged, copy)


def test_a_problem_and_its_scratch_memory_survive_pickling():
    problem = Example("chain", 1, 0.5, True).problem
    again = pickle.loads(pickle.dumps(problem))
    assert again.fingerprint() == problem.fingerprint()
    assert pickle.loads(pickle.dumps(problem.new_work())) is None


def test_no_problem_is_smoothed_twice():
    with pytest.raises(ValueError, match="smoothed already"):
        smoothed(smoothed(multiclass_problem(np.eye(2), np.array([0, 1]), 2)))


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan])
def test_temperatures_that_are_none(temperature):
    problem = multiclass_problem(np.eye(2), np.array([0, 1]), 2)
    with pytest.raises(ValueError, match="a positive number is expected"):
        smoothed(problem, temperature)


def test_problems_without_a_sum_oracle():
    class Model:
        def joint_feature(self, x, y):
            return np.array([x * y])

        loss = oracle = predict = joint_feature

    with pytest.raises(ValueError, match="needs a sum oracle, which PythonProblem does"):
        smoothed(PythonProblem(Model(), [1.0], [1.0]))


@pytest.mark.parametrize("solver", [BCFW(), BCFW(direction="corrective")], ids=["toward", "corr"])
def test_solvers_of_svms_refuse_it(solver):
    problem = smoothed(multiclass_problem(np.eye(2), np.array([0, 1]), 2))
    with pytest.raises(ValueError, match=r"needs a max oracle, .* SDCA"):
        solve(problem, solver)
