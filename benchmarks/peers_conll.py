"""python-crfsuite on CoNLL-2000: the figures that taut is compared with.

`run` trains one model and returns its figures, so that another benchmark can time python-crfsuite
and taut in the same process, minutes apart on the same noisy machine; the command line prints a
table of the three settings that matter. CPU seconds throughout: wall time says more about the
neighbours than about the learner. Training time starts after the data has been appended, since
handing over Python strings is a cost of the interface and not of the algorithm.
"""

import argparse
import ctypes
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pycrfsuite
from conll import attribute_strings, chunk_f1, read

from taut.metrics import token_accuracy

# Averaged perceptron and passive-aggressive score better on the test set after ten iterations than
# after CRFsuite's default of a hundred, at a tenth of the cost: ten is the rival to beat. L-BFGS
# runs until it has converged.
SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "ap": ("ap", {"max_iterations": 10}),
    "pa": ("pa", {"max_iterations": 10}),
    "lbfgs": ("lbfgs", {"c1": 0.0, "c2": 1.0}),
}


class Data(NamedTuple):
    """Both splits as python-crfsuite takes them: per sentence, attributes and tags per token."""

    train_attributes: list[list[list[str]]]
    train_tags: list[list[str]]
    test_attributes: list[list[list[str]]]
    test_tags: list[list[str]]


def load() -> Data:
    """Read CoNLL-2000 and spell out the tutorial's attributes."""
    train, test = read("train"), read("test")
    return Data(
        attribute_strings(train),
        [sentence.tags for sentence in train],
        attribute_strings(test),
        [sentence.tags for sentence in test],
    )


def run(algorithm: str, params: Mapping[str, float], data: Data) -> dict[str, Any]:
    """Train with ``algorithm`` and ``params``, tag the test set, and return the figures.

    ``train_seconds`` is all of CRFsuite's ``train`` (feature generation, iterations, storing the
    model); ``seconds_per_iteration`` is the mean that CRFsuite itself logs for its iterations.
    For L-BFGS, ``evaluations`` counts the passes over the data, which the line search may make
    more numerous than the iterations.
    """
    _restart_shuffling()
    trainer = pycrfsuite.Trainer(algorithm, dict(params), verbose=False)
    start = time.process_time()
    for attributes, tags in zip(data.train_attributes, data.train_tags, strict=True):
        trainer.append(attributes, tags)
    append_seconds = time.process_time() - start

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.crfsuite"
        start, start_wall = time.process_time(), time.perf_counter()
        trainer.train(str(model))
        train_seconds = time.process_time() - start
        train_wall_seconds = time.perf_counter() - start_wall
        model_megabytes = model.stat().st_size / 1e6

        with pycrfsuite.Tagger().open(str(model)) as tagger:
            start = time.process_time()
            predicted = [tagger.tag(attributes) for attributes in data.test_attributes]
            tag_seconds = time.process_time() - start

    iterations = trainer.logparser.iterations
    score = chunk_f1(data.test_tags, predicted)
    return {
        "algorithm": algorithm,
        "params": dict(params),
        "append_seconds": append_seconds,
        "train_seconds": train_seconds,
        "train_wall_seconds": train_wall_seconds,
        "loss": iterations[-1].get("loss"),
        "iterations": len(iterations),
        "evaluations": sum(iteration.get("linesearch_trials", 1) for iteration in iterations),
        "seconds_per_iteration": sum(it["time"] for it in iterations) / len(iterations),
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "token_accuracy": 100.0 * token_accuracy(data.test_tags, predicted),
        "model_megabytes": model_megabytes,
        "tagged_sentences_per_second": len(predicted) / tag_seconds,
    }


def _restart_shuffling() -> None:
    """Reset the C library's random numbers, with which CRFsuite shuffles the sentences.

    Their state outlives a training run, so without this the score of a run would depend on the
    runs before it in the same process.
    """
    ctypes.CDLL(None).srand(1)


def main() -> None:
    """Run the named settings one after another and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", default=list(SETTINGS), metavar="setting")
    settings = parser.parse_args().settings
    unknown = [setting for setting in settings if setting not in SETTINGS]
    if unknown:
        parser.error(f"unknown setting {unknown[0]!r}; choose from {', '.join(SETTINGS)}")

    start = time.process_time()
    data = load()
    print(f"reading and attribute strings: {time.process_time() - start:.1f} CPU s")
    columns = {
        "append s": ("append_seconds", ".1f"),
        "train s": ("train_seconds", ".1f"),
        "iterations": ("iterations", "d"),
        "evaluations": ("evaluations", "d"),
        "s/iteration": ("seconds_per_iteration", ".3f"),
        "F1": ("f1", ".2f"),
        "accuracy": ("token_accuracy", ".2f"),
        "model MB": ("model_megabytes", ".1f"),
        "tagged/s": ("tagged_sentences_per_second", ".0f"),
    }
    print(f"{'':6}" + "".join(f"{title:>12}" for title in columns))
    for setting in settings:
        figures = run(*SETTINGS[setting], data)
        cells = (f"{figures[key]:{form}}" for key, form in columns.values())
        print(f"{setting:6}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
