"""L-BFGS on the primal of a CRF: a small gradient is a proof, on any number of threads."""

import json
import signal
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from altered_checkpoints import save_altered
from crf_reference import CRFReference, boxes, crf_pairs
from taut_reference import chain_pair

from taut.solvers import LBFGS, SDCA, Status, solve
from taut.solvers.lbfgs import LBFGSRun
from taut.solvers.objective import Objective
from taut.structures import Pairwise, multiclass_problem, smoothed

C, TOL = 0.6, 1e-8
PAIRS = crf_pairs()
BOXES = ("free", "tight", "nonnegative", "without zero")
problems = pytest.mark.parametrize("which", PAIRS)
table = pytest.mark.parametrize("box", BOXES)


@cache
def box_of(which, box):
    return boxes(PAIRS[which][0])[box]


@cache
def solution_of(which, box="free"):
    return solve(PAIRS[which][0], LBFGS(), C=C, bounds=box_of(which, box), tol=TOL, max_passes=2000)


def new_run(problem, bounds=None, n_threads=1):
    return LBFGSRun(problem, LBFGS(), Objective(C, bounds=bounds, seed=0, n_threads=n_threads))


# --- objective, gradient and proof ---------------------------------------------------------------


@problems
def test_objective_gradient_and_bound_are_what_their_definitions_say(which):
    problem, reference = PAIRS[which]
    run = new_run(problem)
    lam = 1.0 / (C * problem.n)
    for seed, size in enumerate([0.0, 0.3, 3.0]):
        w = size * np.random.default_rng(seed).normal(size=problem.dim)
        w[problem.held_at_zero()] = 0.0
        found = run.evaluate(w)
        gradient = reference.gradient(w, C)
        assert found.primal == pytest.approx(reference.primal(w, C), rel=1e-12)
        np.testing.assert_allclose(found.gradient, gradient, rtol=0, atol=1e-12)
        # Fenchel's inequality is an equality at the marginals.
        gap = found.primal - found.dual
        assert gap == pytest.approx(gradient @ gradient / (2 * lam), rel=1e-9, abs=1e-12)


@problems
def test_the_gradient_is_that_of_finite_differences(which):
    problem, _ = PAIRS[which]
    run = new_run(problem)
    rng = np.random.default_rng(0)
    (w, d), h = rng.normal(size=(2, problem.dim)), 1e-5
    w[problem.held_at_zero()] = d[problem.held_at_zero()] = 0.0
    slope = (run.evaluate(w + h * d).primal - run.evaluate(w - h * d).primal) / (2 * h)
    # Third derivatives of log Z along d are below (2 max |<psi, d>|)^3, some thousands here.
    assert slope == pytest.approx(run.evaluate(w).gradient @ d, rel=0, abs=1e4 * h**2)


@problems
def test_every_certificate_is_the_squared_gradient(which):
    problem, reference = PAIRS[which]
    run = new_run(problem)
    lam = 1.0 / (C * problem.n)
    first = run.first_certificate(run.worst_losses(True), True)
    assert first.primal == pytest.approx(reference.scale(), rel=1e-12)
    for _ in range(12):
        run.advance(problem.n)
        certificate, gradient = run.certify(), reference.gradient(run.state.w, C)
        assert certificate.primal == pytest.approx(reference.primal(run.state.w, C), rel=1e-12)
        right = gradient @ gradient / (2 * lam)
        assert certificate.gap == pytest.approx(right, rel=1e-6, abs=1e-13)
    run.final_state()


@problems
@table
def test_the_optimum_is_that_of_dual_ascent_and_of_a_general_minimiser(which, box):
    problem, reference = PAIRS[which]
    bounds, ours = box_of(which, box), solution_of(which, box)
    assert ours.status is Status.CONVERGED
    assert -1e-14 <= ours.gap <= TOL * ours.scale
    assert ours.primal == pytest.approx(reference.primal(ours.w, C), rel=1e-12)
    dual = solve(problem, SDCA(), C=C, bounds=bounds, tol=1e-6, max_passes=5000)
    lower, upper, _ = reference.bracket(C, bounds)
    assert max(ours.dual, dual.dual, lower) <= min(ours.primal, dual.primal, upper) + 1e-12
    if bounds is not None:
        assert np.all((ours.w >= bounds[0]) & (ours.w <= bounds[1]))
    # lambda/2 |w - w*|^2 <= gap for each.
    radius = sum(np.sqrt(2 * s.gap / s.lam) for s in (ours, dual))
    assert np.linalg.norm(ours.w - dual.w) <= radius + 1e-12


@problems
def test_primal_falls_and_never_goes_below_the_best_bound(which):
    history = solution_of(which).history
    assert np.all(np.diff(history.iterate_primal) <= 0)
    assert history.iterate_primal.min() >= history.iterate_dual.max() - 1e-14
    assert history.passes.tolist() == list(range(len(history)))
    # One evaluation before the first pass, and one for every pass.
    n = PAIRS[which][0].n
    assert np.diff(history.oracle_calls).tolist() == [n] * (len(history) - 1)


# --- threads -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    """More examples than there are parts of a sum."""
    base, reference = chain_pair([1, 2, 3, 2] * 5, 3, seed=1)
    return smoothed(base), CRFReference(reference)


def test_the_number_of_threads_changes_no_bit(many):
    one, *others = (
        solve(many[0], LBFGS(), C=C, tol=1e-6, n_threads=n_threads) for n_threads in (1, 2, 3)
    )
    assert one.primal == pytest.approx(many[1].primal(one.w, C), rel=1e-12)
    for other in others:
        np.testing.assert_array_equal(other.w, one.w)
        for name in ("passes", "primal", "dual", "oracle_calls"):
            assert other.history[name].tolist() == one.history[name].tolist()


def test_sums_are_divided_the_same_however_large_the_weights(many, monkeypatch):
    """Where memory is short there are two parts, and any number of threads."""
    monkeypatch.setattr("taut.solvers.expectations.MOST_NUMBERS", 10)
    one, two = (new_run(many[0], n_threads=n_threads) for n_threads in (1, 5))
    assert len(one.free.sums) == len(two.free.sums) == 2
    w = np.random.default_rng(0).normal(size=many[0].dim)
    np.testing.assert_array_equal(one.evaluate(w).gradient, two.evaluate(w).gradient)


class Interpreted(Pairwise):
    """The same arrays; solvers then run the functions' Python source."""

    is_compiled = False

    def new_dual(problem):
        return Pairwise(*problem).new_dual()


@pytest.mark.parametrize("which", ["chain", "observed chain", "loss-augmented chain"])
def test_interpreted_it_evaluates_the_same(which):
    compiled = PAIRS[which][0]
    interpreted = compiled._replace(base=Interpreted(*compiled.base))
    w = np.random.default_rng(0).normal(size=compiled.dim)
    one, two = (new_run(problem).evaluate(w) for problem in (compiled, interpreted))
    assert one.primal == pytest.approx(two.primal, rel=1e-12)
    assert one.dual == pytest.approx(two.dual, rel=1e-12)
    np.testing.assert_allclose(one.gradient, two.gradient, rtol=0, atol=1e-12)


# --- how it ends ---------------------------------------------------------------------------------


@problems
@pytest.mark.parametrize("box", ["free", "tight"])
def test_without_a_tolerance_it_ends_by_itself(which, box):
    solution = solve(
        PAIRS[which][0], LBFGS(), C=C, bounds=box_of(which, box), tol=0.0, max_passes=5000
    )
    # A gap of exactly zero, or less by rounding, is converged.
    assert solution.status in (Status.NO_WAY_DOWN, Status.CONVERGED)
    assert solution.passes < 1000
    # Steps end where the objective's last digits do: |gradient|^2 / lambda is no larger than them.
    assert abs(solution.gap) <= 1e-12 * solution.scale


def test_an_exception_in_the_objective_is_raised_where_it_belongs(many, monkeypatch):
    def broken(run, w):
        raise ZeroDivisionError

    monkeypatch.setattr(LBFGSRun, "evaluate", broken)
    with pytest.raises(ZeroDivisionError):
        solve(many[0], LBFGS(), C=C)


def test_a_callback_can_stop(many):
    solution = solve(many[0], LBFGS(), C=C, tol=0.0, callback=lambda row: row.passes == 3)
    assert solution.status is Status.CALLBACK
    assert solution.passes == 3
    assert solution.primal == pytest.approx(many[1].primal(solution.w, C), rel=1e-12)


def interrupting(monkeypatch, at, times=1):
    advance, calls = LBFGSRun.advance, []

    def interrupted(run, n_steps):
        calls.append(n_steps)
        if len(calls) == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        advance(run, n_steps)

    monkeypatch.setattr(LBFGSRun, "advance", interrupted)
    return calls


def test_ctrl_c_returns_a_certified_model(many, monkeypatch):
    problem, reference = many
    calls, handler = interrupting(monkeypatch, at=4), signal.getsignal(signal.SIGINT)
    solution = solve(problem, LBFGS(), C=C, tol=0.0)
    assert signal.getsignal(signal.SIGINT) is handler
    assert solution.status is Status.INTERRUPTED
    assert len(calls) == 4
    assert solution.primal == pytest.approx(reference.primal(solution.w, C), rel=1e-12)
    assert 0 < solution.gap < solution.scale


def test_a_second_ctrl_c_interrupts_at_once(many, monkeypatch):
    calls, handler = interrupting(monkeypatch, at=2, times=2), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        solve(many[0], LBFGS(), C=C, tol=0.0)
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(calls) == 2


# --- warm starts and checkpoints -----------------------------------------------------------------


@pytest.mark.parametrize("first", [SDCA(), LBFGS()], ids=["SDCA", "LBFGS"])
def test_any_solution_of_the_same_examples_is_a_start(first):
    problem, _ = PAIRS["weighted chain"]
    earlier = solve(problem, first, C=C, tol=1e-6, max_passes=5000)
    again = solve(problem, LBFGS(), C=C, tol=1e-6, warm_start=earlier)
    assert again.passes == 0
    assert again.primal <= earlier.primal
    np.testing.assert_allclose(again.w, earlier.w, rtol=0, atol=1e-12)
    warm = solve(problem, LBFGS(), C=2 * C, tol=1e-8, warm_start=earlier)
    cold = solve(problem, LBFGS(), C=2 * C, tol=1e-8)
    assert warm.history.iterate_primal[0] < cold.history.iterate_primal[0]
    assert max(warm.dual, cold.dual) <= min(warm.primal, cold.primal) + 1e-14
    for other in (smoothed(problem.base, 0.5), smoothed(problem.base, loss_augmented=True)):
        with pytest.raises(ValueError, match="proves nothing here"):
            solve(other, LBFGS(), warm_start=earlier)


@pytest.fixture
def saved(many, tmp_path):
    """A checkpoint after a few passes, and how to resume from it."""
    path = tmp_path / "run.npz"
    first = solve(many[0], LBFGS(), C=C, tol=0.0, max_passes=4, checkpoint=path)

    def resume(**options):
        options = {"C": C, "tol": 1e-8, **options}
        return solve(many[0], LBFGS(), checkpoint=path, resume=True, **options)

    return path, first, resume


def test_a_resumed_run_goes_on_from_the_best_weights(many, saved):
    _, first, resume = saved
    resumed, whole = resume(), solve(many[0], LBFGS(), C=C, tol=1e-8)
    assert resumed.status is Status.CONVERGED
    assert (
        resumed.history.iterate_primal[: len(first.history)].tolist()
        == first.history.iterate_primal.tolist()
    )
    assert np.all(np.diff(resumed.history.iterate_primal) <= 0)
    assert resumed.passes > first.passes
    assert max(resumed.dual, whole.dual) <= min(resumed.primal, whole.primal) + 1e-14
    assert resumed.primal == pytest.approx(many[1].primal(resumed.w, C), rel=1e-12)


def test_a_finished_run_is_not_trained_on(saved):
    _, _, resume = saved
    finished = resume()
    again = resume()
    assert again.passes == finished.passes
    np.testing.assert_array_equal(again.w, finished.w)


def test_what_a_checkpoint_says_was_proved_is_proved_again(saved):
    path, first, resume = saved
    history = first.history.copy()
    history["dual"][-1] = first.primal
    tampered(path, header=change_header(rows=history.tolist(), dual=first.primal, lowest=0.0))
    with pytest.raises(ValueError, match="claims a lower bound"):
        resume(max_passes=4)


def tampered(path, **changes):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    save_altered(path, arrays)


def change_header(**values):
    return lambda header: np.array(json.dumps({**json.loads(str(header)), **values}))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("best_w", lambda a: a[:1]),
        ("best_w", lambda a: a + 1.0),
        ("best_w", lambda a: a * np.nan),
        ("best_w", lambda a: a.astype(np.float32)),
        ("count", lambda a: -1 - a),
        ("count", lambda a: a[:1]),
        ("header", change_header(primal=-5.0)),
        ("header", change_header(rows="none")),
        ("header", change_header(C=2.0)),
    ],
    ids=["short", "moved", "NaN", "single", "negative", "count", "primal", "rows", "C"],
)
def test_a_checkpoint_that_lies_is_refused(saved, name, change):
    path, _, resume = saved
    tampered(path, **{name: change})
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume()


def test_a_truncated_checkpoint_is_refused_by_name(saved):
    path, _, resume = saved
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"run\.npz"):
        resume()


def test_checkpoints_of_other_problems_and_solvers_are_refused(many, saved):
    path, _, _ = saved
    for other, solver in [
        (smoothed(many[0].base, 0.5), LBFGS()), (many[0], LBFGS(memory=3)), (many[0], SDCA())
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="checkpoint of another run"):
            solve(other, solver, C=C, checkpoint=path, resume=True)


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, -1, 2.5, "many", True, None])
def test_a_memory_that_is_none(memory):
    with pytest.raises(ValueError, match="a whole number of steps"):
        LBFGS(memory=memory)


@pytest.mark.parametrize("solver", [SDCA(), LBFGS()], ids=["SDCA", "LBFGS"])
def test_it_is_for_crfs_only(solver):
    problem = multiclass_problem(np.eye(2), np.array([0, 1]), 2)
    with pytest.raises(ValueError, match="needs a CRF, which Pairwise does not have; make one"):
        solve(problem, solver)


def test_weights_without_a_state_are_a_start_too():
    problem, _ = PAIRS["chain"]
    earlier = replace(solution_of("chain"), state=None)
    again = solve(problem, LBFGS(), C=C, tol=TOL, warm_start=earlier)
    assert again.passes == 0
    assert again.primal == pytest.approx(earlier.primal, rel=1e-12)


@pytest.mark.parametrize("solver", [SDCA(), LBFGS()], ids=["SDCA", "LBFGS"])
def test_a_crf_has_no_slacks(solver):
    with pytest.raises(ValueError, match="a CRF has no slacks"):
        solve(PAIRS["chain"][0], solver, slack_penalty="squared")
