"""The own test suites of python-crfsuite and of what is built on it, against taut in its place::

    python tests/clients/run_clients.py                    # all of them, some minutes
    python tests/clients/run_clients.py usaddress --folder sdists --only taut

Source distributions are downloaded by pip into a folder (a temporary one, unless it is named), and
so is what they need. Nothing of theirs is changed: a module ``pycrfsuite`` that is taut's comes
first on the path. Models are trained by the packages' own programs. Each suite is run twice, with
the original and with taut. Some test data are not in a source distribution, but in the repository:
a copy of it, in the folder and called as the package, takes the place of what pip would bring.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Client(NamedTuple):
    name: str  # on the index
    needs: tuple[str, ...]  # to be installed
    training: tuple[tuple[str, ...], ...] = ()  # commands, before the tests
    aliases: tuple[str, ...] = ("pycrfsuite",)


TRAIN = "import sys; from parserator.main import dispatch; sys.exit(dispatch())"
NAMES = "name_data/labeled/"
CLIENTS = {
    client.name: client
    for client in (
        Client("python-crfsuite", ("python-crfsuite",)),
        Client(
            "sklearn-crfsuite",
            ("python-crfsuite", "sklearn-crfsuite", "tabulate", "tqdm"),
            aliases=("pycrfsuite", "sklearn_crfsuite"),
        ),
        Client(
            "usaddress",
            ("python-crfsuite", "probableparsing", "parserator", "setuptools"),
            (("train", "training/labeled.xml", "usaddress"),),
        ),
        Client(
            "probablepeople",
            ("python-crfsuite", "probableparsing", "doublemetaphone", "parserator", "setuptools"),
            tuple(
                ("train", ",".join(f"{NAMES}{part}_labeled.xml" for part in parts),
                 "probablepeople", f"--modelfile={model}")
                for model, parts in {
                    "generic": ("person", "company"), "person": ("person",),
                    "company": ("company",),
                }.items()
            ),
        ),
    )
}  # fmt: skip
ALIAS = "import sys\nimport taut.compat.{0} as shim\nsys.modules[__name__] = shim\n"


class Unavailable(Exception):
    """Why a client's suite cannot be had."""


class Count(NamedTuple):
    """Of tests; one that is expected to fail passes if it does or does not."""

    passed: int
    failed: int
    skipped: int
    seconds: float  # of CPU, with training
    failures: tuple[str, ...] = ()
    unread: int = 0  # files of tests whose data are not there

    def __str__(self) -> str:
        whole = self.passed + self.failed
        skipped = f", {self.skipped} skipped or expected to fail" * bool(self.skipped)
        unread = f", {self.unread} files not read: their data are missing" * bool(self.unread)
        return f"{self.passed} of {whole} passed{skipped}{unread}; {self.seconds:.0f} CPU s"


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Unavailable(f"pip {arguments[0]}: {lines[-1] if lines else 'failed'}")


def source_of(client: Client, folder: Path) -> Path:
    """Its source distribution, unpacked, or a folder of its name, such as its repository."""
    if (folder / client.name).is_dir():
        return folder / client.name
    pattern = client.name.replace("-", "[-_]") + "-[0-9]*.tar.gz"
    if not list(folder.glob(pattern)):
        pip("download", "--no-deps", "--no-binary", client.name, "-d", str(folder), client.name)
    archive = max(folder.glob(pattern))
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked" / archive.name.removesuffix(".tar.gz")


def requirements_of(client: Client, folder: Path) -> Path:
    target = folder / f"needs-{client.name}"
    if not target.exists():
        pip("install", "--target", str(target), *client.needs)
    return target


def count(client: Client, folder: Path, with_taut: bool) -> Count:
    """Train, if there is something to train, and run the tests."""
    source, needs = source_of(client, folder), requirements_of(client, folder)
    path = [str(source)] if client.training else []
    if with_taut:
        aliases = folder / "aliases"
        for name in client.aliases:
            (aliases / name).mkdir(parents=True, exist_ok=True)
            (aliases / name / "__init__.py").write_text(ALIAS.format(name))
        path.insert(0, str(aliases))
    given = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(needs), given])}
    before = time.process_time() + sum(os.times()[2:4])
    for model in source.rglob("*.crfsuite"):
        model.unlink()
    for arguments in client.training:
        run([sys.executable, "-c", TRAIN, *arguments], source, environment)
    report = folder / "report.xml"
    tests = ["-q", "--doctest-modules", "-p", "no:cacheprovider", f"--junitxml={report}", "tests"]
    tests.append("--continue-on-collection-errors")
    done = run([sys.executable, "-P", "-m", "pytest", *tests], source, environment, (0, 1))
    seconds = time.process_time() + sum(os.times()[2:4]) - before
    if not report.exists():
        raise RuntimeError(done.stdout + done.stderr)
    return counted(report, seconds)


def run(
    command: Sequence[str], where: Path, environment: dict[str, str], codes: Iterable[int] = (0,)
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True)
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done


def counted(report: Path, seconds: float) -> Count:
    found = list(ElementTree.parse(report).getroot().iter("testcase"))
    cases = [case for case in found if not is_unread(case)]
    failures = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = sum(case.find("skipped") is not None for case in cases)
    report.unlink()
    passed = len(cases) - len(failures) - skipped
    unread = len(found) - len(cases)
    return Count(passed, len(failures), skipped, seconds, tuple(failures), unread)


def is_unread(case: ElementTree.Element) -> bool:
    """Whether it stands for a whole file, whose tests could not be collected."""
    error = case.find("error")
    return error is not None and error.get("message") == "collection failure"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clients", nargs="*", help=f"of {', '.join(CLIENTS)}; default all")
    parser.add_argument("--folder", type=Path, help="where to keep what is downloaded")
    parser.add_argument("--only", choices=["original", "taut"], help="not both")
    options = parser.parse_args()
    code = 0
    with tempfile.TemporaryDirectory(prefix="taut-clients-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(exist_ok=True)
        for name in options.clients or CLIENTS:
            for kind in ("original", "taut"):
                if options.only in (None, kind):
                    try:
                        found = count(CLIENTS[name], folder, with_taut=kind == "taut")
                    except Unavailable as reason:
                        print(f"{name}: skipped, it cannot be had ({reason})", flush=True)
                        break
                    print(f"{name}, {kind}: {found}", *found.failures, sep="\n    ", flush=True)
                    code |= kind == "taut" and found.failed > 0
    return code


if __name__ == "__main__":
    sys.exit(main())
