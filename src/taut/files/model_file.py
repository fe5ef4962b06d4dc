r"""Model files: a header and named arrays in one checked file, read without executing anything.

This is the container only; what the arrays mean is the business of whoever writes them.

Format 1. All numbers are little-endian, whatever the machine:

====================  ==============================================================================
bytes                 content
====================  ==============================================================================
8                     ``FF 74 61 75 74 0D 0A 0A``: ``\xff`` (never in UTF-8), ``taut``, CR LF, LF.
                      A transfer that takes the file for text changes one of them.
4                     format version, unsigned: 1
4                     length of the header in bytes, unsigned, at most 4 MiB
that many             the header, UTF-8 JSON
0 to 63               zeros, up to a multiple of 64: here the data section begins
the rest but 16       the arrays in order, in C order, each padded with zeros to a multiple of 64
                      from the beginning of the data section, except after the last
16                    BLAKE2b of everything before it, with 16 bytes of digest
====================  ==============================================================================

The header is an object of three keys: ``taut``, the version of taut that wrote the file;
``header``, the caller's own object; ``arrays``, a list of objects with ``name`` (a letter or
``_``, then letters, digits, ``_``, ``.``, ``-``), ``dtype`` (of :data:`DTYPES`), ``shape`` and
``offset`` from the beginning of the data section. It is canonical: keys sorted, no blanks, no
escapes where none is needed, no number that is not finite; so equal contents are equal bytes, and
no byte of a file goes unchecked. Every later format keeps the first 16 bytes and the key ``taut``,
so that an older taut can name the version needed.

Reading treats the file as hostile. Every size is compared with the true size of the file before
memory is taken for it, then the checksum is verified. The checksum finds accidents; it is no
signature, and whoever trusts array *values* (as indices, say) must check them too.

Files under 64 MiB are copied to memory: what was verified is what is used, and the file may be
replaced, changed or deleted at once. Larger ones are mapped, so that many processes share one copy;
replacing such a file (as :func:`write_model` does) is safe, but changing it in place changes the
arrays, and truncating it in place ends the process that touches the missing part.
"""

import hashlib
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BufferedReader
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np

from taut import __version__
from taut.files.atomic import atomic_write
from taut.files.model_header import (
    ALIGNMENT,
    DTYPES,
    MAX_HEADER_BYTES,
    Entry,
    Problem,
    aligned,
    compose_header,
    parse_header,
    parse_json,
    version_of,
)
from taut.files.packed_strings import pack_strings as pack_strings
from taut.files.packed_strings import unpack_strings as unpack_strings

MAGIC = b"\xfftaut\r\n\n"
# What is left of it after line ends or encoding were converted.
TRANSFERRED = re.compile(rb"[?\x7f-\xff]{1,3}taut[\r\n]")
FORMAT_VERSION = 1
PREFIX = struct.Struct("<8sII")  # magic, format version, length of the header
CHECKSUM_BYTES = 16
MAPPED_FROM = 64 << 20


class ModelFileError(ValueError):
    """A file that is not a whole model file, or contents that do not fit into one."""


class ModelFile(NamedTuple):
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    taut_version: str


def write_model(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a header and arrays to one file, whole or not at all.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    header : dict
        Plain JSON: dicts with text keys, lists, text, numbers, booleans and None. The order of keys
        is not kept.
    arrays : mapping from name to array
        Of integers or floating-point numbers; their order is kept.

    Raises
    ------
    ModelFileError
        If the header or an array does not fit into the format.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/tiny.taut", {"labels": ["O", "B"]}, {"weights": np.ones(2)})
    ...     header, arrays, _ = read_model(f"{folder}/tiny.taut")
    >>> header, arrays
    ({'labels': ['O', 'B']}, {'weights': array([1., 1.])})
    """
    try:
        stored = {name: _little_endian(name, array) for name, array in arrays.items()}
        raw_header = compose_header(header, stored, __version__)
    except Problem as problem:
        raise ModelFileError(
            f"{os.fspath(path)}: not written: {problem.what}; {problem.remedy or 'change that'}"
        ) from problem.__cause__
    checksum = hashlib.blake2b(digest_size=CHECKSUM_BYTES)
    with atomic_write(path) as file:
        for piece in _pieces(raw_header, stored):
            checksum.update(piece)
            file.write(piece)
        file.write(checksum.digest())


def read_model(path: str | os.PathLike[str], *, mapped_from: int = MAPPED_FROM) -> ModelFile:
    """Read what :func:`write_model` wrote.

    Parameters
    ----------
    path : path
        The file.
    mapped_from : int
        Files of this many bytes or more are mapped, smaller ones copied to memory.

    Returns
    -------
    ModelFile
        The ``header``, the ``arrays`` (read-only), and the ``taut_version`` that wrote them.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ModelFileError
        If it is anything but a whole model file of a known version.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{os.fspath(path)}: there is no such file; check the path"
        ) from None
    try:
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or pipe"
            raise Problem(f"it is {kind}", "name a model file")
        with open(path, "rb") as file:
            return _read(file, mapped_from)
    except Problem as problem:
        remedy = problem.remedy or "fetch the file again, or train the model again"
        raise ModelFileError(f"{os.fspath(path)}: {problem.what}; {remedy}") from problem.__cause__


def _little_endian(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.name not in DTYPES:
        raise Problem(
            f"array {short(name)} has dtype {array.dtype}", f"use one of {', '.join(DTYPES)}"
        )
    return np.asarray(array, DTYPES[array.dtype.name])


def _pieces(raw_header: bytes, arrays: dict[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    """All of the file but the checksum."""
    start = PREFIX.pack(MAGIC, FORMAT_VERSION, len(raw_header)) + raw_header
    yield start + bytes(-len(start) % ALIGNMENT)
    padding = 0
    for array in arrays.values():
        yield bytes(padding)
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        padding = -array.nbytes % ALIGNMENT


def _read(file: BufferedReader, mapped_from: int) -> ModelFile:
    size = os.fstat(file.fileno()).st_size
    prefix = file.read(PREFIX.size)
    raw_header = file.read(_header_length(prefix, size, file))
    entries, header, taut_version = parse_header(raw_header)
    start = aligned(PREFIX.size + len(raw_header))
    _check_size(size, start, entries)
    view = _load(file, size, mapped_from)
    if view[: PREFIX.size + len(raw_header)] != prefix + raw_header:
        raise Problem("it was changed while it was read", "read it again")
    checksum = hashlib.blake2b(view[:-CHECKSUM_BYTES], digest_size=CHECKSUM_BYTES)
    if checksum.digest() != view[-CHECKSUM_BYTES:]:
        raise Problem("its checksum is wrong: it was altered after it was written")
    _check_padding(view, PREFIX.size + len(raw_header), start, entries)
    return ModelFile(header, {e.name: _array(view, start, e) for e in entries}, taut_version)


def _array(view: memoryview, start: int, entry: Entry) -> np.ndarray:
    stored = np.ndarray(entry.shape, entry.dtype, view, start + entry.offset)
    array = stored.astype(entry.dtype.newbyteorder("="), copy=False)  # a copy where bytes swap
    array.flags.writeable = False
    return array


def _header_length(prefix: bytes, size: int, file: BufferedReader) -> int:
    if size == 0:
        raise Problem("the file is empty")
    if not prefix.startswith(MAGIC[:size]):
        if TRANSFERRED.match(prefix):
            raise Problem(
                "it was damaged by a transfer as text (line ends or encoding were converted)",
                "copy it again in binary mode",
            )
        raise Problem(f"it begins with {prefix[:8]!r}: not a taut model file", "check the path")
    room = size - PREFIX.size - CHECKSUM_BYTES
    if room < 0:
        raise Problem(f"it is cut off after {size} bytes")
    _, version, length = PREFIX.unpack(prefix)
    if version > FORMAT_VERSION:
        raise _newer(version, file.read(min(length, MAX_HEADER_BYTES)))
    if version < 1:
        raise Problem(f"it says it has format version {version}, which does not exist")
    if length > MAX_HEADER_BYTES:
        raise Problem(f"its header says it has {length} bytes, more than {MAX_HEADER_BYTES}")
    if length > room:
        raise Problem(f"it is cut off after {size} bytes, within its header of {length}")
    return length


def _newer(version: int, raw_header: bytes) -> Problem:
    writer = None
    with suppress(Problem):
        writer = version_of(parse_json(raw_header))
    by = f", written by taut {writer}" if writer else ""
    return Problem(
        f"it has format version {version}{by}, but taut {__version__} reads up to {FORMAT_VERSION}",
        "upgrade taut",
    )


def _check_size(size: int, start: int, entries: list[Entry]) -> None:
    expected = start + (entries[-1].end if entries else 0) + CHECKSUM_BYTES
    if size < expected:
        raise Problem(f"it has {size} bytes of the {expected} that its header declares: cut off")
    if size > expected:
        raise Problem(f"it has {size - expected} bytes after its end at {expected}")


def _load(file: BufferedReader, size: int, mapped_from: int) -> memoryview:
    """The whole file in memory, read-only, on a boundary of 64 bytes."""
    if size >= mapped_from:
        try:
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
        except ValueError as error:
            raise Problem("it became shorter while it was read", "read it again") from error
    memory = np.empty(size + ALIGNMENT, np.uint8)
    skipped = -memory.ctypes.data % ALIGNMENT
    content = memory[skipped : skipped + size]
    file.seek(0)
    if file.readinto(content.data) != size:
        raise Problem("it became shorter while it was read", "read it again")
    memory.flags.writeable = content.flags.writeable = False
    return content.data


def _check_padding(view: memoryview, end: int, start: int, entries: list[Entry]) -> None:
    """Nothing hides between the arrays."""
    ends = [end, *(start + entry.end for entry in entries)]
    starts = [start, *(start + entry.offset for entry in entries[1:])]
    for i, j in zip(ends, starts, strict=False):
        if any(view[i:j]):
            raise Problem(f"bytes {i} to {j} are not the zeros that belong between arrays")
