"""python-crfsuite's interface, answered by taut: ``import taut.compat.pycrfsuite as pycrfsuite``.

Programs written for python-crfsuite run with this one line changed. Models are trained by taut, to
a proved optimum of the same objective, and written to taut's model files; :meth:`Tagger.open` reads
these, and CRFsuite's. The page "Coming from CRFsuite" says what differs.

>>> from taut.compat import pycrfsuite
>>> trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.1, "c2": 0.01}, verbose=False)
>>> trainer.append([{"word": "the"}, {"word": "cat"}], ["DT", "NN"])
>>> import os, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     trainer.train(os.path.join(folder, "model"))
...     with pycrfsuite.Tagger().open(os.path.join(folder, "model")) as tagger:
...         tagger.tag([{"word": "the"}, {"word": "cat"}])
['DT', 'NN']
"""

from taut import __version__
from taut.compat.pycrfsuite.crfsuite_tagger import Tagger
from taut.compat.pycrfsuite.crfsuite_trainer import BaseTrainer, CRFSuiteError, Trainer
from taut.compat.pycrfsuite.item_sequence import ItemSequence

CRFSUITE_VERSION = f"taut {__version__}"

__all__ = [
    "CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer",
]  # fmt: skip
