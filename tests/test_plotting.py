"""plot_convergence draws what the history holds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from taut import BCFW, FrankWolfe, solve
from taut.plotting import plot_convergence
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
