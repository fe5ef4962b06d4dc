"""A problem without examples says where the weights are: enough to predict with them."""

import numpy as np
import pytest
from scipy import sparse
from taut_reference import chain_pair

from taut.decode import decode
from taut.structures.chain import chain_layout
from taut.structures.features import node_features
from taut.structures.features_build import observed_layout, with_weights_of

KINDS = ["dense", "sparse", "observed"]


def arrays(value):
    """All arrays and numbers of nested tuples."""
    if isinstance(value, tuple):
        return [part for entry in value for part in arrays(entry)]
    return [value]


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    for a, b in zip(arrays(ours), arrays(theirs), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.shape(a) == np.shape(b)


def from_parts(problem, **options):
    """The layout as a model file would describe it."""
    features, n_states = problem.features, problem.n_states
    if features.rows.is_dense:
        return chain_layout(features.rows.n_features, n_states, dense=True, **options)
    observed = None
    if features.is_observed:
        observed = features.weight_pointer, features.weight_state
    return chain_layout(features.rows.n_features, n_states, observed=observed, **options)


@pytest.mark.parametrize("n_step", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_problem_it_was_trained_on(kind, n_step):
    """Seven labels: some rows of observed weights are full, others are not."""
    trained, _ = chain_pair([3, 5, 2], 7, kind=kind, n_features=8, n_step=n_step, seed=2)
    others, _ = chain_pair([4, 1, 6], 7, kind=kind, n_features=8, n_step=n_step, seed=3)
    steps = others.step_features if n_step else None
    features = others.features
    if kind == "observed":
        features = with_weights_of(features, trained.features)
    w = np.random.default_rng(0).normal(size=trained.dim)
    w[trained.held_at_zero()] = 0.0
    expected = decode(trained.for_prediction(features, [4, 1, 6], steps), w)
    for layout in (trained.layout(), from_parts(trained, n_step_features=n_step)):
        found = decode(layout.for_prediction(features, [4, 1, 6], steps), w)
        assert found.tolist() == expected.tolist()
    assert len(set(expected.tolist())) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_step", [0, 2])
@pytest.mark.parametrize(("bias", "boundary"), [(True, True), (False, True), (True, False)])
def test_a_layout_from_parts_is_the_problem_without_its_examples(kind, n_step, bias, boundary):
    options = dict(bias=bias, boundary=boundary)
    problem, _ = chain_pair([3, 5, 2], 7, kind=kind, n_features=8, n_step=n_step, **options)
    assert_same(problem.layout(), from_parts(problem, n_step_features=n_step, **options))


def test_a_layout_keeps_constraints_and_no_training_data():
    problem, _ = chain_pair([3, 2, 4, 1], 4, kind="observed", constrained=True, seed=39)
    layout = problem.layout()
    np.testing.assert_array_equal(layout.closed, problem.closed)
    assert layout.forced.size == layout.n == 0
    for array in (*layout.features.rows[:4], layout.truth, layout.loss_scale, layout.step_features):
        assert array.base is None or array.base.size == 0, (
            "a view would keep all of the data in memory"
        )


@pytest.mark.parametrize("n_threads", [1, 2])
def test_there_may_be_nothing_to_label(n_threads):
    layout = chain_layout(3, 2)
    nothing = np.zeros(0, int)
    problem = layout.for_prediction(layout.features, nothing, None)
    assert decode(problem, np.zeros(layout.dim), n_threads).tolist() == []


def test_weights_that_cannot_be_written_to_are_as_good():
    """Such as those of a file that is mapped into memory."""
    layout = chain_layout(2, 3, dense=True)
    w = np.random.default_rng(1).normal(size=layout.dim)
    problem = layout.for_prediction(node_features(np.eye(2)), [2], None)
    frozen = w.copy()
    frozen.flags.writeable = False
    assert decode(problem, frozen).tolist() == decode(problem, w).tolist()


def test_step_features_must_be_as_many():
    constant, two = (
        chain_layout(2, 3, dense=True),
        chain_layout(2, 3, dense=True, n_step_features=2),
    )
    features = node_features(np.eye(2))
    for layout, steps, message in (
        (constant, np.zeros((2, 2)), "there are 2 step features, the model was fitted with 0"),
        (two, None, "there are 0 step features, the model was fitted with 2"),
        (two, np.zeros((2, 1)), "there are 1 step features, the model was fitted with 2"),
    ):
        with pytest.raises(ValueError, match=message):
            layout.for_prediction(features, [2], steps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, 10**7], r"lengths\[1\] is 10000000 but there are 4 rows"),
        ([5, -1], r"lengths\[1\] is -1; a length is not negative"),
        ([2, 1], "the lengths add up to 3 but there are 4 rows"),
        ([2.0, 2.0], "lengths are an array .* type float64; one whole number per sequence"),
    ],
)
def test_lengths_must_fit_the_rows(kind, lengths, message):
    """Compiled code follows them: it would read what is not there."""
    layout = layout_of(kind, n_features=3)
    with pytest.raises(ValueError, match=message):
        layout.for_prediction(new_nodes(kind, 4, 3, layout), lengths, None)


@pytest.mark.parametrize("kind", KINDS)
def test_features_must_be_those_of_the_weights(kind):
    layout = layout_of(kind, n_features=3)
    with pytest.raises(ValueError, match="5 features per row, the model was fitted with 3"):
        layout.for_prediction(new_nodes(kind, 4, 5, layout), [4], None)
    other = "sparse" if kind == "dense" else "dense"
    with pytest.raises(TypeError, match=r"features are (dense|sparse), the model was fit"):
        layout.for_prediction(new_nodes(other, 4, 3, layout), [4], None)


def test_there_must_be_a_row_of_step_features_for_each_position():
    layout = chain_layout(2, 3, dense=True, n_step_features=2)
    with pytest.raises(ValueError, match="there are 2 rows of step features for 4 nodes"):
        layout.for_prediction(node_features(np.ones((4, 2))), [4], np.zeros((2, 2)))


def test_more_labels_than_observed_features_can_name_are_refused():
    """Their numbers are kept in 16 bits, where 40,000 would be a negative one."""
    counts, states = np.array([1]), np.array([39_999])
    with pytest.raises(ValueError, match=r"there are 40000 labels; observed features .* 32767"):
        observed_layout(counts, states, n_states=40_000)
    _, state, place = observed_layout(counts, np.array([32_766]), n_states=32_767)
    assert state[place].tolist() == [32_766]


def layout_of(kind, n_features):
    observed = None
    if kind == "observed":
        observed = observed_layout(np.full(n_features, 2), np.tile([0, 1], n_features), 2)[:2]
    return chain_layout(n_features, 2, dense=kind == "dense", observed=observed)


def new_nodes(kind, n_nodes, n_features, layout):
    rows = np.ones((n_nodes, n_features))
    if kind == "dense":
        return node_features(rows)
    return with_weights_of(node_features(sparse.csr_array(rows)), layout.features)
