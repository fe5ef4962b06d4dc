"""The Stanford background images become graphs of superpixels."""

import io
import tarfile

import numpy as np
import pytest

from taut.datasets import load_stanford, stanford_image


def arrays():
    """Three images of 2 x 2, 1 x 2 and 1 x 2 pixels, with 3, 2 and 1 superpixels."""
    rng = np.random.default_rng(0)
    return {
        "image_id": np.array(["a", "b", "c"]),
        "n_superpixels": np.array([3, 2, 1], dtype=np.int32),
        "n_adj": np.array([4, 2, 0], dtype=np.int32),
        "height_width": np.array([[2, 2], [1, 2], [1, 2]], dtype=np.int32),
        "features": rng.random((6, 519)).astype(np.float32),
        "labels": np.array([0, 1, 8, 2, 2, 3], dtype=np.uint8),
        "adj_pairs_1based": np.array([[1, 2], [1, 3], [2, 1], [3, 1], [1, 2], [2, 1]]),
        "superpixel_map_1based": np.array([1, 2, 1, 3, 1, 2, 1, 1], dtype=np.uint16),
        "pixel_labels": np.array([0, 1, 0, 8, 2, 2, 3, 3], dtype=np.uint8),
    }


def save(home, without=(), **changes):
    folder = home / "stanford_background"
    folder.mkdir(exist_ok=True)
    kept = {name: array for name, array in (arrays() | changes).items() if name not in without}
    np.savez_compressed(folder / "superpixels_99.npz", **kept)


def test_numbers_start_at_zero_and_unknown_is_minus_one(tmp_path):
    save(tmp_path)
    data = load_stanford(tmp_path, scale=False)
    assert [row.tolist() for row in data.labels] == [[-1, 0, 7], [1, 1], [2]]
    assert [graph[1].tolist() for graph in data.graphs] == [[[0, 1], [0, 2]], [[0, 1]], []]
    assert [image.tolist() for image in data.maps] == [[[0, 1], [0, 2]], [[0, 1]], [[0, 0]]]
    assert [image.tolist() for image in data.pixel_labels] == [
        [[-1, 0], [-1, 7]], [[1, 1]], [[2, 2]]
    ]  # fmt: skip
    assert [sizes.tolist() for sizes in data.sizes] == [[2, 1, 1], [1, 1], [2]]
    assert data.image_ids == ["a", "b", "c"]
    assert (len(data.classes), data.classes[0], data.classes[7]) == (8, "sky", "foreground")


def test_scaling_divides_by_the_deviation_over_training_images(tmp_path):
    save(tmp_path)
    raw, scaled = (load_stanford(tmp_path, scale=scale) for scale in (False, True))
    train = np.vstack([graph[0] for graph in raw.graphs[:2]])  # the third image is for testing
    for before, after in zip(raw.graphs, scaled.graphs, strict=True):
        np.testing.assert_allclose(after[0], before[0] / train.std(axis=0), rtol=1e-9)
        np.testing.assert_array_equal(after[2], before[2])


def test_edge_features_are_a_constant_and_similarities(tmp_path):
    save(tmp_path)
    for _, edges, edge_features in load_stanford(tmp_path).graphs:
        assert edge_features.shape == (len(edges), 16)
        assert (edge_features[:, 0] == 1).all()
        assert (edge_features > 0).all()


def test_every_third_image_is_for_testing(tmp_path):
    save(tmp_path)
    assert load_stanford(tmp_path, subset="train").image_ids == ["a", "b"]
    assert load_stanford(tmp_path, subset="test").image_ids == ["c"]
    with pytest.raises(ValueError, match=r"subset must be .* not 'both'"):
        load_stanford(tmp_path, subset="both")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"without": ["labels"]}, "cannot read the arrays .*labels"),
        ({"image_id": np.array("a")}, r"image_id has the shape \(\), expected \(1,\)"),
        ({"n_superpixels": np.array([3, 2])}, r"n_superpixels has the shape \(2,\)"),
        ({"n_superpixels": np.array([3, 2, 0])}, "n_superpixels has values 0 to 3"),
        ({"n_adj": np.array([4, 2, 1])}, r"adj_pairs_1based has the shape .* expected \(7, 2\)"),
        ({"height_width": np.array([[2, 2], [1, 2], [1, 1]])}, "superpixel_map_1based has the"),
        ({"features": np.ones((6, 518))}, r"features has the shape \(6, 518\)"),
        ({"features": np.full((6, 519), np.nan)}, "not finite"),
        ({"labels": np.array([0, 1, 9, 2, 2, 3])}, "labels has values 0 to 9, expected 0 to 8"),
        ({"adj_pairs_1based": np.array([[1, 2]] * 4 + [[1, 3]] * 2)}, "of image 1 has values 1 to"),
        ({"superpixel_map_1based": np.zeros(8, dtype=int)}, "superpixel_map_1based has values 0"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path, change, complaint):
    save(tmp_path, **change)
    with pytest.raises(ValueError, match=f"superpixels_99.npz: .*{complaint}"):
        load_stanford(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_cut_file_is_refused(tmp_path, share):
    save(tmp_path)
    path = tmp_path / "stanford_background" / "superpixels_99.npz"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"superpixels_99\.npz: cannot read the arrays"):
        load_stanford(tmp_path)


def save_archive(home, name, content):
    path = home / "stanford_background" / "images_99.tar"
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path


def test_images(tmp_path):
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    file = io.BytesIO()
    images.new("RGB", (3, 2), (255, 0, 0)).save(file, "JPEG")
    path = save_archive(tmp_path, "images/a.jpg", file.getvalue())
    image = stanford_image("a", tmp_path)
    assert (image.shape, image.dtype) == ((2, 3, 3), np.uint8)
    # A plain colour survives the compression up to rounding between its colour spaces.
    assert np.abs(image.astype(int) - [255, 0, 0]).max() <= 2
    with pytest.raises(ValueError, match=r"images_99.tar: 'images/b.jpg' is not in the archive"):
        stanford_image("b", tmp_path)
    save_archive(tmp_path, "images/a.jpg", file.getvalue()[:20])
    with pytest.raises(ValueError, match=r"images_99.tar, images/a.jpg: cannot read the image"):
        stanford_image("a", tmp_path)
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"images_99.tar: cannot read the archive"):
        stanford_image("a", tmp_path)


@pytest.fixture(scope="module")
def stanford(real_data):
    return load_stanford(real_data)


def test_real_counts(stanford):
    assert len(stanford.graphs) == 99
    assert sum(len(features) for features, _, _ in stanford.graphs) == 48_402
    assert sum(len(edges) for _, edges, _ in stanford.graphs) == 137_950
    labels = np.concatenate(stanford.labels)
    assert (labels == -1).sum() == 239
    assert set(labels) == set(range(-1, 8))
    assert sum(image.size for image in stanford.maps) == 7_421_120
    assert sum(sizes.sum() for sizes in stanford.sizes) == 7_421_120


def test_real_graphs_are_sound(stanford):
    for (features, edges, edge_features), labels in zip(
        stanford.graphs, stanford.labels, strict=True
    ):
        assert features.shape == (len(labels), 519)
        assert (edges[:, 0] < edges[:, 1]).all()
        assert len(np.unique(edges, axis=0)) == len(edges)
        assert (edge_features >= 0).all()
        assert (edge_features <= 1).all()


def test_real_labels_are_those_of_most_pixels(stanford):
    for labels, superpixels, pixel_labels in zip(
        stanford.labels[:5], stanford.maps, stanford.pixel_labels, strict=False
    ):
        counts = np.zeros((len(labels), 9), dtype=int)
        np.add.at(counts, (superpixels.ravel(), pixel_labels.ravel() + 1), 1)
        np.testing.assert_array_equal(counts[np.arange(len(labels)), labels + 1], counts.max(1))


def test_real_images_are_as_large_as_their_maps(stanford, real_data):
    pytest.importorskip("PIL.Image", reason="needs Pillow")
    for i in (0, 98):
        image = stanford_image(stanford.image_ids[i], real_data)
        assert image.shape == (*stanford.maps[i].shape, 3)
