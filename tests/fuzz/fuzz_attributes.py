"""Any bytes are an attribute file or are refused with the line. The first byte: with labels?"""

import io

from fuzzing import fuzz, watched

with watched():
    from taut.text.reading.attribute_files import read_attributes
    from taut.text.reading.source import FormatError

TOKENS = b"@weight:2.5\nB-NP\tw=He\tcap:0.5\nO\tw=a\\:b\\\\\t\n\nI\t\xc3\xa9:1e3\r\n"


def target(data: bytes) -> None:
    read = read_attributes(io.BytesIO(data[1:]), labelled=data[:1] != b"n")
    attributes, weights = read.attributes, read.weights
    assert attributes.indptr[-1] == len(attributes.codes) == len(attributes.data)
    assert len(attributes.indptr) == attributes.lengths.sum() + 1
    assert len(weights) == len(attributes.lengths)
    assert len(read.lines) == attributes.lengths.sum()


fuzz(target, FormatError, [b"y" + TOKENS, b"n" + TOKENS])
