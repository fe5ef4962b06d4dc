"""``taut train --cv``: every sentence is labelled once, by a model that has not seen it."""

import json
import signal

import numpy as np
import pytest
from cli.sentences import ROWS, columns

from taut.cli import cross_validate
from taut.cli.labelled import chosen

OPTIONS = ("--template", "chunking", "--C", "1")
# Enough that no part lacks a label.
MANY = [ROWS[k % len(ROWS)] for k in range(23)]


@pytest.fixture
def many(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text(columns(MANY))
    return path


def parts(n, n_folds, seed):
    order = np.random.RandomState(seed).permutation(n)
    return [sorted(order[k::n_folds].tolist()) for k in range(n_folds)]


@pytest.mark.parametrize("more", [(), ("--crf",), ("--class-weight", "O=2")])
def test_scores_are_those_of_models_trained_and_evaluated_by_hand(taut, many, tmp_path, more):
    run = (*OPTIONS, *more, "--max-passes", "2", "--tol", "0")
    result = json.loads(taut("train", many, "--cv", "3", "--seed", "5", "--json", *run).out)
    expected = []
    for part in parts(len(MANY), 3, 5):
        names = tmp_path / "rest.txt", tmp_path / "part.txt"
        names[0].write_text(columns([rows for k, rows in enumerate(MANY) if k not in part]))
        names[1].write_text(columns([MANY[k] for k in part]))
        model = tmp_path / "m"
        taut("train", names[0], "-o", model, "--seed", "5", "--quiet", *run)
        expected.append(
            json.loads(taut("eval", "-m", model, names[1], "--json").out)["micro"]["f1"]
        )
    cv = result["cv"]
    assert [fold["score"] for fold in cv["folds"]] == expected
    assert cv["metric"] == "span F1"
    assert cv["mean"] == pytest.approx(np.mean(expected))
    assert cv["standard_deviation"] == pytest.approx(np.std(expected, ddof=1))
    assert sum(fold["sentences"] for fold in cv["folds"]) == result["sentences"] == len(MANY)
    assert sum(fold["tokens"] for fold in cv["folds"]) == result["tokens"]


@pytest.mark.parametrize("name", ["train.txt", "train.crfsuite", "train.jsonl"])
def test_all_formats_can_be_divided(taut, folder, name):
    answer = taut("train", folder / name, "--cv", "2")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("span F1 0.")
    assert answer.out.endswith(")\n")


def test_each_part_is_told_on_standard_error(taut, many):
    answer = taut("train", many, "--cv", "3", *OPTIONS)
    said = [line.rpartition(" ") for line in answer.err.splitlines()]
    assert [words for words, _, _ in said] == [f"taut: part {k} of 3: span F1" for k in (1, 2, 3)]
    scores = [float(score) for _, _, score in said]
    assert answer.out == (
        f"span F1 {np.mean(scores):.4f}, standard deviation {np.std(scores, ddof=1):.4f} over 3 "
        f"folds (from {min(scores):.4f} to {max(scores):.4f})\n"
    )


def test_other_labels_are_scored_by_token(taut, tmp_path):
    text = tmp_path / "pos.txt"
    text.write_text(columns([[row[:2] for row in rows] for rows in MANY]))
    answer = taut("train", text, "--cv", "2", "--template", "w[0]")
    assert answer.out.startswith("token accuracy 1.0000, standard deviation 0.0000 over 2 folds")


def test_with_a_place_for_it_a_model_of_all_is_saved_too(taut, many, tmp_path):
    alone, after = tmp_path / "alone", tmp_path / "after"
    plain = taut("train", many, "-o", alone, *OPTIONS, "--json")
    answer = taut("train", many, "-o", after, *OPTIONS, "--cv", "2")
    lines = answer.out.splitlines()
    assert lines[0].startswith("span F1 ")
    assert lines[1].startswith("trained on 23 sentences")
    weights = [json.loads(taut("inspect", m, "--json", "--top", "all").out) for m in (alone, after)]
    assert weights[0]["strongest_features"] == weights[1]["strongest_features"]
    result = json.loads(taut("train", many, "-o", after, *OPTIONS, "--cv", "2", "--json").out)
    assert json.loads(plain.out)["cv"] is None
    assert len(result["cv"]["folds"]) == 2
    assert result["model"] == str(after)


def test_without_one_nothing_is_written(taut, many, tmp_path):
    assert taut("train", many, "--cv", "2", *OPTIONS).code == 0
    assert list(tmp_path.iterdir()) == [many]


def test_what_does_not_converge_is_noted(taut, many):
    answer = taut("train", many, "--cv", "2", *OPTIONS, "--max-passes", "1", "--tol", "0")
    assert answer.err.count("note: stopped at --max-passes before reaching the tolerance") == 2


def test_a_label_that_is_in_one_part_only_is_no_error(taut, many):
    rare = columns([[("x", "X", "B-RARE")]])
    many.write_text(many.read_text() + rare)
    answer = taut("train", many, "--cv", "3", *OPTIONS, "--class-weight", "B-RARE=2")
    assert answer.code == 0, answer.err


def test_what_cannot_be_divided_is_refused(fails, text, tmp_path):
    assert fails("train", text, "--cv", "6", *OPTIONS).endswith(
        f"--cv 6: {text}: there are 5 sentences; make at most 5 parts of them"
    )
    odd = tmp_path / "odd.txt"
    odd.write_text("a X\n\nb Y\n")
    assert f"{odd}, part 1 left out: there is one label only, " in fails(
        "train", odd, "--cv", "2", "--template", "w[0]"
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_result(taut, many, monkeypatch, number, code):
    solved = cross_validate.solved

    def signalled(training, held_out, options):
        def stop(row):
            signal.raise_signal(number)

        monkeypatch.setattr("taut.solvers.progress.Progress.line", lambda *rest: None)
        monkeypatch.setattr("taut.cli.learning.solve", with_callback(stop))
        return solved(training, held_out, options)

    def with_callback(callback):
        from taut.solvers import solve

        return lambda *rest, **more: solve(*rest, **more, callback=callback)

    monkeypatch.setattr(cross_validate, "solved", signalled)
    answer = taut("train", many, "--cv", "2", *OPTIONS, "--tol", "0")
    assert (answer.code, answer.out) == (code, "")
    assert answer.err == f"taut: {'interrupted' if code == 130 else 'terminated'}\n"


def test_a_part_is_what_a_file_of_it_would_be(many, tmp_path):
    """Down to the numbers that values have, on which the order of sums depends."""
    from taut.cli.data import Layout, read_labelled

    whole, _ = read_labelled([str(many)], Layout(), True)
    kept = [3, 4, 8, 17]
    few = tmp_path / "few.txt"
    few.write_text(columns([MANY[k] for k in kept]))
    expected, _ = read_labelled([str(few)], Layout(), True)
    found = chosen(whole, np.array(kept))
    assert repr(found.text) == repr(expected.text)
    assert repr(found.labels) == repr(expected.labels)
    lines = many.read_text().split("\n")
    words = [lines[line - 1].split()[0] for line in found.places.lines.tolist()]
    assert words == [row[0] for k in kept for row in MANY[k]]
