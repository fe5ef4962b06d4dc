"""One list of what a run may ask of a problem: the code, the page and the problems keep to it."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from op_calls import problems

import taut
from taut import problem as functions
from taut.problem.capability import LACKING, Capability
from taut.problem.problem_type import MEMBERS, described, missing_members, needed_by

ROOT = Path(taut.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "problem_protocol.md").read_text()
# Solvers, and what chooses, starts and displays them, know no structure.
KNOW_NO_STRUCTURE = ["solvers", "path", "choice", "decode.py", "structures/smoothed.py",
                     "structures/slack_rescaled.py", "structures/partly_labelled.py"]  # fmt: skip
# What wrappers have beside, and what is asked of a Python model.
OF_WRAPPERS = {"base", "temperature", "loss_augmented", "check_entropies"}


def rows(columns):
    """The first cells of the page's tables of so many columns, and the second ones."""
    found = re.findall(r"^\| (.*) \|$", PAGE, re.MULTILINE)
    cells = [re.split(r"(?<!\\) \| ", row) for row in found]
    kept = [row for row in cells if len(row) == columns]
    return [(row[0][1:-1], row[1]) for row in kept if re.fullmatch(r"`[a-z_]+(\(.*\))?`", row[0])]


def signature(name):
    return described(name, MEMBERS[name]).partition(": ")[0]


def test_the_page_has_every_member_with_its_signature_and_nothing_else():
    written = [cell for cell, _ in rows(2) + rows(3)]
    assert sorted(written) == sorted(map(signature, MEMBERS))


def test_the_page_says_which_members_are_optional():
    optional = {signature(name) for name, member in MEMBERS.items() if not needed_by(member)}
    assert {cell for cell, _ in rows(3)} == optional


def test_the_page_says_what_defaults_are():
    said = {}
    for name, member in MEMBERS.items():
        shown = dict(rows(3)).get(signature(name), "")
        if re.fullmatch(r'`(None|True|False|[0-9.]+|".*")`', shown):
            function = member.fget if isinstance(member, property) else member
            default = function(*[None] * len(inspect.signature(function).parameters))
            assert ast.literal_eval(shown.strip("`")) == default, name
            said[name] = default
    assert len(said) > 10


def test_the_page_has_every_capability():
    shown = re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(each.name for each in Capability)


def test_every_capability_has_words_and_a_remedy():
    assert set(LACKING) == set(Capability)


def test_compiled_code_can_call_what_is_annotated_for_it():
    """A member whose problem is annotated ``Problem`` is a function of taut.problem."""
    callable_ = {
        name
        for name, member in MEMBERS.items()
        if not isinstance(member, property) and "problem" in member.__annotations__
    }
    public = {name for name, each in vars(functions).items() if callable(each)}
    assert callable_ == public - {"AnyProblem", "generic"}


def asked(tree):
    """Names of attributes of whatever is called a problem, in this source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            inner = getattr(getattr(owner, "value", None), "id", "")
            if name == "problem" or (name, inner) == ("base", "problem"):
                yield node.attr


def sources():
    for place in KNOW_NO_STRUCTURE:
        path = ROOT / place
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_runs_ask_for_what_is_listed_and_probe_nothing(path):
    source = path.read_text()
    assert set(asked(ast.parse(source))) <= MEMBERS.keys() | OF_WRAPPERS
    assert not re.search(r"(get|has)attr\([^)]*\b(problem|base)\b", source)


@pytest.mark.parametrize("name", problems())
def test_built_in_problems_have_what_they_declare(name):
    assert not missing_members(problems()[name])
