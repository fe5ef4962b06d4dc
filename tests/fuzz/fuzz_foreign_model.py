"""Hostile models of other programs: CRFsuite's binary ones, and the texts of CRF++ and Wapiti."""

import os
from pathlib import Path

from fuzzing import fuzz, watched

with watched():
    from taut.compat.crfsuite_file import CHUNK, HEADER, TABLE
    from taut.compat.foreign_model import read_foreign
    from taut.files.model_file import ModelFileError

DATA = Path(__file__).parents[1] / "data"
MEMORY = os.memfd_create("model")  # a file without a disk


def table(text: bytes) -> bytes:
    """A table of one string, whose number is 0."""
    at = TABLE.size + 256 * 8
    record = b"\0\0\0\0" + (len(text) + 1).to_bytes(4, "little") + text + b"\0"
    end = at + len(record)
    head = TABLE.pack(b"CQDB", end + 4, 0, 0x62445371, 1, end)
    return head + bytes(256 * 8) + record + at.to_bytes(4, "little")


def small_crfsuite() -> bytes:
    """One attribute and one label, with a weight between them."""
    parts = [CHUNK.pack(b"FEAT", CHUNK.size + 20, 1) + bytes(20), table(b"X"), table(b"a")]
    offsets = [HEADER.size]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    labels, attributes = offsets[3], offsets[3] + CHUNK.size + 8
    parts.append(CHUNK.pack(b"LFRF", CHUNK.size + 8, 1) + (labels + 16).to_bytes(4, "little"))
    parts[-1] += bytes(4)
    parts.append(CHUNK.pack(b"AFRF", CHUNK.size + 12, 1) + (attributes + 16).to_bytes(4, "little"))
    parts[-1] += b"\1\0\0\0" + bytes(4)
    size = HEADER.size + sum(map(len, parts))
    chunks = (*offsets[:3], labels, attributes)
    return HEADER.pack(b"lCRF", size, b"FOMC", 100, 0, 1, 1, *chunks) + b"".join(parts)


def target(data: bytes) -> None:
    if data[:4] == b"lCRF":  # the size in the header is forged for the fuzzer
        data = data[:4] + len(data).to_bytes(4, "little") + data[8:]
    os.ftruncate(MEMORY, 0)
    os.pwrite(MEMORY, data, 0)
    read_foreign(f"/proc/self/fd/{MEMORY}")


if __name__ == "__main__":
    texts = [(DATA / name).read_bytes() for name in ("small.crfpp", "small.wapiti")]
    fuzz(target, ModelFileError, [small_crfsuite(), *texts])
