"""Whether something fits in memory, asked before the system refuses it or ends the process.

Most of what training keeps grows with the square of the number of labels. A column that does not
hold labels has thousands of values, and their square is large.
"""

import os

MOST_OF_MEMORY = 0.5


def check_memory(n_numbers: float, subject: str, mostly: str, remedy: str) -> None:
    """Refuse what needs more floating-point numbers than fit; ``subject`` takes the memory."""
    needed, present = 8 * n_numbers, memory_bytes()
    if present is not None and needed > MOST_OF_MEMORY * present:
        raise ValueError(
            f"{subject} takes {needed / 1e9:,.1f} GB of memory, most of it for {mostly}, and "
            f"there are {present / 1e9:,.1f} GB; {remedy}"
        )


def pairs_and_labels(n: int, n_nodes: int, n_labels: int, n_step: int = 1) -> int:
    """How large a dual point is: a number for each label of each node, and in each sequence one for
    each pair of labels.

    >>> 8 * pairs_and_labels(n=8936, n_nodes=211727, n_labels=22) / 1e6  # CoNLL-2000, in MB
    71.864144
    """
    return int(n) * int(n_step) * int(n_labels) ** 2 + int(n_nodes) * int(n_labels)


def memory_bytes() -> int | None:
    """Of the machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
