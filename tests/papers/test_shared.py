"""What the reproductions share: kept rows, curves measured offline, the command, figures."""

import numpy as np
import pytest

from papers.shared.curves import (
    C_of,
    Enough,
    cost_to,
    curve,
    first_at,
    new_run,
    offline_certificate,
    on_grid,
)
from papers.shared.figures import (
    COLOURS,
    MOST_BYTES,
    OTHERS,
    draw_runs,
    finish,
    panels,
    style,
    write_csv,
)
from papers.shared.paper import Figure, Work, in_words, run_paper
from papers.shared.rows import Rows, named, parts_of, rows_by
from taut.datasets import make_digit_words
from taut.solvers import BCFW
from taut.structures.chain import chain_problem


@pytest.fixture(scope="module")
def words():
    X, y = make_digit_words(30)
    return chain_problem(np.concatenate(X), np.array([len(w) for w in y]), np.concatenate(y), 10)


def gap_run(words):
    return new_run(words, BCFW("gap", refresh=2), C_of(1 / 30, words))


def test_a_curve_ends_where_an_undisturbed_run_is(words):
    looked_at, alone = gap_run(words), gap_run(words)
    found = curve(looked_at, seconds=60.0, passes=12.0)
    alone.first_certificate(alone.worst_losses(cold=True), cold=True)
    while alone.steps < looked_at.steps:
        alone.advance(min(2 * words.n, looked_at.steps - alone.steps))
        if alone.steps % (2 * words.n) == 0:
            alone.certify()
    assert np.array_equal(looked_at.state.w, alone.state.w)
    assert found["calls"][-1] == alone.oracle_calls / words.n


def test_a_curve_has_looks_between_certificates(words):
    found = curve(gap_run(words), seconds=60.0, passes=10.0)
    assert sum(p < 2 for p in found["passes"]) > 5
    assert found["gap"] == pytest.approx(np.subtract(found["primal"], found["dual"]))
    assert found["gap"][-1] < 0.2 * found["gap"][0]


def test_a_curve_ends_where_the_gap_is_small_enough(words):
    found = curve(gap_run(words), seconds=60.0, enough=0.2)
    assert found["gap"][-1] <= 0.2 < found["gap"][-2]
    assert found["calls"][-2] < first_at(found, "calls", "gap", 0.2) <= found["calls"][-1]
    assert first_at(found, "calls", "gap", -1.0) is None


def test_an_offline_certificate_is_free_and_changes_nothing(words):
    run = gap_run(words)
    run.advance(40)
    before = run.oracle_calls, run.state.w.copy(), run.state.sampler.tree.copy()
    assert offline_certificate(run).gap > 0
    assert run.oracle_calls == before[0]
    assert np.array_equal(run.state.w, before[1])
    assert np.array_equal(run.state.sampler.tree, before[2])


# --- reading curves ---


def test_between_two_looks_curves_are_lines_in_logarithms():
    power = {"x": [0, 1, 4, 100], "y": [9, 1, 1 / 16, 1e-4]}  # x ** -2 after the start
    grid, values = on_grid([power], "x", "y", points=9)
    assert values[0] == pytest.approx(grid**-2.0)
    assert first_at(power, "x", "y", 1 / 9) == pytest.approx(3.0)


def test_where_values_are_not_positive_lines_are_straight():
    falling = {"x": [0, 2], "y": [3, -1]}
    assert first_at(falling, "x", "y", 1) == pytest.approx(1.0)
    assert first_at(falling, "x", "y", 4) == 0.0


def test_steps_without_an_oracle_call_count_by_the_later_look():
    cached = {"x": [0, 1, 1, 4], "y": [9, 8, 4, 2]}
    assert first_at(cached, "x", "y", 4) == 1.0
    assert on_grid([cached], "x", "y", points=2)[1][0].tolist() == [4, 2]


def test_only_a_run_that_was_good_enough_is_held_beyond_its_end():
    runs = [{"x": [0, 1, 4], "y": [9, 5, 2]}, {"x": [0, 1, 8], "y": [9, 4, 3]},
            {"x": [0, 1, 16], "y": [9, 4, 1]}]  # fmt: skip
    grid, values = on_grid(runs, "x", "y", points=5, enough=Enough("y", 2))
    assert grid == pytest.approx([1, 2, 4, 8, 16])
    assert values[0, 2:].tolist() == pytest.approx([2, 2, 2])
    assert np.isnan(values[1]).tolist() == [False] * 4 + [True]
    assert np.isnan(on_grid(runs, "x", "y", points=5)[1][0, 3:]).all()


def test_a_run_that_never_comes_to_a_level_takes_longer_than_all_others():
    quick, slow, never = ({"x": [0, x], "y": [4, y]} for x, y in ((1, 1), (3, 1), (9, 2)))
    cost = cost_to([quick, slow, never], "x", "y", 1)
    assert (cost.median, cost.least, cost.most, cost.reached) == (3.0, 1.0, "", 2)
    assert cost_to([quick, never, never], "x", "y", 1).median == ""


def test_rows_are_grouped_by_entries_of_their_keys_and_renamed():
    found = [({"data": d, "method": m}, {"at": d + m}) for d in "ab" for m in "xy"]
    assert list(parts_of(found, "data")) == ["a", "b"]
    assert rows_by(found, "method")["y"] == [{"at": "ay"}, {"at": "by"}]
    assert rows_by(named(found, {"x": "z"}), "data", "method")["b", "z"] == [{"at": "bx"}]


# --- the command ---


def counting_figure(done, fail_at=None):
    """A figure of four pieces of work that writes down what was done and what it was given."""

    def measure(seed):
        if seed == fail_at:
            raise KeyboardInterrupt
        done.append(seed)
        return {"twice": 2 * seed}

    def works(settings):
        return [Work({"seed": s}, 1.0, lambda s=s: measure(s)) for s in range(settings.seeds)]

    def draw(found, settings, folder, about):
        write_csv(folder / "one.csv", ["seed", "twice"],
                  [[key["seed"], row["twice"]] for key, row in found])  # fmt: skip

    return Figure("1", "counts", works, draw)


def test_work_is_done_once_and_a_stopped_run_goes_on(tmp_path, capsys):
    done = []
    command = ["--seeds", "4", "--results", str(tmp_path)]
    stopped = run_paper("toy", "A toy", [counting_figure(done, fail_at=2)], command)
    assert (stopped, done) == (130, [0, 1])
    assert "goes on from here" in capsys.readouterr().err
    assert run_paper("toy", "A toy", [counting_figure(done)], command) == 0
    assert done == [0, 1, 2, 3]
    assert (tmp_path / "one.csv").read_text() == "seed,twice\n0,0\n1,2\n2,4\n3,6\n"
    assert "python -m papers.toy.run --figure 1 --seeds 4; commit" in capsys.readouterr().out


def test_quick_and_full_rows_are_not_confused(tmp_path):
    done = []
    command = ["--seeds", "1", "--results", str(tmp_path)]
    run_paper("toy", "A toy", [counting_figure(done)], [*command, "--quick"])
    run_paper("toy", "A toy", [counting_figure(done)], command)
    assert done == [0, 0]


def test_figures_share_work_with_the_same_key(tmp_path):
    done = []
    first = counting_figure(done)
    both = [first, first._replace(name="2")]
    run_paper("toy", "A toy", both, ["--seeds", "2", "--results", str(tmp_path)])
    assert done == [0, 1]


def test_a_row_half_written_by_a_killed_run_is_measured_again(tmp_path):
    rows = Rows(tmp_path / "rows.jsonl")
    rows.add({"seed": 0}, lambda: {"gap": 1.0})
    rows.add({"seed": 1}, lambda: {"gap": 2.0})
    text = rows.path.read_text()
    rows.path.write_text(text[:-20])
    found = Rows(rows.path)
    assert found.find({"seed": 0})["found"] == {"gap": 1.0}
    assert found.find({"seed": 1}) is None
    found.add({"seed": 1}, lambda: {"gap": 3.0})
    assert Rows(rows.path).find({"seed": 1})["found"] == {"gap": 3.0}


def test_data_that_is_not_there_is_one_line(tmp_path, capsys):
    def works(settings):
        raise FileNotFoundError("no file letter.data.gz in the folder data/ocr_letters")

    figure = counting_figure([])._replace(works=works)
    assert run_paper("toy", "A toy", [figure], ["--results", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == "paper-toy: no file letter.data.gz in the folder data/ocr_letters\n"


def test_missing_files_are_known_before_the_first_work(tmp_path, capsys, monkeypatch):
    done = []
    first = counting_figure(done)
    late = first._replace(name="2", files=["ocr/letters.gz"])
    command = ["--results", str(tmp_path)]
    assert run_paper("toy", "A toy", [first, late], [*command, "--data-home", str(tmp_path)]) == 2
    assert str(tmp_path / "ocr/letters.gz") in capsys.readouterr().err
    monkeypatch.delenv("TAUT_DATA", raising=False)
    assert run_paper("toy", "A toy", [first, late], command) == 2
    said = capsys.readouterr().err
    assert "'ocr/letters.gz'" in said
    assert "--data-home FOLDER" in said
    assert done == []


def test_figures_are_drawn_as_soon_as_their_work_is_done(tmp_path):
    def works(settings):
        def fail():
            raise KeyboardInterrupt

        return [Work({"other": 1}, 1.0, fail)]

    figures = [counting_figure([]), counting_figure([])._replace(name="2", works=works)]
    assert run_paper("toy", "A toy", figures, ["--results", str(tmp_path)]) == 130
    assert (tmp_path / "one.csv").exists()


def test_what_is_being_done_is_said_in_words(tmp_path, capsys):
    run_paper("toy", "A toy", [counting_figure([])], ["--seeds", "1", "--results", str(tmp_path)])
    told = capsys.readouterr()
    assert "0 of 1 done, less than a CPU minute left; figure 1: seed 0" in told.err
    assert "--figure 1 --seeds 1; commit" in told.out
    key = {"data": "CoNLL", "lam": 0.1, "method": "BCFW", "seed": 3, "growth": 2.0, "bounds": None}
    assert in_words(key) == "CoNLL, lambda 0.1, BCFW, seed 3"


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_a_number_of_seeds_is_at_least_one(number, capsys):
    with pytest.raises(SystemExit):
        run_paper("toy", "A toy", [counting_figure([])], ["--seeds", number])
    assert f"{number!r}; expected a number of runs" in capsys.readouterr().err


# --- figures ---


def some_curves():
    x = np.geomspace(0.1, 100, 40)
    return [{"calls": x, "gap": (1 + 0.1 * seed) / x} for seed in range(3)]


def test_a_figure_is_small_and_has_its_legend(tmp_path):
    figure, axes = panels(1, 2)
    for axis in axes.flat:
        draw_runs(axis, {"BCFW": some_curves(), "own": some_curves()}, "calls", "gap")
    finish(figure, tmp_path / "one.png", "a line")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["BCFW", "own"]
    assert 5_000 < (tmp_path / "one.png").stat().st_size <= MOST_BYTES


def test_more_lines_than_anyone_can_tell_apart_are_refused():
    _, axes = panels(1, 1)
    with pytest.raises(ValueError, match="9 lines in one panel; at most 8"):
        draw_runs(axes[0, 0], {str(k): some_curves() for k in range(9)}, "calls", "gap")


def test_methods_of_different_families_have_different_colours():
    assert len({*COLOURS.values(), *OTHERS}) == len(COLOURS) + len(OTHERS)


def test_variants_have_the_colour_of_their_family_and_another_dash():
    for name in ("BCFW, LP solver", "BCFW, fixed steps", "BCFW, cache"):
        assert style(name)["color"] == style("BCFW")["color"]
        assert style(name)["linestyle"] != style("BCFW")["linestyle"]
    assert style("Uniform") == style("BCFW")


def test_a_short_logarithmic_axis_has_plain_numbers(tmp_path):
    figure, axes = panels(1, 1)
    axes[0, 0].plot([1, 2], [150, 700])
    axes[0, 0].set(yscale="log")
    figure.savefig(tmp_path / "before.png")
    finish(figure, tmp_path / "one.png", "a line")
    shown = [text.get_text() for text in axes[0, 0].get_yticklabels()]
    assert {"200", "500"} <= set(shown)
    assert not any(text.get_text() for text in axes[0, 0].get_yticklabels(minor=True))
