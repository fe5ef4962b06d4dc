"""What ``taut train`` and its estimators do when they are not told otherwise.

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
FORMULATION = "margin"
SLACK_PENALTY = "linear"
# Of CRFs. They want a larger C than SVMs: on CoNLL-2000, F1 is 93.7 at 1, 93.5 at "scale" (0.32).
CRF_C = 1.0
CRF_SOLVER = "sdca"
# The objective at w = 0, of which this is a part, is the log of the number of labellings, far more
# than the objective at the optimum: on CoNLL-2000, 1e-3 is reached after 6 passes with F1 93.55,
# 1e-4 after 10 with 93.62, which is that of the optimum. Probabilities need a few passes more.
CRF_TOL = 1e-5
CRF_MAX_PASSES = 200.0
DECODING = "viterbi"
MIN_FREQ = 1
PATIENCE = 3
LBFGS_PATIENCE = 10  # it checks after every pass, and scores go up and down
SEED = 0
THREADS = 1
# With held-out data, it is scored after so many passes or fewer.
CHECK_EVERY = 2
# Where no template is named: for words alone, and for words with another column beside them.
TEMPLATE_OF_WORDS = "pos"
TEMPLATE_OF_COLUMNS = "chunking"
# Beyond so many weights, features="auto" keeps only the observed ones.
MOST_WEIGHTS = 50_000_000
