"""Model files of CRFsuite (lCRF), read.

A header of 48 bytes says where the five chunks are: the features ("FEAT", 20 bytes each: kind,
source, target, weight), the strings of labels and of attributes (two "CQDB" string tables), and
which features belong to a label or an attribute ("LFRF", "AFRF": lists of numbers of features).
All numbers are little-endian. Of a string table only the way from number to string is needed.

Nothing a file says is believed before the bytes it speaks of were found to be there: what is read
takes no more memory than a small multiple of the file.
"""

import os
import struct
from typing import NamedTuple

import numpy as np

from taut.files.model_file import ModelFileError

MAGIC = b"lCRF"
HEADER = struct.Struct("<4sI4s9I")
HEADER_FIELDS = (
    "magic", "size", "type", "version", "num_features", "num_labels", "num_attrs", "off_features",
    "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs",
)  # fmt: skip
CHUNK = struct.Struct("<4sII")
TABLE = struct.Struct("<4s5I")
BYTE_ORDER = 0x62445371
VERSION = 100
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
OF_ATTRIBUTE, OF_STEP = 0, 1


class CRFsuiteModel(NamedTuple):
    header: dict[str, int | str]
    labels: list[str]
    attributes: list[str]
    state: np.ndarray  # features from attribute to label, in the order of attributes
    steps: np.ndarray  # features from label to label


class _Fault(ValueError):
    """What is wrong with a file, and where."""


def is_crfsuite(beginning: bytes) -> bool:
    return beginning[: len(MAGIC)] == MAGIC


def read_crfsuite(path: str | os.PathLike[str]) -> CRFsuiteModel:
    with open(path, "rb") as file:
        return parse_crfsuite(file.read(), os.fspath(path))


def parse_crfsuite(data: bytes, name: str) -> CRFsuiteModel:
    """The model in these bytes; ``name`` is for errors."""
    try:
        return _parsed(data)
    except _Fault as fault:
        raise ModelFileError(
            f"{name}: it is not a whole CRFsuite model ({fault}); fetch the file again, or train "
            "the model again"
        ) from None


def _parsed(data: bytes) -> CRFsuiteModel:
    if not is_crfsuite(data):
        raise _Fault(f"it begins with {data[:4]!r} where {MAGIC!r} is expected")
    if len(data) < HEADER.size:
        raise _Fault(f"it has {len(data)} bytes, its header alone {HEADER.size}")
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    if header["size"] != len(data):
        raise _Fault(f"it has {len(data)} bytes where its header says {header['size']}")
    if header["type"] != b"FOMC" or header["version"] != VERSION:
        raise _Fault(
            f"it is of type {header['type']!r}, version {header['version']}; b'FOMC', {VERSION} "
            "is expected"
        )
    features = _features(data, header["off_features"])
    labels = _strings(data, header["off_labels"], header["num_labels"], "labels")
    attributes = _strings(data, header["off_attrs"], header["num_attrs"], "attributes")
    state = _referred(data, header, "attr", features, OF_ATTRIBUTE, len(attributes))
    steps = _referred(data, header, "label", features, OF_STEP, len(labels))
    for found, what in ((state, "attributes"), (steps, "labels")):
        _check_features(found, len(labels), what)
    if len(state) + len(steps) != len(features):
        raise _Fault(
            f"it has {len(features)} features, of which {len(state) + len(steps)} belong to an "
            "attribute or a label"
        )
    told = {name: of.decode() if isinstance(of, bytes) else of for name, of in header.items()}
    return CRFsuiteModel(told, labels, attributes, state, steps)


def _chunk(data: bytes, at: int, kind: bytes, what: str) -> tuple[int, int]:
    """Size and number of items of the chunk that begins at ``at``."""
    if at + CHUNK.size > len(data):
        raise _Fault(f"the {what} should begin at byte {at} of {len(data)}")
    name, size, count = CHUNK.unpack_from(data, at)
    if name != kind:
        raise _Fault(f"at byte {at}, where the {what} should begin, is {name!r}, not {kind!r}")
    if size < CHUNK.size or at + size > len(data):
        raise _Fault(f"the {what}, {size} bytes from byte {at} on, do not fit in {len(data)} bytes")
    return size, count


def _features(data: bytes, at: int) -> np.ndarray:
    size, count = _chunk(data, at, b"FEAT", "features")
    if size != CHUNK.size + count * FEATURE.itemsize:
        raise _Fault(f"{count} features do not take the {size} bytes of their chunk at byte {at}")
    features = np.frombuffer(data, FEATURE, count, at + CHUNK.size)
    wrong = np.flatnonzero(~np.isfinite(features["weight"]))
    if wrong.size:
        raise _Fault(f"the weight of feature {wrong[0]} is {features['weight'][wrong[0]]}")
    return features


def _strings(data: bytes, at: int, count: int, what: str) -> list[str]:
    """The first ``count`` strings of the table that begins at ``at``."""
    if at + TABLE.size > len(data):
        raise _Fault(f"the table of {what} should begin at byte {at} of {len(data)}")
    name, size, _, order, n_numbered, numbers_at = TABLE.unpack_from(data, at)
    if name != b"CQDB" or order != BYTE_ORDER:
        raise _Fault(f"at byte {at}, where the {what} should begin, is no table of strings")
    if size < TABLE.size or at + size > len(data):
        raise _Fault(f"the {what}, {size} bytes from byte {at} on, do not fit in {len(data)} bytes")
    if count == 0:
        return []
    if count > n_numbered or numbers_at + 4 * count > size:
        raise _Fault(f"{count} {what} are not in their table of {n_numbered} at byte {at}")
    start = np.frombuffer(data, "<u4", count, at + numbers_at).astype(np.int64)
    if start.min() < TABLE.size or start.max() + 8 > size:
        wrong = int(np.flatnonzero((start < TABLE.size) | (start + 8 > size))[0])
        raise _Fault(f"number {wrong} of the {what} is not in their table at byte {at}")
    words = np.frombuffer(data, np.uint8)[(at + start)[:, None] + np.arange(8)]
    number, length = words.copy().view("<u4").astype(np.int64).T
    end = start + 8 + length
    by_place = np.argsort(start)
    if not np.array_equal(number, np.arange(count)) or end.max() > size:
        raise _Fault(f"the {what} do not have their own numbers, or end outside of their table")
    if np.any(end[by_place][:-1] > start[by_place][1:]):
        raise _Fault(f"the {what} overlap in their table at byte {at}")
    return _texts(data, at + start + 8, at + end, what)


def _texts(data: bytes, start: np.ndarray, end: np.ndarray, what: str) -> list[str]:
    texts = []
    for k, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        text = data[first:last]
        if text[-1:] != b"\0":
            raise _Fault(f"number {k} of the {what} has no end, at byte {last}")
        try:
            texts.append(text[:-1].decode())
        except UnicodeDecodeError:
            raise _Fault(f"number {k} of the {what}, {text[:20]!r}, is not UTF-8") from None
    if len(set(texts)) < len(texts):
        raise _Fault(f"the {what} are not distinct")
    return texts


def _referred(
    data: bytes, header: dict[str, int], of: str, features: np.ndarray, kind: int, count: int
) -> np.ndarray:
    """The features of ``count`` attributes or labels, as the lists of these name them."""
    what, at = f"features of each {of}", header[f"off_{of}refs"]
    size, n_lists = _chunk(data, at, {"attr": b"AFRF", "label": b"LFRF"}[of], what)
    if n_lists < count or CHUNK.size + 4 * count > size:
        raise _Fault(f"there are {n_lists} lists of the {what}, at byte {at}, for {count}")
    start = np.frombuffer(data, "<u4", count, at + CHUNK.size).astype(np.int64)
    if count and (start.min() < at or start.max() + 4 > at + size):
        raise _Fault(f"a list of the {what} is not in their chunk at byte {at}")
    words = np.frombuffer(data, np.uint8)[start[:, None] + np.arange(4)]
    lengths = words.copy().view("<u4").astype(np.int64).reshape(count)
    if np.any(start + 4 + 4 * lengths > at + size) or lengths.sum() > len(features):
        raise _Fault(f"a list of the {what} is longer than their chunk at byte {at}")
    source = np.repeat(np.arange(count), lengths)
    place = np.arange(len(source)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    word_at = start[source] + 4 + 4 * place
    words = np.frombuffer(data, np.uint8)[word_at[:, None] + np.arange(4)]
    number = words.copy().view("<u4").astype(np.int64).reshape(len(source))
    if number.size and number.max() >= len(features):
        raise _Fault(f"there is no feature {number.max()}, which a list of the {what} names")
    found = features[number]
    wrong = np.flatnonzero((found["kind"] != kind) | (found["source"] != source))
    if wrong.size:
        raise _Fault(f"feature {number[wrong[0]]} is not one of {of} {source[wrong[0]]}")
    return found


def _check_features(found: np.ndarray, n_labels: int, what: str) -> None:
    if found.size and found["target"].max() >= n_labels:
        raise _Fault(f"a feature of {what} is for label {found['target'].max()} of {n_labels}")
    codes = found["source"].astype(np.int64) * max(n_labels, 1) + found["target"]
    if np.unique(codes).size < codes.size:
        raise _Fault(f"two features of {what} are for the same pair")
