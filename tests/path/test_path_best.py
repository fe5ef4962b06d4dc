"""The weights with the best score on held-out data are kept, whatever else the path keeps."""

import numpy as np
import pytest

from taut import regularization_path
from taut.structures import multiclass_problem

RANDOM = np.random.default_rng(0)
PROBLEM = multiclass_problem(RANDOM.normal(size=(40, 4)), RANDOM.integers(0, 3, 40), n_states=3)
TARGET = RANDOM.normal(size=PROBLEM.dim)


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("at", [None, np.geomspace(0.01, 3.0, 30)])
def test_the_best_weights_are_returned_with_a_bound(keeps, at):
    seen = []

    def score(w):
        seen.append((-float(np.linalg.norm(w - TARGET)), w.copy()))
        return seen[-1][0]

    path = regularization_path(
        PROBLEM, eps=0.1, lam_min=0.005, validate=score, validate_at=at, keep_weights=keeps
    )
    best = path.best()
    highest = max(value for value, _ in seen)
    assert np.nanmax(path.scores) == highest
    # Interpolated again, weights differ by rounding.
    assert -np.linalg.norm(best.w - TARGET) == pytest.approx(highest, rel=1e-12)
    assert (best.C, best.lam) == (path.best_C, path.best_lambda)
    assert 0.0 <= best.gap <= 0.1 * best.scale * (1.0 + 1e-9)


def test_of_equal_scores_those_of_the_strongest_regularisation_are_kept():
    lambdas = np.geomspace(0.01, 1.0, 10)  # the largest comes last
    path = regularization_path(
        PROBLEM, eps=0.1, lam_min=0.005, validate=lambda w: 1.0, validate_at=lambdas,
        keep_weights=False,
    )  # fmt: skip
    kept = regularization_path(PROBLEM, eps=0.1, lam_min=0.005)
    assert path.best().lam == lambdas[-1]
    np.testing.assert_allclose(path.best().w, kept.weights(lambdas[-1]), rtol=0, atol=1e-12)


def test_without_scores_there_is_no_best():
    with pytest.raises(ValueError, match="there are no scores: give held-out data to validate="):
        regularization_path(PROBLEM, eps=0.1, lam_min=0.1).best()


@pytest.mark.parametrize("keeps", [True, False])
def test_what_was_found_before_a_checkpoint_is_not_taken_for_other_weights(keeps, tmp_path):
    """Scores fall from the first lambda on; the weights of the best are in no file."""
    lambdas = np.geomspace(1.0, 0.01, 10)
    options = dict(
        eps=0.1, validate=lambda w: -float(w @ w), validate_at=lambdas, keep_weights=keeps,
        checkpoint=tmp_path / "path", checkpoint_seconds=0.0,
    )  # fmt: skip
    regularization_path(PROBLEM, lam_min=0.1, **options)
    path = regularization_path(PROBLEM, lam_min=0.1, **options, resume=True).extend(0.005)
    assert path.best_lambda == lambdas[0]
    if keeps:
        assert path.best().lam == lambdas[0]
        assert 0.0 <= path.best().gap <= 0.1 * path.scale * (1.0 + 1e-9)
    else:
        with pytest.raises(ValueError, match="before this path was taken up from its checkpoint"):
            path.best()
