"""``taut train``: what it prints, what it saves, and what its options do."""

import gzip
import json
import re
import signal
import sys
from argparse import Namespace
from importlib.util import find_spec

import numpy as np
import pytest
from cli.sentences import ROWS, TAGS, columns

import taut as package
from taut import ChainSVM, defaults
from taut.chain.file import load_chain
from taut.cli import main
from taut.cli import train as train_command
from taut.cli.choose_c import OnPath
from taut.cli.learning import solved
from taut.files.model_file import read_model
from taut.metrics import span_f1
from taut.solvers import Status, solve
from taut.spelling import in_command
from taut.text.built_in_templates import BUILT_IN

EXACT = ("--C", "1", "--tol", "1e-3")


def train(taut, text, folder, *options):
    """The model and its header, of a run that ends well."""
    path = folder / "trained.taut"
    answer = taut("train", text, "-o", path, *options)
    assert answer.code == 0, answer.err
    return load_chain(path)


def predictions(path):
    return package.load(path).predict([[row[:2] for row in rows] for rows in ROWS])


# --- what it prints -------------------------------------------------------------------------------


def test_the_result_is_said_with_its_certificate(taut, text, tmp_path):
    answer = taut("train", text, "-o", tmp_path / "m.taut", "--template", "chunking")
    assert answer.code == 0
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0].startswith("trained on 5 sentences, 20 tokens: ")
    assert lines[0].endswith("attributes, 4 labels")
    model, _ = load_chain(tmp_path / "m.taut")
    assert str(model.solution) == "\n".join(lines[1:-1])
    assert re.fullmatch(rf"model: {tmp_path}/m.taut \(\d+\.\d kB\)", lines[-1])


def test_json_agrees_with_the_text_and_is_all_there_is(taut, text, tmp_path):
    path = tmp_path / "m.taut"
    said = taut("train", text, "-o", path, "--template", "chunking").out
    answer = taut("train", text, "-o", path, "--template", "chunking", "--json")
    result = json.loads(answer.out)
    assert answer.err == ""
    assert (result["sentences"], result["tokens"]) == (5, 20)
    assert f"{result['attributes']} attributes, {len(result['labels'])} labels" in said
    assert result["labels"] == ["B-NP", "B-VP", "I-NP", "O"]
    assert result["model"] == str(path)
    assert result["model_bytes"] == path.stat().st_size
    certificate = result["certificate"]
    assert certificate["status"] == "CONVERGED"
    assert certificate["gap"] == certificate["primal"] - certificate["dual"]
    assert f"primal {certificate['primal']:.6g}, dual {certificate['dual']:.6g}" in said
    assert result["history"][-1]["passes"] == certificate["passes"]
    assert result["history"][-1]["score"] is None
    assert result["dev"] is None


def test_quiet_prints_nothing(taut, text, tmp_path):
    options = ("--quiet", "--max-passes", "1", "--tol", "0")  # no note either
    assert taut("train", text, "-o", tmp_path / "m.taut", *options) == (0, "", "")
    assert (tmp_path / "m.taut").exists()


@pytest.mark.parametrize("option", ["--max-passes", "--time-limit", "--cpu-limit"])
def test_a_run_that_stops_early_is_noted_but_no_failure(taut, text, tmp_path, option):
    path = tmp_path / "m.taut"
    answer = taut("train", text, "-o", path, "--template", "chunking", "--tol", "0", option, "0")
    assert answer.code == 0
    assert answer.err.startswith(f"taut: note: stopped at {option} before reaching the tolerance")
    assert "(relative gap 1, --tol 0); all weights are zero, so this is no model" in answer.err
    assert answer.err.count("\n") == 1
    model, _ = load_chain(path)  # of weights that are all zero
    assert not model.w.any()
    assert taut("eval", "-m", path, text).code == 0


def test_no_progress_is_shown_where_nobody_watches(taut, text, tmp_path, monkeypatch):
    monkeypatch.setattr("taut.solvers.progress.Progress.line", lambda self, *rest: print(self.on))
    answer = taut("train", text, "-o", tmp_path / "m.taut", "--template", "chunking")
    assert "False" in answer.out
    assert "True" not in answer.out


# --- templates ------------------------------------------------------------------------------------


def test_the_template_fits_the_columns_if_none_is_named(taut, text, tmp_path):
    words_only = tmp_path / "words.txt"
    words_only.write_text(columns([[(row[0], row[2]) for row in rows] for rows in ROWS]))
    for file, name in ((text, "chunking"), (words_only, "pos")):
        answer = taut("train", file, "-o", tmp_path / "m.taut")
        assert answer.err == f"taut: note: no --template was given; '{name}' is used\n"
        model, header = load_chain(tmp_path / "m.taut")
        assert model.encoder.template.text == header["options"]["template"] == BUILT_IN[name]


def test_a_template_is_a_name_a_file_or_a_text(taut, text, tmp_path):
    (tmp_path / "mine").write_text("w[0]\npos[0]\n")
    models = [
        train(taut, text, tmp_path, "--template", template)[0]
        for template in (tmp_path / "mine", "w[0]; pos[0]")
    ]
    assert models[0].attribute_names() == models[1].attribute_names()
    assert np.array_equal(models[0].w, models[1].w)
    assert train(taut, text, tmp_path, "--template", "ner")[0].encoder.template.n_columns == 1


def test_rare_attributes_are_left_out(taut, text, tmp_path):
    model, _ = train(taut, text, tmp_path, "--template", "w[0]", "--min-freq", "2", *EXACT)
    assert "w[0]=cat" in model.attribute_names()
    assert "w[0]=old" not in model.attribute_names()


# --- formats --------------------------------------------------------------------------------------


def test_all_formats_give_the_same_weights(taut, folder, tmp_path):
    by_columns, _ = train(taut, folder / "train.txt", tmp_path, "--template", "w[0]; pos[0]")
    names = set(by_columns.attribute_names())
    for file, marks in (("train.crfsuite", ("w=", "p=")), ("train.jsonl", ("w:", "p:"))):
        model, header = train(taut, folder / file, tmp_path)
        assert header["options"]["format"] == ("jsonl" if "jsonl" in file else "attributes")
        assert header["options"]["template"] is None
        assert {
            name.replace(marks[0], "w[0]=").replace(marks[1], "pos[0]=")
            for name in model.attribute_names()
        } == names
        # Attributes are numbered otherwise, which changes sums in their last digits only.
        assert model.solution.primal == pytest.approx(by_columns.solution.primal, rel=1e-12)


def test_the_format_can_be_named(taut, folder, tmp_path):
    hidden = tmp_path / "data"
    for format_, file in (("attributes", "train.crfsuite"), ("jsonl", "train.jsonl")):
        hidden.write_bytes((folder / file).read_bytes())
        _, header = train(taut, hidden, tmp_path, "--format", format_)
        assert header["options"]["format"] == format_


def test_gzip_and_standard_input_are_read(taut, text, tmp_path, monkeypatch):
    expected, _ = train(taut, text, tmp_path, "--template", "chunking")
    packed = tmp_path / "text.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    model, _ = train(taut, packed, tmp_path, "--template", "chunking")
    assert np.array_equal(model.w, expected.w)
    with packed.open("rb") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        model, _ = train(taut, "-", tmp_path, "--template", "chunking")
    assert np.array_equal(model.w, expected.w)


@pytest.mark.parametrize(("place", "option"), [(0, "0"), (0, "-3"), (1, "1"), (2, "2"), (2, None)])
def test_labels_may_be_in_any_column(taut, text, tmp_path, place, option):
    expected, _ = train(taut, text, tmp_path, "--template", "chunking")
    moved = tmp_path / "moved.txt"
    order = {0: [2, 0, 1], 1: [0, 2, 1], 2: [0, 1, 2]}[place]
    moved.write_text(columns([[[row[k] for k in order] for row in rows] for rows in ROWS]))
    options = () if option is None else ("--label-column", option)
    model, header = train(taut, moved, tmp_path, "--template", "chunking", *options)
    assert np.array_equal(model.w, expected.w)
    assert header["options"]["label_column"] == place
    assert header["options"]["n_columns"] == 3


def test_separators_comments_and_latin_1(taut, tmp_path):
    odd = tmp_path / "odd.txt"
    odd.write_bytes("# eins\nNew York,B\n\xfcber,O\n\n".encode("latin-1"))
    options = ("--separator", ",", "--comment", "#", "--encoding", "latin-1")
    model, header = train(taut, odd, tmp_path, "--template", "w[0]", *options)
    assert model.encoder.values[0].values == ["New York", "über"]
    kept = header["options"]
    assert (kept["separator"], kept["comment"], kept["encoding"]) == (",", "#", "latin-1")
    odd.write_text("a b\tB\nc\tO\n\n")
    model, _ = train(taut, odd, tmp_path, "--template", "w[0]", "--separator", r"\t")
    assert model.encoder.values[0].values == ["a b", "c"]


LINE = '{"tokens": [["a"], ["b"]], "labels": ["X", "Y"]'


@pytest.mark.parametrize(
    ("name", "weighted", "plain"),
    [
        ("t.crfsuite", "@weight:0\nY\ta\n\nX\ta\nY\tb\n\n", "X\ta\nY\tb\n\n"),
        ("t.crfsuite", "X\ta\n@weight:2\tY\tb\n\n", 2 * "X\ta\nY\tb\n\n"),
        ("t.jsonl", f'{LINE}, "weight": 2}}\n', f"{LINE}}}\n{LINE}}}\n"),
    ],
)
def test_weight_0_is_as_good_as_absent_and_weight_2_as_twice(taut, tmp_path, name, weighted, plain):
    optima, gaps = [], []
    for text in (weighted, plain):
        (tmp_path / name).write_text(text)
        model, _ = train(taut, tmp_path / name, tmp_path, "--C", "0.1", "--tol", "1e-6")
        # n times the objective is |w|^2 / 2C + a sum over sequences, whatever n is.
        solution = model.solution
        optima.append(solution.primal * solution.n_examples)
        gaps.append(solution.gap * solution.n_examples)
    rounding = 1e-12  # of a few sums of numbers near 1
    assert abs(optima[0] - optima[1]) <= sum(gaps) + rounding


# --- the model ------------------------------------------------------------------------------------


def test_features_are_all_or_observed(taut, text, tmp_path, monkeypatch):
    seen = {(f"w[0]={word}", tag) for rows in ROWS for word, _, tag in rows}

    def only_seen(*options):
        train(taut, text, tmp_path, "--template", "w[0]", *options, *EXACT)
        return package.load(tmp_path / "trained.taut").state_features_.keys() <= seen

    assert only_seen("--features", "observed")
    assert not only_seen("--features", "all")
    assert not only_seen("--features", "auto")
    monkeypatch.setattr(defaults, "MOST_WEIGHTS", 10)
    assert only_seen("--features", "auto")


def test_losses_differ_by_the_length(taut, text, tmp_path):
    """At w = 0 the objective is the worst loss: 1, or the mean length."""
    for loss, worst in (("hamming", 1.0), ("hamming-sum", 4.0)):
        model, header = train(taut, text, tmp_path, "--template", "w[0]", "--loss", loss)
        assert model.solution.scale == pytest.approx(worst)
        assert header["options"]["loss"] == loss


def test_a_scheme_is_kept_and_may_bind_training(taut, text, tmp_path):
    common = ("--template", "w[0]", "--solver", "corrective", *EXACT)
    free, header = train(taut, text, tmp_path, *common, "--scheme", "iob2")
    assert free.scheme.value == header["options"]["scheme"] == "IOB2"
    options = (*common, "--scheme", "BIO", "--scheme-in-training")
    bound, header = train(taut, text, tmp_path, *options)
    assert header["options"]["scheme_in_training"]
    assert bound.solution.primal < free.solution.dual  # fewer labellings to be beaten


@pytest.mark.parametrize(
    "solver", ["averaged", "auto", "fw", "bcfw", "bcpfw", "bcafw", "corrective"]
)
def test_all_solvers_reach_the_same_optimum(taut, text, tmp_path, model, solver):
    options = ("--template", "chunking", "--solver", solver, "--max-passes", "1000", *EXACT)
    found, header = train(taut, text, tmp_path, *options)
    best = load_chain(model)[0].solution
    assert abs(found.solution.primal - best.primal) <= found.solution.gap + best.gap
    assert header["options"]["solver"] == solver


def test_averaging_is_a_choice(taut, text, tmp_path):
    for option, words in ((("--averaging",), True), ((), False)):
        options = ("--template", "w[0]", "--solver", "bcfw", *option)
        model, header = train(taut, text, tmp_path, *options)
        assert ("averaging" in model.solution.solver) is words
        assert header["options"]["averaging"] is words


# --- repeatable -----------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_file_but_for_the_clock(taut, text, tmp_path):
    def trained(*options):
        path = tmp_path / "m.taut"
        options = ("--template", "chunking", "--max-passes", "3", "--tol", "0", *options)
        assert taut("train", text, "-o", path, *options).code == 0
        header, arrays, version = read_model(path)
        header["trained"] = header["certificate"]["seconds"] = None
        header["certificate"]["seconds_in"] = None
        for row in header["certificate"]["history"]:
            row[1] = None
        return header, {name: array.tobytes() for name, array in arrays.items()}, version

    first = trained("--seed", "3")
    assert first == trained("--seed", "3")
    assert first == trained("--seed", "3", "--threads", "2")
    assert first[1] != trained("--seed", "4")[1]


def test_the_estimator_finds_the_same_weights(taut, text, tmp_path):
    path = tmp_path / "m.taut"
    options = ("--template", "chunking", "--solver", "corrective", "--seed", "7", *EXACT)
    assert taut("train", text, "-o", path, *options).code == 0
    loaded = package.load(path)
    assert loaded.predict([[row[:2] for row in rows] for rows in ROWS]) == TAGS
    assert loaded.random_state == 7
    trained = ChainSVM(**loaded.get_params()).fit([[r[:2] for r in rows] for rows in ROWS], TAGS)
    trained.save(tmp_path / "again.taut")  # which rounds weights
    again = package.load(tmp_path / "again.taut")
    assert again.solution_.primal == loaded.solution_.primal
    assert again.state_features_ == loaded.state_features_
    assert again.transition_features_ == loaded.transition_features_


def test_a_run_resumes_from_its_checkpoint(taut, text, tmp_path):
    checkpoint = tmp_path / "run.npz"
    whole, _ = train(taut, text, tmp_path, "--template", "chunking", *EXACT)
    options = ("--template", "chunking", *EXACT, "--checkpoint", checkpoint)
    half, _ = train(taut, text, tmp_path, *options, "--max-passes", "6")
    assert half.solution.passes < whole.solution.passes
    resumed, _ = train(taut, text, tmp_path, *options, "--resume")
    assert resumed.solution.passes == whole.solution.passes
    assert np.array_equal(resumed.w, whole.w)


# --- held-out text --------------------------------------------------------------------------------


def test_the_score_on_held_out_text_is_span_f1_or_accuracy(taut, text, tmp_path):
    path, tags = tmp_path / "m.taut", tmp_path / "tags.txt"
    answer = taut(
        "train", text, "-o", path, "--template", "chunking", "--dev", text, "--json", *EXACT
    )
    result = json.loads(answer.out)
    found_at = result["dev"].pop("pass")
    assert result["dev"] == {"files": [str(text)], "metric": "span F1", "score": 1.0}
    assert found_at in [row["passes"] for row in result["history"] if row["score"] == 1.0]
    assert result["history"][-1]["score"] == span_f1(TAGS, predictions(path)) == 1.0

    tags.write_text(columns([[row[:2] for row in rows] for rows in ROWS]))
    answer = taut("train", tags, "-o", path, "--dev", tags, "--patience", "2", *EXACT)
    assert re.search(
        rf"^{tags}: token accuracy 1.0000 after pass \d+, best of \d+ checks$", answer.out, re.M
    )


def test_training_stops_when_the_score_no_longer_rises(taut, text, tmp_path):
    options = ("--template", "chunking", "--C", "1", "--tol", "0", "--dev", text)
    passes = []
    for patience in ("1", "3"):
        model, header = train(taut, text, tmp_path, *options, "--patience", patience)
        assert model.solution.status.name == "NO_BETTER_SCORE"
        assert header["options"]["patience"] == int(patience)
        passes.append(model.solution.passes)
    assert passes[0] < passes[1]


def test_C_is_the_one_that_scores_best_on_held_out_text(taut, text, tmp_path):
    options = ("--template", "chunking", "--dev", text, "--C", "best")
    answer = taut("train", text, "-o", tmp_path / "m.taut", *options)
    found = re.search(r"note: C = (\S+) scores 1.0000 on .*, best along the path", answer.err)
    model, header = load_chain(tmp_path / "m.taut")
    assert model.solution.C == header["options"]["C"] == pytest.approx(float(found[1]), rel=1e-3)
    assert span_f1(TAGS, predictions(tmp_path / "m.taut")) == 1.0


@pytest.mark.parametrize("of_path", ["worse", "better", "as good"])
def test_a_search_for_C_never_ends_worse_than_no_search(taut, text, tmp_path, monkeypatch, of_path):
    """The default C is tried as well, and named by the option that gives it."""
    dev = tmp_path / "dev.txt"
    dev.write_text(columns([*ROWS, [("cat", "NN", "O"), ("it", "PRP", "B-VP")]]))
    run = ("train", text, "-o", tmp_path / "m", "--template", "chunking", "--dev", dev)
    plain = json.loads(taut(*run, "--json").out)
    score = plain["dev"]["score"]
    found = {"worse": 0.0, "better": score + 0.01, "as good": 0.0}[of_path]

    def on_path(problem, validate, options):
        return OnPath(solve(problem, C=1.0, max_passes=1, tol=1.0), found)

    def with_its_C(training, held_out, options, checkpoint=None):
        if of_path == "worse" and training.C == 1.0:
            options = Namespace(**{**vars(options), "max_passes": 0.0})
        return solved(training, held_out, options, checkpoint)

    monkeypatch.setattr("taut.cli.choose_c.solved", with_its_C)
    monkeypatch.setattr(train_command, "best_on_path", on_path)
    answer = taut(*run, "--C", "best", "--json", "--checkpoint", tmp_path / "run.npz")
    result = json.loads(answer.out)
    kept = load_chain(tmp_path / "m")[1]["options"]["C"]
    begin = f"note: the default, C = {plain['certificate']['C']:.4g}, scores {score:.4f}, "
    if of_path == "worse":
        assert result["dev"]["score"] == score
        assert kept == "scale"
        assert result["certificate"]["C"] == plain["certificate"]["C"]
        assert f"{begin}more than that; its model is kept" in answer.err
    else:
        assert result["dev"]["score"] == max(found, score)
        assert kept == result["certificate"]["C"] == 1.0
        assert f"{begin}no more than that" in answer.err


def test_whoever_interrupts_the_training_after_a_search_waits_for_no_other(
    taut, text, tmp_path, monkeypatch
):
    runs = []

    def interrupted(training, held_out, options, checkpoint=None):
        runs.append(training.C)
        signal.raise_signal(signal.SIGINT)
        return solved(training, held_out, options, checkpoint)

    monkeypatch.setattr("taut.cli.choose_c.solved", interrupted)
    answer = taut("train", text, "-o", tmp_path / "m", "--template", "w[0]", "--dev", text,
                  "--C", "best")  # fmt: skip
    assert answer.code == 130
    assert len(runs) == 1
    assert runs[0] == load_chain(tmp_path / "m")[0].solution.C


def test_a_checkpoint_that_is_not_there_is_noted(taut, text, tmp_path):
    run = ("train", text, "-o", tmp_path / "m", "--template", "w[0]", "--resume")
    answer = taut(*run, "--checkpoint", tmp_path / "run.npz")
    assert f"note: {tmp_path}/run.npz does not exist; training begins anew" in answer.err
    assert "note" not in taut(*run, "--checkpoint", tmp_path / "run.npz").err


def test_the_score_said_is_that_of_the_weights_whatever_was_held_out_before(taut, text, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text(columns([[(word, pos, "O") for word, pos, _ in rows] for rows in ROWS[:2]]
                           + [[("it", "PRP", "B-NP")]]))  # fmt: skip
    run = ("train", text, "-o", tmp_path / "m", "--template", "chunking", "--json",
           "--checkpoint", tmp_path / "run.npz")  # fmt: skip
    taut(*run, "--dev", text, "--max-passes", "4")
    said = json.loads(taut(*run, "--dev", dev, "--resume", "--max-passes", "4").out)["dev"]["score"]
    assert said == json.loads(taut("eval", "-m", tmp_path / "m", dev, "--json").out)["micro"]["f1"]


@pytest.mark.parametrize("stops_at_once", [False, True])
def test_the_model_saved_scores_what_was_announced(taut, tmp_path, stops_at_once):
    """Noise: training again with the C that was found need not find such weights again."""
    random = np.random.default_rng(0)
    files = []
    for name, n in (("train", 60), ("dev", 40)):
        rows = [[(f"w{random.integers(9)}", f"L{random.integers(3)}") for _ in range(4)]
                for _ in range(n)]  # fmt: skip
        files.append(tmp_path / name)
        files[-1].write_text(columns(rows))
    limit = ("--max-passes", "0") if stops_at_once else ()
    model = tmp_path / "m"
    answer = taut("train", files[0], "-o", model, "--dev", files[1], "--C", "best", *limit)
    announced = float(re.search(r"C = \S+ scores (\S+) on", answer.err)[1])
    right = json.loads(taut("eval", "-m", model, files[1], "--json").out)["token_accuracy"]
    assert right >= announced - 5e-5  # as it is rounded
    said = float(re.search(r"token accuracy (\S+?),? ", answer.out)[1])
    assert said == pytest.approx(right, abs=5e-5)
    if stops_at_once:
        assert ", of the path's own weights" in answer.out
        assert load_chain(model)[0].solution.gap >= 0


def test_held_out_text_may_have_new_words_and_labels(taut, text, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text("Rain NN B-NP\nfell VBD B-XX\n\n")
    answer = taut(
        "train", text, "-o", tmp_path / "m", "--template", "chunking", "--dev", dev, "--json"
    )
    score = json.loads(answer.out)["dev"]["score"]
    assert score in (0.5, 2 / 3)  # one of two spans found, with or without a wrong one


# --- pictures -------------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
@pytest.mark.parametrize(("name", "magic"), [("p.png", b"\x89PNG"), ("p.PDF", b"%PDF")])
def test_the_convergence_is_drawn(taut, text, tmp_path, name, magic):
    train(taut, text, tmp_path, "--template", "chunking", "--plot", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


# --- words of the command line --------------------------------------------------------------------


def test_attribute_files_without_their_name_are_noted(taut, folder, tmp_path):
    path, note = (
        tmp_path / "text",
        "looks like CRFsuite's attribute format; use --format attributes",
    )
    path.write_bytes((folder / "train.crfsuite").read_bytes())
    run = ("train", path, "-o", tmp_path / "m")
    assert note in taut(*run).err
    for options in (("--quiet",), ("--format", "attributes"), ("--format", "columns")):
        assert note not in taut(*run, *options).err
    path.write_text((folder / "train.txt").read_text().replace(" ", "\t"))
    assert note not in taut(*run).err


def test_remedies_are_options(taut, text, tmp_path):
    run = ("train", text, "-o", tmp_path / "m", "--tol", "0", "--template", "w[0]")
    first = "stopped at --max-passes before reaching the tolerance; raise --max-passes, raise"
    assert first in taut(*run, "--max-passes", "1").out
    assert first in taut("inspect", tmp_path / "m").out
    for status in Status:
        told = in_command(status.marked)
        assert not {"max_passes", "time_limit", "cpu_limit", "warm_start", "tol,"} & set(
            told.split()
        )


@pytest.mark.filterwarnings("default")
def test_a_full_disk_for_the_checkpoint_costs_no_model(taut, text, tmp_path, monkeypatch):
    def full_disk(*args):
        raise OSError(28, "No space left on device")

    checkpoint = tmp_path / "run.npz"
    monkeypatch.setattr("taut.solvers.checkpoint.atomic_write", full_disk)
    answer = taut("train", text, "-o", tmp_path / "m.taut", "--checkpoint", checkpoint)
    assert answer.code == 0
    assert re.search(r"taut: note: the checkpoint .*run\.npz.*No space left", answer.err)
    assert not checkpoint.exists()
    assert list(tmp_path.glob("*.taut"))


def test_words_taken_for_labels_are_noted_before_training(taut, tmp_path):
    text = tmp_path / "text"
    text.write_text("".join(f"word{i} X\n\n" for i in range(80)))
    run = ("train", text, "-o", tmp_path / "m", "--template", "pos[0]", "--max-passes", "1")
    answer = taut(*run, "--label-column", "0")
    assert "note: 80 of 80 labels occur once; are these the labels? see --label-col" in answer.err
    assert "occur once" not in taut(*run).err


def test_a_log_has_lines_of_progress_if_wanted(text, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("taut.solvers.progress.LOG_SECONDS", 0.0)
    run = ["train", str(text), "-o", str(tmp_path / "m"), "--tol", "0", "--max-passes", "3"]
    assert main(run) == 0
    assert "pass " not in capfd.readouterr().err
    assert main([*run, "--verbose"]) == 0
    told = capfd.readouterr().err
    assert "pass " in told
    assert "\x1b" not in told
    with pytest.raises(SystemExit):
        main([*run, "--verbose", "--quiet"])
    assert "--quiet prints nothing, --verbose says" in capfd.readouterr().err
