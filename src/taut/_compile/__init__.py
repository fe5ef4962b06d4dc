"""The only magic in taut: one source, compiled or interpreted.

* ``compiled`` marks a function on arrays and named tuples of arrays. It is always machine code;
  ``f.py_func`` is the same source, interpreted.
* ``both_modes`` marks a function that calls into a problem: compiled when its caller is, plain
  Python otherwise.
* ``generic`` marks a function whose implementation belongs to the class of its first argument.
  ``argmax(problem, ...)`` runs ``type(problem).argmax(problem, ...)``; in compiled code the method
  is found at compile time, so the call costs nothing and inlines.

* ``apart`` marks a function that compiled code calls through a pointer: numba links others into
  every kernel that calls them, and optimises them there again, a dozen times for the solvers'.
  ``freeze`` and ``thawed_as`` hand it many arrays by reference; by value, as numba does it, each is
  seven arguments. Graph problems compile in a fifth of the time by these two.

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

import llvmlite.binding
import llvmlite.ir
import numba
import numpy as np
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload, register_jitable

from taut._compile.kinds import (  # noqa: F401
    Bits,
    Cube,
    Flags,
    IntegerMatrix,
    Integers,
    LabelMatrix,
    Labels,
    Matrix,
    Opaque,
    Problem,
    Vector,
)

# Full fastmath assumes no infinities and breaks -inf as "forbidden"; these three flags are what
# vectorising a sum needs, and they are safe.
FASTMATH = {"reassoc", "contract", "nsz"}
# Types of arguments, for ``apart``.
INDEX, NUMBER = numba.int64, numba.float64
VECTOR, LABELS, FROZEN = numba.float64[::1], numba.int32[::1], numba.uint64[::1]

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
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*.py")):
        source = path.read_bytes()
        # What holds kernels, or fields and numbers that they know by heart.
        inside = path.relative_to(root).parts[0] in ("inference", "structures")
        if inside or b"taut._compile" in source or "_compile" in path.parts:
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


class Apart:
    """A compiled function of one signature, and a slot in memory that holds its address.

    Kernels know the slot by its name, on disk too, and it exists from the import on; the function
    is compiled, or loaded, when ``make_ready`` asks for it. It returns a float64.
    """

    def __init__(self, function: Callable, types: tuple):
        self.dispatcher = compiled(function)
        self.types = types
        self.name = f"taut {function.__module__}.{function.__qualname__}"
        self.slot = np.zeros(1, np.uint64)
        llvmlite.binding.add_symbol(self.name, self.slot.ctypes.data)

    def make_ready(self) -> None:
        if self.slot[0]:
            return
        self.dispatcher.compile(self.types)
        made = self.dispatcher.overloads[self.types]
        if made.signature.return_type != numba.float64:
            raise TypeError(f"{self.name} returns {made.signature.return_type}, not a float64")
        self.slot[0] = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)

    def call(self, context: Any, builder: Any, arguments: Any) -> Any:
        """Code that calls the function."""
        convention = context.call_conv
        kind = convention.get_function_type(numba.float64, self.types).as_pointer()
        pointer = builder.load(cgutils.add_global_variable(builder.module, kind, self.name))
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, pointer)):
            message = (f"{self.name} was not made ready: a bug in taut, please report it",)
            convention.return_user_exc(builder, RuntimeError, message)
        status, value = convention.call_function(
            builder, pointer, numba.float64, self.types, arguments
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value


def apart(*types: Any) -> Callable[[Callable], Any]:
    """Compile on its own for these types, to be called through a pointer; see :class:`Apart`."""

    def decorate(function: Callable) -> Callable:
        whole = Apart(function, types)

        @functools.wraps(function)
        def call(*arguments):  # type: ignore[no-untyped-def]
            return whole.dispatcher(*arguments)

        @intrinsic
        def call_by_pointer(typing_context, arguments):  # type: ignore[no-untyped-def]
            if tuple(arguments) != types:
                raise TypeError(f"{whole.name} is for {types}, not {tuple(arguments)}")

            def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
                return whole.call(context, builder, cgutils.unpack_tuple(builder, values[0]))

            return numba.float64(arguments), generate

        options: Any = {"error_model": "numpy", "_nrt": False}

        @overload(call, strict=False, jit_options=options)
        def choose(*arguments):  # type: ignore[no-untyped-def]
            return lambda *arguments: call_by_pointer(arguments)

        call.make_ready = whole.make_ready  # type: ignore[attr-defined]
        return call

    return decorate


def freeze(values: Any, thaw: Any) -> np.ndarray:
    """Where compiled code finds these arrays: a named tuple's bits, for ``thaw`` to read.

    They are addresses: whoever keeps the result must keep ``values`` too.
    """
    kind = numba.typeof(values)
    if kind != thaw.kind:
        raise TypeError(f"these are {kind}, and would be read as {thaw.kind}")
    context = cpu_target.target_context
    size = context.get_abi_sizeof(context.get_value_type(kind))
    frozen = np.zeros(-(-size // 8), np.uint64)
    _write_bits(values, frozen)
    return frozen


def thawed_as(example: Any) -> Any:
    """A function that reads back, in compiled code, what was frozen from values of this type."""
    kind = numba.typeof(example)

    @intrinsic
    def thaw(typing_context, frozen):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return _load(builder, _address(context, builder, signature, values[0], kind))

        return kind(frozen), generate

    thaw.kind = kind  # type: ignore[attr-defined]
    return thaw


def _address(context: Any, builder: Any, signature: Any, frozen: Any, kind: Any) -> Any:
    array = context.make_array(signature.args[-1])(context, builder, frozen)
    return builder.bitcast(array.data, context.get_value_type(kind).as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    """Member by member, so that what is not used is not loaded."""
    kind = pointer.type.pointee
    if not hasattr(kind, "elements"):
        return builder.load(pointer)
    value = llvmlite.ir.Constant(kind, llvmlite.ir.Undefined)
    for j in range(len(kind.elements)):
        part = _load(builder, cgutils.gep_inbounds(builder, pointer, 0, j))
        value = builder.insert_value(value, part, j)
    return value


@intrinsic
def _store_bits(typing_context, values, frozen):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pointer = _address(context, builder, signature, arguments[1], values)
        builder.store(arguments[0], pointer)
        return context.get_dummy_value()

    return numba.void(values, frozen), generate


@compiled
def _write_bits(values, frozen):  # type: ignore[no-untyped-def]
    _store_bits(values, frozen)


def in_mode(function: Any, problem: Any) -> Callable:
    """A ``compiled`` function as it must be run on this problem.

    Interpreted for a Python model. For a compiled problem of the user's own, compiled anew in every
    process: numba's cache would neither notice an edit of its class nor load without it.
    """
    if not problem.is_compiled:
        return function.py_func
    return function if _comes_with_taut(problem) else _uncached(function)


def _comes_with_taut(problem: Any) -> bool:
    """Also of what a problem is made from: see :mod:`taut.structures.slack_rescaled`."""
    ours = type(problem).__module__.partition(".")[0] == "taut"
    return ours and (not hasattr(problem, "base") or _comes_with_taut(problem.base))


@functools.cache
def _uncached(function: Any) -> Callable:
    return numba.njit(**OPTIONS)(function.py_func)
