"""Named tuples by reference: one pointer, whose fields are read where they are used.

numba hands a named tuple on by value: every array in it is seven numbers, copied into each call and
each function's code. Here a named tuple marked by :func:`by_reference` is one pointer for compiled
code. Python writes its *words* into memory, eight bytes each, in the order of the fields:

    int, float, bool    the number itself
    array               the address of its data, then its shape (it is contiguous)
    named tuple         its own words, in place
    ``Opaque``          the address of a named tuple's words
    ``Problem``         the address of two words: those of the problem, and its table of functions

so that reading a field is a load at a known offset. Types come from the annotations (see
:mod:`taut._compile.kinds`): there is one type per class, known before there is any data, and a
value that does not fit its annotation is an error that names the field. A named tuple never
changes, so its words are written once, at its first call, and live as long as it does. (Whoever
gives one of its arrays other memory, by ``resize``, breaks that.)
"""

import ctypes
import operator
import struct
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.pythonapi import NativeValue
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, unbox

from taut._compile.elements import array_value
from taut._compile.records import (
    OPAQUE,
    PROBLEM,
    Field,
    LocalRef,
    OpaqueType,
    ProblemType,
    Record,
    Ref,
    record_of,
)

# --- what Python writes ---------------------------------------------------------------------------


def _from_object(array: np.ndarray) -> int:
    """The address that an array object begins with, as every extension of NumPy reads it; asking
    the array in Python takes three times as long."""
    return ctypes.c_void_p.from_address(id(array) + object.__basicsize__).value or 0


_probe = np.zeros(3)
address_of = (
    _from_object
    if _from_object(_probe) == _probe.ctypes.data
    else lambda array: array.ctypes.data  # another kind of Python
)


class Words:
    """The words of a named tuple, kept with it: it never changes, nor does where its arrays are.

    ``inside`` are the tables of problems inside it, each with that of the problem it is inside of
    (None: of this one). Before a call they must have the functions that its machine code calls.
    """

    __slots__ = ("address", "inside", "memory", "owner")

    def __init__(self, value: Any):
        out: list[int] = []
        self.owner, self.inside = type(value), list[tuple[Any, Any]]()
        write(value, record_of(self.owner), out, self.inside)  # type: ignore[arg-type]
        self.memory = np.array(out, np.uint64)
        self.address = address_of(self.memory)

    def ready(self) -> "Words":
        for table, owner in self.inside:
            owner = owner or table_of(self.owner)
            table.provide(owner.uses, owner.cls.__name__)
        return self


class ProblemWords:
    """What a kernel that knows no structure is handed: a problem's words and its table."""

    __slots__ = ("address", "memory", "table", "words")

    def __init__(self, problem: Any):
        self.words, self.table = words_of(problem), table_of(type(problem))
        self.memory = np.array([self.words.address, self.table.address], np.uint64)
        self.address = address_of(self.memory)

    def ready(self) -> "ProblemWords":
        self.words.ready()
        return self


def table_of(cls: type) -> Any:
    from taut._compile.ops import table_of

    return table_of(cls)


def words_of(value: Any, kind: Any = Words) -> Any:
    """Written once for each named tuple; it owns them, and nothing else does."""
    try:
        kept = vars(value)
    except TypeError:
        raise TypeError(
            f"{type(value).__name__} is not marked by_reference: write @by_reference above its "
            "class, a named tuple of arrays and numbers"
        ) from None
    return kept.get(kind) or kept.setdefault(kind, kind(value))  # of threads the first wins


def write(values: Any, record: Record, out: list[int], inside: list[tuple[Any, Any]]) -> None:
    for value, field in zip(values, record.fields, strict=True):
        if field.dtype is not None:
            if not isinstance(value, np.ndarray) or value.dtype != field.dtype:
                raise misfit(value, field)
            flags = value.flags
            if value.ndim != field.ndim or not (flags.c_contiguous and flags.aligned):
                raise misfit(value, field)
            out.append(address_of(value))
            out.extend(value.shape)
        elif field.record is not None:
            write(value, field.record, out, inside)
        elif field.kind is OPAQUE or field.kind is PROBLEM:
            if not hasattr(value, "_fields"):
                raise TypeError(f"{field.name} must be a named tuple, not {value!r}")
            if field.kind is OPAQUE:
                words = words_of(value)
                inside += words.inside
            else:
                words = words_of(value, ProblemWords)
                inside.append((words.table, None))
                inside += ((table, owner or words.table) for table, owner in words.words.inside)
            out.append(words.address)
        else:
            out.append(_number(value, field))


def _number(value: Any, field: Field) -> int:
    """The bits of a number."""
    try:
        if field.kind is types.float64:
            return int.from_bytes(struct.pack("<d", value), "little")
        whole = int(value) if field.kind is types.boolean else operator.index(value)
        return int.from_bytes(struct.pack("<q", whole), "little")
    except (TypeError, struct.error):
        raise TypeError(f"{field.name} must be a {field.kind}, not {value!r}") from None


def misfit(value: Any, field: Field) -> TypeError:
    found = f"a {type(value).__name__}"
    if isinstance(value, np.ndarray):
        layout = "" if value.flags.c_contiguous else "non-contiguous "
        found = f"a {layout}{value.dtype} array of {value.ndim} dimensions"
    return TypeError(
        f"{field.name} must be a contiguous {field.dtype} array of {field.ndim} dimensions, not "
        f"{found}"
    )


def handed_over(value: Any) -> Words:
    return words_of(value).ready()


def problem_handed_over(problem: Any) -> ProblemWords:
    return words_of(problem, ProblemWords).ready()


# --- what compiled code reads ---------------------------------------------------------------------


@infer_getattr
class _Fields(AttributeTemplate):
    key = Ref

    def generic_resolve(self, ref: Ref, name: str) -> Any:
        field = record_of(ref.instance_class).by_name.get(name)
        if field is not None and field.record is not None and isinstance(ref, LocalRef):
            return LocalRef(field.kind.instance_class)
        return field and field.kind


@lower_getattr_generic(Ref)
def _read(context: Any, builder: Any, ref: Ref, pointer: Any, name: str) -> Any:
    field, fixed = record_of(ref.instance_class).by_name[name], not isinstance(ref, LocalRef)
    if field.record is not None:
        words = builder.bitcast(pointer, ir.IntType(64).as_pointer())
        return builder.bitcast(cgutils.gep_inbounds(builder, words, field.at), cgutils.voidptr_t)
    if field.dtype is not None:
        return _array(context, builder, field, pointer, fixed)
    if field.kind is types.boolean:
        whole = word(builder, pointer, field.at, ir.IntType(64), fixed)
        return builder.trunc(whole, ir.IntType(1))
    return word(builder, pointer, field.at, context.get_value_type(field.kind), fixed)


def word(builder: Any, pointer: Any, at: int, kind: Any, fixed: bool = True) -> Any:
    """Read one word. What Python wrote never changes, so that it may be read once for a loop."""
    place = builder.bitcast(pointer, kind.as_pointer())
    value = builder.load(cgutils.gep_inbounds(builder, place, at))
    if fixed:
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _array(context: Any, builder: Any, field: Field, pointer: Any, fixed: bool) -> Any:
    kind = field.kind
    item = context.get_data_type(kind.dtype).as_pointer()
    data = word(builder, pointer, field.at, item, fixed)
    number = ir.IntType(64)
    shape = [word(builder, pointer, field.at + 1 + d, number, fixed) for d in range(kind.ndim)]
    return array_value(context, builder, kind, data, shape)


def _unboxed(maker: str) -> Any:
    """How numba turns an argument of a call from Python into a pointer."""

    def convert(kind: Any, obj: Any, c: Any) -> NativeValue:
        name = c.context.insert_const_string(c.builder.module, __name__)
        module = c.pyapi.import_module(name)
        make = c.pyapi.object_getattr_string(module, maker)
        words = c.pyapi.call_function_objargs(make, [obj])
        c.pyapi.decref(make)
        c.pyapi.decref(module)
        address = cgutils.alloca_once_value(c.builder, ir.Constant(cgutils.voidptr_t, None))
        failed = cgutils.is_null(c.builder, words)
        with c.builder.if_then(c.builder.not_(failed)):
            number = c.pyapi.object_getattr_string(words, "address")
            value = c.pyapi.long_as_ulonglong(number)
            c.pyapi.decref(number)
            c.builder.store(c.builder.inttoptr(value, cgutils.voidptr_t), address)

        def cleanup() -> None:
            c.pyapi.decref(words)

        return NativeValue(c.builder.load(address), is_error=failed, cleanup=cleanup)

    return convert


unbox(Ref)(_unboxed("handed_over"))
unbox(OpaqueType)(_unboxed("handed_over"))
unbox(ProblemType)(_unboxed("problem_handed_over"))
