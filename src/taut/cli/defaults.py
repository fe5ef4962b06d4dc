"""What ``taut train`` does when it is not told otherwise.

The numbers were chosen by measurement on several data sets. This file imports nothing: the help
text needs it, and must not wait for numpy.
"""

C = 0.01
LOSS = "hamming"  # the fraction of wrong labels
FEATURES = "auto"
AVERAGING = True
TOL = 0.02
MAX_PASSES = 50.0
MIN_FREQ = 1
PATIENCE = 3
SEED = 0
THREADS = 1
# What the solver "auto" stands for: fields of taut.BCFW.
AUTO_SOLVER = {"order": "permuted", "refresh": 4}
# Where no template is named: for words alone, and for words with another column beside them.
TEMPLATE_OF_WORDS = "pos"
TEMPLATE_OF_COLUMNS = "chunking"
# Beyond so many weights, features="auto" keeps only the observed ones, as ChainSVM does.
MOST_WEIGHTS = 50_000_000
