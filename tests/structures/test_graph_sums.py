"""The sum oracle of forests agrees with enumeration, whatever the model."""

import numpy as np
import pytest
from graph_reference import alone, complete, cycle, graph_pair, label_set_pair, path
from hypothesis import given, settings
from hypothesis import strategies as st

from taut._compile import compiled
from taut.problem import (
    add_loss,
    expected,
    image_loss,
    image_size,
    image_value,
    scores,
    true_image,
)
from taut.structures import partly_labelled, smoothed
from taut.structures.graphs import GraphModel, graph_problem

# Sums of a few dozen terms around 1, relative to the largest.
EXACT = dict(rel=0, abs=1e-12)


@compiled
def ask(problem, w, i, work, sums, sharpness, with_loss, image, out):
    """Everything that a CRF asks of an example."""
    scores(problem, w, i, work)
    if with_loss:
        add_loss(problem, i, work)
    out[0] = expected(problem, w, i, work, sums, sharpness, image)
    out[1] = image_value(problem, w, i, work, image)
    out[2] = image_loss(problem, i, image)
    out[3] = image_size(problem, i)


@compiled
def write_truth(problem, i, image):
    true_image(problem, i, image)


MIXED = dict(states=(2, 3, 1), joins=((0, 1), (1, 1), (1, 0), (2, 1)), random_types=True)
STAR = 4, [(1, 0), (1, 3), (2, 1)]
CASES = {
    "trees and isolated nodes": lambda seed: graph_pair(
        [path(3), STAR, alone(1), (4, [(3, 0)])], states=(3,), seed=seed
    ),
    "several types": lambda seed: graph_pair(
        [STAR, path(3), alone(2)], **MIXED, weighted=True, seed=seed
    ),
    "Potts, sparse": lambda seed: graph_pair(
        [STAR, path(2)], states=(3,), pairwise="potts", n_edge_features=2, sparse_nodes=True,
        sparse_edges=True, weighted=True, normalize=False, seed=seed,
    ),
    "label sets": lambda seed: label_set_pair(3, 4, [(0, 1), (3, 1)], seed=seed),
    "one label": lambda seed: graph_pair([path(3), alone(1)], states=(1,), seed=seed),
    "another method": lambda seed: graph_pair([path(3), STAR], inference="exhaustive", seed=seed),
    "label sets, another method": lambda seed: label_set_pair(
        3, 3, [(0, 1), (2, 1)], inference="exhaustive", seed=seed
    ),
    "a relaxation": lambda seed: graph_pair(
        [path(3), STAR], inference="message-passing", relaxed=True, seed=seed
    ),
}  # fmt: skip
cases = pytest.mark.parametrize("case", CASES)


def enumerated(reference, i, w, sharpness, with_loss, known=None):
    """log Z / sharpness minus the truth's score, the mean of all images, and the entropy."""
    truth = reference.graphs[i].truth
    some = [y for y in reference.labellings[i] if known is None or all(y[known] == truth[known])]
    images = np.array([reference.image(i, y) for y in some])
    values = np.array([reference.value(i, image, w, with_loss) for image in images])
    top = values.max()
    weights = np.exp(sharpness * (values - top))
    p = weights / weights.sum()
    entropy = -np.sum(p * np.log(np.where(p > 0, p, 1.0)))
    return top + np.log(weights.sum()) / sharpness, p @ images, entropy


def asked(problem, i, w, sharpness, with_loss, kernel=ask):
    image, out = np.full(int(problem.image_size(i)) + 3, np.nan), np.zeros(4)
    kernel(problem, w, i, problem.new_work(), problem.new_sums(), sharpness, with_loss, image, out)
    assert out[3] == image.size - 3
    assert np.isnan(image[-3:]).all()  # nothing is written beyond
    return out, image[:-3]


@cases
@pytest.mark.parametrize("with_loss", [False, True], ids=["scores", "with the loss"])
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), sharpness=st.sampled_from([0.3, 1.0, 4.0]))
def test_expectations_are_those_of_all_labellings(case, with_loss, seed, sharpness):
    problem, reference = CASES[case](seed)
    w = np.random.default_rng(seed).normal(size=problem.dim)
    for i in range(problem.n):
        out, image = asked(problem, i, w, sharpness, with_loss)
        value, mean, entropy = enumerated(reference, i, w, sharpness, with_loss)
        assert out[0] == pytest.approx(value, **EXACT)
        np.testing.assert_allclose(image, mean, rtol=0, atol=1e-12)
        assert out[1] == pytest.approx(reference.value(i, mean, w, with_loss), **EXACT)
        assert out[2] == pytest.approx(reference.loss_of(i, mean), **EXACT)
        assert sharpness * (out[0] - out[1]) == pytest.approx(entropy, **EXACT)


@cases
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_sums_are_limited_to_what_agrees_with_known_labels(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    w, known = rng.normal(size=problem.dim), rng.random(problem.pointer[-1]) < 0.5
    clamped = problem.clamped(known)
    for i in range(problem.n):
        of_graph = known[problem.pointer[i] : problem.pointer[i + 1]]
        out, image = asked(clamped, i, w, 0.7, False)
        value, mean, _ = enumerated(reference, i, w, 0.7, False, of_graph)
        assert out[0] == pytest.approx(value, **EXACT)
        np.testing.assert_allclose(image, mean, rtol=0, atol=1e-12)
    # The problem itself is as free as before.
    assert asked(problem, 0, w, 0.7, False)[0][0] == pytest.approx(
        enumerated(reference, 0, w, 0.7, False)[0], **EXACT
    )


def test_with_all_labels_known_only_the_truth_is_left():
    problem, _ = CASES["several types"](0)
    clamped = problem.clamped(np.ones(problem.pointer[-1], bool))
    w = np.random.default_rng(0).normal(size=problem.dim)
    for i in range(problem.n):
        out, image = asked(clamped, i, w, 1.0, False)
        truth = np.full(image.size, np.nan)
        write_truth(problem, i, truth)
        assert out[0] == pytest.approx(0.0, **EXACT)
        np.testing.assert_allclose(image, truth, rtol=0, atol=1e-14)


@cases
def test_the_true_image_is_where_the_dual_starts(case):
    problem, reference = CASES[case](3)
    for i, block in enumerate(reference.images(problem.new_dual())):
        problem.new_sums()
        image = np.full(block.size, np.nan)
        write_truth(problem, i, image)
        np.testing.assert_array_equal(image, block)


def test_interpreted_it_is_the_same_bit_for_bit():
    problem, _ = CASES["trees and isolated nodes"](1)
    w = np.random.default_rng(1).normal(size=problem.dim)
    for i in range(problem.n):
        first, second = (asked(problem, i, w, 0.5, True, kernel) for kernel in (ask, ask.py_func))
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize("scale", [1e4, 1e6])
def test_huge_scores_neither_overflow_nor_lose_the_sum(scale):
    """Rounding is relative to the scores; images stay distributions."""
    problem, reference = CASES["trees and isolated nodes"](2)
    w = scale * np.random.default_rng(2).normal(size=problem.dim)
    for i in range(problem.n):
        out, image = asked(problem, i, w, 1.0, False)
        value, mean, _ = enumerated(reference, i, w, 1.0, False)
        assert out[0] == pytest.approx(value, rel=1e-13, abs=1e-13 * scale)
        np.testing.assert_allclose(image, mean, rtol=0, atol=1e-13 * scale)
        rows = image[: len(reference.graphs[i].truth) * 3].reshape(-1, 3)
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-14)


def test_the_numbers_of_labellings():
    problem, reference = CASES["several types"](5)
    expected = np.log([len(some) for some in reference.labellings])
    np.testing.assert_allclose(problem.log_counts(), expected, rtol=0, atol=1e-13)
    assert problem.clamped(np.zeros(problem.pointer[-1], bool)).log_counts() is None


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["auto", "message-passing", "roof-duality", "lp"])
def test_cycles_are_refused_by_their_graph(inference):
    relaxed = inference not in ("auto", "exhaustive")
    problem, _ = graph_pair([path(3), complete(4), cycle(3)], inference=inference, relaxed=relaxed)
    with pytest.raises(ValueError, match=r'edges of graph 1 close a cycle.* solver="idal"'):
        smoothed(problem)


def test_counts_are_refused():
    model = GraphModel((2,), ((0, 0),), n_features=1, n_edge_features=0)
    problem = graph_problem(
        model, np.ones((3, 1)), np.array([3]), np.array([0, 1, 1]), np.array([[0, 1]]),
        np.array([1]), counts=[[([0, 1, 2], 0, 2)]],
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"counts.* train without counts"):
        smoothed(problem)


def test_known_labels_are_one_for_each_node():
    problem, _ = CASES["one label"](0)
    with pytest.raises(ValueError, match=r"known has shape \(3,\); one boolean for each"):
        partly_labelled(problem, np.ones(3, bool))


def test_the_fingerprint_tells_what_is_known():
    problem, _ = CASES["trees and isolated nodes"](0)
    known = np.arange(problem.pointer[-1]) % 2 == 0
    prints = {part.fingerprint() for part in (problem, problem.clamped(known))}
    assert len(prints | {problem.clamped(~known).fingerprint()}) == 3
