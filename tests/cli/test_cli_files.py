"""Several files: what is read, in which order, and where each error is."""

import gzip
import json

import numpy as np
import pytest
from cli.sentences import ROWS, TAGS, columns
from cli.test_cli_conllu import conllu

from taut.chain.file import load_chain
from taut.cli.data import looks_like_attributes
from taut.cli.text_files import listed

QUICK = ("--template", "chunking", "--quiet")


@pytest.fixture
def parts(tmp_path):
    """The sentences in three files, one packed; without a blank line at the end of the first."""
    (tmp_path / "a.txt").write_text(columns(ROWS[:2]).rstrip("\n"))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(columns(ROWS[2:3]).encode()))
    (tmp_path / "c.txt").write_text(columns(ROWS[3:]))
    return [tmp_path / name for name in ("a.txt", "b.txt.gz", "c.txt")]


def weights(path):
    return load_chain(path)[0].w


# --- which files ----------------------------------------------------------------------------------


def test_patterns_are_sorted_and_names_keep_their_order(parts, tmp_path):
    a, b, c = map(str, parts)
    assert listed([c, a]) == [c, a]
    assert listed([f"{tmp_path}/*"]) == [a, b, c]
    assert listed([c, f"{tmp_path}/[ab]*", "-"]) == [c, a, b, "-"]
    (tmp_path / "x[1].txt").touch()  # what exists is no pattern
    assert listed([f"{tmp_path}/x[1].txt"]) == [f"{tmp_path}/x[1].txt"]
    (tmp_path / "folder").mkdir()
    assert str(tmp_path / "folder") not in listed([f"{tmp_path}/*"])


def test_a_pattern_without_files_and_a_file_named_twice_are_refused(fails, parts, tmp_path):
    run = ("-o", tmp_path / "m", *QUICK)
    assert fails("train", f"{tmp_path}/*.conll", *run).endswith(
        "/*.conll' matches no file; correct the pattern"
    )
    assert "a.txt' is named twice; name each file once" in fails(
        "train", parts[0], f"{tmp_path}/*.txt", *run
    )
    (tmp_path / "link").symlink_to(parts[0])
    line = fails("train", parts[0], tmp_path / "link", *run)
    assert f"link' is the same file as '{parts[0]}'" in line
    assert "'standard input' is named twice" in fails("train", "-", "-", *run)


def test_files_may_stand_before_and_after_options(taut, parts, text, tmp_path):
    assert taut("train", parts[0], "-o", tmp_path / "m", *QUICK, *parts[1:]).code == 0
    assert taut("train", text, "-o", tmp_path / "one", *QUICK).code == 0
    assert np.array_equal(weights(tmp_path / "m"), weights(tmp_path / "one"))


# --- train ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["txt", "crfsuite", "jsonl", "conllu"])
def test_several_files_train_the_model_of_one(taut, folder, tmp_path, kind):
    """Also with weights in one of them only, and with what one file has and others have not."""
    whole = tmp_path / f"whole.{kind}"
    if kind == "conllu":
        pieces = [conllu(ROWS[k : k + 1]) for k in range(len(ROWS))]
    elif kind == "jsonl":
        lines = (folder / "train.jsonl").read_text().splitlines(keepends=True)
        pieces = [lines[0].replace("{", '{"weight": 2, ', 1), *lines[1:]]
    else:
        pieces = [part + "\n\n" for part in (folder / f"train.{kind}").read_text().split("\n\n")][
            :-1
        ]
        if kind == "crfsuite":
            pieces[1] = "@weight:0.5\n" + pieces[1]
    whole.write_text("".join(pieces))
    for k, piece in enumerate(pieces):
        (tmp_path / f"part{k}.{kind}").write_text(piece)
    options = {"txt": ("--template", "chunking"), "conllu": ("--label", "upos")}.get(kind, ())
    result = []
    for files in (whole, f"{tmp_path}/part*"):
        answer = taut("train", files, "-o", tmp_path / "m", "--json", *options)
        assert answer.code == 0, answer.err
        result.append((json.loads(answer.out)["tokens"], weights(tmp_path / "m").tolist()))
    assert result[0] == result[1]
    assert json.loads(answer.out)["files"] == [f"{tmp_path}/part{k}.{kind}" for k in range(5)]


def test_files_of_different_kinds_are_refused(fails, parts, folder, tmp_path):
    run = ("-o", tmp_path / "m", "--quiet")
    line = fails("train", parts[0], folder / "train.jsonl", *run)
    assert "train.jsonl is read as jsonl, by its name, but" in line
    assert line.endswith("as columns; give files of one format, or say which it is by --format")
    narrow = tmp_path / "narrow.txt"
    narrow.write_text("it B-NP\n")
    assert fails("train", *parts, narrow, *run).endswith(
        f"{narrow}: there are 2 columns, but {parts[0]} has 3; files that are read together need "
        "the same columns"
    )
    (tmp_path / "words.jsonl").write_text('{"tokens": ["it"], "labels": ["B-NP"]}\n')
    line = fails("train", folder / "train.jsonl", tmp_path / "words.jsonl", *run)
    assert "words.jsonl: the tokens are words, but those of" in line


def test_errors_name_the_file_that_they_are_in(fails, parts, tmp_path):
    run = ("-o", tmp_path / "m", *QUICK)
    odd = tmp_path / "odd.txt"
    odd.write_text("it PRP B-NP\nsleeps\n")
    assert f"error: {odd}, line 2: 1 column, but" in fails("train", *parts, odd, *run)
    assert "error: 'no-file' does not exist" in fails("train", *parts, "no-file", *run)
    assert "txt and 2 more files" in fails("train", *parts, *run, "--class-weight", "X=2")
    line = fails("train", *parts, "-o", parts[2], *QUICK)
    assert line.endswith("would be overwritten, but text is read from it")


@pytest.mark.parametrize("kind", ["columns", "attributes", "jsonl", "conllu"])
def test_labels_that_break_a_scheme_are_found_by_file_and_line(fails, tmp_path, kind):
    def written(name, tags):
        rows = [("x", "X", tag) for tag in tags]
        lines = {
            "columns": "# c\n" + columns([rows[:1], rows[1:]]),
            "attributes": f"\n{tags[0]}\tx\n\n" + "".join(f"{tag}\tx\n" for tag in tags[1:]),
            "jsonl": "\n".join(["", *(json.dumps({"tokens": ["x"] * len(part), "labels": part})
                                      for part in (tags[:1], tags[1:]))]),
            "conllu": conllu([rows[:1], rows[1:]]),
        }[kind]  # fmt: skip
        (tmp_path / name).write_text(lines)
        return tmp_path / name

    good, bad = written("good", ["B-X", "O", "B-X"]), written("bad", ["B-X", "O", "I-X"])
    line = {"columns": 5, "attributes": 5, "jsonl": 3, "conllu": 8}[kind]
    more = {"columns": ("--comment", "#"), "conllu": ("--label", "misc:NER")}.get(kind, ())
    run = ("-o", tmp_path / "m", "--quiet", "--format", kind, *more, "--scheme", "IOB2")
    assert fails("train", good, bad, *run, "--scheme-in-training") == (
        f"taut: error: {bad}, line {line}: 'I-X' may not follow 'O'; correct the labels, or train "
        "without the constraints"
    )
    other = written("other", ["B-X", "O", "Person"])
    assert f"error: {other}, line {line}: the label 'Person' does not belong to IOB2" in fails(
        "train", good, other, *run
    )
    assert f"error: {other}, line {line}: the label 'Person' does not belong to any" in fails(
        "train", good, *run, "--dev", good, "--dev", other
    )


def test_eval_by_a_scheme_names_the_line(fails, model, tmp_path):
    path = tmp_path / "odd.txt"
    path.write_text("it PRP B-NP\n\nsleeps VBZ Verb\n")
    line = fails("eval", "-m", model, path, "--strict", "IOB2")
    assert f"{path}, line 3: the label 'Verb' does not belong to IOB2" in line
    path.write_text("it PRP O\n")  # then it is the model whose labels do not fit
    assert "does not belong to IOE2" in fails("eval", "-m", model, path, "--strict", "IOE2")


def test_held_out_text_may_be_several_files(taut, text, parts, tmp_path):
    scores = []
    for dev in (("--dev", text), ("--dev", parts[0], "--dev", parts[1], "--dev", parts[2])):
        answer = taut("train", text, "-o", tmp_path / "m", *QUICK[:2], "--json", *dev)
        scores.append(json.loads(answer.out)["dev"])
    assert scores[1].pop("files") == list(map(str, parts))
    assert scores[0].pop("files") == [str(text)]
    assert scores[0] == scores[1]
    answer = taut("train", text, "-o", tmp_path / "m", *QUICK[:2], "--dev", f"{tmp_path}/*.txt*")
    assert f"\n{parts[0]} and 2 more files: span F1" in answer.out


# --- eval and tag ---------------------------------------------------------------------------------


def test_files_are_evaluated_together(taut, model, text, parts):
    assert taut("eval", "-m", model, *parts) == taut("eval", "-m", model, text)
    assert json.loads(taut("eval", "-m", model, *parts, "--json").out)["files"] == [
        *map(str, parts)
    ]


def test_tagged_files_are_written_one_after_the_other(taut, model, text, parts, tmp_path):
    """A sentence at the end of one is none with that at the beginning of the next."""
    expected = taut("tag", "-m", model, text).out
    assert taut("tag", "-m", model, *parts).out == expected
    assert taut("tag", *parts, "-m", model, "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out").read_text() == expected
    assert expected.count("\n\n") == len(ROWS)


def test_json_lines_of_several_files_stay_lines(taut, folder, tmp_path):
    taut("train", folder / "train.jsonl", "-o", tmp_path / "m", "--quiet", "--C", "1")
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((folder / "train.jsonl").read_bytes())
    lines = taut("tag", "-m", tmp_path / "m", folder / "train.jsonl", copy).out.splitlines()
    assert [json.loads(line)["labels"] for line in lines] == TAGS * 2


def test_errors_of_tag_name_the_file_and_count_its_lines(fails, model, parts, tmp_path):
    odd = tmp_path / "odd.txt"
    odd.write_text("it PRP\n\nsleeps\n")
    out = tmp_path / "out"
    assert f"error: {odd}, line 3: 1 column" in fails("tag", "-m", model, *parts, odd, "-o", out)
    assert not out.exists()
    odd.write_text("it PRP X\n")
    line = fails("tag", "-m", model, *parts[:1], odd, "--forced-column", "2", "-o", out)
    assert f"{odd}, line 1: 'X' is to be kept, but is not one of the labels" in line


# --- what looks like attributes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("word{0}\tNER=Person{1}", False),
        ("word{0}\tNER:{1}", False),
        ("word{0}\tCase=Nom|Gender={1}\tnsubj:pass", False),
        ("word{0}\tNN\tB:X{1}", False),
        ("B-X{1}\tw=word{0}\tbias", True),
        ("B-X{1}\tw:word{0}", True),
        ("tag=X{1}\tw=word{0}\tp=NN", True),
    ],
)
def test_labels_may_look_like_attributes(tmp_path, line, expected):
    path = tmp_path / "text"
    path.write_text("".join(line.format(k, k % 3) + "\n" for k in range(30)))
    assert looks_like_attributes(str(path), "utf-8") is expected


def test_only_the_note_is_withheld(taut, tmp_path):
    path = tmp_path / "text"
    path.write_text("the\tCase=Nom\ncat\tCase=Acc\nsees\tMood:Ind\n\na\tCase=Nom\n")
    answer = taut("train", path, "-o", tmp_path / "m", "--template", "w[0]")
    assert (answer.code, answer.err) == (0, "")
