"""CoNLL-2000: text chunking, one tag per word (Tjong Kim Sang and Buchholz, 2000)."""

from __future__ import annotations

import os
import re
from typing import Literal

from taut.datasets._files import find_file, malformed, numbered_lines

# Word, part of speech, chunk tag in IOB2.
_TOKEN = re.compile(rb"([!-\xff]+) ([!-\xff]+) (O|[BI]-[A-Z]+)\r?\n?")


def load_conll2000(
    subset: Literal["train", "test"] = "train",
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Load CoNLL-2000 text chunking: 8,936 training or 2,012 test sentences.

    Parameters
    ----------
    subset : {"train", "test"}
        Sections 15-18 or section 20 of the Wall Street Journal.
    data_home : path, optional
        The folder that contains ``conll2000/train.txt.gz`` and ``conll2000/test.txt.gz``; by
        default the environment variable ``TAUT_DATA``.

    Returns
    -------
    sentences : list of lists of (word, part of speech)
    tags : list of lists of str
        The chunk tag of each word: ``B-NP`` begins a noun phrase, ``I-NP`` continues it, ``O`` is
        outside every chunk. The tag ``I-LST`` occurs in the test sentences only.

    Examples
    --------
    >>> sentences, tags = load_conll2000("test")  # doctest: +SKIP
    >>> sentences[0][0], tags[0][0]  # doctest: +SKIP
    (('Rockwell', 'NNP'), 'B-NP')
    """
    if subset not in ("train", "test"):
        raise ValueError(f"subset must be 'train' or 'test', not {subset!r}")
    path = find_file(data_home, f"conll2000/{subset}.txt.gz")
    sentences: list[list[tuple[str, str]]] = []
    tags: list[list[str]] = []
    sentence_ended = True
    for number, line in numbered_lines(path):
        if not line.strip():
            sentence_ended = True
            continue
        match = _TOKEN.fullmatch(line)
        if match is None:
            raise malformed(
                path, number, "expected a word, its part of speech and its chunk tag (IOB2)"
            )
        if sentence_ended:
            sentences.append([])
            tags.append([])
            sentence_ended = False
        word, part_of_speech, tag = (field.decode("latin-1") for field in match.groups())
        sentences[-1].append((word, part_of_speech))
        tags[-1].append(tag)
    if not sentence_ended:
        # A cut file can end in a well-formed line; only the blank line shows that it is whole.
        raise malformed(path, number + 1, "expected a blank line, but the file ends")
    return sentences, tags
