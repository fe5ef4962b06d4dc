"""Sparse matrices with numbers that lead elsewhere are refused before anyone follows them.

Neither scipy's compiled code nor ours checks an index: each of these ended the process, or gave
answers from memory that is not the matrix's.
"""

import numpy as np
import pytest
from another_process import attempts
from damaged_matrices import DAMAGED, ROWS
from scipy import sparse

from taut import MulticlassSVM, Sequences

SCRIPT = """
from damaged_matrices import DAMAGED, ROWS, damaged

sound, dense = sparse.csr_array(ROWS), ROWS
y, lengths, edges = np.arange(40) % 3, [20, 20], [[t, t + 1] for t in range(39)]
words, indicators = [["a", "b"] * 10] * 2, (ROWS[:, :3] > 0).astype(int)

def altered(matrix):
    made = taut.Sequences(sound, lengths)
    made.rows = matrix
    return made
"""
ATTEMPTS = {
    "MulticlassSVM": """
fitted = as_if_trained(taut.MulticlassSVM(), sound, y)
tries = [fitted.predict, fitted.decision_function, lambda X: fitted.score(X, y),
         lambda X: taut.MulticlassSVM().fit(X, y), lambda X: taut.MulticlassSVMCV().fit(X, y)]
""",
    "MultilabelSVM": """
fitted = as_if_trained(taut.MultilabelSVM(), sound, indicators)
tries = [fitted.predict, lambda X: fitted.score(X, indicators),
         lambda X: taut.MultilabelSVM().fit(X, indicators),
         lambda y: taut.MultilabelSVM().fit(ROWS, y)]
""",
    "ChainSVM": """
fitted = as_if_trained(taut.ChainSVM(), taut.Sequences(sound, lengths), words)
of_dense = as_if_trained(taut.ChainSVM(), taut.Sequences(dense, lengths), words)
tries = [lambda X: fitted.predict(taut.Sequences(X, lengths)),
         lambda X: fitted.predict(altered(X)), lambda X: fitted.predict([X]),
         lambda X: of_dense.predict(altered(X)), lambda X: of_dense.predict([X]),
         lambda X: of_dense.predict([(dense, X)]),
         lambda X: taut.ChainSVM().fit(altered(X), words)]
""",
    "ChainCRF": """
fitted = as_if_trained(
    taut.ChainCRF(features="observed"), taut.Sequences(sound, lengths), words
)
tries = [lambda X: fitted.predict([X]), lambda X: fitted.predict_proba(altered(X)),
         lambda X: fitted.predict_nbest([X], 2), lambda X: fitted.sample([X]),
         lambda X: fitted.score(altered(X), words),
         lambda X: fitted.log_likelihood([X], [["a"] * 40]),
         lambda X: taut.ChainCRF(features="observed").fit(altered(X), words)]
""",
    "GraphSVM": """
fitted = as_if_trained(taut.GraphSVM(), [(sound, edges)], [y])
of_edges = as_if_trained(taut.GraphSVM(), [(dense, [*edges, [0, 2]], sound)], [y])
tries = [lambda X: fitted.predict([(X, edges)]),
         lambda X: of_edges.predict([(dense, [*edges, [0, 2]], X)]),
         lambda X: taut.GraphSVM().fit([(X, edges)], [y])]
""",
    "TreeCRF": """
fitted = as_if_trained(taut.TreeCRF(), [(sound, edges)], [y])
tries = [lambda X: fitted.predict_proba([(X, edges)]), lambda X: fitted.sample([(X, edges)]),
         lambda X: taut.TreeCRF().fit([(X, edges)], [y])]
""",
}


def test_every_way_in_is_closed_to_them():
    """In another process: they may end it."""
    of_each = """
for name in DAMAGED:
    for number, function in enumerate(tries):
        attempt(f"{name} in ESTIMATOR {number}", lambda: function(damaged(name)))
"""
    parts = (part + of_each.replace("ESTIMATOR", name) for name, part in ATTEMPTS.items())
    lines = attempts(SCRIPT + "".join(parts))
    assert len(lines) >= 3 * len(ATTEMPTS) * len(DAMAGED)
    for line in lines:
        kind, _, why = DAMAGED[line.partition(" in ")[0]]
        assert f" is no sound {kind.upper()} matrix: {why}" in line
        assert line.endswith("; make it anew from its entries")


def test_the_matrix_is_named():
    lines = attempts(
        f"""{SCRIPT}
X = damaged("one row too many")
attempt("table", lambda: taut.MulticlassSVM().fit(X, y))
attempt("indicators", lambda: taut.MultilabelSVM().fit(ROWS, X))
attempt("sequence", lambda: taut.ChainSVM().fit([sound.tocsc(), X], [y, y]))
attempt("steps", lambda: taut.ChainSVM().fit([(dense, X)], [y]))
attempt("sequences", lambda: taut.Sequences(X, [40]))
attempt("altered", lambda: taut.ChainSVM().fit(altered(X), words))
attempt("nodes", lambda: taut.GraphSVM().fit([(sound, edges), (X, edges)], [y, y]))
attempt("edges", lambda: taut.GraphSVM().fit([(dense, [*edges, [0, 2]], X)], [y]))
"""
    )
    assert [line.partition(" is no sound CSC matrix: ")[0] for line in lines] == [
        "table: X",
        "indicators: y",
        "sequence: X[1]",
        "steps: step features of X[0]",
        "sequences: rows",
        "altered: X: rows",
        "nodes: the matrix of node features of graphs[1]",
        "edges: the matrix of edge features of graphs[0]",
    ]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sound_matrices_of_all_formats_are_taken(kind):
    X, y = sparse.csr_array(ROWS).asformat(kind), np.arange(40) % 3
    found = MulticlassSVM().prepare(X, y).problem.features.rows
    expected = MulticlassSVM().prepare(sparse.csr_array(ROWS), y).problem.features.rows
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_room_behind_the_last_entry_is_no_harm_and_is_left_alone():
    X, y = sparse.csr_array(ROWS), np.arange(40) % 3
    X.indices, X.data = np.append(X.indices, np.int32(99)), np.append(X.data, np.nan)
    features = Sequences(X, [40])
    assert features.rows.indices[-1] == 99
    problem = MulticlassSVM().prepare(X[:, :5], y).problem
    np.testing.assert_array_equal(problem.features.rows.indices, sparse.csr_array(ROWS).indices)
    assert X.indices[-1] == 99
