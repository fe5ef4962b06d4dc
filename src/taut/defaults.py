"""What ``taut train`` and the estimators of chains do when they are not told otherwise.

The numbers were chosen by measurement on held-out parts of the training data of several tasks
(docs/text.md has them). This file imports nothing: the help text needs it, and must not wait for
numpy.
"""

C = "scale"  # of SVMs
C_FACTOR = 6.0  # what "scale" divides by 1 + the mean of |x|^2
# Of CRFs "scale" is CRF_C_FACTOR (attributes / positions)^CRF_C_POWER / mean square of a value:
# more where attributes are rare. Within 0.36 points of the best C on 30 splits of 13 tasks, where
# C = 1 was up to 2.4 behind it, and 10 up to 3.0.
CRF_C_FACTOR, CRF_C_POWER = 10.0, 0.75
LOSS = "hamming-sum"  # the number of wrong labels
FEATURES = "auto"
SOLVER = "auto"
# How near to the optimum: a preset is no more than that. Labels are as good as they get after some
# 24 passes, averaged, and a tenth of a point to half of one worse after 12; more precision is for
# the certificate, not for the score.
TOL = {"fast": 0.1, "default": 0.03, "exact": 1e-3}
CRF_TOL = {"fast": 1e-3, "default": 1e-5, "exact": 1e-6}
MAX_PASSES = 1000.0
# "auto" averages the iterates of many small steps where so much of a gap is good enough, and has
# its first certificate after so many passes.
LOOSE_TOL = 0.01
LOOSE_PASSES = {"fast": 12, "default": 24}
FORMULATION = "margin"
SLACK_PENALTY = "linear"
DECODING = "viterbi"
DECODINGS = ("viterbi", "posterior")  # the most probable labelling; the labels that are
LOWEST_TEMPERATURE = 1e-100  # scores are divided by it
MIN_FREQ = 1
PATIENCE = 5
LBFGS_PATIENCE = 10  # it checks after every pass, and scores go up and down
SEED = 0
THREADS = 1
# With held-out data, it is scored after so many passes or fewer.
CHECK_EVERY = 2
# Where no template is named: for words alone, and for words with another column beside them.
TEMPLATE_OF_WORDS = "pos"
TEMPLATE_OF_COLUMNS = "chunking"
# Beyond so many weights, features="auto" keeps only the observed ones.
MOST_WEIGHTS = 20_000_000
# Beyond so many labels, transitions="auto" keeps only the observed ones.
TRANSITIONS = "auto"
MANY_LABELS = 50
