"""A problem as kernels of solvers see it: a pointer to its words, and a table of its functions.

Solvers know no structure. They call the functions of :mod:`taut.problem`, whose annotations say
what is handed over and what comes back. So a kernel whose parameter is annotated ``Problem`` is
compiled once for all problems: it calls through a table that each class of problems has. The
functions of a class are compiled in *groups*, one unit each, when a kernel first needs one of the
group; always the same group, so that machine code never depends on what was asked for before.

A kernel knows which functions it calls, and the table has them before the kernel runs: a function
that a class lacks is an error that names both.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from taut._compile import cache, linking, loading
from taut._compile.records import MAKERS, OPAQUE, PROBLEM, Nothing, ProblemType, Ref, kind_of
from taut._compile.references import word

MOST = 64  # functions in a table


class Op:
    """A function that a problem provides: its place in the table and its types."""

    def __init__(self, function: Callable, group: str):
        self.name, self.group = function.__name__, group
        known = OPS.get(self.name)
        self.place: int = (
            known.place if known else len(OPS)
        )  # again the same, if a module is reloaded
        hints = get_type_hints(function, include_extras=True)
        where = f"{function.__module__}.{self.name}"
        self.result = kind_of(hints.pop("return", None), where)
        self.parameters = list(inspect.signature(function).parameters)
        self.kinds = tuple(kind_of(hints[p], f"{where}({p})") for p in self.parameters)

    def kinds_for(self, cls: type) -> tuple:
        """Types of the arguments where the class is known."""
        return Ref(cls), *(
            _made_by(cls, p, self.name) if kind is OPAQUE else kind
            for p, kind in zip(self.parameters[1:], self.kinds[1:], strict=True)
        )


OPS: dict[str, Op] = {}


def _made_by(cls: type, parameter: str, op: str) -> Ref:
    maker = getattr(cls, MAKERS[parameter], None)
    if maker is None:
        return Ref(Nothing)
    made = get_type_hints(maker).get("return")
    if not made:
        raise TypeError(
            f"{cls.__name__}.{op} takes {parameter}, whose type is unknown: annotate what "
            f"{MAKERS[parameter]} returns, a named tuple marked by_reference"
        )
    return Ref(made)


def register(dispatch: Callable, function: Callable, group: str) -> None:
    """Let compiled code call ``dispatch`` of a problem that it knows only by its table."""
    op = OPS[function.__name__] = Op(function, group)
    assert op.place < MOST

    class Call(AbstractTemplate):
        key = dispatch

        def generic(self, args: tuple, kws: Any) -> Any:
            if not args or args[0] is not PROBLEM or kws:
                return None
            for given, expected, name in zip(args, op.kinds, op.parameters, strict=True):
                if given != expected and not (
                    isinstance(given, types.Number | types.Boolean)
                    and isinstance(expected, types.Number)
                ):
                    raise numba.TypingError(
                        f"{op.name}: {name} is {given}, where {expected} is expected"
                    )
            return signature(op.result, *op.kinds)

    infer_global(dispatch, types.Function(Call))

    @lower_builtin(dispatch, ProblemType, types.VarArg(types.Any))
    def call(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        context.active_code_library.uses[op.name] = op.place
        words = word(builder, arguments[0], 0, cgutils.voidptr_t)
        table = word(builder, arguments[0], 1, cgutils.voidptr_t)
        convention = context.call_conv
        kind = convention.get_function_type(sig.return_type, sig.args).as_pointer()
        status, value = convention.call_function(
            builder,
            word(builder, table, op.place, kind),
            sig.return_type,
            sig.args,
            (words, *arguments[1:]),
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value


class Table:
    """Addresses of a class's functions."""

    def __init__(self, cls: type):
        self.cls = cls
        self.memory = np.full(MOST, loading.failing().function("fail"), np.uint64)
        self.address = self.memory.ctypes.data
        self.ready: set[str] = set()  # functions that can be called
        self.groups: dict[str, Any] = {}  # machine code
        self.uses: set[str] = set()  # functions that these call of a problem inside the problem

    def provide(self, names: Iterable[str], caller: str) -> None:
        """Have these functions ready; ``caller`` is who needs them."""
        for name in sorted(set(names) - self.ready):
            op = OPS[name]
            if not hasattr(self.cls, name):
                raise TypeError(
                    f"{self.cls.__name__} has no method {name}, which {caller} needs: write one "
                    f"(taut.problem.{name} says what it does), or use another solver"
                )
            if op.group not in self.groups:
                self._load(op.group)

    def _load(self, group: str) -> None:
        with linking.compiling():
            if group in self.groups:  # by another thread
                return
            ops = [op for op in OPS.values() if op.group == group and hasattr(self.cls, op.name)]
            where = f"{self.cls.__module__}.{self.cls.__qualname__} {group}"
            modules = {
                self.cls.__module__,
                *modules_of(k for op in ops for k in op.kinds_for(self.cls)),
            }
            unit = cache.unit(where, modules, lambda: self._compile(where, ops), fits)
            self.uses.update(unit.uses)
            for op in ops:
                self.memory[op.place] = unit.function(op.name)
            self.ready.update(op.name for op in ops)
            self.groups[group] = unit  # last: other threads look here without a lock

    def _compile(self, where: str, ops: list[Op]) -> tuple[bytes, dict[str, int]]:
        members = {}
        for op in ops:
            method = getattr(self.cls, op.name)
            with linking.naming(method, f"{where.split()[0]}.{op.name}"):
                members[op.name] = linking.translated(
                    linking.Helper(method), op.kinds_for(self.cls), op.result
                )
        return linking.linked(where, members)


def fits(uses: dict[str, int]) -> bool:
    """Whether tables have these functions in these places, as in the process that compiled."""
    return all(name in OPS and OPS[name].place == place for name, place in uses.items())


def modules_of(kinds: Iterable[Any]) -> set[str]:
    """Where the named tuples among these types are defined."""
    return {kind.instance_class.__module__ for kind in kinds if isinstance(kind, Ref)}


_TABLES: dict[type, Table] = {}


def table_of(cls: type) -> Table:
    """The only one of its class, whichever threads ask for it."""
    return _TABLES.get(cls) or _TABLES.setdefault(cls, Table(cls))
