"""Chain models that are almost right: a good file with other header values and other numbers.

The checksum and the container are always valid, so that the fuzzer gets to what reads them. Input
is lines: ``path = JSON`` replaces a value of the header (the path is names and places with dots
between them), ``name[place] = number`` a number of an array, ``name[:size]`` cuts it.
"""

import json
import os
import re
from contextlib import suppress
from copy import deepcopy

from fuzzing import fuzz, watched

with watched():
    import numpy as np

    from taut import ChainCRF
    from taut.chain.chain_posterior import log_likelihoods, n_best_labellings, node_marginals
    from taut.chain.file import load_chain
    from taut.chain.model import Stacked
    from taut.constraints import ImpossibleConstraint
    from taut.files.model_file import ModelFileError, read_model, write_model
    from taut.text.columns import Columns
    from taut.text.extract import TemplateEncoder

SENTENCES = [["the", "cat", "sat"], ["a", "dog", "ran"], ["cats", "sat"]]
TAGS = [["B-X", "I-X", "O"], ["B-X", "I-X", "O"], ["B-X", "O"]]
ELEMENT = re.compile(r"([\w.]+)\[(\d{1,6})\] *= *(-?\d{1,20}(?:\.\d{1,20})?)", re.ASCII)
CUT = re.compile(r"([\w.]+)\[:(\d{1,6})\]", re.ASCII)
FOLDER = f"/dev/shm/taut_fuzz_{os.getpid()}"  # memory, as files are written at every step


def good() -> tuple[dict, dict[str, np.ndarray]]:
    path = os.path.join(FOLDER, "good.taut")
    clf = ChainCRF(template="w[-1..1]; w[-1]|w[0]; BOS", scheme="IOB2", random_state=0)
    clf.fit(SENTENCES, TAGS).save(path)
    file = read_model(path)
    return file.header, file.arrays


def replaced(header: dict, path: str, value: object) -> None:
    *parents, last = path.split(".")
    place: object = header
    for name in parents:
        place = _child(place, name)
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list) and last.isdecimal() and int(last) < len(place):
        place[int(last)] = value


def _child(place: object, name: str) -> object:
    if isinstance(place, dict):
        return place.get(name)
    if isinstance(place, list) and name.isdecimal() and int(name) < len(place):
        return place[int(name)]
    return None


def changed(arrays: dict[str, np.ndarray], line: str) -> bool:
    """Whether the line is about an array."""
    element, cut = ELEMENT.fullmatch(line), CUT.fullmatch(line)
    if cut and cut[1] in arrays:
        arrays[cut[1]] = arrays[cut[1]][: int(cut[2])]
    elif element and element[1] in arrays:
        name, place, value = element.groups()
        # Of any type: what does not fit into the array's own is a number of another.
        wide = arrays[name].astype(np.float64 if "." in value else arrays[name].dtype)
        if int(place) < wide.size:
            limits = np.iinfo(wide.dtype) if wide.dtype.kind in "iu" else None
            wide.flat[int(place)] = (
                float(value) if limits is None else min(max(int(value), limits.min), limits.max)
            )
        arrays[name] = wide
    return bool(cut or element)


def target(data: bytes) -> None:
    header, arrays = deepcopy(HEADER), dict(ARRAYS)
    for line in data.decode(errors="replace").splitlines():
        if changed(arrays, line):
            continue
        path, _, value = line.partition("=")
        try:
            replaced(header, path.strip(), json.loads(value))
        except (ValueError, RecursionError):
            return
    path = os.path.join(FOLDER, "changed.taut")
    write_model(path, header, arrays)
    model, _ = load_chain(path)
    str(model.solution)  # whatever was accepted must be usable
    model.attribute_names()
    if isinstance(model.encoder, TemplateEncoder) and not model.has_step_features:
        columns = Columns.from_sentences(SENTENCES)
        text = Stacked(model.encoder.transform(columns), columns.lengths)
        with suppress(ImpossibleConstraint):  # labels that cannot begin a sequence, say
            model.decode(text)
            if model.temperature > 0.0:
                node_marginals(model, text)
                log_likelihoods(model, text, np.zeros(columns.n_tokens, np.int32))
                n_best_labellings(model, text, 2)


os.makedirs(FOLDER, exist_ok=True)
HEADER, ARRAYS = good()
fuzz(
    target,
    ModelFileError,
    [
        b"",
        *(f"{name} = {json.dumps(value)}".encode() for name, value in HEADER.items()),
        *(f"certificate.{name} = {json.dumps(value)}".encode()
          for name, value in HEADER["certificate"].items()),
        *(f"encoder.{name} = {json.dumps(value)}".encode()
          for name, value in HEADER["encoder"].items()),
        *(f"{name}[0] = {array.flat[0]}".encode() for name, array in ARRAYS.items()),
        *(f"{name}[:1]".encode() for name in ARRAYS),
        b'labels.values.0 = "X"',
        b"n_features = 16777216\nencoder = null",
        b"temperature = 0",  # an SVM
        b"temperature = 1e-9",
        b'decoding = "posterior"',
    ],
)  # fmt: skip
