"""Data to learn from: real sets read from a folder, and two that need no files.

The loaders read the published files as they are (gzipped text, plain ``.npz`` arrays) from a folder
named by ``data_home`` or by the environment variable ``TAUT_DATA``; they download nothing and never
unpickle. :func:`make_appointments` (text) and :func:`make_digit_words` (images) work everywhere.
"""

from taut.datasets._files import data_home
from taut.datasets.appointments import make_appointments
from taut.datasets.conll2000 import load_conll2000
from taut.datasets.digit_words import make_digit_words
from taut.datasets.ocr_letters import load_ocr_letters
from taut.datasets.usps import load_usps

__all__ = [
    "data_home",
    "load_conll2000",
    "load_ocr_letters",
    "load_usps",
    "make_appointments",
    "make_digit_words",
]
