"""``taut eval``: the figures are those of taut.metrics on what ``taut tag`` says."""

import json
from importlib.util import find_spec

import pytest
from cli.sentences import ROWS, TAGS, columns

from taut.metrics import span_report

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
def text_with_errors(tmp_path):
    """Other labels than the model will say, one of them unknown to it."""
    rows = [[list(row) for row in sentence] for sentence in ROWS]
    rows[0][1][2], rows[3][6][2] = "B-NP", "B-XX"
    path = tmp_path / "errors.txt"
    path.write_text(columns(rows))
    return path, [[row[2] for row in sentence] for sentence in rows]


def tagged(taut, model, text):
    lines = taut("tag", "-m", model, text).out.strip().split("\n\n")
    return [[line.split()[-1] for line in part.split("\n")] for part in lines]


def test_the_table_is_that_of_the_tagged_text(taut, model, text_with_errors):
    path, truth = text_with_errors
    answer = taut("eval", "-m", model, path)
    assert answer == (0, f"{span_report(truth, tagged(taut, model, path))}\n", "")


def test_json_agrees(taut, model, text_with_errors):
    path, truth = text_with_errors
    result = json.loads(taut("eval", "-m", model, path, "--json", "--threads", "2").out)
    report = span_report(truth, tagged(taut, model, path))
    assert result == {"model": str(model), "files": [str(path)], **report.as_dict()}
    assert result["micro"]["f1"] < 1


def test_strict_reading(taut, model, tmp_path):
    """I-NP after O begins a span for the CoNLL script, but not strictly."""
    path = tmp_path / "faulty.txt"
    path.write_text("it PRP O\ncat NN I-NP\n\n")
    supports = [
        json.loads(taut("eval", "-m", model, path, "--json", *options).out)["micro"]["support"]
        for options in ([], ["--strict", "iob2"])
    ]
    assert supports == [1, 0]


def test_other_labels_are_counted_by_token_and_sequence(taut, tmp_path):
    text, model = tmp_path / "pos.txt", tmp_path / "m.taut"
    text.write_text(columns([[row[:2] for row in rows] for rows in ROWS]))
    taut("train", text, "-o", model, "--C", "1", "--quiet")
    text.write_text(text.read_text().replace("old JJ", "old XX"))
    answer = taut("eval", "-m", model, text)
    assert answer.out == "95.00% of 20 tokens and 80.00% of 5 sequences are right\n"
    result = json.loads(taut("eval", "-m", model, text, "--json").out)
    assert result["token_accuracy"] == 0.95
    assert result["sequence_accuracy"] == 0.8
    assert (result["n_tokens"], result["n_sequences"]) == (20, 5)


def test_labels_are_where_they_were_in_training(taut, model, text, tmp_path):
    """Also in the output of ``taut tag``, whose last column is not the truth."""
    path = tmp_path / "tagged.txt"
    path.write_text(columns([[(*row, "O") for row in rows] for rows in ROWS]))
    expected = taut("eval", "-m", model, text).out
    assert taut("eval", "-m", model, path).out == expected
    path.write_text(columns([[(row[2], *row[:2]) for row in rows] for rows in ROWS]))
    assert taut("eval", "-m", model, path, "--label-column", "0").out == expected


def test_all_formats_are_evaluated(taut, folder, tmp_path):
    model = tmp_path / "m.taut"
    for name in ("train.crfsuite", "train.jsonl"):
        taut("train", folder / name, "-o", model, "--C", "1", "--tol", "1e-3", "--quiet")
        result = json.loads(taut("eval", "-m", model, folder / name, "--json").out)
        assert result["micro"]["f1"] == 1.0
        assert result["n_tokens"] == sum(map(len, TAGS))


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_confusion_matrix_is_drawn(taut, model, text, tmp_path):
    assert taut("eval", "-m", model, text, "--plot", tmp_path / "c.svg").code == 0
    assert b"<svg" in (tmp_path / "c.svg").read_bytes()
