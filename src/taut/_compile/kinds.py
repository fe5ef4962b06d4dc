"""Names for the types of what compiled code is handed: said once, in annotations.

A named tuple whose fields are annotated with these (or with ``int``, ``float``, ``bool`` and other
such named tuples) is of one type for the compiler, known before there is any data. All arrays are
contiguous. For a type checker they are plain arrays.
"""

from typing import Annotated, Any

import numpy as np

Vector = Annotated[np.ndarray, "float64", 1]
Matrix = Annotated[np.ndarray, "float64", 2]
Cube = Annotated[np.ndarray, "float64", 3]
Integers = Annotated[np.ndarray, "int64", 1]
IntegerMatrix = Annotated[np.ndarray, "int64", 2]
Labels = Annotated[np.ndarray, "int32", 1]
LabelMatrix = Annotated[np.ndarray, "int32", 2]
LabelCube = Annotated[np.ndarray, "int32", 3]
Shorts = Annotated[np.ndarray, "int16", 1]
Singles = Annotated[np.ndarray, "float32", 1]
Flags = Annotated[np.ndarray, "bool", 1]
Bits = Annotated[np.ndarray, "uint64", 1]

# What only the problem's own functions look into: its scratch memory, say.
Opaque = Annotated[Any, "opaque"]
# A problem of any class: compiled code reaches its functions through a table.
Problem = Annotated[Any, "problem"]
