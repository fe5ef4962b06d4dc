"""What it costs to serve a model: starting, one call, a batch, against python-crfsuite.

Why: whoever answers requests starts many processes and labels one short sequence at a time, on
machines where nothing can be compiled or kept. The rows are the table of issue 21, section 1:

- start: import, load and label one address, a whole process; also where the home can only be read
  and no machine code was ever kept. Beside it, what Python with NumPy takes to start
- one address from nested dicts, and from lists of strings; its marginals; a batch of all of them
- `taut tag` on 100 sentences, a whole program, against a script with python-crfsuite

Targets: start 0.15 s; one call 1 (dicts) and 2 times (strings) the peer's; marginals 1; a batch
1/3; `taut tag` 0.3 s. Both models are CRFs of the same attributes and labels.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import _measure
import common
import peers_text
import serving_calls
import serving_data
from common import table

from taut.datasets import data_home

TAUT = """
import json, sys, taut
print(taut.Tagger(sys.argv[1]).tag(json.load(open(sys.argv[2]))[0][0]))
"""
PEER = """
import json, sys, pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[1])
print(tagger.tag(json.load(open(sys.argv[2]))[0][0]))
"""
PYTHON = "import json, numpy"


def main() -> None:
    given = common.arguments(
        __doc__, addresses={"type": Path, "help": "a checkout of usaddress; else invented ones"}
    )
    home = data_home() if os.environ.get("TAUT_DATA") else None
    folder = common.RESULTS / "serving" / ("usaddress" if given.addresses else "invented")
    folder.mkdir(parents=True, exist_ok=True)
    kinds = serving_data.KINDS if home else serving_data.KINDS[:2]
    for kind in kinds:
        prepare(kind, folder, given.addresses, home)
    starts(folder, 3 if given.quick else 9)
    for kind in kinds:
        one_call(kind, folder, 3 if given.quick else 15)
    if home:
        whole_programs(folder, home, 3 if given.quick else 9)
    else:
        print("sentences were left out: set TAUT_DATA, the folder with conll2000")


def prepare(kind: str, folder: Path, checkout: Path | None, home: Path | None) -> None:
    """Models are trained once, elsewhere: training loads what tagging should not need."""
    if (folder / f"{kind}.json").exists():
        return
    more = [] if checkout is None else ["--addresses", str(checkout)]
    more += [] if home is None else ["--data", str(home)]
    program = serving_data.__file__ or ""
    subprocess.run([sys.executable, program, kind, str(folder), *more], check=True)


def cpu(command: list[str], repeats: int) -> float:
    """The median CPU seconds of a program, after it has run once; with Python's compiled files, as
    where it was installed."""
    kept = f"PYTHONPYCACHEPREFIX={common.RESULTS / 'serving' / 'bytecode'}"
    command = ["env", "-u", "PYTHONDONTWRITEBYTECODE", kept, *command]
    return statistics.median([_measure.run(command).seconds for _ in range(repeats + 1)][1:])


def starts(folder: Path, repeats: int) -> None:
    asked = str(folder / "dicts.json")
    own = [sys.executable, "-c", TAUT, str(folder / "dicts.taut"), asked]
    peer = [sys.executable, "-c", PEER, str(folder / "dicts.crfsuite"), asked]
    with tempfile.TemporaryDirectory() as nowhere:
        Path(nowhere).chmod(0o500)
        alone = ["env", "-u", "TAUT_CACHE_DIR", "-u", "XDG_CACHE_HOME"]
        alone += [f"HOME={nowhere}", f"TMPDIR={nowhere}"]
        rows = [
            ("Python and NumPy, nothing else", cpu([sys.executable, "-c", PYTHON], repeats)),
            ("python-crfsuite", cpu(peer, repeats)),
            ("taut.Tagger", cpu(own, repeats)),
            ("taut.Tagger, read-only home, no cache", cpu([*alone, *own], repeats)),
        ]
    print("import, load, label one address: a whole process\n")
    table(["program", "CPU s"], rows)


def one_call(kind: str, folder: Path, passes: int) -> None:
    program = serving_calls.__file__ or ""
    command = [sys.executable, program, kind, str(folder), str(passes)]
    found: dict[str, Any] = json.loads(_measure.run(command).output)
    print(
        f"{kind}: {found['sequences']} sequences of {found['tokens']:.1f} tokens, "
        f"{found['labels']} labels, {100 * found['same']:.2f} % of the tags are the same\n"
    )
    names = {
        "one": "labels of one sequence",
        "marginals": "marginals of one sequence",
        "batch": f"a batch of {found['sequences']}, per sequence",
    }
    rows = []
    for key, name in names.items():
        peer, own = found[key]["peer"], found[key]["taut"]
        rows.append([name, *peer, *own, own[1] / peer[1]])
    table(
        ["µs", "python-crfsuite, first pass", "median", "taut, first pass", "median", "ratio"], rows
    )


def whole_programs(folder: Path, home: Path, repeats: int) -> None:
    """100 sentences from a file to a file."""
    model, words = folder / "words.taut", folder / "words.txt"
    if not model.exists():
        train = str(home / "conll2000" / "train.txt.gz")
        command = [sys.executable, "-m", "taut", "train", train, "-o", str(model)]
        subprocess.run([*command, "--template", "chunking", "--fast", "--quiet"], check=True)
    sentences = peers_text.read(home / "conll2000" / "test.txt.gz")
    rows = []
    for number in (100, 1000):
        text = ["\n".join(" ".join(token) for token in s) + "\n\n" for s in sentences[:number]]
        words.write_text("".join(text), encoding="latin-1")
        packed = words.with_suffix(".txt.gz")
        packed.write_bytes(gzip.compress(words.read_bytes()))
        out = str(folder / "tagged.txt")
        own = [sys.executable, "-m", "taut", "tag", "-m", str(model), str(packed), "-o", out]
        peer = [sys.executable, peers_text.__file__ or "", "tag", str(packed)]
        peer += [str(folder / "sentences.crfsuite"), "--output", out]
        rows.append([number, cpu(peer, repeats), cpu(own, repeats)])
    print("tag a file of sentences: a whole program\n")
    table(["sentences", "script with python-crfsuite, CPU s", "taut tag, CPU s"], rows)


if __name__ == "__main__":
    main()
