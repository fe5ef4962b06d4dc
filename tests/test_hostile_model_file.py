"""Forged model files, with a correct checksum, are refused: nothing is believed, nothing is run."""

import hashlib
import pickle
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from model_files import JSON, TEXT, assemble, entry, header_of, refused

from taut.files.model_file import MAGIC, PREFIX, ModelFileError, read_model
from taut.files.model_header import MAX_HEADER_BYTES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.taut"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """One path for all examples of a property."""
    return tmp_path_factory.mktemp("models") / "model.taut"


DATA = bytes(12)
LAYOUTS = {
    "huge": (entry(shape=(10**18,)), "cut off"),
    "overflowing to 12 bytes": (entry(shape=(2**62 + 1, 3)), "impossible shape"),
    "huge product": (entry(shape=(2**40,) * 8), "impossible shape"),
    "empty but impossible": (entry(shape=(0, 2**62, 2**62)), "impossible shape"),
    "long integer": (entry(shape=(10**30,)), "an integer of 31 digits"),
    "negative": (entry(shape=(-3,)), "not a list of at most 8 sizes"),
    "two negatives": (entry(shape=(-1, -3)), "not a list of at most 8 sizes"),
    "float": (entry(shape=(3.0,)), "not a list of at most 8 sizes"),
    "boolean": (entry(shape=(True, 3)), "not a list of at most 8 sizes"),
    "text size": (entry(shape=("3",)), "not a list of at most 8 sizes"),
    "null size": (entry(shape=(None,)), "not a list of at most 8 sizes"),
    "scalar shape": (entry(shape=3), "not a list of at most 8 sizes"),
    "object shape": (entry(shape={"0": 3}), "not a list of at most 8 sizes"),
    "nine dimensions": (entry(shape=(1,) * 8 + (3,)), "not a list of at most 8 sizes"),
    "object dtype": (entry(dtype="object"), "has dtype 'object', none of int8"),
    "short object dtype": (entry(dtype="|O"), "has dtype '|O'"),
    "void": (entry(dtype="V4"), "has dtype 'V4'"),
    "structured": (entry(dtype=[["x", "int32"]]), "has dtype"),
    "dates": (entry(dtype="datetime64[s]"), "has dtype"),
    "big-endian": (entry(dtype=">i4"), "has dtype '>i4'"),
    "no dtype": (entry(dtype=None), "has dtype None"),
    "parent folder": (entry(name="../x"), "has the name '../x'"),
    "dots": (entry(name=".."), "has the name '..'"),
    "absolute": (entry(name="/etc/passwd"), "has the name"),
    "backslash": (entry(name="a\\b"), "has the name"),
    "no name": (entry(name=""), "has the name ''"),
    "line end": (entry(name="a\n"), "has the name"),
    "other letters": (entry(name="é"), "has the name"),
    "endless name": (entry(name="a" * 100_000), "has the name"),
    "number as name": (entry(name=3), "has the name 3"),
    "negative offset": (entry(offset=-64), "not a number of bytes"),
    "outside": (entry(offset=2**40), "at byte 1099511627776 of the data instead of 0"),
    "shifted": (entry(offset=4), "at byte 4 of the data instead of 0"),
    "float offset": (entry(offset=0.0), "offset 0.0, not a number of bytes"),
    "boolean offset": (entry(offset=False), "offset False, not a number of bytes"),
    "too few": (entry(shape=(2,)), "4 bytes after its end"),
    "too many": (entry(shape=(4,)), "cut off"),
    "unknown key": ({**entry(), "fortran": True}, "not declared by name, dtype, shape and offset"),
    "missing key": ({"name": "a"}, "not declared by"),
    "no entry": (None, "not declared by"),
}
TWO = bytes(64 + 12)
SMALL = assemble(header_of(entry("a"), entry("b", offset=64)), TWO)
PAIRS = {
    "overlap": ((entry("a"), entry("b", offset=0)), "'b' at byte 0 of the data instead of 64"),
    "half overlap": ((entry("a"), entry("b", offset=8)), "at byte 8 of the data instead of 64"),
    "order": ((entry("a", offset=64), entry("b", offset=0)), "'a' at byte 64"),
    "gap": ((entry("a"), entry("b", offset=128)), "'b' at byte 128 of the data instead of 64"),
    "same name": ((entry("a"), entry("a", offset=64)), "declares the array 'a' twice"),
}
GOOD = b'{"arrays":[],"header":{},"taut":"1"}'
HEADERS = {
    "empty": (b"", "not JSON"),
    "list": (b"[]", "not an object of 'arrays', 'header' and 'taut'"),
    "no arrays": (b'{"header":{},"taut":"1"}', "not an object of"),
    "more keys": (b'{"arrays":[],"header":{},"more":1,"taut":"1"}', "not an object of"),
    "arrays": (b'{"arrays":{},"header":{},"taut":"1"}', "'arrays' is not a list"),
    "header": (b'{"arrays":[],"header":[],"taut":"1"}', "'header' is .*, not an object"),
    "version": (b'{"arrays":[],"header":{},"taut":1}', "'taut' is 1, not a version"),
    "cut": (GOOD[:-1], "not JSON"),
    "more": (GOOD + b"{}", "not JSON"),
    "not UTF-8": (GOOD.replace(b"1", b"\xe9"), "not JSON"),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, "not JSON"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "not JSON"),
    "blanks": (GOOD + b" ", "not canonical"),
    "order": (b'{"header":{},"arrays":[],"taut":"1"}', "not canonical"),
    "escape": (GOOD.replace(b"{}", b'{"a":"\\u0061"}'), "not canonical"),
    "surrogate": (GOOD.replace(b"{}", b'{"a":"\\ud800"}'), "cannot be written as JSON again"),
    "key twice": (GOOD.replace(b"{}", b'{"k":1,"k":1}'), "the key 'k' more than once"),
    "outer key twice": (b'{"arrays":[],' + GOOD[1:], "the key 'arrays' more than once"),
    "NaN": (GOOD.replace(b"{}", b'{"a":NaN}'), "holds NaN, which is not a finite"),
    "infinity": (GOOD.replace(b"{}", b'{"a":-Infinity}'), "-Infinity, which is not a finite"),
    "overflow": (GOOD.replace(b"{}", b'{"a":1e999}'), "'1e999', which is not a finite"),
    "endless number": (GOOD.replace(b"{}", b'{"a":' + b"9" * 10**6 + b"}"), "1000000 digits"),
    "deep lists": (GOOD.replace(b"[]", b"[" * 10**5 + b"]" * 10**5), "nested too deeply"),
    "deep objects": (b'{"a":' * 10**5 + b"0" + b"}" * 10**5, "nested too deeply"),
    "deep and cut": (b"[" * 10**6, "nested too deeply"),
    "pickle": (pickle.dumps({"arrays": []}), "not JSON"),
}


class TestHostileHeaders:
    """All with a correct checksum."""

    def test_the_forger_can_write_valid_files(self, path):
        path.write_bytes(SMALL)
        assert list(read_model(path).arrays) == ["a", "b"]
        path.write_bytes(assemble(GOOD))
        assert read_model(path) == ({}, {}, "1")

    @pytest.mark.parametrize("case", LAYOUTS)
    def test_impossible_array(self, path, case):
        declared, why = LAYOUTS[case]
        refused(path, assemble(header_of(declared), DATA), why)

    @pytest.mark.parametrize("case", PAIRS)
    def test_impossible_pair(self, path, case):
        declared, why = PAIRS[case]
        refused(path, assemble(header_of(*declared), TWO), why)

    @pytest.mark.parametrize("case", HEADERS)
    def test_impossible_header(self, path, case):
        raw, why = HEADERS[case]
        refused(path, assemble(raw), why)

    def test_nothing_hides_between_arrays(self, path):
        header = header_of(entry("a"), entry("b", offset=64))
        for i in range(12, 64):
            hidden = bytearray(TWO)
            hidden[i] = 1
            refused(path, assemble(header, hidden), "not the zeros that belong between arrays")
        content = bytearray(assemble(GOOD))
        content[-17] = 1
        content[-16:] = hashlib.blake2b(content[:-16], digest_size=16).digest()
        refused(path, bytes(content), "not the zeros that belong between arrays")

    def test_a_header_longer_than_allowed_is_not_read(self, path):
        content = PREFIX.pack(MAGIC, 1, MAX_HEADER_BYTES + 1) + bytes(40)
        refused(path, content, f"it has {MAX_HEADER_BYTES + 1} bytes, more than")

    def test_a_header_longer_than_the_file_is_not_read(self, path):
        refused(path, PREFIX.pack(MAGIC, 1, MAX_HEADER_BYTES) + bytes(40), "within its header")

    def test_memory_is_taken_for_what_is_there_not_for_what_is_declared(self, path):
        """Ten thousand arrays of 10¹⁷ bytes in all cost no more than their own description."""
        size = 10**13 // 64 * 64
        many = [entry(f"a{k}", "int8", (size,), k * size) for k in range(10_000)]
        path.write_bytes(content := assemble(header_of(*many), DATA))
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError, match="cut off"):
                read_model(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # Parsed JSON takes up to some 30 times its text.
        assert peak < 30 * len(content)


class TestFuzz:
    @given(st.binary(max_size=200))
    def test_arbitrary_bytes(self, scratch, content):
        refused(scratch, content)

    @given(st.binary(max_size=300), st.binary(max_size=100))
    @example(GOOD, b"")
    def test_arbitrary_header_and_data(self, scratch, raw, data):
        scratch.write_bytes(assemble(raw, data))
        try:
            read_model(scratch)
        except ModelFileError:
            assert (raw, data) != (GOOD, b"")

    @given(JSON | st.fixed_dictionaries({"arrays": JSON, "header": JSON, "taut": TEXT}))
    def test_arbitrary_json(self, scratch, content):
        scratch.write_bytes(assemble(content, DATA))
        with pytest.raises(ModelFileError):
            read_model(scratch)

    @given(st.data())
    def test_a_changed_file_with_a_correct_checksum_is_refused_or_whole(self, scratch, data):
        start = data.draw(st.integers(0, len(SMALL) - 16))
        stop = data.draw(st.integers(start, len(SMALL) - 16))
        changed = SMALL[:start] + data.draw(st.binary(max_size=8)) + SMALL[stop:-16]
        scratch.write_bytes(changed + hashlib.blake2b(changed, digest_size=16).digest())
        try:
            arrays = read_model(scratch).arrays
        except ModelFileError:
            return
        assert sum(array.nbytes for array in arrays.values()) < len(changed)
