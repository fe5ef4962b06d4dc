"""Elements, rows and slices of contiguous arrays, in few instructions."""

import functools
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.np.numpy_support import as_dtype

END = 2**63 - 1  # the end of ``a[i:]``


def handled(kind: Any) -> bool:
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.aligned and kind.ndim > 0


def part(builder: Any, value: Any, *at: int) -> Any:
    """A member of a structure; one that was just put together is not taken apart again."""
    whole = value
    while isinstance(whole, ir.instructions.InsertValue):
        if tuple(whole.indices) == at:
            return whole.operands[1]
        if tuple(whole.indices) == at[: len(whole.indices)]:  # it is within what was put in
            break
        whole = whole.operands[0]
    return builder.extract_value(value, at)


@functools.cache
def item_size(kind: Any) -> int:
    return as_dtype(kind.dtype).itemsize


def array_value(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """numba's array of seven numbers from address and shape; the others follow."""
    whole, model = context.get_value_type(kind), context.data_model_manager[kind]
    size = ir.Constant(ir.IntType(64), item_size(kind))
    strides, count = [size], shape[0]
    for extent in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], extent, flags=["nsw"]))
        count = builder.mul(count, extent, flags=["nsw"])
    value = ir.Constant(whole, ir.Undefined)
    for name in ("meminfo", "parent"):
        at = model.get_field_position(name)
        value = builder.insert_value(value, ir.Constant(whole.elements[at], None), at)
    value = builder.insert_value(value, count, model.get_field_position("nitems"))
    value = builder.insert_value(value, size, model.get_field_position("itemsize"))
    value = builder.insert_value(value, data, model.get_field_position("data"))
    for name, parts in (("shape", shape), ("strides", strides)):
        for d in range(kind.ndim):
            value = builder.insert_value(value, parts[d], [model.get_field_position(name), d])
    return value


class Array:
    """An array of a type that is :func:`handled`, in a function that is being translated."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any):
        self.context, self.builder, self.kind = context, builder, kind
        model = context.data_model_manager[kind]
        shape = model.get_field_position("shape")
        self.data = part(builder, value, model.get_field_position("data"))
        self.shape = [part(builder, value, shape, d) for d in range(kind.ndim)]

    def item(self, kind: Any, index: Any, resty: Any) -> Any:
        """``a[index]``, an element or an array; None if such an index is not handled."""
        if isinstance(kind, types.SliceType):
            return None if kind.has_step else self._rows(index, resty)
        place = self.place(kind, index)
        if place is None:
            return None
        if isinstance(resty, types.Array):
            rest = self.shape[-resty.ndim :]
            return array_value(self.context, self.builder, resty, place, rest)
        value = self.context.unpack_value(self.builder, self.kind.dtype, place)
        return self.context.cast(self.builder, value, self.kind.dtype, resty)

    def place(self, kind: Any, index: Any, whole: bool = False) -> Any:
        """Where an element, or unless ``whole`` a row, begins; None if that is not handled."""
        several = isinstance(kind, types.BaseTuple)
        kinds = list(kind) if several else [kind]
        fits = len(kinds) == self.kind.ndim if whole else len(kinds) <= self.kind.ndim
        if not kinds or not fits or not all(isinstance(each, types.Integer) for each in kinds):
            return None
        indices = [part(self.builder, index, d) for d in range(len(kinds))] if several else [index]
        offset = None
        for d, each in enumerate(indices):
            at = self._from_start(each, kinds[d], self.shape[d])
            offset = at if d == 0 else self._plus(self._times(offset, self.shape[d]), at)
        return self._row(offset, len(kinds))

    def _row(self, offset: Any, dimensions: int) -> Any:
        for extent in self.shape[dimensions:]:
            offset = self._times(offset, extent)
        return self.builder.gep(self.data, [offset], inbounds=True)

    def _times(self, one: Any, other: Any) -> Any:
        return self.builder.mul(one, other, flags=["nsw"])

    def _plus(self, one: Any, other: Any) -> Any:
        return self.builder.add(one, other, flags=["nsw"])

    def _from_start(self, index: Any, kind: Any, extent: Any) -> Any:
        """An index that counts from the start."""
        at = self.context.cast(self.builder, index, kind, types.intp)
        if not kind.signed or (isinstance(at, ir.Constant) and at.constant >= 0):
            return at
        negative = self.builder.icmp_signed("<", at, at.type(0))
        return self.builder.select(negative, self._plus(at, extent), at)

    def _rows(self, bounds: Any, resty: Any) -> Any:
        """A slice along the first dimension."""
        first, *rest = self.shape
        start, stop = (self._bound(part(self.builder, bounds, end), first) for end in (0, 1))
        empty = self.builder.icmp_signed("<", stop, start)
        length = self.builder.select(empty, stop.type(0), self.builder.sub(stop, start))
        place = self._row(start, 1)
        return array_value(self.context, self.builder, resty, place, [length, *rest])

    def _bound(self, bound: Any, extent: Any) -> Any:
        """A slice's start or stop, within the array."""
        if isinstance(bound, ir.Constant):
            if bound.constant == 0:
                return bound
            if bound.constant == END:
                return extent
        at = self._from_start(bound, types.intp, extent)
        for sign, limit in ("<", at.type(0)), (">", extent):
            at = self.builder.select(self.builder.icmp_signed(sign, at, limit), limit, at)
        return at

    def view(self, resty: Any) -> Any:
        """The same memory as items of another type; it must hold a whole number of them."""
        if self.kind.ndim != 1 or not handled(resty):
            return None
        item = self.context.get_data_type(resty.dtype).as_pointer()
        size, other = (self.shape[0].type(item_size(each)) for each in (self.kind, resty))
        length = self.builder.sdiv(self.builder.mul(self.shape[0], size), other)
        data = self.builder.bitcast(self.data, item)
        return array_value(self.context, self.builder, resty, data, [length])

    def reshape(self, resty: Any, given: list[tuple[Any, Any]]) -> Any:
        """The same memory in another shape. That it is of the same size is not checked."""
        if not handled(resty):
            return None
        if len(given) == 1 and isinstance(given[0][0], types.BaseTuple):
            kind, value = given[0]
            given = [(each, part(self.builder, value, d)) for d, each in enumerate(kind)]
        shape = [self.context.cast(self.builder, v, kind, types.intp) for kind, v in given]
        shape = [self._extent(shape, d) for d in range(len(shape))]
        return array_value(self.context, self.builder, resty, self.data, shape)

    def _extent(self, shape: list[Any], d: int) -> Any:
        """One that is -1 follows from the others."""
        given = shape[d]
        if isinstance(given, ir.Constant) and given.constant >= 0:
            return given
        one = given.type(1)
        rest = functools.reduce(self._times, shape[:d] + shape[d + 1 :], one)
        whole = functools.reduce(self._times, self.shape)
        rest = self.builder.select(self.builder.icmp_signed(">", rest, one), rest, one)
        negative = self.builder.icmp_signed("<", given, given.type(0))
        return self.builder.select(negative, self.builder.sdiv(whole, rest), given)
