"""Photographs of horses become graphs of superpixels, and are cached."""

import io
import sys
import tarfile

import numpy as np
import pytest

pytest.importorskip("skimage", reason='needs scikit-image: pip install "taut[images]"')
import PIL.Image

from taut._compile import places
from taut.datasets import horse_features, horse_image, horses, load_horses


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "folders", lambda: [tmp_path / "cache"])
    return tmp_path / "cache" / "horses"


def jpg(pixels) -> bytes:
    file = io.BytesIO()
    PIL.Image.fromarray(pixels).save(file, "JPEG", quality=95)
    return file.getvalue()


def save(home, photographs):
    """Two archives of photographs, each (colours, mask)."""
    (home / "weizmann_horse").mkdir(exist_ok=True)
    for folder, place in (("rgb", 0), ("figure_ground", 1)):
        with tarfile.open(home / "weizmann_horse" / f"{folder}.tar", "w") as archive:
            for k, photograph in enumerate(photographs, start=1):
                content = photograph[place]
                member = tarfile.TarInfo(f"{folder}/horse{k:03d}.jpg")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def brown_square():
    """A brown square in a green field. The photograph is twice as large as the mask."""
    mask = np.zeros((60, 80), dtype=np.uint8)
    mask[20:50, 30:70] = 255
    colours = np.where(np.kron(mask, np.ones((2, 2)))[:, :, None] > 0, [120, 70, 30], [40, 160, 60])
    return jpg(colours.astype(np.uint8)), jpg(mask)


@pytest.fixture
def home(tmp_path):
    save(tmp_path, [brown_square()] * 2)
    return tmp_path


def load_one(home, **options):
    return load_horses(home, n_images=1, n_superpixels=40, **options)


def test_one_photograph(home):
    data = load_one(home)
    (features, edges, edge_features), superpixels = data.graphs[0], data.maps[0]
    n = len(features)
    assert (data.image_ids, data.classes) == (["horse001"], ["background", "horse"])
    assert superpixels.shape == data.pixel_labels[0].shape == (60, 80)
    np.testing.assert_array_equal(np.unique(superpixels), np.arange(n))
    np.testing.assert_array_equal(data.sizes[0], np.bincount(superpixels.ravel()))
    # Superpixels follow so clear an outline: a band of one pixel may be lost to the compression.
    wrong = data.labels[0][superpixels] != data.pixel_labels[0]
    assert wrong.sum() <= 2 * (30 + 40)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert features.shape == (n, 210)
    assert edge_features.shape == (len(edges), 31)


def test_features_are_square_roots_of_histograms(home):
    features, _, edge_features = load_one(home).graphs[0]
    for start, stop in ((0, 64), (64, 89), (89, 105), (105, 169), (169, 194), (194, 210)):
        np.testing.assert_allclose((features[:, start:stop] ** 2).sum(axis=1), 1.0, rtol=1e-12)
    assert (edge_features[:, 0] == 1).all()
    assert ((edge_features >= 0) & (edge_features <= 1)).all()


def test_edges_across_the_outline_are_the_ones_of_unlike_colours(home):
    data = load_one(home)
    _, edges, edge_features = data.graphs[0]
    across = data.labels[0][edges[:, 0]] != data.labels[0][edges[:, 1]]
    assert 0 < across.sum() < len(edges)
    similar_colours = edge_features[:, 5]  # eta = 16, the superpixels' own colours
    assert similar_colours[across].max() < similar_colours[~across].min()


def test_a_neighbourhood_is_the_superpixel_and_all_that_touch_it():
    superpixels = np.array([[0, 1, 2]], dtype=np.int32)
    image = np.array([[[0, 0, 0], [255, 255, 255], [255, 0, 0]]], dtype=np.uint8)
    counts = np.zeros((3, horse_features.N_BINS), dtype=np.int64)
    counts[:, :64][np.arange(3), horse_features._colours(image)[0]] = [1, 2, 3]
    counts[:, 64] = counts[:, 89] = 1
    features, _, _ = horse_features.superpixel_graph(superpixels, counts)
    histograms = features[:, 105:169] ** 2
    black, white, red = horse_features._colours(image)[0]
    np.testing.assert_allclose(histograms[0, [black, white, red]], [1 / 3, 2 / 3, 0])
    np.testing.assert_allclose(histograms[1, [black, white, red]], [1 / 6, 2 / 6, 3 / 6])


def test_textures_tell_direction_and_strength():
    ramp = np.repeat(np.arange(0, 240, 8, dtype=np.uint8)[None, :, None], 3, axis=2)
    across = np.broadcast_to(ramp, (30, 30, 3))
    down = across.transpose(1, 0, 2)
    flat = np.zeros_like(across)
    bins = [np.unique(horse_features._textures(image)).tolist() for image in (flat, across, down)]
    # 8 grey levels per pixel are the weakest of three strengths; downwards is half a half turn.
    assert bins == [[0], [1], [5]]
    reverse = horse_features._textures(across[:, ::-1])
    np.testing.assert_array_equal(reverse, horse_features._textures(across))


def test_large_images_are_made_smaller(home):
    data = load_one(home, longest_side=40)
    assert data.maps[0].shape == (30, 40)
    assert horse_image("horse001", home, longest_side=40).shape == (30, 40, 3)
    assert horse_image("horse001", home).shape == (60, 80, 3)


def test_the_second_time_comes_from_the_cache(home, cache, monkeypatch):
    first = load_one(home)
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(horses, "find_superpixels", None)
    again = load_one(home)
    for before, after in zip(first.graphs[0], again.graphs[0], strict=True):
        np.testing.assert_array_equal(before, after)
    for name in ("labels", "sizes", "maps", "pixel_labels"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))


def test_the_same_photograph_gives_the_same_graph(home):
    data = load_horses(home, n_images=2, n_superpixels=40)
    for first, second in zip(*data.graphs, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("options", [{"n_superpixels": 20}, {"longest_side": 40}])
def test_other_options_are_not_found_in_the_cache(home, cache, options):
    load_one(home)
    load_horses(home, n_images=1, **{"n_superpixels": 40, **options})
    assert len(list(cache.iterdir())) == 2


def test_another_photograph_is_not_found_in_the_cache(home, cache):
    load_one(home)
    _, mask = brown_square()
    save(home, [(mask, mask)])
    assert load_one(home).graphs[0][0].shape[1] == 210
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_damaged_cache_is_made_anew(home, cache, share):
    first = load_one(home)
    (path,) = cache.iterdir()
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    np.testing.assert_array_equal(load_one(home).maps[0], first.maps[0])
    assert path.read_bytes() == content


def test_a_cache_of_other_arrays_is_made_anew(home, cache):
    first = load_one(home)
    (path,) = cache.iterdir()
    with np.load(path) as arrays:
        np.savez(path, **dict(arrays, counts=arrays["counts"][1:]))
    np.testing.assert_array_equal(load_one(home).graphs[0][0], first.graphs[0][0])


def test_a_cache_that_cannot_be_written_is_no_error(home, cache):
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    assert len(load_one(home).graphs) == 1


def test_a_damaged_photograph_is_named(home):
    colours, mask = brown_square()
    save(home, [(colours[:100], mask)])
    with pytest.raises(ValueError, match=r"rgb.tar, rgb/horse001.jpg: cannot read the image"):
        load_one(home)
    save(home, [(colours, b"")])
    with pytest.raises(ValueError, match=r"figure_ground.tar, figure_ground/horse001.jpg: "):
        load_one(home)


def test_a_missing_photograph_is_named(home):
    with pytest.raises(ValueError, match=r"rgb.tar: 'rgb/horse003.jpg' is not in the archive"):
        load_horses(home, n_images=3)


def test_without_scikit_image_the_error_names_the_extra(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r'scikit-image .* pip install "taut\[images\]"'):
        load_one(home)


@pytest.mark.parametrize(
    "wrong", [{"subset": "both"}, {"n_images": 0}, {"n_images": 328}, {"n_superpixels": 1},
              {"longest_side": 0}],
)  # fmt: skip
def test_wrong_arguments_are_named(home, wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name} must be .*, not {value!r}"):
        load_horses(home, **wrong)


def test_real_photographs(real_data):
    train = load_horses(real_data, subset="train", n_images=3)
    test = load_horses(real_data, subset="test", n_images=2)
    assert train.image_ids == ["horse001", "horse002", "horse003"]
    assert test.image_ids == ["horse165", "horse166"]
    assert len(horses._image_ids("train", None)) == 164
    assert len(horses._image_ids("test", None)) == 163
    assert "horse318" not in horses._image_ids("all", None)
    for data in (train, test):
        for graph, superpixels, pixel_labels in zip(
            data.graphs, data.maps, data.pixel_labels, strict=True
        ):
            assert 100 <= len(graph[0]) <= 200
            assert max(superpixels.shape) <= 240
            assert 0 < pixel_labels.mean() < 1
        # What superpixels can reach at best: they follow the outlines, though not to the pixel.
        horse = np.concatenate(
            [row[image].ravel() for row, image in zip(data.labels, data.maps, strict=True)]
        ).astype(bool)
        truth = np.concatenate([image.ravel() for image in data.pixel_labels]).astype(bool)
        assert (horse & truth).sum() / (horse | truth).sum() > 0.8
    assert horse_image("horse001", real_data).shape == (*train.maps[0].shape, 3)
