"""The command of Yu & Rousu's reproduction, and what it is made of, on tiny data."""

import gzip
from itertools import permutations, product

import numpy as np
import pytest

from papers.shared.paper import Settings
from papers.yu.alignment import (
    DICE,
    Matching,
    Sentence,
    error_rate,
    hansards,
    learned_error,
    made_up_sentences,
)
from papers.yu.finite import unfinished
from papers.yu.problems import alignment_problem, problem_of
from papers.yu.run import main
from papers.yu.runs import measured
from papers.yu.segmentation import forest, grids
from papers.yu.word_pairs import ITERATIONS, NOTHING, WordPairs
from taut import solve
from taut.solvers import BCFW, Simplicial

FIGURES = ("finite", "solvers", "workingset", "slack", "alignment")
ENGLISH = [["the", "house"], ["the", "book"], ["a", "book"], ["the", "the", "end"]]
FRENCH = [["la", "maison"], ["le", "livre"], ["un", "livre"], ["la", "fin"]]
QUICK = Settings(quick=True, seeds=1)


def test_the_command_draws_all_figures_and_does_no_work_twice(tmp_path, capsys):
    command = ["--quick", "--seeds", "1", "--results", str(tmp_path)]
    assert main(command) == 0
    for name in FIGURES:
        assert (tmp_path / f"{name}.png").stat().st_size <= 150_000
        assert len((tmp_path / f"{name}.csv").read_text().splitlines()) > 2
    rows = (tmp_path / "rows.jsonl").read_text()
    capsys.readouterr()
    assert main([*command, "--figure", "finite"]) == 0
    assert (tmp_path / "rows.jsonl").read_text() == rows


def test_data_that_is_not_there_is_named(tmp_path, capsys):
    command = ["--data-home", str(tmp_path), "--results", str(tmp_path / "out")]
    assert main([*command, "--figure", "alignment"]) == 2
    assert "hansards_train.en.gz" in capsys.readouterr().err


# --- curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("simplexes", ["product", "one"])
def test_looks_at_a_decomposition_change_nothing(simplexes):
    problem = problem_of("grids", QUICK)
    found = measured(problem, Simplicial(simplexes), 0.1, seconds=60.0, enough=1e-9)
    alone = solve(problem, Simplicial(simplexes), C=0.1, tol=1e-9, max_passes=500)
    duals = dict(zip(alone.history.passes, alone.history.iterate_dual, strict=True))
    for passes, dual, calls in zip(found["passes"], found["dual"], found["calls"], strict=True):
        assert duals[passes] == dual
        assert calls == passes  # those that it took to get there
    assert found["relative"][-1] <= 1e-9


def test_a_working_set_pays_for_the_passes_that_choose_it():
    problem = problem_of("grids", QUICK)
    found = measured(problem, Simplicial(working_set=3), 0.1, seconds=60.0, enough=1e-6)
    # A certificate of every pass, whose labellings are those of one iteration in four.
    assert found["calls"][-1] == pytest.approx(1.75 * found["passes"][-1], abs=1.0)
    assert np.diff(found["dual"]).min() >= -1e-12


def test_methods_meet_at_the_optimum():
    problem = alignment_problem(made_up_sentences(10, 0))
    solvers = (Simplicial(), Simplicial("one"), BCFW("gap", "pairwise"))
    ends = [measured(problem, one, 0.1, seconds=60.0, enough=1e-4) for one in solvers]
    assert max(one["dual"][-1] for one in ends) <= min(one["primal"][-1] for one in ends) + 1e-12


def test_one_point_more_than_the_face_has_dimensions_is_enough():
    found = unfinished(2, 6)
    assert found["r = dim F + 1"] == 0
    assert found["problems"] == 6


# --- word alignment -----------------------------------------------------------------------------


def all_matchings(shape):
    j, k = shape
    for columns in {p[:j] for p in permutations([*range(k), *[-1] * j])}:
        y = np.zeros(shape, np.int8)
        for row, column in enumerate(columns):
            if column >= 0:
                y[row, column] = 1
        yield y


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_finds_the_best_of_all_matchings(seed):
    sentence = made_up_sentences(1, seed, size=4)[0]
    model, x, y = Matching(), sentence.features, sentence.truth
    w = np.random.default_rng(seed).normal(size=x.shape[2])
    matchings = list(all_matchings(y.shape))

    def value(other):
        return model.loss(y, other) + w @ model.joint_feature(x, other)

    assert value(model.oracle(w, x, y)) == pytest.approx(max(map(value, matchings)))
    scores = [w @ model.joint_feature(x, other) for other in matchings]
    assert w @ model.joint_feature(x, model.predict(w, x)) == pytest.approx(max(scores))


def test_truth_costs_nothing_possible_links_neither_and_others_do():
    possible = np.array([[1, 1, 0], [0, 1, 0]], bool)
    sure = np.array([[1, 0, 0], [0, 1, 0]], bool)
    truth = Sentence(np.zeros((2, 3, 2)), sure, possible).truth
    assert truth.tolist() == [[1, 2, 0], [0, 1, 0]]
    model = Matching()
    assert model.loss(truth, truth) == 0
    assert model.loss(truth, np.array([[1, 0, 0], [0, 0, 0]], np.int8)) == 3
    assert model.loss(truth, np.array([[0, 1, 0], [0, 0, 1]], np.int8)) == 3 + 3 + 1


def test_sure_links_that_are_no_matching_leave_a_largest_one():
    both = np.array([[1, 1], [0, 1]], bool)
    truth = Sentence(np.zeros((2, 2, 2)), both, both).truth
    assert truth.tolist() == [[1, 2], [0, 1]]


def test_error_rate_by_hand():
    """One sure link found and one missed, one possible link found, one wrong."""
    sure = np.array([[1, 0], [0, 0], [0, 1]], bool)
    possible = sure | np.array([[0, 0], [1, 0], [0, 0]], bool)
    sentence = Sentence(np.zeros((3, 2, 2)), sure, possible)
    found = np.array([[1, 0], [1, 0], [1, 0]], np.int8)
    assert error_rate([found], [sentence]) == pytest.approx(1 - (1 + 2) / (3 + 2))


def test_learning_lowers_the_error_rate():
    training, held_out = made_up_sentences(20, 0), made_up_sentences(20, 1)
    solution = solve(alignment_problem(training), Simplicial(), C=0.1, tol=1e-3)
    one_feature = np.eye(len(solution.w))[DICE]
    assert learned_error(solution.w, held_out) < 0.5 * learned_error(one_feature, held_out)


def test_dice_coefficients_count_sentences():
    dice = WordPairs(ENGLISH, FRENCH).dice(["the", "book", "new"], ["la", "livre"])
    assert dice == pytest.approx(np.array([[2 * 2 / (3 + 2), 2 / (3 + 2)], [0, 1], [0, 0]]))


def test_model_1_is_that_of_its_definition():
    t = {}
    english = [[NOTHING, *words] for words in ENGLISH]
    for _ in range(ITERATIONS):
        count = {}
        for e_words, f_words in zip(english, FRENCH, strict=True):
            for f in f_words:
                whole = sum(t.get((e, f), 1.0) for e in e_words)
                for e in e_words:
                    count[e, f] = count.get((e, f), 0.0) + t.get((e, f), 1.0) / whole
        totals = {e: sum(c for (other, _), c in count.items() if other == e) for e, _ in count}
        t = {(e, f): c / totals[e] for (e, f), c in count.items()}
    e_words, f_words = ["the", "book"], ["le", "livre", "inconnu"]
    forward, _ = WordPairs(ENGLISH, FRENCH).posteriors(e_words, f_words)
    for (j, e), (k, f) in product(enumerate(e_words), enumerate(f_words)):
        whole = sum(t.get((other, f), 0.0) for other in [NOTHING, *e_words])
        assert forward[j, k] == pytest.approx(t.get((e, f), 0.0) / whole if whole else 0.0)


@pytest.fixture
def tiny_hansards(tmp_path):
    """Four sentence pairs as corpus, as test set and as trial set."""
    hansards.cache_clear()
    folder = tmp_path / "word_alignment"
    folder.mkdir()

    def write(name, lines):
        with gzip.open(folder / name, "wt", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    for part in ("train", "test", "trial"):
        write(f"hansards_{part}.en.gz", map(" ".join, ENGLISH))
        write(f"hansards_{part}.fr.gz", map(" ".join, FRENCH))
        write(f"hansards_{part}.wa.gz", ["1 1 1 S", "0001 2 2 S", "2 1 1 P", "4 3 2 S"])
    yield tmp_path, write
    hansards.cache_clear()


def test_files_are_read(tiny_hansards):
    test, trial = hansards(str(tiny_hansards[0]))
    assert len(test) == len(trial) == 4
    assert test[0].sure.tolist() == [[True, False], [False, True]]
    assert test[1].possible.tolist() == [[True, False], [False, False]]
    assert not test[1].sure.any()
    assert np.isfinite(test[3].features).all()


@pytest.mark.parametrize("line", ["1 1", "1 1 x S", "9 1 1 S", "1 0 1 S", "1 1 7 P"])
def test_links_that_are_none_are_named(tiny_hansards, line):
    home, write = tiny_hansards
    write("hansards_test.wa.gz", ["1 1 1 S", line])
    with pytest.raises(ValueError, match=r"hansards_test\.wa\.gz.*2.*sentence, two positions"):
        hansards(str(home))


def test_a_forest_keeps_what_connects_and_no_cycle():
    (nodes, edges), *_ = grids(1, 5)[0]
    similarity = np.random.default_rng(0).random((len(edges), 2))
    _, kept, _ = forest((nodes, edges, similarity))
    assert len(kept) == len(nodes) - 1
    group = np.arange(len(nodes))
    for a, b in kept:
        assert group[a] != group[b]
        group[group == group[b]] = group[a]
