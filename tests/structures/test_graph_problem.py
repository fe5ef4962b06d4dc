"""A graph problem computes the feature map that its formula says, whatever the graph."""

import copy
import pickle

import numpy as np
import pytest
from graph_reference import (
    alone,
    complete,
    cycle,
    graph_pair,
    label_set_pair,
    path,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from taut._compile import compiled
from taut.arrays.accumulator import add_to, new_accumulator
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    attained,
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
    out[6] = attained(problem, w, i, work, best, out[5])
    out[7] = label_loss(problem, i, y)
    begin_margins(problem, i, work)
    out[8] = margin(problem, w, i, y, work)
    out[9] = margin(problem, w, i, best, work)
    out[10] = label_loss(problem, i, best)


@compiled
def change_and_project(problem, i, mu, keep, y, amount, scale, work, delta, step):
    begin_change(problem, i, mu, keep, work)
    add_corner(problem, i, y, amount, work)
    project(problem, i, work, scale, delta)
    advance(problem, i, mu, step, work)


@compiled
def shift_twice(problem, i, y, other, amount, scale, mu, delta, work):
    shift(problem, i, y, amount, scale, mu, delta, work)
    shift(problem, i, other, -amount, scale, mu, delta, work)
    finish_shifts(problem, i, scale, mu, delta, work)


@compiled
def write_truth(problem, i, y):
    true_label(problem, i, y)
    return length(problem, i)


OWN_UNARY = [[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]]
OWN_PAIRWISE = [[[1.0, 0.0, -1.0], [0.5, 0.0, 0.0], [0.0, 2.0, 1.0]]]
MIXED = dict(
    states=(2, 3, 1), joins=((0, 0), (0, 1), (1, 1), (1, 0), (0, 1), (2, 1)), random_types=True
)
# Between them: every basis, features of nodes and edges dense, sparse and absent, every method.
CASES = {
    "trees": lambda seed: graph_pair(
        [path(3), (4, [(1, 0), (1, 3)]), alone(1)], states=(3,), seed=seed
    ),
    "no edges at all": lambda seed: graph_pair([alone(2), alone(1), alone(3)], seed=seed),
    "single nodes": lambda seed: graph_pair([alone(1)] * 3, states=(4,), bias=False, seed=seed),
    "symmetric cycles": lambda seed: graph_pair(
        [cycle(3), (4, [(0, 1), (1, 0), (2, 1)])], states=(3,), pairwise="symmetric",
        normalize=False, seed=seed,
    ),
    "Potts with edge features": lambda seed: graph_pair(
        [complete(4), alone(2), path(2)], states=(3,), pairwise="potts", n_edge_features=2,
        weighted=True, seed=seed,
    ),
    "associative with sparse edge features": lambda seed: graph_pair(
        [cycle(4), cycle(3)], pairwise="associative", unary="binary", n_edge_features=3,
        sparse_edges=True, seed=seed,
    ),
    "own bases": lambda seed: graph_pair(
        [cycle(3), path(3)], states=(3,), unary=np.array(OWN_UNARY),
        pairwise=np.array(OWN_PAIRWISE), seed=seed,
    ),
    "several types": lambda seed: graph_pair(
        [complete(4), complete(3), alone(2)], **MIXED, weighted=True, seed=seed
    ),
    "several types, sparse": lambda seed: graph_pair(
        [complete(4), cycle(3)], **MIXED, sparse_nodes=True, n_features=5, n_edge_features=2,
        sparse_edges=True, unary=["full", np.array(OWN_UNARY), "full"], seed=seed,
    ),
    "sparse without bias": lambda seed: graph_pair(
        [path(3), path(2)], sparse_nodes=True, n_features=6, bias=False, weighted=True, seed=seed
    ),
    "dense, weights by feature": lambda seed: graph_pair(
        [path(3), path(2)], states=(3,), by_feature=True, seed=seed
    ),
    "label sets": lambda seed: label_set_pair(3, 3, complete(3)[1], seed=seed),
    "label sets, sparse": lambda seed: label_set_pair(
        3, 4, [(0, 1), (3, 1)], sparse_rows=True, seed=seed
    ),
    "roof duality": lambda seed: graph_pair(
        [complete(4), cycle(3), alone(1)], unary="binary", n_edge_features=2, relaxed=True,
        inference="roof-duality", weighted=True, seed=seed,
    ),
    "relaxed label sets": lambda seed: label_set_pair(
        3, 4, complete(4)[1], relaxed=True, inference="roof-duality", seed=seed
    ),
    "message passing": lambda seed: graph_pair(
        [complete(3), path(2), alone(1)], states=(3,), relaxed=True, inference="message-passing",
        accuracy=1e-8, rounds=100_000, seed=seed,
    ),
    "message passing, several types": lambda seed: graph_pair(
        [complete(4), cycle(3)], **MIXED, sparse_nodes=True, relaxed=True, n_edge_features=2,
        inference="message-passing", accuracy=1e-8, rounds=100_000, seed=seed,
    ),
}  # fmt: skip
cases = pytest.mark.parametrize("case", CASES)
laws = lambda test: cases(given(seed=st.integers(0, 10**6))(settings(max_examples=6)(test)))  # noqa: E731


def random_labelling(reference, i, rng):
    """As local marginals: a labelling, or a point between two labellings if inference relaxes."""
    some = reference.labellings[i]
    first, second = (reference.local(i, some[rng.integers(len(some))]) for _ in range(2))
    return 0.25 * first + 0.75 * second if reference.relaxed else first


def as_label(problem, reference, i, local):
    """What a solver carries about: states of nodes, or the bits of the image."""
    if reference.relaxed:
        return reference.image_of(i, local).view(np.int32).copy()
    n = len(reference.graphs[i].truth)
    return local[: n * reference.K].reshape(n, -1).argmax(axis=1).astype(np.int32)


def as_image(problem, reference, i, y):
    if reference.relaxed:
        return y[: 2 * reference.sizes()[i]].view(np.float64)
    return reference.image(i, y[: len(reference.graphs[i].truth)])


def random_image(reference, i, rng):
    points = [random_labelling(reference, i, rng) for _ in range(3)]
    return reference.image_of(i, rng.dirichlet(np.ones(3)) @ np.array(points))


@laws
def test_values_of_labellings_marginals_and_the_oracle(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    assert problem.dim == reference.dim
    w = rng.normal(size=problem.dim)
    work, mu = problem.new_work(), problem.new_dual()
    exact = dict(EXACT)
    if case.startswith("message"):
        exact["abs"] = 2e-8 * max(problem.worst_losses())  # twice what message passing was asked
    for i in range(problem.n):
        local = random_labelling(reference, i, rng)
        point = random_image(reference, i, rng)
        reference.images(mu)[i][:] = point
        y, best = as_label(problem, reference, i, local), np.zeros(problem.longest, np.int32)
        out = np.zeros(11)
        values(problem, w, i, work, y, mu, best, out)

        image = reference.image_of(i, local)
        assert out[0] == pytest.approx(reference.value(i, image, w, with_loss=False), **EXACT)
        assert out[1] == pytest.approx(reference.value(i, point, w, with_loss=False), **EXACT)
        assert out[3] == pytest.approx(reference.value(i, image, w), **EXACT)
        assert out[4] == pytest.approx(reference.value(i, point, w), **EXACT)
        assert out[5] == pytest.approx(reference.worst(i, w), **exact)
        assert out[7] == pytest.approx(reference.loss_of(i, image), **EXACT)
        # What the oracle has found is what it says, and feasible.
        found = as_image(problem, reference, i, best)
        assert out[6] <= out[5] + 1e-12
        assert out[6] == pytest.approx(reference.value(i, found, w), **EXACT)
        assert out[6] == pytest.approx(out[5], **exact)
        assert reference.distance_to_polytope(i, found) <= 1e-9
        assert out[10] == pytest.approx(reference.loss_of(i, found), **EXACT)
        # margin = <w, phi(truth) - phi(y)>.
        assert out[8] == pytest.approx(-reference.value(i, image, w, with_loss=False), **EXACT)
        assert out[9] == pytest.approx(-reference.value(i, found, w, with_loss=False), **EXACT)


@laws
def test_the_oracle_without_the_loss_is_the_prediction(case, seed):
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    w, i = rng.normal(size=problem.dim), int(rng.integers(problem.n))
    work, mu, out = problem.new_work(), problem.new_dual(), np.zeros(11)
    y, best = np.zeros(problem.longest, np.int32), np.zeros(problem.longest, np.int32)
    values(problem, w, i, work, y, mu, best, out)
    losses, reference.losses = reference.losses, [0.0 * losses for losses in reference.losses]
    expected = reference.worst(i, w)
    reference.losses = losses
    tolerance = 2e-8 * max(problem.worst_losses()) if case.startswith("message") else 1e-12
    assert out[2] == pytest.approx(expected, rel=0, abs=tolerance)


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
    point, local = random_image(reference, i, rng), random_labelling(reference, i, rng)
    reference.images(mu)[i][:] = point
    before = mu.copy()
    y, image = as_label(problem, reference, i, local), reference.image_of(i, local)
    change_and_project(problem, i, mu, -1.0, y, 1.0, 1.7, work, delta, 0.3)
    expected = 1.7 * (reference.features_of(i, image) - reference.features_of(i, point))
    np.testing.assert_allclose(as_vector(delta, problem), expected, rtol=0, atol=1e-12)
    moved = 0.7 * point + 0.3 * image
    np.testing.assert_allclose(reference.images(mu)[i], moved, rtol=0, atol=1e-13)
    # Other blocks are not touched.
    reference.images(mu)[i][:] = reference.images(before)[i]
    np.testing.assert_array_equal(mu, before)


@laws
def test_shifts_move_mass_from_one_labelling_to_another(case, seed):
    """Twice with the same memory: nothing of the first visit is left."""
    problem, reference = CASES[case](seed)
    rng = np.random.default_rng(seed)
    mu, delta, work = problem.new_dual(), problem.new_delta(), problem.new_work()
    i = int(rng.integers(problem.n))
    expected, change = mu.copy(), np.zeros(problem.dim)
    for _ in range(2):
        first, second = (random_labelling(reference, i, rng) for _ in range(2))
        y, other = (as_label(problem, reference, i, local) for local in (first, second))
        shift_twice(problem, i, y, other, 0.4, 2.0, mu, delta, work)
        change -= 0.8 * reference.psi[i] @ (first - second)
        reference.images(expected)[i][:] += 0.4 * reference.image_of(i, first - second)
    np.testing.assert_allclose(as_vector(delta, problem), change, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mu, expected, rtol=0, atol=1e-13)


@cases
def test_the_dual_starts_at_the_truth(case):
    problem, reference = CASES[case](0)
    mu = problem.new_dual()
    for i, image in enumerate(reference.images(mu)):
        expected = reference.image_of(i, reference.truth(i))
        np.testing.assert_allclose(image, expected, rtol=0, atol=1e-14)
        y = np.zeros(problem.longest, np.int32)
        used = write_truth(problem, i, y)
        label = as_label(problem, reference, i, reference.truth(i))
        assert used == len(label) <= problem.longest
        np.testing.assert_allclose(as_image(problem, reference, i, y), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(reference.weights(mu, 1.0), 0.0, atol=1e-13)


@cases
def test_worst_losses_are_the_largest_losses(case):
    problem, reference = CASES[case](1)
    zero = np.zeros(problem.dim)
    expected = [reference.worst(i, zero, relaxed=False) for i in range(problem.n)]
    np.testing.assert_allclose(problem.worst_losses(), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("inference", ["max-sum", "message-passing"])
def test_an_accumulator_of_the_problems_capacity_holds_every_direction(inference):
    """All states of all nodes change at once: nothing pushes more."""
    problem, reference = graph_pair(
        [path(3), path(2), alone(1)], states=(2, 3), joins=((0, 1), (1, 0), (1, 1)), n_features=80,
        random_types=True, sparse_nodes=True, density=0.1, inference=inference,
        relaxed=inference == "message-passing",
    )  # fmt: skip
    delta, work, mu = problem.new_delta(), problem.new_work(), problem.new_dual()
    assert delta.touched.size < problem.dim
    for i in range(problem.n):
        mu[:] = 1.0 + np.arange(mu.size)  # nothing cancels
        y = as_label(problem, reference, i, reference.truth(i))
        roomy = new_accumulator(problem.dim, 100_000)
        change_and_project(problem, i, mu, 1.0, y, 0.5, 1.0, work, roomy, 0.0)
        assert 0 < roomy.count[0] <= delta.touched.size


def test_parallel_edges_count_twice():
    twice, _ = graph_pair([(2, [(0, 1), (0, 1)])], bias=False, inference="exhaustive")
    image = twice.new_dual()
    assert image[-4:].max() == 2.0


def test_states_that_a_node_does_not_have_are_never_chosen():
    """However good the padding looks: every state of the one-state nodes scores very badly."""
    problem, reference = graph_pair(
        [complete(4)] * 3, **MIXED, inference="message-passing", relaxed=True, seed=2
    )
    w = np.random.default_rng(0).normal(size=problem.dim)
    for i, graph in enumerate(reference.graphs):
        y, out = np.zeros(problem.longest, np.int32), np.zeros(11)
        start = as_label(problem, reference, i, reference.truth(i))
        values(problem, -100.0 * w, i, problem.new_work(), start, problem.new_dual(), y, out)
        node = as_image(problem, reference, i, y)[: len(graph.truth) * 3].reshape(-1, 3)
        states = np.array(reference.model.states)[graph.types]
        assert not node[np.arange(3) >= states[:, None]].any()


def test_the_fingerprint_tells_data_labels_losses_and_models_apart():
    def prints(shapes=None, **options):
        return graph_pair(shapes or [path(3), path(2)], **options)[0].fingerprint()

    variants = [
        prints(),
        prints(seed=1),
        prints(shapes=(path(2), path(3))),
        prints(shapes=((3, [(0, 1), (0, 2)]), path(2))),
        prints(shapes=((3, [(1, 0), (1, 2)]), path(2))),
        prints(normalize=False),
        prints(weighted=True),
        prints(bias=False),
        prints(pairwise="symmetric"),
        prints(pairwise="potts"),
        prints(unary="binary"),
        prints(n_edge_features=1),
        prints(n_edge_features=1, sparse_edges=True),
        prints(sparse_nodes=True),
    ]
    assert prints() == variants[0]
    assert len(set(variants)) == len(variants)


def test_the_fingerprint_does_not_depend_on_inference():
    """A warm start with another exact method is one on the same problem; relaxations are told
    apart by what a solution certifies."""
    methods = {"max-sum": False, "exhaustive": False, "roof-duality": True}
    prints = {
        graph_pair([path(3)], inference=name, relaxed=relaxed)[0].fingerprint()
        for name, relaxed in methods.items()
    }
    assert len(prints) == 1


@pytest.mark.parametrize("n", [1, 2])
def test_the_fingerprint_of_the_first_examples_is_that_of_a_problem_of_them(n):
    whole, _ = graph_pair([path(3), cycle(3), path(2)], n_edge_features=2, seed=3)
    part, _ = graph_pair([path(3), cycle(3), path(2)][:n], n_edge_features=2, seed=3)
    assert part.fingerprint() == whole.fingerprint(n) != whole.fingerprint()


@pytest.mark.parametrize(
    "copied", [lambda p: pickle.loads(pickle.dumps(p)), copy.deepcopy], ids=["pickled", "copied"]
)
def test_a_copy_points_to_its_own_arrays(copied):
    """Compiled code knows arrays by their addresses: stale ones would end the process."""
    problem, _ = graph_pair([path(3), path(2)], n_edge_features=2)
    other = copied(problem)
    assert other.fingerprint() == problem.fingerprint()
    assert not np.shares_memory(other.arrays.nodes.rows.dense, problem.arrays.nodes.rows.dense)
    assert copied(problem.new_work()) is None  # scratch is made anew
    w, out = np.random.default_rng(0).normal(size=problem.dim), np.zeros((2, 11))
    for row, one in zip(out, (problem, other), strict=True):
        y = np.zeros(3, np.int32)
        values(one, w, 0, one.new_work(), y, one.new_dual(), y.copy(), row)
    np.testing.assert_array_equal(*out)
