"""The data of ``without_inference.py``: training problems under any oracle, and test scores.

C has the best score on the last quarter of the training examples, of models of the others,
trained by the corrective solver to a relative gap of 1e-2, among powers of about three: yeast 0.3
(accuracy 0.8002, next 0.7987), with Meshi's weights 0.1 (0.7878, next 0.7850), rcv1 1 (micro F1
0.8092, next 0.8046), potts 0.01 (0.5331, next 0.5238). Stanford's is that of ``segmentation.py``.
CRFs have the constants of Hu & Obozinski's figure 1 (lambda = 1/C); rcv1, which they did not try,
those of yeast.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from segmentation import confusion, scores, superpixels
from sklearn.metrics import f1_score

from taut.datasets import load_mulan, load_rcv1, load_stanford, make_gaussian_potts
from taut.decode import decode
from taut.graphs import StackedGraphs, stack_graphs, without_nodes
from taut.structures.graphs import (
    GraphModel,
    GraphProblem,
    graph_problem,
    label_edges,
    label_model,
    multilabel_problem,
)

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]
# Meshi et al. (2015), section 6: a pair of labels scores only where both are there, and there is no
# bias. MultilabelSVM's weights are biases and four for every pair: on rcv1, where most pairs are
# absent from most of 5,000 rows that share those weights, a much harder problem for the same score.
BOTH = np.array([[[0.0, 0.0], [0.0, 1.0]]])
# What is enough to call the hard objective exact; roof duality is exact without it.
ACCURATE = {"accuracy": 1e-5, "rounds": 20_000}


class CRF(NamedTuple):
    C: float
    temperature: float


class Task(NamedTuple):
    """``problem(rows, inference, **options)`` is of some of the training examples."""

    name: str
    n: int
    C: float
    crf: "CRF"
    exact: str  # the oracle that tells the hard objective
    oracles: tuple[str, ...]  # those that block-coordinate Frank-Wolfe is tried with
    problem: Callable[..., GraphProblem]
    score_name: str
    score: Callable[[Vector], float]  # of the test examples

    @property
    def all_rows(self) -> Rows:
        return np.arange(self.n)

    def whole(self, inference: str, **options: Any) -> GraphProblem:
        return self.problem(self.all_rows, inference, **options)

    def of_rows(self, rows: Rows) -> "Task":
        """The task of some training examples, at the same lambda."""
        return self._replace(
            n=len(rows),
            C=self.C * self.n / len(rows),
            problem=lambda part, *given, **options: self.problem(rows[part], *given, **options),
        )


# --- label sets -------------------------------------------------------------------------------


def label_sets(
    name: str, train: Any, test: Any, most: int | None, score: Callable[[Any, Any], float],
    pairwise: Any = "full", **constants: Any,
) -> Task:  # fmt: skip
    """All pairs of labels."""
    X, Y = _rows(train.X[:most]), train.Y[:most]
    X_test = _rows(test.X)
    model = label_model(
        Y.shape[1], label_edges("full", Y), X.shape[1], pairwise=pairwise,
        bias=pairwise is not BOTH, by_feature=sparse.issparse(X),
    )  # fmt: skip

    def problem(rows: Rows, inference: str, **options: Any) -> GraphProblem:
        return multilabel_problem(
            model, X[rows], Y[rows], normalize=False, inference=inference, **options
        )

    unlabelled = multilabel_problem(model, X_test, None, inference="roof-duality")

    def score_of(w: Vector) -> float:
        return score(test.Y, decode(unlabelled, w).reshape(test.Y.shape))

    oracles = ("lp", "message-passing", "roof-duality")
    return Task(
        name, len(Y), exact="roof-duality", oracles=oracles, problem=problem, score=score_of,
        **constants,
    )  # fmt: skip


def _rows(X: Any) -> Any:
    """64-bit indices would be compiled for anew."""
    if sparse.issparse(X):
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def micro_f1(truth: Any, predicted: Any) -> float:
    return float(f1_score(truth, predicted, average="micro", zero_division=0.0))


def accuracy(truth: Any, predicted: Any) -> float:
    return float(np.mean(truth == predicted))


def yeast(quick: bool, **options: Any) -> Task:
    train, test = (load_mulan("yeast", subset=subset) for subset in ("train", "test"))
    constants = {"name": "yeast", "C": 0.3} | options
    return label_sets(
        train=train, test=test, most=200 if quick else None, score=accuracy,
        score_name="accuracy over labels", crf=CRF(1.0, 1.0), **constants,
    )  # fmt: skip


def yeast_meshi(quick: bool) -> Task:
    return yeast(quick, name="yeast-meshi", C=0.1, pairwise=BOTH)


def rcv1(quick: bool) -> Task:
    train, test = (load_rcv1(subset=subset) for subset in ("train", "test"))
    return label_sets(
        "rcv1", train, test, 200 if quick else None, micro_f1, pairwise=BOTH,
        score_name="micro F1", C=1.0, crf=CRF(1.0, 1.0),
    )  # fmt: skip


# --- graphs -----------------------------------------------------------------------------------


def graphs(
    name: str, stacked: StackedGraphs, truth: Any, model: GraphModel, **constants: Any
) -> Task:
    node_at = np.concatenate([[0], np.cumsum(stacked.lengths)])
    edge_at = np.concatenate([[0], np.cumsum(stacked.n_edges)])

    def problem(rows: Rows, inference: str, **options: Any) -> GraphProblem:
        nodes, edges = _ranges(node_at, rows), _ranges(edge_at, rows)
        features = None if stacked.edge_rows is None else stacked.edge_rows[edges]
        return graph_problem(
            model, stacked.rows[nodes], stacked.lengths[rows], truth[nodes], stacked.ends[edges],
            stacked.n_edges[rows], edge_rows=features, normalize=False, inference=inference,
            **options,
        )  # fmt: skip

    return Task(
        name, len(stacked.lengths), exact="message-passing", oracles=("lp", "message-passing"),
        problem=problem, **constants,
    )  # fmt: skip


def _ranges(pointer: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    return np.concatenate([np.arange(pointer[i], pointer[i + 1]) for i in rows])


def unlabelled(model: GraphModel, stacked: StackedGraphs) -> GraphProblem:
    return graph_problem(
        model, stacked.rows, stacked.lengths, None, stacked.ends, stacked.n_edges,
        edge_rows=stacked.edge_rows, inference="message-passing",
    )  # fmt: skip


def potts(quick: bool) -> Task:
    """Hu & Obozinski (2018), section 7.1: a 10 x 10 grid of 5 states, 50 + 50 samples."""
    n, size = (10, 6) if quick else (50, 10)
    train, labels = make_gaussian_potts(n, size=size, random_state=0)
    test, labels_test = make_gaussian_potts(n, size=size, random_state=1)
    model = GraphModel((5,), ((0, 0),), n_features=2, n_edge_features=0)
    to_predict, truth = unlabelled(model, stack_graphs(test)), np.concatenate(labels_test)
    return graphs(
        "potts", stack_graphs(train), np.concatenate(labels), model,
        score=lambda w: float(np.mean(decode(to_predict, w) == truth)),
        score_name="accuracy over cells",
        C=0.01, crf=CRF(0.1, 10.0),
    )  # fmt: skip


def stanford(quick: bool) -> Task:
    """Superpixels of eight classes in place of MSRC-21; Potts terms by similarity of the ends."""
    most = 6 if quick else None
    train, test = (superpixels(load_stanford, subset, most) for subset in ("train", "test"))
    labels = np.concatenate(train.labels)
    stacked, _ = without_nodes(stack_graphs(train.graphs), labels >= 0)
    model = GraphModel(
        (8,), ((0, 0),), stacked.rows.shape[1], stacked.n_edge_features, pairwise="potts"
    )
    given = stack_graphs(test.graphs)
    to_predict, cuts = unlabelled(model, given), np.cumsum(given.lengths)[:-1]

    def score(w: Vector) -> float:
        found = np.split(decode(to_predict, w), cuts)
        return float(scores(confusion(found, test))["accuracy"])

    return graphs(
        "stanford", stacked, labels[labels >= 0], model, score=score,
        score_name="accuracy over pixels", C=1e-4, crf=CRF(0.1, 10.0),
    )  # fmt: skip


TASKS: dict[str, Callable[[bool], Task]] = {
    "yeast": yeast, "yeast-meshi": yeast_meshi, "rcv1": rcv1, "potts": potts,
    "stanford": stanford,
}  # fmt: skip
