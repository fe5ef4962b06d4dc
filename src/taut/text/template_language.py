"""One feature of taut's own template language, of which :mod:`taut.text.template` tells."""

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator

from taut.text.regex import PatternError, compiled_regex
from taut.text.regex_syntax import python_like
from taut.text.template_parts import (
    FARTHEST,
    MOST_COLUMNS,
    MOST_FEATURES,
    MOST_TERMS,
    Feature,
    TemplateError,
    Term,
    is_vector,
    quoted,
    too_many,
)
from taut.text.transforms import (
    FILED,
    LONGEST_AFFIX,
    NAMES,
    OF_COLUMNS,
    PATTERNED,
    SIZED,
    Transform,
)

MOST_NESTED = 8
LONGEST_NAME = 2000
MOST_BITS = 100
BOUNDARIES = ("BOS", "EOS")


OPEN_STRING = r'"(?:[^"\\]|\\.)*'
STRING = OPEN_STRING + '"'
# A string that nobody closes goes to the end: to look for its end from each of its quotation marks
# would take the square of the time.
TOKEN = re.compile(OPEN_STRING + r'"?|\w+|\.\.|[-+]\d+|\s+|.', re.DOTALL)
PIECE = re.compile(OPEN_STRING + r'"?|[^"#;]+|.', re.DOTALL)


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Features and column names, and the lines they are in."""
    for number, line in enumerate(text.split("\n"), start=1):
        for statement in _statements_of(line):
            if statement.strip():
                yield number, statement.strip()


def _statements_of(line: str) -> list[str]:
    if '"' not in line:
        return line.partition("#")[0].split(";")
    found: list[list[str]] = [[]]
    for piece in PIECE.findall(line):  # strings are whole pieces
        if piece == "#":
            break
        if piece == ";":
            found.append([])
        else:
            found[-1].append(piece)
    return ["".join(pieces) for pieces in found]


def column_names(statement: str) -> tuple[str, ...]:
    names = statement.removeprefix("columns:").split()
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise TemplateError(
            f"'columns:' is followed by {len(names)} names; 1 to {MOST_COLUMNS} are expected, as "
            "in 'columns: w pos'"
        )
    for name, times in Counter(names).items():
        if not re.fullmatch(r"[A-Za-z_]\w{0,99}", name) or name in (*NAMES, *BOUNDARIES):
            raise TemplateError(
                f"{quoted(name)} cannot name a column; use another word, of letters and digits"
            )
        if times > 1:
            raise TemplateError(f"two columns are named {quoted(name)}; rename one")
    return tuple(names)


class StatementParser:
    """feature := term ('|' term)*,  term := BOS | EOS | item,
    item := column '[' range ']' | transform '(' item [',' string] (',' range)* ')'.

    Ranges are expanded: parsing an item gives all (term, name) it stands for. ``need_file`` is
    told of each file that is named: what it is for, and its name.
    """

    def __init__(
        self, statement: str, names: tuple[str, ...], need_file: Callable[[str, str], None]
    ):
        self.statement, self.names, self.need_file = statement, names, need_file
        self.tokens = [token for token in TOKEN.findall(statement) if not token.isspace()]
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
            if len(combination) > 1 and any(map(is_vector, terms)):
                raise TemplateError("a vector is a feature of its own; no '|' stands beside it")
            feature_name = "|".join(name for _, name in combination)
            if len(feature_name) > LONGEST_NAME:
                raise TemplateError(
                    f"the feature {quoted(feature_name)} takes {len(feature_name)} characters; at "
                    f"most {LONGEST_NAME} are expected, because all its attributes begin so"
                )
            yield Feature(terms, boundaries, feature_name)

    def _term(self) -> list[tuple[Term | str, str]]:
        if self._token() in BOUNDARIES:
            word = self._take()
            return [(word, f"__{word}__")]
        return [*self._item(0)]

    def _item(self, depth: int) -> list[tuple[Term, str]]:
        if depth > MOST_NESTED:
            raise TemplateError(f"transforms are nested more than {MOST_NESTED} deep; use fewer")
        word = self._take()
        if word in NAMES:
            return self._transformed(word, depth)
        if self._next_is("("):
            close = difflib.get_close_matches(word, NAMES, 1)
            meant = f"is {close[0]} meant?" if close else f"there are {', '.join(NAMES)}"
            raise TemplateError(f"there is no transform {quoted(word)}; {meant}")
        column = self._column(word)
        self._expect("[")
        offsets = self._range(-FARTHEST, FARTHEST, "offset")
        self._expect("]")
        return [(Term(column, (), offset), f"{word}[{offset}]") for offset in offsets]

    def _transformed(self, word: str, depth: int) -> list[tuple[Term, str]]:
        self._expect("(")
        items = self._item(depth + 1)
        inner = items[0][0].transforms
        if inner and inner[-1].name in OF_COLUMNS:
            raise TemplateError(f"nothing can be made of a {inner[-1].name}; take {word}() off")
        arguments = self._arguments(word)
        self._expect(")")
        if len(items) * len(arguments) > MOST_FEATURES:
            raise too_many()
        return [
            (
                term._replace(transforms=(*term.transforms, transform)),
                f"{word}({name}{argument})",
            )
            for term, name in items
            for transform, argument in arguments
        ]

    def _arguments(self, word: str) -> list[tuple[Transform, str]]:
        """What follows the item, each with its name: a size may be a range."""
        if word in SIZED:
            self._expect(",", f"and a size, as in {word}(w[0], 3),")
            sizes = [*self._range(1, LONGEST_AFFIX, "size")]
            return [(Transform(word, size), f",{size}") for size in sizes]
        if word in FILED:
            return self._of_file(word)
        if word not in PATTERNED:
            return [(Transform(word), "")]
        string = self._string(f'a regular expression in "...", as in {word}(w[0], "[0-9]+")')
        try:
            compiled_regex(string[1:-1], python_like)
        except PatternError as error:
            raise TemplateError(str(error)) from None
        return [(Transform(word, pattern=string[1:-1]), f",{string}")]

    def _of_file(self, word: str) -> list[tuple[Transform, str]]:
        string = self._string(f'the name of a file in "...", as in {word}(w[0], "words.txt")')
        try:
            self.need_file(word, string[1:-1])
        except ValueError as error:
            raise TemplateError(str(error)) from None
        if word != "cluster" or not self._next_is(","):
            return [(Transform(word, pattern=string[1:-1]), f",{string}")]
        sizes: list[int] = []
        while self._next_is(","):
            self.position += 1
            sizes += self._range(1, MOST_BITS, "size")
        return [(Transform(word, size, string[1:-1]), f",{string},{size}") for size in sizes]

    def _string(self, what: str) -> str:
        self._expect(",", f"and {what},")
        string = self._take()
        if not re.fullmatch(STRING, string, re.DOTALL):
            raise self._error(f"expected {what},", back=1)
        return string

    def _column(self, word: str) -> int:
        if word in self.names:
            return self.names.index(word)
        if re.fullmatch(r"0|[1-9][0-9]{0,5}", word) and int(word) < MOST_COLUMNS:
            return int(word)
        if not re.fullmatch(r"\w+", word):
            raise self._error("expected a column, a transform, BOS or EOS", back=1)
        columns = ", ".join(self.names[:10]) + ", ..." * (len(self.names) > 10)
        raise TemplateError(
            f"there is no column {quoted(word)}; the columns are {columns}: name them by a first "
            f"line like 'columns: w pos', or use numbers below {MOST_COLUMNS} (0[-1])"
        )

    def _range(self, least: int, most: int, what: str) -> range:
        first = last = self._number(what)
        if self._next_is(".."):
            self.position += 1
            last = self._number(what)
        if not least <= first <= last <= most:
            raise TemplateError(
                f"{what} {first}..{last} in {quoted(self.statement)}; it must lie between {least} "
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
        found = quoted(self.tokens[at]) if at < len(self.tokens) else "the end"
        return TemplateError(f"{what} but found {found} in {quoted(self.statement)}")
