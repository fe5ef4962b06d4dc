"""``taut warmup``: afterwards there is nothing left to compile."""

import subprocess
import sys

import pytest

from taut._compile import cache, places
from taut._compile.modes import PLAIN
from taut.cli import warmup
from taut.solvers.progress import say_compiling

# Machine code in memory before and after the commands.
pytestmark = pytest.mark.skipif(PLAIN, reason="plain numba keeps nothing on disk")

COUNTING = """
import sys
from taut._compile import cache
from taut.cli import main

kind, model, *texts = sys.argv[1:]
crf = kind == "CRF"
main(["warmup", "--quiet", *["--crf"] * crf])
ready = set(cache.used)
assert len(ready) > 10, ready
choices = (["--features", "all"], ["--features", "observed", "--solver", "bcfw"])
if crf:
    choices = (["--crf", "--features", "all", "--decoding", "posterior"],
               ["--crf", "--features", "observed", "--scheme", "IOB2", "--scheme-in-training"])
for text in texts:
    for more in choices:
        main(["train", text, "-o", model, "--quiet", "--dev", text, "--threads", "2", *more])
        lists = ["--nbest", "2"] if crf and "jsonl" in text else []
        main(["tag", "-m", model, text, "-o", model + ".out", *["--probabilities"] * crf, *lists])
        main(["eval", "-m", model, text, *["--decoding", "posterior"] * crf])
print(set(cache.used) - ready)
"""


def test_it_says_how_long_it_took_and_where_the_code_is(taut):
    answer = taut("warmup")
    assert answer.code == 0
    assert answer.err == ""
    assert answer.out.startswith("ready after ")
    assert answer.out.endswith(f" s; machine code is kept in {places.folders()[-1]}\n")
    assert not cache.is_empty()


def test_what_there_is_can_be_listed(taut):
    taut("warmup", "--quiet")
    lines = taut("warmup", "--list").out.splitlines()
    assert any("taut.structures.pairwise.Pairwise argmax" in line for line in lines)
    assert all(" KiB  used " in line for line in lines[:-1])
    assert f"{len(lines) - 1} pieces of machine code, " in lines[-1]
    assert lines[-1].endswith(f" MiB, in {places.folders()[-1]}")


def test_all_says_nothing_if_quiet(taut):
    assert taut("warmup", "--all", "--quiet") == (0, "", "")


@pytest.mark.parametrize("kind", ["SVM", "CRF"])
def test_the_commands_need_no_other_machine_code(folder, tmp_path, kind):
    texts = [folder / name for name in ("train.txt", "train.crfsuite", "train.jsonl")]
    arguments = [sys.executable, "-c", COUNTING, kind, tmp_path / "m", *texts]
    run = subprocess.run(arguments, capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout.endswith("set()\n")


def test_a_command_that_fails_is_not_hidden(fails, monkeypatch):
    monkeypatch.setattr(warmup, "main", lambda arguments: 1)
    assert fails("warmup").endswith("taut train does not work here; see above")


def test_who_waits_for_the_first_compilation_is_told(taut, model, text, tmp_path, monkeypatch):
    expected = taut("tag", "-m", model, text).out
    say_compiling.cache_clear()
    monkeypatch.setattr(places, "folders", lambda: [tmp_path])  # empty
    assert taut("tag", "-m", model, text) == (0, expected, "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    answer = taut("tag", "-m", model, text)
    assert answer.out == expected
    assert answer.err.startswith("taut: compiling, once per machine")
    say_compiling.cache_clear()
    (tmp_path / f"{'0' * 40}.unit").touch()
    assert taut("tag", "-m", model, text).err == ""


class NoDelay:
    """A timer that is quick."""

    def __init__(self, seconds, function):
        self.start, self.cancel = function, lambda: None


def test_training_says_so_only_once(taut, text, tmp_path, monkeypatch):
    """Before text is read, and not again when training itself is compiled."""
    train = ("train", text, "-o", tmp_path / "m", "--template", "w[0]")
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(places, "folders", lambda: [tmp_path / "cache"])
    monkeypatch.setattr("threading.Timer", NoDelay)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for contents in ("empty", "of other code"):
        say_compiling.cache_clear()
        assert taut(*train).err.count("compiling") == 1, contents
        (tmp_path / "cache" / f"{'0' * 40}.unit").touch()
