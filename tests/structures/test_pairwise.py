"""Chains and multiclass problems compute the feature map that their formula says."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from taut_reference import chain_pair, multiclass_pair

from taut._compile import compiled
from taut.arrays.accumulator import add_to, clear, new_accumulator
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    begin_change,
    begin_margins,
    block_value,
    label_loss,
    label_value,
    margin,
    project,
    scores,
    shift,
    true_label,
)
from taut.structures import chain_problem, multiclass_problem

# Sums of a few dozen products of numbers around 1.
EXACT = dict(rel=0, abs=1e-12)


@compiled
def values(problem, w, i, work, y, mu, best, out):
    """Everything a solver can ask of prepared scores; with the loss from out[3] on."""
    scores(problem, w, i, work)
    out[0] = label_value(problem, w, i, work, y)
    out[1] = block_value(problem, w, i, work, mu)
    out[2] = argmax(problem, w, i, work, best)
    add_loss(problem, i, work)
    out[3] = label_value(problem, w, i, work, y)
    out[4] = block_value(problem, w, i, work, mu)
    out[5] = argmax(problem, w, i, work, best)
    out[6] = label_loss(problem, i, y)
    begin_margins(problem, i, work)
    out[7] = margin(problem, w, i, y, work)
    out[8] = margin(problem, w, i, best, work)


@compiled
def change_and_project(problem, i, mu, keep, y, amount, scale, work, delta, step):
    begin_change(problem, i, mu, keep, work)
    add_corner(problem, i, y, amount, work)
    project(problem, i, work, scale, delta)
    advance(problem, i, mu, step, work)


@compiled
def project_once(problem, i, work, amount, delta):
    project(problem, i, work, amount, delta)


@compiled
def shift_once(problem, i, y, amount, scale, mu, delta, work):
    shift(problem, i, y, amount, scale, mu, delta, work)


@compiled
def write_truth(problem, i, y):
    true_label(problem, i, y)


# Dense and observed features are the two extremes of the layout; every option appears with each.
CASES = {
    "multiclass": lambda seed: multiclass_pair(4, 5, seed=seed),
    "weighted multiclass without bias": lambda seed: multiclass_pair(
        4, 3, bias=False, weighted=True, seed=seed
    ),
    "sparse multiclass": lambda seed: multiclass_pair(4, 6, kind="sparse", seed=seed),
    "dense chain": lambda seed: chain_pair([3, 1, 2], 4, seed=seed),
    "dense chain of transitions only": lambda seed: chain_pair(
        [2, 4, 1], 3, bias=False, boundary=False, normalize=False, seed=seed
    ),
    "sparse chain": lambda seed: chain_pair([1, 3, 3], 5, kind="sparse", n_features=6, seed=seed),
    "observed chain": lambda seed: chain_pair(
        [3, 2, 3], 5, kind="observed", n_features=6, weighted=True, seed=seed
    ),
    "chain with step features": lambda seed: chain_pair(
        [3, 1, 4], 3, n_step=2, weighted=True, boundary=False, seed=seed
    ),
    "observed chain with step features": lambda seed: chain_pair(
        [1, 3, 2], 4, kind="observed", n_step=3, bias=False, seed=seed
    ),
    "constrained chain": lambda seed: chain_pair([3, 1, 4], 4, constrained=True, seed=seed),
    "constrained chain with step features": lambda seed: chain_pair(
        [4, 1, 3], 3, kind="observed", n_step=2, weighted=True, constrained=True, seed=seed
    ),
}
cases = pytest.mark.parametrize("case", CASES)
laws = lambda test: cases(given(seed=st.integers(0, 10**6))(settings(max_examples=10)(test)))  # noqa: E731


def random_point(reference, i, rng):
    """A convex combination of three labellings of example i: image and labellings."""
    share = rng.dirichlet(np.ones(3))
    images = [reference.image(i, rng.integers(0, reference.K, len(reference.Y[i]))) for _ in share]
    return tuple(
        sum(a * image[part] for a, image in zip(share, images, strict=True)) for part in (0, 1)
    )


def flat(image):
    return np.concatenate([image[0].ravel(), image[1].ravel()])


def block(problem, reference, mu, i):
    """The part of mu that belongs to example i."""
    sizes = [flat(image).size for image in reference.images(mu)]
    start = sum(sizes[:i])
    return mu[start : start + sizes[i]]


@laws
def test_values_of_labellings_marginals_and_the_oracle(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    assert problem.dim == reference.dim
    w = rng.normal(size=problem.dim)
    if hasattr(problem.features, "weight_state"):
        w[: problem.features.dim(problem.n_states)][problem.features.weight_state < 0] = 0.0
    work, mu = problem.new_work(), problem.new_dual()
    for i in range(problem.n):
        y = rng.integers(0, reference.K, len(reference.Y[i])).astype(np.int32)
        point = random_point(reference, i, rng)
        block(problem, reference, mu, i)[:] = flat(point)
        best, out = np.zeros(problem.longest, np.int32), np.zeros(9)
        values(problem, w, i, work, y, mu, best, out)

        truth = reference.phi(i, reference.Y[i])
        of_point = w @ (reference.features_of(i, point) - truth)
        loss, psi = reference.table(i)
        assert out[0] == pytest.approx(reference.value(i, y, w, with_loss=False), **EXACT)
        assert out[1] == pytest.approx(of_point, **EXACT)
        assert out[2] == pytest.approx(np.max(-psi @ w), **EXACT)
        assert out[3] == pytest.approx(reference.value(i, y, w), **EXACT)
        assert out[4] == pytest.approx(of_point + reference.loss_of(i, point), **EXACT)
        assert out[5] == pytest.approx(np.max(loss - psi @ w), **EXACT)
        assert out[6] == pytest.approx(reference.loss(i, y), **EXACT)
        # margin = <w, phi(truth) - phi(y)>, and H = loss - margin at the oracle's labelling.
        assert out[7] == pytest.approx(w @ (truth - reference.phi(i, y)), **EXACT)
        best = best[: len(reference.Y[i])]
        assert reference.loss(i, best) - out[8] == pytest.approx(out[5], **EXACT)


def as_vector(delta, problem):
    vector = np.zeros(problem.dim)
    add_to(delta, 1.0, vector)
    return vector


@laws
def test_a_change_of_the_marginals_seen_by_the_weights(case, seed):
    """d = keep * mu + amount * e(y); project gives Psi d for d of sum zero, advance mu + step d."""
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    work, mu, delta = problem.new_work(), problem.new_dual(), problem.new_delta()
    i = int(rng.integers(problem.n))
    point = random_point(reference, i, rng)
    block(problem, reference, mu, i)[:] = flat(point)
    before = mu.copy()
    y = rng.integers(0, reference.K, len(reference.Y[i])).astype(np.int32)
    change_and_project(problem, i, mu, -1.0, y, 1.0, 1.7, work, delta, 0.3)
    expected = 1.7 * (reference.phi(i, y) - reference.features_of(i, point))
    np.testing.assert_allclose(as_vector(delta, problem), expected, rtol=0, atol=1e-12)
    moved = 0.7 * flat(point) + 0.3 * flat(reference.image(i, y))
    np.testing.assert_allclose(block(problem, reference, mu, i), moved, rtol=0, atol=1e-14)
    # Other blocks are not touched.
    block(problem, reference, mu, i)[:] = block(problem, reference, before, i)
    np.testing.assert_array_equal(mu, before)


@laws
def test_any_change_is_multiplied_with_the_matrix_of_features(case, seed):
    """Entry by entry, and by rows: what solvers of SVMs and of CRFs ask for."""
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    work, deltas = problem.new_work(), (problem.new_delta(), problem.new_row_delta())
    for i, delta in product(range(problem.n), deltas):
        node, step = (np.zeros(part.shape) for part in reference.image(i, reference.Y[i]))
        few = rng.random(len(node)) < 0.5
        node += rng.normal(size=node.shape)
        node[few] *= np.eye(reference.K)[rng.integers(0, reference.K, few.sum())]
        step += rng.normal(size=step.shape)
        change = flat((node, step))
        work.change[: change.size] = change
        project_once(problem, i, work, -0.6, delta)
        expected = -0.6 * reference.features_of(i, (node, step))
        np.testing.assert_allclose(as_vector(delta, problem), expected, rtol=0, atol=1e-12)
        clear(delta)


@laws
def test_shift_moves_mass_from_the_truth_to_a_labelling(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    mu, delta = problem.new_dual(), problem.new_delta()
    i = int(rng.integers(problem.n))
    y = rng.integers(0, reference.K, len(reference.Y[i])).astype(np.int32)
    before = mu.copy()
    shift_once(problem, i, y, 0.4, 2.0, mu, delta, problem.new_work())
    difference = reference.phi(i, y) - reference.phi(i, reference.Y[i])
    change = as_vector(delta, problem)
    np.testing.assert_allclose(change, -2.0 * 0.4 * difference, rtol=0, atol=1e-12)
    expected = block(problem, reference, before, i) + 0.4 * (
        flat(reference.image(i, y)) - flat(reference.image(i, reference.Y[i]))
    )
    np.testing.assert_allclose(block(problem, reference, mu, i), expected, rtol=0, atol=1e-14)


@cases
def test_the_dual_starts_at_the_truth(case):
    problem, reference = CASES[case](0)
    mu = problem.new_dual()
    for i, image in enumerate(reference.images(mu)):
        np.testing.assert_array_equal(flat(image), flat(reference.image(i, reference.Y[i])))
        y = np.zeros(problem.longest, np.int32)
        write_truth(problem, i, y)
        assert y[: len(reference.Y[i])].tolist() == reference.Y[i].tolist()
    np.testing.assert_allclose(reference.weights(mu, 1.0), 0.0, atol=1e-13)


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("constrained")])
def test_worst_losses_are_the_largest_losses(case):
    problem, reference = CASES[case](1)
    expected = [reference.table(i)[0].max() for i in range(problem.n)]
    np.testing.assert_allclose(problem.worst_losses(), expected, rtol=1e-14)


def test_the_dimension_of_the_ocr_model_is_4082():
    """26 labels: 128 pixels, bias, first and last each, and 26 x 26 transitions."""
    problem = chain_problem(np.zeros((5, 128)), [5], np.zeros(5, int), n_states=26)
    assert problem.dim == 26 * 128 + 3 * 26 + 26 * 26 == 4082


def test_an_absent_group_takes_no_weights():
    rows, truth = np.zeros((4, 3)), np.zeros(4, int)
    dims = {
        (bias, boundary): chain_problem(rows, [4], truth, 2, bias=bias, boundary=boundary).dim
        for bias in (False, True)
        for boundary in (False, True)
    }
    assert dims == {
        (False, False): 6 + 4,
        (True, False): 6 + 2 + 4,
        (False, True): 6 + 4 + 4,
        (True, True): 6 + 2 + 4 + 4,
    }
    assert multiclass_problem(rows, truth, 2).dim == 6 + 2
    assert multiclass_problem(rows, truth, 2, bias=False).dim == 6
    steps = np.zeros((4, 5))
    assert chain_problem(rows, [4], truth, 2, step_features=steps).dim == 6 + 2 + 4 + 5 * 4


def test_an_accumulator_of_the_problems_capacity_holds_every_direction():
    """All labels at all nodes change at once: nothing pushes more."""
    for kind in ("sparse", "observed"):
        problem, reference = chain_pair([3, 2, 4], 5, kind=kind, n_features=6, n_step=2, seed=3)
        delta, work, mu = problem.new_delta(), problem.new_work(), problem.new_dual()
        for i in range(problem.n):
            length = len(reference.Y[i])
            block(problem, reference, mu, i)[:] = 1.0
            y = np.zeros(length, np.int32)
            roomy = new_accumulator(problem.dim, 100_000)
            change_and_project(problem, i, mu, 1.0, y, 0.5, 1.0, work, roomy, 0.0)
            assert roomy.count[0] <= delta.touched.size


def test_extended_is_the_problem_of_all_examples():
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(7, 3)), rng.integers(0, 3, 7).astype(np.int32)
    whole = chain_problem(rows, [2, 1, 4], truth, 3)
    part = chain_problem(rows[:3], [2, 1], truth[:3], 3)
    extended = part.extended(chain_problem(rows[3:], [4], truth[3:], 3))
    assert extended.fingerprint() == whole.fingerprint() != part.fingerprint()


def test_the_fingerprint_tells_data_labels_and_losses_apart():
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(7, 3)), rng.integers(0, 3, 7)

    def prints(rows=rows, lengths=(3, 4), truth=truth, **options):
        return chain_problem(rows, list(lengths), truth, 3, **options).fingerprint()

    other_truth = (truth + np.eye(7, dtype=int)[2]) % 3
    other_rows = rows + np.eye(7, 3)
    variants = [
        prints(),
        prints(rows=other_rows),
        prints(lengths=(4, 3)),
        prints(truth=other_truth),
        prints(normalize=False),
        prints(bias=False),
        prints(importance=np.array([1.0, 2.0])),
        prints(step_features=np.ones((7, 1))),
        prints(rows=sparse.csr_array(rows)),
    ]
    assert prints() == variants[0]
    assert len(set(variants)) == len(variants)


# --- what compiled code will trust ----------------------------------------------------------------


@pytest.mark.parametrize("build", [chain_problem, multiclass_problem])
@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([0, 1, 2], r"label 2 is 2; labels must be numbers from 0 to 1"),
        ([0, -1, 1], r"label 1 is -1; labels must be numbers from 0 to 1"),
        ([0, 1, 2**32], r"label 2 is 4294967296; labels must be numbers from 0 to 1"),
        ([0, 1, 2**70], "labels are object values .*; whole numbers from 0 to 1"),
        ([0.0, 1.0, 0.5], "labels are float64 values .*; whole numbers from 0 to 1"),
        ([0.0, 1.0, np.nan], "labels are float64 values .*; whole numbers from 0 to 1"),
        ([[0], [1], [1]], r"labels are int64 values of shape \(3, 1\)"),
        ([0, 1], "3 rows of features, 2 labels"),
    ],
)
def test_labels_out_of_range_are_refused_not_wrapped(build, truth, message):
    lengths = ([3],) if build is chain_problem else ()
    with pytest.raises(ValueError, match=message):
        build(np.eye(3), *lengths, np.array(truth), 2)


@pytest.mark.parametrize("observed", [False, True])
def test_labels_out_of_range_are_refused_where_weights_follow_from_them(observed):
    with pytest.raises(ValueError, match="label 2 is 4294967297; labels must be numbers"):
        chain_problem(
            sparse.csr_array(np.eye(3)), [3], np.array([0, 1, 2**32 + 1]), 2, observed=observed
        )


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, 2], "the lengths add up to 4 but there are 3 rows"),
        ([4, -1], r"lengths\[1\] is -1; a length is not negative"),
        ([3, 0], "every example needs at least one node"),
        # The sum of these wraps around, to 3.
        ([2**63 - 1, 2**63 - 1, 5], r"lengths\[0\] is 9223372036854775807 but there are 3 rows"),
        ([1.5, 1.5], "lengths are an array .* type float64; one whole number per sequence"),
    ],
)
def test_lengths_out_of_range_are_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        chain_problem(np.eye(3), np.array(lengths), np.array([0, 1, 1]), 2)
