"""Images in tar archives, read with Pillow, which is imported only here and only when needed."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


def missing_extra(needed: str) -> ImportError:
    """The error where a package of the extra is not installed."""
    return ImportError(f'{needed} is needed to read images: pip install "taut[images]"')


def read_members(path: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The named files of a tar archive, or an error that names archive and file."""
    missing = dict.fromkeys(names)
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name in missing and member.isfile():
                    content = archive.extractfile(member)
                    found[member.name] = content.read() if content else b""
                    del missing[member.name]
                    if not missing:
                        break
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot read the archive ({error}); replace it") from error
    for name in missing:
        raise ValueError(f"{path}: {name!r} is not in the archive; replace it")
    return found


def decode(
    content: bytes, source: str, *, mode: str = "RGB", size: tuple[int, int] | None = None
) -> Image:
    """An image as an array of shape (height, width, 3), or (height, width) in mode "L".

    ``size`` is (height, width) to resize it to.
    """
    try:
        import PIL.Image
    except ImportError as error:
        raise missing_extra("Pillow") from error
    try:
        with PIL.Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
            pixels = image.convert(mode)
            if size is not None:
                height, width = size
                # Averages over the area of a new pixel: no aliasing, no ringing, no parameters.
                pixels = pixels.resize((width, height), PIL.Image.Resampling.BOX)
            return np.asarray(pixels)
    except Exception as error:  # a damaged image fails in many ways; the remedy is the same
        raise ValueError(f"{source}: cannot read the image ({error}); replace it") from error
