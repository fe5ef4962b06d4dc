"""Damaged files for the tests of what reads them, and how a reader must refuse them."""

import gzip
import re

import pytest
from hypothesis import strategies as st

FRAGMENTS = st.sampled_from([b"", b"\n", b"\r", b"\t", b" ", b"-1", b"0", b"2", b"9" * 30, b"\xff"])


@st.composite
def damaged(draw, original: bytes) -> bytes:
    """The original after one to three replacements of up to ten bytes, perhaps cut short."""
    data = original
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = start + draw(st.integers(0, 10))
        data = data[:start] + draw(FRAGMENTS | st.binary(max_size=4)) + data[stop:]
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    return data


def damaged_gzip(original: bytes) -> st.SearchStrategy[bytes]:
    """Damage inside the text, where the format must notice, or to the compressed bytes."""
    return damaged(original).map(gzip.compress) | damaged(gzip.compress(original, mtime=0))


def load_or_refuse(load, home, file: str, content: bytes):
    """What is loaded, or None if it was refused by an error that names the file and a line."""
    path = home / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    try:
        return load(data_home=home)
    except ValueError as error:
        if not re.match(re.escape(str(path)) + r", line \d+: \w", str(error)):
            pytest.fail(f"the error does not name file and line: {error}")
        return None
