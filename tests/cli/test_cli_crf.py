"""``--crf``: models with probabilities, from training to what is told of them.

The expected numbers are those of ChainCRF, which tests of its own compare with enumeration.
"""

import io
import json
import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from cli.sentences import ROWS, TAGS, columns

import taut as package
from taut import ChainCRF, defaults
from taut.chain.file import load_chain

X = [[row[:2] for row in rows] for rows in ROWS]
TRAIN = ("--crf", "--template", "chunking")
both_ways = pytest.mark.usefixtures("both_ways")


def train(taut, text, folder, *options):
    """The model and its header, of a run that ends well."""
    path = folder / "trained.taut"
    answer = taut("train", text, "-o", path, *TRAIN, *options)
    assert answer.code == 0, answer.err
    return load_chain(path)


@pytest.fixture
def given(monkeypatch):
    """Put this on standard input."""

    def put(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))

    return put


# --- training -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_the_estimator_finds_the_same_weights(taut, text, tmp_path, solver):
    options = ("--solver", solver, "--seed", "7", "--tol", "1e-4", "--decoding", "posterior")
    train(taut, text, tmp_path, *options)
    loaded = package.load(tmp_path / "trained.taut")
    assert isinstance(loaded, ChainCRF)
    trained = ChainCRF(**loaded.get_params()).fit(X, TAGS)
    trained.save(tmp_path / "again.taut")  # which rounds weights
    again = package.load(tmp_path / "again.taut")
    assert again.solution_.primal == loaded.solution_.primal
    assert again.state_features_ == loaded.state_features_
    assert again.transition_features_ == loaded.transition_features_
    assert (again.temperature, again.decoding, again.random_state) == (1.0, "posterior", 7)
    for one, other in zip(trained.predict_proba(X), loaded.predict_proba(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_the_defaults_are_those_of_CRFs(taut, text, tmp_path):
    model, header = train(taut, text, tmp_path)
    kept = header["options"]
    for name in ("C", "solver", "tol", "max_passes", "features", "min_freq"):
        assert kept[name] == ChainCRF().get_params()[name]
    assert kept["decoding"] == model.decoding == "viterbi"
    assert not {"formulation", "slack_penalty"} & set(kept)
    assert model.temperature == 1.0
    assert model.solution.status.name == "CONVERGED"
    # At w = 0 all labellings are as probable: 20 tokens in 5 sentences, of 4 labels each.
    assert model.solution.scale == pytest.approx(20 / 5 * np.log(4))


def test_C_can_be_scaled(taut, text, tmp_path):
    model, header = train(taut, text, tmp_path, "--C", "scale")
    assert header["options"]["C"] == "scale"
    clf = ChainCRF("scale", template="chunking", tol=0.1).fit(X, TAGS)
    assert model.solution.C == clf.solution_.C


def test_an_l1_norm_makes_weights_zero(taut, text, tmp_path):
    full, _ = train(taut, text, tmp_path)
    few, header = train(taut, text, tmp_path, "--l1", "0.3")
    assert header["options"]["l1"] == few.solution.l1 == package.load(tmp_path / "trained.taut").l1
    assert 0 < np.count_nonzero(few.w) < 0.5 * np.count_nonzero(full.w)


def test_both_solvers_reach_the_same_optimum(taut, text, tmp_path):
    found = [
        train(taut, text, tmp_path, "--solver", solver, "--tol", "1e-6")[0].solution
        for solver in ("sdca", "lbfgs")
    ]
    assert abs(found[0].primal - found[1].primal) <= found[0].gap + found[1].gap
    assert found[0].solver != found[1].solver


def test_the_certificate_says_what_it_is_of(taut, text, tmp_path):
    answer = taut("train", text, "-o", tmp_path / "m.taut", *TRAIN)
    assert "  a conditional random field\n" in answer.out
    assert "stochastic dual coordinate ascent" in answer.out
    result = json.loads(taut("train", text, "-o", tmp_path / "m.taut", *TRAIN, "--json").out)
    assert result["certificate"]["relative_gap"] <= defaults.CRF_TOL["default"]


def test_a_run_resumes_from_its_checkpoint(taut, text, tmp_path):
    options = ("--tol", "1e-6", "--checkpoint", tmp_path / "run.npz")
    whole, _ = train(taut, text, tmp_path, *options)
    half, _ = train(taut, text, tmp_path, *options, "--max-passes", "5")
    assert half.solution.passes < whole.solution.passes
    resumed, _ = train(taut, text, tmp_path, *options, "--resume")
    assert np.array_equal(resumed.w, whole.w)


def test_the_average_is_a_choice(taut, text, tmp_path):
    model, header = train(taut, text, tmp_path, "--averaging", "--max-passes", "2", "--tol", "0")
    assert header["options"]["averaging"]
    assert model.solution.returned == "average"


@pytest.mark.parametrize("decoding", ["viterbi", "posterior"])
def test_held_out_text_is_labelled_as_the_model_will_label(taut, text, tmp_path, decoding):
    options = ("--C", "1", "--dev", text, "--json", "--decoding", decoding)
    path = tmp_path / "m.taut"
    result = json.loads(taut("train", text, "-o", path, *TRAIN, *options).out)
    evaluated = json.loads(taut("eval", "-m", path, text, "--json").out)
    assert result["dev"].pop("pass") > 0
    assert result["dev"] == {"files": [str(text)], "metric": "span F1", "score": 1.0}
    assert evaluated["micro"]["f1"] == 1.0


def test_LBFGS_is_given_time_to_begin(taut, text, tmp_path):
    """Its first steps are small, and labels that are the same at each of them no reason to stop."""
    options = ("--C", "1", "--dev", text, "--solver", "lbfgs")
    model, header = train(taut, text, tmp_path, *options)
    assert header["options"]["patience"] is None  # the solver's
    assert np.nanmax(model.solution.history.score) == 1.0


def test_C_is_the_one_that_scores_best_on_held_out_text(taut, text, tmp_path):
    answer = taut("train", text, "-o", tmp_path / "m", *TRAIN, "--dev", text, "--C", "best")
    found = re.search(r"note: C = (\S+) scores 1.0000 on .*, best along the path", answer.err)
    model, header = load_chain(tmp_path / "m")
    assert model.solution.C == header["options"]["C"] == pytest.approx(float(found[1]), rel=1e-3)


def test_a_scheme_may_bind_training(taut, text, tmp_path):
    options = ("--tol", "1e-6", "--scheme", "IOB2")
    free, _ = train(taut, text, tmp_path, *options)
    bound, _ = train(taut, text, tmp_path, *options, "--scheme-in-training")
    assert bound.solution.primal < free.solution.dual  # fewer labellings share the probability


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_convergence_is_drawn(taut, text, tmp_path):
    train(taut, text, tmp_path, "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


# --- tagging --------------------------------------------------------------------------------------


def probabilities(path):
    """Of the true labels, sentence by sentence, by the estimator."""
    clf = package.load(path)
    number = {label: k for k, label in enumerate(clf.classes_.tolist())}
    return [
        [float(row[number[label]]) for row, label in zip(marginals, tags, strict=True)]
        for marginals, tags in zip(clf.predict_proba(X), TAGS, strict=True)
    ]


@both_ways
def test_every_label_has_its_probability_beside_it(taut, crf, text):
    expected = [
        [(*row, row[2], f"{p:.4g}") for row, p in zip(rows, ps, strict=True)]
        for rows, ps in zip(ROWS, probabilities(crf), strict=True)
    ]
    answer = taut("tag", "-m", crf, text, "--probabilities")
    assert answer == (0, columns(expected), "")
    assert taut("tag", "-m", crf, text, "--probabilities", "--threads", "2") == answer


@both_ways
def test_without_the_option_labels_are_alone(taut, crf, text):
    expected = columns([[(*row, row[2]) for row in rows] for rows in ROWS])
    assert taut("tag", "-m", crf, text).out == expected


@both_ways
def test_the_separator_of_a_line_goes_before_both(taut, crf, given):
    given("the\tDT\n\n# said\n\ncat NN\n")
    lines = taut("tag", "-m", crf, "--probabilities", "--comment", "#").out.splitlines()
    assert re.fullmatch(r"the\tDT\tB-NP\t0\.\d{1,4}", lines[0])
    assert lines[1:4] == ["", "# said", ""]
    assert re.fullmatch(r"cat NN \S+ 0\.\d{1,4}", lines[4])


@both_ways
def test_probabilities_are_given_what_is_forced(taut, crf, given):
    given("the DT _\ncat NN B-VP\nsleeps VBZ _\n\n")
    lines = taut("tag", "-m", crf, "--probabilities", "--forced-column", "2").out.splitlines()
    clf = package.load(crf)
    marginals = clf.predict_proba(X[:1], [[None, "B-VP", None]])[0]
    assert lines[1] == "cat NN B-VP B-VP 1"
    for line, row in zip(lines[:3], marginals, strict=True):
        label, p = line.split()[-2:]
        assert float(p) == pytest.approx(row[clf.classes_.tolist().index(label)], rel=5e-4)


@both_ways
def test_of_attribute_files_labels_and_probabilities_are_written(taut, folder, tmp_path):
    model, text = tmp_path / "m", folder / "train.crfsuite"
    assert taut("train", text, "-o", model, "--crf", "--C", "1", "--quiet").code == 0
    answer = taut("tag", "-m", model, text, "--probabilities").out
    sentences = [part.split("\n") for part in answer.strip().split("\n\n")]
    assert [[line.split("\t")[0] for line in part] for part in sentences] == TAGS
    assert all(0 < float(line.split("\t")[1]) < 1 for part in sentences for line in part)


@both_ways
def test_json_lines_get_probabilities_and_the_best_labellings(taut, crf, given):
    given("".join(json.dumps({"tokens": x, "id": k}) + "\n" for k, x in enumerate(X)))
    options = ("--format", "jsonl", "--probabilities", "--nbest", "3")
    answers = [json.loads(line) for line in taut("tag", "-m", crf, *options).out.splitlines()]
    expected = package.load(crf).predict_nbest(X, 3)
    assert [answer["id"] for answer in answers] == list(range(5))
    assert [answer["labels"] for answer in answers] == TAGS
    ten_digits = [[float(f"{p:.10g}") for p in ps] for ps in probabilities(crf)]
    assert [answer["probabilities"] for answer in answers] == ten_digits
    for answer, best in zip(answers, expected, strict=True):
        assert [ranked["labels"] for ranked in answer["nbest"]] == [labels for labels, _ in best]
        values = [ranked["probability"] for ranked in answer["nbest"]]
        assert values == [float(f"{p:.10g}") for _, p in best] == sorted(values, reverse=True)


def rounded(best, rank, t):
    """The columns of one of the best labellings."""
    labels, p = best[rank] if rank < len(best) else (["_"] * 99, 0.0)
    return labels[t], f"{p:.4g}"


@both_ways
def test_columns_get_two_more_for_each_of_the_best_labellings(taut, crf, text):
    best = package.load(crf).predict_nbest(X, 3)
    for more in ((), ("--probabilities",)):
        expected = [
            [
                (*row, row[2], *([f"{p:.4g}"] if more else []),
                 *(field for rank in range(3) for field in rounded(best[i], rank, t)))
                for t, (row, p) in enumerate(zip(rows, ps, strict=True))
            ]
            for i, (rows, ps) in enumerate(zip(ROWS, probabilities(crf), strict=True))
        ]  # fmt: skip
        assert taut("tag", "-m", crf, text, "--nbest", "3", *more) == (0, columns(expected), "")
    tagged = text.with_name("nbest.txt")
    taut("tag", "-m", crf, text, "--nbest", "3", "-o", tagged)
    assert taut("eval", "-m", crf, tagged) == taut("eval", "-m", crf, text)  # labels as they were


@both_ways
def test_every_line_has_as_many_columns_however_few_labellings_there_are(taut, crf, given):
    given("# one\nit PRP\n\nthe\tDT\ncat\tNN\n\n")
    lines = taut("tag", "-m", crf, "--nbest", "5", "--comment", "#").out.splitlines()
    assert lines[0] == "# one"
    [one] = [line.split(" ") for line in lines[1:2]]
    assert one[:3] == ["it", "PRP", "B-NP"]
    assert len(one) == 3 + 2 * 5
    assert {*one[3:9:2]} == {"B-NP", "B-VP", "O"}
    assert sum(map(float, one[4:10:2])) == pytest.approx(1.0, abs=1e-3)
    assert one[9:] == ["_", "0", "_", "0"]
    assert [line.count("\t") for line in lines[3:5]] == [2 + 2 * 5 - 1 + 1] * 2


@both_ways
def test_attribute_files_are_answered_with_the_best_labellings(taut, folder, tmp_path):
    model, text = tmp_path / "m", folder / "train.crfsuite"
    assert taut("train", text, "-o", model, "--crf", "--C", "1", "--quiet").code == 0
    answer = taut("tag", "-m", model, text, "--probabilities", "--nbest", "2").out
    sentences = [part.split("\n") for part in answer.strip().split("\n\n")]
    for part, tags in zip(sentences, TAGS, strict=True):
        label, p, first, p_first, second, p_second = zip(
            *(line.split("\t") for line in part), strict=True
        )
        assert list(label) == list(first) == tags
        assert list(second) != tags
        assert min(map(float, p)) >= float(p_first[0]) > float(p_second[0])
        assert len(set(p_first)) == len(set(p_second)) == 1


@both_ways
def test_there_are_no_more_labellings_than_are_possible(taut, crf, given):
    given('{"tokens": [["it", "PRP"]]}\n')
    line = taut("tag", "-m", crf, "--format", "jsonl", "--nbest", "9").out
    found = json.loads(line)["nbest"]
    assert [ranked["labels"] for ranked in found[:1]] == [["B-NP"]]
    assert {ranked["labels"][0] for ranked in found} == {"B-NP", "B-VP", "O"}  # I-NP cannot begin
    assert sum(ranked["probability"] for ranked in found) == pytest.approx(1.0)


@both_ways
def test_the_decoding_is_that_of_training_unless_another_is_named(taut, text, tmp_path, given):
    """Three labellings of two tokens, the best of which is not made of the best labels."""
    odd = tmp_path / "odd.txt"
    odd.write_text(4 * "a X\nb X\n\n" + 3 * "a Y\nb Y\n\n" + 3 * "a Y\nb Z\n\n")
    options = ("--template", "w[0]", "--C", "100", "--quiet")
    taut("train", odd, "-o", tmp_path / "m", "--crf", *options, "--decoding", "posterior")
    clf = package.load(tmp_path / "m")
    best, one_by_one = clf.predict_nbest([["a", "b"]], 1)[0][0][0], clf.predict([["a", "b"]])[0]
    assert best == ["X", "X"]
    assert one_by_one == ["Y", "X"]
    for option, expected in (
        ([], one_by_one),
        (["--decoding", "posterior"], one_by_one),
        (["--decoding", "viterbi"], best),
    ):
        given("a\nb\n\n")
        lines = taut("tag", "-m", tmp_path / "m", *option).out.splitlines()
        assert [line.split()[1] for line in lines[:2]] == expected
        report = json.loads(taut("eval", "-m", tmp_path / "m", odd, "--json", *option).out)
        assert report["sequence_accuracy"] == (0.0 if expected == one_by_one else 0.4)


@both_ways
def test_viterbi_is_what_an_SVM_does_anyway(taut, model, text):
    expected = taut("tag", "-m", model, text).out
    assert taut("tag", "-m", model, text, "--decoding", "viterbi").out == expected


# --- what is told of a model ----------------------------------------------------------------------


@both_ways
def test_the_likelihood_of_the_true_labels_is_told(taut, crf, text):
    mean = package.load(crf).log_likelihood(X, TAGS).sum() / 20
    assert taut("eval", "-m", crf, text).out.endswith(
        f"\nthe log-likelihood is {mean:.4g} per token\n"
    )
    result = json.loads(taut("eval", "-m", crf, text, "--json").out)
    assert result["log_likelihood"] == pytest.approx(mean, rel=1e-12)
    assert result["n_without_likelihood"] == 0


@both_ways
def test_sequences_without_likelihood_are_counted(taut, crf, text, tmp_path):
    """One with a label that was never seen, one that the scheme forbids."""
    odd = tmp_path / "odd.txt"
    odd.write_text("it PRP B-XX\n\n" + columns(ROWS[:3]) + "dogs NNS O\nsleep VBP I-NP\n\n")
    mean = package.load(crf).log_likelihood(X[:3], TAGS[:3]).sum() / 10
    assert taut("eval", "-m", crf, odd).out.endswith(
        f"\nthe log-likelihood is {mean:.4g} per token; left out: 2 of 5 sequences, for labels "
        "that were never seen in training or break IOB2\n"
    )
    result = json.loads(taut("eval", "-m", crf, odd, "--json").out)
    assert result["log_likelihood"] == pytest.approx(mean, rel=1e-12)
    assert result["n_without_likelihood"] == 2
    odd.write_text("dogs NNS O\nsleep VBP I-NP\n\n")
    assert json.loads(taut("eval", "-m", crf, odd, "--json").out)["log_likelihood"] is None
    assert "\nthe log-likelihood is not defined; left out: 1 of 1 sequences" in (
        taut("eval", "-m", crf, odd).out
    )


def test_an_SVM_has_no_likelihood(taut, model, text):
    assert "likelihood" not in taut("eval", "-m", model, text).out
    assert "log_likelihood" not in json.loads(taut("eval", "-m", model, text, "--json").out)


def test_inspection_says_that_it_is_a_CRF(taut, crf, model):
    out = taut("inspect", crf).out
    assert (
        "a conditional random field of temperature 1; predicted are the most probable labellings "
        "(viterbi decoding)\n"
    ) in out
    facts = json.loads(taut("inspect", crf, "--json").out)
    assert (facts["is_crf"], facts["temperature"], facts["decoding"]) == (True, 1.0, "viterbi")
    facts = json.loads(taut("inspect", model, "--json").out)
    assert (facts["is_crf"], facts["temperature"]) == (False, None)
    assert "random field" not in taut("inspect", model).out


def test_models_from_python_have_labels_of_other_kinds(taut, text, tmp_path):
    """Numbers, which text can only write as text."""
    names = ["B-NP", "B-VP", "I-NP", "O"]
    numbers = [[names.index(tag) for tag in tags] for tags in TAGS]
    clf = ChainCRF(template="chunking", random_state=0).fit(X, numbers)
    clf.save(tmp_path / "m")
    own = tmp_path / "numbers.txt"
    own.write_text(columns([[(*row[:2], str(names.index(row[2]))) for row in rows]
                            for rows in ROWS]))  # fmt: skip
    result = json.loads(taut("eval", "-m", tmp_path / "m", own, "--json").out)
    assert result["log_likelihood"] == pytest.approx(clf.log_likelihood(X, numbers).sum() / 20)
