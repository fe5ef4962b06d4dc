"""python-crfsuite's interface: the same calls, the same objective, the same log."""

import subprocess
import sys

import numpy as np
import pytest
from compat.conftest import labels_of, sentences

from taut.compat import pycrfsuite
from taut.compat.pycrfsuite import ItemSequence, Tagger, Trainer
from taut.compat.pycrfsuite.crfsuite_parameters import ALGORITHMS
from taut.files.model_file import ModelFileError

X = sentences(60, seed=3)
Y = labels_of(X, 4, seed=4)


def trained(path, module=pycrfsuite, algorithm="lbfgs", X=X, Y=Y, **params):
    named = {name.replace("__", "."): value for name, value in params.items()}
    trainer = module.Trainer(algorithm, named, verbose=False)
    for xseq, yseq in zip(X, Y, strict=True):
        trainer.append(xseq, yseq)
    trainer.train(str(path))
    tagger = module.Tagger()
    tagger.open(str(path))
    return tagger


def objective(tagger, c1, c2):
    """CRFsuite's, of whatever is in a model."""
    loss = 0.0
    for xseq, yseq in zip(X, Y, strict=True):
        tagger.set(xseq)
        loss -= np.log(tagger.probability(yseq))
    info = tagger.info()
    weights = np.array([*info.state_features.values(), *info.transitions.values()])
    return loss + c1 * np.abs(weights).sum() + c2 * weights @ weights


@pytest.mark.parametrize(
    "options",
    [
        {"c1": 0.0, "c2": 0.1},
        {"c1": 0.5, "c2": 0.05},
        {"c1": 0.0, "c2": 0.1, "feature__possible_transitions": True},
        {"c1": 0.0, "c2": 0.1, "feature__possible_states": True},
        {"c1": 0.0, "c2": 0.1, "feature__minfreq": 3.5},
        {"algorithm": "l2sgd", "c2": 0.3},
    ],
)
def test_the_objective_is_crfsuites(options, tmp_path):
    original = pytest.importorskip("pycrfsuite")
    c1, c2 = options.get("c1", 0.0), options["c2"]
    ours, theirs = (
        trained(tmp_path / name, module, **options)
        for name, module in (("ours", pycrfsuite), ("theirs", original))
    )
    one, other = objective(ours, c1, c2), objective(theirs, c1, c2)
    # CRFsuite stops where it no longer gains 1e-5 in ten iterations; its SGD is less exact.
    assert one == pytest.approx(other, rel=1e-2 if "algorithm" in options else 1e-5)
    assert one <= other * (1 + 1e-5)
    if c1 == 0:
        assert ours.info().state_features.keys() == theirs.info().state_features.keys()
        assert ours.info().transitions.keys() == theirs.info().transitions.keys()
    pairs = [pair for x in X for pair in zip(ours.tag(x), theirs.tag(x), strict=True)]
    assert sum(y != z for y, z in pairs) <= 0.02 * len(pairs)


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_margins_have_labels_and_a_warning_instead_of_probabilities(algorithm, tmp_path):
    tagger = trained(tmp_path / "m", algorithm=algorithm)
    found, true = ([y for part in parts for y in part] for parts in (map(tagger.tag, X), Y))
    assert np.mean([y == z for y, z in zip(found, true, strict=True)]) > 0.8
    tagger.set(X[0])
    with pytest.warns(UserWarning, match='trained for margins .* train with "lbfgs"'):
        sums = sum(tagger.marginal(label, 0) for label in tagger.labels())
    assert sums == pytest.approx(1.0)


def test_probabilities_of_labellings_and_labels(tmp_path):
    tagger = trained(tmp_path / "m", X=X, Y=Y, c2=0.1)
    items = ItemSequence(X[0][:2])
    tagger.set(items)
    labels = tagger.labels()
    pairs = {(a, b): tagger.probability([a, b]) for a in labels for b in labels}
    assert sum(pairs.values()) == pytest.approx(1.0)
    best = tuple(tagger.tag())
    assert pairs[best] == max(pairs.values())
    first = sum(pairs[best[0], b] for b in labels)
    assert tagger.marginal(best[0], 0) == pytest.approx(first)
    assert tagger.tag([]) == []
    with pytest.raises(RuntimeError, match="Failed to convert into label identifier: Q"):
        tagger.marginal("Q", 0)
    with pytest.raises(ValueError, match="pos=7; the sequence has 0 items"):
        tagger.marginal(labels[0], 7)
    with pytest.raises(ValueError, match=r"\|x\| = 0, \|y\| = 1"):
        tagger.probability(labels[:1])


def test_a_model_in_memory_and_one_that_is_closed(tmp_path):
    tagger = trained(tmp_path / "m")
    expected = tagger.tag(X[0])
    with Tagger().open_inmemory((tmp_path / "m").read_bytes()) as other:
        assert other.tag(X[0]) == expected
    for ask in (other.labels, other.tag, lambda: other.set(X[0])):
        with pytest.raises(ValueError, match="not opened; call open"):
            ask()
    for ask in (other.info, other.dump):
        with pytest.raises(RuntimeError, match="not opened"):
            ask()
    with pytest.raises(ModelFileError):
        other.open_inmemory(b"lCRFabc")
    with pytest.raises(ValueError, match="there is no sequence yet"):
        trained(tmp_path / "m").tag()


def test_a_dump_is_read_back_by_eye(tmp_path, capsys):
    tagger = trained(tmp_path / "m", X=[[["a"], ["b"]]] * 5, Y=[["X", "Y"]] * 5)
    tagger.dump()
    lines = capsys.readouterr().out.splitlines()
    assert "      0: X" in lines
    assert any(line.startswith("  (1) X --> Y: 0.") for line in lines)
    assert any(line.startswith("  (0) a --> X: 0.") for line in lines)
    tagger.dump(tmp_path / "dump")
    assert (tmp_path / "dump").read_text().splitlines() == lines


# --- trainers -------------------------------------------------------------------------------------


def test_the_log_is_in_parts_that_methods_hear(tmp_path, capsys):
    heard = []

    class Listening(Trainer):
        def on_iteration(self, log, info):
            heard.append(info)

    trainer = Listening("lbfgs", {"c1": 0.1})
    for i, (xseq, yseq) in enumerate(zip(X, Y, strict=True)):
        trainer.append(xseq, yseq, group=i % 3)
    trainer.train(str(tmp_path / "m"), holdout=2)
    events = [event for event, _, _ in trainer.logparser.events if "progress" not in event]
    assert events[:3] == ["start", "featgen_end", "prepared"]
    assert events[3:] == ["iteration"] * len(heard) + ["optimization_end", "end"]
    losses = [info["loss"] for info in heard]
    assert losses == sorted(losses, reverse=True)
    assert set(heard[-1]["scores"]) == {"L0", "L1", "L2", "L3"}
    assert heard[-1]["item_accuracy_float"] > 0.3
    assert sum(score.ref for score in heard[-1]["scores"].values()) == sum(map(len, Y[2::3]))
    out = capsys.readouterr().out
    assert "Holdout group: 3\n" in out
    assert "c1: 0.1\n" in out


def test_an_error_in_message_ends_training(tmp_path):
    class Failing(pycrfsuite.BaseTrainer):
        def message(self, message):
            if message.startswith("Loss"):
                raise KeyError("enough")

    trainer = Failing()
    trainer.append(X[0], Y[0])
    with pytest.raises(KeyError, match="enough"):
        trainer.train(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


def test_one_label_and_none_at_all(tmp_path):
    tagger = trained(tmp_path / "one", X=[[["a"]], []], Y=[["X"], []])
    assert tagger.tag([["a"], ["b"]]) == ["X", "X"]
    trainer = Trainer(verbose=False)
    trainer.train(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    assert "prepare_error" in [event for event, _, _ in trainer.logparser.events]
    trainer.append(X[0], Y[0])
    trainer.clear()
    trainer.train("")  # writes nothing


def test_sequences_of_one_item_have_no_steps(tmp_path):
    tagger = trained(tmp_path / "m", X=[[["a"]], [["b"]]], Y=[["X"], ["Y"]])
    assert tagger.tag([["a"], ["b"]]) == ["X", "Y"]
    assert tagger.info().transitions == {}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters_that_have_no_meaning_are_refused_by_name(algorithm, tmp_path):
    for name, parameter in ALGORITHMS[algorithm].items():
        trainer = Trainer(algorithm, verbose=False)
        trainer.append(X[0], Y[0])
        value = parameter.cast("Backtracking" if parameter.cast is str else 3)
        if isinstance(parameter.default, bool):
            value = not parameter.default
        trainer.set(name, value)
        assert trainer.get(name) == value
        if parameter.is_used:
            trainer.train(str(tmp_path / "m"))
        else:
            with pytest.raises(ValueError, match=rf"^{name}={value!r}: .* Leave it out"):
                trainer.train(str(tmp_path / "m"))


def test_parameters_are_those_of_python_crfsuite():
    original = pytest.importorskip("pycrfsuite")
    for algorithm in ("lbfgs", "l2sgd", "ap", "pa", "arow"):
        assert Trainer(algorithm).get_params() == original.Trainer(algorithm).get_params()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"c2": 0.0}, "c2=0.0; a positive number is expected: .* c2=1e-6"),
        ({"c1": -1.0}, "c1=-1.0; a number that is not negative"),
        ({"max_iterations": 0}, "max_iterations=0; a number from 1"),
        ({"foo": 1}, "Parameter not found: foo = 1; lbfgs has feature.minfreq"),
        ({"c1": "much"}, "c1='much'; 0.0 is the default"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        Trainer("lbfgs", params, verbose=False).train("")


@pytest.mark.parametrize(
    ("xseq", "yseq", "message"),
    [
        ([["a"]], ["X", "Y"], r"\|x\| = 1, \|y\| = 2"),
        ("the", ["X"], "'the' is no sequence of items"),
        (["the"], ["X"], "item 0 is 'the'; a dict or a list"),
        ([["a"], {"b": None}], ["X", "Y"], "item 1: 'b' is None"),
        ([["a"]], [3], "the label 3 is not a string"),
    ],
)
def test_wrong_sequences(xseq, yseq, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Trainer().append(xseq, yseq)


def test_items_are_what_crfsuite_makes_of_them():
    original = pytest.importorskip("pycrfsuite")
    tokens = [
        {"a": 1, "b": "x", "c": {"d": ["e", "f"], "g": 0.5}, "h": True, "i": b"j"},
        ["a", b"b"],
        {"k": {"l", "m"}, "n": {}},
        {"a": 1}.keys(),
    ]
    found = ItemSequence(iter(tokens))
    assert found.items() == original.ItemSequence(tokens).items()
    assert (len(found), repr(found)) == (4, "<ItemSequence of size 4>")
    assert ItemSequence(found).items() == found.items()


def test_tagging_needs_numpy_alone(tmp_path):
    tagger = trained(tmp_path / "m")
    code = (
        "import sys; from taut.compat.pycrfsuite import Tagger; tagger = Tagger(); "
        "tagger.open(sys.argv[1]); print(tagger.tag([['w:w1'], {'w': 'w2'}]), "
        "[m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "m")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"{tagger.tag([['w:w1'], ['w:w2']])} []"
