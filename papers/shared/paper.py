"""The command of a paper: figures made of pieces of work, which are done once and then kept.

A figure says which pieces of work it needs and how to draw what they found. ``run_paper`` does what
is missing, with progress and the time left, and draws each figure as soon as it can. Stopped by
Ctrl-C or killed, it goes on from the rows it has.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from papers.shared.rows import ROOT, Found, Row, Rows
from taut.datasets._files import find_file

SEEDS, QUICK_SEEDS = 5, 2


class Settings(NamedTuple):
    """What the command line says."""

    quick: bool
    seeds: int
    data_home: str | None = None


class Work(NamedTuple):
    """One piece of work: its key, the CPU seconds it may take, and what measures it.

    The key names everything that the result depends on; figures with the same key share the work.
    What ``measure`` returns goes through JSON.
    """

    key: Row
    seconds: float
    measure: Callable[[], Row]


class Figure(NamedTuple):
    """``draw(found, settings, folder, about)``: the works' keys with what they found, where to
    write PNG and CSV, and the line that goes under the picture."""

    name: str  # "3", "table1"
    title: str
    works: Callable[[Settings], Sequence[Work]]
    draw: Callable[[Found, Settings, Path, str], None]
    files: Sequence[str] = ()  # of the data sets, inside of their folder; --quick needs none


def run_paper(
    paper: str, title: str, figures: Sequence[Figure], arguments: Sequence[str] | None = None
) -> int:
    """The program behind ``make paper-<paper>``; returns its exit status."""
    given = _parse(paper, title, figures, arguments)
    settings = Settings(given.quick, given.seeds or (QUICK_SEEDS if given.quick else SEEDS),
                        given.data_home)  # fmt: skip
    folder = given.results or ROOT / "papers" / paper / ("quick" if given.quick else "results")
    rows = Rows(folder / "rows.jsonl")
    wanted = [figure for figure in figures if not given.figure or figure.name in given.figure]
    try:
        works = {figure.name: list(figure.works(settings)) for figure in wanted}
        _find_files(wanted, works, rows, settings)
        progress = _Progress(paper, rows, works, settings)
        for figure in wanted:
            for work in _missing(rows, works[figure.name], settings):
                progress.show(figure, work.key)
                row = rows.add(_full_key(work, settings), work.measure)
                progress.done(work.seconds, row["cpu"])
            progress.clear()
            _draw(paper, figure, works[figure.name], rows, settings, folder)
    except KeyboardInterrupt:
        print(f"\npaper-{paper}: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except FileNotFoundError as error:
        print(f"paper-{paper}: {error}", file=sys.stderr)
        return 2
    return 0


def _parse(
    paper: str, title: str, figures: Sequence[Figure], arguments: Sequence[str] | None
) -> argparse.Namespace:
    listed = "\n".join(f"  {figure.name:10} {figure.title}" for figure in figures)
    parser = argparse.ArgumentParser(
        prog=f"python -m papers.{paper}.run",
        description=f"{title}\n\nfigures:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--figure", action="append", choices=[f.name for f in figures],
                        metavar="NAME", help="only this one; may be given again")  # fmt: skip
    parser.add_argument("--seeds", type=_count, metavar="N", help=f"runs of each: {SEEDS}")
    parser.add_argument("--quick", action="store_true",
                        help="built-in or small data, a few seconds each: to see that it works; "
                             "written to the folder quick/")  # fmt: skip
    parser.add_argument("--data-home", metavar="FOLDER", help="of the data sets; else TAUT_DATA")
    parser.add_argument("--results", type=Path, metavar="FOLDER",
                        help=f"default: papers/{paper}/results")  # fmt: skip
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a number of runs, 1 or more")
    return int(text)


def _full_key(work: Work, settings: Settings) -> Row:
    return {"quick": settings.quick, **work.key}


def _missing(rows: Rows, works: Sequence[Work], settings: Settings) -> list[Work]:
    return [work for work in works if rows.find(_full_key(work, settings)) is None]


def _find_files(
    figures: Sequence[Figure], works: dict[str, list[Work]], rows: Rows, settings: Settings
) -> None:
    """Before the first work, not hours after it."""
    if settings.quick:
        return
    for figure in figures:
        if not _missing(rows, works[figure.name], settings):
            continue
        for name in figure.files:
            if settings.data_home is None and not os.environ.get("TAUT_DATA"):
                raise FileNotFoundError(
                    f"figure {figure.name} needs the file {name!r}, and no data folder is known: "
                    "name the folder that contains it by --data-home FOLDER or in the environment "
                    "variable TAUT_DATA"
                )
            find_file(settings.data_home, name)


def _draw(
    paper: str, figure: Figure, works: list[Work], rows: Rows, settings: Settings, folder: Path
) -> None:
    kept = [rows.find(_full_key(work, settings)) for work in works]
    found = [row for row in kept if row is not None]
    commits = ", ".join(sorted({row["commit"] for row in found}))
    dates = ", ".join(sorted({row["date"] for row in found}))
    minutes = sum(row["cpu"] for row in found) / 60
    options = " --quick" * settings.quick
    if settings.seeds != (QUICK_SEEDS if settings.quick else SEEDS):
        options += f" --seeds {settings.seeds}"
    about = (
        f"python -m papers.{paper}.run --figure {figure.name}{options}; commit {commits}; {dates}; "
        f"{minutes:.1f} CPU minutes"
    )
    pairs = [(work.key, row["found"]) for work, row in zip(works, found, strict=True)]
    figure.draw(pairs, settings, folder, about)
    print(f"figure {figure.name}: {figure.title}\n  {about}")


class _Progress:
    """A line on standard error: rewritten on a terminal, a new one now and then elsewhere."""

    def __init__(self, paper: str, rows: Rows, works: dict[str, list[Work]], settings: Settings):
        self.paper = paper
        self.is_terminal = sys.stderr.isatty()
        self.shown_at = -1e9
        keyed = {json.dumps(work.key): work for these in works.values() for work in these}
        missing = _missing(rows, list(keyed.values()), settings)
        self.n_all, self.n_done = len(keyed), len(keyed) - len(missing)
        self.left = sum(work.seconds for work in missing)
        self.allowed = self.spent = 0.0

    def show(self, figure: Figure, key: Row) -> None:
        if not self.is_terminal and time.monotonic() - self.shown_at < 10:
            return
        self.shown_at = time.monotonic()
        line = (
            f"paper-{self.paper}: {self.n_done} of {self.n_all} done, {self._time_left()} left; "
            f"figure {figure.name}: {in_words(key)}"
        )
        print(f"\r{line[:118]:118}" if self.is_terminal else line,
              end="" if self.is_terminal else "\n", file=sys.stderr, flush=True)  # fmt: skip

    def _time_left(self) -> str:
        ratio = self.spent / self.allowed if self.allowed else 1.0
        minutes = ratio * self.left / 60
        if minutes < 0.5:
            return "less than a CPU minute"
        return f"about {minutes:.0f} CPU minute{'s' * (minutes >= 1.5)}"

    def done(self, allowed: float, spent: float) -> None:
        self.n_done += 1
        self.left -= allowed
        self.allowed += allowed
        self.spent += spent

    def clear(self) -> None:
        if self.is_terminal:
            print(f"\r{'':118}\r", end="", file=sys.stderr, flush=True)


def in_words(key: Row) -> str:
    """What a key's method and data are, for people: "CoNLL, lambda 0.1, BCFW, seed 3"."""
    parts = []
    for name, value in key.items():
        if name in ("growth", "limit", "seconds", "bounds") or value is None:
            continue  # the same for all
        name = "lambda" if name == "lam" else name
        parts.append(value if isinstance(value, str) else f"{name} {value}")
    return ", ".join(parts)
