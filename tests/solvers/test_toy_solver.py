"""A solver from outside the package does all that taut's own do, by its file and one line."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from altered_checkpoints import save_altered
from python_models import Multiclass
from slices import killed_at
from sparse_reference import sparse_pairs
from taut_reference import tiny_pairs
from toy_solver import FixedStep

import taut
from taut import BCFW, ChainSVM, GraphCRF, MulticlassSVM, Status, StructuredSVM, solve
from taut.choice import registry
from taut.choice.registry import register_solver
from taut.cli import main
from taut.datasets import make_digit_words
from taut.solvers import Solver

PAIRS = tiny_pairs() | sparse_pairs()
C = 0.6
problems = pytest.mark.parametrize("which", PAIRS)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.fixture
def toy():
    register_solver("toy", FixedStep())


# --- solve ----------------------------------------------------------------------------------------


@problems
def test_its_certificate_is_what_the_definitions_say(which):
    problem, reference = PAIRS[which]
    solution = solve(problem, FixedStep(), C=C, tol=0.02, max_passes=2000)
    assert solution.status is Status.CONVERGED
    mu, last = solution.state.mu, solution.history[-1]
    # Sums of a few hundred numbers around 1, as in test_certificate.
    np.testing.assert_allclose(solution.state.w, reference.weights(mu, C), rtol=0, atol=1e-9)
    assert last.iterate_primal == pytest.approx(reference.primal(solution.state.w, C), abs=1e-9)
    assert last.iterate_dual == pytest.approx(reference.dual(mu, C), abs=1e-9)
    assert np.all(np.diff(solution.history.iterate_dual) >= -1e-12)
    for i, image in enumerate(reference.images(mu)):
        assert reference.distance_to_polytope(i, image) < 1e-9


@problems
def test_it_agrees_with_another_solver(which):
    """Two lower bounds are below two objectives."""
    problem, _ = PAIRS[which]
    ours = solve(problem, FixedStep(), C=C, tol=0.02, max_passes=2000)
    other = solve(problem, BCFW(direction="corrective"), C=C, tol=1e-9)
    assert max(ours.dual, other.dual) <= min(ours.primal, other.primal) + 1e-12


def test_a_warm_start_goes_on_where_the_first_run_ended():
    problem, _ = PAIRS["chain"]
    first = solve(problem, FixedStep(), C=C, tol=0.0, max_passes=20)
    again = solve(problem, FixedStep(), C=C, tol=0.0, max_passes=0, warm_start=first)
    np.testing.assert_allclose(again.state.w, first.state.w, rtol=0, atol=1e-12)
    assert again.dual == pytest.approx(first.history.iterate_dual[-1], abs=1e-12)
    kept = dict(max_passes=0, warm_start=first, keep="primal")
    with_it = solve(problem, FixedStep(), C=2.0 * C, tol=0.0, **kept)
    np.testing.assert_allclose(with_it.state.w, first.state.w, rtol=0, atol=1e-12)
    other = solve(problem, BCFW(direction="corrective"), C=C, tol=1e-6)
    assert solve(problem, FixedStep(), C=C, tol=1e-3, warm_start=other).passes == 0


def test_bounds_and_averages_are_seen_to():
    problem, _ = PAIRS["chain"]
    how = dict(C=C, tol=0.02, max_passes=2000, bounds=(-0.1, 0.2))
    ours, other = solve(problem, FixedStep(), **how), solve(problem, BCFW(), **how)
    assert ours.status is Status.CONVERGED
    assert ours.w.min() >= -0.1
    assert ours.w.max() <= 0.2
    assert max(ours.dual, other.dual) <= min(ours.primal, other.primal) + 1e-12


def test_what_it_cannot_train_is_refused():
    problem, _ = PAIRS["chain"]
    with pytest.raises(ValueError, match=r"step 0.1.* needs a max oracle.*: train it by SDCA"):
        solve(taut.smoothed(problem, 1.0), FixedStep())
    with pytest.raises(ValueError, match=r"step 0.1.* is for linear slacks"):
        solve(problem, FixedStep(), slack_penalty="squared")


# --- checkpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 4, 8, 13])
def test_a_killed_run_is_resumed_to_the_same_bits(at, tmp_path):
    problem, _ = PAIRS["weighted chain"]
    options = dict(solver=FixedStep(refresh=3), C=C, tol=0.0, max_passes=20)
    saved = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    with killed_at(FixedStep, at + 1):
        solve(problem, **options, **saved)
    assert saved["checkpoint"].exists()
    resumed, whole = solve(problem, **options, **saved, resume=True), solve(problem, **options)
    for name in ("w", "primal", "dual", "passes", "oracle_calls", "status"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), name)
    for name in set(whole.history.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(resumed.history[name], whole.history[name], name)


def test_a_checkpoint_of_another_step_is_refused(tmp_path):
    problem, saved = PAIRS["chain"][0], dict(checkpoint=tmp_path / "run.npz")
    solve(problem, FixedStep(), C=C, max_passes=5, tol=0.0, **saved)
    with pytest.raises(ValueError, match="this run has another solver"):
        solve(problem, FixedStep(step=0.2), C=C, resume=True, **saved)


def test_losses_that_are_not_those_of_the_dual_point_are_refused(tmp_path):
    """They would claim a lower bound above the optimum."""
    problem, path = PAIRS["chain"][0], tmp_path / "run.npz"
    run = dict(solver=FixedStep(), C=C, max_passes=5, tol=0.0, checkpoint=path)
    solve(problem, **run)
    with np.load(path) as saved:
        arrays = dict(saved)
    save_altered(path, arrays | {"ell": arrays["ell"] + 0.1})
    with pytest.raises(ValueError, match="losses and dual point do not belong together"):
        solve(problem, **run, resume=True)


# --- estimators -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("toy")
def test_estimators_know_its_name():
    X, y = make_digit_words(20, random_state=0)
    options = dict(C=0.1, tol=0.02, random_state=0)
    chain = ChainSVM(solver="toy", **options).fit(X, y)
    assert chain.solution_.solver == FixedStep()
    assert chain.solution_.status is Status.CONVERGED
    assert chain.score(X, y) > 0.9
    rows, labels = np.concatenate(X), np.concatenate(y)
    assert MulticlassSVM(solver="toy", **options).fit(rows, labels).score(rows, labels) > 0.9
    by_object = ChainSVM(solver=FixedStep(), **options).fit(X, y)
    np.testing.assert_array_equal(by_object.w_, chain.w_)


@pytest.mark.usefixtures("toy")
def test_models_in_plain_Python_can_be_trained_by_it():
    X = np.random.default_rng(0).normal(size=(20, 3))
    labels = X.argmax(axis=1).tolist()
    clf = StructuredSVM(Multiclass(3), solver="toy", C=1.0, tol=0.05).fit(list(X), labels)
    assert clf.solution_.status is Status.CONVERGED


@pytest.mark.usefixtures("toy")
def test_estimators_list_it_where_it_fits():
    X, y = [np.eye(2)], [[0, 1]]
    with pytest.raises(ValueError, match=r"solver='tou'; expected .*'toy', .* did you mean 'toy'"):
        ChainSVM(solver="tou").fit(X, y)
    with pytest.raises(ValueError, match="solver='toy' trains SVMs; expected 'auto', 'sdca'"):
        GraphCRF(solver="toy").fit([(np.eye(2), [[0, 1]])], y)
    with pytest.raises(ValueError, match=r"averaging=True .* ascent .* returns its last iterate"):
        ChainSVM(solver="toy", averaging=True).fit(X, y)


# --- the command line -----------------------------------------------------------------------------

TEXT = "the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\ndogs NNS B-NP\nsee VBP B-VP\nit PRP B-NP\n\n"


@pytest.mark.usefixtures("toy")
def test_the_command_line_trains_by_it(tmp_path, capsys):
    text, model = tmp_path / "text", str(tmp_path / "model")
    text.write_text(TEXT)
    run = ["train", str(text), "-o", model, "--solver", "toy", "--C", "10", "--max-passes", "200"]
    assert main([*run, "--checkpoint", str(tmp_path / "run.npz")]) == 0
    assert "dual coordinate ascent (step 0.1)" in capsys.readouterr().out
    assert main(["tag", "-m", model, str(text)]) == 0
    assert "cat NN I-NP I-NP" in capsys.readouterr().out.replace("\t", " ")
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--help"])
    assert ", toy; of CRFs" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit, match="2"):
        main([*run, "--averaging"])
    assert "--solver toy returns its last iterate" in capsys.readouterr().err


@pytest.fixture
def installed(tmp_path):
    """A folder like that of an installed package with the entry points that are asked for."""

    def install(*entries):
        about = tmp_path / "toy_solvers-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-solvers\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("\n".join(["[taut.solvers]", *entries]))
        return str(tmp_path)

    return install


def test_an_installed_package_adds_a_solver_by_an_entry_point(installed, tmp_path):
    """In a process of its own, which imports nothing but taut."""
    text = tmp_path / "text"
    text.write_text(TEXT)
    folders = [installed("toy = toy_solver:FixedStep"), *sys.path]
    code = f"import sys; sys.path[:] = {folders}; from taut.cli import main; sys.exit(main())"
    train = ["train", str(text), "-o", str(tmp_path / "model"), "--solver", "toy"]
    done = subprocess.run(
        [sys.executable, "-c", code, *train, "--max-passes", "5"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "dual coordinate ascent" in done.stdout


def test_what_a_package_offers_wrongly_leaves_the_others_alone(installed, monkeypatch):
    monkeypatch.syspath_prepend(
        installed("broken = no_such_module:X", "bcfw = toy_solver:FixedStep", "Toy = toy_solver:C")
    )
    assert registry.registered_solver("bcfw") == BCFW()
    with pytest.raises(ValueError, match=r"'broken' of toy-solvers .* No module named 'no_such"):
        registry.registered_solver("broken")
    with pytest.warns(RuntimeWarning, match="cannot be used") as found:
        names = registry.solver_names(registry.trains_crfs)
    assert names == ["sdca", "lbfgs"]
    assert len(found) == 3


# --- the registry ---------------------------------------------------------------------------------


def test_a_name_is_given_once(toy):
    with pytest.raises(ValueError, match=r"'toy' is taken, by dual .*; choose another, or say"):
        register_solver("toy", FixedStep(step=0.3))
    register_solver("toy", FixedStep(step=0.3), replace=True)
    assert registry.registered_solver("toy") == FixedStep(step=0.3)
    with pytest.raises(ValueError, match=r"'fw' is taken, by batch Frank-Wolfe; choose another$"):
        register_solver("fw", FixedStep(), replace=True)


@pytest.mark.parametrize("name", ["auto", "", "My Solver", "-x", "x_y", None, 3])
def test_a_name_is_one_that_can_be_typed(name):
    with pytest.raises(ValueError, match="cannot be the name of a solver; expected lower-case"):
        register_solver(name, FixedStep())


def test_only_solvers_are_registered():
    @dataclass
    class Loose(Solver):
        check_every: int = 1

        def describe(self):
            return "loose"

        def start(self, problem, objective):
            raise NotImplementedError

    with pytest.raises(TypeError, match=r"FixedStep is a class; give a solver: FixedStep\(\)"):
        register_solver("x", FixedStep)
    with pytest.raises(TypeError, match="3 is not a solver"):
        register_solver("x", 3)
    with pytest.raises(TypeError, match="Loose is not a frozen dataclass"):
        register_solver("x", Loose())


@dataclass(frozen=True)
class Needy(FixedStep):
    needs = "max-oracle"


@dataclass
class Thawed(FixedStep.__base__):
    def describe(self):
        return "thawed"

    def start(self, problem, objective):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Needy(), r"Needy.needs is 'max-oracle'; a Capability of taut.problem.capability is exp"),
        (Thawed(), r"Thawed is not a frozen dataclass; write @dataclass\(frozen=True\)"),
        (FixedStep, r"FixedStep is a class; give a solver: FixedStep\(\)"),
        (3, "3 is not a solver"),
    ],
    ids=["needs", "not frozen", "class", "number"],
)
def test_what_is_no_solver_is_refused_by_solve_as_by_the_registry(solver, message):
    problem, _ = next(iter(PAIRS.values()))
    with pytest.raises(TypeError, match=message):
        solve(problem, solver)
    with pytest.raises(TypeError, match=message):
        register_solver("x", solver)


# --- a run that is not one ------------------------------------------------------------------------


def test_a_solver_that_counts_no_steps_is_told_so():
    """It would train for ever."""

    @dataclass(frozen=True)
    class Lost(FixedStep):
        def start(self, problem, objective):
            run = super().start(problem, objective)
            run.visit = lambda n_blocks: None
            return run

    problem, _ = next(iter(PAIRS.values()))
    with pytest.raises(RuntimeError, match=r"advance of FixedStepRun counted no step: .*STEPS"):
        solve(problem, Lost(), max_passes=3)


def test_certificates_are_some_passes_apart():
    @dataclass(frozen=True)
    class Restless(FixedStep):
        check_every = 0

    problem, _ = next(iter(PAIRS.values()))
    with pytest.raises(ValueError, match="has check_every=0; passes between two certificates"):
        solve(problem, Restless(), tol=0, max_passes=3)
