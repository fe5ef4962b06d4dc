"""The phrases, clusters and vectors that a template names, in its model's file.

A model tags without them; what is in the file is checked as they were when they were read.
"""

import itertools

import numpy as np

from taut.files.model_file import pack_strings, unpack_strings
from taut.text.phrases import Phrases
from taut.text.word_files import Clusters, OpenFile, Vectors, WordFile, WordFiles

Arrays = dict[str, np.ndarray]


def pack_word_files(files: WordFiles) -> Arrays:
    arrays: Arrays = {}
    for i, file in enumerate(files.values()):
        if isinstance(file, Phrases):
            arrays[f"file.{i}.lines"] = pack_strings(file.lines())
            continue
        arrays[f"file.{i}.words"] = pack_strings(file.words)
        if isinstance(file, Clusters):
            arrays[f"file.{i}.paths"] = pack_strings(list(file.paths.values()))
        else:
            arrays[f"file.{i}.values"] = file.values
    return arrays


def packed_word_files(arrays: Arrays) -> OpenFile:
    """Opens the files that a template names, one after the other, in the arrays of its model."""
    numbers = itertools.count()

    def open_file(kind: str, name: str) -> WordFile:
        i = next(numbers)
        if kind == "gazetteer":
            return Phrases.from_lines(unpack_strings(arrays[f"file.{i}.lines"]))
        words = unpack_strings(arrays[f"file.{i}.words"])
        if kind == "cluster":
            return Clusters(words, unpack_strings(arrays[f"file.{i}.paths"]))
        return Vectors(words, arrays[f"file.{i}.values"])

    return open_file
