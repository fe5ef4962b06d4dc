"""What a chain is to be, and how it is trained: options, with one check of them.

They are what ChainSVM, ChainCRF and ``taut train`` have in common, by the estimators' names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from taut import defaults
from taut.chain.crf_options import check_crf_options
from taut.solvers.checks import is_count
from taut.spelling import OptionError
from taut.structures.slack_rescaled import checked_formulation
from taut.text.schemes import Scheme

FEATURES = ("auto", "all", "observed")
TRANSITIONS = ("auto", "all", "observed")
LOSSES = ("hamming", "hamming-sum")
OF_SVMS = ("formulation", "slack_penalty")
OF_CRFS = ("l1", "temperature", "loss_augmented", "decoding", "missing_label")


@dataclass(frozen=True)
class Specification:
    is_crf: bool
    C: Any
    solver: Any
    tol: float
    averaging: bool = False
    patience: int | None = None
    # Features and constraints.
    bias: bool = True
    boundary: bool = True
    features: str = defaults.FEATURES
    transitions: str = defaults.TRANSITIONS
    template: Any = None
    min_freq: int = defaults.MIN_FREQ
    scheme: str | None = None
    scheme_in_training: bool = False
    # What mistakes cost.
    loss: Any = defaults.LOSS
    class_weight: Any = None
    # Of SVMs.
    formulation: str = defaults.FORMULATION
    slack_penalty: str = defaults.SLACK_PENALTY
    # Of CRFs.
    l1: float = 0.0
    temperature: float = 1.0
    loss_augmented: bool = False
    decoding: str = defaults.DECODING
    missing_label: Any = None

    @classmethod
    def of(cls, is_crf: bool, options: Mapping[str, Any]) -> Self:
        """From the options of an estimator or a command line, which have more."""
        names = {field.name for field in fields(cls)}
        return cls(is_crf, **{name: value for name, value in options.items() if name in names})

    def check(self) -> None:
        """Refuse values that no data could make right."""
        if self.features not in FEATURES:
            raise ValueError(f'features={self.features!r}; expected "auto", "all" or "observed"')
        if self.transitions not in TRANSITIONS:
            raise ValueError(
                f'transitions={self.transitions!r}; expected "auto", "all" or "observed"'
            )
        if isinstance(self.loss, str) and self.loss not in LOSSES:
            raise ValueError(
                f'loss={self.loss!r}; expected "hamming", "hamming-sum" or a cost matrix'
            )
        if self.scheme_in_training and self.scheme is None:
            raise ValueError('scheme_in_training=True needs a scheme, such as scheme="IOB2"')
        if not (self.patience is None or is_count(self.patience)):
            raise ValueError(f"patience={self.patience!r}; a number of certificates, at least 1")
        if self.is_crf:
            check_crf_options(self, "ChainSVM")
        else:
            checked_formulation(self.formulation)
            if self.formulation == "slack" and self.transitions == "observed":
                raise OptionError(
                    '‹transitions="observed"› is for ‹formulation="margin"›; the oracle of slack '
                    'rescaling needs all: use ‹transitions="auto"›'
                )

    def parameters(self) -> dict[str, Any]:
        """Those that the estimator of this kind has; their names are the fields."""
        others = {"is_crf", *(OF_SVMS if self.is_crf else OF_CRFS)}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}

    def parsed_scheme(self) -> Scheme | None:
        return None if self.scheme is None else Scheme.parse(self.scheme)

    def of_prediction(self) -> dict[str, Any]:
        """What a model needs to know beyond labels and weights."""
        if not self.is_crf:
            return {}
        return {"temperature": float(self.temperature), "decoding": self.decoding}
