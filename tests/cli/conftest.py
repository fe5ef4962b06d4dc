"""A few sentences in each format, models of them, and the command line run in this process."""

import json
from typing import NamedTuple

import pytest
from cli.sentences import ROWS, TAGS, columns

from taut.cli import main
from taut.cli.answering import Answering


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def taut(capsys):
    """Run a command line: exit code, standard output, standard error."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            code = leaving.code
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture(params=["numpy", "compiled"])
def both_ways(request, monkeypatch):
    """``taut tag`` and ``taut eval`` as they are on little and on much text."""
    monkeypatch.setattr(Answering, "_is_much", lambda *_: request.param == "compiled")


@pytest.fixture
def fails(taut):
    """Run a command line that must fail in one line on standard error; returns the line."""

    def run(*arguments):
        answer = taut(*arguments)
        assert answer.code == 1
        assert answer.out == ""
        assert answer.err.startswith("taut: error: ")
        assert answer.err.count("\n") == 1
        return answer.err.rstrip("\n")

    return run


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """train.txt (columns), train.crfsuite, train.jsonl: the same sentences."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "train.txt").write_text(columns(ROWS))
    (folder / "train.crfsuite").write_text(
        "".join(
            "".join(f"{tag}\tw={word}\tp={pos}\n" for word, pos, tag in rows) + "\n"
            for rows in ROWS
        )
    )
    (folder / "train.jsonl").write_text(
        "".join(
            json.dumps({"tokens": [{"w": w, "p": p} for w, p, _ in rows], "labels": tags}) + "\n"
            for rows, tags in zip(ROWS, TAGS, strict=True)
        )
    )
    return folder


@pytest.fixture(scope="session")
def text(folder):
    return folder / "train.txt"


@pytest.fixture(scope="session")
def model(folder, text):
    """A model that has learned the sentences by heart."""
    path = folder / "model.taut"
    options = ["--template", "chunking", "--C", "1", "--tol", "1e-3", "--quiet"]
    assert main(["train", str(text), "-o", str(path), *options]) == 0
    return path


@pytest.fixture(scope="session")
def crf(folder, text):
    """A model with probabilities of the same sentences."""
    path = folder / "crf.taut"
    options = ["--template", "chunking", "--C", "1", "--scheme", "IOB2", "--quiet"]
    assert main(["train", str(text), "-o", str(path), "--crf", *options]) == 0
    return path
