"""The types that compiled code knows: numbers, arrays, and pointers to the words of named tuples.

They come from annotations (see :mod:`taut._compile.kinds`), so that there is one type per class,
known before there is any data.
"""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, get_type_hints

import numba
import numpy as np
from numba.core import types
from numba.core.datamodel import models
from numba.extending import register_model, typeof_impl

from taut._compile.modes import INTERPRETED, PLAIN

# Scratch memory is what these methods of a problem return; their annotation is its type.
MAKERS = {"work": "new_work", "sums": "new_sums", "search": "new_rescaled_search"}
OF_THE_CLASS = {"__annotations__", "__doc__", "__module__", "__qualname__"}
NUMBERS = {int: types.int64, float: types.float64, bool: types.boolean}


class Ref(types.Type):
    """Points to the words of a named tuple of this class."""

    def __init__(self, cls: type):
        self.instance_class = cls
        super().__init__(name=f"{cls.__module__}.{cls.__qualname__}")

    @property
    def key(self) -> type:
        return self.instance_class


class LocalRef(Ref):
    """Points to words that compiled code wrote itself (see :func:`taut._compile.local`)."""

    def __init__(self, cls: type):
        super().__init__(cls)
        self.name += " here"

    @property
    def key(self) -> Any:
        return self.instance_class, "here"


class OpaqueType(types.Type):
    """Points to the words of a named tuple that only a problem's own functions know."""


class ProblemType(types.Type):
    """Points to a problem's words and its table of functions."""


OPAQUE, PROBLEM = OpaqueType("Opaque"), ProblemType("Problem")
for _pointer in (Ref, LocalRef, OpaqueType, ProblemType):
    register_model(_pointer)(models.OpaqueModel)


class Field:
    """A field of a named tuple: its type, and the first of its words."""

    __slots__ = ("at", "dtype", "kind", "name", "ndim", "record")

    def __init__(self, owner: str, name: str, annotation: Any, at: int):
        self.name, self.at = f"{owner}.{name}", at
        self.kind = kind_of(annotation, self.name)
        self.ndim, self.dtype, self.record = 0, None, None
        if isinstance(self.kind, types.Array):
            self.ndim, self.dtype = self.kind.ndim, np.dtype(annotation.__metadata__[0])
        elif isinstance(self.kind, Ref):
            self.record = record_of(self.kind.instance_class)

    @property
    def size(self) -> int:
        return self.record.size if self.record else self.ndim + 1


class Record:
    """The fields of a class, in order, and how many words they take."""

    def __init__(self, cls: type):
        hints, size = get_type_hints(cls, include_extras=True), 0
        self.fields: list[Field] = []
        owner = _own_name(cls)
        for name in cls._fields:
            self.fields.append(Field(owner, name, hints[name], size))
            size += self.fields[-1].size
        self.cls, self.size = cls, size
        self.by_name = dict(zip(cls._fields, self.fields, strict=True))


@functools.cache
def record_of(cls: type) -> Record:
    return Record(cls)


def kind_of(annotation: Any, name: str) -> Any:
    """The compiler's type of what is so annotated."""
    if annotation in NUMBERS:
        return NUMBERS[annotation]
    if annotation is None or annotation is type(None):
        return types.none
    what: tuple[Any, ...] = getattr(annotation, "__metadata__", ())
    if what == ("opaque",):
        return OPAQUE
    if what == ("problem",):
        return PROBLEM
    if len(what) == 2:
        array: Any = types.Array
        return array(numba.from_dtype(np.dtype(what[0])), what[1], "C")
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        return Ref(annotation)
    raise TypeError(
        f"{name} is annotated {annotation!r}, which does not tell the compiler its type: use int, "
        "float, bool, a name of taut._compile.kinds such as Vector or Integers, or a named tuple "
        "of these"
    )


_DEFINED: Counter[str] = Counter()


class ByReference:
    """What :func:`by_reference` adds to a class of named tuples: memory for their words."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        # numba takes named tuples of the same name and types for the same: a class that is defined
        # again, as in a notebook, or in another module, gets a name of its own.
        _DEFINED[cls.__name__] += 1
        if _DEFINED[cls.__name__] > 1:
            cls.__name__ += f"_{_DEFINED[cls.__name__]}"
        typeof_impl.register(cls)(lambda value, context: Ref(type(value)))
        for name in MAKERS.values():
            if hasattr(cls, name):
                setattr(cls, name, _checked(getattr(cls, name)))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is a named tuple: use _replace({name}=...)")

    def __getstate__(self) -> None:
        """Words are not pickled."""


def by_reference(cls: Any) -> Any:
    """Mark a named tuple class that compiled code takes by reference."""
    if PLAIN or INTERPRETED:
        return cls
    members = {name: value for name, value in vars(cls).items() if name in OF_THE_CLASS}
    return type(cls.__name__, (ByReference, cls), members)


def _checked(make: Callable) -> Callable:
    """Compiled code follows what the annotation says is returned."""

    @functools.wraps(make)
    def checked(problem: Any) -> Any:
        made, promised = make(problem), _promised(make)
        if promised and type(made) is not promised:
            raise TypeError(
                f"{make.__qualname__} returned a {_own_name(type(made))}, where its annotation "
                f"promises a {_own_name(promised)}"
            )
        return made

    return checked


def _own_name(cls: type) -> str:
    """What the user called it; Numba may have numbered ``cls.__name__``."""
    return cls.__qualname__.rpartition(".")[2]


@functools.cache
def _promised(make: Callable) -> type | None:
    return get_type_hints(make).get("return")


@by_reference
class Nothing(NamedTuple):
    """Scratch memory of what needs none."""
