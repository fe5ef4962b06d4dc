"""Memory that is not there: said before it is asked for, with what would take it and what to do."""

import numpy as np
import pytest

from taut.memory import check_memory, memory_bytes, pairs_and_labels


def test_what_does_not_fit_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("taut.memory.memory_bytes", lambda: 16_000_000_000)
    message = (
        "^there are 5000 labels; training takes 1,000.0 GB of memory, most of it for pairs of "
        "labels, and there are 16.0 GB; merge some$"
    )
    with pytest.raises(ValueError, match=message):
        check_memory(125e9, "there are 5000 labels; training", "pairs of labels", "merge some")


def test_some_memory_is_left_to_others(monkeypatch):
    monkeypatch.setattr("taut.memory.memory_bytes", lambda: 8_000)
    check_memory(500, "this", "that", "so")
    with pytest.raises(ValueError, match=r"this takes 0.0 GB"):
        check_memory(501, "this", "that", "so")


def test_the_memory_of_a_machine_may_not_be_known(monkeypatch):
    assert memory_bytes() > 2**20
    monkeypatch.delattr("os.sysconf")
    assert memory_bytes() is None
    check_memory(1e30, "anything", "it", "nothing to be said")


def test_numbers_do_not_wrap_around():
    """numpy's would: n * K^2 of a million sequences and four million labels is beyond 64 bits."""
    n, n_labels = np.int64(10**6), np.int32(4 * 10**6)
    assert pairs_and_labels(n, n, n_labels) == 10**6 * (16 * 10**12) + 10**6 * 4 * 10**6
