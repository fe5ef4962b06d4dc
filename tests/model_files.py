"""Model files for tests: forged ones, what may be in them, and how they are refused."""

import hashlib
import json

import pytest
from hypothesis import strategies as st

from taut.files.model_file import MAGIC, PREFIX, ModelFileError, read_model

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


def assemble(raw_header, data=b"", version=1):
    """Any header with any data, and the checksum that belongs to them: what a forger writes."""
    if not isinstance(raw_header, bytes):
        raw_header = json.dumps(
            raw_header, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        ).encode()
    start = PREFIX.pack(MAGIC, version, len(raw_header)) + raw_header
    content = start + bytes(-len(start) % 64) + data
    return content + hashlib.blake2b(content, digest_size=16).digest()


def header_of(*entries):
    return {"arrays": list(entries), "header": {}, "taut": "0.1.0"}


def entry(name="a", dtype="int32", shape=(3,), offset=0):
    shape = list(shape) if isinstance(shape, tuple) else shape
    return {"name": name, "dtype": dtype, "shape": shape, "offset": offset}


def refused(path, content, why="; "):
    path.write_bytes(content)
    for mapped_from in (0, 2**40):
        with pytest.raises(ModelFileError, match=why) as caught:
            read_model(path, mapped_from=mapped_from)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "; " in message
        assert len(message) < 400 + len(str(path))
