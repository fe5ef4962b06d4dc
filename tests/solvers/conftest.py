"""Makes the plain-NumPy reference importable, whatever the working directory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
