"""Tables over three or more nodes: how they are laid out, and what is refused."""

import numpy as np
import pytest
from table_reference import CASES, PROBLEMS, table_reference

from taut.structures.graphs import GraphModel, graph_problem
from taut.structures.graphs.factors import factors_of
from taut.structures.graphs.table_factors import score_of, tables_of


@pytest.mark.parametrize("which", PROBLEMS)
def test_blocks_come_after_all_others_and_their_marginals_after_those_of_edges(which):
    factors, F = factors_of(PROBLEMS[which].arrays), table_reference(which, 1.0)
    tables = factors.tables
    assert tables.at[0] == factors.edge_at[-1]
    cells = [int(np.prod(shape)) for one in F.examples for shape in one.shapes]
    assert np.diff(tables.at).tolist() == cells
    owners = [i for i, one in enumerate(F.examples) for _ in one.shapes]
    assert factors.owner[-len(owners) :].tolist() == owners
    messages = [sum(shape) for one in F.examples for shape in one.shapes]
    assert np.diff(tables.message_at).tolist() == messages
    assert factors.message_at[-1] == tables.message_at[-1]
    packed = F.pack(F.truth())
    assert packed.edge[tables.true_at].tolist() == [1.0] * len(owners)


@pytest.mark.parametrize("which", PROBLEMS)
def test_nodes_get_messages_of_their_tables(which):
    problem, F = PROBLEMS[which], table_reference(which, 1.0)
    factors = factors_of(problem.arrays)
    for i, one in enumerate(F.examples):
        for t, states in enumerate(one.states):
            node = problem.pointer[i] + t
            senders = factors.sender_at[factors.sender_start[node] : factors.sender_start[node + 1]]
            degree = sum(t in pair for pair in one.ends) + sum(t in of for of in one.of_nodes)
            assert len(senders) == degree
            assert np.all(senders + states <= factors.message_at[-1])


@pytest.mark.parametrize("which", PROBLEMS)
def test_scores_of_tables_are_those_of_their_weights(which):
    problem, F = PROBLEMS[which], table_reference(which, 1.0)
    w, rng = np.random.default_rng(0).normal(size=problem.dim), np.random.default_rng(1)
    for i, one in enumerate(F.examples):
        y = rng.integers(one.states)
        expected = (w @ one.psi)[one.n_graph :] @ one.point(y)[one.n_graph :]
        found = score_of(tables_of(problem.arrays, w, i), y)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("which", PROBLEMS)
def test_weights_by_kind_are_views_of_all_weights(which):
    reference, *_ = CASES[which]
    model, w = reference.model, np.arange(float(PROBLEMS[which].dim))
    found = model.table_weights(w)
    shapes = [tuple(model.states[t] for t in types) for types in model.tables]
    assert [part.shape[1:] for part in found] == shapes
    assert np.concatenate([part.ravel() for part in found]).tolist() == w[reference.dim :].tolist()


# --- what is refused -----------------------------------------------------------------------------


def of_tables(tables, *, kinds=((0, 0, 0),), states=(2, 3), rows=None, n_features=0, **options):
    """Two graphs of four nodes, the last of each of type 1."""
    model = GraphModel(states, ((0, 0),), 1, 0, tables=kinds, n_table_features=n_features)
    return graph_problem(
        model, np.ones((8, 1)), np.array([4, 4]), np.zeros(8, int), np.zeros((0, 2)),
        np.array([0, 0]), node_type=np.array([0, 0, 0, 1] * 2), tables=tables, table_rows=rows,
        **options,
    )  # fmt: skip


GOOD = ([0, 1, 2], 0)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([[]], r"tables lists the factors of 1 graphs, there are 2"),
        ([[[0, 1, 2]], []], r"graph 0: tables\[0\] is \[0, 1, 2\]; a tuple \(nodes, kind\)"),
        ([[], [GOOD, ([0.5, 1, 2], 0)]], r"graph 1: tables\[1\] has nodes .* list of integers"),
        ([[([0, 1, 2], 0.5)], []], r"graph 0: tables\[0\] is of kind 0.5; the number of a kind"),
        ([[([0, 1, 2], 1)], []], r"graph 0: tables\[0\] is of kind 1, the model has 1 kinds"),
        ([[([0, 1, 4], 0)], []], r"graph 0: tables\[0\] is over node 4, but the nodes are 0 to 3"),
        ([[([0, 1, -1], 0)], []], r"graph 0: tables\[0\] is over node -1"),
        ([[([0, 1, 1], 0)], []], r"graph 0: tables\[0\] lists a node twice: \[0, 1, 1\]"),
        ([[([0, 1, 3], 0)], []], r"types \(0, 0, 1\), but kind 0 joins types \(0, 0, 0\), in that"),
        ([[([0, 1], 0)], []], r"types \(0, 0\), but kind 0 joins types \(0, 0, 0\)"),
    ],
)
def test_tables_that_make_no_sense_are_refused_with_graph_and_table(tables, message):
    with pytest.raises(ValueError, match=message):
        of_tables(tables)


@pytest.mark.parametrize(
    ("kinds", "states", "message"),
    [
        (((0, 0),), (2, 3), r"tables\[0\] of the model joins 2 nodes; .* use edges for two"),
        (((0, 0, 0), (0, 2, 0)), (2, 3), r"tables\[1\] of the model joins node type 2, .* 0 to 1"),
        (((1, 1, 1),), (2, 5), r"has 125 joint states, of nodes with 5 \* 5 \* 5 .* at most 64"),
        (((0,) * 7,), (2, 3), r"has 128 joint states, .* join fewer nodes, merge states"),
    ],
)
def test_kinds_of_tables_that_are_too_small_or_too_large_are_refused(kinds, states, message):
    with pytest.raises(ValueError, match=message):
        of_tables([[], []], kinds=kinds, states=states)


def test_64_joint_states_are_not_too_many():
    problem = of_tables([[], []], kinds=((0,) * 6, (1, 1, 1)), states=(2, 4))
    assert problem.arrays.tables.cells.tolist() == [64, 64]


@pytest.mark.parametrize(
    ("rows", "n_features", "message"),
    [
        (None, 2, "the tables have 0 features, the model has n_table_features=2"),
        (np.ones((1, 3)), 2, "the tables have 3 features, the model has n_table_features=2"),
        (np.ones((2, 2)), 2, "there are 2 rows of table features for 1 tables"),
        (np.full((1, 2), np.nan), 2, "table features have a value that is NaN or infinite"),
    ],
)
def test_features_of_tables_must_fit(rows, n_features, message):
    with pytest.raises(ValueError, match=message):
        of_tables([[GOOD], []], rows=rows, n_features=n_features)


def test_inference_that_does_not_know_tables_is_refused():
    with pytest.raises(ValueError, match=r"'max-sum' knows nothing of tables; use \"auto\""):
        of_tables([[GOOD], []], inference="max-sum")


def test_graphs_without_tables_do_without_their_features():
    assert of_tables([[], []], n_features=2).arrays.tables.rows.n_features == 2
