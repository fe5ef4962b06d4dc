"""Features of steps count on the command line, too: here nothing else tells the labels."""

import itertools
import json
import random

import pytest
from cli.sentences import columns

from taut import load

TEMPLATE = "w[0]; step: w[0]"


def parity(n, seed):
    """An 'a' changes the label, any other word keeps it."""
    draw = random.Random(seed)
    for _ in range(n):
        words = draw.choices("abc", k=8)
        changes = itertools.accumulate(word == "a" for word in words[1:])
        yield list(zip(words, ["X", *("XY"[count % 2] for count in changes)], strict=True))


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "parity.txt"
    path.write_text(columns(parity(60, seed=0)))
    return path


@pytest.fixture(params=["svm", "crf"])
def model(taut, text, tmp_path, request):
    path = tmp_path / "m.taut"
    options = ["--crf"] * (request.param == "crf")
    assert taut("train", text, "-o", path, "--template", TEMPLATE, *options).code == 0
    return path


def test_labels_are_those_of_python(taut, text, model):
    tagged = [line.split() for line in taut("tag", "-m", model, text).out.split("\n") if line]
    sentences = [[word for word, _ in rows] for rows in parity(60, seed=0)]
    found = load(model).predict([[(word,) for word in words] for words in sentences])
    assert [row[-1] for row in tagged] == [label for labels in found for label in labels]
    assert all(row[1] == row[-1] for row in tagged)


def test_labels_are_evaluated(taut, text, model):
    assert json.loads(taut("eval", "-m", model, text, "--json").out)["token_accuracy"] == 1.0


def test_held_out_labels_are_found(taut, text):
    answer = taut("train", text, "--cv", "3", "--template", TEMPLATE, "--json")
    assert json.loads(answer.out)["cv"]["mean"] == 1.0


def test_slack_rescaling_has_no_oracle_for_them(fails, text, tmp_path):
    run = ("train", text, "-o", tmp_path / "m", "--formulation", "slack", "--quiet")
    assert "use --formulation margin, or a template" in fails(*run, "--template", TEMPLATE)
    line = fails(*run, "--template", "w[0]", "--transitions", "observed")
    assert line.endswith("needs all: use --transitions auto")


def test_probabilities_are_those_of_python(taut, text, tmp_path):
    model = tmp_path / "crf.taut"
    taut("train", text, "-o", model, "--crf", "--template", TEMPLATE)
    tagged = taut("tag", "-m", model, text, "--probabilities").out.split("\n")
    words = [[(word,) for word, _ in rows] for rows in parity(60, seed=0)]
    expected = [row.max() for rows in load(model).predict_marginals(words) for row in rows]
    found = [float(line.split()[-1]) for line in tagged if line]
    assert found == pytest.approx(expected, rel=1e-3)  # four digits are written


def test_inspect_shows_the_strongest(taut, model):
    of_each = load(model).step_features_
    found = json.loads(taut("inspect", model, "--json", "--top", "all").out)
    shown = {
        (row["feature"], row["from"], row["to"]): row["weight"]
        for row in found["strongest_step_features"]
    }
    assert shown == of_each != {}
    (name, before, after), weight = max(of_each.items(), key=lambda item: item[1])
    lines = taut("inspect", model, "--top", "1").out.split("\n")
    at = lines.index("strongest features of steps")
    assert lines[at + 1].split() == [f"{weight:+.4f}", before, "->", after, name]
    assert f"transition:{name}\t{before}\t{after}\t{weight!r}" in taut(
        "inspect", model, "--weights", "-"
    ).out.split("\n")
