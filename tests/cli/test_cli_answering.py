"""Little text is labelled by NumPy alone, much by compiled code; nobody can tell which it was."""

import os
import subprocess
import sys

import pytest
from cli.sentences import ROWS, columns

from taut.cli import answering, compiled_answers

ALONE = """
import sys
for name in ("numba", "scipy", "sklearn", "llvmlite", "matplotlib"):
    sys.modules[name] = None  # importing it is an error
from taut.cli import main
sys.exit(main(sys.argv[1:]))
"""
ASKED = {
    "labels": [],
    "posterior": ["--decoding", "posterior"],
    "sums": ["--probabilities"],
    "n-best": ["--nbest", "3"],
}


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")


@pytest.fixture
def loads(monkeypatch):
    """How often the compiled code was asked for."""
    calls = []

    def counted(file, path, decoding, real=compiled_answers.loaded):
        calls.append(decoding)
        return real(file, path, decoding)

    monkeypatch.setattr(compiled_answers, "loaded", counted)
    return calls


@pytest.mark.parametrize("asked", ASKED)
def test_a_tagger_changes_over_between_two_files(
    asked, taut, crf, text, tmp_path, without_numba, loads, monkeypatch
):
    n_tokens = sum(map(len, ROWS))
    copies = [tmp_path / name for name in "abc"]
    for copy in copies:
        copy.write_text(text.read_text())
    command = ["tag", "-m", crf, *ASKED[asked], *copies]
    few = taut(*command)
    assert few.code == 0
    assert not loads
    limits = dict.fromkeys(answering.MOST_TOKENS, 10 * n_tokens)
    limits["sums" if asked == "posterior" else asked] = 2 * n_tokens
    monkeypatch.setattr(answering, "MOST_TOKENS", limits)
    assert taut(*command) == few
    assert len(loads) == 1


def test_where_numba_is_there_nothing_is_saved(taut, crf, text, loads):
    assert taut("tag", "-m", crf, text).code == 0
    assert len(loads) == 1


def test_scores_of_each_step_are_not_held_of_much_text(
    taut, text, tmp_path, without_numba, loads, monkeypatch
):
    template = tmp_path / "steps"
    template.write_text("w[0]; step: w[0]")
    model = tmp_path / "steps.taut"
    assert taut("train", text, "-o", model, "--template", template, "--quiet").code == 0
    few = taut("tag", "-m", model, text)
    assert few.code == 0
    assert not loads
    monkeypatch.setattr(answering, "MOST_STEPS", 100)
    assert taut("tag", "-m", model, text) == few
    assert len(loads) == 1


def alone(folder, *command):
    """The command line where NumPy is all there is, and nothing can be written but here."""
    home = folder / "home"
    home.mkdir(mode=0o500)
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(home), "TMPDIR": str(home),
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *map(str, command)],
        capture_output=True, text=True, env=environment, cwd=folder,
    )  # fmt: skip
    assert list(home.iterdir()) == []
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", [["tag"], ["tag", "--probabilities", "--nbest", "2"], ["eval"]])
def test_numpy_is_all_it_needs(command, taut, crf, text, tmp_path):
    assert alone(tmp_path, *command, "-m", crf, text) == taut(*command, "-m", crf, text)


def test_without_a_compiler_much_text_takes_its_time(taut, model, tmp_path):
    text = tmp_path / "much.txt"
    text.write_text(columns(ROWS) * (answering.MOST_TOKENS["labels"] // sum(map(len, ROWS)) + 1))
    command = ["tag", "-m", model, text]
    assert alone(tmp_path, *command) == taut(*command)


def test_what_needs_more_than_numpy_says_so(text, tmp_path):
    code, out, said = alone(tmp_path, "train", text, "-o", tmp_path / "model", "--template", "ner")
    assert (code, out) == (1, "")
    assert said.startswith("taut: error: taut train needs ")
    assert "which is not installed; pip install taut, without --no-deps" in said


def test_labels_that_cannot_be_kept_are_named_by_line(fails, crf, tmp_path, both_ways):
    rows = [[(*row, "_") for row in rows] for rows in ROWS]
    rows[2][0] = (*rows[2][0][:-1], "I-NP")
    text = tmp_path / "forced.txt"
    text.write_text(columns(rows))
    line = len(rows[0]) + len(rows[1]) + 3
    said = fails("tag", "-m", crf, text, "--forced-column", "3")
    assert f"forced.txt, line {line}: sequence 2, position 0: no label is possible" in said
