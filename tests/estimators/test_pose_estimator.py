"""PoseSVM finds poses that single detectors do not, and says clearly what it cannot use."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from taut import Status
from taut.datasets.stick_figures import PARENTS, make_stick_figures
from taut.estimators.pose_svm import PoseSVM, default_scale, spanning_tree


@pytest.fixture(scope="module")
def figures():
    """Training and test figures."""
    return make_stick_figures(40, size=24), make_stick_figures(60, size=24, random_state=1)


@pytest.fixture(scope="module")
def fitted(figures):
    train, _ = figures
    return PoseSVM(tree=PARENTS, tol=0.02, random_state=0).fit(train.heat_maps, train.joints)


def best_alone(heat_maps):
    """The highest score of each part, whatever the others say."""
    places = [maps.reshape(len(maps), -1).argmax(axis=1) for maps in heat_maps]
    return [
        np.stack([place % maps.shape[2], place // maps.shape[2]], axis=1)
        for place, maps in zip(places, heat_maps, strict=True)
    ]


def share_found(predicted, joints):
    distance = np.linalg.norm(np.stack(predicted) - joints, axis=2)
    return np.mean(distance <= default_scale(joints)[:, None])


def test_the_tree_finds_many_more_joints_than_the_parts_alone(figures, fitted):
    _, test = figures
    alone = share_found(best_alone(test.heat_maps), test.joints)
    assert fitted.score(test.heat_maps, test.joints) > alone + 0.2
    assert fitted.solution_.status is Status.CONVERGED
    assert fitted.solution_.relative_gap <= 0.02


def test_the_score_is_the_share_of_joints_within_the_scale(figures, fitted):
    _, test = figures
    predicted = fitted.predict(test.heat_maps)
    assert fitted.score(test.heat_maps, test.joints) == share_found(predicted, test.joints)
    assert fitted.score(test.heat_maps, test.joints, scale=100.0) == 1.0
    assert fitted.score(test.heat_maps, predicted) == 1.0


def test_springs_do_not_push(fitted):
    springs = np.concatenate(fitted.springs_)
    assert springs.shape == (13, 4)
    assert np.all(springs[:, [1, 3]] >= 0)
    assert np.any(springs[:, [1, 3]] > 0)


def test_fit_predict_and_clone_repeat_themselves(figures, fitted):
    train, test = figures
    again = clone(fitted).fit(train.heat_maps, train.joints)
    np.testing.assert_array_equal(again.w_, fitted.w_)
    threaded = clone(fitted).set_params(n_jobs=2).fit(train.heat_maps, train.joints)
    np.testing.assert_array_equal(threaded.w_, fitted.w_)
    np.testing.assert_array_equal(
        np.stack(threaded.predict(test.heat_maps)), np.stack(fitted.predict(test.heat_maps))
    )


def test_init_stores_and_nothing_else():
    tree = (-1, 0)
    clf = PoseSVM(tree=tree, n_types=0)
    assert clf.tree is tree
    assert clf.get_params()["n_types"] == 0


def test_types_are_the_clusters_of_displacements():
    """A part that rests either far left or far right of its parent needs two springs."""
    rng = np.random.default_rng(0)
    side = np.where(np.arange(30) % 2, 6, -6)
    root = np.stack([np.full(30, 10), rng.integers(2, 6, 30)], axis=1)
    joints = np.stack([root, root + np.stack([side, np.zeros(30, int)], axis=1)], axis=1)
    maps = []
    for (x, y), (child_x, child_y) in joints:
        heat = 0.1 * rng.normal(size=(2, 8, 21))
        heat[0, y, x] += 1.0
        heat[1, child_y, child_x] += 0.5
        heat[1, rng.integers(0, 8), rng.integers(8, 13)] += 0.6  # seen between the two sides
        maps.append(heat)
    options = dict(C=10.0, tree=[-1, 0], tol=0.05, random_state=0)
    one = PoseSVM(n_types=1, **options).fit(maps, joints, scale=2.0)
    two = PoseSVM(n_types=2, **options).fit(maps, joints, scale=2.0)
    assert sorted(two.anchors_[1][:, 0].round(9)) == [-6.0, 6.0]
    np.testing.assert_allclose(two.anchors_[1][:, 1], 0.0, atol=1e-9)
    assert two.score(maps, joints, scale=2.0) > one.score(maps, joints, scale=2.0)
    # Never more types than there are different displacements.
    many = PoseSVM(n_types=5, **options).fit(maps, joints, scale=2.0)
    assert len(many.anchors_[1]) == 2


def test_grids_of_different_sizes_and_several_channels(figures):
    train, _ = figures
    padded = [
        np.pad(maps[:, None], ((0, 0), (0, 1), (0, i % 3), (0, i % 2)))
        for i, maps in enumerate(train.heat_maps)
    ]
    clf = PoseSVM(tree=PARENTS, tol=0.1, random_state=0).fit(padded, train.joints)
    for weights in clf.part_weights_:
        assert weights.shape == (1, 2)
        assert weights[0, 1] == 0.0  # a channel of zeros says nothing
    for maps, pose in zip(padded, clf.predict(padded), strict=True):
        assert np.all((pose >= 0) & (pose < maps.shape[:1:-1]))


def test_a_single_part_is_placed_by_its_heat_map_alone():
    rng = np.random.default_rng(2)
    joints = rng.integers(0, 9, (20, 1, 2))
    maps = 0.1 * rng.normal(size=(20, 1, 9, 9))
    maps[np.arange(20), 0, joints[:, 0, 1], joints[:, 0, 0]] += 1.0
    clf = PoseSVM(random_state=0).fit(list(maps), joints)
    assert clf.score(list(maps), joints) == 1.0


def test_the_tree_by_default_joins_what_moves_together():
    rng = np.random.default_rng(3)
    root = rng.integers(0, 40, (50, 2))
    arm = root + rng.integers(-3, 4, (50, 2))
    hand = arm + rng.integers(-1, 2, (50, 2))
    ring = hand + np.array([1, 0])
    leg = root + rng.integers(-9, 10, (50, 2))
    np.testing.assert_array_equal(
        spanning_tree(np.stack([root, leg, hand, arm], axis=1)), [-1, 0, 3, 0]
    )
    # Parts that never move apart are joined, too.
    np.testing.assert_array_equal(spanning_tree(np.stack([leg, hand, ring], axis=1))[2], 1)


def distance_bound(solution):
    """How far the weights can be from the optimum: the objective is lambda-strongly convex."""
    return np.sqrt(2 * max(solution.gap, 0.0) / solution.lam)


def test_sample_weight_zero_equals_absence(figures):
    """The others' joints are the same again, so that anchors and unit are, too."""
    train, test = figures
    options = dict(tree=PARENTS, tol=1e-3, random_state=0)
    absent = PoseSVM(**options).fit(train.heat_maps[:20], train.joints[:20])
    weighted = PoseSVM(**options).fit(
        train.heat_maps[:20] + test.heat_maps[:20],
        np.tile(train.joints[:20], (2, 1, 1)),
        sample_weight=np.repeat([1.0, 0.0], 20),
    )
    apart = np.linalg.norm(weighted.w_ - absent.w_)
    assert apart <= distance_bound(weighted.solution_) + distance_bound(absent.solution_)
    assert apart < 0.2 * np.linalg.norm(absent.w_)  # the bounds say something


def test_warm_start_after_convergence_takes_no_pass(figures, fitted):
    train, _ = figures
    clf = clone(fitted).set_params(warm_start=True, tol=0.1).fit(train.heat_maps, train.joints)
    assert clf.n_iter_ > 0
    assert clf.fit(train.heat_maps, train.joints).n_iter_ == 0
    with pytest.raises(ValueError, match="training data or the loss differ"):
        clf.fit(train.heat_maps, train.joints, scale=3.0)


def test_too_few_passes_are_warned_of(figures):
    train, _ = figures
    with pytest.warns(ConvergenceWarning, match="PoseSVM"):
        PoseSVM(tree=PARENTS, tol=1e-6, max_passes=1).fit(train.heat_maps, train.joints)


MAPS = np.zeros((3, 4, 5))
JOINTS = np.zeros((3, 2))
WITH_NAN = MAPS.copy()
WITH_NAN[1, 2, 3] = np.nan


@pytest.mark.parametrize(
    ("X", "Y", "options", "complaint"),
    [
        ([MAPS, WITH_NAN], [JOINTS] * 2, {}, "example 1, part 1: the heat map .* is nan"),
        ([MAPS, MAPS[:2]], [JOINTS] * 2, {}, "example 1 has heat maps of 2 parts, the tree has 3"),
        ([MAPS, MAPS[0]], [JOINTS] * 2, {}, "example 1 are an array of float64 with shape"),
        ([MAPS] * 2, [JOINTS, JOINTS[:2]], {}, r"joints of example 1 .* shape \(2, 2\)"),
        ([MAPS] * 2, [JOINTS, JOINTS + 4], {}, "example 1, part 0: .* x=4, y=4, outside the grid"),
        ([MAPS] * 2, [JOINTS], {}, "heat maps of 2 examples but joints of 1"),
        ([MAPS], [3.0], {}, r"joints of example 0 have shape \(\)"),
        ([], [], {}, "at least one example"),
        ([MAPS], [JOINTS], {"tree": [-1, 2, 1]}, "not a tree"),
        ([MAPS], [JOINTS], {"tree": [-1, 0]}, "tree has 2 parts, the joints have 3"),
        ([MAPS], [JOINTS], {"n_types": 0}, "n_types=0; a number of springs"),
        ([MAPS], [JOINTS], {"n_types": 1.5}, "n_types=1.5"),
        ([MAPS], [JOINTS], {"bounds": (-1, -0.5)}, "bounds= keeps weight .* but inference"),
    ],
)
def test_bad_input_is_named(X, Y, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        PoseSVM(**({"tree": [-1, 0, 1]} | options)).fit(X, Y)


def test_prediction_needs_a_fitted_model_and_like_heat_maps(fitted):
    with pytest.raises(NotFittedError):
        PoseSVM().predict([MAPS])
    with pytest.raises(ValueError, match="example 0 has heat maps of 3 parts, the tree has 14"):
        fitted.predict([MAPS])
    with pytest.raises(ValueError, match="example 0 have 2 channels, others 1"):
        fitted.predict([np.zeros((14, 2, 5, 5))])
    with pytest.raises(ValueError, match="X has 1 examples but Y has 2"):
        fitted.score([np.zeros((14, 5, 5))], np.zeros((2, 14, 2)))
