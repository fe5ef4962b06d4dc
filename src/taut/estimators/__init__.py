"""What people touch: estimators with scikit-learn's manners."""

import os

from taut.estimators.chain import ChainSVM
from taut.estimators.multiclass import MulticlassSVM
from taut.estimators.structured import StructuredSVM

__all__ = ["ChainSVM", "MulticlassSVM", "StructuredSVM", "load"]


def load(path: str | os.PathLike[str]) -> ChainSVM:
    """Read a model file, written by ``taut train`` or :meth:`ChainSVM.save`.

    Nothing in the file is executed; one that is damaged or hostile is a
    :class:`taut.model_file.ModelFileError`.
    """
    return ChainSVM.load(path)
