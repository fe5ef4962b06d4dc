"""The template language: which attributes a token has, said in terms of columns near it.

One feature a line, ``#`` begins a comment (a template given on one line uses ``;`` between
features)::

    columns: w pos              # names for the columns, in order (these are the default names)
    2[-1]                       # a column by number, counted from 0
    w[-2..2]                    # the words two before to two after: five features
    w[-1]|w[0]                  # a conjunction
    suffix(lower(w[0]), 1..3)   # transforms nest; a range gives a feature for each size
    BOS                         # the first token of a sentence; EOS is the last

A feature gives a token at most one attribute, for instance ``w[-1]|w[0]=of|the``,
``suffix(lower(w[0]),2)=he`` or ``__BOS__``. Where an offset falls outside the sentence, or a word
is shorter than the prefix or suffix asked for, it gives none.

========== ================================================= =======================
transform  gives                                             ``McDonald-8``
========== ================================================= =======================
lower      lower case                                        ``mcdonald-8``
prefix(n)  the first n characters, n = 1 to 20               ``McD`` (n = 3)
suffix(n)  the last n                                        ``d-8``
shape      X, x and 0 for capitals, small letters and digits ``XxXxxxxx-0``
brief      the shape with runs of the same sign as one       ``XxXx-0``
digits     every digit as 0                                  ``McDonald-0``
length     the number of characters                          ``10``
========== ================================================= =======================
"""

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from taut.text.built_in_templates import BUILT_IN
from taut.text.transforms import LONGEST_AFFIX, SIZED, TRANSFORMS, Transform

# No text, however odd, takes much time or memory to read.
LONGEST_TEXT = 100_000
MOST_FEATURES = 1000
FARTHEST = 100
MOST_NESTED = 8
MOST_TERMS = 10
MOST_COLUMNS = 1000
BOUNDARIES = ("BOS", "EOS")
DEFAULT_NAMES = ("w", "pos")


class Term(NamedTuple):
    """A column, transformed, some tokens away."""

    column: int
    transforms: tuple[Transform, ...]  # innermost first
    offset: int


class Feature(NamedTuple):
    terms: tuple[Term, ...]
    boundaries: tuple[str, ...]  # "BOS", "EOS": only there
    name: str  # "w[-1]|w[0]"


class Template(NamedTuple):
    text: str
    columns: tuple[str, ...]
    features: tuple[Feature, ...]

    @property
    def n_columns(self) -> int:
        """How many columns the data must have at least."""
        used = [term.column + 1 for feature in self.features for term in feature.terms]
        return max(used, default=0)


class TemplateError(ValueError):
    """A template that cannot be understood; names line and place."""


def read_template(template: "str | os.PathLike[str] | Template") -> Template:
    """A built-in template by name, a file by path, the text of a template, or one that was read.

    >>> read_template("chunking").features[5].name
    'w[-1]|w[0]'
    >>> len(read_template("w[-1..1]; suffix(w[0], 2)").features)
    4
    """
    if isinstance(template, Template):
        return template
    if not isinstance(template, str | os.PathLike):
        raise TypeError(
            f"template={template!r}; a name ({', '.join(BUILT_IN)}), a path or a text is expected"
        )
    if isinstance(template, str):
        if template in BUILT_IN:
            return parse_template(BUILT_IN[template])
        if re.search(r"[\[|;\n]", template) or template.strip() in BOUNDARIES:
            return parse_template(template)
    text = _read_file(template)
    try:
        return parse_template(text)
    except TemplateError as error:
        raise TemplateError(f"{os.fspath(template)}, {error}") from None


def _read_file(path: str | os.PathLike[str]) -> str:
    # An impossible name (too long, with a zero byte) does not exist either.
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"template={_quoted(os.fspath(path))} is neither a built-in template "
            f"({', '.join(BUILT_IN)}) nor a file; a template's text has at least one column with "
            "its offset, like w[0]"
        )
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"template={os.fspath(path)!r} is a folder; name the file of the template"
        )
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read(LONGEST_TEXT + 1)
    except UnicodeDecodeError as error:
        raise TemplateError(
            f"{os.fspath(path)}: a template is UTF-8 text ({error}); save it as that"
        ) from None


def parse_template(text: str) -> Template:
    """
    >>> parse_template("w[0..1]").features[1].name
    'w[1]'
    >>> parse_template("word[0]")
    Traceback (most recent call last):
        ...
    taut.text.template.TemplateError: line 1: there is no column 'word'; the columns are w, pos...
    """
    if len(text) > LONGEST_TEXT:
        raise TemplateError(
            f"line 1: this and what follows have more than {LONGEST_TEXT:,} characters; is it a "
            "template?"
        )
    names: tuple[str, ...] = DEFAULT_NAMES
    named = False
    features: dict[str, Feature] = {}
    for number, statement in _statements(text):
        try:
            if statement.startswith("columns:"):
                if named or features:
                    raise TemplateError("'columns:' comes once, before all features")
                names, named = _column_names(statement), True
                continue
            for feature in _Parser(statement, names).features():
                if feature.name in features:
                    raise TemplateError(
                        f"the feature {_quoted(feature.name)} is there twice; remove one"
                    )
                features[feature.name] = feature
                if len(features) > MOST_FEATURES:
                    raise _too_many()
        except TemplateError as error:
            raise TemplateError(f"line {number}: {error}") from None
    if not features:
        last = 1 + text.count("\n")
        raise TemplateError(f"line {last}: the template ends without a feature; w[0] is one")
    return Template(text, names, tuple(features.values()))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Features and column names, and the lines they are in."""
    for number, line in enumerate(text.split("\n"), start=1):
        for statement in line.partition("#")[0].split(";"):
            if statement.strip():
                yield number, statement.strip()


def _too_many() -> TemplateError:
    return TemplateError(f"more than {MOST_FEATURES} features; use fewer or narrower ranges")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _column_names(statement: str) -> tuple[str, ...]:
    names = statement.removeprefix("columns:").split()
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise TemplateError(
            f"'columns:' is followed by {len(names)} names; 1 to {MOST_COLUMNS} are expected, as "
            "in 'columns: w pos'"
        )
    for name, times in Counter(names).items():
        if not re.fullmatch(r"[A-Za-z_]\w{0,99}", name) or name in (*TRANSFORMS, *BOUNDARIES):
            raise TemplateError(
                f"{_quoted(name)} cannot name a column; use another word, of letters and digits"
            )
        if times > 1:
            raise TemplateError(f"two columns are named {_quoted(name)}; rename one")
    return tuple(names)


class _Parser:
    """feature := term ('|' term)*,  term := BOS | EOS | item,
    item := column '[' range ']' | transform '(' item [',' range] ')'.

    Ranges are expanded: parsing an item gives all (term, name) it stands for.
    """

    def __init__(self, statement: str, names: tuple[str, ...]):
        self.statement, self.names = statement, names
        self.tokens = re.findall(r"\w+|\.\.|[-+]\d+|\s+|.", statement, re.DOTALL)
        self.tokens = [token for token in self.tokens if not token.isspace()]
        self.position = 0

    def features(self) -> Iterator[Feature]:
        parts = [self._term()]
        while self._next_is("|"):
            self.position += 1
            parts.append(self._term())
            if len(parts) > MOST_TERMS:
                raise TemplateError(f"a conjunction has at most {MOST_TERMS} terms")
        if self.position < len(self.tokens):
            raise self._error("expected '|' or the end of the line")
        for combination in itertools.product(*parts):
            terms = tuple(term for term, _ in combination if isinstance(term, Term))
            boundaries = tuple(term for term, _ in combination if isinstance(term, str))
            yield Feature(terms, boundaries, "|".join(name for _, name in combination))

    def _term(self) -> list[tuple[Term | str, str]]:
        if self._token() in BOUNDARIES:
            word = self._take()
            return [(word, f"__{word}__")]
        return [*self._item(0)]

    def _item(self, depth: int) -> list[tuple[Term, str]]:
        if depth > MOST_NESTED:
            raise TemplateError(f"transforms are nested more than {MOST_NESTED} deep; use fewer")
        word = self._take()
        if word in TRANSFORMS:
            return self._transformed(word, depth)
        column = self._column(word)
        self._expect("[")
        offsets = self._range(-FARTHEST, FARTHEST, "offset")
        self._expect("]")
        return [(Term(column, (), offset), f"{word}[{offset}]") for offset in offsets]

    def _transformed(self, word: str, depth: int) -> list[tuple[Term, str]]:
        self._expect("(")
        items = self._item(depth + 1)
        sizes = [0]
        if word in SIZED:
            self._expect(",", f"and a size, as in {word}(w[0], 3),")
            sizes = list(self._range(1, LONGEST_AFFIX, "size"))
        self._expect(")")
        if len(items) * len(sizes) > MOST_FEATURES:
            raise _too_many()
        return [
            (
                term._replace(transforms=(*term.transforms, Transform(word, size))),
                f"{word}({name},{size})" if size else f"{word}({name})",
            )
            for term, name in items
            for size in sizes
        ]

    def _column(self, word: str) -> int:
        if word in self.names:
            return self.names.index(word)
        if re.fullmatch(r"0|[1-9][0-9]{0,5}", word) and int(word) < MOST_COLUMNS:
            return int(word)
        if not re.fullmatch(r"\w+", word):
            raise self._error("expected a column, a transform, BOS or EOS", back=1)
        columns = ", ".join(self.names[:10]) + ", ..." * (len(self.names) > 10)
        raise TemplateError(
            f"there is no column {_quoted(word)}; the columns are {columns}: name them by a first "
            f"line like 'columns: w pos', or use numbers below {MOST_COLUMNS} (0[-1])"
        )

    def _range(self, least: int, most: int, what: str) -> range:
        first = last = self._number(what)
        if self._next_is(".."):
            self.position += 1
            last = self._number(what)
        if not least <= first <= last <= most:
            raise TemplateError(
                f"{what} {first}..{last} in {_quoted(self.statement)}; it must lie between {least} "
                f"and {most}, and a range rises"
            )
        return range(first, last + 1)

    def _number(self, what: str) -> int:
        token = self._take()
        if not re.fullmatch(r"[-+]?[0-9]{1,9}", token):
            raise self._error(f"expected a number ({what})", back=1)
        return int(token)

    def _token(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _next_is(self, token: str) -> bool:
        return self._token() == token

    def _take(self) -> str:
        token = self._token()
        self.position += 1
        return token

    def _expect(self, token: str, more: str = "") -> None:
        if self._take() != token:
            raise self._error(f"expected {token!r} {more}".rstrip(), back=1)

    def _error(self, what: str, back: int = 0) -> TemplateError:
        at = self.position - back
        found = _quoted(self.tokens[at]) if at < len(self.tokens) else "the end"
        return TemplateError(f"{what} but found {found} in {_quoted(self.statement)}")
