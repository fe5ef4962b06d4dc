"""Label sets of the Mulan collection: yeast, scene, emotions, bibtex and others.

Each row has any number of labels at once. The files are ARFF tables (:mod:`taut.datasets._arff`);
an XML file beside them says which attributes are labels.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from taut.datasets._arff import ArffTable, Attribute, read_arff
from taut.datasets._files import find_file, malformed
from taut.datasets._types import LabelSets


class _Source(NamedTuple):
    """Where a set is, below ``multilabel/``."""

    train: str
    test: str
    #: Attributes that identify a row instead of describing it.
    identifiers: tuple[str, ...] = ()


_SPLIT = {
    name: _Source(f"{name}-train", f"{name}-test")
    for name in ("bibtex", "emotions", "flags", "scene", "yeast")
}
SETS = _SPLIT | {
    "Corel5k": _Source("Corel5k-train-sparse", "Corel5k-test-sparse"),
    "cal500": _Source("cal500", ""),
    "genbase": _Source("genbase-train", "genbase-test", ("protein",)),
}


def load_mulan(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    subset: Literal["train", "test", "all"] = "all",
) -> LabelSets:
    """Load a multi-label data set of the Mulan collection.

    A numeric attribute, or one with the values 0 and 1 (or yes and no), is one column of X; any
    other nominal attribute is one column per value, 1 where the row has that value. The protein's
    name in genbase, different in each row, is left out.

    Parameters
    ----------
    name : {"yeast", "scene", "emotions", "bibtex", "Corel5k", "cal500", "flags", "genbase"}
        The data set.
    data_home : path, optional
        The folder that contains ``multilabel/yeast-train.arff.gz``, ``multilabel/yeast.xml`` and
        so on; by default the environment variable ``TAUT_DATA``.
    subset : {"all", "train", "test"}
        Which part of the published split; "all" is both, training rows first. ``cal500`` has no
        split.

    Returns
    -------
    LabelSets
        The named tuple X, Y, label_names, feature_names. X is a ``csr_array`` for bibtex and
        Corel5k, a dense array for the others.

    Examples
    --------
    >>> yeast = load_mulan("yeast", subset="train")  # doctest: +SKIP
    >>> yeast.X.shape, yeast.Y.shape  # doctest: +SKIP
    ((1500, 103), (1500, 14))
    """
    if name not in SETS:
        raise ValueError(f"name must be one of {', '.join(sorted(SETS))}, not {name!r}")
    source = SETS[name]
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all', not {subset!r}")
    if subset != "all" and not source.test:
        raise ValueError(f"{name} has no published split: pass subset='all' and split it yourself")
    labels = _label_names(find_file(data_home, f"multilabel/{name}.xml"))
    files = {"train": [source.train], "test": [source.test]}.get(subset, [*source[:2]])
    paths = [find_file(data_home, f"multilabel/{file}.arff.gz") for file in files if file]
    parts = [_label_sets(path, labels, source.identifiers) for path in paths]
    return parts[0] if len(parts) == 1 else _joined(parts, paths)


def _label_names(path: Path) -> set[str]:
    try:
        elements = ElementTree.parse(path).iter()
    except ElementTree.ParseError as error:
        raise malformed(path, error.position[0], f"not well-formed XML ({error})") from error
    except (LookupError, ValueError) as error:  # an encoding that does not exist, or not here
        raise malformed(path, 1, f"not readable as XML ({error})") from error
    # Tags carry the name space in front, as in {http://...}label.
    names = {
        element.get("name", "") for element in elements if element.tag.rpartition("}")[2] == "label"
    }
    if not names or "" in names:
        raise malformed(path, 1, 'expected elements <label name="...">, each with a name')
    return names


def _label_sets(path: Path, labels: set[str], identifiers: tuple[str, ...]) -> LabelSets:
    table = read_arff(path)
    names = [attribute.name for attribute in table.attributes]
    absent = labels.difference(names)
    if absent:
        raise malformed(path, 1, f"label {min(absent)!r} of the XML file is not an attribute")
    # Labels in the order of the table, which is not everywhere that of the XML file.
    of_label = [k for k, name in enumerate(names) if name in labels]
    of_feature = [
        k for k, name in enumerate(names) if name not in labels and name not in identifiers
    ]
    if not of_feature:
        raise malformed(path, 1, "every attribute is a label: there is nothing to learn from")
    X, feature_names = _features(path, table, of_feature)
    Y = _indicators(path, table, of_label)
    return LabelSets(X, Y, [names[k] for k in of_label], feature_names)


def _indicators(path: Path, table: ArffTable, columns: list[int]) -> NDArray[np.int64]:
    numbers = table.values[:, columns]
    if isinstance(numbers, sp.csr_array):
        numbers = numbers.toarray()
    for k, column in enumerate(columns):
        name, values = table.attributes[column]
        if values and set(values) != {"0", "1"}:
            raise malformed(path, 1, f"label {name!r} has the values {values}, expected 0 and 1")
        if values == ("1", "0"):
            numbers[:, k] = 1.0 - numbers[:, k]
    wrong = np.argwhere((numbers != 0.0) & (numbers != 1.0))
    if len(wrong):
        row, k = wrong[0]
        raise malformed(
            path,
            table.lines[row],
            f"label {table.attributes[columns[k]].name!r} is {numbers[row, k]:g}, expected 0 or 1",
        )
    return numbers.astype(np.int64)


def _features(
    path: Path, table: ArffTable, columns: list[int]
) -> tuple[NDArray[np.float64] | sp.csr_array, list[str]]:
    if sp.issparse(table.values):
        for column in columns:
            name, values = table.attributes[column]
            # Any other nominal attribute would make the rows dense.
            if values and values != ("0", "1"):
                problem = f"attribute {name!r} has the values {values}, expected (0, 1) or a number"
                raise malformed(path, 1, f"{problem} in a sparse file")
        return table.values[:, columns], [table.attributes[k].name for k in columns]
    blocks, names = [], []
    for column in columns:
        block, block_names = _expanded(table.attributes[column], table.values[:, [column]])
        blocks.append(block)
        names += block_names
    return np.hstack(blocks), names


def _expanded(
    attribute: Attribute, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[str]]:
    """The columns of X that stand for one attribute, of which ``numbers`` is the column."""
    name, values = attribute
    if not values:
        return numbers, [name]
    meanings = [value.lower() for value in values]
    for no, yes in (("0", "1"), ("no", "yes")):
        if sorted(meanings) == [no, yes]:
            return (numbers == meanings.index(yes)).astype(np.float64), [name]
    one_hot = (numbers == np.arange(len(values))).astype(np.float64)
    return one_hot, [f"{name}={value}" for value in values]


def _joined(parts: list[LabelSets], paths: list[Path]) -> LabelSets:
    first, second = parts
    if first[2:] != second[2:]:
        raise malformed(paths[1], 1, f"the attributes are not those of {paths[0].name}")
    if sp.issparse(first.X) != sp.issparse(second.X):
        raise malformed(paths[1], 1, f"one of this file and {paths[0].name} has sparse rows")
    rows = [first.X, second.X]
    X = sp.vstack(rows, format="csr") if sp.issparse(first.X) else np.vstack(rows)
    return first._replace(X=X, Y=np.vstack([first.Y, second.Y]))
