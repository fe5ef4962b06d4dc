"""The commands on CoNLL-U files."""

import json

import pytest
from cli.sentences import ROWS

import taut as package


def conllu(rows):
    return "".join(
        f"# text = {' '.join(row[0] for row in sentence)}\n"
        + "1-2\tboth" + "\t_" * 8 + "\n"
        + "".join(
            f"{i}\t{word}\t_\t{pos}\t_\t_\t_\t_\t_\tNER={tag}\n"
            for i, (word, pos, tag) in enumerate(sentence, 1)
        )
        + "\n"
        for sentence in rows
    )  # fmt: skip


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    path = tmp_path_factory.mktemp("bank") / "train.conllu"
    path.write_text(conllu(ROWS))
    return path


@pytest.mark.parametrize("label", ["upos", "misc:NER"])
def test_a_model_writes_its_labels_where_they_belong(taut, bank, tmp_path, label):
    model = tmp_path / "m"
    answer = taut("train", bank, "-o", model, "--label", label, "--C", "1", "--tol", "1e-3")
    assert answer.code == 0, answer.err
    assert json.loads(taut("eval", "-m", model, bank, "--json").out).get("token_accuracy", 1) == 1
    empty = tmp_path / "empty.conllu"
    empty.write_text(conllu([[(word, "_", "O") for word, _, _ in rows] for rows in ROWS]))
    expected = conllu(
        [
            [(word, pos, "O") if label == "upos" else (word, "_", tag) for word, pos, tag in rows]
            for rows in ROWS
        ]
    )
    out = taut("tag", "-m", model, empty).out
    assert out.replace("NER=O", "_") == expected.replace("NER=O", "_")
    assert package.load(model).predict([["the", "cat"]])


def test_what_to_learn_must_be_said(taut, fails, bank, text, tmp_path):
    assert "needs --label: upos" in fails("train", bank, "-o", tmp_path / "m")
    assert "--label is for CoNLL-U, but the format is columns" in fails(
        "train", text, "-o", tmp_path / "m", "--label", "upos"
    )
    answer = taut("train", bank, "-o", tmp_path / "m", "--label", "pos")
    assert answer.code == 2
    assert "label='pos'; expected upos, xpos" in answer.err


def test_probabilities_are_in_the_last_column(taut, bank, tmp_path):
    model = tmp_path / "m"
    taut("train", bank, "-o", model, "--label", "upos", "--crf", "--quiet")
    lines = taut("tag", "-m", model, bank, "--probabilities").out.splitlines()
    assert lines[2].split("\t")[9].startswith("NER=B-NP|P=0.")


def test_the_best_labellings_are_comments_of_their_sentence(taut, bank, tmp_path):
    model = tmp_path / "m"
    taut("train", bank, "-o", model, "--label", "upos", "--crf", "--quiet")
    plain = taut("tag", "-m", model, bank).out
    out = taut("tag", "-m", model, bank, "--nbest", "2").out
    lines = out.splitlines()
    assert [line for line in lines if not line.startswith("# nbest")] == plain.splitlines()
    best = package.load(model).predict_nbest([[row[:1] for row in rows] for rows in ROWS], 2)
    expected = [
        "\t".join([f"# nbest {rank} = {p:.4g}", *labels])
        for of_sentence in best
        for rank, (labels, p) in enumerate(of_sentence, 1)
    ]
    assert [line for line in lines if line.startswith("# nbest")] == expected
    assert [line[:7] for line in lines[:4]] == ["# text ", "# nbest", "# nbest", "1-2\tbot"]
    tagged = tmp_path / "tagged.conllu"
    tagged.write_text(out)
    assert taut("eval", "-m", model, tagged).out.startswith("100.00% of 20 tokens")


def test_numbers_in_place_of_words_are_noted(taut, tmp_path):
    text = tmp_path / "odd"
    text.write_text("1 the DT\n2 cat NN\n\n1 a DT\n\n")
    answer = taut("train", text, "-o", tmp_path / "m")
    assert "note: the first column, which templates call w, holds numbers; if this is" in answer.err


def test_labels_are_not_written_where_others_were_learned(taut, fails, bank, tmp_path):
    model = tmp_path / "m"
    taut("train", bank, "-o", model, "--label", "upos", "--quiet")
    line = fails("tag", "-m", model, bank, "--label", "feats")
    assert line.endswith("trained on upos; --label feats would write its labels there")


def test_words_without_a_label_are_noted(taut, fails, bank, tmp_path):
    answer = taut("train", bank, "-o", tmp_path / "m", "--label", "misc:NER")
    assert "have no" not in answer.err
    partly = tmp_path / "partly.conllu"
    partly.write_text(conllu([[("a", "X", "O"), ("b", "_", "O")], [("c", "Y", "O")]]))
    answer = taut("train", partly, "-o", tmp_path / "m", "--label", "upos")
    assert "note: 1 words have no upos (_), which is learned as a label" in answer.err
    line = fails("train", bank, "-o", tmp_path / "m", "--label", "misc:Nope")
    assert "no word of the file has the key 'Nope' in its last column" in line
