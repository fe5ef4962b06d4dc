"""The only magic in taut: one source, compiled or interpreted."""

from taut._compile.kinds import (
    Bits,
    Cube,
    Flags,
    IntegerMatrix,
    Integers,
    LabelCube,
    LabelMatrix,
    Labels,
    Matrix,
    Opaque,
    Problem,
    Shorts,
    Singles,
    Vector,
)
from taut._compile.local import local
from taut._compile.marks import (
    both_modes,
    check_compiles,
    compiled,
    generic,
    in_mode,
    interpreting,
    ready,
)
from taut._compile.records import by_reference

__all__ = [
    "Bits",
    "Cube",
    "Flags",
    "IntegerMatrix",
    "Integers",
    "LabelCube",
    "LabelMatrix",
    "Labels",
    "Matrix",
    "Opaque",
    "Problem",
    "Shorts",
    "Singles",
    "Vector",
    "both_modes",
    "by_reference",
    "check_compiles",
    "compiled",
    "generic",
    "in_mode",
    "interpreting",
    "local",
    "ready",
]
