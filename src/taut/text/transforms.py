"""What a template can do to a value: text in, text out, or nothing if the text is too short."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

from taut.text.regex import compiled_regex
from taut.text.regex_syntax import as_in_wapiti, python_like
from taut.text.word_files import Clusters, WordFile, WordFiles

Function = Callable[[str], str | None]
NO_FILES: WordFiles = {}


class Transform(NamedTuple):
    """
    >>> Transform("suffix", 3).apply("walking")
    'ing'
    """

    name: str
    size: int = 0  # of a prefix or suffix, or of the path of a cluster, where 0 is all of it
    pattern: str = ""  # or the name of a file

    def function(self, files: WordFiles = NO_FILES) -> Function:
        if self.name == "cluster":
            return _cluster(files[self.name, self.pattern], self.size)
        return TRANSFORMS[self.name](self)

    def apply(self, value: str) -> str | None:
        return self.function()(value)


def _cluster(clusters: WordFile, size: int) -> Function:
    assert isinstance(clusters, Clusters)
    paths = clusters.paths
    if not size:
        return paths.get

    def path_of(value: str) -> str | None:
        path = paths.get(value)
        return path if path is None else path[:size]

    return path_of


def _sign(character: str) -> str:
    if character.isupper() or character.istitle():
        return "X"
    if character.islower():
        return "x"
    return "0" if character.isdigit() else character


def _shape(value: str) -> str:
    return "".join(map(_sign, value))


def _brief(value: str) -> str:
    return "".join(sign for sign, _run in itertools.groupby(_shape(value)))


def _digits(value: str) -> str:
    return "".join("0" if c.isdigit() else c for c in value)


def _prefix(transform: Transform) -> Function:
    size = transform.size
    return lambda value: value[:size] if len(value) >= size else None


def _suffix(transform: Transform) -> Function:
    size = transform.size
    return lambda value: value[-size:] if len(value) >= size else None


def _match(transform: Transform) -> Function:
    return compiled_regex(transform.pattern, python_like).find


def _test(transform: Transform) -> Function:
    find = compiled_regex(transform.pattern, python_like).find
    return lambda value: "false" if find(value) is None else "true"


def _wapiti_match(transform: Transform) -> Function:
    find = compiled_regex(transform.pattern, as_in_wapiti).find
    return lambda value: find(value) or ""


def _wapiti_test(transform: Transform) -> Function:
    find = compiled_regex(transform.pattern, as_in_wapiti).find
    return lambda value: "false" if find(value) is None else "true"


TRANSFORMS: dict[str, Callable[[Transform], Function]] = {
    "lower": lambda _: str.lower,
    "prefix": _prefix,
    "suffix": _suffix,
    "shape": lambda _: _shape,
    "brief": lambda _: _brief,
    "digits": lambda _: _digits,
    "length": lambda _: lambda value: str(len(value)),
    "match": _match,
    "test": _test,
    "%m": _wapiti_match,
    "%t": _wapiti_test,
}
NAMES = (*TRANSFORMS, "gazetteer", "cluster", "vector")
PATTERNED = ("match", "test")
# Made of all values of a column, not of one after the other: nothing can be made of it.
OF_COLUMNS = ("gazetteer", "vector")
FILED = ("gazetteer", "cluster", "vector")
SIZED = ("prefix", "suffix")
LONGEST_AFFIX = 20
