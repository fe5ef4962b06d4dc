"""What people touch: estimators with scikit-learn's conventions."""

import os

from taut.chain.file import load_chain
from taut.estimators.chain_crf import ChainCRF
from taut.estimators.chain_svm import ChainSVM
from taut.estimators.cv import (
    ChainCRFCV,
    ChainSVMCV,
    GraphSVMCV,
    MulticlassSVMCV,
    MultilabelSVMCV,
    StructuredSVMCV,
)
from taut.estimators.graph_crf import GraphCRF
from taut.estimators.graph_svm import GraphSVM
from taut.estimators.multiclass_svm import MulticlassSVM
from taut.estimators.multilabel_svm import MultilabelSVM
from taut.estimators.pose_svm import PoseSVM
from taut.estimators.structured_svm import StructuredSVM
from taut.estimators.tree_crf import TreeCRF

__all__ = [
    "ChainCRF",
    "ChainCRFCV",
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
    "TreeCRF",
    "load",
]


def load(path: str | os.PathLike[str]) -> ChainSVM | ChainCRF:
    """Read a model file, written by ``taut train`` or by the ``save`` of an estimator.

    Nothing in the file is executed; one that is damaged or hostile is a
    :class:`taut.files.model_file.ModelFileError`.
    """
    model, header = load_chain(path)
    kind = ChainCRF if model.temperature > 0.0 else ChainSVM
    return kind._of_file(model, header)
