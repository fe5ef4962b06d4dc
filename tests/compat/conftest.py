"""Models of python-crfsuite's own, and sequences they were trained on."""

import random
from typing import Any, NamedTuple

import pytest


class Trained(NamedTuple):
    path: Any
    X: list  # not those of training
    tagger: Any  # python-crfsuite's


def sentences(count: int, seed: int) -> list:
    draw = random.Random(seed)
    words = [f"w{k}" for k in range(150)]
    return [
        [
            {"w": draw.choice(words), "n": draw.random(), "near": {draw.choice(words)[:2], "é"}}
            for _ in range(draw.randint(1, 8))
        ]
        for _ in range(count)
    ]


def labels_of(X: list, n_labels: int, seed: int) -> list:
    draw = random.Random(seed)
    return [
        [
            f"L{(int(t['w'][1:]) if draw.random() < 0.8 else draw.randrange(99)) % n_labels}"
            for t in x
        ]
        for x in X
    ]


@pytest.fixture(scope="session", params=[3, 60], ids="{} labels".format)
def crfsuite(request, tmp_path_factory) -> Trained:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer("lbfgs", {"c2": 0.1, "max_iterations": 20}, verbose=False)
    X = sentences(200, seed=0)
    for xseq, yseq in zip(X, labels_of(X, request.param, seed=1), strict=True):
        trainer.append(xseq, yseq)
    path = tmp_path_factory.mktemp("crfsuite") / "model.crfsuite"
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return Trained(path, sentences(200, seed=2), tagger)
