"""A USPS file that is not what it should be is refused by name."""

import numpy as np
import pytest

from taut.datasets import load_usps


@pytest.fixture
def path(tmp_path):
    (tmp_path / "usps").mkdir()
    return tmp_path / "usps" / "usps.npz"


def save(path, without=(), **changes):
    arrays = {
        "X_train_times_1000": np.full((3, 256), 500, dtype=np.int16),
        "y_train": np.array([1, 2, 3], dtype=np.uint8),
        "X_test_times_1000": np.full((2, 256), -250, dtype=np.int16),
        "y_test": np.array([4, 5], dtype=np.uint8),
    } | changes
    np.savez_compressed(path, **{name: arrays[name] for name in arrays if name not in without})


def test_thousandths_become_the_published_decimals(path, tmp_path):
    save(path)
    X_train, y_train, X_test, y_test = load_usps(tmp_path)
    assert (X_train[0, 0], X_test[0, 0]) == (0.5, -0.25)
    assert (y_train.tolist(), y_test.tolist()) == ([1, 2, 3], [4, 5])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"without": ["y_test"]}, "y_test"),
        ({"X_train_times_1000": np.array(["a"])}, "expected integers"),
        ({"y_test": np.array([4, 10])}, "y_test has values 4 to 10, expected 0 to 9"),
        ({"y_train": np.zeros(4, dtype=np.uint8)}, r"\(3, 256\) do not match .* \(4,\)"),
        ({"X_test_times_1000": np.zeros((2, 64), dtype=np.int16)}, r"\(2, 64\) do not match"),
        ({"y_train": np.array([1, "two", 3.0], dtype=object)}, "allow_pickle=False"),
    ],
)
def test_wrong_arrays_are_refused(path, tmp_path, change, complaint):
    save(path, **change)
    with pytest.raises(ValueError, match=f"usps.npz: .*{complaint}"):
        load_usps(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_cut_file_is_refused(path, tmp_path, share):
    save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"usps\.npz: cannot read the arrays"):
        load_usps(tmp_path)
