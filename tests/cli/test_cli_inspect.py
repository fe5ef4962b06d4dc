"""``taut inspect``: what it says is in the file."""

import gzip
import json

import numpy as np
import pytest
from cli.sentences import ROWS, TAGS

import taut as package
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


def test_what_saving_changed_is_said(taut, model, tmp_path):
    change = read_model(model).header["weight_change"]
    assert change > 0
    assert json.loads(taut("inspect", model, "--json").out)["weight_change"] == change
    assert f"differs from the trained one by {change:.1e} at most" in taut("inspect", model).out
    header, arrays, _ = read_model(model)
    write_model(tmp_path / "exact.taut", {**header, "weight_change": 0.0}, arrays)
    assert "from the trained one" not in taut("inspect", tmp_path / "exact.taut").out


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


def test_all_weights_can_be_shown(taut, model):
    facts = json.loads(taut("inspect", model, "--json", "--top", "all").out)
    loaded, _ = load_chain(model)
    shown = facts["strongest_features"]
    assert len(shown) == np.count_nonzero(loaded.node_weights().toarray())
    assert len(facts["strongest_transitions"]) == np.count_nonzero(loaded.step_weights())
    weights = [row["weight"] for row in shown]
    assert weights == sorted(weights, reverse=True)
    assert len({(row["what"], row["label"]) for row in shown}) == len(shown)


# --- every weight, as a table ---------------------------------------------------------------------


def table_of(text):
    """(kind, name, label) -> weight."""
    header, *lines = text.removesuffix("\n").split("\n")
    assert header == "kind\tname\tlabel\tweight"
    rows = [line.split("\t") for line in lines]
    assert all(len(row) == 4 for row in rows)
    found = {tuple(row[:3]): float(row[3]) for row in rows}
    assert len(found) == len(rows)
    return found


def expected_of(clf):
    labels = clf.classes_.tolist()
    expected = {("attribute", *pair): value for pair, value in clf.state_features_.items()}
    expected |= {("transition", *pair): value for pair, value in clf.transition_features_.items()}
    for kind, values in (("bias", clf.intercept_), ("begin", clf.begin_), ("end", clf.end_)):
        pairs = zip(labels, values.tolist(), strict=True)
        expected |= {(kind, "", label): value for label, value in pairs if value}
    return {tuple(map(str, key)): value for key, value in expected.items()}


@pytest.mark.parametrize("kind", ["model", "crf"])
def test_every_weight_is_written_to_the_last_digit(taut, request, tmp_path, kind):
    path = request.getfixturevalue(kind)
    out = tmp_path / "weights.tsv"
    answer = taut("inspect", path, "--weights", out)
    assert answer == taut("inspect", path)  # which is still said
    clf = package.load(path)
    found = table_of(out.read_text())
    assert found == expected_of(clf)
    assert len(found) == np.count_nonzero(clf.solution_.w)
    alone = taut("inspect", path, "--weights", "-")
    assert alone == (0, out.read_text(), "")
    packed = tmp_path / "weights.tsv.gz"
    taut("inspect", path, "--weights", packed)
    assert gzip.decompress(packed.read_bytes()) == out.read_bytes()
    before = packed.read_bytes()
    taut("inspect", path, "--weights", packed)
    assert packed.read_bytes() == before


def test_a_label_chooses_its_weights(taut, model, tmp_path):
    everything = table_of(taut("inspect", model, "--weights", "-").out)
    chosen = table_of(taut("inspect", model, "--weights", "-", "--label", "B-VP").out)
    assert chosen == {key: value for key, value in everything.items() if key[2] == "B-VP"}
    assert {kind for kind, _, _ in chosen} == {"attribute", "bias", "begin", "end", "transition"}


def test_names_with_tabs_line_ends_and_backslashes_are_escaped(taut, tmp_path):
    X = [[["a\tb", "c\\t", "d\ne", "f\rg"], ["h"]]] * 2
    ChainSVM(random_state=0).fit(X, [["X\t1", "Y"]] * 2).save(tmp_path / "m")
    found = table_of(taut("inspect", tmp_path / "m", "--weights", "-").out)
    names = {name for kind, name, _ in found if kind == "attribute"}
    assert names == {"a\\tb", "c\\\\t", "d\\ne", "f\\rg", "h"}
    chosen = taut("inspect", tmp_path / "m", "--weights", "-", "--label", "X\t1").out
    assert {key[2] for key in table_of(chosen)} == {"X\\t1"}


@pytest.mark.parametrize("with_steps", [False, True])
def test_weights_of_matrices_have_numbers_for_names(taut, tmp_path, with_steps):
    X = [np.eye(4)[[len(word) % 4 for word, _, _ in rows]] for rows in ROWS]
    if with_steps:
        X = [(x, np.ones((len(x) - 1, 2))) for x in X]
    clf = ChainSVM(random_state=0).fit(X, TAGS)
    clf.save(tmp_path / "m")
    found = table_of(taut("inspect", tmp_path / "m", "--weights", "-").out)
    assert sum(found.values()) == pytest.approx(clf.solution_.w.sum())
    kinds = {kind for kind, _, _ in found if kind.startswith("transition")}
    assert kinds == ({"transition:0", "transition:1"} if with_steps else {"transition"})
    assert {name for kind, name, _ in found if kind == "attribute"} <= set("0123")


def test_the_table_is_written_whole_or_not_at_all(fails, model, tmp_path):
    before = model.read_bytes()
    line = fails("inspect", model, "--weights", model)
    assert line.endswith("is the model; write its weights to another file")
    assert model.read_bytes() == before
    assert "does not exist; create it first" in fails(
        "inspect", model, "--weights", tmp_path / "no" / "w"
    )
    out = tmp_path / "w.tsv"
    fails("inspect", model, "--weights", out, "--label", "X")
    assert not out.exists()


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
