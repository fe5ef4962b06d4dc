"""ARFF tables become features and label indicators; what is malformed is refused by its line."""

import gzip
import re

import numpy as np
import pytest
from damaged_files import damaged, damaged_gzip, load_or_refuse
from hypothesis import given
from scipy.sparse import csr_array

from taut.datasets import load_mulan

DENSE = b"""% made up
@relation 'a name'

@attribute height numeric
@ATTRIBUTE 'the ''colour' {red, 'dark green', "blue"}
@attribute winged {yes,no}
@attribute first {0,1}
@attribute second {1,0}

@data
1.5,red,no,0,1
-2e3 , 'dark green', yes, 1, 0

% the last row
.25,blue,yes,1,1
""".replace(b"the ''colour", b"the \\'colour")
SPARSE = b"""@relation sparse
@attribute a {0,1}
@attribute b real
@attribute c INTEGER
@attribute first {0,1}
@attribute second {0,1}
@data
{0 1,2 -3,4 1}
{}
{ 1 0.5 , 3 1 }
"""
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="second"></label><label name="first"></label>
</labels>
"""


def save(home, train=DENSE, test=DENSE, xml=XML):
    folder = home / "multilabel"
    folder.mkdir(exist_ok=True)
    (folder / "yeast-train.arff.gz").write_bytes(gzip.compress(train))
    (folder / "yeast-test.arff.gz").write_bytes(gzip.compress(test))
    (folder / "yeast.xml").write_bytes(xml)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def test_a_dense_file_is_read(home):
    save(home)
    X, Y, label_names, feature_names = load_mulan("yeast", home, subset="train")
    assert feature_names == ["height", "the 'colour=red", "the 'colour=dark green",
                             "the 'colour=blue", "winged"]  # fmt: skip
    assert X.tolist() == [[1.5, 1, 0, 0, 0], [-2000, 0, 1, 0, 1], [0.25, 0, 0, 1, 1]]
    assert label_names == ["first", "second"]
    assert Y.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert (X.dtype, Y.dtype) == (np.float64, np.int64)


def test_a_sparse_file_stays_sparse(home):
    save(home, SPARSE)
    X, Y, label_names, feature_names = load_mulan("yeast", home, subset="train")
    assert isinstance(X, csr_array)
    assert X.toarray().tolist() == [[1, 0, -3], [0, 0, 0], [0, 0.5, 0]]
    assert Y.tolist() == [[0, 1], [0, 0], [1, 0]]
    assert (label_names, feature_names) == (["first", "second"], ["a", "b", "c"])


@pytest.mark.parametrize("text", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_all_is_train_and_then_test(home, text):
    save(home, text, b"\n".join(text.splitlines()[:-1]))
    train, test, both = (load_mulan("yeast", home, subset=s) for s in ("train", "test", "all"))
    assert (len(train.Y), len(test.Y), len(both.Y)) == (3, 2, 5)
    rows = [part.X if text is DENSE else part.X.toarray() for part in (train, test, both)]
    np.testing.assert_array_equal(np.vstack(rows[:2]), rows[2])
    np.testing.assert_array_equal(np.vstack([train.Y, test.Y]), both.Y)


def test_windows_line_ends_are_read_the_same(home):
    save(home, DENSE.replace(b"\n", b"\r\n"), DENSE)
    assert load_mulan("yeast", home, subset="train").X.shape == (3, 5)


@pytest.mark.parametrize(
    ("original", "old", "new", "line", "complaint"),
    [
        (DENSE, b"@attribute height numeric", b"@attribute height", 4, "expected '@attribute name"),
        (DENSE, b"height numeric", b"height string", 4, "type 'string', expected numeric"),
        (DENSE, b"first", b"height", 7, "'height' is declared twice"),
        (DENSE, b"{yes,no}", b"{no,no}", 6, "'winged' has an empty value, or one twice"),
        (DENSE, b"1.5,red", b"1.5", 11, "4 values, expected 5"),
        (DENSE, b"1.5", b"1_5", 11, "'height' is '1_5', expected a finite number"),
        (DENSE, b"1.5", b"nan", 11, "'height' is 'nan', expected a finite number"),
        (DENSE, b"1.5", b"1e999", 11, "expected a finite number"),
        (DENSE, b"1.5", b"?", 11, "'height' is missing"),
        (DENSE, b"blue,", b"pink,", 15, "expected {red,dark green,blue}"),
        (DENSE, b"'dark green', yes", b"'dark green, yes", 12, "quotation mark"),
        (DENSE, b"1.5,", b"{0 1}\n1.5,", 12, "dense and sparse"),
        (DENSE, b"1.5", b"\xff", 11, "not UTF-8"),
        (DENSE, b"@data\n", b"", 10, "expected '@attribute name type' or '@data'"),
        (DENSE, b"first {0,1}", b"third {0,1}", 1, "label 'first' of the XML file"),
        (DENSE, b"first {0,1}", b"first {0,1,2}", 1, "expected 0 and 1"),
        (SPARSE, b"{0 1,2", b"{0 1,5", 8, "index below 5, not '5 -3'"),
        (SPARSE, b"{0 1,2", b"{0 1,0", 8, "index 0 after 0"),
        (SPARSE, b"{0 1,2", b"{0 1,,2", 8, "expected 'index value'"),
        (SPARSE, b"4 1}", b"4 1", 8, "expected '}'"),
        (SPARSE, b"a {0,1}", b"a {yes,no}", 8, "'a' is '1', expected {yes,no}"),
        (SPARSE, b"c INTEGER", b"c {0,-3}", 1, "expected (0, 1) or a number"),
        (SPARSE, b"3 1 }", b"3 2 }", 10, "'first' is '2', expected {0,1}"),
    ],
)  # fmt: skip
def test_each_fault_is_located(home, original, old, new, line, complaint):
    assert original.count(old) == 1
    save(home, original.replace(old, new))
    with pytest.raises(ValueError, match=rf"yeast-train.arff.gz, line {line}: ") as refusal:
        load_mulan("yeast", home, subset="train")
    assert complaint in str(refusal.value)


def test_a_numeric_label_must_be_0_or_1(home):
    save(home, SPARSE.replace(b"first {0,1}", b"first real").replace(b"3 1 }", b"3 2 }"))
    with pytest.raises(ValueError, match=r"line 10: label 'first' is 2, expected 0 or 1"):
        load_mulan("yeast", home, subset="train")


@pytest.mark.parametrize(
    "content", [b"", b"@relation r\n", DENSE[: DENSE.index(b"1.5")]], ids=["empty", "head", "rows"]
)
def test_a_file_without_rows_is_refused(home, content):
    save(home, content)
    with pytest.raises(ValueError, match=r"line \d+: .*(empty|the file ends)"):
        load_mulan("yeast", home, subset="train")


@pytest.mark.parametrize(
    ("test", "complaint"),
    [(DENSE.replace(b"height", b"width"), "not those of"), (SPARSE, "not those of")],
    ids=["names", "sparse"],
)
def test_parts_that_do_not_belong_together_are_refused(home, test, complaint):
    save(home, DENSE, test)
    with pytest.raises(ValueError, match=rf"yeast-test.arff.gz, line 1: .*{complaint}"):
        load_mulan("yeast", home)


@pytest.mark.parametrize(
    "xml", [b"<labels>", b"<labels/>", b"<label/>", b'<?xml version="1.0" encoding="none"?><a/>']
)
def test_a_wrong_list_of_labels_is_refused(home, xml):
    save(home, xml=xml)
    with pytest.raises(ValueError, match=r"yeast.xml, line 1: "):
        load_mulan("yeast", home)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "yeasts"}, "name must be one of Corel5k, .*, yeast, not 'yeasts'"),
        ({"name": "yeast", "subset": "both"}, "subset must be .* not 'both'"),
        ({"name": "cal500", "subset": "train"}, "cal500 has no published split"),
    ],
)
def test_wrong_arguments_are_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        load_mulan(**arguments)


def load_train(data_home):
    return load_mulan("yeast", data_home, subset="train")


def check_or_refused(home, content):
    loaded = load_or_refuse(load_train, home, "multilabel/yeast-train.arff.gz", content)
    if loaded is not None:
        assert loaded.X.shape == (len(loaded.Y), len(loaded.feature_names))
        assert loaded.Y.shape[1] == len(loaded.label_names) == 2
        assert set(loaded.Y.ravel()) <= {0, 1}
        values = loaded.X.data if isinstance(loaded.X, csr_array) else loaded.X
        assert np.isfinite(values).all()


@given(content=damaged_gzip(DENSE))
def test_damaged_dense_files(home, content):
    save(home)
    check_or_refused(home, content)


@given(content=damaged_gzip(SPARSE))
def test_damaged_sparse_files(home, content):
    save(home)
    check_or_refused(home, content)


@given(xml=damaged(XML))
def test_damaged_lists_of_labels(home, xml):
    save(home, xml=xml)
    try:
        load_train(home)
    except ValueError as error:
        # A label that the table does not have is reported as a fault of the table.
        if not re.search(r"yeast(\.xml|-train\.arff\.gz), line \d+: \w", str(error)):
            raise


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features", "n_labels", "mean_train", "mean_test"),
    [
        ("yeast", 1500, 917, 103, 14, 4.228, 4.252),
        ("scene", 1211, 1196, 294, 6, 1.062, 1.086),
        ("emotions", 391, 202, 72, 6, 1.813, 1.975),
        ("bibtex", 4880, 2515, 1836, 159, 2.380, 2.444),
        ("Corel5k", 4500, 500, 499, 374, 3.522, 3.526),
        # Features of flags: 19 attributes, of which 4 nominal ones have 6, 4, 10 and 8 values.
        ("flags", 129, 65, 43, 7, 3.419, 3.338),
        # 1,186 attributes, of which one is the protein's name.
        ("genbase", 463, 199, 1185, 27, 1.261, 1.231),
    ],
)
def test_real_files(real_data, name, n_train, n_test, n_features, n_labels, mean_train, mean_test):
    for subset, n, mean in (("train", n_train, mean_train), ("test", n_test, mean_test)):
        X, Y, label_names, feature_names = load_mulan(name, real_data, subset=subset)
        assert X.shape == (n, n_features) == (n, len(feature_names))
        assert Y.shape == (n, n_labels) == (n, len(label_names))
        assert round(Y.sum(axis=1).mean(), 3) == mean
        assert isinstance(X, csr_array) == (name in ("bibtex", "Corel5k"))


def test_cal500(real_data):
    X, Y, *_ = load_mulan("cal500", real_data)
    assert (X.shape, Y.shape) == ((502, 68), (502, 174))
    assert round(Y.sum(axis=1).mean(), 2) == 26.04
