"""What goes wrong is said in one line, before any work is lost; exit codes 1 and 2."""

import os
import signal
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest

import taut as package
from taut import ChainSVM
from taut.cli import explained, main, options, printable
from taut.cli.parser import COMMANDS
from taut.files.model_file import read_model, write_model
from taut.text.columns import Columns
from taut.text.schemes import Scheme

# --- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_examples(taut, command):
    answer = taut(*command.split(), "--help")
    assert answer.code == 0
    assert "examples:" in answer.out or command == "warmup"
    assert answer.out.startswith(f"usage: taut {command}".rstrip())
    assert max(map(len, answer.out.splitlines())) <= 100


def test_version(taut):
    assert taut("--version") == (0, f"taut {package.__version__}\n", "")


def test_names_in_the_help_are_those_that_exist():
    assert list(options.SCHEMES) == list(Scheme.__members__)


# --- wrong usage: 2 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "arguments are required: COMMAND"),
        ("fly", "invalid choice: 'fly'"),
        ("train x", "required: -o/--output; see taut train --help"),
        ("tag x", "required: -m/--model"),
        ("eval -m m", "required: FILE"),
        ("inspect", "required: MODEL"),
        ("train x -o m --C 0", "--C: '0' is not a number above 0"),
        ("train x -o m --C nan", "--C: 'nan' is not a number above 0"),
        ("train x -o m --C much", "--C: 'much' is not a number above 0"),
        ("train x -o m --tol -1", "--tol: '-1' is not a number from 0.0 on"),
        ("train x -o m --tol inf", "--tol: 'inf' is not a number"),
        ("train x -o m --max-passes -1", "--max-passes: '-1' is not a number"),
        ("train x -o m --time-limit -1", "--time-limit: '-1' is not a number"),
        ("train x -o m --cpu-limit -1", "--cpu-limit: '-1' is not a number"),
        ("train x -o m --min-freq 0", "--min-freq: '0' is not a whole number from 1 on"),
        ("train x -o m --min-freq 1.5", "--min-freq: '1.5' is not a whole number from 1 on"),
        ("train x -o m --seed -1", "--seed: '-1' is not a whole number from 0 on"),
        ("train x -o m --seed 99999999999", "--seed: '99999999999' is not a whole number"),
        ("train x -o m --threads 0", "--threads: '0' is not a whole number from 1 on"),
        ("train x -o m --patience 0 --dev x", "--patience: '0' is not a whole number from 1 on"),
        ("train x -o m --solver best", "--solver best is not known; here use one of auto, "),
        ("train x -o m --loss f1", "--loss: invalid choice: 'f1'"),
        ("train x -o m --features some", "--features: invalid choice: 'some'"),
        ("train x -o m --scheme IOB9", "--scheme: invalid choice: 'IOB9'"),
        ("train x -o m --format xml", "--format: invalid choice: 'xml'"),
        ("train x -o m --encoding ebcdic", "--encoding: invalid choice: 'ebcdic'"),
        ("train x -o m --separator ab", "--separator: 'ab' is not one character"),
        ("train x -o m --label-column last", "--label-column: invalid int value: 'last'"),
        ("train x -o m --plot p.txt", "--plot: 'p.txt' does not end in .png, .pdf, .svg"),
        ("train x -o m --class-weight 2", "'2' is not LABEL=WEIGHT; such as 'O=1,*=2'"),
        ("train x -o m --class-weight O=-1", "'-1' is not a number from 0.0 on"),
        ("train x -o m --crf --class-weight O=1", "--class-weight is for SVMs"),
        ("train x -o m --fast --tol 1", "--fast stands for a --tol; give one of them"),
        ("train x -o m --exact --dev y", "with --dev the score on held-out text does"),
        ("train x -o m --fast --exact", "not allowed with argument"),
        ("train x -o m --label misc:P", "where probabilities go; take another key"),
        ("train x -o m --resume", "--resume needs the --checkpoint to go on from"),
        ("train x -o m --scheme-in-training", "--scheme-in-training needs a --scheme"),
        ("train x -o m --patience 2", "--patience needs held-out text: --dev FILE"),
        ("train x -o m --C best", "--C best needs held-out text: --dev FILE"),
        ("train x -o m --C best --dev y --slack-penalty squared", "--slack-penalty linear"),
        ("train x -o m --C best --dev y --checkpoint c --resume", "the --C that it found"),
        ("train x -o m --format attributes --template ner", "--template is for columns"),
        ("train x -o m --quiet --json", "give one of them"),
        ("train - -o m --dev -", "cannot both come from standard input"),
        ("train x -o m --crf --loss hamming", "--loss is for SVMs; a CRF (--crf) maximises"),
        ("train x -o m --crf --formulation slack", "--formulation is for SVMs"),
        ("train x -o m --crf --slack-penalty squared", "--slack-penalty is for SVMs"),
        ("train x -o m --crf --solver bcfw", "--solver bcfw trains SVMs; here use one of auto, "
                                             "sdca, lbfgs"),
        ("train x -o m --crf --solver lbfgs --averaging", "lbfgs returns its best iterate"),
        ("train x -o m --crf --decoding best", "--decoding: invalid choice: 'best'"),
        ("train x -o m --l1 1", "--l1 is for CRFs; train one with --crf"),
        ("train x -o m --crf --l1 -1", "--l1: '-1' is not a number from 0.0 on"),
        ("train x -o m --crf --l1 1 --C best --dev y", "a path that is without --l1"),
        ("train x -o m --solver sdca", "--solver sdca trains CRFs (--crf); here use one of auto"),
        ("train x -o m --solver idal", "--solver idal trains graphs without inference"),
        ("train x -o m --decoding posterior", "needs probabilities, which SVMs do not give; train "
                                              "with --crf"),
        ("tag -m m --nbest 0", "--nbest: '0' is not a whole number from 1 on"),
        ("tag -m m --decoding greedy", "--decoding: invalid choice: 'greedy'"),
        ("train x -o m --max 3", "unrecognized arguments: --max 3 (is --max-passes meant?); see "
                                 "taut train --help"),
        ("train x -o m --template=ner --tmplate=ner", "--tmplate=ner (is --template meant?)"),
        ("tag -m m x --nothing-like-it", "unrecognized arguments: --nothing-like-it; see taut tag "
                                         "--help"),
        ("inspect m n", "unrecognized arguments: n; see taut inspect --help"),
        ("--verbose train x -o m", "unrecognized arguments: --verbose"),
        ("train x --cv 1", "--cv: '1' is not a whole number from 2 on"),
        ("train x --cv 3 --dev y", "--cv holds out parts of the text itself; leave out --dev"),
        ("train x --cv 3 --C best", "--cv scores one C; find it by --C best --dev FILE first"),
        ("train x --cv 3 --C best --dev y", "--cv scores one C; find it by --C best"),
        ("train x --cv 3 -o m --checkpoint c", "a checkpoint the state of one; leave out "
                                               "--checkpoint"),
        ("train x --cv 3 --resume", "the state of one; leave out --resume"),
        ("train x --cv 3 --plot p.png", "the picture is of one; leave out --plot"),
        ("train x --cv 3 --quiet", "--cv has a result to print; leave out --quiet"),
        ("inspect m --json --weights -", "--weights - and --json both print"),
        ("inspect m --top some", "--top: 'some' is not a whole number from 0 on"),
        ("tag -m m --threads 0", "--threads: '0' is not a whole number from 1 on"),
        ("eval -m m x --strict no", "--strict: invalid choice: 'NO'"),
        ("inspect m --top -1", "--top: '-1' is not a whole number from 0 on"),
    ],
)  # fmt: skip
def test_wrong_usage(taut, arguments, message):
    answer = taut(*arguments.split())
    assert answer.code == 2
    assert answer.out == ""
    assert message in answer.err


# --- wrong input: 1 -------------------------------------------------------------------------------


def test_what_is_written_is_checked_before_anything_is_read(fails, text, tmp_path, monkeypatch):
    def never(*rest, **more):
        raise AssertionError("text was read")

    monkeypatch.setattr("taut.cli.train.read_labelled", never)
    missing, model = tmp_path / "no" / "m", tmp_path / "m"
    assert "does not exist; create it first" in fails("train", text, "-o", missing)
    assert "it is a folder; name a file" in fails("train", text, "-o", tmp_path)
    assert "does not exist" in fails("train", text, "-o", model, "--checkpoint", missing)
    picture = tmp_path / "no" / "p.png"
    assert "does not exist" in fails("train", text, "-o", model, "--plot", picture)
    monkeypatch.setattr("taut.cli.pictures.find_spec", lambda name: None)
    line = fails("train", text, "-o", model, "--plot", tmp_path / "p.png")
    assert line == "taut: error: --plot needs matplotlib: pip install 'taut[plot]'"
    assert "text is read from it" in fails("train", text, "-o", text)
    assert "'w(' is neither a built-in template" in fails(
        "train", text, "-o", model, "--template", "w("
    )
    assert "line 1: there is no column 'q'" in fails(
        "train", text, "-o", model, "--template", "q[0]"
    )
    assert not model.exists()


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, "", "does not exist; give the path of a file"),
        (b"", "", "line 1: the file is empty"),
        (b"\n\n", "", "line 1: no token"),
        (b"a B\nc\n", "", "line 2: 1 column, but line 1 has 2"),
        (b"a\nb\n", "", "there is one column only; labels and something else are needed"),
        (b"a X\nb X\n", "", "there is one label only, 'X'; there is nothing to learn"),
        (b"a X\nb Y\n", "--label-column 5", "labels should be in column 5 (counted from 0)"),
        (b"a X\nb Y\n", "--template chunking", "the template uses"),
        (b"a X\nb Y\n", "--class-weight Z=2", "--class-weight names 'Z', which is no label of"),
        (b"a X\nb Y\n", "--template w[0] --min-freq 9", "no attribute occurs 9 times; lower"),
        (b"a X\nb Y\n", "--scheme IOB2", "the label 'X' does not belong to IOB2"),
        (b"\xe4 X\nb Y\n", "", "line 1: byte 0xe4 is not UTF-8 here; convert the file to UTF-8, "
                               "or read it with --encoding latin-1"),
        (b"a O\nb I-X\nc B-X\n", "--scheme IOB2 --scheme-in-training",
         "text, line 2: 'I-X' may not follow 'O'; correct the labels"),
        (b"a X\rb Y\r", "", "line 1: a carriage return without a line feed, as in files of"),
        (b"X\ta\rY\tb\r", "--format attributes", "line 1: a carriage return without a line feed"),
        (b"{}\r{}\r", "--format jsonl", "line 1: a carriage return without a line feed"),
        (b"1\ta\r2\tb\n", "--format conllu --label upos", "line 1: a carriage return without a"),
        (b"a X\nb Y\n", "--comment=", "comment='': it must be the beginning of a line"),
        (b"\tw=a\n", "--format attributes", "its label is missing; without labels it can "
                                            "only be tagged, with --unlabelled"),
        (b"@weight:0\nX\ta\nY\tb\n", "--format attributes", "all sample weights are zero"),
        (b"X a b\nY b\n", "--format attributes", "no line has a tab; label and attributes are "
                                                 "separated by tabs, not by blanks"),
        (b"X\nY\n", "--format attributes", "text: no attribute anywhere"),
        (b"# one two\na X\n", "", "if lines that begin with # are comments, say --comment '#'"),
        (b"X\ta\nY\tb\n", "--format attributes --separator ,", "--separator is for columns, but"),
        (b"X\ta\nY\tb\n", "--format attributes --label-column 1", "--label-column is for columns"),
        (b"[]\n", "--format jsonl", "line 1: expected an object with"),
        (b'{"tokens": ["a"]}\n', "--format jsonl", 'line 1: there are no "labels"'),
        (b'{"tokens": [{"a": null}], "labels": ["X"]}\n', "--format jsonl",
         "line 1: tokens[0]: 'a' is None"),
        (b'{"tokens": [{"a": 1}], "labels": ["X"]}\n', "--format jsonl --template w[0]",
         "line 1: the tokens are objects"),
        (b'{"tokens": [["a"], ["b", "c"]], "labels": ["X", "Y"]}\n',
         "--format jsonl --template w[0]",
         "line 1: tokens[1] has 2 strings, but the first token has 1"),
        (b'\n{"tokens": [[]], "labels": ["X"]}\n', "--format jsonl --template w[0]",
         "line 2: tokens[0] is an empty list; a template needs a string at least"),
        (b'{"tokens": [["a"], []], "labels": ["X", "Y"]}\n', "--format jsonl --template w[0]",
         "line 1: tokens[1] has 0 strings, but the first token has 1"),
    ],
)  # fmt: skip
def test_wrong_training_text(fails, tmp_path, content, arguments, message):
    text = tmp_path / "text"
    if content is not None:
        text.write_bytes(content)
    assert message in fails("train", text, "-o", tmp_path / "m", "--quiet", *arguments.split())
    assert not (tmp_path / "m").exists()


def test_a_template_cannot_make_features_of_attributes(fails, folder, tmp_path):
    line = fails("train", folder / "train.crfsuite", "-o", tmp_path / "m", "--template", "ner")
    assert "makes its features of columns, by a template, and cannot read attribute files" in line


def test_wrong_held_out_text(fails, text, tmp_path):
    dev = tmp_path / "dev"
    run = ("train", text, "-o", tmp_path / "m", "--template", "chunking", "--quiet", "--dev", dev)
    assert "does not exist" in fails(*run)
    dev.write_text("it PRP\n")
    assert "there are 2 columns, but the labels should be in column 2" in fails(*run)
    dev.write_text("it PRP Pronoun\n")
    assert fails(*run).endswith(
        f"none of the labels in {dev} (such as 'Pronoun') is known to the model "
        "(B-NP, B-VP, I-NP, O); see --label-column"
    )
    dev.write_text("it PRP Pronoun\nsleeps VBZ B-VP\n")
    assert "the label 'Pronoun' does not belong to any tagging scheme" in fails(*run)


def test_a_checkpoint_of_another_run_is_refused(fails, taut, text, tmp_path):
    run = ("train", text, "-o", tmp_path / "m", "--template", "w[0]", "--quiet")
    checkpoint = ("--checkpoint", tmp_path / "c.npz")
    taut(*run, *checkpoint)
    line = fails(*run, *checkpoint, "--resume", "--C", "7")
    assert "this run has another C; give another path, or no --resume to start anew" in line


@pytest.mark.parametrize("command", ["tag", "eval", "inspect"])
def test_wrong_model_files(fails, model, text, tmp_path, command):
    def run(path):
        if command == "inspect":
            return fails("inspect", path)
        return fails(command, "-m", path, text)

    assert "there is no such file" in run(tmp_path / "none")
    assert "it is a folder" in run(tmp_path)
    assert "not a taut model file" in run(text)
    cut = tmp_path / "cut"
    cut.write_bytes(model.read_bytes()[:-100])
    assert "cut off" in run(cut)


def test_an_SVM_has_no_probabilities(fails, model, text):
    for wish in ("--probabilities", "--nbest 2", "--decoding posterior"):
        assert fails("tag", "-m", model, text, *wish.split()) == (
            f"taut: error: {wish}: {model} is an SVM, which has no probabilities; train a model "
            "with --crf"
        )
    assert "has no probabilities" in fails("eval", "-m", model, text, "--decoding", "posterior")


@pytest.mark.parametrize("command", ["tag", "eval"])
def test_a_model_file_with_strange_options_is_refused(fails, model, text, tmp_path, command):
    for name, value in (("format", "xml"), ("separator", 3), ("label_column", "x")):
        header, arrays, _ = read_model(model)
        header["options"][name] = value
        write_model(tmp_path / "odd", header, arrays)
        assert "read in an unknown way" in fails(command, "-m", tmp_path / "odd", text)


@pytest.mark.parametrize("command", ["tag", "eval"])
def test_a_model_needs_what_it_was_trained_on(fails, taut, model, folder, tmp_path, command):
    line = fails(command, "-m", model, folder / "train.crfsuite", "--format", "attributes")
    assert "makes its features of columns, by a template, and cannot read attribute files" in line
    line = fails(command, "-m", model, folder / "train.jsonl", "--format", "jsonl")
    assert "line 1: the tokens are objects" in line
    own = tmp_path / "own"
    taut("train", folder / "train.jsonl", "-o", own, "--quiet")
    line = fails(command, "-m", own, folder / "train.txt", "--format", "columns")
    assert "makes its features of attributes, and cannot read columns; see --format" in line
    ChainSVM(random_state=0).fit([np.eye(3), np.eye(3)], [["a", "b", "a"]] * 2).save(own)
    assert "trained on matrices of numbers, not on text" in fails(command, "-m", own, "x")


def test_wrong_text_to_tag(fails, model, text, tmp_path):
    odd = tmp_path / "odd.txt"
    odd.write_text("it\n\n")
    assert fails("tag", "-m", model, odd).endswith(
        "odd.txt: there is 1 column (labels not counted), but the model's template needs 2"
    )
    odd.write_text("it PRP _\n\n.  . NP\n\n")
    line = fails("tag", "-m", model, odd, "--forced-column", "2")
    assert "line 3: 'NP' is to be kept, but is not one of the labels B-NP, B-VP, I-NP, O" in line
    for option in ("--forced-column", "--label-column"):
        line = fails("tag", "-m", model, odd, option, "3")
        assert f"there are 3 columns; {option} 3 is none of them" in line
    line = fails("tag", "-m", model, text, "--format", "jsonl", "--forced-column", "1")
    assert "--forced-column is for columns, but the format is jsonl" in line
    assert "does not exist; create it first" in fails(
        "tag", "-m", model, text, "-o", tmp_path / "no" / "x"
    )


def test_the_model_is_not_overwritten_by_what_it_tags(fails, model, text):
    before = model.read_bytes()
    line = fails("tag", "-m", model, text, "-o", model)
    assert line.endswith(f"{str(model)!r} would be overwritten, but the model is read from it")
    assert model.read_bytes() == before


def test_attributes_to_tag_are_separated_by_tabs(fails, taut, folder, tmp_path):
    odd, model = tmp_path / "odd.txt", tmp_path / "m"
    taut("train", folder / "train.crfsuite", "-o", model, "--quiet")
    odd.write_text("\nB-NP w=it p=PRP\n")
    assert "odd.txt, line 2: no line has a tab" in fails("tag", "-m", model, odd)


def test_half_a_result_is_not_written_to_a_file(fails, model, tmp_path):
    """Far into a text of several blocks something is wrong: the file stays as it was."""
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_text("it PRP\n\n" * 50_000 + "it\n\n")
    out.write_text("before")
    assert "line 100001: 1 column, but" in fails("tag", "-m", model, text, "-o", out)
    assert out.read_text() == "before"
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_rows_without_a_string_are_not_tagged(fails, model, tmp_path):
    odd = tmp_path / "odd.jsonl"
    odd.write_text('{"tokens": [[], []]}\n')
    line = fails("tag", "-m", model, odd, "--format", "jsonl")
    assert "odd.jsonl, line 1: tokens[0] is an empty list" in line


def test_wrong_text_to_evaluate(fails, model, text, tmp_path):
    odd = tmp_path / "odd.txt"
    odd.write_text("it PRP\n\n")
    assert "labels should be in column 2 (counted from 0)" in fails("eval", "-m", model, odd)
    odd.write_text("it PRP PRON B-NP\n\n")
    assert "(such as 'PRON') is known to the model (B-NP," in fails("eval", "-m", model, odd)
    odd.write_text("it B-NP\n\n")
    assert "odd.txt: there is 1 column (labels not counted), but the model's template needs 2" in (
        fails("eval", "-m", model, odd, "--label-column", "1")
    )
    assert "does not belong to IOE2" in fails("eval", "-m", model, text, "--strict", "IOE2")
    picture = tmp_path / "no" / "p.png"
    assert "does not exist" in fails("eval", "-m", model, text, "--plot", picture)
    assert "--label X is not one of the labels B-NP, B-VP, I-NP, O" in fails(
        "inspect", model, "--label", "X"
    )


# --- how errors are told --------------------------------------------------------------------------


def test_a_traceback_is_there_for_who_asks(monkeypatch, tmp_path):
    monkeypatch.setenv("TAUT_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError):
        main(["inspect", str(tmp_path / "none")])


def test_errors_of_the_system_name_the_file():
    assert (
        explained(PermissionError(13, "Permission denied", "x.txt")) == "x.txt: Permission denied"
    )


def test_memory_that_is_missing_has_a_remedy(fails, text, tmp_path, monkeypatch):
    def large(*rest, **more):
        raise MemoryError("Unable to allocate 5 GiB")

    monkeypatch.setattr("taut.chain.training.chain_problem", large)
    line = fails("train", text, "-o", tmp_path / "m", "--template", "w[0]")
    assert line.endswith(
        "not enough memory (Unable to allocate 5 GiB); fewer labels need less, and if attributes "
        "are many, --features observed or --min-freq 2"
    )
    assert explained(MemoryError()).startswith("not enough memory; fewer labels")


def test_labels_whose_pairs_do_not_fit_in_memory_are_refused(fails, taut, tmp_path, monkeypatch):
    """200 sentences of one token with a label of its own: 8 (200 * 200^2 + 200 * 200) bytes."""
    text, model = tmp_path / "text", tmp_path / "m"
    text.write_text("".join(f"L{i:03} X\n\n" for i in range(200)))
    run = ("train", text, "-o", model, "--label-column", "0", "--quiet", "--max-passes", "1")
    run += ("--transitions", "all")
    needed = 8 * (200**3 + 200**2)
    monkeypatch.setattr("taut.memory.memory_bytes", lambda: needed)
    assert fails(*run).endswith(
        "text: there are 200 labels (L000, L001, L002, L003, L004, ...); training takes 0.1 GB "
        "of memory, most of it for pairs of labels in each sequence, and there are 0.1 GB; "
        "are these the labels? see --label-column"
    )
    for enough in (2 * needed, None):
        monkeypatch.setattr("taut.memory.memory_bytes", lambda enough=enough: enough)
        assert taut(*run).code == 0


def test_values_of_a_wrong_type_are_wrong_input(fails, model, monkeypatch):
    def refuse(options):
        Columns.from_sentences([[("a", "b"), ("c",)]])

    monkeypatch.setattr("taut.cli.inspect_model.run", refuse)
    assert "X[0][1] is ('c',); all tokens must be strings" in fails("inspect", model)


def test_standard_input_has_a_name(fails, tmp_path, monkeypatch):
    def run(text, *arguments):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text)))
        return fails("train", "-", "-o", tmp_path / "m", "--template", "w[0]", *arguments)

    assert "error: standard input: there is one label only" in run(b"a X\nb X\n")
    assert "error: standard input: there is one column only" in run(b"a\nb\n")
    assert "error: standard input: there are 2 columns" in run(b"a X\n", "--label-column", "5")
    assert "error: standard input: no attribute" in run(b"a X\nb Y\n", "--min-freq", "9")


def test_messages_are_one_printable_line(capsys, monkeypatch, model):
    def fail(options):
        raise ValueError("one\ntwo \x1b[31m three")

    monkeypatch.setattr("taut.cli.inspect_model.run", fail)
    assert main(["inspect", str(model)]) == 1
    assert capsys.readouterr().err == "taut: error: one two \\x1b[31m three\n"
    assert printable("Łódź") == "Łódź"


def test_ctrl_c_before_training_ends_without_a_model(taut, text, tmp_path, monkeypatch):
    def pressed(*rest, **more):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("taut.cli.train.read_labelled", pressed)
    assert taut("train", text, "-o", tmp_path / "m") == (130, "", "taut: interrupted\n")
    assert not (tmp_path / "m").exists()
