"""A model file comes back as it was written; a damaged one is refused with a reason."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from model_files import JSON, TEXT, assemble, entry, header_of, refused

import taut
from taut.files.model_file import ModelFileError, read_model, write_model
from taut.files.model_header import DTYPES, MAX_HEADER_BYTES, parse_header

STORED = Path(__file__).parent / "data" / "model_v1.taut"
STORED_HEADER = {
    "labels": ["B", "I", "O"],
    "options": {"C": 0.5, "scheme": None, "averaged": True},
    "note": "schön ☃",
}
STORED_ARRAYS = {
    "weights": np.array([[0.5, -1.25, 3e-300], [np.inf, -0.0, 2.0]]),
    "codes": np.array([-1, 0, 2**31 - 1], np.int32),
    "text": np.frombuffer(b"the\x00cat\x00", np.uint8),
    "nothing": np.zeros((0, 3), np.float32),
    "scalar": np.array(7, np.int64),
}


def write_stored_file():
    """How ``data/model_v1.taut`` was made, once, by format version 1. Do not make it again."""
    write_model(STORED, STORED_HEADER, STORED_ARRAYS)


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Hundreds of files are written here; none has to outlive a power failure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.taut"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """One path for all examples of a property."""
    return tmp_path_factory.mktemp("models") / "model.taut"


@pytest.fixture(scope="module")
def small(scratch):
    """The bytes of a small valid file."""
    write_model(scratch, {"labels": ["O"]}, {"a": np.arange(3), "b": np.ones(2, np.float32)})
    return scratch.read_bytes()


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,10}", fullmatch=True)
ARRAYS = npst.arrays(
    st.sampled_from(
        [np.dtype(order + dtype.str[1:]) for dtype in DTYPES.values() for order in "<>"]
    ),
    npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
)


class TestRoundTrip:
    @given(st.dictionaries(TEXT, JSON, max_size=4), st.dictionaries(NAMES, ARRAYS), st.booleans())
    def test_header_and_arrays_come_back(self, scratch, header, arrays, mapped):
        write_model(scratch, header, arrays)
        model = read_model(scratch, mapped_from=0 if mapped else 2**40)
        assert json.dumps(model.header, sort_keys=True) == json.dumps(header, sort_keys=True)
        assert list(model.arrays) == list(arrays)
        assert model.taut_version == taut.__version__
        for name, array in arrays.items():
            read = model.arrays[name]
            assert read.dtype == array.dtype.newbyteorder("=")
            assert read.shape == array.shape
            assert read.tobytes() == array.astype(read.dtype).tobytes()

    @pytest.mark.parametrize("mapped_from", [0, 2**40], ids=["mapped", "copied"])
    def test_arrays_are_aligned_and_read_only(self, path, mapped_from):
        write_model(path, {}, {f"a{k}": np.ones(k, np.float32) for k in range(40)})
        for array in read_model(path, mapped_from=mapped_from).arrays.values():
            assert array.ctypes.data % 64 == 0
            assert array.flags.c_contiguous
            with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                array.flags.writeable = True

    def test_any_memory_layout_is_stored_in_c_order(self, path):
        array = np.arange(24).reshape(4, 6)
        every_sixth = array[:, :1]  # turned to one row, it is still no copy
        kinds = {"turned": array.T, "strided": array[::-2, ::3], "every_sixth": every_sixth}
        write_model(path, {}, kinds)
        arrays = read_model(path).arrays
        np.testing.assert_array_equal(arrays["every_sixth"], every_sixth)
        np.testing.assert_array_equal(arrays["turned"], array.T)
        np.testing.assert_array_equal(arrays["strided"], array[::-2, ::3])

    def test_equal_contents_are_equal_bytes(self, scratch):
        contents = []
        for header in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}):
            write_model(scratch, header, {"x": np.ones(3)})
            contents.append(scratch.read_bytes())
        assert contents[0] == contents[1]

    def test_a_file_is_as_its_description_says(self, path):
        write_model(path, {"é": 1.5}, {"x": np.array([1, -2], np.int16), "y": np.array(1.0)})
        written = header_of(entry("x", "int16", (2,)), entry("y", "float64", (), 64))
        written |= {"header": {"é": 1.5}, "taut": taut.__version__}
        data = b"\x01\x00\xfe\xff".ljust(64, b"\0") + b"\0\0\0\0\0\0\xf0\x3f"
        assert path.read_bytes() == assemble(written, data)

    def test_a_read_model_survives_the_replacement_of_its_file(self, path):
        for mapped_from in (0, 2**40):
            write_model(path, {}, {"x": np.arange(5)})
            before = read_model(path, mapped_from=mapped_from).arrays["x"]
            write_model(path, {}, {"x": np.zeros(50)})
            path.unlink()
            np.testing.assert_array_equal(before, np.arange(5))


class TestOldVersions:
    def test_files_of_version_1_stay_readable(self):
        header, arrays, version = read_model(STORED)
        assert header == STORED_HEADER
        assert version == "0.1.0"
        assert list(arrays) == list(STORED_ARRAYS)
        for name, expected in STORED_ARRAYS.items():
            assert arrays[name].dtype == expected.dtype
            np.testing.assert_array_equal(arrays[name], expected)

    def test_a_newer_version_asks_for_an_upgrade_and_names_the_writer(self, path):
        future = assemble({"taut": "7.3.0", "whatever": [1]}, version=2)
        refused(
            path,
            future,
            f"it has format version 2, written by taut 7.3.0, but taut {taut.__version__} reads up "
            "to 1; upgrade taut",
        )

    @pytest.mark.parametrize("raw", [b"", b"\x00", b"[]", b'{"taut":3}', b'{"taut":"\\u001b[2J"}'])
    def test_a_newer_version_with_a_header_that_cannot_be_read(self, path, raw):
        refused(
            path, assemble(raw, version=2), "it has format version 2, but taut .*; upgrade taut"
        )

    def test_version_0_does_not_exist(self, path):
        refused(path, assemble(header_of(), version=0), "version 0, which does not exist; fetch")


class TestDamage:
    def test_every_truncation_is_refused(self, path, small):
        for size in range(len(small)):
            refused(path, small[:size], "empty|cut off")

    def test_every_altered_byte_is_refused(self, path, small):
        for i in range(len(small)):
            for flip in (0x01, 0x20, 0x80):
                refused(path, small[:i] + bytes([small[i] ^ flip]) + small[i + 1 :])

    @given(st.data())
    def test_every_replaced_part_is_refused(self, scratch, small, data):
        start = data.draw(st.integers(0, len(small)))
        stop = data.draw(st.integers(start, len(small)))
        changed = small[:start] + data.draw(st.binary(max_size=20)) + small[stop:]
        if changed != small:
            refused(scratch, changed)

    def test_altered_data_fail_the_checksum(self, path, small):
        altered = bytearray(small)
        altered[-20] ^= 1
        refused(path, bytes(altered), "its checksum is wrong: it was altered")

    def test_anything_appended_is_refused(self, path, small):
        refused(path, small + b"\n", "it has 1 bytes after its end")
        refused(path, small + small, f"it has {len(small)} bytes after its end")

    @pytest.mark.parametrize(
        "convert",
        [
            lambda data: data.replace(b"\r\n", b"\n"),
            lambda data: data.replace(b"\n", b"\r\n"),
            lambda data: data.decode("latin-1").encode(),
            lambda data: data.decode(errors="replace").encode(),
            lambda data: data.decode("ascii", "replace").encode("ascii", "replace"),
        ],
        ids=["to Unix", "to DOS", "Latin-1 to UTF-8", "replaced", "ASCII"],
    )
    def test_a_transfer_as_text_is_recognised(self, path, small, convert):
        refused(path, convert(small), "damaged by a transfer as text .*; copy it again in binary")

    @pytest.mark.parametrize("content", [b"He PRP B-NP\n", b"# taut notes\n", b"lCRF" + bytes(90)])
    def test_other_files_are_recognised(self, path, content):
        refused(path, content, "it begins with b'.*': not a taut model file; check the path")

    def test_a_file_that_shrinks_while_it_is_read_is_refused(self, path, small, monkeypatch):
        status = os.stat_result([0o100644, 0, 0, 1, 0, 0, len(small), 0, 0, 0])
        monkeypatch.setattr(os, "fstat", lambda _: status)
        refused(path, small[:-1], "it became shorter while it was read; read it again")

    def test_a_header_that_changes_while_it_is_read_is_refused(self, path, monkeypatch):
        first, second = (assemble(header_of() | {"header": {"n": n}}) for n in (1, 2))

        def parse_and_replace(raw):
            path.write_bytes(second)
            return parse_header(raw)

        monkeypatch.setattr("taut.files.model_file.parse_header", parse_and_replace)
        path.write_bytes(first)
        with pytest.raises(ModelFileError, match="it was changed while it was read; read it again"):
            read_model(path, mapped_from=0)

    def test_what_is_not_a_file_is_refused_at_once(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="missing: there is no such file; check"):
            read_model(tmp_path / "missing")
        with pytest.raises(ModelFileError, match="it is a folder; name a model file"):
            read_model(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="it is a device or pipe; name a model file"):
            read_model(tmp_path / "pipe")


class TestWriting:
    @pytest.mark.parametrize(
        ("header", "why"),
        [
            ({"a": np.nan}, "not plain JSON .*; use dicts with text keys"),
            ({"a": [1, -np.inf]}, "not plain JSON"),
            ({"a": np.arange(3)}, "not plain JSON"),
            ({"a": object()}, "not plain JSON"),
            ({"a": "\ud800"}, "not plain JSON"),
            ({1: 2, "1": 3}, "not plain JSON"),
            ({1: 2}, "would not be read back as it is; use dicts with text keys"),
            ({"a": (1, 2)}, "would not be read back as it is"),
            ({"a": 10**20}, "an integer of 21 digits; change that"),
            ([1], "not an object"),
            ({"a": "x" * MAX_HEADER_BYTES}, "move long lists into arrays"),
        ],
    )
    def test_a_header_that_could_not_be_read_is_not_written(self, path, header, why):
        with pytest.raises(ModelFileError, match=f"model.taut: not written: .*{why}"):
            write_model(path, header, {})
        assert not path.exists()

    @pytest.mark.parametrize(
        ("name", "array", "why"),
        [
            ("a", np.array([None]), "array 'a' has dtype object; use one of int8"),
            ("a", np.array(["x"]), "has dtype <U1"),
            ("a", np.array([True]), "has dtype bool"),
            ("a", np.zeros(2, np.uint64), "has dtype uint64"),
            ("a", np.zeros(2, [("x", "i4")]), "has dtype"),
            ("a", np.zeros((1,) * 9), "at most 8 sizes"),
            ("../a", np.zeros(2), "has the name '../a'"),
            (3, np.zeros(2), "has the name 3"),
        ],
    )
    def test_an_array_that_could_not_be_read_is_not_written(self, path, name, array, why):
        with pytest.raises(ModelFileError, match=f"model.taut: not written: .*{why}"):
            write_model(path, {}, {name: array})
        assert not path.exists()

    def test_the_old_model_stays_when_the_new_one_is_refused(self, path, small):
        path.write_bytes(small)
        with pytest.raises(ModelFileError):
            write_model(path, {}, {"a": np.array([None])})
        assert path.read_bytes() == small


def test_model_files_need_nothing_heavy():
    imported = "{'numba', 'sklearn', 'scipy'} & set(sys.modules)"
    code = f"import sys, taut.files.model_file; print({imported})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
