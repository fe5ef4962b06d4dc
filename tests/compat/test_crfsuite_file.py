"""CRFsuite's model files: the same labels and probabilities; damaged ones are refused."""

import struct
import tracemalloc

import numpy as np
import pytest
from damaged_files import damaged
from hypothesis import given, settings
from hypothesis import strategies as st

import taut
from taut.chain.chain_posterior import node_marginals
from taut.chain.encoding import read_like
from taut.cli import main
from taut.compat.crfsuite_file import HEADER, HEADER_FIELDS, parse_crfsuite
from taut.compat.foreign_model import chain_of_crfsuite, read_foreign
from taut.compat.pycrfsuite import Tagger
from taut.files.model_file import ModelFileError

# Sums of some twenty weights in another order.
ROUNDING = 1e-12


def test_labels_and_probabilities_are_those_of_crfsuite(crfsuite):
    model, program, _ = read_foreign(crfsuite.path)
    assert program == "CRFsuite"
    text = read_like(crfsuite.X, model.encoder, model.n_features)
    found = model.labels.decode(model.decode(text), text.lengths)
    assert found == [crfsuite.tagger.tag(xseq) for xseq in crfsuite.X]
    marginals = np.split(node_marginals(model, text), np.cumsum(text.lengths)[:-1])
    for xseq, probabilities in zip(crfsuite.X, marginals, strict=True):
        crfsuite.tagger.set(xseq)
        for t, row in enumerate(probabilities):
            theirs = [crfsuite.tagger.marginal(label, t) for label in model.labels.classes]
            assert np.abs(row - theirs).max() <= ROUNDING


def test_what_is_known_of_it_is_what_crfsuite_tells(crfsuite):
    tagger = Tagger()
    tagger.open(crfsuite.path)
    ours, theirs = tagger.info(), crfsuite.tagger.info()
    assert ours.labels.keys() == theirs.labels.keys()
    assert ours.attributes.keys() == theirs.attributes.keys()
    for one, other in (
        (ours.state_features, theirs.state_features),
        (ours.transitions, theirs.transitions),
    ):
        assert one.keys() == other.keys()
        for pair, weight in one.items():
            assert weight == pytest.approx(other[pair], abs=1e-6)  # of which six places are shown


def test_converted_on_the_command_line(crfsuite, tmp_path, capsys):
    path = tmp_path / "model.taut"
    assert main(["convert", str(crfsuite.path), "-o", str(path)]) == 0
    assert f"{path}: a model of CRFsuite, " in capsys.readouterr().out
    found = taut.load(path).predict(crfsuite.X)
    assert found == [crfsuite.tagger.tag(xseq) for xseq in crfsuite.X]
    assert main(["convert", str(path), "-o", str(path)]) == 1
    assert "the model is read from it" in capsys.readouterr().err


# --- damage ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(crfsuite):
    return crfsuite.path.read_bytes()


def refused(data):
    with pytest.raises(ModelFileError, match=r"^m: it is not a whole CRFsuite model \(.+\); fetch"):
        parse_crfsuite(data, "m")


def with_number(data, at, number):
    return data[:at] + struct.pack("<I", number) + data[at + 4 :]


def test_cut_anywhere_it_is_refused(data):
    offsets = HEADER.unpack_from(data)[7:]
    for end in {0, 3, 4, 8, 47, 48, len(data) - 1, *offsets, *(o + 13 for o in offsets)}:
        refused(data[:end])
        if end > 8:  # the header says so, too
            refused(with_number(data[:end], 4, end))


@pytest.mark.parametrize("number", [0, 1, 7, 2**20, 2**31 - 1, 2**32 - 1])
def test_no_count_and_no_offset_is_believed(data, number):
    tracemalloc.start()
    numbers = HEADER.unpack_from(data)
    places = [HEADER_FIELDS.index(name) * 4 for name in HEADER_FIELDS[5:]]
    for offset in numbers[7:]:  # counts and sizes of each chunk
        places += [offset + 4, offset + 8, offset + 12, offset + 16, offset + 20]
    for place in places:
        if data[place : place + 4] != struct.pack("<I", number):
            look(with_number(data, place, number))
    assert tracemalloc.get_traced_memory()[1] < 20 * len(data) + 2**20
    tracemalloc.stop()


def look(data):
    """Read what may be damaged: it is refused, or a model."""
    try:
        model = parse_crfsuite(data, "m")
        chain_of_crfsuite(model, "m")
    except ModelFileError as error:
        assert str(error).startswith("m: it is ")  # noqa: PT017


def test_flipped_bytes_do_no_harm(data):
    for place in range(0, len(data), max(len(data) // 500, 1)):
        for flip in (0x01, 0x80, 0xFF):
            look(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_files_are_refused(data, draw):
    look(draw.draw(damaged(data)))


def test_weights_are_finite(data):
    at = HEADER.unpack_from(data)[7] + 12 + 12
    refused(data[:at] + struct.pack("<d", float("nan")) + data[at + 8 :])


def test_a_model_without_labels_is_refused(data, tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.train(str(tmp_path / "empty"))
    with pytest.raises(ModelFileError, match="a model of 0 labels; from 1 to 10000"):
        read_foreign(tmp_path / "empty")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "m").write_bytes(b"\x00\x01")
    with pytest.raises(ModelFileError, match=r"begins with .* which no model"):
        read_foreign(tmp_path / "m")
