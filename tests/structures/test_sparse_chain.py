"""Chains with sparse steps and step attributes compute what their definition says.

Calls here are interpreted; that compiled code does the same is a matter of other tests.
"""

import numpy as np
import pytest
from crf_reference import CRFReference, flat
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sparse_reference import sparse_pair, sparse_pairs
from taut_reference import chain_pair

from taut import check_problem, smoothed
from taut.arrays.accumulator import add_to, clear
from taut.problem import (
    add_corner,
    add_loss,
    add_marginals,
    advance,
    argmax,
    begin_change,
    begin_margins,
    block_value,
    dual_has_room,
    expected,
    finish_shifts,
    image_loss,
    image_size,
    image_value,
    label_loss,
    label_value,
    likely,
    log_sum,
    margin,
    narrowed,
    project,
    remember,
    scores,
    shift,
    true_image,
    true_label,
)
from taut.structures import chain_problem, sparse_dual
from taut.structures.features import node_features
from taut.structures.sparse_chain import SparseChain
from taut.structures.sparse_chain_memory import truths_of
from taut.structures.sparse_chain_sums import WORTH_LOSING

# Sums of a few dozen products of numbers around 1.
EXACT = dict(rel=0, abs=1e-12)
CASES = {
    "sparse steps": lambda seed: sparse_pair([3, 1, 2], 4, seed=seed),
    "sparse features": lambda seed: sparse_pair(
        [1, 3, 3], 4, kind="sparse", n_features=6, weighted=True, seed=seed
    ),
    "transitions only": lambda seed: sparse_pair(
        [2, 4, 1], 3, bias=False, boundary=False, normalize=False, seed=seed
    ),
    "no pair": lambda seed: sparse_pair([1, 1], 3, seed=seed),
    "all pairs": lambda seed: sparse_pair([3, 2], 3, only_seen=False, seed=seed),
    "step attributes": lambda seed: sparse_pair(
        [3, 1, 4], 3, n_attributes=3, kind="observed", n_features=5, seed=seed
    ),
    "step attributes of all pairs": lambda seed: sparse_pair(
        [3, 2], 3, only_seen=False, n_attributes=2, kind="sparse", weighted=True, seed=seed
    ),
    "constrained": lambda seed: sparse_pair([3, 1, 4], 4, constrained=True, seed=seed),
    "constrained step attributes": lambda seed: sparse_pair(
        [4, 1, 3], 3, kind="observed", n_attributes=3, constrained=True, seed=seed
    ),
}
cases = pytest.mark.parametrize("case", CASES)
laws = lambda test: cases(given(seed=st.integers(0, 10**6))(settings(max_examples=12)(test)))  # noqa: E731


def random_weights(problem, rng):
    w = rng.normal(size=problem.dim)
    w[problem.held_at_zero()] = 0.0
    return w


def random_point(reference, i, rng):
    """An image of a convex combination of three labellings of example i."""
    share = rng.dirichlet(np.ones(3))
    images = [reference.image(i, rng.integers(0, reference.K, len(reference.Y[i]))) for _ in share]
    return tuple(sum(a * m[part] for a, m in zip(share, images, strict=True)) for part in (0, 1))


def dual_at(problem, i, image):
    """The truth, but for block i."""
    blocks = sparse_dual.unpacked(problem.new_dual())
    numbers, ends = flat(image), np.cumsum(blocks.sizes)
    keys, values = np.split(blocks.keys, ends[:-1]), np.split(blocks.values, ends[:-1])
    others = np.setdiff1d(np.flatnonzero(numbers), keys[i])
    keys[i] = np.concatenate([keys[i], others]).astype(np.int32)
    values[i] = numbers[keys[i]]
    sizes = np.array([len(each) for each in keys])
    return problem.with_room(
        sparse_dual.packed(
            sparse_dual.Blocks(sizes, blocks.kept, np.concatenate(keys), np.concatenate(values))
        ),
        False,
    )


def images_of(reference, mu):
    return [flat(image) for image in reference.images(mu)]


def as_vector(delta, problem):
    vector = np.zeros(problem.dim)
    add_to(delta, 1.0, vector)
    clear(delta)
    return vector


def random_labels(reference, i, rng):
    return rng.integers(0, reference.K, len(reference.Y[i])).astype(np.int32)


@laws
def test_values_of_labellings_of_the_dual_and_of_the_oracle(case, seed):
    problem, reference = CASES[case](seed)
    assert isinstance(problem, SparseChain)
    assert problem.dim == reference.dim
    rng = np.random.default_rng(seed)
    w, work = random_weights(problem, rng), problem.new_work()
    for i in range(problem.n):
        y, point = random_labels(reference, i, rng), random_point(reference, i, rng)
        mu, best = dual_at(problem, i, point), np.full(problem.longest, -7, np.int32)
        loss, psi = reference.table(i)
        truth = reference.phi(i, reference.Y[i])
        of_point = w @ (reference.features_of(i, point) - truth)
        for with_loss in (False, True):
            scores(problem, w, i, work)
            if with_loss:
                add_loss(problem, i, work)
            value = argmax(problem, w, i, work, best)
            assert value == pytest.approx(np.max(with_loss * loss - psi @ w), **EXACT)
            found = best[: len(y)]
            assert reference.value(i, found, w, with_loss) == pytest.approx(value, **EXACT)
            assert any(np.array_equal(found, each) for each in reference.labellings(i))
            value = label_value(problem, w, i, work, y)
            assert value == pytest.approx(reference.value(i, y, w, with_loss), **EXACT)
            mean = of_point + with_loss * reference.loss_of(i, point)
            assert block_value(problem, w, i, work, mu) == pytest.approx(mean, **EXACT)
            assert image_value(problem, w, i, work, flat(point)) == pytest.approx(mean, **EXACT)
        assert label_loss(problem, i, y) == pytest.approx(reference.loss(i, y), **EXACT)
        loss_of_point = reference.loss_of(i, point)
        assert image_loss(problem, i, flat(point)) == pytest.approx(loss_of_point, **EXACT)
        for _ in range(2):
            begin_margins(problem, i, work)
            other = random_labels(reference, i, rng)
            expected_margin = w @ (truth - reference.phi(i, other))
            assert margin(problem, w, i, other, work) == pytest.approx(expected_margin, **EXACT)


@laws
def test_among_equal_labellings_the_oracle_chooses_as_viterbi_does(case, seed):
    """Weights are whole numbers, and many scores equal: the last label is the lowest, and so on."""
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    w, work = rng.integers(-1, 2, problem.dim).astype(float), problem.new_work()
    w[problem.held_at_zero()] = 0.0
    w[: problem.features.dim(problem.n_states)] = 0.0  # features are no whole numbers
    for i in range(problem.n):
        y = np.zeros(problem.longest, np.int32)
        scores(problem, w, i, work)
        value = argmax(problem, w, i, work, y)
        all_y = reference.labellings(i)
        values = np.array([reference.value(i, each, w, False) for each in all_y])
        assert value == pytest.approx(values.max(), **EXACT)
        best = [all_y[k].tolist() for k in np.flatnonzero(values >= values.max() - 1e-9)]
        assert y[: len(best[0])].tolist() == min(best, key=lambda labels: labels[::-1])


@laws
def test_a_change_of_the_dual_seen_by_the_weights(case, seed):
    """d = keep * mu + amount * e(y); project gives Psi d for d of sum zero, advance mu + step d."""
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    work, i = problem.new_work(), int(rng.integers(problem.n))
    point, y = random_point(reference, i, rng), random_labels(reference, i, rng)
    mu = dual_at(problem, i, point)
    before = images_of(reference, mu)
    for delta in (problem.new_delta(), problem.new_row_delta()):
        begin_change(problem, i, mu, -1.0, work)
        add_corner(problem, i, y, 1.0, work)
        project(problem, i, work, 1.7, delta)
        psi = 1.7 * (reference.phi(i, y) - reference.features_of(i, point))
        np.testing.assert_allclose(as_vector(delta, problem), psi, rtol=0, atol=1e-12)
    for step in (0.3, 0.0, 1.0):
        mu = problem.with_room(dual_at(problem, i, point), False)
        assert dual_has_room(problem, mu, work)
        begin_change(problem, i, mu, -1.0, work)
        add_corner(problem, i, y, 1.0, work)
        advance(problem, i, mu, step, work)
        after = images_of(reference, mu)
        moved = (1.0 - step) * flat(point) + step * flat(reference.image(i, y))
        np.testing.assert_allclose(after[i], moved, rtol=0, atol=1e-14)
        for j in set(range(problem.n)) - {i}:
            np.testing.assert_array_equal(after[j], before[j])
        blocks = sparse_dual.unpacked(mu)
        sparse_dual.check_blocks(blocks, problem.image_sizes)
        sparse_dual.check_truths(blocks, truths_of(problem))
        if step == 1.0:  # what is left are the truth and y
            truth = flat(reference.image(i, reference.Y[i]))
            used = np.count_nonzero(truth + flat(reference.image(i, y)))
            assert blocks.sizes[i] == used


@laws
def test_any_image_is_multiplied_with_the_matrix_of_features(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    work, mu = problem.new_work(), problem.new_dual()
    for i in range(problem.n):
        image = tuple(rng.normal(size=part.shape) for part in reference.image(i, reference.Y[i]))
        image[0][rng.random(len(image[0])) < 0.3] = 0.0
        assert image_size(problem, i) == flat(image).size
        for delta in (problem.new_delta(), problem.new_row_delta()):
            begin_change(problem, i, mu, 0.0, work)
            add_marginals(problem, i, flat(image), -0.6, work)
            project(problem, i, work, 2.0, delta)
            psi = -1.2 * reference.features_of(i, image)
            np.testing.assert_allclose(as_vector(delta, problem), psi, rtol=0, atol=1e-11)


@laws
def test_shift_moves_mass_from_the_truth_to_labellings(case, seed):
    """In the order in which corrective steps call: a new labelling's features are looked at
    between, and leave no trace."""
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    work, delta = problem.new_work(), problem.new_delta()
    i = int(rng.integers(problem.n))
    point = random_point(reference, i, rng)
    mu, total = dual_at(problem, i, point), np.zeros(problem.dim)
    image, truth = flat(point), reference.Y[i].astype(np.int32)
    others = [random_labels(reference, i, rng) for _ in range(2)]
    for y in others:
        mu = problem.with_room(mu, False)
        remember(problem, i, y, mu, work)
        np.testing.assert_array_equal(images_of(reference, mu)[i], image)
        begin_change(problem, i, mu, 0.0, work)
        add_corner(problem, i, truth, 1.0, work)
        add_corner(problem, i, y, -1.0, work)
        project(problem, i, work, 1.0, delta)
        clear(delta)
        begin_margins(problem, i, work)
    for y, amount in zip(others, (0.4, -0.1), strict=True):
        shift(problem, i, y, amount, 2.0, mu, delta, work)
        difference = reference.phi(i, y) - reference.phi(i, truth)
        total -= 2.0 * amount * difference
        image = image + amount * (flat(reference.image(i, y)) - flat(reference.image(i, truth)))
    finish_shifts(problem, i, 2.0, mu, delta, work)
    np.testing.assert_allclose(as_vector(delta, problem), total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(images_of(reference, mu)[i], image, rtol=0, atol=1e-14)
    finish_shifts(problem, i, 2.0, mu, delta, work)  # nothing is left to be added
    np.testing.assert_allclose(images_of(reference, mu)[i], image, rtol=0, atol=1e-14)


@laws
def test_the_sum_oracle_finds_the_marginals(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    # The largest is left to tables and logarithms.
    scale, sharpness = rng.choice([0.3, 1.0, 400.0]), rng.choice([0.5, 1.0, 3.0])
    w = scale * random_weights(problem, rng)
    crf = CRFReference(reference, 1.0 / sharpness)
    work, sums = problem.new_work(), problem.new_sums()
    for i in range(problem.n):
        image = np.full(problem.largest_image, np.nan)[: image_size(problem, i)]
        scores(problem, w, i, work)
        value = expected(problem, w, i, work, sums, sharpness, image)
        rounding = 1e-13 * (1.0 + scale * sharpness) * 20
        assert value == pytest.approx(crf.value(i, w), rel=rounding, abs=1e-12)
        p = crf.distribution(i, w)
        np.testing.assert_allclose(image, p @ crf.corners(i), rtol=0, atol=rounding)


@laws
def test_a_narrowed_distribution_is_the_same_under_a_condition(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    w = rng.choice([1.0, 4.0]) * random_weights(problem, rng)
    crf, work, sums = CRFReference(reference), problem.new_work(), problem.new_sums()
    for i in range(problem.n):
        loss = rng.choice([1e-9, 0.1, 1.0, 1e5])
        image = np.full(image_size(problem, i), np.nan)
        scores(problem, w, i, work)
        expected(problem, w, i, work, sums, 1.0, image)
        before = image.copy()
        left = narrowed(problem, i, work, sums, 1.0, loss, image)
        if left == 0.0:
            np.testing.assert_allclose(image, before, rtol=0, atol=1e-12)
            continue
        assert -1.0000001 * loss * len(reference.Y[i]) <= left <= 0.0 or loss == 1e5
        nodes = image[: len(reference.Y[i]) * reference.K].reshape(-1, reference.K)
        p, all_y = crf.distribution(i, w), np.array(reference.labellings(i))
        stays = np.all(nodes[np.arange(len(nodes)), all_y] > 0.0, axis=1)
        assert left == pytest.approx(np.log(p[stays].sum()), rel=1e-9, abs=1e-11)
        np.testing.assert_allclose(
            image, (p * stays / p[stays].sum()) @ crf.corners(i), rtol=0, atol=1e-11
        )


@laws
def test_a_likely_distribution_is_the_same_under_a_condition(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    w = rng.choice([1.0, 4.0]) * random_weights(problem, rng)
    sharpness, loss = rng.choice([0.5, 1.0, 2.0]), rng.choice([1e-9, 0.1, 1.0, 1e5])
    crf, work, sums = CRFReference(reference, 1 / sharpness), problem.new_work(), problem.new_sums()
    for i in range(problem.n):
        image = np.full(image_size(problem, i), np.nan)
        scores(problem, w, i, work)
        value = likely(problem, i, work, sums, sharpness, loss, int(rng.integers(1, 5)), image)
        if value == -np.inf:
            assert problem.closed.size or loss < WORTH_LOSING * len(reference.Y[i])
            continue
        nodes = image[: len(reference.Y[i]) * reference.K].reshape(-1, reference.K)
        p, all_y = crf.distribution(i, w), np.array(reference.labellings(i))
        stays = np.all(nodes[np.arange(len(nodes)), all_y] > 0.0, axis=1)
        left = np.log(p[stays].sum()) / sharpness
        assert value == pytest.approx(crf.value(i, w) + left, rel=1e-9, abs=1e-11)
        np.testing.assert_allclose(
            image, (p * stays / p[stays].sum()) @ crf.corners(i), rtol=0, atol=1e-11
        )


@laws
def test_the_sum_alone_is_that_of_the_sum_oracle(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    w = rng.choice([1.0, 400.0]) * random_weights(problem, rng)
    crf, work, sums = CRFReference(reference), problem.new_work(), problem.new_sums()
    for i in range(problem.n):
        scores(problem, w, i, work)
        value = log_sum(problem, i, work, sums, 1.0)
        image = np.zeros(image_size(problem, i))
        if np.isnan(value):
            expected(problem, w, i, work, sums, 1.0, image)
            assert problem.closed.size or np.isnan(sums.log_z[0])  # by logarithms
        else:
            assert value == expected(problem, w, i, work, sums, 1.0, image)
            assert value == pytest.approx(crf.value(i, w), rel=1e-11, abs=1e-12)


@cases
def test_the_dual_starts_at_the_truth(case):
    problem, reference = CASES[case](0)
    mu = problem.new_dual()
    assert problem.dual_grows
    for i, image in enumerate(reference.images(mu)):
        truth = flat(reference.image(i, reference.Y[i]))
        np.testing.assert_array_equal(flat(image), truth)
        np.testing.assert_array_equal(problem.image_in(mu, i), truth)
        written = np.full(len(truth), np.nan)
        true_image(problem, i, written)
        np.testing.assert_array_equal(written, truth)
        y = np.zeros(problem.longest, np.int32)
        true_label(problem, i, y)
        assert y[: len(reference.Y[i])].tolist() == reference.Y[i].tolist()
    np.testing.assert_allclose(reference.weights(mu, 1.0), 0.0, atol=1e-13)


@pytest.mark.parametrize("which", sparse_pairs())
def test_nothing_is_found_wrong(which):
    problem, _ = sparse_pairs()[which]
    check_problem(problem)
    check_problem(smoothed(problem))


def test_a_leftover_change_is_found_wrong():
    """What corrective steps leave behind must not be added to the next shift."""

    class Forgetful(SparseChain):
        __slots__ = ()

        def begin_margins(problem, i, work):
            work.visit[0] += 1

    problem, _ = sparse_pairs()["sparse steps"]
    with pytest.raises(ValueError, match="different dual points"):
        check_problem(Forgetful(*problem))


# --- other examples ------------------------------------------------------------------------------


def two_parts(n_attributes):
    rng = np.random.default_rng(0)
    rows, truth, lengths = rng.normal(size=(9, 3)), rng.integers(0, 3, 9), np.array([4, 1, 3, 1])
    values = sparse.csr_array(rng.integers(0, 2, (9, n_attributes)).astype(float))

    def part(nodes, examples):
        return chain_problem(
            rows[nodes], lengths[examples], truth[nodes], 3, only_seen_steps=True,
            step_attributes=values[nodes] if n_attributes else None,
        )  # fmt: skip

    return part(slice(0, 5), slice(0, 2)), part(slice(5, 9), slice(2, 4)), rows, truth, values


@pytest.mark.parametrize("n_attributes", [0, 2])
def test_examples_that_are_added_are_under_the_same_weights(n_attributes):
    first, more, _, _, values = two_parts(n_attributes)
    whole = first.extended(more)
    assert (whole.n, whole.dim) == (4, first.dim)
    assert whole.fingerprint(2) == first.fingerprint() != whole.fingerprint()
    check_problem(whole)
    w = np.random.default_rng(1).normal(size=whole.dim)
    forced = np.full(9, -1)
    again = first.for_prediction(
        whole.features, np.array([4, 1, 3, 1]), None, forced, values if n_attributes else None
    )
    for i in range(4):
        work = [problem.new_work() for problem in (whole, again)]
        for problem, scratch in zip((whole, again), work, strict=True):
            scores(problem, w, i, scratch)
        length = whole.pointer[i + 1] - whole.pointer[i]
        np.testing.assert_array_equal(work[0].theta[:length], work[1].theta[:length])
        rows_of_steps = max(length - 1, 0) if n_attributes else 1
        np.testing.assert_array_equal(work[0].step[:rows_of_steps], work[1].step[:rows_of_steps])


@pytest.mark.parametrize("n_attributes", [0, 2])
def test_a_dual_is_copied_into_that_of_more_examples(n_attributes):
    first, more, *_ = two_parts(n_attributes)
    whole = first.extended(more)
    rng = np.random.default_rng(0)
    work, mu = first.new_work(), first.with_room(first.new_dual(), True)
    for i in range(first.n):
        y = rng.integers(0, 3, first.longest).astype(np.int32)
        begin_change(first, i, mu, -1.0, work)
        add_corner(first, i, y, 1.0, work)
        advance(first, i, mu, 0.4, work)
    assert first.examples_in(mu) == 2
    for saved in (mu, first.dual_array(mu)):
        copied = whole.copy_dual(saved, whole.new_dual())
        for i in range(whole.n):
            expected_image = first.image_in(mu, i) if i < 2 else whole.image_in(whole.new_dual(), i)
            np.testing.assert_array_equal(whole.image_in(copied, i), expected_image)
    with pytest.raises(ValueError, match="4 blocks for 2 examples"):
        first.copy_dual(whole.new_dual(), first.new_dual())


def test_examples_that_are_not_alike_cannot_be_added():
    first, _, rows, truth, _ = two_parts(2)
    others = [two_parts(0)[1], chain_problem(rows, [9], truth, 3)]
    for other in others:
        for one, added in ((first, other), (other, first)):
            with pytest.raises(ValueError, match="cannot be added"):
                one.extended(added)
    with pytest.raises(ValueError, match="step attributes of 5 positions; 2 of 4"):
        first.steps.of_nodes(np.zeros((5, 2)), 4)


def test_a_matrix_without_step_attributes_is_none():
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(7, 3)), rng.integers(0, 3, 7)
    problem = chain_problem(
        rows, [4, 3], truth, 3, only_seen_steps=True, step_attributes=sparse.csr_array((7, 0))
    )
    plain = chain_problem(rows, [4, 3], truth, 3, only_seen_steps=True)
    assert (problem.dim, problem.largest_image) == (plain.dim, plain.largest_image)
    check_problem(problem)


def test_the_fingerprint_tells_pairs_and_step_attributes_apart():
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(7, 3)), rng.integers(0, 3, 7)
    values = rng.integers(0, 2, (7, 2)).astype(float)

    def prints(values=None, **options):
        attributes = None if values is None else sparse.csr_array(values)
        return chain_problem(
            rows, [4, 3], truth, 3, step_attributes=attributes, **options
        ).fingerprint()

    found = [
        prints(),
        prints(only_seen_steps=True),
        prints(values),
        prints(values, only_seen_steps=True),
        prints(2 * values),
        prints(values[:, ::-1]),
    ]
    assert len(set(found)) == len(found)


# --- with all pairs it is the dense chain --------------------------------------------------------


@pytest.mark.parametrize("constrained", [False, True])
def test_with_all_pairs_it_is_a_chain_with_tables(constrained):
    """The same weights in the same places, the same labellings and values."""
    options = dict(constrained=constrained, seed=3)
    dense, _ = chain_pair([3, 1, 4], 3, **options)
    whole, _ = sparse_pair([3, 1, 4], 3, only_seen=False, **options)
    assert whole.dim == dense.dim
    rng = np.random.default_rng(0)
    for scale in (1.0, 300.0):
        w = scale * rng.normal(size=dense.dim)
        for i in range(3):
            answers = []
            for problem in (whole, dense):
                work, sums = problem.new_work(), problem.new_sums()
                y, image = np.zeros(problem.longest, np.int32), np.zeros(image_size(problem, i))
                scores(problem, w, i, work)
                log_z = expected(problem, w, i, work, sums, 1.0, image)
                add_loss(problem, i, work)
                answers.append((argmax(problem, w, i, work, y), log_z, y.tolist(), image))
            found, same = answers
            assert found[2] == same[2]
            np.testing.assert_allclose(found[:2], same[:2], rtol=1e-13, atol=1e-12)
            np.testing.assert_allclose(found[3], same[3], rtol=0, atol=1e-11)


def test_what_inference_needs_is_said(monkeypatch):
    """Tables of all pairs at each step are for sums where scores are far apart, and constraints."""
    truth = np.arange(60) % 30
    attributes = sparse.csr_array(np.ones((60, 1)))
    problem = chain_problem(np.ones((60, 1)), [60], truth, 30, step_attributes=attributes,
                            only_seen_steps=True)  # fmt: skip
    numbers = 2 * problem.largest_image + 30**2
    for maker, needed in ((problem.new_work, numbers), (problem.new_sums, 2 * 59 * 30**2)):
        monkeypatch.setattr("taut.memory.memory_bytes", lambda needed=needed: 2 * 8 * needed)
        maker()
        monkeypatch.setattr("taut.memory.memory_bytes", lambda needed=needed: 2 * 8 * needed - 1)
        with pytest.raises(ValueError, match="30 labels; inference takes"):
            maker()


def test_weights_for_step_attributes_are_not_silently_left_out():
    """Positions without attributes have an empty row for each."""
    attributes = sparse.csr_array(np.eye(7)[:, :2])
    problem = chain_problem(np.eye(7), [3, 4], np.arange(7) % 3, 3, step_attributes=attributes)
    rows = node_features(np.eye(7)[:5])
    with pytest.raises(ValueError, match=r"0 step attributes of 5 positions; 2 of 5 are expected"):
        problem.layout().for_prediction(rows, [5], None)
    none = sparse.csr_array((5, 2))
    assert problem.layout().for_prediction(rows, [5], None, step_attributes=none).n == 1
