"""Functions that Python calls: numba's dispatcher, with code from a unit instead of numba's own.

A dispatcher finds the types of a call's arguments and runs the machine code for them. Types that
make no difference to that code are made one first: any integer is an ``int64``, a read-only array
is an array, and a parameter annotated ``Problem`` or ``Opaque`` is just that, whatever the class.
"""

import ctypes
import functools
import importlib
import sys
from typing import Any, get_type_hints

from numba import _dynfunc
from numba.core import lowering, serialize
from numba.core.registry import CPUDispatcher

from taut._compile import cache, linking
from taut._compile.ops import fits, modules_of, table_of
from taut._compile.records import OPAQUE, PROBLEM, Ref

OPTIONS = {"nopython": True, "nogil": True, "_nrt": False, "error_model": "numpy"}


class Entry(CPUDispatcher):
    """A function for Python to call; compiled code calls its helper instead."""

    def __init__(self, function: Any, **options: Any):
        super().__init__(function, targetoptions=dict(OPTIONS))
        self.helper, self.options = linking.Helper(function, **options), options
        hints = get_type_hints(function, include_extras=True)
        kinds: dict[Any, Any] = {("problem",): PROBLEM, ("opaque",): OPAQUE}
        self.hidden = [
            kinds.get(getattr(hints.get(name), "__metadata__", None)) for name in self._parameters()
        ]
        self.units: dict[tuple, Any] = {}
        self.known: set[tuple] = set()  # types of arguments that numba finds machine code for

    def _parameters(self) -> list[str]:
        code = self.py_func.__code__
        return list(code.co_varnames[: code.co_argcount])

    def __reduce__(self) -> tuple:
        if self.py_func.__module__ == "__main__":  # unknown to other processes: the code itself
            return _rebuilt, (serialize.dumps(self.py_func), self.options)
        return _found, (self.py_func.__module__, self.py_func.__qualname__)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.helper.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.helper.get_overload(sig)

    def compile(self, sig: Any) -> Any:
        given = tuple(sig)
        pairs = list(zip(given, self.hidden, strict=True))
        kinds = tuple(hidden or linking.plain(kind) for kind, hidden in pairs)
        where = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        options = [sorted(o) if isinstance(o, set) else o for o in self.options.values()]
        text = f"{where}{kinds} {options}"
        with linking.compiling():
            if kinds not in self.units:
                modules = {self.py_func.__module__, *modules_of(kinds)}
                if self.py_func.__closure__:  # what is in it is no source
                    modules.add("a closure")
                unit = cache.unit(text, modules, lambda: self._compile(where, kinds), fits)
                self.units[kinds] = unit, self._callable(unit)
            unit, call = self.units[kinds]
            for kind, hidden in pairs:
                if hidden is PROBLEM:
                    table_of(kind.instance_class).provide(unit.uses, where)
                elif isinstance(kind, Ref):  # perhaps with a problem inside
                    table_of(kind.instance_class).uses.update(unit.uses)
            if given not in self.known:  # twice would be ambiguous
                self._insert([kind._code for kind in given], call, False)
                self.known.add(given)
        return call

    def _compile(self, where: str, kinds: tuple) -> tuple[bytes, dict[str, int]]:
        with linking.naming(self.py_func, where):
            made = linking.translated(self.helper, kinds)
        if made.environment.consts:
            raise TypeError(f"{where} needs Python objects: {made.environment.consts}")
        return linking.linked(where, {"inner": made}, called_from_python="inner")

    def _callable(self, unit: Any) -> Any:
        """A built-in function that runs the unit."""
        environment = lowering.Environment(self.py_func.__globals__)
        ctypes.c_void_p.from_address(unit.variable("environment")).value = id(environment)
        name = self.py_func.__name__
        module = sys.modules[self.py_func.__module__]
        return _dynfunc.make_function(
            module, name, self.py_func.__doc__ or "", unit.function("call"), environment, (unit,)
        )


def _rebuilt(function: bytes, options: dict[str, Any]) -> Any:
    return Entry(serialize.loads(function), **options)


def _found(module: str, name: str) -> Any:
    """A kernel by its name, for pickle."""
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))
