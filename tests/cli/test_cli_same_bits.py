"""One program with two faces: the same data and options give the same weights, bit for bit."""

import json

import numpy as np
import pytest
from cli.sentences import ROWS, TAGS, columns

import taut as package
from taut import ChainCRF, ChainSVM

WORDS = [[row[0] for row in rows] for rows in ROWS] * 3
LABELS = TAGS * 3
WEIGHTS = [1 + i % 3 for i in range(len(WORDS))]
X = {
    "txt": [[(word,) for word in words] for words in WORDS],
    "crfsuite": [[[f"w={word}", f"l={len(word)}"] for word in words] for words in WORDS],
    "jsonl": [[{"w": word, "l": len(word)} for word in words] for words in WORDS],
}
SVMS = {
    "default": ((), {}),
    "exact": (("--exact",), {"tol": 1e-3}),
    "fast": (("--fast",), {"tol": 0.1}),
    "held out": (("--dev",), {}),
    "class weights": (
        ("--class-weight", "O=1,*=2"),
        {"class_weight": {"O": 1.0} | dict.fromkeys(("B-NP", "I-NP", "B-VP"), 2.0)},
    ),
    "balanced": (("--class-weight", "balanced"), {"class_weight": "balanced"}),
    "observed": (("--features", "observed"), {"features": "observed"}),
    "scheme": (
        ("--scheme", "IOB2", "--scheme-in-training", "--dev"),
        {"scheme": "IOB2", "scheme_in_training": True},
    ),
    "slack": (("--formulation", "slack"), {"formulation": "slack"}),
    "squared": (("--slack-penalty", "squared"), {"slack_penalty": "squared"}),
    "hamming": (("--loss", "hamming", "--min-freq", "2"), {"loss": "hamming", "min_freq": 2}),
    "averaging": (("--averaging", "--tol", "1e-3"), {"averaging": True, "tol": 1e-3}),
    "named": (
        ("--solver", "bcfw", "--seed", "7", "--C", "3"),
        {"solver": "bcfw", "random_state": 7, "C": 3.0},
    ),
}
CRFS = {
    "crf": ((), {}),
    "crf, held out": (("--dev",), {}),
    "crf, lbfgs": (("--solver", "lbfgs", "--dev"), {"solver": "lbfgs"}),
    "crf, l1": (("--l1", "0.5", "--C", "10"), {"l1": 0.5, "C": 10.0}),
    "crf, posterior": (("--decoding", "posterior", "--dev"), {"decoding": "posterior"}),
}
CASES = [
    *[pytest.param(ChainSVM, *options, id=name) for name, options in SVMS.items()],
    *[pytest.param(ChainCRF, *options, id=name) for name, options in CRFS.items()],
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bits")
    text = {
        "txt": columns([list(zip(*pair, strict=True)) for pair in zip(WORDS, LABELS, strict=True)]),
        "crfsuite": "".join(
            "".join(
                f"{label}\t" + "\t".join(token) + "\n" for token, label in zip(*pair, strict=True)
            )
            + "\n"
            for pair in zip(X["crfsuite"], LABELS, strict=True)
        ),
        "jsonl": "".join(
            json.dumps({"tokens": x, "labels": y, "weight": weight}) + "\n"
            for x, y, weight in zip(X["jsonl"], LABELS, WEIGHTS, strict=True)
        ),
    }
    for kind, content in text.items():
        (folder / f"train.{kind}").write_text(content)
    return folder


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", X)
@pytest.mark.parametrize(("estimator", "given", "parameters"), CASES)
def test_both_faces_train_the_same_model(taut, files, tmp_path, kind, estimator, given, parameters):
    file, model = files / f"train.{kind}", tmp_path / "cli"
    template = ("--template", "pos") if kind == "txt" else ()
    options = [part for o in given for part in ((o, file) if o == "--dev" else (o,))]
    crf = ("--crf",) if estimator is ChainCRF else ()
    answer = taut("train", file, "-o", model, *template, *crf, *options)
    assert answer.code == 0, answer.err
    by_hand = estimator(
        **{"random_state": 0, "template": "pos" if template else None, **parameters}
    )
    held_out = {"X_val": X[kind], "y_val": LABELS} if "--dev" in given else {}
    weights = WEIGHTS if kind == "jsonl" else None
    by_hand.fit(X[kind], LABELS, weights, **held_out).save(tmp_path / "python")
    ours, theirs = package.load(model), package.load(tmp_path / "python")
    np.testing.assert_array_equal(ours.w_, theirs.w_)
    assert ours.attributes_ == theirs.attributes_
    for name in ("primal", "dual", "passes", "found_at", "status", "C", "solver"):
        assert getattr(ours.solution_, name) == getattr(theirs.solution_, name), name
    assert ours.get_params() == theirs.get_params()
