"""The data sets of Osokin et al. (2016), table 1, and what stands in for those that are not public.

OCR-small, OCR-large, CoNLL   as in the paper; attributes of CoNLL that occur at least three times
horses-small    stand-in for HorseSeg-small: 164 Weizmann horses, 150 superpixels, graph cut
horses-large    stand-in for HorseSeg-medium and -large: 327 Weizmann horses at three resolutions
poses           stand-in for LSP-small: 100 stick figures with joints of Leeds Sports Poses

Lambda: of powers of ten the middle one has about the lowest test error; the others are ten times
smaller and larger. Losses are divided by the size of an example, so that gaps of all
data sets are parts of an objective of about 1 at w = 0.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from papers.shared.chunking import made_up_chunks, training_chunks
from papers.shared.paper import Settings
from taut.datasets import (
    load_horses,
    load_ocr_letters,
    load_stick_figures,
    make_digit_words,
    make_gaussian_potts,
    make_stick_figures,
)
from taut.datasets.stick_figures import PARENTS
from taut.graphs import stack_graphs
from taut.structures import chain_problem
from taut.structures.graphs import GraphModel, graph_problem
from taut.structures.pose_build import pose_problem


class Data(NamedTuple):
    """How a data set is compared on; ``growth`` is that of the grid of looks, which are dear."""

    name: str
    load: Callable[[str | None], Any]
    lambdas: tuple[float, float, float]
    seconds: float  # CPU, of one run of one variant
    growth: float = 1.15
    oracle: str = "Viterbi"
    task: str = ""


# --- the real ones --------------------------------------------------------------------------------


def ocr(is_large: bool, data_home: str | None) -> Any:
    X, y, fold = load_ocr_letters(data_home)
    chosen = np.flatnonzero((fold != 0) == is_large)
    letters = np.concatenate([y[i] for i in chosen]).view(np.uint32).astype(np.int64)
    lengths = np.array([len(y[i]) for i in chosen])
    return chain_problem(np.concatenate([X[i] for i in chosen]), lengths, letters - ord("a"), 26)


def conll(data_home: str | None) -> Any:
    return training_chunks(data_home).problem()


def horses(is_large: bool, data_home: str | None) -> Any:
    if not is_large:
        found = load_horses(data_home, subset="train")
        return cut_problem(found.graphs, found.labels)
    parts = [load_horses(data_home, n_superpixels=size) for size in (100, 150, 200)]
    graphs = [graph for part in parts for graph in part.graphs]
    return cut_problem(graphs, [labels for part in parts for labels in part.labels])


def cut_problem(graphs: list, labels: list) -> Any:
    """Two states, attractive edges: weights of edges are bounded, and the oracle is a cut."""
    stacked = stack_graphs(graphs)
    shape = GraphModel(
        (2,), ((0, 0),), stacked.rows.shape[1], stacked.n_edge_features, pairwise="potts",
        unary="binary", attractive=True,
    )  # fmt: skip
    return graph_problem(
        shape, stacked.rows, stacked.lengths, np.concatenate(labels), stacked.ends,
        stacked.n_edges, edge_rows=stacked.edge_rows, normalize=True,
    )  # fmt: skip


def poses(data_home: str | None) -> Any:
    figures = load_stick_figures(data_home, subset="train", size=48)
    return springs(figures.heat_maps[:100], figures.joints[:100], 48)


def springs(heat_maps: Any, joints: Any, size: int) -> Any:
    """Springs rest where the joints are on average."""
    anchors = [
        np.zeros((1, 2)) if parent < 0 else (joints[:, p] - joints[:, parent]).mean(0)[None]
        for p, parent in enumerate(PARENTS)
    ]
    return pose_problem(heat_maps, joints, PARENTS, reach=size / 10, anchors=anchors, unit=size / 8)


DATA = {
    data.name: data
    for data in (
        Data("OCR-small", lambda home: ocr(False, home), (1e-3, 1e-2, 1e-1), 0.8,
             task="characters"),
        Data("OCR-large", lambda home: ocr(True, home), (1e-4, 1e-3, 1e-2), 1.2, 1.4,
             task="characters"),
        Data("CoNLL", conll, (1e-3, 1e-2, 1e-1), 1.5, 2.0, task="chunks"),
        Data("horses-small", lambda home: horses(False, home), (0.1, 1.0, 10.0), 0.7, 1.2,
             oracle="graph cut", task="segmentation"),
        Data("horses-large", lambda home: horses(True, home), (0.1, 1.0, 10.0), 0.6, 1.8,
             oracle="graph cut", task="segmentation"),
        Data("poses", poses, (1e-2, 1e-1, 1.0), 0.8, 2.0, oracle="max-sum on a tree",
             task="poses"),
    )
}  # fmt: skip


OCR, TEXT = ("ocr_letters/letter.data.gz",), ("conll2000/train.txt.gz",)
HORSES = ("weizmann_horse/rgb.tar", "weizmann_horse/figure_ground.tar")
FILES = {"OCR-small": OCR, "OCR-large": OCR, "CoNLL": TEXT, "horses-small": HORSES,
         "horses-large": HORSES, "poses": ("lsp/joints.mat",)}  # fmt: skip


def files_of(names: Iterable[str]) -> list[str]:
    return sorted({file for name in names for file in FILES[name]})


# --- built in, for --quick ------------------------------------------------------------------------


def digit_words(_: str | None) -> Any:
    X, y = make_digit_words(20, random_state=0)
    return chain_problem(np.concatenate(X), np.array([len(w) for w in y]), np.concatenate(y), 10)


def grids(_: str | None) -> Any:
    return cut_problem(*make_gaussian_potts(10, size=4, n_states=2, coupling=0.7))


def figures(_: str | None) -> Any:
    found = make_stick_figures(6, size=12)
    return springs(found.heat_maps, found.joints, 12)


QUICK: dict[str, Callable[[str | None], Any]] = {
    "OCR-small": digit_words,
    "CoNLL": lambda _: made_up_chunks().problem(),
    "horses-small": grids,
    "poses": figures,
}


def data_sets(settings: Settings, names: tuple[str, ...] = tuple(DATA)) -> list[Data]:
    """With --quick small built-in ones of the same structures, at one lambda."""
    if not settings.quick:
        return [DATA[name] for name in names]
    return [
        DATA[name]._replace(lambdas=(DATA[name].lambdas[1],) * 3, seconds=0.02, growth=2.0)
        for name in names
        if name in QUICK
    ]


@cache
def problem_of(name: str, quick: bool, data_home: str | None) -> Any:
    return (QUICK[name] if quick else DATA[name].load)(data_home)
