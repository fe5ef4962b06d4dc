"""CRFsuite's models as taut's are stored, by NumPy alone: what a tagger needs."""

from datetime import UTC, datetime

import numpy as np

from taut.chain.stored import StepPairs, StoredChain
from taut.chain.stored_weights import NodeWeights
from taut.compat.crfsuite_file import CRFsuiteModel
from taut.files.model_file import ModelFileError
from taut.labels import LabelCodec
from taut.text.attributes import AttributeEncoder

MOST_LABELS = 10_000  # that a model file of taut's holds


def stored_crfsuite(model: CRFsuiteModel, name: str) -> StoredChain:
    """A CRF with the same weights, whose labels are in alphabetical order."""
    n_labels = len(model.labels)
    if not 1 <= n_labels <= MOST_LABELS:
        raise ModelFileError(
            f"{name}: it is a model of {n_labels} labels; from 1 to {MOST_LABELS} are expected: "
            "train it on labelled sequences"
        )
    labels = sorted(model.labels)
    number = {label: k for k, label in enumerate(labels)}
    new = np.array([number[label] for label in model.labels], np.int64)
    encoder = AttributeEncoder()
    encoder.set_names(model.attributes)
    label = new[model.state["target"]]
    order = np.lexsort((label, model.state["source"]))
    counts = np.bincount(model.state["source"], minlength=len(model.attributes))
    codes = new[model.steps["source"]] * n_labels + new[model.steps["target"]]
    of_steps = np.argsort(codes)
    nothing = np.zeros(0, np.int64)
    return StoredChain(
        labels=LabelCodec([labels]),
        encoder=encoder,
        scheme=None,
        temperature=1.0,
        decoding="viterbi",
        n_features=len(model.attributes),
        is_dense=False,
        node_weights=NodeWeights(
            np.arange(len(counts)), counts, label[order], model.state["weight"][order]
        ),
        has_bias=False,
        has_boundary=False,
        n_step_features=0,
        pairs=StepPairs(codes[of_steps], nothing, nothing),
        other=model.steps["weight"][of_steps].astype(np.float64),
        trained=datetime.now(UTC).isoformat(timespec="seconds"),
        weight_change=0.0,
    )
