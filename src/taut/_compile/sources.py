"""What machine code is made from: a module's source, and that of all it imports of taut.

So an edit discards what depends on it and nothing else, and neither the folder that taut is
installed in nor the time matters: a new environment or a container reuses what is there.
"""

import functools
import hashlib
import re
import time
from collections.abc import Iterable
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.registry import cpu_target

ROOT = Path(__file__).parents[2]
STARTED = time.time()
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(taut[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)"
    rb"|import[ \t]+(taut[\w.]*))",
    re.MULTILINE,
)


def digest(modules: Iterable[str]) -> str | None:
    """A hash of the sources of these modules and all they need; None if they are not what runs."""
    names: set[str] = set()
    for module in modules:
        if module.partition(".")[0] != "taut" or _path(module) is None:
            return None
        names |= closure(module)
    # What was edited since it was imported is not what runs here.
    if any(_read(name)[2] > STARTED for name in names):
        return None
    whole = hashlib.sha256()
    for name in sorted(names):
        whole.update(f"{name} {_read(name)[0]}\n".encode())
    return whole.hexdigest()


@functools.cache
def closure(module: str) -> frozenset[str]:
    """The module and all that it imports, directly or not."""
    seen, stack = {module}, [module]
    while stack:
        for name in _read(stack.pop())[1]:
            if name not in seen:
                seen.add(name)
                stack.append(name)
    return frozenset(seen)


@functools.cache
def _read(module: str) -> tuple[str, frozenset[str], float]:
    """A hash of the source, what it imports, and when it was last changed."""
    path = _path(module)
    assert path is not None
    source = path.read_bytes()
    found = set()
    for package, names, plain in IMPORT.findall(source):
        start = (package or plain).decode()
        parts = re.findall(r"\w+", names.decode())
        found |= {name for name in (start, *(f"{start}.{part}" for part in parts)) if _path(name)}
    # The lazy names of the package itself lead everywhere, and no kernel uses them.
    found.discard("taut")
    about = path.stat()
    changed = max(about.st_mtime, about.st_ctime)
    return hashlib.sha256(source).hexdigest(), frozenset(found), changed


@functools.cache
def _path(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def target() -> str:
    """What machine code depends on besides its source."""
    settings = (
        "DEBUGINFO_DEFAULT",
        "OPT",
        "LOOP_VECTORIZE",
        "SLP_VECTORIZE",
        "BOUNDSCHECK",
        "USING_SVML",
    )
    versions = numba.__version__, llvmlite.__version__, np.__version__
    processor = cpu_target.target_context.codegen().magic_tuple()
    return repr((versions, processor, [getattr(numba.config, name, None) for name in settings]))
