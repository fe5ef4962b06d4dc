"""The command of Hu's paper, on built-in data: all figures, and what is in them."""

import csv

import pytest

from papers.hu.run import DATA, FIGURES, METHODS, OTRW, main


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hu")
    assert main(["--quick", "--seeds", "1", "--results", str(folder)]) == 0
    return folder


def table(folder, kind):
    with open(folder / f"figure1-{kind}.csv") as file:
        return list(csv.DictReader(file))


def test_every_figure_is_there(results):
    for figure in FIGURES:
        assert (results / f"figure{figure.name}.png").stat().st_size <= 150_000


@pytest.mark.parametrize("kind", ["crf", "svm", "otrw"])
def test_every_method_is_compared_on_all_three_problems(results, kind):
    rows = table(results, kind)
    assert {row["data"] for row in rows} == set(DATA)
    methods = {row["method"] for row in rows}
    assert methods == ({"IDAL", OTRW} if kind == "otrw" else set(METHODS))
    for row in rows:
        assert 0.0 <= float(row["score at the end"]) <= 1.0
        # Bounds of what is not negative, by ends of an interval.
        assert float(row["above at the end"]) >= -1e-6
        assert float(row["square at the end"]) >= 0.0


def test_multipliers_make_edges_agree_and_a_penalty_alone_does_not(results):
    square = {(row["data"], row["method"]): float(row["square at the end"])
              for row in table(results, "crf")}  # fmt: skip
    for name in DATA:
        assert square[name, "IDAL"] < 0.1 * square[name, "SoftSDCA"]
