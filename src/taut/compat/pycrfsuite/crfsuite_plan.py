"""What is trained for CRFsuite's parameters, in taut's terms."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from taut import defaults
from taut.chain.specification import Specification
from taut.compat.pycrfsuite.crfsuite_parameters import ALGORITHMS


class Plan(NamedTuple):
    """What is trained, in taut's terms."""

    specification: Specification
    max_passes: float
    minfreq: float


def plan_of(algorithm: str, values: Mapping[str, Any]) -> Plan:
    """Parameters of an algorithm (its full name) as they are meant; refuses those without meaning
    here by name."""
    known = ALGORITHMS[algorithm]
    for name, value in values.items():
        if not known[name].is_used and value != known[name].default:
            raise ValueError(
                f"{name}={value!r}: {known[name].help} Leave it out, or give its default, "
                f"{known[name].default!r}"
            )
    passes = min(values["max_iterations"], defaults.MAX_PASSES)
    if passes < 1:
        raise ValueError(f"max_iterations={values['max_iterations']}; a number from 1 on")
    shared: dict[str, Any] = {
        "solver": "auto",
        "bias": False,
        "boundary": False,
        "features": "all" if values["feature.possible_states"] else "observed",
        "transitions": "all" if values["feature.possible_transitions"] else "observed",
    }
    if algorithm in ("lbfgs", "l2sgd"):
        specification = Specification(is_crf=True, **_likelihood(values), **shared)
    else:
        C: Any = values.get("c", defaults.C)
        if C != defaults.C and not 0 < C < math.inf:
            raise ValueError(f"c={C}; a positive number is expected")
        averaging, tol = values.get("averaging", True), defaults.TOL["default"]
        specification = Specification(is_crf=False, C=C, tol=tol, averaging=averaging, **shared)
    return Plan(specification, passes, values["feature.minfreq"])


def _likelihood(values: Mapping[str, Any]) -> dict[str, Any]:
    c1, c2 = values.get("c1", 0.0), values["c2"]
    if not (0 <= c1 < math.inf):
        raise ValueError(f"c1={c1}; a number that is not negative is expected")
    if not (0 < c2 < math.inf):
        raise ValueError(
            f"c2={c2}; a positive number is expected: taut proves how near the optimum is, for "
            "which it needs some L2 norm; c2=1e-6 is as good as none"
        )
    tol = max(values["delta"], values.get("epsilon", 0.0))
    return {"C": 1.0 / (2.0 * c2), "l1": c1 / (2.0 * c2), "tol": tol}
