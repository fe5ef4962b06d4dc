"""``taut inspect``: what it says is in the file."""

import json

import numpy as np
import pytest
from cli.sentences import ROWS, TAGS

from taut import ChainSVM
from taut.chain.file import load_chain
from taut.files.model_file import read_model, write_model
from taut.spelling import in_command


def test_facts_of_the_file(taut, model):
    out = taut("inspect", model).out
    loaded, header = load_chain(model)
    assert loaded.solution.text(in_command) in out
    assert header["trained"] in out
    assert "4 labels: B-NP B-VP I-NP O\n" in out
    assert "reads columns in utf-8\n" in out
    assert "\n  pos[-2]|pos[-1]\n" in out  # a line of the template
    assert f"{loaded.n_features} attributes, {np.count_nonzero(loaded.w)} weights" in out
    assert "are predicted" not in out


def test_json_agrees_with_the_model(taut, model):
    facts = json.loads(taut("inspect", model, "--json", "--top", "3").out)
    loaded, header = load_chain(model)
    assert facts["options"] == header["options"]
    assert facts["bytes"] == model.stat().st_size
    assert facts["taut"] == read_model(model).taut_version
    assert facts["certificate"]["dual"] == loaded.solution.dual
    assert len(facts["history"]) == len(loaded.solution.history)
    assert facts["template"] == loaded.encoder.template.text
    assert facts["scheme"] is None


def test_the_strongest_come_first_and_the_most_negative_last(taut, model):
    facts = json.loads(taut("inspect", model, "--json", "--top", "3").out)
    loaded, _ = load_chain(model)
    weights = loaded.node_weights().toarray()
    names, labels = loaded.attribute_names(), loaded.labels.classes.tolist()
    shown = [row["weight"] for row in facts["strongest_features"]]
    ordered = np.sort(weights.ravel())
    assert shown == [*ordered[:-4:-1], *ordered[2::-1]]
    for row in facts["strongest_features"]:
        assert row["weight"] == weights[names.index(row["what"]), labels.index(row["label"])]
    steps = loaded.step_weights()[0]
    for row in facts["strongest_transitions"]:
        assert row["weight"] == steps[labels.index(row["from"]), labels.index(row["to"])]
    assert facts["strongest_transitions"][0]["weight"] == steps.max()


def test_top_and_label_choose(taut, model):
    assert "strongest" not in taut("inspect", model, "--top", "0").out
    out = taut("inspect", model, "--label", "B-VP", "--top", "2").out
    rows = out.split("strongest features of B-VP\n")[1].split("\n\n")[0].split("\n")
    assert len(rows) == 4
    assert all(row.split()[1] == "B-VP" for row in rows)


def test_a_scheme_is_said(taut, text, tmp_path):
    taut("train", text, "-o", tmp_path / "m", "--template", "w[0]", "--scheme", "IOB2")
    assert (
        "only labellings that are valid in IOB2 are predicted"
        in taut("inspect", tmp_path / "m").out
    )


@pytest.mark.parametrize("with_steps", [False, True])
def test_models_of_matrices(taut, tmp_path, with_steps):
    X = [np.eye(4)[[len(word) % 4 for word, _, _ in rows]] for rows in ROWS]
    if with_steps:
        X = [(x, np.ones((len(x) - 1, 2))) for x in X]
    ChainSVM(random_state=0).fit(X, TAGS).save(tmp_path / "m")
    out = taut("inspect", tmp_path / "m").out
    assert "reads what Python gives it\n" in out
    assert ("strongest transitions" in out) is not with_steps


def test_a_hostile_header_cannot_move_the_cursor(taut, model, tmp_path):
    header, arrays, _ = read_model(model)
    header["trained"] = "\x1b[2Jnow"
    write_model(tmp_path / "odd", header, arrays)
    answer = taut("inspect", tmp_path / "odd")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert r"\x1b[2Jnow" in answer.out
