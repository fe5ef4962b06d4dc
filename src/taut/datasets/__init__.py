"""Data to learn from: real sets read from a folder, and four that need no files.

The loaders read the published files as they are (gzipped text, plain ``.npz`` arrays, images) from
a folder named by ``data_home`` or by the environment variable ``TAUT_DATA``; they download nothing
and never unpickle. :func:`make_appointments` (text), :func:`make_digit_words` (images),
:func:`make_gaussian_potts` (grids) and :func:`make_stick_figures` (poses) work everywhere.
"""

from taut.datasets._files import data_home
from taut.datasets._types import LabelSets, Superpixels
from taut.datasets.appointments import make_appointments
from taut.datasets.conll2000 import load_conll2000
from taut.datasets.digit_words import make_digit_words
from taut.datasets.gaussian_potts import make_gaussian_potts
from taut.datasets.horses import horse_image, load_horses
from taut.datasets.mulan import load_mulan
from taut.datasets.ocr_letters import load_ocr_letters
from taut.datasets.rcv1 import load_rcv1
from taut.datasets.snakes import load_snakes
from taut.datasets.stanford import load_stanford, stanford_image
from taut.datasets.stick_figures import load_stick_figures, make_stick_figures
from taut.datasets.usps import load_usps

__all__ = [
    "LabelSets",
    "Superpixels",
    "data_home",
    "horse_image",
    "load_conll2000",
    "load_horses",
    "load_mulan",
    "load_ocr_letters",
    "load_rcv1",
    "load_snakes",
    "load_stanford",
    "load_stick_figures",
    "load_usps",
    "make_appointments",
    "make_digit_words",
    "make_gaussian_potts",
    "make_stick_figures",
    "stanford_image",
]
