"""Images as graphs: does it help that neighbours look at each other?

GraphSVM on the same features of nodes without edges, with edges that are all alike, and with edges
that know how similar their ends look (contrast) or which direction they have. C is chosen for each
by the score on the last quarter of the training images, of models trained on the others; the model
of all training images is then scored once on the test images. Edges of superpixels are attractive
(weights not negative).

horses    foreground or not; graph cut, exact. Chosen by the foreground's IoU.
Stanford  eight classes, some superpixels unknown; the LP relaxation by message passing. Chosen by
          pixel accuracy.
snakes    eleven labels, a full table of label pairs per edge feature; message passing. Features
          are the edge's direction, then also the colours around both ends for each direction.
          Chosen by accuracy over cells.

Superpixels are scored in pixels: accuracy over all pixels whose class is known, its mean over the
classes ("class accuracy"), and intersection over union of the last class. CPU seconds are those of
the final training, which ends at a relative gap of 1e-2 or after so many passes; models to choose C
stop after half as many. "limit" is the accuracy of the superpixels' own labels.

Targets (issue "graphs"): with edges beats without, on horses (IoU and accuracy) and on Stanford.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
import numpy as np
from common import cpu_seconds, table
from sklearn.exceptions import ConvergenceWarning

from taut import GraphSVM
from taut.datasets import load_horses, load_snakes, load_stanford

Variants = dict[str, Callable[[Any], Any]]


def colours_at_ends(graph: Any) -> Any:
    """Edge features: the direction, and what both ends see, apart for each direction."""
    nodes, edges, direction = graph
    seen = np.hstack([np.ones((len(edges), 1)), nodes[edges[:, 0]], nodes[edges[:, 1]]])
    return nodes, edges, (direction[:, :, None] * seen[:, None]).reshape(len(edges), -1)


WITHOUT: Variants = {"none": lambda graph: (graph[0], np.zeros((0, 2), np.int32))}
CONSTANT: Variants = {"constant": lambda graph: graph[:2]}
CONTRAST = WITHOUT | CONSTANT | {"contrast": lambda graph: graph}
DIRECTION = (
    WITHOUT | CONSTANT | {"direction": lambda graph: graph, "colours at ends": colours_at_ends}
)


class Images(NamedTuple):
    graphs: list[Any]
    labels: list[np.ndarray]
    maps: list[np.ndarray]
    pixel_labels: list[np.ndarray]

    def part(self, chosen: slice) -> "Images":
        return Images(*(values[chosen] for values in self))


class Task(NamedTuple):
    name: str
    train: Images
    test: Images
    edges: Variants
    options: dict[str, Any]
    grid: tuple[float, ...]
    criterion: str
    max_passes: int


# --- data -------------------------------------------------------------------------------------


def superpixels(load: Callable[..., Any], subset: str, most: int | None) -> Images:
    data = load(subset=subset)
    return Images(data.graphs, data.labels, data.maps, data.pixel_labels).part(slice(most))


def cells(graphs: list[Any], labels: list[np.ndarray], most: int | None) -> Images:
    """Every cell is a pixel."""
    return Images(graphs, labels, [np.arange(len(y)) for y in labels], labels).part(slice(most))


def horses(most: int | None) -> Task:
    train, test = (superpixels(load_horses, subset, most) for subset in ("train", "test"))
    options = {"unary": "binary", "attractive": True}
    return Task("horses", train, test, CONTRAST, options, (0.03, 0.1, 0.3, 1.0, 3.0), "IoU", 60)


def stanford(most: int | None) -> Task:
    train, test = (superpixels(load_stanford, subset, most) for subset in ("train", "test"))
    grid = (0.00003, 0.0001, 0.0003, 0.001)
    return Task("Stanford", train, test, CONTRAST, {"attractive": True}, grid, "accuracy", 40)


def snakes(most: int | None) -> Task:
    graphs, labels, graphs_test, labels_test = load_snakes()
    train, test = cells(graphs, labels, most), cells(graphs_test, labels_test, most)
    options = {"pairwise": "full"}
    return Task("snakes", train, test, DIRECTION, options, (0.1, 1.0, 10.0), "accuracy", 60)


# --- scores -----------------------------------------------------------------------------------


def confusion(predicted: list[Any], images: Images) -> np.ndarray:
    """Pixels by true and predicted class."""
    n_classes = 1 + max(int(truth.max()) for truth in images.pixel_labels)
    count = np.zeros((n_classes, n_classes))
    for labels, at, truth in zip(predicted, images.maps, images.pixel_labels, strict=True):
        known = truth >= 0
        codes = truth[known].astype(np.int64) * n_classes + np.asarray(labels)[at][known]
        count += np.bincount(codes, minlength=count.size).reshape(count.shape)
    return count


def scores(count: np.ndarray) -> dict[str, float]:
    right, occurring = np.diag(count), count.sum(axis=1) > 0
    return {
        "accuracy": right.sum() / count.sum(),
        "class accuracy": np.mean(right[occurring] / count.sum(axis=1)[occurring]),
        "IoU": right[-1] / (count[-1].sum() + count[:, -1].sum() - right[-1]),
    }


# --- runs -------------------------------------------------------------------------------------


def fit(task: Task, edges: str, images: Images, C: float, max_passes: float) -> GraphSVM:
    options = dict(task.options) if edges != "none" else task.options | {"attractive": False}
    model = GraphSVM(C, tol=1e-2, max_passes=max_passes, random_state=0, verbose=False, **options)
    return model.fit([task.edges[edges](graph) for graph in images.graphs], images.labels)


def evaluate(task: Task, model: GraphSVM, edges: str, images: Images) -> dict[str, float]:
    predicted = model.predict([task.edges[edges](graph) for graph in images.graphs])
    return scores(confusion(predicted, images))


def choose_C(task: Task, edges: str) -> float:
    cut = len(task.train.graphs) * 3 // 4
    fitted, held_out = task.train.part(slice(cut)), task.train.part(slice(cut, None))
    found = []
    for C in task.grid:
        model = fit(task, edges, fitted, C, task.max_passes / 2)
        found.append(evaluate(task, model, edges, held_out)[task.criterion])
    return task.grid[int(np.argmax(found))]


def compare(task: Task) -> None:
    n_nodes, n_edges = (sum(len(graph[k]) for graph in task.train.graphs) for k in (0, 1))
    print(f"{task.name}: {len(task.train.graphs)} training images of {n_nodes:,} nodes and "
          f"{n_edges:,} edges, {len(task.test.graphs)} test images\n")  # fmt: skip
    rows: list[list[Any]] = []
    for edges in task.edges:
        C = choose_C(task, edges)
        with cpu_seconds() as seconds:
            model = fit(task, edges, task.train, C, task.max_passes)
        solution = model.solution_
        found = evaluate(task, model, edges, task.test)
        rows.append([edges, C, *found.values(), seconds(), solution.passes,
                     solution.relative_gap, solution.certifies or "exact problem",
                     model.inference_])  # fmt: skip
    limit = [np.where(labels < 0, 0, labels) for labels in task.test.labels]
    rows.append(["limit", None, *scores(confusion(limit, task.test)).values(), *[None] * 5])
    header = ["edges", "C", "accuracy", "class accuracy", "IoU, last class", "train CPU s",
              "passes", "relative gap", "certifies", "inference"]  # fmt: skip
    table(header, rows)


def main() -> None:
    options = common.arguments(
        __doc__, only={"nargs": "*", "default": None, "help": "horses, stanford, snakes"}
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    most = 40 if options.quick else None
    for make in (horses, stanford, snakes):
        if options.only is None or make.__name__ in options.only:
            compare(make(most))


if __name__ == "__main__":
    main()
