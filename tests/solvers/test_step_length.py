"""Steps by other rules than the exact line search, and the safeguard of pairwise and away steps."""

import numpy as np
import pytest
from taut_reference import tiny_pairs

from taut import PythonProblem
from taut.solvers import BCFW, FrankWolfe, solve
from taut.solvers.objective import Objective

PAIRS = tiny_pairs()
BOXES = {"free": None, "tight": (-0.05, 0.1), "without zero": (0.02, 0.3)}
problems = pytest.mark.parametrize("which", ["multiclass", "chain", "weighted chain"])
boxes = pytest.mark.parametrize("box", BOXES)


def start(which, solver, box="free", C=0.6):
    problem, _ = PAIRS[which]
    run = solver.start(problem, Objective(C, bounds=BOXES[box], seed=3, n_threads=1))
    run.compile()
    run.store_gaps(run.look())
    return run


def saved(run):
    return {name: np.copy(array) for name, array in run.saved_arrays().items()}


# --- fixed ---------------------------------------------------------------------------------------


@problems
def test_a_fixed_step_goes_so_far_to_a_labelling(which):
    """mu' = (1 - 2n / (k + 2n)) mu + 2n / (k + 2n) e(y), of the block that is visited alone."""
    run = start(which, BCFW(order="uniform", step="fixed"))
    for k in range(40):
        before, gamma = saved(run)["mu"], 2.0 * run.n / (k + 2.0 * run.n)
        run.advance(1)
        moved = np.flatnonzero(saved(run)["mu"] != before)
        corner = (saved(run)["mu"] - (1.0 - gamma) * before)[moved] / gamma
        np.testing.assert_allclose(corner, np.round(corner), rtol=0, atol=1e-12)


@problems
def test_a_fixed_step_of_all_blocks_goes_so_far_to_labellings(which):
    """By 2 / (k + 2)."""
    run = start(which, FrankWolfe(step="fixed"))
    for k in range(20):
        before, gamma = saved(run)["mu"], 2.0 / (k + 2.0)
        run.advance(run.n)
        corners = (saved(run)["mu"] - (1.0 - gamma) * before) / gamma
        np.testing.assert_allclose(corners, np.round(corners), rtol=0, atol=1e-12)


@boxes
@pytest.mark.parametrize("solver", [BCFW(step="fixed"), FrankWolfe(step="fixed")], ids=str)
def test_fixed_steps_find_the_optimum(solver, box):
    problem, _ = PAIRS["chain"]
    solution = solve(problem, solver, C=0.6, tol=1e-2, max_passes=3000, bounds=BOXES[box])
    assert solution.gap <= 1e-2 * solution.scale


def test_the_first_of_all_fixed_steps_is_one_also_after_a_warm_start():
    problem, _ = PAIRS["chain"]
    earlier = solve(problem, BCFW(), C=0.6, tol=1e-3)
    again = solve(problem, FrankWolfe(step="fixed"), C=0.6, warm_start=earlier, max_passes=1)
    mu = again.state.mu
    np.testing.assert_array_equal(mu, np.round(mu))


# --- parabola ------------------------------------------------------------------------------------


@problems
@pytest.mark.parametrize(
    "options", [{"direction": "pairwise", "cache": True}, {"direction": "away"}, {}], ids=str
)
def test_without_bounds_the_parabola_is_the_dual(which, options):
    problem, _ = PAIRS[which]
    exact, printed = (
        solve(problem, BCFW(step=step, **options), C=0.6, tol=0.0, max_passes=30)
        for step in ("line-search", "parabola")
    )
    np.testing.assert_array_equal(printed.w, exact.w)
    np.testing.assert_array_equal(printed.history.gap, exact.history.gap)


@problems
@pytest.mark.parametrize("box", ["tight", "without zero"])
@pytest.mark.parametrize("options", [{"direction": "pairwise"}, {"direction": "away"}, {}], ids=str)
def test_within_bounds_the_parabola_is_below_the_dual(which, box, options):
    """So its top raises the dual, but never more than the line search."""
    exact = start(which, BCFW(order="cyclic", **options), box)
    printed = start(which, BCFW(order="cyclic", step="parabola", **options), box)
    gained = 0.0
    for _ in range(10 * exact.n):
        printed.put(saved(exact))
        before = exact.look().dual
        exact.advance(1)
        printed.advance(1)
        by_top, by_search = printed.look().dual, exact.look().dual
        assert before - 1e-13 <= by_top <= by_search + 1e-13
        gained += by_search - by_top
    assert gained > 1e-6


@pytest.mark.parametrize("box", ["tight", "without zero"])
def test_batch_steps_by_the_parabola_raise_the_dual_too(box):
    problem, _ = PAIRS["chain"]
    solution = solve(
        problem, FrankWolfe(step="parabola"), C=0.6, tol=0.0, max_passes=200, bounds=BOXES[box]
    )
    assert np.all(np.diff(solution.history.iterate_dual) >= -1e-13)
    exact = solve(problem, FrankWolfe(), C=0.6, tol=1e-3, max_passes=2000, bounds=BOXES[box])
    assert solution.primal >= exact.dual - 1e-12


# --- safeguard -----------------------------------------------------------------------------------


def after_one_step(run, arrays):
    """The dual value; arrays of an active set are left out where the run keeps none."""
    own = {name: array for name, array in saved(run).items() if name.startswith("corners.")}
    run.put({**arrays, **own} if not run.solver.keeps_corners else dict(arrays))
    run.advance(1)
    return run.look().dual


@pytest.mark.parametrize(
    ("which", "box"), [*[("chain", box) for box in BOXES], ("weighted chain", "free")]
)
@pytest.mark.parametrize("direction", ["pairwise", "away"])
def test_the_safeguard_takes_the_step_that_raises_the_dual_more(which, box, direction):
    guarded = start(which, BCFW(order="cyclic", direction=direction, safeguard=True), box)
    own = start(which, BCFW(order="cyclic", direction=direction), box)
    toward = start(which, BCFW(order="cyclic"), box)
    differed = 0
    for _ in range(12 * guarded.n):
        arrays = saved(guarded)
        guarded.advance(1)
        either = {
            "own": after_one_step(own, {k: np.copy(v) for k, v in arrays.items()}),
            "toward": after_one_step(toward, {k: np.copy(v) for k, v in arrays.items()}),
        }
        assert guarded.look().dual == pytest.approx(max(either.values()), abs=1e-13)
        differed += abs(either["own"] - either["toward"]) > 1e-12
    assert differed > 0


def test_the_safeguard_changes_steps():
    problem, _ = PAIRS["chain"]
    solutions = [
        solve(problem, BCFW(direction="pairwise", safeguard=guard), C=5.0, tol=0.0, max_passes=10)
        for guard in (False, True)
    ]
    assert not np.array_equal(solutions[0].w, solutions[1].w)


class Two:
    """Two classes in plain Python."""

    def joint_feature(self, x, y):
        return np.concatenate([x, np.zeros(2)] if y else [np.zeros(2), x])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def oracle(self, w, x, y):
        return max((0, 1), key=lambda z: self.loss(y, z) + w @ self.joint_feature(x, z))

    def predict(self, w, x):
        return max((0, 1), key=lambda z: w @ self.joint_feature(x, z))


@pytest.mark.parametrize(
    "solver",
    [
        BCFW(direction="pairwise", safeguard=True),
        BCFW(direction="away", safeguard=True, step="parabola"),
        BCFW(step="fixed", cache=True),
        FrankWolfe(step="fixed"),
    ],
    ids=str,
)
def test_python_models_have_all_steps(solver):
    random = np.random.default_rng(0)
    X, y = list(random.normal(size=(12, 2))), [int(one) for one in random.integers(0, 2, 12)]
    solution = solve(PythonProblem(Two(), X, y), solver, C=0.5, tol=0.05, max_passes=500)
    assert solution.gap <= 0.05 * solution.scale


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "short"}, "step='short'; expected 'line-search', 'parabola', 'fixed'"),
        ({"step": 7}, "step=7; expected"),
        ({"step": "fixed", "direction": "away"}, 'step="fixed" with direction="away": .* use'),
        ({"step": "parabola", "direction": "corrective"}, "corrective steps have lengths of"),
        ({"safeguard": True}, 'safeguard=True with direction="toward": .* leave it out'),
        ({"safeguard": True, "direction": "corrective"}, 'with direction="corrective"'),
    ],
)
def test_what_does_not_go_together_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        BCFW(**options)


def test_a_safeguard_is_there_or_not():
    with pytest.raises(TypeError, match="safeguard='yes'; expected True or False"):
        BCFW(direction="away", safeguard="yes")
    with pytest.raises(ValueError, match="step='polyak'; expected 'line-search'"):
        FrankWolfe(step="polyak")
