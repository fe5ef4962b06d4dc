"""``taut tag``: each format is answered in its own way."""

import gzip
import io
import json
import sys

import pytest
from cli.sentences import ROWS, TAGS, WORDS, columns

from taut import ChainSVM

LEARNED = ("--C", "1", "--tol", "1e-3", "--quiet")
ANSWERED = columns([[(*row, row[2]) for row in rows] for rows in ROWS])
pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
def trained(taut, tmp_path):
    """Train on this file with these options; the model's path."""

    def run(text, *options):
        assert taut("train", text, "-o", tmp_path / "own.taut", *LEARNED, *options).code == 0
        return tmp_path / "own.taut"

    return run


@pytest.fixture
def given(monkeypatch):
    """Put this on standard input."""

    def put(content):
        data = content if isinstance(content, bytes) else content.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


# --- columns --------------------------------------------------------------------------------------


def test_the_label_is_appended_to_every_token(taut, model, text):
    assert taut("tag", "-m", model, text) == (0, ANSWERED, "")


def test_standard_input_is_the_default(taut, model, text, given):
    for file in ([], ["-"]):
        given(text.read_text())
        assert taut("tag", "-m", model, *file).out == ANSWERED
    given(gzip.compress(text.read_bytes()))
    assert taut("tag", "-m", model).out == ANSWERED


def test_labels_need_not_be_there(taut, model, given):
    given(columns([[row[:2] for row in rows] for rows in ROWS]))
    assert taut("tag", "-m", model).out == columns(ROWS)


@pytest.mark.parametrize("order", [(2, 0, 1), (0, 2, 1)])
def test_labels_before_the_features_may_be_there_or_not(taut, trained, tmp_path, given, order):
    text = tmp_path / "moved.txt"
    text.write_text(columns([[[row[k] for k in order] for row in rows] for rows in ROWS]))
    model = trained(text, "--template", "chunking", "--label-column", str(order.index(2)))
    tagged = taut("tag", "-m", model, text).out
    assert tagged.split() == [field for rows in ROWS for row in rows
                              for field in (*[row[k] for k in order], row[2])]  # fmt: skip
    given(columns([[row[:2] for row in rows] for rows in ROWS]))
    assert taut("tag", "-m", model).out == columns(ROWS)


def test_a_label_column_can_be_named_where_it_is_now(taut, model, tmp_path):
    text = tmp_path / "moved.txt"
    text.write_text(columns([[(row[2], *row[:2]) for row in rows] for rows in ROWS]))
    tagged = taut("tag", "-m", model, text, "--label-column", "0").out
    assert tagged == columns([[(row[2], *row[:2], row[2]) for row in rows] for rows in ROWS])


def test_comments_documents_and_blank_lines_are_echoed(taut, model, given):
    given("# a b c\n\n-DOCSTART- -X- O\n\nthe DT\ncat\tNN\n \n\n\nit PRP")
    answer = taut("tag", "-m", model, "--comment", "#")
    assert answer.out == (
        "# a b c\n\n-DOCSTART- -X- O\n\nthe DT B-NP\ncat\tNN\tI-NP\n \n\n\nit PRP B-NP\n"
    )


def test_reading_is_as_in_training_unless_said_otherwise(taut, trained, tmp_path, given):
    text = tmp_path / "odd.txt"
    text.write_bytes("#1\nNew York;B\nf\xfcr;O\n\n".encode("latin-1"))
    model = trained(
        text, "--template", "w[0]", "--separator", ";", "--comment", "#", "--encoding", "latin-1"
    )
    tagged = tmp_path / "tagged.txt"
    taut("tag", "-m", model, text, "-o", tagged)
    assert tagged.read_bytes() == "#1\nNew York;B;B\nf\xfcr;O;O\n\n".encode("latin-1")
    given("%1\nNew York\tx\nfür\ty\n\n")
    answer = taut("tag", "-m", model, "--separator", r"\t", "--comment", "%", "--encoding", "utf-8")
    assert answer.out == "%1\nNew York\tx\tB\nfür\ty\tO\n\n"


def test_output_goes_to_a_file(taut, model, text, tmp_path):
    for file in (tmp_path / "out.txt", tmp_path / "copy.txt"):
        file.write_text(columns(ROWS))  # also onto the input itself
        assert taut("tag", "-m", model, file, "-o", file) == (0, "", "")
        assert file.read_text() == ANSWERED
    assert taut("tag", "-m", model, text, "-o", "/dev/null") == (0, "", "")


def test_threads_do_not_change_the_answer(taut, model, text):
    assert taut("tag", "-m", model, text, "--threads", "3").out == ANSWERED


def test_forced_labels_are_kept_and_others_follow(taut, trained, text, given):
    model = trained(text, "--template", "chunking", "--scheme", "IOB2")
    given("the DT _\ncat NN B-VP\nsleeps VBZ _\n\n")
    tagged = taut("tag", "-m", model, "--forced-column", "2").out
    assert [line.split()[-1] for line in tagged.split("\n")[:3]][1] == "B-VP"
    given("the DT _ x\ncat NN _ x\nsleeps VBZ _ x\n\n")
    tagged = taut("tag", "-m", model, "--forced-column", "-2").out
    assert [line.split()[-1] for line in tagged.split("\n")[:3]] == TAGS[0]


def test_an_impossible_constraint_names_line_and_sentence(fails, trained, text, given):
    model = trained(text, "--template", "chunking", "--scheme", "IOB2")
    given("the DT _\ncat NN _\n\nit PRP _\nsleeps VBZ O\n. . I-NP\n\n")
    line = fails("tag", "-m", model, "--forced-column", "2")
    assert line.startswith(
        "taut: error: standard input, line 6: sequence 1, position 2: no label is possible here"
    )
    assert "'I-NP' is forced, before it there can only be 'O'" in line


def test_text_in_several_blocks_is_tagged_alike(taut, model, tmp_path):
    """Sequences and lines are counted through; the reader's blocks have 128 kB."""
    text = tmp_path / "long.txt"
    text.write_text(columns(ROWS) * 1000)
    assert taut("tag", "-m", model, text).out == ANSWERED * 1000


# --- attributes and JSON lines --------------------------------------------------------------------


def test_of_attribute_files_only_labels_are_written(taut, trained, folder, given):
    model = trained(folder / "train.crfsuite")
    expected = "".join("\n".join(tags) + "\n\n" for tags in TAGS)
    assert taut("tag", "-m", model, folder / "train.crfsuite").out == expected
    given("w=the\tp=DT\nw=cat\tp=NN\n\n")
    assert taut("tag", "-m", model, "--unlabelled").out == "B-NP\nI-NP\n\n"


def test_json_lines_get_their_labels_replaced(taut, trained, folder, given):
    model = trained(folder / "train.jsonl")
    lines = (folder / "train.jsonl").read_text().splitlines()
    answers = taut("tag", "-m", model, folder / "train.jsonl").out.splitlines()
    assert list(map(json.loads, answers)) == list(map(json.loads, lines))
    given('{"tokens": [{"w": "the", "p": "DT", "ü": 1}], "weight": 2}\n')
    answer = taut("tag", "-m", model).out
    assert answer == (
        '{"tokens": [{"w": "the", "p": "DT", "ü": 1}], "weight": 2, "labels": ["B-NP"]}\n'
    )
    given('{"id": [7], "tokens": [{"w": "the", "p": "DT"}]}\n\n')  # other keys are echoed
    answer = taut("tag", "-m", model).out
    assert answer == '{"id": [7], "tokens": [{"w": "the", "p": "DT"}], "labels": ["B-NP"]}\n'


def test_strings_in_json_lines_are_words(taut, trained, tmp_path):
    text = tmp_path / "words.jsonl"
    text.write_text(
        "".join(
            json.dumps({"tokens": words, "labels": tags}) + "\n"
            for words, tags in zip(WORDS, TAGS, strict=True)
        )
    )
    answer = taut("train", text, "-o", tmp_path / "m.taut", "--C", "1", "--tol", "1e-3")
    assert "'pos' is used" in answer.err
    answers = taut("tag", "-m", tmp_path / "m.taut", text).out.splitlines()
    assert [json.loads(line)["labels"] for line in answers] == TAGS


def test_lists_in_json_lines_are_attributes_or_columns(taut, trained, tmp_path):
    text = tmp_path / "rows.jsonl"
    text.write_text(
        "".join(
            json.dumps({"tokens": [row[:2] for row in rows], "labels": tags}) + "\n"
            for rows, tags in zip(ROWS, TAGS, strict=True)
        )
    )
    for options in ([], ["--template", "chunking"]):
        model = trained(text, *options)
        answers = taut("tag", "-m", model, text).out.splitlines()
        assert [json.loads(line)["labels"] for line in answers] == TAGS


def test_another_format_than_in_training(taut, model, trained, folder, given):
    """What matters is whether features are made of columns or given as attributes."""
    given(json.dumps({"tokens": [row[:2] for row in ROWS[0]]}) + "\n")
    answer = taut("tag", "-m", model, "--format", "jsonl")
    assert json.loads(answer.out)["labels"] == TAGS[0]
    given(json.dumps({"tokens": [[f"w={w}", f"p={p}"] for w, p, _ in ROWS[0]]}) + "\n")
    answer = taut("tag", "-m", trained(folder / "train.crfsuite"), "--format", "jsonl")
    assert json.loads(answer.out)["labels"] == TAGS[0]


def test_latin_1_json_stays_latin_1(taut, trained, tmp_path, given):
    text = tmp_path / "t.jsonl"
    text.write_bytes('{"tokens": ["\xfc", "b"], "labels": ["X", "Y"]}\n'.encode("latin-1"))
    model = trained(text, "--template", "w[0]", "--encoding", "latin-1")
    given('{"tokens": ["\xfc", "\\u0142"]}\n'.encode("latin-1"))
    assert taut("tag", "-m", model).out.startswith(r'{"tokens": ["\u00fc", "\u0142"], "labels"')


def test_models_from_python_tag_too(taut, tmp_path, given):
    X = [[row[:2] for row in rows] for rows in ROWS]
    path = tmp_path / "python.taut"
    ChainSVM(1.0, template="chunking", random_state=0).fit(X, TAGS).save(path)
    given(columns(ROWS))
    assert taut("tag", "-m", path).out == ANSWERED
    numbers = [[["B-NP", "I-NP", "B-VP", "O"].index(tag) for tag in tags] for tags in TAGS]
    ChainSVM(1.0, random_state=0).fit([[[w, p] for w, p in x] for x in X], numbers).save(path)
    given("\tthe\tDT\n\tcat\tNN\n\n")
    assert taut("tag", "-m", path, "--unlabelled").out == "0\n1\n\n"
