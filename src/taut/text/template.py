"""The template language: which attributes a token has, said in terms of columns near it.

One feature a line, ``#`` begins a comment (a template given on one line uses ``;`` between
features)::

    columns: w pos              # names for the columns, in order (these are the default names)
    2[-1]                       # a column by number, counted from 0
    w[-2..2]                    # the words two before to two after: five features
    w[-1]|w[0]                  # a conjunction
    suffix(lower(w[0]), 1..3)   # transforms nest; a range gives a feature for each size
    BOS                         # the first token of a sentence; EOS is the last
    step: w[0]                  # of the step into a token: goes with two labels

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
match("")  the first part that a regular expression matches  ``8`` (``"[0-9]+"``)
test("")   ``true`` or ``false``: whether there is one        ``true``
========== ================================================= =======================

``gazetteer(w[0], "cities.txt")``, ``cluster(w[0], "paths.txt", 4, 6)`` and
``vector(w[0], "vectors.txt")`` take what they say of words from files
(:mod:`taut.text.word_files`).

Templates of CRF++ and patterns of Wapiti are read as they are
(:mod:`taut.text.foreign_template`).
"""

import os
import re

from taut.text.built_in_templates import BUILT_IN
from taut.text.foreign_template import is_foreign, parse_foreign
from taut.text.template_language import BOUNDARIES, StatementParser, column_names, statements
from taut.text.template_parts import (
    DEFAULT_NAMES,
    LONGEST_TEXT,
    MOST_FEATURES,
    Feature,
    quoted,
    too_many,
)
from taut.text.template_parts import Template as Template
from taut.text.template_parts import TemplateError as TemplateError
from taut.text.word_files import OpenFile, WordFiles, file_opener

STEP = "step:"


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
        return parse_template(text, file_opener(os.path.dirname(os.fspath(template))))
    except TemplateError as error:
        raise TemplateError(f"{os.fspath(template)}, {error}") from None


def _read_file(path: str | os.PathLike[str]) -> str:
    # An impossible name (too long, with a zero byte) does not exist either.
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"template={quoted(os.fspath(path))} is neither a built-in template "
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


def parse_template(text: str, open_file: OpenFile | None = None) -> Template:
    """The template that a text describes; ``open_file`` gives the files that it names.


    >>> parse_template("w[0..1]").features[1].name
    'w[1]'
    >>> parse_template("word[0]")
    Traceback (most recent call last):
        ...
    taut.text.template_parts.TemplateError: line 1: there is no column 'word'; ...
    """
    if len(text) > LONGEST_TEXT:
        raise TemplateError(
            f"line 1: this and what follows have more than {LONGEST_TEXT:,} characters; is it a "
            "template?"
        )
    open_file = open_file or file_opener("")
    files: WordFiles = {}

    def known_file(kind: str, name: str) -> None:
        if (kind, name) not in files:
            files[kind, name] = open_file(kind, name)

    if is_foreign(text):
        return parse_foreign(text)
    names: tuple[str, ...] = DEFAULT_NAMES
    named = False
    features: dict[str, Feature] = {}
    step_features: dict[str, Feature] = {}
    for number, statement in statements(text):
        try:
            if statement.startswith("columns:"):
                if named or features or step_features:
                    raise TemplateError("'columns:' comes once, before all features")
                names, named = column_names(statement), True
                continue
            known = step_features if statement.startswith(STEP) else features
            parser = StatementParser(statement.removeprefix(STEP), names, known_file)
            for feature in parser.features():
                if feature.name in known:
                    raise TemplateError(
                        f"the feature {quoted(feature.name)} is there twice; remove one"
                    )
                known[feature.name] = feature
                if len(features) + len(step_features) > MOST_FEATURES:
                    raise too_many()
        except TemplateError as error:
            raise TemplateError(f"line {number}: {error}") from None
    if not features:
        last = 1 + text.count("\n")
        raise TemplateError(f"line {last}: the template ends without a feature; w[0] is one")
    return Template(text, names, tuple(features.values()), tuple(step_features.values()), files)
