"""Options that all CRFs have."""

from typing import Any

import numpy as np

from taut.defaults import DECODINGS
from taut.solvers.checks import is_number


def check_crf_options(crf: Any, svm: str) -> None:
    """``svm`` is what the CRF becomes without temperature."""
    if not (is_number(crf.temperature) and 0 < crf.temperature < np.inf):
        raise ValueError(
            f"temperature={crf.temperature!r}; a positive number is expected: at 0 a CRF with "
            f"loss_augmented is {svm}"
        )
    if crf.decoding not in DECODINGS:
        raise ValueError(f"decoding={crf.decoding!r}; expected one of {DECODINGS}")
    if crf.class_weight is not None and not crf.loss_augmented:
        raise ValueError(
            "class_weight is what mistakes cost, which a likelihood does not see; set "
            "loss_augmented=True, or give sample_weight to fit"
        )
