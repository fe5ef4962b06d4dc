"""What a user of python-crfsuite runs: read the file, extract features token by token, train, tag.

Run as a program, so that its CPU time can be compared with that of ``taut``: process start, imports
and all. Prints one JSON object with the parts.

The extraction is written the way tutorials do it, a function of a sentence and a position that
returns the attributes of one token; `conll.attribute_strings` is a faster way to the same strings.
"""

import argparse
import gzip
import itertools
import json
import time
from pathlib import Path

import pycrfsuite

Token = tuple[str, str, str]


def read(path: Path) -> list[list[Token]]:
    sentences, sentence = [], []
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            fields = line.split()
            if fields:
                sentence.append(tuple(fields))
            elif sentence:
                sentences.append(sentence)
                sentence = []
    return [*sentences, sentence] if sentence else sentences


TEMPLATES = [
    *([("w", k)] for k in range(-2, 3)),
    [("w", -1), ("w", 0)],
    [("w", 0), ("w", 1)],
    *([("pos", k)] for k in range(-2, 3)),
    *([("pos", k), ("pos", k + 1)] for k in range(-2, 2)),
    *([("pos", k), ("pos", k + 1), ("pos", k + 2)] for k in range(-2, 1)),
]
FIELD = {"w": 0, "pos": 1}
# Tutorials write a feature's name as part of a string constant: it is not built for each token.
FEATURES = [
    (
        "|".join(f"{name}[{offset}]" for name, offset in template) + "=",
        [(FIELD[name], offset) for name, offset in template],
    )
    for template in TEMPLATES
]


def token_features(sentence: list[Token], t: int) -> list[str]:
    features = []
    for name, terms in FEATURES:
        values = []
        for field, offset in terms:
            at = t + offset
            if at < 0 or at >= len(sentence):
                break
            values.append(sentence[at][field])
        else:
            features.append(name + "|".join(values))
    if t == 0:
        features.append("__BOS__")
    if t == len(sentence) - 1:
        features.append("__EOS__")
    return features


def extract(sentences: list[list[Token]]) -> list[list[list[str]]]:
    return [[token_features(s, t) for t in range(len(s))] for s in sentences]


def train(path: Path, model: Path, algorithm: str, options: dict[str, float]) -> dict[str, float]:
    clock = [time.process_time()]
    sentences = read(path)
    clock.append(time.process_time())
    X = extract(sentences)
    clock.append(time.process_time())
    trainer = pycrfsuite.Trainer(algorithm, options, verbose=False)
    for x, sentence in zip(X, sentences, strict=True):
        trainer.append(x, [tag for *_, tag in sentence])
    clock.append(time.process_time())
    trainer.train(str(model))
    clock.append(time.process_time())
    names = ("start", "read", "extract", "append", "train")
    return dict(zip(names, [clock[0], *(b - a for a, b in itertools.pairwise(clock))],
                    strict=True))  # fmt: skip


def tag(path: Path, model: Path, output: Path) -> dict[str, float]:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    sentences = read(path)
    start = time.process_time()
    X = extract(sentences)
    extracted = time.process_time()
    predicted = [tagger.tag(x) for x in X]
    tagged = time.process_time()
    with open(output, "w", encoding="latin-1") as file:
        for sentence, tags in zip(sentences, predicted, strict=True):
            for token, label in zip(sentence, tags, strict=True):
                file.write(f"{' '.join(token)} {label}\n")
            file.write("\n")
    return {"extract": extracted - start, "tag": tagged - extracted, "sentences": len(sentences)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("train", "tag"))
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--algorithm", default="lbfgs")
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    if given.command == "train":
        print(json.dumps(train(given.data, given.model, given.algorithm, given.options)))
    else:
        print(json.dumps(tag(given.data, given.model, given.output)))


if __name__ == "__main__":
    main()
