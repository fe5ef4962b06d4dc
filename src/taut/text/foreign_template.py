r"""Templates of CRF++ and patterns of Wapiti, read as they are.

A line is text with macros, each of which stands for the value of a column near the token::

    U05:%x[-1,0]/%x[0,0]        # the word before and this one: "U05:the/cat"
    B                           # a weight for each step between two labels
    B01:%x[0,0]                 # one for each step and word
    u:suf=%m[0,0,".?.?$"]       # Wapiti: the part that a regular expression matches
    *:cap=%t[0,0,"^\u"]         # Wapiti: "true" or "false", for the label and for the step
    u:first=%X[@1,0]            # Wapiti: the first word of the sentence, in small letters

Two lines give the same attribute where their text is the same, whatever the line: ``U:%x[-1,0]``
and ``U:%x[1,0]`` make a bag of the words beside a token. Outside the sentence the value is
``_B-1``, ``_B+2`` in CRF++, ``_x-1``, ``_x+2`` in Wapiti, to whose macros it is a value like any.

A template that CRF++ would accept is read as CRF++ reads it, any other as Wapiti does, where ``#``
begins a comment anywhere.
"""

import re
from typing import NamedTuple

from taut.text.regex import PatternError, compiled_regex
from taut.text.regex_syntax import as_in_wapiti
from taut.text.template_parts import (
    DEFAULT_NAMES,
    FARTHEST,
    FIRST,
    HERE,
    LAST,
    MOST_COLUMNS,
    MOST_FEATURES,
    MOST_TERMS,
    Feature,
    Template,
    TemplateError,
    Term,
    quoted,
    too_many,
)
from taut.text.transforms import Transform

# Nothing in taut's own language has a % before its first quotation mark.
FOREIGN = re.compile(r"""^[ \t]*[uUbB*][^%"\n]*%[xXtTmM]\s*\[""", re.MULTILINE)
CRFPP_LINE = re.compile(r"[UB](?:[^%]|%x\[-?[0-4],\d+\])*", re.DOTALL)
LONGEST_LINE = 1000  # it is part of the name of each attribute
MACRO = re.compile(
    r"""%(?P<command>[xXtTmM])\[(?P<origin>[@*]?)\s*(?P<offset>[-+]?\d{1,9})\s*,\s*"""
    r"""(?P<column>\d{1,9})\s*(?:,\s*"(?P<pattern>(?:[^"\\]|\\.)*)"\s*)?\]""",
    re.ASCII | re.DOTALL,
)


class _Line(NamedTuple):
    number: int
    text: str


def is_foreign(text: str) -> bool:
    """Whether it is a template of CRF++ or Wapiti.

    >>> is_foreign("U00:%x[0,0]"), is_foreign("w[0]")
    (True, False)
    """
    return FOREIGN.search(text) is not None


def parse_foreign(text: str) -> Template:
    """
    >>> template = parse_foreign("U00:%x[-1,0]/%x[0,0]\\nB01:%x[0,1]\\nB")
    >>> [feature.name for feature in template.features + template.step_features]
    ['U00:%x[-1,0]/%x[0,0]', 'B01:%x[0,1]']
    """
    lines = [_Line(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    lines = [line for line in lines if line.text and not line.text.startswith("#")]
    outside = "_B" if all(CRFPP_LINE.fullmatch(line.text) for line in lines) else "_x"
    if outside == "_x":
        lines = [line._replace(text=line.text.partition("#")[0].rstrip()) for line in lines]
    features: list[Feature] = []
    step_features: list[Feature] = []
    for line in lines:
        try:
            feature = _feature(line.text, outside)
        except (TemplateError, PatternError) as error:
            raise TemplateError(f"line {line.number}: {error}") from None
        if line.text[0] in "uU*":
            features.append(feature)
        if line.text[0] in "bB*" and feature.terms:  # without, every step has a weight anyway
            step_features.append(feature)
        if len(features) + len(step_features) > MOST_FEATURES:
            raise TemplateError(f"line {line.number}: {too_many()}")
    if not features:
        raise TemplateError(
            f"line {1 + text.count(chr(10))}: the template ends without a feature of a token; "
            "U00:%x[0,0] is one"
        )
    return Template(text, DEFAULT_NAMES, tuple(features), tuple(step_features))


def _feature(line: str, outside: str) -> Feature:
    if len(line) > LONGEST_LINE:
        raise TemplateError(
            f"a line of {len(line)} characters; at most {LONGEST_LINE} are expected"
        )
    if line[0] not in "uUbB*":
        raise TemplateError(
            f"{quoted(line)} begins with {line[0]!r}; lines of CRF++ and Wapiti begin with U, B "
            "or *"
        )
    texts, terms, end = [], [], 0
    for macro in MACRO.finditer(line):
        texts.append(line[end : macro.start()])
        terms.append(_term(macro, outside))
        end = macro.end()
    texts.append(line[end:])
    if any("%" in text for text in texts):
        raise TemplateError(
            f"{quoted(line)} has a '%' that begins no macro; macros are like %x[-1,0] and, in "
            'Wapiti, %X[-1,0], %m[0,0,"^.?.?"], %t[0,0,"^\\u"], all with offset and column'
        )
    if len(terms) > MOST_TERMS:
        raise TemplateError(f"a line has at most {MOST_TERMS} macros")
    if outside == "_x":  # u and U are the same
        texts[0] = texts[0][:1].lower() + texts[0][1:]
    return Feature(tuple(terms), (), line, tuple(texts))


def _term(macro: re.Match[str], outside: str) -> Term:
    command, offset, column = macro["command"], int(macro["offset"]), int(macro["column"])
    if macro["origin"] == "*":
        raise TemplateError(
            f"{quoted(macro[0])} takes its offset from the data, which is not possible here; add "
            "a column that holds the value itself"
        )
    if column >= MOST_COLUMNS or abs(offset) > FARTHEST:
        raise TemplateError(
            f"{quoted(macro[0])}: an offset from -{FARTHEST} to {FARTHEST} and a column below "
            f"{MOST_COLUMNS} are expected, in this order"
        )
    origin = HERE
    if macro["origin"]:  # @1 is the first token, @-1 the last
        origin, offset = (FIRST, offset - 1) if offset >= 0 else (LAST, offset + 1)
    transforms = _transforms(command, macro["pattern"], macro[0])
    return Term(column, transforms, offset, outside, origin)


def _transforms(command: str, pattern: str | None, macro: str) -> tuple[Transform, ...]:
    kind = command.lower()
    if (kind == "x") != (pattern is None):
        more = f"nothing more for %{command}" if kind == "x" else 'a regular expression in "..."'
        raise TemplateError(f"{quoted(macro)}: offset and column are followed by {more}")
    transforms = []
    if pattern is not None:
        compiled_regex(pattern, as_in_wapiti)  # a mistake in it is said now
        transforms.append(Transform(f"%{kind}", pattern=pattern))
    if command != kind:
        transforms.append(Transform("lower"))
    return tuple(transforms)
