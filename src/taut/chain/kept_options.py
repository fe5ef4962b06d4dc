"""Which options of a chain's estimator go into its model file, and come back."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from taut.chain.model import ChainModel
from taut.text.extract import TemplateEncoder

# Parameters that a model file does not keep: they are about a run, or a machine.
OF_ONE_RUN = {
    "callback", "warm_start", "checkpoint", "checkpoint_seconds", "resume", "n_jobs", "verbose"
}  # fmt: skip


def options_to_save(params: dict[str, Any], model: ChainModel) -> dict[str, Any]:
    plain = {
        name: value
        for name, value in params.items()
        if name not in OF_ONE_RUN
        and (value is None or isinstance(value, str | int | float | np.number | np.bool_))
    }
    return plain | _template_of(model)


def options_to_load(
    saved: dict[str, Any], names: Iterable[str], model: ChainModel
) -> dict[str, Any]:
    """Those that an estimator with parameters of these ``names`` knows."""
    known = set(names) - OF_ONE_RUN
    return {name: value for name, value in saved.items() if name in known} | _template_of(model)


def _template_of(model: ChainModel) -> dict[str, str]:
    """Its text, because the file it came from may not be where the model is loaded."""
    if isinstance(model.encoder, TemplateEncoder):
        return {"template": model.encoder.template.text}
    return {}
