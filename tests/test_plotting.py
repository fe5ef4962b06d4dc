"""Plots draw what they are given: histories, confusion matrices, segmentations, pair scores."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from taut import BCFW, FrankWolfe, solve
from taut.metrics import confusion_matrix
from taut.plotting import plot_confusion, plot_convergence, plot_pair_scores, plot_segmentation
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
    (gap,), (primal, dual, *_) = figure.axes[0].lines, figure.axes[2].lines
    np.testing.assert_array_equal(gap.get_xdata(), run.history.oracle_calls / 20)
    np.testing.assert_array_equal(gap.get_ydata(), run.history.gap)
    np.testing.assert_array_equal(primal.get_ydata(), run.history.primal)
    np.testing.assert_array_equal(dual.get_ydata(), run.history.dual)
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_xdata(), run.history.seconds)
    plt.close(figure)


def test_the_curve_ends_at_the_solution_and_the_iterate_is_faint():
    random = np.random.default_rng(0)
    problem = multiclass_problem(random.normal(size=(20, 4)), np.arange(20) % 3, 3)
    averaged = BCFW(order="permuted", averaging=True, refresh=1)
    run = solve(problem, averaged, C=10.0, tol=0.0, max_passes=9)
    assert run.returned == "average"
    figure = plot_convergence(run)
    gap, (primal, dual, iterate) = figure.axes[0].lines[0], figure.axes[2].lines
    ends = [float(line.get_ydata()[-1]) for line in (gap, primal, dual)]
    assert ends == [run.gap, run.primal, run.dual]
    np.testing.assert_array_equal(iterate.get_ydata(), run.history.iterate_primal)
    assert iterate.get_alpha() < 1
    assert figure.axes[2].get_ylim()[1] < 2 * run.scale  # where the iterate may not be
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


MAP = np.array([[0, 0, 1], [2, 2, 1]])


def legend_of(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_a_segmentation_covers_each_pixel_with_the_colour_of_its_label(tmp_path):
    figure, ax = plt.subplots()
    axis = plot_segmentation(np.zeros((2, 3, 3)), MAP, np.array([0, 1, 0]), ax, ["sky", "sea"])
    assert axis is ax
    image, overlay = (picture.get_array() for picture in axis.images)
    assert image.shape == (2, 3, 3)
    sky, sea = overlay[0, 0], overlay[0, 2]
    assert not np.array_equal(sky, sea)
    assert np.array_equal(overlay, np.where((MAP == 1)[:, :, None], sea, sky))
    assert legend_of(axis) == ["sky", "sea"]
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


@pytest.mark.parametrize("unknown", [-1, None])
def test_unknown_labels_are_not_covered(unknown):
    axis = plot_segmentation(np.zeros((2, 3)), MAP, [1, unknown, 0])
    np.testing.assert_array_equal(axis.images[1].get_array()[:, :, 3] == 0, MAP == 1)
    assert axis.get_legend() is None
    plt.close(axis.figure)


def test_pictures_with_the_same_classes_have_the_same_colours():
    classes = ["sky", "tree", "sea"]
    one = plot_segmentation(np.zeros((2, 3)), MAP, ["sea", "sea", "tree"], classes=classes)
    other = plot_segmentation(np.zeros((2, 3)), MAP, [2, 0, 2], classes=classes)
    overlays = [axis.images[1].get_array() for axis in (one, other)]
    np.testing.assert_array_equal(overlays[0][0, 0], overlays[1][0, 0])
    assert (legend_of(one), legend_of(other)) == (["tree", "sea"], ["sky", "sea"])
    for axis in (one, other):
        plt.close(axis.figure)


@pytest.mark.parametrize(
    ("image", "labels", "classes", "message"),
    [
        (
            np.zeros((3, 3)),
            [0, 1, 0],
            None,
            r"image has shape \(3, 3\) and superpixel_map \(2, 3\)",
        ),
        (np.zeros((2, 3)), [0, 1], None, "numbers superpixels 0 to 2, labels has 2"),
        (np.zeros((2, 3)), [0, 1, 2], ["a", "b"], "label 2 is not among the 2 classes"),
        (np.zeros((2, 3)), ["a", "c", "b"], ["a", "b"], "label 'c' is not among the 2 classes"),
    ],
    ids=["size", "too few labels", "number", "name"],
)
def test_segmentations_that_do_not_fit(image, labels, classes, message):
    with pytest.raises(ValueError, match=message):
        plot_segmentation(image, MAP, labels, classes=classes)


def test_pair_scores_are_drawn_around_zero(tmp_path):
    figure, ax = plt.subplots()
    scores = np.array([[0.0, 1.0, -3.0], [1.0, 0.0, 0.0], [-3.0, 0.0, 0.0]])
    axis = plot_pair_scores(scores, ["beach", "sea", "snow"], ax)
    assert axis is ax
    (image,) = axis.images
    assert image.get_clim() == (-3.0, 3.0)
    np.testing.assert_array_equal(image.get_array().filled(np.nan)[0, 1:], scores[0, 1:])
    np.testing.assert_array_equal(image.get_array().mask, np.eye(3, dtype=bool))
    for ticks in (axis.get_xticklabels(), axis.get_yticklabels()):
        assert [tick.get_text() for tick in ticks] == ["beach", "sea", "snow"]
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


def test_labels_that_are_strangers_to_each_other():
    axis = plot_pair_scores(np.zeros((2, 2)))
    assert axis.images[0].get_clim() == (-1.0, 1.0)
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["0", "1"]
    plt.close(axis.figure)


def test_pair_scores_that_do_not_fit():
    with pytest.raises(ValueError, match=r"pair_scores has shape \(2, 3\)"):
        plot_pair_scores(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="there are 3 label_names for 2 labels"):
        plot_pair_scores(np.zeros((2, 2)), ["a", "b", "c"])


def test_without_matplotlib(monkeypatch, solutions):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plot_confusion needs matplotlib: pip install 'taut"):
        plot_confusion([["a"]], [["a"]])
    with pytest.raises(ImportError, match=r"plot_convergence needs matplotlib: pip install 'taut"):
        plot_convergence(solutions)
    with pytest.raises(ImportError, match="plot_segmentation needs matplotlib"):
        plot_segmentation(np.zeros((2, 3)), MAP, [0, 1, 0])
    with pytest.raises(ImportError, match="plot_pair_scores needs matplotlib"):
        plot_pair_scores(np.zeros((2, 2)))
