"""Plots draw what the history and the confusion matrix hold."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from taut import BCFW, FrankWolfe, solve
from taut.metrics import confusion_matrix
from taut.plotting import plot_confusion, plot_convergence
from taut.structures import multiclass_problem


@pytest.fixture(scope="module")
def solutions():
    random = np.random.default_rng(0)
    problem = multiclass_problem(random.normal(size=(20, 4)), np.arange(20) % 3, 3)
    return {
        "FW": solve(problem, FrankWolfe(), C=0.1, tol=1e-2),
        "BCFW": solve(problem, BCFW(), C=0.1, tol=1e-2),
    }


def test_one_run(solutions):
    run = solutions["BCFW"]
    figure = plot_convergence(run)
    (gap,), (primal, dual) = figure.axes[0].lines, figure.axes[2].lines
    np.testing.assert_array_equal(gap.get_xdata(), run.history.oracle_calls / 20)
    np.testing.assert_array_equal(gap.get_ydata(), run.history.gap)
    np.testing.assert_array_equal(primal.get_ydata(), run.history.primal)
    np.testing.assert_array_equal(dual.get_ydata(), run.history.dual)
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_xdata(), run.history.seconds)
    plt.close(figure)


def test_several_runs_share_the_axes(solutions, tmp_path):
    figure = plot_convergence(solutions, relative=True)
    assert [line.get_label() for line in figure.axes[0].lines] == ["FW", "BCFW"]
    assert figure.axes[0].get_yscale() == "log"
    gap = figure.axes[0].lines[1].get_ydata()
    np.testing.assert_allclose(gap, solutions["BCFW"].history.gap / solutions["BCFW"].scale)
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


def test_nothing_to_plot():
    with pytest.raises(ValueError, match="there is no solution to plot"):
        plot_convergence({})


def cells(figure):
    """The text of each cell of a confusion matrix."""
    (image,) = figure.axes[0].images
    texts = np.full(image.get_array().shape, "", object)
    for text in figure.axes[0].texts:
        column, row = text.get_position()
        texts[row, column] = text.get_text()
    return texts.tolist()


def test_confusion_in_percent_of_the_true_label(tmp_path):
    y_true = [["a"] * 200, ["b"] * 4]
    y_pred = [["a"] * 199 + ["b"], ["b", "b", "b", "c"]]
    figure = plot_confusion(y_true, y_pred)
    axis = figure.axes[0]
    np.testing.assert_allclose(axis.images[0].get_array(), [[99.5, 0.5, 0], [0, 75, 25], [0, 0, 0]])
    # Neither the one error in 200 nor its absence elsewhere is rounded away.
    assert cells(figure) == [["99", "<1", ""], ["", "75", "25"], ["", "", ""]]
    for ticks in (axis.get_xticklabels(), axis.get_yticklabels()):
        assert [tick.get_text() for tick in ticks] == ["a", "b", "c"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("predicted", "true")
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


def test_confusion_in_counts_of_chosen_labels():
    y_true, y_pred = [["a", "b", "b", "c"]], [["a", "b", "a", "c"]]
    figure = plot_confusion(y_true, y_pred, labels=["b", "a"], normalize=False)
    matrix, _ = confusion_matrix(y_true, y_pred, labels=["b", "a"])
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), matrix)
    assert cells(figure) == [["1", "1"], ["", "1"]]
    plt.close(figure)


@pytest.mark.parametrize("n_labels", [2, 7, 30])
def test_no_number_leaves_its_cell(n_labels):
    random = np.random.default_rng(0)
    y_true = [random.integers(n_labels, size=5000)]
    figure = plot_confusion(y_true, [np.roll(y_true[0], 1)], normalize=False)
    figure.canvas.draw()
    axis = figure.axes[0]
    side = axis.get_window_extent().width / n_labels
    widest = max(text.get_window_extent().width for text in axis.texts)
    assert widest < side
    heights = [tick.get_window_extent().height for tick in axis.get_yticklabels()]
    assert max(heights) < side
    plt.close(figure)


def test_hundreds_of_labels_are_drawn_in_colour_only():
    figure = plot_confusion([np.arange(100)], [np.arange(100)])
    assert not figure.axes[0].texts
    plt.close(figure)


def test_no_labels_to_plot():
    with pytest.raises(ValueError, match="there is no label to plot"):
        plot_confusion([], [])


def test_without_matplotlib(monkeypatch, solutions):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plot_confusion needs matplotlib: pip install 'taut"):
        plot_confusion([["a"]], [["a"]])
    with pytest.raises(ImportError, match=r"plot_convergence needs matplotlib: pip install 'taut"):
        plot_convergence(solutions)
