"""The command of Meshi's paper, on built-in data: all figures, and what is in them."""

import csv

import pytest

from papers.meshi.run import FIGURES, main


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshi")
    assert main(["--quick", "--seeds", "1", "--results", str(folder)]) == 0
    return folder


def table(folder, name):
    with open(folder / name) as file:
        return list(csv.DictReader(file))


def test_every_figure_is_there(results):
    for figure in FIGURES:
        assert (results / f"figure{figure.name}.png").stat().st_size <= 150_000


def test_primal_and_dual_of_the_soft_problem_enclose_its_optimum(results):
    """g_rho is never below f_rho, and g never above g_rho nor, but for the tolerance, below g*."""
    rows = table(results, "figure1.csv")
    assert {float(row["rho"]) for row in rows} == {0.1, 1.0, 10.0}
    for row in rows:
        f_rho, g, g_rho = (float(row[name]) for name in ("f_rho", "g", "g_rho"))
        assert f_rho <= g_rho * (1 + 1e-6)
        assert g <= g_rho * (1 + 1e-6)
        assert float(row["g / g* - 1"]) >= -1e-3


def test_every_trainer_is_compared_on_all_three_problems(results):
    rows = table(results, "figure2.csv")
    assert len(rows) == 3 * 8
    for row in rows:
        assert float(row["g / g* - 1 at the end"]) >= -1e-3
        assert 0.0 <= float(row["score at the end"]) <= 1.0


def test_a_looser_penalty_is_farther_from_the_hard_optimum(results):
    rows = table(results, "figure3.csv")
    for name in ("yeast-meshi", "rcv1", "two-level"):
        tight, loose = (
            sum(float(row["difference"]) for row in rows
                if row["data"] == name and row["penalty"].startswith(penalty))
            for penalty in ("ρ = 1", "ρ = M")
        )  # fmt: skip
        assert loose >= tight - 1e-3


def test_missing_data_are_one_line_with_the_folder(tmp_path, capsys):
    arguments = ["--figure", "1", "--data-home", str(tmp_path), "--results", str(tmp_path / "out")]
    assert main(arguments) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert str(tmp_path) in message
    assert "yeast" in message
