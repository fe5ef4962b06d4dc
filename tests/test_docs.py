"""The pages of the documentation do what they show.

A page's blocks of Python run in order, as one program; a block of plain text right after one is
what it prints, the error that ends it included. Lines after $ are commands.
"""

import io
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from taut.choice.registry import OWN, registered_solver
from taut.cli import main

DOCS = Path(__file__).parents[1] / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


PAGES = [
    "text", "templates", "metrics", "model_files", "serving", "python_models",
    "graphs", "label_sets", "inference", "poses", "without_inference", "formulations",
    "regularization_path", "probabilities", "problem_protocol", "from_crfsuite", "from_pystruct",
]  # fmt: skip


def test_the_page_of_solvers_has_every_name_and_what_it_stands_for():
    page = (DOCS / "solvers.md").read_text()
    rows = re.findall(r'^\| `"([a-z0-9-]+)"` \| `(\w+\(.*?\))` \| ', page, re.MULTILINE)
    known = {type(registered_solver(name)).__name__: type(registered_solver(name)) for name in OWN}
    assert sorted(name for name, _ in rows) == sorted(OWN)
    for name, source in rows:
        assert eval(source, known) == registered_solver(name), name


@pytest.mark.parametrize("page", PAGES)
def test_python_prints_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(DOCS)  # where ordinal.py is
    names: dict = {}
    blocks = PYTHON.findall((DOCS / f"{page}.md").read_text())
    assert blocks
    for source, shown in blocks:
        printed = output_of(source, names, may_fail="Error: " in shown or "Constraint: " in shown)
        if shown:
            assert_same(printed, shown)


def test_commands_print_what_is_shown(tmp_path, monkeypatch):
    """In the order of the page, in one folder, after its Python has written the files."""
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "command_line.md").read_text()
    for source, _ in PYTHON.findall(page):
        output_of(source, {}, may_fail=False)
    commands = [pair for block in CONSOLE.findall(page) for pair in COMMAND.findall(block)]
    assert commands
    for line, shown in commands:
        assert_same(run_line(line, monkeypatch), shown)


def run_line(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a shell would print; taut itself runs here, because starting it takes a second."""
    pipeline, _, target = line.partition(" > ")
    data = b""
    for command in pipeline.split(" | "):
        name, *arguments = shlex.split(command)
        if name == "taut":
            data = run_taut(arguments, data, monkeypatch)
        else:
            data = subprocess.run([name, *arguments], input=data, capture_output=True).stdout
    if target:
        Path(target).write_bytes(data)
    return "" if target else data.decode()


def run_taut(arguments: list[str], data: bytes, monkeypatch: pytest.MonkeyPatch) -> bytes:
    printed = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        output = io.TextIOWrapper(printed, write_through=True)
        patch.setattr("sys.stdout", output)
        patch.setattr("sys.stderr", output)
        main(arguments)
    return printed.getvalue()


def output_of(source: str, names: dict, may_fail: bool) -> str:
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(source, "documentation", "exec"), names)
    except Exception as error:
        if not may_fail:
            raise
        return f"{printed.getvalue()}{type(error).__name__}: {error}"
    return printed.getvalue()


def assert_same(printed: str, shown: str) -> None:
    """Line by line; figures may differ a little, and times at all.

    Another processor rounds sums in another order, after which training may end elsewhere within
    its tolerance, and a few labels in a thousand may differ.
    """
    assert shape(printed) == shape(shown)
    for one, other in zip(figures(printed), figures(shown), strict=True):
        assert one == pytest.approx(other, rel=0.2, abs=0.02)


def shape(text: str) -> list[str]:
    """The words of each line, with numbers left out."""
    return [" ".join(NUMBER.sub("0", line).split()) for line in text.strip().split("\n")]


def figures(text: str) -> list[float]:
    """The numbers, without those of seconds and dates."""
    timeless = re.sub(r"[\d.]+ s\b|\d{4}-\d\d-\d\dT\S+", "", text)
    return [float(number) for number in NUMBER.findall(timeless)]


@pytest.mark.parametrize(
    ("printed", "shown"),
    [("F1 0.9", "F1 0.5"), ("F1 0.9", "F2 0.9"), ("a\nb", "a b"), ("0.9", "0.9 0.9"), ("", "x")],
)
def test_differences_are_noticed(printed, shown):
    with pytest.raises(AssertionError):
        assert_same(printed, shown)
    assert_same(shown, shown)
