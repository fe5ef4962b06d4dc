"""From raw text to a tagger and back, against python-crfsuite: whole programs, CPU seconds.

Why: people do not train on matrices. They have a column file, and what counts is the time from the
file to a saved model, and from another file to its tags. Every contestant is a process of its own;
its CPU time (start and imports included) and peak memory are what the system says of it. The
parts inside one process (extraction, dicts, tagging of ready features) are measured side by side.

Targets (issue "text in, tags out"): extraction <= 0.8 s and 1/4 of the tutorial's; training to F1
93.5 in 1/20 of lbfgs and 1/2.5 of pa, in all; tagging at 3 times the rate; 40,000 sentences a CPU
second from ready features; dicts encoded in half the time of append; 700 MB; a model no larger
than CRFsuite's, loaded in 50 ms.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common  # first: it limits threads before numpy starts
import numpy as np
import peers_text
import pycrfsuite
from _measure import run
from common import table

from taut.chain.file import load_chain
from taut.chain.model import Stacked
from taut.datasets import data_home
from taut.text.attributes import AttributeEncoder
from taut.text.dicts import attributes_of
from taut.text.extract import TemplateEncoder
from taut.text.reading import append_column, column_blocks, read_columns
from taut.text.template import read_template

TAUT = [sys.executable, "-m", "taut"]
PEER = [sys.executable, str(Path(peers_text.__file__))]
PEERS = {"pa": {"max_iterations": 10}, "lbfgs": {"c1": 0.0, "c2": 1.0}}


def cpu(function: Callable[[], Any], repeats: int = 3) -> float:
    """The median CPU time of some calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times))


def f1(model: Path, test: Path) -> float:
    report = json.loads(run([*TAUT, "eval", "-m", str(model), str(test), "--json"]).output)
    return 100 * report["micro"]["f1"]


def peer_f1(tagged: Path) -> float:
    from taut.metrics import span_report_from_codes

    text = read_columns(tagged, encoding="latin-1")
    return 100 * span_report_from_codes(text.columns[2], text.columns[3], text.lengths).micro.f1


def training(train: Path, test: Path, folder: Path, quick: bool) -> None:
    """Raw file to saved model; then raw file to tagged file."""
    peers = ["pa"] if quick else list(PEERS)
    model = folder / "taut.model"
    command = [*TAUT, "train", str(train), "-o", str(model), "--template", "chunking", "--quiet"]
    run(command)  # compiles on a new machine
    ours = [run(command) for _ in range(3)]
    seconds = float(np.median([r.seconds for r in ours]))
    tagged = [*TAUT, "tag", "-m", str(model), str(test), "-o", str(folder / "tagged.txt")]
    run(tagged)
    tagging = float(np.median([run(tagged).seconds for _ in range(3)]))
    rows: list[list[Any]] = [
        ["taut train / tag", seconds, 1.0, f1(model, test), ours[0].megabytes,
         model.stat().st_size / 1e6, 2012 / tagging, 1.0]
    ]  # fmt: skip
    for option in ("--fast", "--exact", "--crf"):
        done = run([*command, option])
        rows.append([f"taut train {option}", done.seconds, done.seconds / seconds, f1(model, test),
                     done.megabytes, model.stat().st_size / 1e6, np.nan, np.nan])  # fmt: skip
    for name in peers:
        peer_model = folder / f"{name}.crfsuite"
        options = ["--algorithm", name, "--options", json.dumps(PEERS[name])]
        done = run([*PEER, "train", str(train), str(peer_model), *options])
        print(f"python-crfsuite {name}:", done.output.strip())
        output = folder / f"{name}.txt"
        tagging_done = run([*PEER, "tag", str(test), str(peer_model), "--output", str(output)])
        rows.append([
            f"python-crfsuite {name}", done.seconds, done.seconds / seconds, peer_f1(output),
            done.megabytes, peer_model.stat().st_size / 1e6, 2012 / tagging_done.seconds,
            tagging / tagging_done.seconds,
        ])  # fmt: skip
    table(["whole program", "train CPU s", "times taut", "F1", "peak MB", "model MB",
           "tagged/CPU s", "of taut's rate"], rows)  # fmt: skip


def parts(train: Path, test: Path, folder: Path) -> None:
    """Inside one process: extraction, dicts, ready features, loading."""
    template = read_template("chunking")

    def ours() -> None:
        text, _ = read_columns(train, encoding="latin-1").without(-1)
        encoder = TemplateEncoder(template)
        encoder.fit_transform(text)
        assert encoder.n_attributes == 335_674

    ours()
    sentences = peers_text.read(train)
    strings = peers_text.extract(sentences)
    dicts = [[dict(a.split("=", 1) if "=" in a else (a, True) for a in t) for t in x]
             for x in strings]  # fmt: skip
    tags = [[tag for *_, tag in sentence] for sentence in sentences]

    def encode(X: Any) -> None:
        AttributeEncoder().fit_transform(attributes_of(X))

    def append(X: Any) -> None:
        trainer = pycrfsuite.Trainer("ap", verbose=False)
        for x, y in zip(X, tags, strict=True):
            trainer.append(x, y)

    model, _ = load_chain(folder / "taut.model")
    text, _ = read_columns(test, encoding="latin-1").without(-1)
    assert model.encoder is not None
    rows = Stacked(model.encoder.transform(text), text.lengths)  # type: ignore[arg-type]
    model.decode(rows)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "pa.crfsuite"))
    test_strings = peers_text.extract(peers_text.read(test))
    items = [pycrfsuite.ItemSequence(x) for x in test_strings]

    def tag_text() -> list[str]:
        lines = []
        for block in column_blocks(test):
            known = Stacked(model.encoder.transform(block.columns), block.columns.lengths)
            labels = model.labels.classes[model.decode(known)].tolist()
            lines += append_column(block.lines, block.token_lines, labels)
        return lines

    def tag_text_with_peer() -> list[list[str]]:
        return [tagger.tag(x) for x in peers_text.extract(peers_text.read(test))]

    pairs = {
        "read and extract, train": (ours, lambda: peers_text.extract(peers_text.read(train))),
        "encode lists of strings": (lambda: encode(strings), lambda: append(strings)),
        "encode dicts": (lambda: encode(dicts), lambda: append(dicts)),
        "tag from text, in a running process": (tag_text, tag_text_with_peer),
        "tag from ready features": (
            lambda: model.decode(rows),
            lambda: [tagger.tag(x) for x in items],
        ),
    }
    body = []
    for name, (mine, theirs) in pairs.items():
        a, b = cpu(mine), cpu(theirs)
        body.append([name, a, b, b / a])
    table(["part", "taut CPU s", "python-crfsuite CPU s", "ratio"], body)
    ready = cpu(lambda: model.decode(rows), 9)
    print(f"tagging from ready features: {len(items) / ready:,.0f} sentences/CPU s")
    print(f"loading the model: {1000 * cpu(lambda: load_chain(folder / 'taut.model'), 9):.0f} ms")


def main() -> None:
    quick = common.arguments(__doc__).quick
    home = data_home() / "conll2000"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training(home / "train.txt.gz", home / "test.txt.gz", folder, quick)
        parts(home / "train.txt.gz", home / "test.txt.gz", folder)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:,} kB")


if __name__ == "__main__":
    main()
