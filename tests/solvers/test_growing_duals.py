"""Runs on chains whose duals grow: memory that becomes full changes no bit, and the solvers find
what they find where all pairs of labels have tables."""

import subprocess
import sys
from pathlib import Path

import altered_sparse_duals
import numpy as np
import pytest
from decomposition_reference import enumerated
from path_reference import PRECISE, PathReference
from scipy import sparse
from sparse_reference import SparseReference, sparse_pair
from taut_reference import chain_pair

from taut import LBFGS, SDCA, regularization_path, smoothed
from taut.choice.registry import OWN, registered_solver, trains_crfs, trains_without_inference
from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial, Status, Subgradient, solve
from taut.solvers.objective import Objective
from taut.structures import chain_problem, sparse_dual

SVM = {
    "toward": BCFW(),
    "pairwise, cache": BCFW(direction="pairwise", cache=True),
    "away": BCFW(direction="away"),
    "corrective": BCFW(direction="corrective"),
    "averaged": BCFW(averaging=True),
    "batch": FrankWolfe(),
    "simplicial": Simplicial(),
    "cutting planes": CuttingPlane(),
    "one slack": CuttingPlane(slacks="one"),
}
CRF = {"sdca": SDCA(), "lbfgs": LBFGS()}


def many_labels(seed=0, n=15, K=12, n_attributes=0):
    """A chain of more labels than it has examples of most."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, n)
    nodes = int(lengths.sum())
    values = sparse.csr_array(rng.random((nodes, n_attributes)).round()) if n_attributes else None
    return chain_problem(
        rng.normal(size=(nodes, 4)), lengths, rng.integers(0, K, nodes), K, only_seen_steps=True,
        step_attributes=values,
    )  # fmt: skip


@pytest.fixture
def scarce(monkeypatch):
    """Room for one change at a time; what is appended is how often room was made."""
    made = []

    def with_room(mu, more, largest, for_all, behind):
        made.append(for_all)
        return with_much(mu, more * for_all, largest, for_all, behind)

    with_much = sparse_dual.with_room
    monkeypatch.setattr(sparse_dual, "with_room", with_room)
    return made


@pytest.mark.parametrize("n_attributes", [0, 2])
@pytest.mark.parametrize("name", [*SVM, *CRF])
def test_how_often_room_is_made_changes_no_bit(name, n_attributes, request):
    problem = many_labels(n_attributes=n_attributes)
    problem = problem if name in SVM else smoothed(problem)
    run = dict(C=1.0, tol=0.0, max_passes=12, seed=3)
    roomy = solve(problem, (SVM | CRF)[name], **run)
    made = request.getfixturevalue("scarce")
    narrow = solve(problem, (SVM | CRF)[name], **run)
    np.testing.assert_array_equal(narrow.w, roomy.w)
    assert (narrow.primal, narrow.dual) == (roomy.primal, roomy.dual)
    if isinstance((SVM | CRF)[name], (BCFW, SDCA)):
        assert len(made) > 5


# --- the same as with tables ---------------------------------------------------------------------


def with_tables_and_without(seed):
    options = dict(kind="sparse", n_features=6, weighted=True, seed=seed)
    lengths = [3, 1, 4, 2, 5, 3, 4]
    dense, _ = chain_pair(lengths, 4, **options)
    grown, _ = sparse_pair(lengths, 4, only_seen=False, **options)
    return dense, grown


@pytest.mark.parametrize("name", SVM)
def test_with_all_pairs_a_run_is_that_on_tables(name):
    """Sums are taken in another order; all decisions are the same. Of master problems there are
    many solutions, and which one is found, rounding decides: these go on to the end."""
    dense, grown = with_tables_and_without(1)
    is_master = name in ("simplicial", "cutting planes")
    run = dict(C=0.8, tol=1e-12 * is_master, max_passes=100 if is_master else 10, seed=3)
    one, other = solve(dense, SVM[name], **run), solve(grown, SVM[name], **run)
    if is_master:  # |w - w*| <= sqrt(2 gap / lambda)
        assert one.status is other.status is Status.CONVERGED
        np.testing.assert_allclose(other.w, one.w, rtol=0, atol=1e-5)
        return
    np.testing.assert_allclose(other.w, one.w, rtol=0, atol=1e-9)
    assert other.primal == pytest.approx(one.primal, abs=1e-10)
    assert other.dual == pytest.approx(one.dual, abs=1e-10)
    assert (other.passes, other.oracle_calls) == (one.passes, one.oracle_calls)


@pytest.mark.parametrize("name", CRF)
def test_with_all_pairs_the_optimum_of_a_crf_is_that_on_tables(name):
    """SDCA may go to other distributions, which take less memory."""
    dense, grown = with_tables_and_without(2)
    run = dict(C=0.8, tol=1e-8, max_passes=20_000, seed=3)
    one, other = (solve(smoothed(problem), CRF[name], **run) for problem in (dense, grown))
    assert one.status is other.status is Status.CONVERGED
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-14
    away = np.sqrt(2 * max(one.gap, 1e-14) / one.lam) + np.sqrt(2 * max(other.gap, 1e-14) / one.lam)
    assert np.linalg.norm(one.w - other.w) <= away


@pytest.mark.parametrize("n_attributes", [0, 3])
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_distributions_over_few_labels_lead_to_the_optimum(C, n_attributes):
    """And take less memory on the way: at first all labels are as probable as each other."""
    problem = smoothed(many_labels(K=30, n_attributes=n_attributes))
    base = problem.base
    found = solve(problem, SDCA(), C=C, tol=1e-6, max_passes=5000)
    best = solve(problem, LBFGS(), C=C, tol=1e-8, max_passes=5000)
    assert found.status is best.status is Status.CONVERGED
    assert max(found.dual, best.dual) <= min(found.primal, best.primal) + 1e-12
    v = np.zeros(base.dim)
    reference = blank_reference(base)
    for i, image in enumerate(reference.images(found.state.mu[: -base.n])):
        v += C * (reference.phi(i, reference.Y[i]) - reference.features_of(i, image))
        assert image[0].min() >= -1e-12
        np.testing.assert_allclose(image[0].sum(1), 1.0, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.state.w, v, rtol=0, atol=1e-9)


def blank_reference(problem):
    """Of a problem with dense features and too many labellings to list."""
    ends, K, dense = problem.pointer[1:-1], problem.n_states, problem.features.rows.dense
    pairs, steps = problem.steps.pairs, problem.steps
    number = np.full((K, K), -1)
    number[pairs.sources, pairs.target] = np.arange(steps.n_pairs)
    values = None
    if steps.n_attributes:
        matrix = sparse.csr_array((steps.rows.data, steps.rows.indices, steps.rows.indptr),
                                  shape=(len(dense), steps.n_attributes))  # fmt: skip
        values = np.split(matrix.toarray(), ends)
    of_attribute = np.repeat(np.arange(steps.n_attributes), np.diff(steps.weights))
    place = np.arange(dense.shape[1] * K).reshape(K, -1).T
    return SparseReference(
        np.split(dense, ends), np.split(problem.truth, ends), K, place, problem.dim,
        number=number, attributes=values,
        seen=list(zip(of_attribute.tolist(), steps.of_pair.tolist(), strict=True)),
    )  # fmt: skip


# --- paths and other solvers ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "constant"])
@pytest.mark.parametrize("name", ["toward", "pairwise, cache", "away", "corrective"])
def test_a_path_is_within_its_bound_of_every_optimum(name, method):
    """Where it begins, next to nothing is kept of a dual point."""
    problem, definition = sparse_pair([3, 1, 2, 3, 4], 3, n_attributes=2, seed=6)
    path = regularization_path(problem, eps=0.05, solver=SVM[name], method=method, lam_min=0.02)
    assert path.guaranteed
    of = PathReference(enumerated(definition))
    for lam in np.geomspace(1e3, 0.02, 20):
        excess = of.suboptimality(path.weights(lam), lam)
        assert -PRECISE <= excess <= path.bound(lam) + 2 * PRECISE
        assert path.bound(lam) <= path.eps * path.scale + 1e-12


def test_a_path_of_a_crf_is_within_its_bound_of_every_optimum():
    problem = smoothed(many_labels(n=8, K=6))
    path = regularization_path(problem, eps=0.2, solver=SDCA(), lam_min=0.01)
    assert path.guaranteed
    for lam in np.geomspace(10.0, 0.01, 6):
        C = 1.0 / (lam * problem.n)
        best = solve(problem, LBFGS(), C=C, tol=1e-8, max_passes=2000)
        run = SDCA().start(problem, Objective(C, seed=0, n_threads=1))
        assert run.primal_of(path.weights(lam)) <= best.primal + path.bound(lam) + 1e-9


@pytest.mark.parametrize("name", sorted(OWN))
def test_every_solver_by_name_trains_it_or_says_why_not(name):
    solver = registered_solver(name)
    problem = many_labels(n=6, K=5)
    problem = smoothed(problem) if trains_crfs(solver) else problem
    run = dict(C=0.5, tol=0.1, max_passes=2000)
    if trains_without_inference(solver) or isinstance(solver, Subgradient):
        with pytest.raises(ValueError, match=r"SparseChain|cannot grow"):
            solve(problem, solver, **run)
    else:
        assert solve(problem, solver, **run).status is Status.CONVERGED


# --- altered checkpoints -------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(altered_sparse_duals.SOLVERS))
def test_an_altered_dual_is_refused_or_harmless(name, tmp_path):
    """In a process of its own: what is no dual must not end it."""
    done = subprocess.run(
        [sys.executable, altered_sparse_duals.__file__, name, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(altered_sparse_duals.__file__).parent,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    refused, harmless = map(int, done.stdout.split())
    assert refused > 30
    assert refused + harmless == altered_sparse_duals.TRIES
