"""What a program costs, and rows of figures that outlive an interrupted run.

Linux lets a new process inherit the peak memory of the one that starts it. So a small process
stands in between: this file, run as a program, which starts the command and writes down its usage.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
Row = dict[str, Any]


class Cost(NamedTuple):
    seconds: float  # CPU, user and system
    megabytes: float  # peak
    output: str


def run(command: Sequence[str]) -> Cost:
    """Run a program and ask the system what it cost."""
    with tempfile.NamedTemporaryFile("r") as usage:
        between = [sys.executable, "-I", "-S", __file__, usage.name]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*between, *command], stdout=subprocess.PIPE, env=environment, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")
        seconds, kilobytes = json.load(usage)
    return Cost(seconds, kilobytes / 1024, done.stdout)


def commit() -> str:
    """The last commit that changed the package; + if its files have been edited since."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(HERE.parent), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    edited = "+" * bool(git("status", "--porcelain", "--", "src"))
    return git("log", "-1", "--format=%h", "--", "src") + edited


class Rows:
    """Rows of a file, one JSON object a line; a row is measured once."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[Row] = []
        if path.exists():
            self.rows = [json.loads(line) for line in path.read_text().splitlines()]

    def find(self, **key: Any) -> Row | None:
        """The newest row with these entries."""
        wanted = key.items()
        return next((row for row in reversed(self.rows) if wanted <= row.items()), None)

    def all(self, **key: Any) -> list[Row]:
        return [row for row in self.rows if key.items() <= row.items()]

    def measured(self, key: Row, measure: Callable[[], Row]) -> Row:
        """The row with this key: that of the file, or else a new one, which is written there."""
        found = self.find(**key)
        if found is not None:
            return found
        row = {**key, **measure(), "date": time.strftime("%Y-%m-%d"), "commit": commit()}
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as file:
            print(json.dumps(row), file=file)
        print(time.strftime("%H:%M:%S"), json.dumps(row)[:400], flush=True)
        return row


def main() -> int:
    usage_path, *command = sys.argv[1:]
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    with open(usage_path, "w") as file:
        json.dump([usage.ru_utime + usage.ru_stime, usage.ru_maxrss], file)
    return abs(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    sys.exit(main())
