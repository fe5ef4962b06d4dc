"""Subgradient methods: their steps are the textbook's, and their bounds hold at every moment."""

from functools import cache

import numpy as np
import pytest
from altered_checkpoints import save_altered
from decomposition_reference import enumerated, qp_optimum
from graph_reference import tiny_graph_pairs
from python_models import Chain
from scipy.optimize import nnls
from taut_reference import tiny_pairs

from taut import PythonProblem
from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.solvers.objective import Objective, SlackPenalty
from taut.solvers.sampling import draw, new_sampler
from taut.solvers.subgradient import Subgradient, SubgradientRun
from taut.structures import Pairwise
from taut.structures.graphs.graph_problem import GraphProblem


class Interpreted(Pairwise):
    """The same arrays; solvers then run the functions' Python source."""

    is_compiled = False

    def new_dual(problem):
        return Pairwise(*problem).new_dual()


class InterpretedGraph(GraphProblem):
    is_compiled = False


# Kernels are compiled for graphs, which takes the shortest; chains run the same source.
GRAPHS, _ = tiny_graph_pairs()["trees of two types"]
NAMES = ["multiclass", "chain", "weighted chain"]
PAIRS = {
    name: (Interpreted(*problem), reference)
    for name, (problem, reference) in tiny_pairs().items()
    if name in NAMES
}
LINEAR, SQUARED = SlackPenalty.LINEAR, SlackPenalty.SQUARED
BOX = (-0.05, 0.1)
SOLVERS = {
    "Pegasos": Subgradient(),
    "Pegasos, no averaging": Subgradient(averaging=False),
    "Pegasos, cyclic, batch 3": Subgradient(order="cyclic", batch=3),
    "Pegasos, uniform": Subgradient(order="uniform"),
    "Polyak": Subgradient("polyak"),
    "Polyak, no averaging": Subgradient("polyak", averaging=False),
}
problems = pytest.mark.parametrize("which", NAMES)
solvers = pytest.mark.parametrize("name", SOLVERS)
penalties = pytest.mark.parametrize("penalty", SlackPenalty, ids=lambda one: one.value)
boxes = pytest.mark.parametrize("box", [None, BOX], ids=["no box", "box"])


def new_run(which, solver, C=0.6, box=None, penalty=LINEAR, seed=0, n_threads=1):
    problem = PAIRS[which][0] if isinstance(which, str) else which
    return SubgradientRun(
        problem, solver, Objective(C, bounds=box, seed=seed, n_threads=n_threads, penalty=penalty)
    )


def python_problem():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 3)) for length in (2, 3, 1, 2)]
    return PythonProblem(Chain(2, 3), X, [(0, 1), (1, 1, 0), (0,), (1, 0)])


@cache
def optimum(which, C, penalty, box):
    """By a generic QP solver, to rounding."""
    bounds = box or (-np.inf, np.inf)
    return qp_optimum(enumerated(PAIRS[which][1]), C, penalty.value, bounds).in_lambda_form


def primal_value(reference, w, C, penalty):
    listed = enumerated(reference)
    return listed.in_lambda_form(listed.primal(w, C, penalty.value), C)


def dual_value(reference, state, C, box):
    """Of mu by enumeration; masses are the state's, and checked where they are tested."""
    paid = reference.s @ (0.5 * state.mass**2) / reference.n if state.mass.size else 0.0
    return reference.dual(state.mu, C, box) - paid


def distance_to_cone(reference, i, image, mass):
    """How far truth + sum_y alpha(y) (y - truth) with alpha >= 0 of that sum is from the image."""
    flat = lambda image: np.concatenate([part.ravel() for part in image])  # noqa: E731
    truth = flat(reference.image(i, reference.Y[i]))
    others = [y for y in reference.labellings(i) if not np.array_equal(y, reference.Y[i])]
    rays = np.array([[*(flat(reference.image(i, y)) - truth), 1.0] for y in others])
    return nnls(rays.T, np.array([*(flat(image) - truth), mass]))[1]


# --- the bounds hold -----------------------------------------------------------------------------


@problems
@solvers
@penalties
@boxes
def test_both_bounds_are_what_enumeration_says_and_bracket_the_optimum(which, name, penalty, box):
    """At every moment, also within a pass; sums of tens of numbers round by 1e-14."""
    _, reference = PAIRS[which]
    run = new_run(which, SOLVERS[name], box=box, penalty=penalty)
    best = optimum(which, 0.6, penalty, box)
    for n_steps in (0, 1, 2, 8, 30):
        if n_steps:
            run.advance(n_steps)
        certificate = run.certify()
        w, state = run.state.w, run.state
        assert certificate.primal == pytest.approx(primal_value(reference, w, 0.6, penalty), 1e-10)
        assert certificate.dual == pytest.approx(dual_value(reference, state, 0.6, box), abs=1e-10)
        assert certificate.dual <= best + 1e-12
        assert certificate.primal >= best - 1e-12
        if (averaged := run.certified_average()) is not None:
            point, certificate = averaged
            value = primal_value(reference, point.w, 0.6, penalty)
            assert certificate.primal == pytest.approx(value, 1e-10)
            assert certificate.dual <= best + 1e-12
            assert certificate.primal >= best - 1e-12
        if box is not None:
            assert np.all((w >= box[0]) & (w <= box[1]))


@problems
@solvers
@penalties
def test_the_dual_point_is_feasible(which, name, penalty):
    """A mixture of labellings, or of squared slacks a point of their cone with the mass kept."""
    _, reference = PAIRS[which]
    run = new_run(which, SOLVERS[name], penalty=penalty)
    run.advance(25)
    for i, image in enumerate(reference.images(run.state.mu)):
        assert run.state.ell[i] == pytest.approx(reference.loss_of(i, image), abs=1e-12)
        if penalty is LINEAR:
            assert reference.distance_to_polytope(i, image) <= 1e-12
        else:
            assert distance_to_cone(reference, i, image, run.state.mass[i]) <= 1e-12


@penalties
@pytest.mark.parametrize("name", ["Pegasos", "Polyak"])
def test_the_gap_is_that_of_the_examples_and_the_distance_of_the_weights(name, penalty):
    """primal - dual = sum of block gaps + lambda/2 |w - v|^2, and no block gap is negative."""
    run = new_run("weighted chain", SOLVERS[name], penalty=penalty)
    run.advance(11)
    certificate, state = run.certify(), run.state
    apart = 0.5 * np.sum((state.w - state.v) ** 2) / (0.6 * run.n)
    assert certificate.gap == pytest.approx(certificate.block_gaps.sum() + apart, abs=1e-12)
    assert certificate.block_gaps.min() >= -1e-14
    assert (apart > 1e-3) == (name == "Pegasos")


@problems
@solvers
@penalties
def test_the_gap_closes(which, name, penalty):
    """To a hundredth of the objective at zero; how many passes that takes depends on C."""
    problem, _ = PAIRS[which]
    solution = solve(
        problem, SOLVERS[name], C=0.1, tol=1e-2, max_passes=400, slack_penalty=penalty.value
    )
    assert solution.status is Status.CONVERGED
    best = optimum(which, 0.1, penalty, None)
    assert solution.dual <= best + 1e-12
    assert solution.primal >= best - 1e-12


@solvers
def test_a_box_can_be_converged_in(name):
    problem, _ = PAIRS["chain"]
    solution = solve(problem, SOLVERS[name], C=0.6, tol=1e-2, max_passes=1000, bounds=BOX)
    assert solution.status is Status.CONVERGED
    assert np.all((solution.w >= BOX[0]) & (solution.w <= BOX[1]))
    best = optimum("chain", 0.6, LINEAR, BOX)
    assert solution.dual - 1e-12 <= best <= solution.primal + 1e-12


@penalties
@solvers
def test_a_python_model_is_bracketed_by_the_same_bounds(name, penalty):
    problem = python_problem()
    one = solve(
        problem, SOLVERS[name], C=0.3, tol=2e-2, max_passes=300, slack_penalty=penalty.value
    )
    other = solve(
        problem, Subgradient(order="cyclic"), C=0.3, tol=1e-2, max_passes=300,
        slack_penalty=penalty.value, seed=1,
    )  # fmt: skip
    assert one.status is Status.CONVERGED
    assert max(one.dual, other.dual) <= min(one.primal, other.primal)
    if penalty is LINEAR:
        best = solve(problem, BCFW(), C=0.3, tol=1e-5)
        assert one.dual <= best.primal
        assert best.dual <= one.primal
    # Nothing but the truth is remembered, and what Polyak's last certificate found.
    for known in problem._known:
        assert sum(entry is not None for entry in known) <= 1 + SOLVERS[name].is_polyak


# --- Pegasos -------------------------------------------------------------------------------------


@penalties
@boxes
@pytest.mark.parametrize("order", ["permuted", "cyclic", "uniform"])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_iterates_are_those_of_the_textbook(order, batch, box, penalty):
    """On a problem without ties; a box clips what the oracle sees, not what the steps add up to."""
    problem, reference = PAIRS["weighted chain"]
    solver = Subgradient(order=order, batch=batch)
    run = new_run("weighted chain", solver, box=box, penalty=penalty, seed=3)
    sampler = new_sampler(solver.order, problem.n, 3)
    lam = 1.0 / (0.6 * reference.n)
    v = average = np.zeros(problem.dim)
    for t in range(1, 21):
        w = v if box is None else np.clip(v, *box)
        g = np.zeros(problem.dim)
        for _ in range(batch):
            i = draw(*sampler)
            loss, psi = reference.table(i)
            y = np.argmax(loss - psi @ w)
            slope = 1.0
            if penalty is SQUARED:
                slack = loss[y] - psi[y] @ w
                slope = slack / (1 + reference.s[i] * (psi[y] @ psi[y]) / (lam * t))
            g += reference.s[i] * slope * psi[y] / batch
        v = (1 - 1 / t) * v + g / (lam * t)
        average = average + 2 / (t + 1) * ((v if box is None else np.clip(v, *box)) - average)
        run.advance(1)
        np.testing.assert_allclose(
            run.state.w, v if box is None else np.clip(v, *box), rtol=0, atol=1e-12
        )
    np.testing.assert_allclose(run.certified_average()[0].w, average, rtol=0, atol=1e-12)


@penalties
@boxes
@pytest.mark.parametrize("batch", [1, 3])
@problems
def test_after_whole_passes_the_weights_are_those_of_the_dual_point(which, batch, box, penalty):
    problem, _ = PAIRS[which]
    run = new_run(which, Subgradient(batch=batch, averaging=False), box=box, penalty=penalty)
    for _ in range(7):
        run.advance(problem.n)
        run.rebuild()
        v = run.state.v if box is None else np.clip(run.state.v, *box)
        np.testing.assert_allclose(run.state.w, v, rtol=0, atol=1e-12)
    assert np.all(run.state.visits == 7)
    run.advance(1)
    run.rebuild()
    assert not np.allclose(run.state.w, run.state.v, rtol=0, atol=1e-6)


def test_the_dual_point_is_the_mean_of_what_was_found():
    """Of all visits alike without averaging, of the k-th visit k times with it."""
    problem, _ = PAIRS["multiclass"]
    for averaging in (False, True):
        run = new_run("multiclass", Subgradient(averaging=averaging), seed=1)
        found = []
        for _ in range(5):
            before, k = run.state.mu.copy(), len(found) + 1
            run.advance(problem.n)
            share = 2 / (k + 1) if averaging else 1 / k
            found.append((run.state.mu - (1 - share) * before) / share)
        weights = np.arange(1, 6) if averaging else np.ones(5)
        mean = np.average(found, axis=0, weights=weights)
        np.testing.assert_allclose(run.state.mu, mean, rtol=0, atol=1e-12)
        # Every visit found one labelling, a corner.
        np.testing.assert_allclose(found, np.round(found), rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ["permuted", "uniform"])
def test_how_a_run_is_sliced_changes_nothing(order):
    """Slices depend on the clock of the machine; batches end with passes whatever they are."""
    whole = new_run("multiclass", Subgradient(order=order, batch=3), seed=2)
    sliced = new_run("multiclass", Subgradient(order=order, batch=3), seed=2)
    whole.advance(40)
    while sliced.steps < 40:
        sliced.advance(min(5, 40 - sliced.steps))
    np.testing.assert_array_equal(sliced.state.w, whole.state.w)
    np.testing.assert_array_equal(sliced.state.mu, whole.state.mu)


def test_large_models_get_batches():
    solver = Subgradient()
    assert solver.batch_size(100, 600) == solver.batch_size(20_000, 600) == 1
    assert solver.batch_size(200_000, 600) == 10
    assert solver.batch_size(10**8, 600) == 600
    assert Subgradient(batch=7).batch_size(10**8, 600) == 7


# --- Polyak --------------------------------------------------------------------------------------


@problems
def test_with_the_dual_value_as_its_bound_polyak_is_frank_wolfe(which):
    """n (f(w) - D(mu)) / (C |Psi d|^2) is the exact line search."""
    problem, _ = PAIRS[which]
    ours = solve(problem, SOLVERS["Polyak, no averaging"], C=0.6, tol=0.0, max_passes=20)
    theirs = solve(problem, FrankWolfe(), C=0.6, tol=0.0, max_passes=20)
    np.testing.assert_allclose(ours.state.w, theirs.state.w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.state.mu, theirs.state.mu, rtol=0, atol=1e-10)
    assert ours.oracle_calls == theirs.oracle_calls  # certificates are the steps' own


@problems
@penalties
@boxes
def test_no_step_of_polyak_lowers_the_dual_value(which, penalty, box):
    """The dual is concave along a step, and the step is at most half of where it falls again."""
    run = new_run(which, SOLVERS["Polyak"], box=box, penalty=penalty)
    values = [run.certify().dual]
    bounds = [run.state.total[0]]
    for _ in range(40):
        run.advance(run.n)
        values.append(run.certify().dual)
        bounds.append(run.state.total[0])
    assert np.diff(values).min() >= -1e-14
    assert np.diff(bounds).min() >= 0
    assert bounds[-1] <= optimum(which, 0.6, penalty, box) + 1e-12
    assert values[-1] > values[0] + 0.01


def test_the_weights_of_polyak_are_those_of_its_dual_point():
    run = new_run("weighted chain", SOLVERS["Polyak"], box=BOX, penalty=SQUARED)
    run.advance(1)
    run.advance(1)
    v, w = run.state.v.copy(), run.state.w.copy()
    run.rebuild()
    np.testing.assert_allclose(run.state.v, v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(w, np.clip(v, *BOX), rtol=0, atol=1e-13)


# --- in company ----------------------------------------------------------------------------------


@solvers
@penalties
@boxes
def test_interpreted_and_compiled_runs_take_the_same_steps(name, penalty, box):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    other = InterpretedGraph.of(GRAPHS.arrays, GRAPHS.importance)
    runs = [
        new_run(one, SOLVERS[name], box=box, penalty=penalty, seed=4) for one in (GRAPHS, other)
    ]
    assert [run.is_compiled for run in runs] == [True, False]
    certificates = []
    for run in runs:
        run.advance(GRAPHS.n)
        run.advance(2)
        run.advance(GRAPHS.n)
        certificates.append(run.certify())
    compiled, interpreted = (run.state for run in runs)
    np.testing.assert_allclose(interpreted.w, compiled.w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(interpreted.average, compiled.average, rtol=0, atol=1e-10)
    np.testing.assert_allclose(interpreted.mu, compiled.mu, rtol=0, atol=1e-10)
    np.testing.assert_allclose(interpreted.mass, compiled.mass, rtol=0, atol=1e-10)
    assert interpreted.count.tolist() == compiled.count.tolist()
    assert certificates[0].gap == pytest.approx(certificates[1].gap, abs=1e-10)


@pytest.mark.parametrize("name", ["Pegasos", "Polyak"])
def test_threads_and_seeds(name):
    """Threads change nothing; seeds change the order of visits only."""
    runs = {}
    for n_threads, seed in ((1, 0), (3, 0), (1, 1)):
        run = new_run(GRAPHS, SOLVERS[name], n_threads=n_threads, seed=seed)
        run.advance(4)
        run.advance(7)
        runs[n_threads, seed] = run.state.w, run.certify().gap
    np.testing.assert_array_equal(runs[1, 0][0], runs[3, 0][0])
    assert runs[1, 0][1] == runs[3, 0][1]
    assert np.array_equal(runs[1, 0][0], runs[1, 1][0]) == (name == "Polyak")


def solved(problem, solver, max_passes, **options):
    return solve(problem, solver, C=0.4, tol=0.0, max_passes=max_passes, **options)


@pytest.mark.parametrize("penalty", ["linear", "squared"])
@pytest.mark.parametrize("bounds", [None, BOX], ids=["no box", "box"])
@pytest.mark.parametrize("name", ["Pegasos", "Pegasos, uniform", "Polyak"])
def test_a_resumed_run_goes_on_bit_for_bit(name, bounds, penalty, tmp_path):
    solver, path = SOLVERS[name], tmp_path / "checkpoint.npz"
    options = dict(bounds=bounds, slack_penalty=penalty)
    for problem in (PAIRS["chain"][0], python_problem()):
        path.unlink(missing_ok=True)
        whole = solved(problem, solver, 20, **options)
        solved(problem, solver, 10, checkpoint=path, **options)
        resumed = solved(problem, solver, 20, checkpoint=path, resume=True, **options)
        for field in ("w", "v", "ell", "mass", "average", "total"):
            now, then = getattr(resumed.state, field), getattr(whole.state, field)
            np.testing.assert_array_equal(now, then, err_msg=field)
        assert resumed.primal == whole.primal
        assert resumed.history.gap[-1] == whole.history.gap[-1]


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("Polyak", lambda a: a["v"].__iadd__(0.1), "weights and dual point do not belong together"),
        ("Pegasos", lambda a: a["ell"].__iadd__(0.1), "losses and dual point do not belong"),
        ("Pegasos", lambda a: a["visits"].__isub__(99), "array visits has a number that no run"),
        ("Pegasos", lambda a: a["best_w"].__iadd__(0.1), "do not have the objective it says"),
        ("Pegasos", lambda a: a["found"].__imul__(np.nan), "not finite"),
        ("Pegasos", lambda a: a.pop("mu"), "array mu"),
    ],
    ids=["weights", "losses", "visits", "best weights", "not a number", "no dual point"],
)
def test_a_damaged_checkpoint_is_refused(name, damage, message, tmp_path):
    problem, path = PAIRS["chain"][0], tmp_path / "checkpoint.npz"
    solved(problem, SOLVERS[name], 10, checkpoint=path)
    with np.load(path) as archive:
        arrays = dict(archive)
    damage(arrays)
    save_altered(path, arrays)
    with pytest.raises(ValueError, match=message):
        solved(problem, SOLVERS[name], 20, checkpoint=path, resume=True)


# --- warm starts ---------------------------------------------------------------------------------


@penalties
@boxes
def test_pegasos_goes_on_where_it_stopped(box, penalty):
    problem, _ = PAIRS["weighted chain"]
    solver = Subgradient(order="cyclic", averaging=False)
    options = dict(bounds=box, slack_penalty=penalty.value)
    whole = solved(problem, solver, 10, **options)
    first = solved(problem, solver, 4, **options)
    second = solved(problem, solver, 6, warm_start=first, **options)
    np.testing.assert_array_equal(second.state.w, whole.state.w)
    np.testing.assert_array_equal(second.state.mu, whole.state.mu)
    assert second.passes == 6


@penalties
@pytest.mark.parametrize("name", ["Pegasos, no averaging", "Polyak"])
def test_what_a_warm_start_with_another_c_keeps(name, penalty):
    problem, _ = PAIRS["weighted chain"]
    solver = SOLVERS[name]
    first = solved(problem, solver, 6, slack_penalty=penalty.value)
    for C, keep, scale in ((0.8, "dual", 2.0), (0.2, "dual", 0.5), (0.8, "primal", 1.0)):
        run = new_run("weighted chain", solver, C=C, penalty=penalty)
        run.continue_from(first, keep)
        np.testing.assert_allclose(run.state.w, scale * first.state.w, rtol=0, atol=1e-12)
        run.rebuild()
        np.testing.assert_allclose(run.state.v, run.state.w, rtol=0, atol=1e-12)
        certificate = run.certify()
        best = optimum("weighted chain", C, penalty, None)
        assert certificate.dual <= best <= certificate.primal
        _, reference = PAIRS["weighted chain"]
        assert certificate.dual == pytest.approx(dual_value(reference, run.state, C, None), 1e-10)


def test_polyak_goes_on_from_any_dual_point():
    problem, _ = PAIRS["chain"]
    for first in (solve(problem, BCFW(), C=0.4, tol=1e-3), solved(problem, Subgradient(), 10)):
        start = solved(problem, SOLVERS["Polyak"], 0, warm_start=first)
        assert start.history.iterate_dual[0] == pytest.approx(
            first.history.iterate_dual[-1], abs=1e-10
        )


@pytest.mark.parametrize(
    ("first", "second", "penalty", "message"),
    [
        (BCFW(), Subgradient(), "linear", "steps that shrink with the number of visits"),
        (Subgradient("polyak"), Subgradient(), "linear", "counts none"),
        (BCFW(), Subgradient("polyak"), "squared", "slack_penalty='linear', this run"),
    ],
    ids=["from BCFW", "from Polyak", "other penalty"],
)
def test_a_start_that_makes_no_sense_is_refused(first, second, penalty, message):
    problem, _ = PAIRS["chain"]
    earlier = solved(problem, first, 2)
    with pytest.raises(ValueError, match=message):
        solved(problem, second, 2, warm_start=earlier, slack_penalty=penalty)


def test_added_examples_start_at_the_truth_or_are_refused():
    python = python_problem()
    fewer = PythonProblem(python.model, python.X[:3], python.Y[:3])
    polyak, pegasos = SOLVERS["Polyak"], SOLVERS["Pegasos"]
    first = solved(fewer, polyak, 20)
    second = solved(python, polyak, 0, warm_start=first)
    np.testing.assert_allclose(second.state.w, first.state.w, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="visited 3 of the 4 examples"):
        solved(python, pegasos, 2, warm_start=solved(fewer, pegasos, 2))


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(step="newton"), "step='newton'; expected 'pegasos', 'polyak'"),
        (dict(order="gap"), "order='gap'; a subgradient needs"),
        (dict(order="random"), "order='random'; expected"),
        (dict(batch=0), "batch=0; a whole number of examples"),
        (dict(batch=1.5), "batch=1.5; a whole number of examples"),
        (dict(batch=True), "batch=True; a whole number of examples"),
        (dict(step="polyak", batch=4), "batch=4 with step='polyak'"),
        (dict(check_every=0), "check_every=0; a whole number of passes"),
    ],
    ids=["step", "gap order", "order", "batch", "half", "true", "polyak's batch", "check"],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Subgradient(**options)


def test_a_solution_says_how_it_was_found():
    problem, _ = PAIRS["chain"]
    assert "subgradient (Pegasos, order permuted, averaging)" in str(
        solved(problem, Subgradient(), 1)
    )
    assert Subgradient("polyak", averaging=False).describe() == "subgradient (Polyak)"
