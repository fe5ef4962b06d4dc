"""Models of CRF++ and Wapiti: what the programs themselves say, and what is no such model.

Both were trained on three sentences made for this; the probabilities are those that
``crf_test -v 2`` of CRF++ 0.58 and ``wapiti label -p -s`` of Wapiti 1.5.0 printed.
"""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from damaged_files import damaged
from hypothesis import given, settings
from hypothesis import strategies as st

from taut.chain.chain_posterior import node_marginals
from taut.chain.encoding import read_like
from taut.chain.file import load_chain
from taut.cli import main
from taut.compat.foreign_model import read_foreign
from taut.compat.text_models import parse_crfpp, parse_wapiti
from taut.files.model_file import ModelFileError

DATA = Path(__file__).parents[1] / "data"
FILES = {
    program: (DATA / name).read_text()
    for program, name in {"CRF++": "small.crfpp", "Wapiti": "small.wapiti"}.items()
}
TEXT = [[("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")], [("old", "JJ")]]
LABELS = [["B-NP", "I-NP", "B-VP"], ["B-NP"]]
PROBABILITIES = {
    "CRF++": [[0.879846, 0.908706, 0.892509], [0.537159]],
    "Wapiti": [[0.838654, 0.930403, 0.820073], [0.851640]],
}


@pytest.fixture(params=FILES)
def program(request):
    return request.param


@pytest.fixture
def path(program, tmp_path):
    path = tmp_path / "model"
    path.write_text(FILES[program])
    return path


def test_labels_and_probabilities_are_the_programs(program, path):
    model, found, _ = read_foreign(path)
    assert found == program
    check(model, PROBABILITIES[program], 6e-7)  # of which six places were printed


def check(model, expected, error):
    text = read_like(TEXT, model.encoder, model.n_features)
    assert model.labels.decode(model.decode(text), text.lengths) == LABELS
    best = node_marginals(model, text).max(axis=1)
    assert np.abs(best - np.concatenate(expected)).max() <= error


def test_converted_it_tags_columns(program, path, tmp_path, capsys):
    converted, text = tmp_path / "m.taut", tmp_path / "text"
    assert main(["convert", str(path), "-o", str(converted)]) == 0
    assert f"a model of {program}, " in capsys.readouterr().out
    check(load_chain(converted)[0], PROBABILITIES[program], 1e-6)
    text.write_text("the DT O\ncat NN O\nsleeps VBZ O\n\nold JJ O\n\n")
    assert main(["tag", "-m", str(converted), str(text)]) == 0
    found = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line]
    assert found == [label for labels in LABELS for label in labels]


def test_a_name_that_may_be_read_in_several_ways_is_read_in_all(tmp_path):
    """U:a/b/c is that of a/b before c, and of a before b/c, with the same weight."""
    names = ["U:a/b/c", "U:c/_B+1", "U:b/c/_B+1"]
    head = "version: 100\ncost-factor: 2\nmaxid: 6\nxsize: 1\n\nX\nY\n\nU:%x[0,0]/%x[1,0]\n\n"
    features = "".join(f"{2 * k} {name}\n" for k, name in enumerate(names))
    (tmp_path / "m").write_text(head + features + "\n0\n3\n1\n0\n0\n0.5\n\n")
    model = read_foreign(tmp_path / "m").model
    text = read_like([["a/b", "c"], ["a", "b/c"]], model.encoder, model.n_features)
    assert model.labels.decode(model.decode(text), text.lengths) == [["Y", "X"], ["Y", "Y"]]
    # The cost factor is one of all weights.
    first = node_marginals(model, text)[0]
    assert first == pytest.approx([1 / (1 + np.exp(6.0)), 1 / (1 + np.exp(-6.0))])


# --- damage ---------------------------------------------------------------------------------------


def look(program, data, path):
    """Read what may be damaged: it is refused with the place, or a model."""
    path.write_bytes(data)
    try:
        model = read_foreign(path).model
    except ModelFileError as error:
        assert str(error).startswith(f"{path}: it ")  # noqa: PT017
        return
    text = read_like(TEXT, model.encoder, model.n_features)
    assert len(model.decode(text)) == 4


def test_cut_anywhere_it_is_refused(program, path):
    data = FILES[program].encode()
    whole = data.rstrip().rfind(b"\n")  # half a number, at the end, is a number
    for end in range(0, whole, 7):
        path.write_bytes(data[:end])
        with pytest.raises(ModelFileError, match="it "):
            read_foreign(path)


def test_flipped_bytes_do_no_harm(program, path):
    data = FILES[program].encode()
    for place in range(0, len(data), 5):
        look(program, data[:place] + bytes([data[place] ^ 0x11]) + data[place + 1 :], path)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damaged_files_are_refused(tmp_path_factory, name, draw):
    path = tmp_path_factory.mktemp("damaged") / "model"
    look(name, draw.draw(damaged(FILES[name].encode())), path)


@pytest.mark.parametrize(
    ("program", "old", "new", "message"),
    [
        ("CRF++", "maxid: 126", "maxid: 125", "line 4.: 126 weights; 125 are due"),
        ("CRF++", "cost-factor: 1", "cost-factor: inf", "line 2: not finite"),
        ("CRF++", "36 B\n", "999 B\n", "the weights of 'B' do not exist"),
        ("CRF++", "36 B\n", "x B\n", "'x B' is no number and name"),
        ("CRF++", "B-VP\n", "B-NP\n", "line 7: there are 3 labels; from 1 to 10000"),
        ("CRF++", "U01:%x[0,0]", "U01:%x[0]", "macros are like"),
        ("CRF++", "36 B\n", "114 B\n", "'U00:dog' shares weights with"),
        ("Wapiti", "#mdl#2", "#mdl#1", "line 1: '#mdl#2#' and a number"),
        ("Wapiti", "#qrk#3", "#qrk#999999999", "line 1.: a text of the form 'length:text,'"),
        ("Wapiti", "#rdr#5", "#rdr#4", "'#qrk#' and a number"),
        ("Wapiti", "4:B-VP", "4:B-NP", "are not distinct"),
        ("Wapiti", "\n27=", "\n99999999999=", "a weight is of no feature"),
        ("Wapiti", "=0x1.3867d0fc238e6p+1", "=nan", "not finite"),
        ("Wapiti", "=0x1.3867d0fc238e6p+1", "=zero", "is no number of a weight and its value"),
        ("Wapiti", "1:b,\n7:u:a", "1:x,\n7:u:a", "'x' begins neither with u, b nor"),
    ],
)
def test_what_is_wrong_is_named(program, old, new, message, tmp_path):
    assert old in FILES[program]
    (tmp_path / "m").write_text(FILES[program].replace(old, new, 1))
    with pytest.raises(ModelFileError, match=rf"it is not a whole model of .*{message}"):
        read_foreign(tmp_path / "m")


def test_ten_thousand_labels_take_little_memory():
    labels = [f"L{k}" for k in range(10_000)]
    texts = "".join(f"{len(label)}:{label},\n" for label in labels)
    wapiti = f"#mdl#2#1\n#rdr#1/1/0\n1:b,\n#qrk#10000\n{texts}#qrk#1\n1:b,\n99999999=0x1p+0\n"
    crfpp = "version: 100\ncost-factor: 1\nmaxid: 1\nxsize: 1\n\n{}\n\nU:%x[0,0]\n\n0 U:a\n\n1\n\n"
    tracemalloc.start()
    found = parse_wapiti(wapiti.encode())
    assert (found.of_steps.nnz, found.of_steps.indices[0]) == (1, 99999999)
    with pytest.raises(ValueError, match="the weights of 'U:a' do not exist"):
        parse_crfpp(crfpp.format("\n".join(labels)).encode())
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
