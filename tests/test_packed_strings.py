"""Any list of text survives packing; any array of bytes unpacks to text or is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from taut.files.packed_strings import pack_strings, unpack_strings

ALL_ASCII = "".join(map(chr, range(128)))
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXT))
def test_strings_survive(strings):
    assert unpack_strings(pack_strings(strings)) == strings


@given(st.lists(TEXT))
def test_strings_survive_where_no_ascii_character_is_left_to_separate_them(strings):
    strings = [*strings, ALL_ASCII]
    assert unpack_strings(pack_strings(strings)) == strings


def test_one_byte_per_string_is_added():
    assert pack_strings(["ab", "", "é"]).nbytes == len(b"ab") + len("é".encode()) + 3


@given(npst.arrays(np.uint8, st.integers(0, 20)))
def test_bytes_are_unpacked_to_text_or_refused(packed):
    try:
        strings = unpack_strings(packed)
    except ValueError:
        return
    assert unpack_strings(pack_strings(strings)) == strings


@pytest.mark.parametrize(
    "packed",
    [b"\xc3\x00", b"\xe9", b"abc\xc3", b"\xed\xa0\x80\x00", b"a\xff\xc3\xff"],
    ids=["cut", "separator is not ASCII", "separator is half a letter", "surrogate", "cut, by FF"],
)
def test_bytes_that_are_no_text_are_refused(packed):
    with pytest.raises(ValueError, match="packed strings are not UTF-8 text"):
        unpack_strings(np.frombuffer(packed, np.uint8))


@pytest.mark.parametrize("packed", [np.zeros(3), np.zeros((2, 2), np.uint8), np.uint8(7)])
def test_other_arrays_are_refused(packed):
    with pytest.raises(ValueError, match="a row of uint8, not"):
        unpack_strings(packed)


def test_half_characters_are_refused_by_number():
    with pytest.raises(ValueError, match=r"string 1, 'a\\ud800', cannot be written as UTF-8"):
        pack_strings(["fine", "a\ud800"])
