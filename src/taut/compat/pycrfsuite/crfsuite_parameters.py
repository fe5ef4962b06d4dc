"""CRFsuite's training parameters: their names, defaults and meanings, and what they are here.

The objective of "lbfgs" and "l2sgd" is that of :class:`taut.ChainCRF` in another scale::

    sum_i -log p(y_i | x_i; w) + c1 |w|_1 + c2 |w|^2,        C = 1 / (2 c2),  l1 = c1 / (2 c2)

"ap", "pa" and "arow" train margins; here that is the averaged SVM. PA's ``c`` bounds what an
example can add to the weights, and so does C.
"""

from typing import Any, NamedTuple


def _flag(value: Any) -> bool:
    return bool(int(value))


class Parameter(NamedTuple):
    default: Any
    cast: Any
    help: str
    is_used: bool = True  # otherwise nothing but the default is accepted


MOST = 2147483647
FEATURES = {
    "feature.minfreq": Parameter(
        0.0, float, "Pairs of attribute and label (or of labels) whose values add up to less are "
        "left out."
    ),
    "feature.possible_states": Parameter(
        False, _flag, "Weights for all pairs of attribute and label, not only those seen together."
    ),
    "feature.possible_transitions": Parameter(
        False, _flag, "Weights for all pairs of labels, not only those that follow each other."
    ),
}  # fmt: skip
C2 = Parameter(1.0, float, "Coefficient of the L2 norm: c2 |w|^2 is part of the objective.")
LBFGS = {
    "c1": Parameter(0.0, float, "Coefficient of the L1 norm: c1 |w|_1 is part of the objective."),
    "c2": C2,
    "max_iterations": Parameter(MOST, int, "The most passes over the data; 1000 at most."),
    "num_memories": Parameter(6, int, "Of CRFsuite's L-BFGS; not used here.", False),
    "epsilon": Parameter(1e-5, float, "As delta; the larger of the two counts."),
    "period": Parameter(10, int, "Of CRFsuite's L-BFGS; not used here.", False),
    "delta": Parameter(
        1e-5, float, "Training ends when the proved gap is this share of the objective at w = 0."
    ),
    "linesearch": Parameter("MoreThuente", str, "Of CRFsuite's L-BFGS; not used here.", False),
    "max_linesearch": Parameter(20, int, "Of CRFsuite's L-BFGS; not used here.", False),
}
SGD = "Of CRFsuite's stochastic gradient descent; not used here."
L2SGD = {
    "c2": C2,
    "max_iterations": Parameter(1000, int, "The most passes over the data."),
    "period": Parameter(10, int, SGD, False),
    "delta": Parameter(1e-6, float, LBFGS["delta"].help),
    "calibration.eta": Parameter(0.1, float, SGD, False),
    "calibration.rate": Parameter(2.0, float, SGD, False),
    "calibration.samples": Parameter(1000.0, float, SGD, False),
    "calibration.candidates": Parameter(10, int, SGD, False),
    "calibration.max_trials": Parameter(20, int, SGD, False),
}
ONLINE = {
    "max_iterations": Parameter(100, int, "The most passes over the data."),
    "epsilon": Parameter(0.0, float, "Of CRFsuite's online learners; not used here.", False),
}
PA = {
    "type": Parameter(1, int, "1 (PA-I) is the linear hinge; others are not trained here.", False),
    "c": Parameter(1.0, float, "The most that an example can add to the weights; C of the SVM."),
    "error_sensitive": Parameter(
        True, _flag, "A margin grows with the number of wrong labels; always so here.", False
    ),
    "averaging": Parameter(True, _flag, "Return the average of the weights."),
}
AROW = {
    "variance": Parameter(1.0, float, "Of AROW; not used here.", False),
    "gamma": Parameter(1.0, float, "Of AROW; not used here.", False),
}
ALGORITHMS = {
    "lbfgs": FEATURES | LBFGS,
    "l2sgd": FEATURES | L2SGD,
    "averaged-perceptron": FEATURES | ONLINE,
    "passive-aggressive": FEATURES | PA | ONLINE,
    "arow": FEATURES | AROW | ONLINE,
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
TITLES = {
    "lbfgs": "L-BFGS",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
