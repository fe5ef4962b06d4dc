"""Any bytes are JSON lines or are refused with the line."""

import io

from fuzzing import fuzz, watched

with watched():
    from taut.text.reading.json_lines import json_blocks
    from taut.text.reading.source import FormatError


def target(data: bytes) -> None:
    for block in json_blocks(io.BytesIO(data)):
        assert len(block.tokens) == len(block.labels) == len(block.weights)


fuzz(
    target,
    FormatError,
    [
        b'{"tokens": ["He", "ran"], "labels": ["B", "I"], "weight": 2.5}\n{"tokens": []}\n',
        b'{"tokens": [["He", "PRP"], ["ran", "VBD"]]}\n',
        b'{"tokens": [{"w": "\\u00e9", "n": 1.5, "in": {"a": [true, null]}}]}\n',
    ],
)
