"""RCV1 becomes sparse rows and indicators of the most frequent labels."""

import gzip

import numpy as np
import pytest
from damaged_files import damaged_gzip, load_or_refuse
from hypothesis import given

from taut.datasets import load_rcv1, rcv1

TEXT = b"""3 1:0.5 7:0.25 47236:0.125
0,3 2:1
0,5,100 7:2 # a comment
4,2 47236:1
1 1:1
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def load_small(data_home, **options):
    """Load a file of five rows, of which three are for training."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"N_ROWS": 5, "N_TRAIN": 3, "FIRST_SHIFTED_ROW": 3}.items():
            patch.setattr(rcv1, name, value)
        return load_rcv1(data_home, **options)


def save(home, content):
    path = home / "rcv1" / "rcv1subset1.svm.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(content))


def test_labels_are_ordered_by_frequency_in_training(home):
    save(home, TEXT)
    X, Y, label_names, feature_names = load_small(home, n_labels=3)
    # In all five rows 3 is the most frequent; in the first three it ties with 0, which is smaller.
    assert label_names == ["0", "3", "5"]
    assert feature_names is None
    assert Y.tolist() == [[0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 0]]
    assert X.shape == (5, 47236)


def test_in_the_second_half_the_last_feature_is_label_0(home):
    save(home, TEXT)
    X = load_small(home).X
    assert X[:, [47235]].toarray().ravel().tolist() == [0.125, 0, 0, 0, 0]
    assert X.nnz == 6
    assert X[4, 0] == 1


def test_subsets(home):
    save(home, TEXT)
    train, test, both = (load_small(home, subset=subset) for subset in ("train", "test", "all"))
    assert (len(train.Y), len(test.Y)) == (3, 2)
    assert train.label_names == test.label_names
    np.testing.assert_array_equal(np.vstack([train.Y, test.Y]), both.Y)
    np.testing.assert_array_equal(test.X.toarray(), both.X.toarray()[3:])


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        (b"7:0.25", b"7:a", 1, "could not convert"),
        (b"7:0.25", b"7:nan", 1, "expected finite values"),
        (b"2:1", b"0:1", 2, "Invalid index 0"),
        (b"7:2", b"7:2 7:3", 3, "sorted and unique"),
        (b"4,2 47236:1", b"4,2 47237:1", 4, "features 1 to 47236"),
        (b"0,5,100", b"0,5,101", 3, "expected some of 0 to 100"),
        (b"1 1:1", b"1.5 1:1", 5, "expected some of 0 to 99"),
        (b"1 1:1", b"100 1:1", 5, "expected some of 0 to 99"),
        (b"0,3 2:1", b"2:1", 2, "expected some of 0 to 100"),
        (b"0,3 2:1\n", b"", 5, "4 rows, expected 5"),
        (b"0,3 2:1\n", b"\n# note\n1 7\n", 4, "expected labels"),
    ],
)
def test_each_fault_is_located(home, old, new, line, complaint):
    assert TEXT.count(old) == 1
    save(home, TEXT.replace(old, new))
    with pytest.raises(ValueError, match=rf"rcv1subset1.svm.gz, line {line}: .*{complaint}"):
        load_small(home)


@given(content=damaged_gzip(TEXT))
def test_damaged_files(home, content):
    loaded = load_or_refuse(load_small, home, "rcv1/rcv1subset1.svm.gz", content)
    if loaded is not None:
        assert loaded.X.shape == (5, 47236)
        assert np.isfinite(loaded.X.data).all()
        assert loaded.Y.shape == (5, 30)


@pytest.mark.parametrize("wrong", [{"n_labels": 0}, {"n_labels": 102}, {"subset": "both"}])
def test_wrong_arguments_are_named(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name} must be .*, not {value!r}"):
        load_rcv1(**wrong)


def test_real_file(real_data):
    X, Y, label_names, _ = load_rcv1(real_data, n_labels=101)
    assert X.shape == (6000, 47236)
    # 463,400 numbers in the file, of which 92 are labels.
    assert X.nnz == 463_400 - 92
    assert len(np.unique(X.indices)) == 19_550
    assert len(np.unique(Y, axis=0)) == 811
    assert round(Y.sum(axis=1).mean(), 3) == 2.895
    # Six decimals in the file: 77 numbers, each wrong by at most 5e-7, move a norm by far less.
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    np.testing.assert_allclose(norms, 1.0, atol=1e-4)
    # Both halves are of one kind once labels are put right; before, this was 0.02.
    assert np.corrcoef(Y[:3000].sum(axis=0), Y[3000:].sum(axis=0))[0, 1] > 0.99
    # Without the 30 most frequent labels of the training rows, no label is in more of them.
    counts = Y[:5000].sum(axis=0)
    assert (np.diff(counts) <= 0).all()
    thirty = load_rcv1(real_data, subset="test")
    assert thirty.label_names == label_names[:30]
    np.testing.assert_array_equal(thirty.Y, Y[5000:, :30])
