"""The command of Solagna et al. (2022), on built-in text."""

import csv

import numpy as np
import pytest

from papers.shared.chunking import PADDED, made_up_chunks
from papers.solagna import run
from papers.solagna.run import METHODS, main


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solagna")
    assert main(["--quick", "--seeds", "1", "--results", str(folder)]) == 0
    return folder


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_both_lambdas_have_a_picture(results):
    for picture in ("figure1-lambda-20.png", "figure1-lambda-1.png"):
        assert 10_000 < (results / picture).stat().st_size <= 150_000


def test_every_method_has_gap_and_error_against_iterations_and_time(results):
    found = {
        (row["method"], row["axis"], row["quantity"]) for row in table(results / "figure1.csv")
    }
    assert found == {
        (method, axis, quantity)
        for method in METHODS
        for axis in ("iterations", "seconds")
        for quantity in ("gap", "training error")
    }


def test_more_attributes_have_a_lower_optimum(results):
    primal = [float(row["primal"]) for row in table(results / "optimum.csv")]
    assert primal == sorted(primal, reverse=True)


def test_the_training_error_is_the_mean_share_of_wrong_tags():
    chunks = made_up_chunks(12)
    w = np.random.default_rng(0).normal(size=chunks.problem().dim)
    found = run.decode(chunks.problem(), w)
    ends = np.cumsum(chunks.lengths)[:-1]
    wrong = [part.mean() for part in np.split(found != chunks.tags, ends)]
    assert run.training_error(chunks.problem(), w) == pytest.approx(np.mean(wrong), rel=1e-12)


def test_marks_outside_of_a_sentence_are_attributes_too():
    plain, padded = made_up_chunks(), made_up_chunks(template=PADDED)
    assert padded.X.shape[1] > plain.X.shape[1]
    assert np.all(np.diff(padded.X.indptr) == 19)  # windows that always have an attribute


def test_the_first_sentences_have_their_own_attributes_and_tags():
    chunks = made_up_chunks()
    first = chunks.first(5)
    assert np.all(np.bincount(first.X.indices) > 0)
    assert first.X.shape[0] == chunks.lengths[:5].sum() == len(first.tags)
    assert first.tags.max() + 1 == len(first.names) <= len(chunks.names)


def test_missing_data_are_one_line_that_names_folder_and_file(tmp_path, capsys):
    status = main(["--data-home", str(tmp_path), "--results", str(tmp_path / "results")])
    assert status == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("paper-solagna: ")
    assert str(tmp_path) in said
    assert "train.txt.gz" in said
