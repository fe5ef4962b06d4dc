"""The header of a model file: which arrays it declares, and whether that can be true.

:mod:`taut.files.model_file` describes the format. Nothing here opens a file or takes memory for an
array; all sizes are Python integers, which do not overflow.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from reprlib import repr as short  # what a file says may be long, and ends up in messages
from typing import Any, NamedTuple, NoReturn

import numpy as np

ALIGNMENT = 64
# Parsed JSON takes up to some 30 times its length in memory; long lists belong into arrays.
MAX_HEADER_BYTES = 4 << 20
MAX_DIMENSIONS = 8
MAX_DIGITS = 20  # of an integer: 64 bits and a sign
DTYPES = {
    dtype.name: dtype
    for dtype in map(np.dtype, ["<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<f4", "<f8"])
}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
VERSION = re.compile(r"[A-Za-z0-9.+-]{1,40}")
PLAIN = "use dicts with text keys, lists, text, finite numbers, booleans and None"


class Problem(Exception):
    """What is wrong, and what to do about it if that is special; the path is added by others."""

    def __init__(self, what: str, remedy: str = ""):
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class Entry(NamedTuple):
    """One array: ``shape``, and where its bytes are in the data section."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    end: int


class Header(NamedTuple):
    arrays: list[Entry]
    header: dict[str, Any]
    taut: str


def aligned(size: int) -> int:
    return size + -size % ALIGNMENT


def compose_header(header: dict[str, Any], arrays: Mapping[str, np.ndarray], taut: str) -> bytes:
    entries, end = [], 0
    for name, array in arrays.items():
        offset = aligned(end)
        entry = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        entries.append({"name": name, **entry})
        end = offset + array.nbytes
    try:
        raw = _canonical({"arrays": entries, "header": header, "taut": taut})
    except (TypeError, ValueError, RecursionError) as error:
        raise Problem(f"the header is not plain JSON ({error})", PLAIN) from error
    if len(raw) > MAX_HEADER_BYTES:
        raise Problem(
            f"the header takes {len(raw)} bytes of JSON, more than {MAX_HEADER_BYTES}",
            "move long lists into arrays (pack_strings)",
        )
    # By the reader's own rules, so that nothing is written that cannot be read.
    if parse_header(raw).header != header:
        raise Problem("the header would not be read back as it is", PLAIN)
    return raw


def parse_header(raw: bytes) -> Header:
    content = parse_json(raw)
    try:
        is_canonical = _canonical(content) == raw
    except (ValueError, RecursionError) as error:
        raise Problem(f"the header cannot be written as JSON again ({error})") from error
    if not is_canonical:
        raise Problem("the header is not canonical JSON")
    if not isinstance(content, dict) or set(content) != set(Header._fields):
        raise Problem("the header is not an object of 'arrays', 'header' and 'taut'")
    if not isinstance(content["arrays"], list):
        raise Problem("the header's 'arrays' is not a list")
    if not isinstance(content["header"], dict):
        raise Problem(f"the header's own 'header' is {short(content['header'])}, not an object")
    if version_of(content) is None:
        raise Problem(f"the header's 'taut' is {short(content['taut'])}, not a version of taut")
    return Header(_check_layout(content["arrays"]), content["header"], content["taut"])


def parse_json(raw: bytes) -> Any:
    """JSON as it is meant: no key twice, no number without a finite value."""
    try:
        return json.loads(
            raw.decode(),
            object_pairs_hook=_unique,
            parse_constant=_not_a_number,
            parse_float=_finite,
            parse_int=_short_integer,
        )
    except RecursionError as error:
        raise Problem("the header is nested too deeply") from error
    except ValueError as error:
        raise Problem(f"the header is not JSON ({error})") from error


def version_of(content: Any) -> str | None:
    """The version of taut that wrote a header, of this format or a later one, if it says so."""
    version = content.get("taut") if isinstance(content, dict) else None
    return version if isinstance(version, str) and VERSION.fullmatch(version) else None


def _canonical(content: Any) -> bytes:
    return json.dumps(
        content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise Problem(f"the header has the key {short(key)} more than once")
    return content


def _not_a_number(constant: str) -> NoReturn:
    raise Problem(f"the header holds {constant}, which is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Problem(f"the header holds {short(text)}, which is not a finite number")
    return value


def _short_integer(text: str) -> int:
    # Reading an integer takes time that grows with the square of its digits.
    if len(text) > MAX_DIGITS:
        raise Problem(f"the header holds an integer of {len(text)} digits")
    return int(text)


def _check_layout(declared: list[Any]) -> list[Entry]:
    """Arrays follow each other in order, each from the next multiple of 64 on."""
    entries: list[Entry] = []
    names: set[str] = set()
    end = 0
    for k, item in enumerate(declared):
        entry = _check_entry(k, item)
        if entry.name in names:
            raise Problem(f"the header declares the array {entry.name!r} twice")
        if entry.offset != aligned(end):
            raise Problem(
                f"the header puts array {entry.name!r} at byte {entry.offset} of the data instead "
                f"of {aligned(end)}"
            )
        names.add(entry.name)
        entries.append(entry)
        end = entry.end
    return entries


def _check_entry(k: int, item: Any) -> Entry:
    if not isinstance(item, dict) or set(item) != {"name", "dtype", "shape", "offset"}:
        raise Problem(f"array {k} is not declared by name, dtype, shape and offset")
    name, dtype, shape, offset = item["name"], item["dtype"], item["shape"], item["offset"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Problem(
            f"array {k} has the name {short(name)}; a name is a letter or _ and up to 99 letters, "
            "digits, _ . -"
        )
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise Problem(f"array {name!r} has dtype {short(dtype)}, none of {', '.join(DTYPES)}")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(map(_is_size, shape)):
        raise Problem(
            f"array {name!r} has shape {short(shape)}, not a list of at most {MAX_DIMENSIONS} sizes"
        )
    if not _is_size(offset):
        raise Problem(f"array {name!r} has offset {short(offset)}, not a number of bytes")
    # NumPy demands this of empty arrays too, with 1 in the place of 0.
    if math.prod(max(size, 1) for size in shape) * DTYPES[dtype].itemsize >= 2**63:
        raise Problem(f"array {name!r} has the impossible shape {short(shape)}")
    n_bytes = math.prod(shape) * DTYPES[dtype].itemsize
    return Entry(name, DTYPES[dtype], tuple(shape), offset, offset + n_bytes)


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0  # True is an int as well
