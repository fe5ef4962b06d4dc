"""Any bytes are a column file or are refused with the line. The first byte chooses the options."""

import gzip
import io

from fuzzing import fuzz, watched

with watched():
    from taut.text.reading.column_files import read_columns
    from taut.text.reading.source import FormatError

CHUNKS = b"-DOCSTART- -X- O\n\nHe PRP B-NP\nran VBD B-VP\n\n# note\n\xc3\xa9t\xc3\xa9\tNN O\r\n"


def target(data: bytes) -> None:
    options = data[0] if data else 0
    text = read_columns(
        io.BytesIO(data[1:]),
        encoding="latin-1" if options & 1 else "utf-8",
        separator="\t" if options & 2 else None,
        comment="#" if options & 4 else None,
    )
    for column in text.columns:
        assert len(column.codes) == text.n_tokens
        assert text.n_tokens == 0 or column.codes.max() < len(column.values)


packed = gzip.compress(CHUNKS, mtime=0)
fuzz(target, FormatError, [bytes([k]) + text for k in range(8) for text in (CHUNKS, packed)])
