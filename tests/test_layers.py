"""What a module may import is said once, in the table of CONTRIBUTING.md; files stay readable."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import taut

ROOT = Path(taut.__file__).parent
TABLE = Path(__file__).parents[1] / "CONTRIBUTING.md"
FILES = sorted(ROOT.rglob("*.py"))
# Signatures that people call: each option is explained where it is.
CALLED_BY_PEOPLE = {"solve", "regularization_path", "regularization_grid"}


def table() -> dict[str, set[str]]:
    """Of each module (a folder or a file of the package), the ones that it may import."""
    text = TABLE.read_text()
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|.*\|([^|]*)\|$", text, re.MULTILINE)
    return {module: set(re.findall(r"`(\w+)`", allowed)) for module, allowed in rows}


def modules() -> set[str]:
    return {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} - {"__init__"}


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """The modules of taut's that a file imports, anywhere in it, and in which line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "taut":
            names = [taut._HOME.get(alias.name, "taut." + alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            if name.startswith("taut.") and name != "taut.__version__":
                yield name.split(".")[1], node.lineno


def all_imports() -> dict[str, dict[str, list[str]]]:
    """module -> module that it imports -> where."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in FILES:
        relative = path.relative_to(ROOT)
        importer = relative.parts[0].removesuffix(".py")
        for name, line in imported(path):
            if name != importer and importer != "__init__":
                found[importer][name].append(f"{relative}:{line}")
    return found


def test_the_table_has_every_module():
    assert set(table()) == modules()


def test_modules_import_what_the_table_allows_them():
    allowed = table()
    wrong = [
        f"{importer} may not import {name} ({', '.join(places)})"
        for importer, names in all_imports().items()
        for name, places in names.items()
        if name not in allowed[importer]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_table_allows_nothing_that_no_one_needs():
    found = all_imports()
    unused = {module: names - set(found[module]) for module, names in table().items()}
    assert {module: names for module, names in unused.items() if names} == {}


def test_imports_point_one_way():
    """Each module's row is below the rows of all that it imports."""
    order = list(table())
    for importer, names in table().items():
        for name in names:
            assert order.index(name) < order.index(importer), f"{importer} imports {name}"


def functions(folder: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name not in CALLED_BY_PEOPLE:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


@pytest.mark.parametrize("folder", ["solvers", "graph_training", "choice", "path"])
def test_functions_of_training_fit_on_a_screen(folder):
    for place, node in functions(folder):
        assert node.end_lineno - node.lineno < 60, place
        parameters = [a for a in node.args.args + node.args.kwonlyargs if a.arg != "self"]
        assert len(parameters) <= 8, place


def test_a_file_name_tells_what_the_file_holds_without_its_folder():
    names = [path.name for path in FILES if path.name != "__init__.py"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
