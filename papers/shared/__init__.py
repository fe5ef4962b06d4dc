"""What the reproductions share. Import it before numpy: it keeps linear algebra to one thread, so
that CPU seconds mean the same for every method.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
