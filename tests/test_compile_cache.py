"""Machine code is compiled once per machine, not once per process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from taut._compile import CACHE_DIRECTORY

SCRIPT = """
import numpy as np
from taut.solvers import BCFW, solve
from taut.structures import multiclass_problem
problem = multiclass_problem(np.eye(2), np.array([0, 1]), n_states=2, bias=False)
print(solve(problem, BCFW(order="cyclic"), tol=0, max_passes=1).primal)
"""


def run_fresh(folder: Path) -> tuple[str, dict[Path, int]]:
    """Run the script in a new process; its output and the cache's files with their times."""
    environment = {**os.environ, "TAUT_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout, {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb[ic]")}


def test_a_second_process_compiles_nothing(tmp_path):
    # What other tests left on disk need not be compiled again; a copy, because they go on writing.
    unfinished = shutil.ignore_patterns("*.tmp.*")
    shutil.copytree(CACHE_DIRECTORY, tmp_path / CACHE_DIRECTORY.name, ignore=unfinished)
    first_output, first = run_fresh(tmp_path)
    second_output, second = run_fresh(tmp_path)
    assert first
    assert second == first
    assert second_output == first_output
