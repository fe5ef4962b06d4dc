"""sklearn-crfsuite's interface, answered by taut: ``from taut.compat.sklearn_crfsuite import CRF``.

Its modules ``metrics`` and ``scorers`` are here, too.
"""

from taut.compat.sklearn_crfsuite.crf_estimator import CRF

__all__ = ["CRF"]
