"""How a function is marked: compiled, in both modes, or one that every class has its own of.

* ``compiled`` marks a function on arrays and named tuples of arrays. It is always machine code;
  ``f.py_func`` is the same source, interpreted.
* ``both_modes`` marks a function that calls into a problem: compiled when its caller is, plain
  Python otherwise.
* ``generic`` marks a function whose implementation belongs to the class of its first argument.
  ``argmax(problem, ...)`` runs ``type(problem).argmax(problem, ...)``; in compiled code the method
  is found at compile time where the class is known, and through a table where it is not (see
  :mod:`taut._compile.ops`).

Under ``NUMBA_DISABLE_JIT=1`` everything is interpreted. Under ``TAUT_PLAIN_NUMBA=1`` everything is
``numba.njit``, slow to compile and not cached, for versions of numba that the rest of this package
does not know.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import registry, types
from numba.extending import overload, register_jitable

from taut._compile.modes import INTERPRETED, PLAIN

# Full fastmath assumes no infinities and breaks -inf as "forbidden"; these three flags are what
# vectorising a sum needs, and they are safe.
FASTMATH = {"reassoc", "contract", "nsz"}
PLAIN_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

if not PLAIN:
    from taut._compile import ops
    from taut._compile.entries import Entry
    from taut._compile.linking import OPTIONS, Helper, HelperCompiler
    from taut._compile.references import words_of

    HELPER = {**OPTIONS, "pipeline_class": HelperCompiler}


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
    if INTERPRETED:
        function.py_func = function
        return function
    options: Any = {"fastmath": FASTMATH if fastmath else False, "forceinline": inline}
    if PLAIN:
        return numba.njit(nogil=True, **PLAIN_OPTIONS, **options)(function)
    return Entry(function, **options)


def both_modes(function: Callable) -> Callable:
    """Compile when called from compiled code; stay Python when called from Python."""
    if INTERPRETED:
        return function
    if PLAIN:
        return register_jitable(**PLAIN_OPTIONS)(function)
    marked: Any = function
    marked.helper = Helper(function)
    # Where numba looks for the type of an object that it meets: that of a function it can call.
    marked._numba_type_ = types.Dispatcher(marked.helper)
    return function


def generic(function: Callable | None = None, *, group: str = "") -> Any:
    """Dispatch on the class of the first argument, at compile time where the caller is compiled.

    The decorated function's body is never run: it documents the contract. A function with a
    ``group`` can also be called of a problem whose class is not known; all its parameters are then
    annotated.
    """
    if function is None:
        return functools.partial(generic, group=group)
    name = function.__name__

    @functools.wraps(function)
    def dispatch(first, *rest):  # type: ignore[no-untyped-def]
        return getattr(type(first), name)(first, *rest)

    if INTERPRETED:
        return dispatch

    @overload(dispatch, strict=False, jit_options=PLAIN_OPTIONS if PLAIN else HELPER)
    def choose(first, *rest):  # type: ignore[no-untyped-def]
        if hasattr(first, "instance_class"):
            return getattr(first.instance_class, name)
        return None

    if group and not PLAIN:
        ops.register(dispatch, function, group)
    return dispatch


def in_mode(function: Any, problem: Any) -> Callable:
    """A ``compiled`` function as it must be run on this problem: interpreted for a Python model."""
    return function if problem.is_compiled else function.py_func


def ready(function: Any, *arguments: Any) -> None:
    """Have machine code for a call with such arguments, without making it."""
    if not INTERPRETED:
        function.compile(tuple(map(numba.typeof, arguments)))


@contextmanager
def interpreting() -> Iterator[None]:
    """Kernels called from Python run as their source, with Python's errors and index checks.

    In all threads: to others it makes no difference but of speed.
    """
    registry.CPUDispatcher.__call__ = lambda kernel, *given: kernel.py_func(*given)
    try:
        yield
    finally:
        del registry.CPUDispatcher.__call__


def check_compiles(problem: Any) -> None:
    """The error that kernels would raise if a field does not fit its annotation, or a function
    cannot be compiled."""
    if PLAIN or INTERPRETED:
        return
    for value in (problem, problem.new_work(), problem.new_delta()):
        words_of(value)
    written = set(dir(type(problem))) & set(ops.OPS)
    ops.table_of(type(problem)).provide(written, "check_problem")
