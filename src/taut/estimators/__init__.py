"""What people touch: estimators with scikit-learn's manners."""

from taut.estimators.chain import ChainSVM
from taut.estimators.multiclass import MulticlassSVM
from taut.estimators.structured import StructuredSVM

__all__ = ["ChainSVM", "MulticlassSVM", "StructuredSVM"]
