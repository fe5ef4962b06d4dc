"""The only magic in taut: one source, compiled or interpreted.

* ``compiled`` marks a function on arrays and named tuples of arrays. It is always machine code;
  ``f.py_func`` is the same source, interpreted.
* ``both_modes`` marks a function that calls into a problem: compiled when its caller is, plain
  Python otherwise.
* ``generic`` marks a function whose implementation belongs to the class of its first argument.
  ``argmax(problem, ...)`` runs ``type(problem).argmax(problem, ...)``; in compiled code the method
  is found at compile time, so the call costs nothing and inlines.

Neither ``jitclass`` nor functions as arguments are used: both defeat numba's on-disk cache and
would recompile in every process. Numba does not notice when a function in *another* file changes,
so the cache folder is named after a hash of all files that hold kernels.
"""

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.extending import overload, register_jitable

# Full fastmath assumes no infinities and breaks -inf as "forbidden"; these three flags are what
# vectorising a sum needs, and they are safe.
FASTMATH = {"reassoc", "contract", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}


def _user_cache() -> Path:
    if "TAUT_CACHE_DIR" in os.environ:
        return Path(os.environ["TAUT_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "taut"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "taut"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "taut"


def _source_hash() -> str:
    digest = hashlib.sha256(f"{sys.version}{numba.__version__}".encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        # What holds kernels: it imports this module, or its methods are compiled by name.
        if b"taut._compile" in source or path.name == "_compile.py":
            digest.update(source)
    return digest.hexdigest()[:16]


def _cache_directory() -> Path:
    """Where machine code is kept: the user's cache, or a temporary folder if that is read-only."""
    directory = _user_cache() / _source_hash()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        return Path(tempfile.mkdtemp(prefix="taut-cache-"))


CACHE_DIRECTORY = _cache_directory()


def compiled(
    function: Callable | None = None, *, fastmath: bool = False, inline: bool = False
) -> Any:
    """Compile to machine code, cached on disk, releasing the GIL.

    Kernels allocate nothing, so numba's reference counting is switched off: its atomic operations
    cost more than the arithmetic of a small block (five times, measured on cheap passes).
    ``inline`` is for functions of a few instructions that are called in inner loops.
    """
    if function is None:
        return functools.partial(compiled, fastmath=fastmath, inline=inline)
    # numba reads the folder when it decorates; other packages' caches stay where they were.
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_DIRECTORY)
    try:
        return numba.njit(  # type: ignore[call-overload]
            **OPTIONS,
            cache=True,
            fastmath=FASTMATH if fastmath else False,
            forceinline=inline,
        )(function)
    finally:
        config.CACHE_DIR = before


def both_modes(function: Callable) -> Callable:
    """Compile when called from compiled code; stay Python when called from Python."""
    return register_jitable(error_model="numpy", _nrt=False)(function)


def generic(function: Callable | None = None, *, optional: bool = False) -> Any:
    """Dispatch on the class of the first argument, at compile time where the caller is compiled.

    The decorated function's body is never run: it documents the contract. Of an ``optional`` one it
    is what classes without such a method do.
    """
    if function is None:
        return functools.partial(generic, optional=optional)
    name = function.__name__
    default = (function,) if optional else ()

    @functools.wraps(function)
    def dispatch(first, *rest):  # type: ignore[no-untyped-def]
        return getattr(type(first), name, *default)(first, *rest)

    options: Any = {"error_model": "numpy", "_nrt": False}

    @overload(dispatch, strict=False, jit_options=options)
    def choose(first, *rest):  # type: ignore[no-untyped-def]
        return getattr(first.instance_class, name, *default)

    return dispatch


def in_mode(function: Any, problem: Any) -> Callable:
    """A ``compiled`` function as it must be run on this problem.

    Interpreted for a Python model. For a compiled problem of the user's own, compiled anew in every
    process: numba's cache would neither notice an edit of its class nor load without it.
    """
    if not problem.is_compiled:
        return function.py_func
    if type(problem).__module__.partition(".")[0] == "taut":
        return function
    return _uncached(function)


@functools.cache
def _uncached(function: Any) -> Callable:
    return numba.njit(**OPTIONS)(function.py_func)
