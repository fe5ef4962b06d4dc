"""The data of Meshi's and Hu's experiments: training problems under any oracle, and test scores.

    yeast        14 labels, 1,500 training rows, 917 for testing, all pairs of labels; d = 1,820
    yeast-meshi  with Meshi's weights: no bias, one for a pair, if both are there; d = 1,533
    rcv1         30 labels, 47,236 words, Meshi's weights, d = 1.4 million; 5,000 rows are Meshi's
    potts        50 grids of 10 x 10 cells, 5 states, full tables, and 50 for testing
    two-level    66 images of 65 fine and 31 coarse regions, a fine one joined to its coarse one
    segments     66 images of 65 regions, joined where they touch; tables of pairs of classes

C = 1 / (lambda n) has the best score on the last quarter of the training examples, of models of the
others, trained by the corrective solver to a relative gap of 1e-2, among powers of about three:
yeast 0.3 (accuracy 0.8002, next 0.7987), with Meshi's weights 0.1 (0.7878, next 0.7850), rcv1 1
(micro F1 0.8092, next 0.8046), potts 0.01 (0.5331, next 0.5238).
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import f1_score

from papers.shared.regions import Image, Level, two_levels
from taut.datasets import load_mulan, load_rcv1, make_gaussian_potts
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


class Task(NamedTuple):
    """``problem(rows, inference, **options)`` is of some of the training examples."""

    name: str
    n: int
    C: float
    exact: str  # the oracle that tells the hard objective
    problem: Callable[..., GraphProblem]
    score_name: str
    score: Callable[[Vector], float]  # of the test examples

    @property
    def lam(self) -> float:
        return 1.0 / (self.C * self.n)

    def whole(self, inference: str, **options: Any) -> GraphProblem:
        return self.problem(np.arange(self.n), inference, **options)

    def of_rows(self, rows: Rows) -> "Task":
        """The task of some training examples, at the same lambda."""
        return self._replace(
            n=len(rows),
            C=self.C * self.n / len(rows),
            problem=lambda part, *given, **options: self.problem(rows[part], *given, **options),
        )


# --- label sets -------------------------------------------------------------------------------


class Sets(NamedTuple):
    X: Any
    Y: NDArray[np.int64]


def label_sets(
    name: str, train: Sets, test: Sets, score: Callable[[Any, Any], float], pairwise: Any = "full",
    **constants: Any,
) -> Task:  # fmt: skip
    """All pairs of labels."""
    X, Y = _rows(train.X), train.Y
    model = label_model(
        Y.shape[1], label_edges("full", Y), X.shape[1], pairwise=pairwise,
        bias=pairwise is not BOTH, by_feature=sparse.issparse(X),
    )  # fmt: skip

    def problem(rows: Rows, inference: str, **options: Any) -> GraphProblem:
        return multilabel_problem(
            model, X[rows], Y[rows], normalize=False, inference=inference, **options
        )

    unlabelled = multilabel_problem(model, _rows(test.X), None, inference="roof-duality")

    def score_of(w: Vector) -> float:
        return score(test.Y, decode(unlabelled, w).reshape(test.Y.shape))

    return Task(
        name, len(Y), exact="roof-duality", problem=problem, score=score_of, **constants
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


def made_sets(n: int, n_labels: int, seed: int) -> Sets:
    """Label sets that go together in pairs, and noisy features of theirs."""
    random = np.random.default_rng(seed)
    Y = np.repeat(random.random((n, n_labels // 2)) < 0.4, 2, axis=1)
    Y ^= random.random(Y.shape) < 0.1
    return Sets(Y + 0.8 * random.normal(size=Y.shape), Y.astype(np.int64))


def yeast(quick: bool, data_home: str | None, **options: Any) -> Task:
    constants: dict[str, Any] = {"name": "yeast", "C": 0.3, "score_name": "accuracy over labels"}
    constants |= options
    if quick:
        return label_sets(
            train=made_sets(20, 6, 0), test=made_sets(20, 6, 1), score=accuracy, **constants
        )
    train, test = (
        Sets(*load_mulan("yeast", data_home, subset=subset)[:2]) for subset in ("train", "test")
    )
    return label_sets(train=train, test=test, score=accuracy, **constants)


def yeast_meshi(quick: bool, data_home: str | None) -> Task:
    return yeast(quick, data_home, name="yeast-meshi", C=0.1, pairwise=BOTH)


def rcv1(quick: bool, data_home: str | None, most: int | None = None) -> Task:
    """Of the first ``most`` rows, all 5,000 with None, at C = 1: at the same lambda, fewer rows
    would be a harder problem."""
    if quick:
        train, test = (
            Sets(sparse.csr_array(np.maximum(X, 0.0)), Y)
            for X, Y in (made_sets(20, 8, 2), made_sets(20, 8, 3))
        )
    else:
        train, test = (Sets(*load_rcv1(data_home, subset=s)[:2]) for s in ("train", "test"))
    task = label_sets(
        "rcv1", train, test, micro_f1, pairwise=BOTH, score_name="micro F1", C=1.0
    )  # fmt: skip
    return task if most is None or quick else task.of_rows(np.arange(most))._replace(C=1.0)


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

    return Task(name, len(stacked.lengths), problem=problem, **constants)


def _ranges(pointer: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    return np.concatenate([np.arange(pointer[i], pointer[i + 1]) for i in rows])


def unlabelled(model: GraphModel, stacked: StackedGraphs, inference: str) -> GraphProblem:
    return graph_problem(
        model, stacked.rows, stacked.lengths, None, stacked.ends, stacked.n_edges,
        edge_rows=stacked.edge_rows, inference=inference,
    )  # fmt: skip


def potts(quick: bool, data_home: str | None) -> Task:
    """Hu & Obozinski (2018), section 7.1: a 10 x 10 grid of 5 states, 50 + 50 samples."""
    n, size = (6, 4) if quick else (50, 10)
    train, labels = make_gaussian_potts(n, size=size, random_state=0)
    test, labels_test = make_gaussian_potts(n, size=size, random_state=1)
    model = GraphModel((5,), ((0, 0),), n_features=2, n_edge_features=0)
    truth = np.concatenate(labels_test)
    to_predict = unlabelled(model, stack_graphs(test), "message-passing")
    return graphs(
        "potts", stack_graphs(train), np.concatenate(labels), model, exact="message-passing",
        score=lambda w: float(np.mean(decode(to_predict, w) == truth)),
        score_name="accuracy over cells", C=0.01,
    )  # fmt: skip


def made_images(n: int, seed: int) -> list[Image]:
    """Coarse regions in a row, two fine ones in each, with noisy scores of four classes."""
    random, n_coarse = np.random.default_rng(seed), 4
    images = []
    for _ in range(n):
        coarse = random.integers(4, size=n_coarse)
        fine = np.where(random.random(2 * n_coarse) < 0.9, np.repeat(coarse, 2), 0)
        levels = [_made_level(labels, random) for labels in (fine, coarse)]
        images.append(Image(levels[0], levels[1], np.repeat(np.arange(n_coarse), 2)))
    return images


def _made_level(labels: Rows, random: np.random.Generator) -> Level:
    scores = np.eye(4)[labels] + 0.7 * random.normal(size=(len(labels), 4))
    row = np.stack([np.arange(len(labels) - 1), np.arange(1, len(labels))], axis=1)
    return Level(scores, row.astype(np.int32), 10.0 * np.eye(4)[labels])


def _images(quick: bool, data_home: str | None) -> tuple[list[Image], list[Image]]:
    if quick:
        return made_images(8, 0), made_images(8, 1)
    found = two_levels(data_home)
    return found["train"], found["test"]


def _two_level_graph(image: Image) -> tuple[Any, Any]:
    """The fine regions, then the coarse ones."""
    n = len(image.fine.features)
    features = np.concatenate([image.fine.features, image.coarse.features])
    edges = np.stack([np.arange(n), n + image.parent], axis=1).astype(np.int32)
    return (features, edges), np.concatenate([image.fine.labels, image.coarse.labels])


def _segments_graph(image: Image) -> tuple[Any, Any]:
    return (image.fine.features, image.fine.edges), image.fine.labels


def of_images(
    name: str, make: Callable[[Image], Any], pairwise: str, quick: bool, data_home: str | None,
    **constants: Any,
) -> Task:  # fmt: skip
    """Pixels of the test images are scored, by the class of their fine region."""
    train, test = _images(quick, data_home)
    made, labels = zip(*map(make, train), strict=True)
    truth = np.concatenate(labels)
    stacked, _ = without_nodes(stack_graphs(list(made)), truth >= 0)
    n_classes = train[0].fine.features.shape[1]
    model = GraphModel((n_classes,), ((0, 0),), n_classes, 0, pairwise=pairwise)
    given = stack_graphs([make(image)[0] for image in test])
    to_predict, cuts = unlabelled(model, given, constants["exact"]), np.cumsum(given.lengths)[:-1]
    pixels = [image.fine.pixels for image in test]

    def score(w: Vector) -> float:
        found = np.split(decode(to_predict, w), cuts)
        right = [
            p[np.arange(len(p)), y[: len(p)]].sum() for p, y in zip(pixels, found, strict=True)
        ]
        return float(sum(right) / sum(p.sum() for p in pixels))

    return graphs(
        name, stacked, truth[truth >= 0], model, score=score, score_name="accuracy over pixels",
        **constants,
    )  # fmt: skip


def two_level(quick: bool, data_home: str | None) -> Task:
    """Meshi's model has one weight for each class's score, this one for each class and score."""
    return of_images(
        "two-level", _two_level_graph, "potts", quick, data_home, exact="max-sum", C=0.003
    )


def segments(quick: bool, data_home: str | None) -> Task:
    return of_images(
        "segments", _segments_graph, "full", quick, data_home, exact="message-passing", C=0.003
    )


TASKS: dict[str, Callable[[bool, str | None], Task]] = {
    "yeast": yeast, "yeast-meshi": yeast_meshi, "rcv1": partial(rcv1, most=1000), "potts": potts,
    "two-level": two_level, "segments": segments,
}  # fmt: skip

# Of the data sets; "potts" is made up.
YEAST = tuple(f"multilabel/yeast{end}" for end in (".xml", "-train.arff.gz", "-test.arff.gz"))
STANFORD = "stanford_background/superpixels_99.npz"


@cache
def task_of(name: str, quick: bool, data_home: str | None) -> Task:
    return TASKS[name](quick, data_home)
