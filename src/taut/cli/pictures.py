"""Pictures: what they need is checked before any work is done."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taut.files.atomic import atomic_write, check_writable


def check_picture(path: str | None) -> None:
    if path is None:
        return
    check_writable(path)
    if find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install 'taut[plot]'")
    # No window is wanted, and there may be no screen.
    os.environ.setdefault("MPLBACKEND", "Agg")


def save_picture(figure: Any, path: str) -> None:
    with atomic_write(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)
