"""Rows of figures that outlive an interrupted run, one JSON object a line.

A row is what one piece of work found, under a key: the figure, the method, the data, the seed and
whatever else it depends on. Work whose key is there already is not done again.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Found = list[tuple[Row, Row]]  # keys of pieces of work, with what these found
ROOT = Path(__file__).parents[2]


@cache
def commit() -> str:
    """The last commit; + if files of the package or the papers have been edited since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
        return done.stdout.strip()

    edited = "+" * bool(git("status", "--porcelain", "--", "src", "papers/*.py"))
    return (git("log", "-1", "--format=%h") or "unknown") + edited


class Rows:
    """The rows of a file. A line that a killed run left half written is work to be done again."""

    def __init__(self, path: Path):
        self.path = path
        text = path.read_text() if path.exists() else ""
        self.is_torn = bool(text) and not text.endswith("\n")
        self.rows: list[Row] = list(_parsed(text))

    def find(self, key: Row) -> Row | None:
        """The newest row with these entries, as JSON has them."""
        wanted = json.loads(json.dumps(key)).items()
        return next((row for row in reversed(self.rows) if wanted <= row["key"].items()), None)

    def add(self, key: Row, measure: Callable[[], Row]) -> Row:
        start = time.process_time()
        found = measure()
        about = {
            "cpu": round(time.process_time() - start, 2),
            "date": time.strftime("%Y-%m-%d"),
            "commit": commit(),
        }
        row: Row = json.loads(json.dumps({"key": key, "found": found, **about}))
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as file:
            file.write("\n" * self.is_torn + json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.is_torn = False
        return row


def parts_of(found: Found, entry: str) -> dict[Any, Found]:
    """Those with the same entry of their keys, together; in the order in which they come."""
    parts: dict[Any, Found] = {}
    for key, row in found:
        parts.setdefault(key[entry], []).append((key, row))
    return parts


def rows_by(found: Found, *entries: str) -> dict[Any, list[Row]]:
    """What was found under the same entries of the keys; the seeds of a method, for instance."""
    groups: dict[Any, list[Row]] = {}
    for key, row in found:
        name = tuple(key[entry] for entry in entries)
        groups.setdefault(name if len(entries) > 1 else name[0], []).append(row)
    return groups


def named(found: Found, names: Mapping[str, str]) -> Found:
    """With methods' names as they are drawn, where that is not how their keys have them."""
    return [
        (key | {"method": names.get(key["method"], key["method"])} if "method" in key else key, row)
        for key, row in found
    ]


def _parsed(text: str) -> Iterator[Row]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue
