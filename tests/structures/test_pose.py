"""The pose problem answers what its definition, written in plain NumPy, answers.

Enumeration of all poses is the oracle here, so grids are tiny; two channels, parts with one, two
and three types, examples of different sizes, anchors between the positions.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taut._compile import compiled
from taut.decode import decode
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    begin_change,
    begin_margins,
    block_value,
    label_loss,
    label_value,
    margin,
    project,
    scores,
    shift,
)
from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.solvers.objective import Objective
from taut.structures.pose import Pose
from taut.structures.pose_build import pose_problem

# Sums of a few dozen products of numbers around 1.
EXACT = dict(rel=0, abs=1e-12)


class Reference:
    """Features, loss and both objectives of poses, by their definitions."""

    def __init__(self, maps, joints, parents, anchors, types, reach, unit, s):
        self.maps = [np.asarray(m, np.float32).astype(float) for m in maps]
        self.joints, self.parents, self.anchors = joints, parents, anchors
        self.types, self.reach, self.unit, self.s = types, reach, unit, s
        self.n, self.P, self.F = len(maps), len(parents), maps[0].shape[1]
        self.tables = {}
        self.Y = [self.label(i, types[i], joints[i]) for i in range(self.n)]

    def label(self, i, kinds, positions):
        _, _, H, W = self.maps[i].shape
        return np.array([(t * H + y) * W + x for t, (x, y) in zip(kinds, positions, strict=True)])

    def pose(self, i, label):
        """Types and positions (x, y) of a labelling."""
        _, _, H, W = self.maps[i].shape
        return label // (H * W), np.stack([label % W, label // W % H], axis=1)

    def phi(self, i, label):
        kinds, positions = self.pose(i, label)
        channels = [np.zeros((len(a), self.F)) for a in self.anchors]
        springs = [np.zeros((len(a), 4)) for a in self.anchors]
        pairs = [np.zeros((len(a), len(self.anchors[q]))) for a, q in zip(
            self.anchors, self.parents, strict=True)]  # fmt: skip
        for p, (t, (x, y)) in enumerate(zip(kinds, positions, strict=True)):
            channels[p][t] = self.maps[i][p, :, y, x]
            q = self.parents[p]
            if q >= 0:
                dx, dy = (positions[p] - positions[q] - self.anchors[p][t]) / self.unit
                springs[p][t] = -np.array([dx, dx**2, dy, dy**2])
                pairs[p][t, kinds[q]] = 1.0
        hung = [p for p in range(self.P) if self.parents[p] >= 0]
        groups = channels + [springs[p] for p in hung] + [pairs[p] for p in hung]
        return np.concatenate([group.ravel() for group in groups])

    def loss(self, i, label):
        _, positions = self.pose(i, label)
        square = ((positions - self.joints[i]) ** 2).sum(axis=1)
        return np.minimum(square / self.reach[i] ** 2, 1.0).mean()

    def image(self, i, label):
        """What a dual block holds: features and loss."""
        return np.append(self.phi(i, label), self.loss(i, label))

    def labellings(self, i):
        _, _, H, W = self.maps[i].shape
        return product(*(range(len(a) * H * W) for a in self.anchors))

    def table(self, i):
        """Losses and phi(truth) - phi(y) of all labellings."""
        if i not in self.tables:
            images = np.array([self.image(i, np.array(y)) for y in self.labellings(i)])
            self.tables[i] = images[:, -1], self.phi(i, self.Y[i]) - images[:, :-1]
        return self.tables[i]

    def primal(self, w, C):
        worst = [np.max(loss - psi @ w) for loss, psi in map(self.table, range(self.n))]
        return 0.5 * (w @ w) / (C * self.n) + self.s @ worst / self.n

    def dual(self, mu, C, bounds):
        blocks = mu.reshape(self.n, -1)
        truth = np.array([self.phi(i, self.Y[i]) for i in range(self.n)])
        v = C * self.s @ (truth - blocks[:, :-1])
        w = np.clip(v, *bounds)
        return self.s @ blocks[:, -1] / self.n - (v @ w - 0.5 * (w @ w)) / (C * self.n)


TREES = {
    "one part": ([-1], [1]),
    "pair, child first": ([1, -1], [2, 1]),
    "path": ([1, -1, 0], [2, 1, 1]),
    "star": ([-1, 0, 0], [1, 2, 2]),
    "types everywhere": ([2, 2, -1], [1, 3, 2]),
}


def random_pair(tree, seed, n=3):
    """A random problem and its reference."""
    rng = np.random.default_rng(seed)
    parents, n_types = TREES[tree]
    P = len(parents)
    sizes = [tuple(rng.integers(1, 4, 2)) for _ in range(n)]
    maps = [rng.normal(size=(P, 2, H, W)) for H, W in sizes]
    joints = [np.stack([rng.integers(0, W, P), rng.integers(0, H, P)], 1) for H, W in sizes]
    anchors = [rng.normal(size=(T, 2)) for T in n_types]
    types = np.array([rng.integers(0, n_types) for _ in range(n)])
    reach, s = rng.uniform(0.5, 3.0, n), rng.uniform(0.3, 3.0, n)
    problem = pose_problem(
        maps, joints, parents, reach=reach, anchors=anchors, types=types, unit=1.7, importance=s
    )
    return problem, Reference(maps, joints, parents, anchors, types, reach, 1.7, s)


def random_weights(problem, rng):
    w = rng.normal(size=problem.dim)
    if rng.random() < 0.2:
        w[problem.required_bounds()[0] == 0] = 0.0  # springs without curvature
    return np.clip(w, *problem.required_bounds())


def random_label(reference, i, rng):
    _, _, H, W = reference.maps[i].shape
    return np.array([rng.integers(len(a) * H * W) for a in reference.anchors], np.int32)


@compiled
def values(problem, w, i, work, y, mu, best, out):
    """Everything a solver can ask of prepared scores; with the loss from out[3] on."""
    scores(problem, w, i, work)
    out[0] = label_value(problem, w, i, work, y)
    out[1] = block_value(problem, w, i, work, mu)
    out[2] = argmax(problem, w, i, work, best)
    add_loss(problem, i, work)
    out[3] = label_value(problem, w, i, work, y)
    out[4] = block_value(problem, w, i, work, mu)
    out[5] = argmax(problem, w, i, work, best)
    out[6] = label_value(problem, w, i, work, best)
    out[7] = label_loss(problem, i, y)
    begin_margins(problem, i, work)
    out[8] = margin(problem, w, i, y, work)


@compiled
def changes(problem, i, mu, y, work, delta, other_mu, other_delta):
    """A step of 0.3 toward y of one dual, a shift of 0.4 to y of another."""
    begin_change(problem, i, mu, -1.0, work)
    add_corner(problem, i, y, 1.0, work)
    project(problem, i, work, 1.7, delta)
    advance(problem, i, mu, 0.3, work)
    shift(problem, i, y, 0.4, 2.0, other_mu, other_delta, work)


trees = pytest.mark.parametrize("tree", TREES)
seeds = given(seed=st.integers(0, 10**6))


@trees
@seeds
@settings(max_examples=10)
def test_values_of_poses_mixtures_and_the_oracle(tree, seed):
    problem, reference = random_pair(tree, seed)
    rng = np.random.default_rng(seed)
    w = random_weights(problem, rng)
    work, mu = problem.new_work(), problem.new_dual()
    for i in range(problem.n):
        y = random_label(reference, i, rng)
        share = rng.dirichlet(np.ones(3))
        block = share @ [reference.image(i, random_label(reference, i, rng)) for _ in share]
        mu.reshape(problem.n, -1)[i] = block
        best, out = np.zeros(problem.longest, np.int32), np.zeros(9)
        values(problem, w, i, work, y, mu, best, out)

        truth = reference.phi(i, reference.Y[i])
        of_label, of_block = w @ (reference.phi(i, y) - truth), w @ (block[:-1] - truth)
        loss, psi = reference.table(i)
        assert out[0] == pytest.approx(of_label, **EXACT)
        assert out[1] == pytest.approx(of_block, **EXACT)
        assert out[2] == pytest.approx(np.max(-psi @ w), **EXACT)
        assert out[3] == pytest.approx(of_label + reference.loss(i, y), **EXACT)
        assert out[4] == pytest.approx(of_block + block[-1], **EXACT)
        assert out[5] == pytest.approx(np.max(loss - psi @ w), **EXACT)
        assert out[6] == pytest.approx(out[5], **EXACT)
        assert out[7] == pytest.approx(reference.loss(i, y), **EXACT)
        assert out[8] == pytest.approx(-of_label, **EXACT)


@trees
@seeds
@settings(max_examples=10)
def test_changes_of_the_dual_seen_by_the_weights(tree, seed):
    problem, reference = random_pair(tree, seed)
    rng = np.random.default_rng(seed)
    mu, other = problem.new_dual(), problem.new_dual()
    delta, other_delta = problem.new_delta(), problem.new_delta()
    i = int(rng.integers(problem.n))
    y = random_label(reference, i, rng)
    expected = np.array([reference.image(j, reference.Y[j]) for j in range(problem.n)])
    np.testing.assert_allclose(mu.reshape(problem.n, -1), expected, rtol=0, atol=1e-12)
    changes(problem, i, mu, y, problem.new_work(), delta, other, other_delta)
    change = reference.image(i, y) - expected[i]
    for step, moved in ((0.3, mu), (0.4, other)):
        after = expected.copy()
        after[i] += step * change
        np.testing.assert_allclose(moved.reshape(problem.n, -1), after, rtol=0, atol=1e-12)
    np.testing.assert_allclose(delta.value, 1.7 * change[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(other_delta.value, -2.0 * 0.4 * change[:-1], rtol=0, atol=1e-12)


@trees
def test_the_worst_losses_are_the_oracles_values_without_weights(tree):
    problem, reference = random_pair(tree, 3)
    expected = [reference.table(i)[0].max() for i in range(problem.n)]
    np.testing.assert_allclose(problem.worst_losses(), expected, rtol=0, atol=1e-12)


def test_only_squares_are_bounded():
    problem, _ = random_pair("path", 0)
    lower, upper = problem.required_bounds()
    assert np.all(upper == np.inf)
    first = 2 * (2 + 1 + 1)  # two channels of every type
    springs = np.arange(first, first + 4 * (2 + 1))  # of the two parts that hang, three types
    np.testing.assert_array_equal(np.flatnonzero(lower == 0.0), springs[1::2])
    assert np.all(np.delete(lower, springs[1::2]) == -np.inf)


def test_decoding_finds_the_best_pose():
    problem, reference = random_pair("star", 8)
    w = random_weights(problem, np.random.default_rng(8))
    found = decode(problem, w).reshape(problem.n, -1)
    for i in range(problem.n):
        value = w @ (reference.phi(i, found[i]) - reference.phi(i, reference.Y[i]))
        assert value == pytest.approx(np.max(-reference.table(i)[1] @ w), **EXACT)


# --- training ------------------------------------------------------------------------------------

# Frank-Wolfe steps approach the optimum sublinearly: a tolerance for each that it meets quickly.
SOLVERS = {
    "fw": (FrankWolfe(), 0.03),
    "bcfw": (BCFW(), 0.01),
    "cached": (BCFW(cache=True), 0.01),
    "pairwise": (BCFW(direction="pairwise"), 1e-3),
    "away": (BCFW(direction="away"), 1e-3),
    "corrective": (BCFW(direction="corrective", refresh=2), 1e-4),
}


class Interpreted(Pose):
    """The same arrays; solvers then run the functions' Python source."""

    is_compiled = False

    def new_dual(problem):
        return Pose(*problem).new_dual()


def in_mode(problem, name):
    """Corrective steps, the default for poses, are compiled; the others are the same source."""
    return problem if name == "corrective" else Interpreted(*problem)


@pytest.fixture(scope="module")
def tiny():
    return random_pair("star", 21, n=3)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_reaches_a_small_gap(tiny, name):
    """The certificate is computed again by enumeration, and the bounds really bind."""
    problem, reference = tiny
    solver, tol = SOLVERS[name]
    bounds = problem.required_bounds()
    solution = solve(in_mode(problem, name), solver, C=0.5, tol=tol, max_passes=4000)
    assert solution.status is Status.CONVERGED
    assert np.all(solution.w >= bounds[0])
    assert np.any(solution.w[bounds[0] == 0] == 0.0)
    assert solution.primal == pytest.approx(reference.primal(solution.w, 0.5), abs=1e-10)
    assert solution.dual == pytest.approx(reference.dual(solution.state.mu, 0.5, bounds), abs=1e-10)
    assert solution.gap <= tol * solution.scale


def test_mu_keeps_the_loss_that_the_solver_tracks(tiny):
    problem, _ = tiny
    run = BCFW(direction="corrective").start(problem, Objective(0.5))
    run.advance(10 * problem.n)
    losses = run.state.mu.reshape(problem.n, -1)[:, -1]
    np.testing.assert_allclose(losses, run.state.ell, rtol=0, atol=1e-12)
    assert run.certify().block_gaps.sum() == pytest.approx(run.certify().gap, abs=1e-10)


def test_the_interpreted_trajectory_is_the_same(tiny):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    problem, _ = tiny
    solver, _ = SOLVERS["corrective"]
    runs = [
        solver.start(one, Objective(0.5, bounds=None, seed=4, n_threads=1))
        for one in (problem, Interpreted(*problem))
    ]
    for run in runs:
        for _ in range(3):
            run.certify()
            run.advance(problem.n)
    compiled_run, interpreted = runs
    np.testing.assert_allclose(interpreted.state.w, compiled_run.state.w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(interpreted.state.mu, compiled_run.state.mu, rtol=0, atol=1e-10)


def test_a_warm_start_needs_the_same_data(tiny):
    problem, _ = tiny
    solver = BCFW(direction="corrective")
    solution = solve(problem, solver, C=0.5, tol=1e-2)
    again = solve(problem, solver, C=0.5, tol=1e-2, warm_start=solution)
    assert again.passes == 0
    for change in (
        {"maps": problem.maps + np.float32(1)},
        {"reach": 2 * problem.reach},
        {"anchor": problem.anchor + 1},
        {"unit": 3.0},
    ):
        with pytest.raises(ValueError, match="training data or the loss differ"):
            solve(problem._replace(**change), solver, C=0.5, warm_start=solution)


def test_a_checkpoint_is_taken_up(tiny, tmp_path):
    problem, _ = tiny
    options = dict(C=0.5, tol=1e-4, checkpoint=tmp_path / "run.npz")
    solver = BCFW(direction="corrective", refresh=2)
    solve(problem, solver, max_passes=4, **options)
    resumed = solve(problem, solver, max_passes=8, resume=True, **options)
    options["checkpoint"] = None
    whole = solve(problem, solver, max_passes=8, **options)
    np.testing.assert_array_equal(resumed.w, whole.w)


def test_a_label_beyond_the_grid_of_its_example_is_harmless(tiny):
    """Labels of a checkpoint are only known to be below n_states."""
    problem, _ = tiny
    y = np.full(problem.n_parts, problem.n_states - 1, np.int32)
    smallest = int(np.argmin(problem.height * problem.width))
    assert problem.types[0] * problem.height[smallest] * problem.width[smallest] <= y[0]
    last = problem.types * problem.height[smallest] * problem.width[smallest] - 1
    w = np.ones(problem.dim)
    assert problem.margin(w, smallest, y, None) == problem.margin(w, smallest, last, None)
    assert problem.label_loss(smallest, y) == problem.label_loss(smallest, last)


# --- bad input -----------------------------------------------------------------------------------

MAPS = np.zeros((3, 4, 5))
JOINTS = np.zeros((3, 2), int)
NAN_MAPS = MAPS.copy()
NAN_MAPS[2, 3, 1] = np.nan


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"parents": [0, 0, 1]}, "0 parts have no parent"),
        ({"parents": [-1, -1, 1]}, r"2 parts have no parent \(\[0, 1\]\)"),
        ({"parents": [-1, 2, 1]}, "not a tree: going up from part 1 never ends at the root 0"),
        ({"parents": [-1, 0, 3]}, "part 2 hangs on part 3, which does not exist"),
        ({"parents": [-1.0, 0, 1]}, "expected for each part the number"),
        ({"parents": [-1, 0]}, "example 0 has heat maps of 3 parts, the tree has 2"),
        ({"heat_maps": [MAPS, NAN_MAPS]}, "example 1, part 2: .* is nan at row 3, column 1"),
        ({"heat_maps": [MAPS, MAPS + 1e39]}, "example 1, part 0: .* finite in single precision"),
        ({"heat_maps": [MAPS, MAPS[0]]}, r"example 1 are an array of float64 with shape \(4, 5\)"),
        ({"heat_maps": [MAPS, MAPS[:, None].repeat(2, 1)]}, "example 1 have 2 channels, others 1"),
        ({"heat_maps": []}, "at least one example"),
        ({"joints": [JOINTS]}, "heat maps of 2 examples but joints of 1"),
        ({"joints": [JOINTS, JOINTS[:2]]}, r"joints of example 1 .* shape \(2, 2\)"),
        ({"joints": [JOINTS, JOINTS + 4]}, "example 1, part 0: .* x=4, y=4, outside the grid"),
        ({"joints": [JOINTS, JOINTS - 0.6]}, "example 1, part 0: .* x=-1, y=-1, outside"),
        ({"joints": [JOINTS, JOINTS + np.inf]}, "example 1, part 0: the joint is at .inf inf."),
        ({"reach": [1.0, 0.0]}, r"reach\[1\] is 0.0; it must be positive"),
        ({"reach": [1.0, 2.0, 3.0]}, r"reach has shape \(3,\)"),
        ({"unit": 0.0}, "unit=0.0; displacements need a positive unit"),
        ({"anchors": [np.zeros((1, 2))]}, "anchors of 1 parts, the tree has 3"),
        ({"anchors": [np.zeros((1, 2)), np.zeros(2), np.zeros((1, 2))]}, "anchors of part 1"),
        ({"types": np.ones((2, 3), int)}, r"types must have the shape \(2, 3\)"),
    ],
)
def test_bad_input_is_named(change, complaint):
    arguments = {"heat_maps": [MAPS, MAPS], "joints": [JOINTS, JOINTS], "parents": [-1, 0, 1]}
    with pytest.raises(ValueError, match=complaint):
        pose_problem(**(arguments | change))
