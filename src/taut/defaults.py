"""What ``taut train`` and ``ChainSVM`` do when they are not told otherwise.

The numbers were chosen by measurement on several data sets. This file imports nothing: the help
text needs it, and must not wait for numpy.
"""

C = "scale"
C_FACTOR = 6.0  # what "scale" divides by 1 + the mean of |x|^2
LOSS = "hamming-sum"  # the number of wrong labels
FEATURES = "auto"
SOLVER = "averaged"
TOL = 0.03
MAX_PASSES = 24.0
MIN_FREQ = 1
PATIENCE = 3
SEED = 0
THREADS = 1
# With held-out data, it is scored after so many passes or fewer.
CHECK_EVERY = 2
# Where no template is named: for words alone, and for words with another column beside them.
TEMPLATE_OF_WORDS = "pos"
TEMPLATE_OF_COLUMNS = "chunking"
# Beyond so many weights, features="auto" keeps only the observed ones.
MOST_WEIGHTS = 50_000_000
