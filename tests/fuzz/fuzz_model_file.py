"""Hostile model files. The first byte says how much of the forgery is done for the fuzzer."""

import hashlib
import os

from fuzzing import fuzz, watched

with watched():
    import json

    from model_files import assemble, entry, header_of

    from taut.files.model_file import ModelFileError, read_model

CONTENT = header_of(entry("a"), entry("b", offset=64))
HEADER = json.dumps(CONTENT, sort_keys=True, separators=(",", ":")).encode()
DATA = bytes(64 + 12)
VALID = assemble(HEADER, DATA)
MEMORY = os.memfd_create("model")  # a file without a disk


def forged(data: bytes) -> bytes:
    kind, rest = data[:1], data[1:]
    if kind == b"c":  # all but the checksum
        return rest + hashlib.blake2b(rest, digest_size=16).digest()
    header, _, content = rest.partition(b"\0")
    if kind == b"h":  # header and data
        return assemble(header, content)
    if kind == b"j":  # what is in the header, however it is written
        try:
            return assemble(json.loads(header), content)
        except (ValueError, RecursionError):
            return b""
    return rest


def target(data: bytes) -> None:
    os.ftruncate(MEMORY, 0)
    os.pwrite(MEMORY, forged(data), 0)
    model = read_model(f"/proc/self/fd/{MEMORY}", mapped_from=0 if len(data) % 2 else 2**40)
    for array in model.arrays.values():
        array.copy()  # reads every byte of it


fuzz(
    target,
    ModelFileError,
    [
        b"r" + VALID,
        b"c" + VALID[:-16],
        *(kind + HEADER + b"\0" + DATA for kind in (b"h", b"j")),
        *(kind + b'{"arrays":[],"header":{},"taut":"1"}' for kind in (b"h", b"j")),
    ],
)
