"""Named tuples that compiled code makes itself, also by reference."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from taut._compile.modes import INTERPRETED, PLAIN
from taut._compile.records import LocalRef, record_of


def local(cls: Any) -> Callable:
    """A function that makes such a named tuple, of arrays and numbers, within compiled code.

    Its words are in the memory of the function that calls it, one place for each call in the
    source, and must not outlive that.
    """

    def make(*values):  # type: ignore[no-untyped-def]
        return cls(*values)

    if PLAIN or INTERPRETED:
        return cls

    class Make(AbstractTemplate):
        key = make

        def generic(self, args: tuple, kws: Any) -> Any:
            fields = record_of(cls).fields
            for field, given in zip(fields, args, strict=True):
                is_number = field.dtype is None and isinstance(given, types.Number | types.Boolean)
                if field.record is not None or not (given == field.kind or is_number):
                    raise TypeError(f"{field.name} is made of {given}, not of {field.kind}")
            return signature(LocalRef(cls), *(field.kind for field in fields))

    infer_global(make, types.Function(Make))

    @lower_builtin(make, types.VarArg(types.Any))
    def call(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        record = record_of(cls)
        number = ir.IntType(64)
        words = cgutils.alloca_once(builder, number, size=record.size)

        def store(value: Any, at: int) -> None:
            place = builder.bitcast(words, value.type.as_pointer())
            builder.store(value, cgutils.gep_inbounds(builder, place, at))

        for field, value in zip(record.fields, arguments, strict=True):
            if field.dtype is not None:
                array = context.make_array(field.kind)(context, builder, value)
                shape = cgutils.unpack_tuple(builder, array.shape)
                for at, part in enumerate((array.data, *shape)):
                    store(part, field.at + at)
            elif field.kind is types.boolean:
                store(builder.zext(value, number), field.at)
            else:
                store(value, field.at)
        return builder.bitcast(words, cgutils.voidptr_t)

    return make
