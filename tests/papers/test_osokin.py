"""The command of Osokin et al. (2016), on built-in data."""

import csv

import pytest

from papers.osokin import caching, data, paths, staleness, toy, variants
from papers.osokin.run import FIGURES, main

PICTURES = {
    "1": ["figure1.png"],
    "no-refresh": ["no-refresh.png"],
    "2": ["figure2.png"],
    "3": ["figure3.png"],
    "4": ["figure4.png"],
    "5": ["figure5-OCR-small.png", "figure5-CoNLL.png", "figure5-horses-small.png"],
    "6": ["figure6-poses.png"],
    "7": ["figure7.png"],
    "8": ["figure8-OCR-small.png", "figure8-horses-small.png"],
    "toy": ["toy.png"],
    "safeguard": ["safeguard.png"],
    "box-step": ["box-step.png"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Drawn roughly: to arrange panels and legends takes most of the time."""
    folder = tmp_path_factory.mktemp("osokin")
    with pytest.MonkeyPatch.context() as patch:
        for module in (caching, paths, staleness, toy, variants):
            patch.setattr(module, "finish", roughly)
        assert main(["--quick", "--seeds", "1", "--results", str(folder)]) == 0
    return folder


def roughly(figure, path, about):
    assert about.startswith("python -m papers.osokin.run --figure ")
    assert all(len(axis.lines) <= 10 for axis in figure.axes)
    figure.set_layout_engine("none")
    figure.savefig(path, dpi=20)
    figure.clear()


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_every_figure_has_its_pictures(results):
    assert set(PICTURES) == {figure.name for figure in FIGURES} - {"table1"}
    for pictures in PICTURES.values():
        for picture in pictures:
            assert (results / picture).stat().st_size > 1000


def test_the_table_names_every_data_set(results):
    found = {row["data"]: row for row in table(results / "table1.csv")}
    assert set(found) == set(data.QUICK)
    assert found["horses-small"]["box constraints"] == "yes"
    assert found["OCR-small"]["box constraints"] == "no"


def test_the_eight_variants_are_those_of_the_paper(results):
    found = {row["method"] for row in table(results / "figure5.csv")}
    assert found == set(variants.VARIANTS)
    assert len(found) == 8


def test_sampling_by_gaps_is_faster_on_the_toy(results):
    visits = {(row["method"], row["n"]): row for row in table(results / "toy.csv")}
    by_gap, uniform = (float(visits[m, "8"]["median visits"]) for m in ("gap-BCFW", "BCFW"))
    assert by_gap <= 3 * 8 < uniform


def test_a_second_run_does_nothing_again_and_draws(results, capsys):
    before = (results / "rows.jsonl").read_text()
    arguments = ["--quick", "--seeds", "1", "--figure", "toy", "--results", str(results)]
    assert main(arguments) == 0
    assert (results / "rows.jsonl").read_text() == before
    assert "figure toy" in capsys.readouterr().out
    assert 10_000 < (results / "toy.png").stat().st_size <= 150_000


def test_missing_data_are_one_line_that_names_folder_and_file(tmp_path, capsys):
    folders = ["--data-home", str(tmp_path), "--results", str(tmp_path / "results")]
    assert main(["--figure", "1", *folders]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("paper-osokin: ")
    assert str(tmp_path) in said
    assert "letter.data.gz" in said
