"""Input that ended the process when it reached compiled code: tried where only the child ends."""

import subprocess
import sys
from pathlib import Path

PRELUDE = """
import sys
sys.path.insert(0, FOLDER)
import numpy as np
from scipy import sparse
from untrained import as_if_trained
import taut

def attempt(name, function):
    try:
        function()
    except (TypeError, ValueError) as error:
        print(f"{name}: {error}", flush=True)
    else:
        print(f"{name}: was accepted", flush=True)
"""


def attempts(script: str) -> list[str]:
    """What became of each ``attempt(name, function)`` of a script, a line for each."""
    prelude = PRELUDE.replace("FOLDER", repr(str(Path(__file__).parent)))
    done = subprocess.run([sys.executable, "-c", prelude + script], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.returncode} after {done.stdout}{done.stderr}"
    return done.stdout.splitlines()
