"""Which loops go over tokens: compiled ones where numba is loaded, and else NumPy's.

Training loads numba anyway. A program that tags a few sentences should not: that takes longer than
tagging thousands. What comes out is the same.
"""

import sys
from typing import Any


def loops() -> Any:
    """The module with them."""
    if sys.modules.get("numba") is not None:
        from taut.text import compiled_loops as found
    else:
        from taut.text import numpy_loops as found  # type: ignore[no-redef]
    return found
