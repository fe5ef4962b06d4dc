"""Chain models in files: what is stored is enough, and nothing that does not fit is believed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import taut
from taut import ChainSVM
from taut.chain_file import load_chain
from taut.model_file import ModelFileError, read_model, write_model

SENTENCES = [["the", "cat", "sat"], ["a", "dog", "ran"], ["cats", "sat"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
STORED = Path(__file__).parent / "data" / "chain_v1.taut"


def trained(**options):
    return ChainSVM(**{"C": 1.0, "random_state": 0, "template": "w[-1..1]", **options}).fit(
        SENTENCES, TAGS
    )


@pytest.fixture(scope="module", params=["template", "attributes", "sparse", "dense"])
def contents(request, tmp_path_factory):
    """Header and arrays of a good file."""
    path = tmp_path_factory.mktemp("chain") / "model.taut"
    if request.param == "template":
        clf = trained()
    elif request.param == "attributes":
        clf = trained(template=None)
    else:
        X = [np.eye(5)[[len(word) for word in x]] for x in SENTENCES]
        if request.param == "sparse":
            from scipy import sparse

            X = [sparse.csr_array(x) for x in X]
        clf = ChainSVM(random_state=0).fit(X, TAGS)
    clf.save(path)
    file = read_model(path)
    return file.header, file.arrays


def test_only_what_is_not_zero_is_stored(tmp_path):
    clf = trained()
    clf.save(tmp_path / "model.taut")
    arrays = read_model(tmp_path / "model.taut").arrays
    assert np.all(arrays["weights.value"] != 0)
    assert len(arrays["weights.value"]) == np.count_nonzero(clf.coef_)
    assert len(arrays["weights.count"]) == np.count_nonzero(np.any(clf.coef_ != 0, axis=0))


def test_the_header_says_what_it_is(tmp_path):
    trained(scheme=None).save(tmp_path / "model.taut")
    header = read_model(tmp_path / "model.taut").header
    assert header["labels"]["values"] == ["D", "N", "V"]
    assert header["encoder"]["template"] == "w[-1..1]"
    assert header["options"]["C"] == 1.0
    assert header["certificate"]["status"] == "CONVERGED"
    assert header["certificate"]["primal"] >= header["certificate"]["dual"]
    assert len(header["certificate"]["fingerprint"]) == 32
    assert header["trained"].endswith("+00:00")


def test_a_file_of_the_first_version_is_still_read():
    """Written by ``trained(scheme=None).save(STORED)`` with taut 0.1.0."""
    clf = taut.load(STORED)
    assert clf.predict([*SENTENCES, ["the", "dog", "sat"]]) == [*TAGS, ["D", "N", "V"]]
    assert clf.solution_.status.name == "CONVERGED"
    assert clf.attributes_[0] == "w[-1]=the"


def changed(contents, folder, header=None, arrays=None):
    path = folder / "changed.taut"
    write_model(path, {**contents[0], **(header or {})}, {**contents[1], **(arrays or {})})
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "tree"},
        {"labels": {"values": ["D"], "as_arrays": False, "array_type": None}},
        {"labels": {"values": ["D", "D", "V"], "as_arrays": False, "array_type": None}},
        {"labels": {"values": ["V", "N", "D"], "as_arrays": False, "array_type": None}},
        {"labels": {"values": [["D"], "N", "V"], "as_arrays": False, "array_type": None}},
        {"labels": {"values": ["D", "N", "V"], "as_arrays": True, "array_type": "O"}},
        {"labels": {"values": ["D", "N", "V"], "as_arrays": True, "array_type": "U99999999"}},
        {"labels": None},
        {"n_features": 10**30},
        {"n_features": 2**31 - 1},
        {"n_features": -1},
        {"n_features": 3.5},
        {"n_features": 4},
        {"n_step_features": 10**9},
        {"n_step_features": True},
        {"bias": False},
        {"boundary": False},
        {"encoder": {"kind": "pickle", "min_freq": 1}},
        {"encoder": []},
        {"scheme": "IOB9"},
        {"scheme": 3},
        {"certificate": {}},
        {"dense": 1, "encoder": None, "n_features": 2**31 - 1},
        {"options": [1]},
    ],
)
def test_headers_that_do_not_fit_are_refused(contents, change, tmp_path):
    with pytest.raises(ModelFileError, match=r"changed\.taut: "):
        load_chain(changed(contents, tmp_path, header=change))


def test_arrays_that_do_not_fit_are_refused(contents, tmp_path):
    for name, array in contents[1].items():
        wrong = [array[:-1], array.reshape(1, *array.shape), array[:0]]
        if array.dtype.kind == "f":
            wrong += [array * np.nan, array.astype(np.float32)]
        elif not name.startswith(("values", "names")):
            wrong += [
                array.astype(np.int64) - 2**40,
                np.full_like(array, np.iinfo(array.dtype).max),
            ]
            wrong += [array.astype(np.float64)]
        for other in wrong:
            try:
                model, _ = load_chain(changed(contents, tmp_path, arrays={name: other}))
            except ModelFileError:
                continue
            # What is accepted must be the same thing in another form.
            assert np.array_equal(other, array), (name, other)
            assert len(model.w) == model.layout.dim


@given(st.data())
def test_whatever_the_numbers_are_loading_is_safe(contents, tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(contents[1])))
    array = contents[1][name].copy()
    flat = array.reshape(-1)
    at = data.draw(st.integers(0, flat.size - 1))
    flat[at] = data.draw(
        st.floats(width=64) if array.dtype.kind == "f"
        else st.integers(int(np.iinfo(array.dtype).min), int(np.iinfo(array.dtype).max))
    )  # fmt: skip
    path = changed(contents, tmp_path_factory.getbasetemp(), arrays={name: array})
    try:
        clf = taut.load(path)
    except ModelFileError:
        return
    if contents[0]["encoder"] is not None:
        clf.attributes_  # noqa: B018
        assert len(clf.predict(SENTENCES)) == len(SENTENCES)
    else:
        assert len(clf.predict([np.ones((2, 5))])[0]) == 2


@pytest.mark.parametrize("missing", ["weights.value", "weights.other"])
def test_missing_arrays_are_named(contents, missing, tmp_path):
    arrays = {name: array for name, array in contents[1].items() if name != missing}
    write_model(tmp_path / "m.taut", contents[0], arrays)
    with pytest.raises(ModelFileError, match=missing):
        load_chain(tmp_path / "m.taut")
