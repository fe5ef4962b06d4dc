"""Stick figures: drawn on the grid, seen by poor detectors, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from taut.datasets.stick_figures import (
    JOINTS,
    MIRRORED,
    PARENTS,
    load_stick_figures,
    make_stick_figures,
)


def test_the_skeleton_is_a_tree_with_two_sides():
    assert len(JOINTS) == len(PARENTS) == len(MIRRORED) == 14
    for joint, name in enumerate(JOINTS):
        climbed, above = 0, joint
        while PARENTS[above] >= 0:
            climbed, above = climbed + 1, PARENTS[above]
            assert climbed < 14
        assert JOINTS[above] == "neck"
        assert MIRRORED[MIRRORED[joint]] == joint
        swapped = {"right": "left", "left": "right"}
        side, _, rest = name.partition(" ")
        assert JOINTS[MIRRORED[joint]] == (f"{swapped[side]} {rest}" if rest else name)


@given(
    n=st.integers(1, 4),
    size=st.integers(8, 40),
    clutter=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=20)
def test_figures_fill_their_grid(n, size, clutter, seed):
    figures = make_stick_figures(n, size=size, clutter=clutter, random_state=seed)
    assert [maps.shape for maps in figures.heat_maps] == [(14, size, size)] * n
    assert figures.joints.shape == (n, 14, 2)
    assert figures.images.shape == (n, size, size)
    assert figures.heat_maps[0].dtype == figures.images.dtype == np.float32
    assert figures.joints.min() >= 0
    assert figures.joints.max() < size
    # The longer side is 85% of the grid; rounding moves either end by half a position.
    longer = np.ptp(figures.joints, axis=1).max(axis=1)
    np.testing.assert_allclose(longer, 0.85 * (size - 1), atol=1.0)
    assert figures.images.min() >= 0.0
    assert figures.images.max() <= 1.0


def test_lines_join_the_joints():
    figures = make_stick_figures(5, size=48)
    for image, joints in zip(figures.images, figures.joints, strict=True):
        x, y = joints.T
        assert image[y, x].min() > 0.2  # joints are rounded, the lines are not
        for joint, parent in enumerate(PARENTS):
            if parent >= 0:
                x, y = np.rint(0.5 * (joints[joint] + joints[parent])).astype(int)
                assert image[y, x] > 0.0


def test_the_same_seed_makes_the_same_figures():
    one, same, other = (make_stick_figures(2, size=16, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.heat_maps, same.heat_maps)
    np.testing.assert_array_equal(one.joints, same.joints)
    assert not np.array_equal(one.joints, other.joints)


def test_without_noise_and_clutter_a_detector_answers_on_both_sides_only():
    figures = make_stick_figures(20, size=64, noise=0.0, clutter=0)
    for maps, joints in zip(figures.heat_maps, figures.joints, strict=True):
        for part in range(14):
            best = np.unravel_index(maps[part].argmax(), maps[part].shape)[::-1]
            sides = joints[[part, MIRRORED[part]]]
            # Jitter is a third of a blob's width, about 0.6 positions here, in each direction.
            assert np.linalg.norm(sides - best, axis=1).min() <= 4.0


def test_bad_options_are_named():
    for options, complaint in [
        ({"n": 0}, "n=0; at least one"),
        ({"size": 7}, "size=7; a figure needs"),
        ({"noise": -0.1}, "noise=-0.1"),
        ({"noise": np.nan}, "noise=nan"),
        ({"clutter": -1}, "clutter=-1"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            make_stick_figures(**options)


# --- the file --------------------------------------------------------------------------------


def write(home, **arrays):
    (home / "lsp").mkdir(exist_ok=True)
    savemat(home / "lsp" / "joints.mat", arrays)
    return home


@pytest.fixture
def joints():
    """Six poses, as they stand in the file."""
    poses = make_stick_figures(6, size=150).joints
    return np.concatenate([poses.transpose(2, 1, 0) + 0.25, np.zeros((1, 14, 6))])


def test_poses_are_scaled_to_the_grid(joints, tmp_path):
    write(tmp_path, joints=joints)
    figures = load_stick_figures(tmp_path, subset="all", size=150)
    # The same poses at the same size: only rounding differs.
    expected = joints[:2].transpose(2, 1, 0)
    shape = figures.joints - figures.joints.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(shape, expected - expected.mean(axis=1, keepdims=True), atol=2.0)


def test_the_halves_are_train_and_test(joints, tmp_path):
    write(tmp_path, joints=joints)
    train, test, both = (
        load_stick_figures(tmp_path, subset=subset, size=16) for subset in ("train", "test", "all")
    )
    np.testing.assert_array_equal(np.concatenate([train.joints, test.joints]), both.joints)
    assert not np.array_equal(train.heat_maps[0], test.heat_maps[0])
    with pytest.raises(ValueError, match="subset='valid'"):
        load_stick_figures(tmp_path, subset="valid")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda joints: {"points": joints}, "cannot read the joints .*'joints'"),
        (lambda joints: {"joints": joints[:2]}, r"shape \(2, 14, 6\)"),
        (lambda joints: {"joints": joints[:, :13]}, r"shape \(3, 13, 6\)"),
        (lambda joints: {"joints": "text"}, "cannot read the joints|shape"),
        (lambda joints: {"joints": joints * np.array([1, 1, 1, np.nan, 1, 1])}, "figure 3 are no"),
        (lambda joints: {"joints": joints * np.array([1, 0, 1, 1, 1, 1])}, "figure 1 are no pose"),
    ],
)
def test_wrong_arrays_are_refused(joints, tmp_path, change, complaint):
    write(tmp_path, **change(joints))
    with pytest.raises(ValueError, match=rf"joints\.mat: .*({complaint}).*; replace the file"):
        load_stick_figures(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_cut_file_is_refused(joints, tmp_path, share):
    path = write(tmp_path, joints=joints) / "lsp" / "joints.mat"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"joints\.mat: cannot read the joints"):
        load_stick_figures(tmp_path)


@given(at=st.integers(0, 10**6), new=st.binary(min_size=1, max_size=8))
@settings(max_examples=60)
def test_a_damaged_file_is_refused_or_still_one_of_poses(tmp_path_factory, at, new):
    home = tmp_path_factory.getbasetemp() / "damaged"
    home.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    path = write(home, joints=rng.uniform(1, 190, (3, 14, 2))) / "lsp" / "joints.mat"
    content = bytearray(path.read_bytes())
    at %= len(content)
    content[at : at + len(new)] = new
    path.write_bytes(content)
    try:
        figures = load_stick_figures(home, size=8, subset="all")
    except ValueError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017
    else:
        assert figures.joints.min() >= 0
        assert figures.joints.max() < 8


def test_the_leeds_sports_poses(real_data):
    figures = load_stick_figures(real_data, subset="train", size=16)
    assert figures.joints.shape == (1000, 14, 2)
    both = load_stick_figures(real_data, subset="all", size=16)
    assert both.joints.shape == (2000, 14, 2)
    # People stand or move about, mostly with the head above the neck above the hips.
    y = both.joints[:, :, 1]
    assert np.mean(y[:, JOINTS.index("head")] <= y[:, JOINTS.index("neck")]) > 0.8
    assert np.mean(y[:, JOINTS.index("neck")] <= y[:, JOINTS.index("left hip")]) > 0.8
