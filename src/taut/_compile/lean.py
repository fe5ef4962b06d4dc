"""What kernels do most, in few instructions: variables, loops, arithmetic, a few functions.

numba's own translation of ``a[i]`` is 30 instructions, of ``a[i:j]`` 150 and of a loop 100: it is
made for every layout, for reference counting and for debuggers. Arrays here are contiguous and
nothing is counted, so that half of what the optimiser had to read was there only to be removed. The
meaning is the same: a negative index counts from the end, a slice ends where its array does, and
``max`` of what is not a number does what Python does. What is not handled here is left to numba.
Arrays are in :mod:`taut._compile.elements`.
"""

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, lowering, types
from numba.core.errors import UnsupportedError
from numba.core.typing import signature

from taut._compile import elements
from taut._compile.elements import part

# Builders of numbers, for integers and for floats; comparisons by their sign.
ARITHMETIC = {
    operator.add: ("add", "fadd"),
    operator.sub: ("sub", "fsub"),
    operator.mul: ("mul", "fmul"),
    operator.truediv: (None, "fdiv"),
}
COMPARISONS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
    operator.ne: "!=",
}  # fmt: skip


def result(context: Any, function: Any, arguments: Any) -> Any:
    """The signature of a call that :class:`Lower` translates; None if numba does, as in functions
    of its own."""
    callers = context.callstack._stack
    if callers and callers[-1].func_id.modname.partition(".")[0] == "numba":
        return None
    known = getattr(function, "typing_key", None)
    if known in (max, min) and len(arguments) > 1:
        if all(isinstance(each, types.Number) for each in arguments):
            return signature(context.unify_types(*arguments), *arguments)
    elif known is int and len(arguments) == 1 and isinstance(arguments[0], types.Float):
        return signature(types.int64, *arguments)
    return None


class Lower(lowering.Lower):
    """numba's translation of a function, but for what is done here."""

    _disable_sroa_like_opt = False  # a setting for debuggers

    def lower(self) -> None:
        self.loops: dict[int, Any] = {}  # by the expression that begins one
        super().lower()

    # --- variables: without reference counting there is nothing to clear away ---------------------

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def _cast(self, variable: Any, kind: Any) -> Any:
        value, given = self.loadvar(variable.name), self.typeof(variable.name)
        return self.context.cast(self.builder, value, given, kind)

    def _structure(self, kind: Any, parts: Any) -> Any:
        value = ir.Constant(self.context.get_value_type(kind), ir.Undefined)
        for at, each in enumerate(parts):
            value = self.builder.insert_value(value, each, at)
        return value

    # --- expressions ------------------------------------------------------------------------------

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        lowered = None
        if expr.op == "static_getitem" and expr.index_var is not None:
            lowered = self._item(resty, expr.value, expr.index_var)
        elif expr.op == "getiter":
            lowered = self._begin(resty, expr)
        elif expr.op == "iternext":
            lowered = self._next(resty, expr)
        elif expr.op == "pair_first":
            lowered = part(self.builder, self.loadvar(expr.value.name), 0)
        elif expr.op == "pair_second":
            lowered = part(self.builder, self.loadvar(expr.value.name), 1)
        elif expr.op == "binop":
            lowered = self._arithmetic(resty, expr, expr.fn)
        elif expr.op == "inplace_binop":
            lowered = self._arithmetic(resty, expr, expr.immutable_fn)
        return super().lower_expr(resty, expr) if lowered is None else lowered

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        lowered = self._item(resty, value, index)
        if lowered is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        return lowered

    def _item(self, resty: Any, value: Any, index: Any) -> Any:
        array = self._array(value)
        return array and array.item(self.typeof(index.name), self.loadvar(index.name), resty)

    def lower_setitem(self, target: Any, index: Any, value: Any, signature: Any) -> None:
        array = self._array(target)
        if array and isinstance(self.typeof(value.name), types.Number | types.Boolean):
            place = array.place(self.typeof(index.name), self.loadvar(index.name), whole=True)
            if place is not None:
                item = self._cast(value, array.kind.dtype)
                self.context.pack_value(self.builder, array.kind.dtype, item, place)
                return
        super().lower_setitem(target, index, value, signature)

    def _array(self, variable: Any) -> Any:
        kind = self.typeof(variable.name)
        if self.context.enable_boundscheck or not elements.handled(kind):
            return None
        return elements.Array(self.context, self.builder, kind, self.loadvar(variable.name))

    def _arithmetic(self, resty: Any, expr: Any, function: Any) -> Any:
        """Of two numbers that are both made int64 or both made float64."""
        call = self.fndesc.calltypes[expr]
        kind, *others = call.args
        known = others == [kind] and kind in (types.int64, types.float64)
        if not known or call.return_type != resty:
            return None
        is_float = kind == types.float64
        if function in COMPARISONS:
            sign = COMPARISONS[function]
            one, other = self._cast(expr.lhs, kind), self._cast(expr.rhs, kind)
            if not is_float:
                return self.builder.icmp_signed(sign, one, other)
            # What is not a number differs from everything.
            compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
            return compare(sign, one, other)
        name = ARITHMETIC.get(function, (None, None))[is_float]
        if name is None:
            return None
        return getattr(self.builder, name)(self._cast(expr.lhs, kind), self._cast(expr.rhs, kind))

    # --- loops over a range -----------------------------------------------------------------------

    def _begin(self, resty: Any, expr: Any) -> Any:
        if not isinstance(self.typeof(expr.value.name), types.RangeType):
            return None
        state = self.loadvar(expr.value.name)
        start, stop, step = (part(self.builder, state, at) for at in range(3))
        signed = self.typeof(expr.value.name).dtype.signed
        if not signed or not isinstance(step, ir.Constant) or abs(step.constant) != 1:
            return None
        place = cgutils.alloca_once(self.builder, start.type)
        self.builder.store(start, place)
        self.loops[id(expr)] = place, stop, step
        return ir.Constant(self.context.get_value_type(resty), ir.Undefined)

    def _next(self, resty: Any, expr: Any) -> Any:
        """The next value, and whether there is one."""
        if not isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            return None
        begun = self.func_ir.get_definition(expr.value)
        if id(begun) not in self.loops:
            return None
        place, stop, step = self.loops[id(begun)]
        value = self.builder.load(place)
        valid = self.builder.icmp_signed("<" if step.constant > 0 else ">", value, stop)
        self.builder.store(self.builder.add(value, step, flags=["nsw"]), place)
        return self._structure(resty, (value, valid))

    # --- calls ------------------------------------------------------------------------------------

    def lower_print(self, inst: Any) -> None:
        raise UnsupportedError(
            "a kernel cannot print: set NUMBA_DISABLE_JIT=1, and everything is interpreted"
        )

    def lower_call(self, resty: Any, expr: Any) -> Any:
        function, lowered = self.typeof(expr.func.name), None
        if isinstance(function, types.NamedTupleClass):
            cls = function.instance_class.__name__
            raise UnsupportedError(f"a kernel makes a {cls} by a function that local({cls}) made")
        known = getattr(function, "typing_key", None)
        if known in (max, min) and isinstance(resty, types.Number):
            lowered = self._extreme(resty, expr, ">" if known is max else "<")
        elif expr.vararg is None and not expr.kws:
            if known is range:
                lowered = self._structure(resty, self._range(resty.dtype, expr.args))
            elif known is slice and not resty.has_step and len(expr.args) == 2:
                lowered = self._structure(resty, self._slice(expr.args))
            elif known is int and len(expr.args) == 1:
                lowered = self._cast(expr.args[0], types.int64)
                lowered = self.context.cast(self.builder, lowered, types.int64, resty)
            elif isinstance(function, types.BoundFunction) and elements.handled(function.this):
                lowered = self._method(resty, expr, function)
        return super().lower_call(resty, expr) if lowered is None else lowered

    def _method(self, resty: Any, expr: Any, function: Any) -> Any:
        value = self.loadvar(expr.func.name)
        array = elements.Array(self.context, self.builder, function.this, value)
        if function.typing_key == "array.view":
            return array.view(resty)
        if function.typing_key != "array.reshape":
            return None
        given = [(self.typeof(each.name), self.loadvar(each.name)) for each in expr.args]
        return array.reshape(resty, given)

    def _range(self, kind: Any, arguments: Any) -> Any:
        """Start, stop and step."""
        numbers = [self._cast(each, kind) for each in arguments]
        if len(numbers) == 1:
            numbers.insert(0, self.context.get_constant(kind, 0))
        if len(numbers) == 2:
            numbers.append(self.context.get_constant(kind, 1))
        return numbers

    def _slice(self, arguments: Any) -> Any:
        """Start, stop and step."""
        start, stop, step = (
            self.context.get_constant(types.intp, each) for each in (0, elements.END, 1)
        )
        bounds = [
            missing if self.typeof(each.name) == types.none else self._cast(each, types.intp)
            for each, missing in zip(arguments, (start, stop), strict=True)
        ]
        return *bounds, step

    def _extreme(self, resty: Any, expr: Any, sign: str) -> Any:
        """As in Python, a later argument replaces the best one so far if it is better."""
        given = [(self.typeof(each.name), self.loadvar(each.name)) for each in expr.args]
        if expr.vararg is not None:
            kinds, value = self.typeof(expr.vararg.name), self.loadvar(expr.vararg.name)
            given += [(kind, part(self.builder, value, d)) for d, kind in enumerate(kinds)]
        if len(given) == 1:
            return None
        best, *others = (self.context.cast(self.builder, v, kind, resty) for kind, v in given)
        compare = (
            self.builder.fcmp_ordered if isinstance(resty, types.Float)
            else self.builder.icmp_signed if resty.signed
            else self.builder.icmp_unsigned
        )  # fmt: skip
        for each in others:
            best = self.builder.select(compare(sign, each, best), each, best)
        return best
