"""Tables of rows, checked by scikit-learn before there is a model."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from taut.arrays.sound_sparse import sound_csr


def checked_table(estimator: Any, X: Any, y: Any = "no_validation") -> tuple[Any, Callable]:
    """X, or X and y, as ``validate_data`` returns them; and a function that notes their columns.

    ``validate_data`` would note them on the estimator at once, and a fit may still fail.
    """
    draft = copy.copy(estimator)
    checked = validate_data(draft, _sound(X), y, accept_sparse="csr", dtype=np.float64)

    def note_columns() -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(draft, name):
                setattr(estimator, name, getattr(draft, name))
            elif hasattr(estimator, name):
                delattr(estimator, name)

    return checked, note_columns


def table_like_fitted(estimator: Any, X: Any) -> Any:
    """Rows to be labelled, with the columns of those that the estimator was fitted with."""
    return validate_data(estimator, _sound(X), accept_sparse="csr", dtype=np.float64, reset=False)


def _sound(X: Any) -> Any:
    return sound_csr(X, "X") if sparse.issparse(X) else X
