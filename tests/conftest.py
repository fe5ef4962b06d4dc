"""Fixtures shared by all tests. Those of real data read TAUT_DATA, and skip without it."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from taut.datasets import load_ocr_letters, make_digit_words

os.environ.setdefault("MPLBACKEND", "Agg")

# Time limits per example fail on a busy machine, and a suite that draws new examples at each run
# fails for someone who changed nothing: explore with `--hypothesis-profile=default` instead.
settings.register_profile("taut", deadline=None, derandomize=True)
settings.load_profile("taut")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets."""
    home = os.environ.get("TAUT_DATA")
    if not home:
        pytest.skip("needs real data: set TAUT_DATA to the folder of data sets")
    return Path(home)


@pytest.fixture(scope="session")
def ocr_letters(real_data):
    """All OCR letters: X, y, fold."""
    return load_ocr_letters(real_data)


@pytest.fixture(scope="session")
def ocr_small(ocr_letters):
    """The training words of the customary small task, fold 0: X, y (626 words)."""
    X, y, fold = ocr_letters
    words = np.flatnonzero(fold == 0)
    return [X[i] for i in words], [y[i] for i in words]


@pytest.fixture(scope="session")
def digit_words():
    """Sixty short digit words: X, y. Needs no files."""
    return make_digit_words(60)
