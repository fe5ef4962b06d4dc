"""What the fuzz harnesses share. They need Linux and atheris (``pip install atheris``)::

    python tests/fuzz/fuzz_model_file.py -max_total_time=60

All options are libFuzzer's. What reaches new code is kept, and the next run begins with it. Input
that ends in an error which no user should see, or takes ten seconds or a gigabyte, is written to a
file and ends the run; give that file as argument to try it again.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' own helpers

LIMITS = ["-timeout=10", "-rss_limit_mb=1024"]


def watched():
    """What is imported in this context tells the fuzzer which branches were taken."""
    return atheris.instrument_imports(include=["taut", "json"])


def fuzz(
    target: Callable[[bytes], object], refusal: type[Exception], seeds: Iterable[bytes]
) -> None:
    """Call ``target`` with ever new bytes; it may raise ``refusal`` and nothing else."""

    def run(data: bytes) -> None:
        try:
            target(data)
        except refusal:
            return

    program, *arguments = sys.argv
    if all(argument.startswith("-") for argument in arguments):
        arguments.append(str(_corpus(Path(program).stem, seeds)))
    atheris.Setup([program, *LIMITS, *arguments], run)
    atheris.Fuzz()


def _corpus(name: str, seeds: Iterable[bytes]) -> Path:
    folder = Path(tempfile.gettempdir(), "taut_fuzz", name)
    folder.mkdir(parents=True, exist_ok=True)
    for k, seed in enumerate(seeds):
        (folder / f"seed{k}").write_bytes(seed)
    return folder
