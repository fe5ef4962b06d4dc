"""Chain models in files: what is stored is enough, and nothing that does not fit is believed."""

import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import taut
from taut import ChainCRF, ChainSVM
from taut.chain import stored_solution, stored_weights
from taut.chain.file import load_chain, save_chain
from taut.files.model_file import ModelFileError, read_model, write_model

SENTENCES = [["the", "cat", "sat"], ["a", "dog", "ran"], ["cats", "sat"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
OF_STEPS = "w[0]; step: w[-1]|w[0]; step: suffix(w[0], 1)"
STORED = Path(__file__).parent / "data" / "chain_v1.taut"


def trained(**options):
    return ChainSVM(**{"C": 1.0, "random_state": 0, "template": "w[-1..1]", **options}).fit(
        SENTENCES, TAGS
    )


@pytest.fixture(scope="module", params=["template", "steps", "attributes", "sparse", "dense", "v1"])
def contents(request, tmp_path_factory):
    """Header and arrays of a good file."""
    if request.param == "v1":
        return tuple(read_model(STORED)[:2])
    path = tmp_path_factory.mktemp("chain") / "model.taut"
    if request.param == "template":
        clf = trained()
    elif request.param == "steps":
        clf = trained(template=OF_STEPS)
    elif request.param == "attributes":
        clf = trained(template=None)
    else:
        X = [np.eye(5)[[len(word) for word in x]] for x in SENTENCES]
        if request.param == "sparse":
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
    assert len(arrays["weights.labels"]) == np.count_nonzero(np.any(clf.coef_ != 0, axis=0))


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
    assert isinstance(clf, ChainSVM)
    assert not {"temperature", "decoding"} & set(read_model(STORED).header)
    assert clf.predict([*SENTENCES, ["the", "dog", "sat"]]) == [*TAGS, ["D", "N", "V"]]
    assert clf.solution_.status.name == "CONVERGED"
    assert clf.attributes_[0] == "w[-1]=the"


def test_features_of_steps_come_back(tmp_path):
    clf = trained(template=OF_STEPS)
    clf.save(tmp_path / "model.taut")
    again = taut.load(tmp_path / "model.taut")
    assert again.step_features_ == clf.step_features_ != {}
    assert again.transition_features_ == clf.transition_features_ != {}
    assert again.predict([*SENTENCES, ["zebras"]]) == clf.predict([*SENTENCES, ["zebras"]])


@pytest.mark.parametrize("template", ["w[0]", "w[0]; step: w[0]"])
def test_steps_may_all_be_without_weights(template, tmp_path):
    """Where all sentences have one word, no label follows another."""
    sentences, tags = [["the"], ["cat"], ["sat"]], [["D"], ["N"], ["V"]]
    clf = ChainSVM(template=template, transitions="observed", random_state=0)
    clf.fit(sentences, tags).save(tmp_path / "model.taut")
    again = taut.load(tmp_path / "model.taut")
    assert again.transition_features_ == {}
    assert again.end_.tolist() == clf.end_.tolist()  # they stand before those of steps
    for some in (sentences, SENTENCES):
        assert again.predict(some) == clf.predict(some)


def test_features_of_steps_without_weights_are_refused(tmp_path):
    clf = ChainSVM(template="w[0]; step: w[0]", random_state=0).fit(SENTENCES, TAGS)
    clf.save(tmp_path / "whole")
    file = read_model(tmp_path / "whole")
    write_model(tmp_path / "altered", {**file.header, "sparse_steps": False}, file.arrays)
    with pytest.raises(ModelFileError, match="features of steps, which have no weights"):
        taut.load(tmp_path / "altered")


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
        {"options": {"C": [1.0]}},
        {"trained": 2026},
        {"weight_change": -1e-9},
        {"weight_change": "0"},
        {"weight_change": True},
        {"weight_change": None},
        {"scheme": "IOB2"},
        {"dense": "no"},
        {"bias": 1},
        {"n_features": True},
        {"labels": {"values": ["D", "N", "V"], "as_arrays": 0, "array_type": None}},
        {"labels": {"values": ["D", "N", "V"], "as_arrays": True, "array_type": "(1,"}},
        {"labels": {"values": ["D", "N", "V"], "as_arrays": True, "array_type": "U1,U1"}},
        {"labels": {"values": [1.0, 2.0, 1e300], "as_arrays": True, "array_type": "<f2"}},
    ],
)
def test_headers_that_do_not_fit_are_refused(contents, change, tmp_path):
    with pytest.raises(ModelFileError, match=r"changed\.taut: "):
        load_chain(changed(contents, tmp_path, header=change))


def test_arrays_that_do_not_fit_are_refused(contents, tmp_path):
    for name, array in contents[1].items():
        wrong = [array[:-1], array.reshape(1, *array.shape), array[:0]]
        if array.dtype.kind == "f":
            wrong += [array * np.nan, array.astype(np.float32), array.astype(np.float64)]
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
            # What is accepted must be the same thing in another form, or with fewer bits.
            assert np.array_equal(other, array.astype(other.dtype)), (name, other)
            assert other.dtype == array.dtype or not contents[0]["dense"]
            assert len(model.w) == model.layout.dim


@given(st.data())
def test_whatever_the_numbers_are_loading_is_safe(contents, tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(contents[1])))
    array = contents[1][name].copy()
    flat = array.reshape(-1)
    at = data.draw(st.integers(0, flat.size - 1))
    flat[at] = data.draw(
        st.floats(width=8 * array.itemsize) if array.dtype.kind == "f"
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


# --- probabilities --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crf():
    clf = ChainCRF(template="w[-1..1]", temperature=0.5, decoding="posterior", random_state=0)
    return clf.fit(SENTENCES, TAGS)


@pytest.fixture(scope="module")
def saved_crf(crf, tmp_path_factory):
    path = tmp_path_factory.mktemp("crf") / "crf.taut"
    crf.save(path)
    return path


def test_a_CRF_comes_back_with_its_probabilities(crf, saved_crf):
    for again in (taut.load(saved_crf), ChainCRF.load(saved_crf)):
        assert isinstance(again, ChainCRF)
        assert (again.temperature, again.decoding) == (0.5, "posterior")
        assert again.predict(SENTENCES) == TAGS
        for of, more in ((ChainCRF.predict_proba, ()), (ChainCRF.log_likelihood, (TAGS,))):
            np.testing.assert_allclose(  # of the 32 bits of a weight
                np.concatenate(of(again, SENTENCES, *more), axis=None),
                np.concatenate(of(crf, SENTENCES, *more), axis=None),
                rtol=1e-6,
            )
        assert again.solution_.formulation == "likelihood"
        assert str(again.solution_) == str(crf.solution_)


def test_each_estimator_refuses_the_file_of_the_other(saved_crf):
    with pytest.raises(ValueError, match=r"crf\.taut' holds a ChainCRF; use taut\.load"):
        ChainSVM.load(saved_crf)
    with pytest.raises(ValueError, match=r"chain_v1\.taut' holds a ChainSVM; use taut\.load"):
        ChainCRF.load(STORED)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": -1.0},
        {"temperature": "1"},
        {"temperature": True},
        {"temperature": None},
        {"temperature": [1.0]},
        {"temperature": 10**400},
        {"temperature": 0.0, "decoding": "posterior"},
        {"decoding": "guess"},
        {"decoding": None},
        {"decoding": 1},
        {"decoding": ["viterbi"]},
    ],
    ids=str,
)
def test_probabilities_that_make_no_sense_are_refused(saved_crf, change, tmp_path):
    file = read_model(saved_crf)
    with pytest.raises(ModelFileError, match=r"changed\.taut: "):
        load_chain(changed((file.header, file.arrays), tmp_path, header=change))


@given(
    temperature=st.floats(1e-100, allow_infinity=False),
    decoding=st.sampled_from(["viterbi", "posterior"]),
)
def test_any_temperature_gives_probabilities(saved_crf, temperature, decoding):
    """However sharp or flat: what is accepted can be used."""
    file = read_model(saved_crf)
    header = {"temperature": temperature, "decoding": decoding}
    clf = taut.load(changed((file.header, file.arrays), saved_crf.parent, header=header))
    for marginals in clf.predict_proba(SENTENCES):
        # Sums of three numbers, each rounded.
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)
    assert len(clf.predict(SENTENCES)) == len(SENTENCES)


# --- certificates ---------------------------------------------------------------------------------

ROW = [1.0, 0.5, 3, 2.0, 1.0, 1.0, None]


@pytest.mark.parametrize("name", ["primal", "dual", "passes", "seconds", "C", "lam", "scale"])
@pytest.mark.parametrize("value", ["inf", "1", True, None, [1], {}])
def test_numbers_of_a_certificate_are_finite_numbers(stored, name, value, tmp_path):
    refused(stored, tmp_path, certificate={name: value})


@pytest.mark.parametrize(
    "change",
    [
        {"returned": "x"},
        {"returned": ["last"]},
        {"status": "GUESSED"},
        {"status": ["CONVERGED"]},
        {"solver": 3},
        {"fingerprint": None},
        {"n_examples": -1},
        {"n_examples": 1.0},
        {"n_examples": True},
        {"oracle_calls": "7"},
        {"oracle_calls": 2**63},
        {"seconds_in": [1.0]},
        {"seconds_in": {"steps": "1"}},
        {"seconds_in": {"idling": 1.0}},
        {"history": None},
        {"history": {}},
        {"history": [3]},
        {"history": ["1234567"]},
        {"history": [ROW[:-1]]},
        {"history": [[*ROW, 1]]},
        {"history": [["1", *ROW[1:]]]},
        {"history": [[True, *ROW[1:]]]},
        {"history": [[*ROW[:2], None, *ROW[3:]]]},
        {"history": [[*ROW[:2], 2**63, *ROW[3:]]]},
    ],
)
def test_certificates_that_make_no_sense_are_refused(stored, change, tmp_path):
    refused(stored, tmp_path, certificate=change)


def test_a_certificate_within_the_rules_is_accepted(stored, tmp_path):
    header = deepcopy(stored[0])
    header["certificate"].update(history=[ROW], passes=3, returned="earlier")
    model, _ = load_chain(changed((header, stored[1]), tmp_path))
    assert model.solution.history.oracle_calls.tolist() == [3]
    assert "the best ones, those of pass" in str(model.solution)


# --- encoders -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored():
    file = read_model(STORED)
    return file.header, file.arrays


def refused(contents, folder, match=r"changed\.taut: ", arrays=None, **changes):
    header = deepcopy(contents[0])
    for name, change in changes.items():
        header[name].update(change)
    with pytest.raises(ModelFileError, match=match):
        load_chain(changed((header, contents[1]), folder, arrays=arrays))


@pytest.mark.parametrize("min_freq", [0, -1, True, 1.5, "1", None])
def test_a_frequency_is_a_count(stored, min_freq, tmp_path):
    refused(stored, tmp_path, encoder={"min_freq": min_freq})


def test_an_attribute_is_there_once(stored, tmp_path):
    codes = stored[1]["codes.0.0"].copy()
    codes[1] = codes[0]
    refused(stored, tmp_path, "there twice", {"codes.0.0": codes})


def test_codes_are_whole_numbers(stored, tmp_path):
    codes = stored[1]["codes.0.0"].astype(np.float64)
    refused(stored, tmp_path, "whole numbers", {"codes.0.0": codes})


def test_a_column_without_values_has_no_attributes(tmp_path):
    path = tmp_path / "one.taut"
    clf = ChainSVM(template="w[0]", random_state=0)
    clf.fit([["a", "a", "a"]] * 2, [["x", "x", "y"]] * 2).save(path)
    header, arrays, _ = read_model(path)
    nothing = np.zeros(0, np.uint8)
    codes = np.zeros_like(arrays["codes.0.0"])  # the only code that there is
    refused((header, arrays), tmp_path, "do not exist", {"values.0": nothing, "codes.0.0": codes})


# --- memory ---------------------------------------------------------------------------------------

PEAK = """
import resource, sys
from taut.chain.file import load_chain
from taut.files.model_file import ModelFileError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_chain(sys.argv[1])
    print("loaded", end=" ")
except ModelFileError:
    print("refused", end=" ")
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""


def outcome_and_memory(path):
    arguments = [sys.executable, "-c", PEAK, str(path)]
    outcome, peak = subprocess.run(arguments, check=True, capture_output=True).stdout.split()
    return outcome.decode(), int(peak)


@pytest.fixture(scope="module")
def of_matrices(tmp_path_factory):
    path = tmp_path_factory.mktemp("matrices") / "model.taut"
    X = [sparse.csr_array(np.eye(5)[[len(word) for word in x]]) for x in SENTENCES]
    ChainSVM(random_state=0).fit(X, TAGS).save(path)
    return tuple(read_model(path)[:2])


@pytest.mark.skipif(sys.platform == "win32", reason="the module resource is of Unix")
def test_small_files_take_little_memory(of_matrices, tmp_path):
    most = stored_weights.FREE_FEATURES
    path = changed(of_matrices, tmp_path, header={"n_features": most})
    # One array of 4 bytes per column, and 64 MiB for all else.
    outcome, peak = outcome_and_memory(path)
    assert outcome == "loaded"
    assert peak < 4 * most + 2**26
    path = changed(of_matrices, tmp_path, header={"n_features": most + 1})
    assert outcome_and_memory(path)[0] == "refused"
    labels = {"values": [f"l{k:05}" for k in range(10_000)], "as_arrays": True}
    for wide in ["<U16384", "<U99999999"]:
        path = changed(of_matrices, tmp_path, header={"labels": {**labels, "array_type": wide}})
        outcome, peak = outcome_and_memory(path)
        assert outcome == "refused"
        assert peak < 2**26


def test_columns_without_weights_cost_nothing_else(of_matrices, tmp_path):
    narrow, _ = load_chain(changed(of_matrices, tmp_path))
    wide, _ = load_chain(changed(of_matrices, tmp_path, header={"n_features": 100}))
    assert wide.n_features == 100
    assert np.array_equal(wide.w, narrow.w)
    assert (wide.node_weights()[:5] != narrow.node_weights()).nnz == 0


# --- saving ---------------------------------------------------------------------------------------


def test_nothing_is_written_that_would_be_refused(of_matrices, tmp_path, monkeypatch):
    model, _ = load_chain(changed(of_matrices, tmp_path, header={"n_features": 1000}))
    path = tmp_path / "not_written.taut"
    with monkeypatch.context() as patch:
        patch.setattr(stored_weights, "FREE_FEATURES", 999)
        patch.setattr(stored_weights, "FEATURES_PER_WEIGHT", 1)
        with pytest.raises(ValueError, match=r"1000 features .* hash features to fewer"):
            save_chain(model, path)
    with monkeypatch.context() as patch:
        patch.setattr("taut.chain.header.MOST_LABELS", 2)
        with pytest.raises(ValueError, match="3 labels, a model file holds 2; pickle"):
            save_chain(model, path)
    wide = ChainSVM(random_state=0).fit([np.eye(3)], [np.array(["a", "b", "a"], "<U3000000")])
    with pytest.raises(ValueError, match="labels in lists"):
        wide.save(path)
    assert not path.exists()


def test_options_without_end_are_left_to_the_default(tmp_path):
    trained(max_passes=np.inf).save(tmp_path / "m.taut")
    again = taut.load(tmp_path / "m.taut")
    assert again.max_passes == ChainSVM().max_passes
    assert again.predict(SENTENCES) == TAGS


def test_numpy_numbers_as_options_are_saved(tmp_path):
    model, _ = load_chain(STORED)
    options = {"tol": np.float32(0.125), "patience": np.int64(3), "time_limit": np.float64("nan")}
    save_chain(model, tmp_path / "m.taut", options)
    assert load_chain(tmp_path / "m.taut")[1]["options"] == {"tol": 0.125, "patience": 3}


@pytest.mark.parametrize("of", [list, lambda part: np.array(part, object)])
def test_numpy_numbers_as_labels_are_saved(of, tmp_path):
    numbers = {"D": np.int64(3), "N": np.int64(1), "V": np.int64(2)}
    y = [of([numbers[tag] for tag in tags]) for tags in TAGS]
    clf = ChainSVM(template="w[0]", random_state=0).fit(SENTENCES, y)
    clf.save(tmp_path / "m.taut")
    for tags, truth in zip(taut.load(tmp_path / "m.taut").predict(SENTENCES), y, strict=True):
        assert list(tags) == list(truth)
        assert all(type(tag) is int for tag in tags)


def test_labels_keep_the_width_of_their_arrays(tmp_path):
    y = [np.array(tags, "<U7") for tags in TAGS]
    ChainSVM(template="w[0]", random_state=0).fit(SENTENCES, y).save(tmp_path / "m.taut")
    assert taut.load(tmp_path / "m.taut").classes_.dtype == "<U7"


def test_a_long_history_is_thinned(stored, tmp_path):
    model, _ = load_chain(STORED)
    history = np.repeat(model.solution.history, 1 + 200_000 // len(model.solution.history))
    history.passes = np.arange(len(history))
    model = replace(model, solution=replace(model.solution, history=history.view(np.recarray)))
    save_chain(model, tmp_path / "m.taut")
    passes = load_chain(tmp_path / "m.taut")[0].solution.history.passes
    assert len(passes) == stored_solution.MOST_HISTORY
    assert passes[0] == 0
    assert passes[-1] == len(history) - 1
    assert np.all(np.diff(passes) > 0)


def test_the_date_of_training_outlives_saving(tmp_path):
    model, header = load_chain(STORED)
    assert model.trained == header["trained"]
    save_chain(model, tmp_path / "m.taut")
    assert read_model(tmp_path / "m.taut").header["trained"] == header["trained"]
