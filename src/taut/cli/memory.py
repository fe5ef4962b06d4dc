"""Whether training fits in memory, asked before the system ends the process without a word.

The dual point holds a number for each label of each token, and in each sentence one for each pair
of labels. A column that does not hold labels has thousands of values, and their square is large.
"""

import os

from taut.cli.data import few, name_of

MOST_OF_MEMORY = 0.8


def check_memory(n_sentences: int, n_tokens: int, labels: list[str], path: str) -> None:
    needed, present = state_bytes(n_sentences, n_tokens, len(labels)), memory_bytes()
    if present is not None and needed > MOST_OF_MEMORY * present:
        raise ValueError(
            f"{name_of(path)}: there are {len(labels)} labels ({few(labels)}); training takes "
            f"{needed / 1e9:,.1f} GB of memory, most of it for pairs of labels in each sentence, "
            f"and there are {present / 1e9:,.1f} GB; is this the label column? see --label-column"
        )


def state_bytes(n_sentences: int, n_tokens: int, n_labels: int) -> int:
    """
    >>> state_bytes(n_sentences=8936, n_tokens=211727, n_labels=22) / 1e6  # CoNLL-2000
    71.864144
    """
    return 8 * (n_sentences * n_labels**2 + n_tokens * n_labels)


def memory_bytes() -> int | None:
    """Of the machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
