"""The same bits on any number of cores: NumPy's sums and products run on one thread.

BLAS shares long sums out among its threads, and where a sum is cut, it is rounded. taut's own
threads share out examples, never sums, so that their number changes nothing.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController  # scikit-learn requires it


class _Limit:
    """Of the whole process: the first run to begin sets it, the last one to end takes it back.

    Runs in several threads, such as folds, overlap. If each put back what it had found, the limit
    would go while others run, or stay for ever.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs = 0
        self.libraries: Any = None
        self.before: Any = None

    def begin(self) -> None:
        with self.lock:
            if self.runs == 0:
                if self.libraries is None:
                    # Looking for them takes milliseconds, and they must be loaded by then: not on
                    # import.
                    self.libraries = ThreadpoolController()
                self._take_control()
                self.before = self.libraries.limit(limits=1, user_api="blas")
            self.runs += 1

    def end(self) -> None:
        with self.lock:
            self.runs -= 1
            if self.runs == 0:
                self._take_control()
                self.before.restore_original_limits()
                self._take_control()  # and leave it to whoever comes next

    def _take_control(self) -> None:
        """Newer versions of threadpoolctl (3.8) obey one thread, the first that set a limit.

        They cannot know that here threads take turns, with the lock held.
        """
        for library in self.libraries.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for BLAS; calls may be nested and overlap. Entering takes some 10 microseconds.

    That is for a whole run, not for its steps. A run's callbacks, scores on held-out data and
    oracles in Python are inside, and everything else that the process does meanwhile: their
    products run on one thread too, which an oracle's reproducibility needs as well.
    """
    _limit.begin()
    try:
        yield
    finally:
        _limit.end()
