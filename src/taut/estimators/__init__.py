"""What people touch: estimators with scikit-learn's manners."""

import os

from taut.estimators.chain import ChainSVM
from taut.estimators.cv import (
    ChainSVMCV,
    GraphSVMCV,
    MulticlassSVMCV,
    MultilabelSVMCV,
    StructuredSVMCV,
)
from taut.estimators.graph import GraphSVM
from taut.estimators.graph_crf import GraphCRF
from taut.estimators.multiclass import MulticlassSVM
from taut.estimators.multilabel import MultilabelSVM
from taut.estimators.pose import PoseSVM
from taut.estimators.structured import StructuredSVM

__all__ = [
    "ChainSVM",
    "ChainSVMCV",
    "GraphCRF",
    "GraphSVM",
    "GraphSVMCV",
    "MulticlassSVM",
    "MulticlassSVMCV",
    "MultilabelSVM",
    "MultilabelSVMCV",
    "PoseSVM",
    "StructuredSVM",
    "StructuredSVMCV",
    "load",
]


def load(path: str | os.PathLike[str]) -> ChainSVM:
    """Read a model file, written by ``taut train`` or :meth:`ChainSVM.save`.

    Nothing in the file is executed; one that is damaged or hostile is a
    :class:`taut.model_file.ModelFileError`.
    """
    return ChainSVM.load(path)
