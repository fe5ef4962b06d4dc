"""The tasks of ``tasks.py`` and ``labels.py``: what is read, by which template, the peers' files.

taut reads the files as they are and extracts by its template. python-crfsuite gets the same
attributes ready made, in files ``label TAB attribute TAB ...`` written here: what extraction costs
its user is not charged to it. ``bias`` is added, and the ends of words of letters, because taut has
both without being asked.

    python benchmarks/tasks_data.py TASK FOLDER     writes the files of a task

Beside train, dev and test there is "part": what is trained on while options are chosen. It is all
of train where there is a dev file, and else four fifths of it, whose other fifth is then dev; "few"
are its first sentences, up to 60,000 tokens, or 30,000 where it has more than 65,000.
"""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import synthetic_labels

from taut.datasets import data_home, load_ocr_letters
from taut.text.columns import Column, Columns
from taut.text.extract import TemplateEncoder
from taut.text.reading import read_columns, read_conllu
from taut.text.template import read_template

MANY_TOKENS, ALMOST_ALL, FEW_TOKENS = 65_000, 60_000, 30_000
UD = {"french": "fr_sequoia", "dutch": "nl_lassysmall", "portuguese": "pt_bosque"}
TEST_FOLD = 0  # of the letters
Sequence = list[str]  # the lines of the peers' files, one for each token


class Task(NamedTuple):
    """``files`` are under the data folder, and else in the folder of written files."""

    metric: str  # "span F1" or "accuracy"
    options: tuple[str, ...]  # of taut train
    files: str  # with {} for train, dev, test
    has_dev: bool
    is_written: bool = False


def _conllu(language: str, label: str) -> Task:
    options = ("--format", "conllu", "--label", label, "--template", "pos")
    return Task("accuracy", options, f"ud/{UD[language]}-ud-{{}}.conllu.gz", True)


TASKS = {
    "addresses": Task("accuracy", ("--template", "ner"), "{}.txt", False, True),
    "letters": Task("accuracy", ("--format", "attributes"), "{}.crfsuite", False, True),
    "names (WNUT-17)": Task(
        "span F1", ("--template", "ner"), "ner/wnut17_{}.conll.gz", True
    ),
    "chunks (CoNLL-2000)": Task(
        "span F1", ("--template", "chunking"), "conll2000/{}.txt.gz", False
    ),
    **{f"{language} upos": _conllu(language, "upos") for language in UD},
    **{f"{language} upos+feats": _conllu(language, "upos+feats") for language in UD},
    "1,000 labels": Task("accuracy", ("--template", "w[-1..1]"), "{}.txt", True, True),
}  # fmt: skip


def taut_file(name: str, split: str, folder: Path) -> Path:
    """What taut reads."""
    task = TASKS[name]
    return (folder if task.is_written else data_home()) / task.files.format(split)


def peer_file(split: str, folder: Path) -> Path:
    return folder / f"{split}.peer"


def splits(name: str) -> tuple[str, ...]:
    return ("train", "dev", "test") if TASKS[name].has_dev else ("train", "test")


# --- writing --------------------------------------------------------------------------------------


def prepare(name: str, folder: Path, addresses: Path | None) -> None:
    """Write all files of a task that are not there yet."""
    last = folder / "complete"
    if last.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if name == "addresses":
        _write_addresses(folder, addresses)
    elif name == "1,000 labels":
        _write_generated(folder)
    for split in splits(name):
        sequences = list(_letters(split) if name == "letters" else _extracted(name, split, folder))
        if name == "letters":
            _write(taut_file(name, split, folder), map(_plain_letters, sequences))
        _write(peer_file(split, folder), sequences)
        if split == "train" and not TASKS[name].has_dev:
            _write(peer_file("dev", folder), sequences[::5])
            part = [sequence for i, sequence in enumerate(sequences) if i % 5]
            _write(peer_file("part", folder), part)
        elif split == "train":
            part = sequences
            _write(peer_file("part", folder), part)
        if split == "train":
            ends = np.cumsum([len(sequence) for sequence in part])
            limit = ALMOST_ALL if ends[-1] < MANY_TOKENS else FEW_TOKENS
            number = int(np.searchsorted(ends, limit, side="right"))
            _write(peer_file("few", folder), part[: max(number, 1)])
    last.touch()


def _write(path: Path, sequences: Iterator[Sequence] | list[Sequence]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for sequence in sequences:
            file.write("\n".join(sequence) + "\n\n")


def _extracted(name: str, split: str, folder: Path) -> Iterator[Sequence]:
    """The labels and attributes of all tokens, as taut's template makes them."""
    path, options = str(taut_file(name, split, folder)), TASKS[name].options
    if "conllu" in options:
        text, labels = read_conllu(path, options[options.index("--label") + 1])[:2]
    else:
        text, labels = read_columns(path).without(-1)
    encoder = TemplateEncoder(read_template(options[options.index("--template") + 1]))
    return _lines(text, labels, encoder)


def _lines(text: Columns, labels: Column, encoder: TemplateEncoder) -> Iterator[Sequence]:
    matrix = encoder.fit_transform(text)
    names = encoder.names()
    rows = (
        "\t".join([labels.values[label], "bias", *(names[i] for i in matrix.indices[start:stop])])
        for label, start, stop in zip(
            labels.codes.tolist(), matrix.indptr[:-1], matrix.indptr[1:], strict=True
        )
    )
    for length in text.lengths.tolist():
        yield list(islice(rows, length))


def _letters(split: str) -> Iterator[Sequence]:
    """A fold of the letters is the test set; the attributes of a letter are its black pixels."""
    X, y, fold = load_ocr_letters()
    for i in np.flatnonzero((fold == TEST_FOLD) == (split == "test")):
        lines = [
            "\t".join([letter, "bias", *(f"pixel{k}" for k in np.flatnonzero(pixels))])
            for letter, pixels in zip(y[i].tolist(), X[i], strict=True)
        ]
        lines[0] += "\t__BOS__"
        lines[-1] += "\t__EOS__"
        yield lines


def _plain_letters(sequence: Sequence) -> Sequence:
    """Without what taut adds itself."""
    return [
        "\t".join(
            field for field in line.split("\t") if field not in ("bias", "__BOS__", "__EOS__")
        )
        for line in sequence
    ]


def _write_addresses(folder: Path, checkout: Path | None) -> None:
    """The labelled addresses of github.com/datamade/usaddress, which are not in this repository.

    Its own test file is small: a fifth of its training file is tested on, too. Addresses that occur
    twice are taken once.
    """
    if checkout is None:
        raise ValueError("the addresses are wanted; say --addresses, a checkout of usaddress")
    labelled, theirs = (
        [
            tuple(f"{word}\t{part.tag}" for part in address for word in (part.text or "").split())
            for address in ElementTree.parse(checkout / path).getroot()
        ]
        for path in ("training/labeled.xml", "measure_performance/test_data/labeled.xml")
    )
    known = [address for address in dict.fromkeys(labelled) if address]
    train = [address for i, address in enumerate(known) if i % 5 != 4]
    test = [*known[4::5], *(set(theirs) - set(known) - {()})]
    _write(folder / "train.txt", [list(address) for address in train])
    _write(folder / "test.txt", [list(address) for address in sorted(test)])


def _write_generated(folder: Path) -> None:
    text = synthetic_labels.Text()
    for seed, (split, number) in enumerate(synthetic_labels.SIZES.items()):
        lines = [
            [f"{word}\t{label}" for word, label in sentence]
            for sentence in text.sentences(number, seed)
        ]
        _write(folder / f"{split}.txt", lines)


def gold(name: str, split: str, folder: Path) -> list[list[str]]:
    """The true labels, from the peers' file."""
    return read_labels(peer_file(split, folder))


def read_labels(path: Path) -> list[list[str]]:
    """The first field of each line, by sequence."""
    sequences: list[list[str]] = [[]]
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            if line == "\n":
                sequences.append([])
            else:
                sequences[-1].append(line.rstrip("\n").split("\t", 1)[0])
    return sequences[:-1]


if __name__ == "__main__":
    task, into, *rest = sys.argv[1:]
    prepare(task, Path(into), Path(rest[0]) if rest else None)
