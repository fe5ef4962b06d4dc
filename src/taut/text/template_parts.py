"""What a template consists of, however it was written."""

from typing import NamedTuple

from taut.text.transforms import NO_FILES, Transform
from taut.text.word_files import WordFiles

# No text, however odd, takes much time or memory to read.
LONGEST_TEXT = 100_000
MOST_FEATURES = 1000
FARTHEST = 100
MOST_TERMS = 10
MOST_COLUMNS = 1000
DEFAULT_NAMES = ("w", "pos")
HERE, FIRST, LAST = 0, 1, -1  # where offsets count from


class Term(NamedTuple):
    """A column, transformed, some tokens away."""

    column: int
    transforms: tuple[Transform, ...]  # innermost first
    offset: int
    # "": nothing is there outside the sentence; else "_B-1" or "_x+2" for "_B" and "_x".
    outside: str = ""
    origin: int = HERE  # or the FIRST or LAST token of the sentence


def is_vector(term: Term) -> bool:
    return bool(term.transforms) and term.transforms[-1].name == "vector"


class Feature(NamedTuple):
    terms: tuple[Term, ...]
    boundaries: tuple[str, ...]  # "BOS", "EOS": only there
    name: str  # "w[-1]|w[0]"
    # What stands before, between and behind the values of the terms; features whose texts are the
    # same share their attributes. None: the feature has its own, called name=value|value.
    texts: tuple[str, ...] | None = None


class Template(NamedTuple):
    text: str
    columns: tuple[str, ...]
    features: tuple[Feature, ...]
    # Of the step into a token: they go with the label before as well as the token's own.
    step_features: tuple[Feature, ...] = ()
    files: WordFiles = NO_FILES  # those that it names, in the order in which they are named

    @property
    def n_columns(self) -> int:
        """How many columns the data must have at least."""
        features = self.features + self.step_features
        used = [term.column + 1 for feature in features for term in feature.terms]
        return max(used, default=0)


class TemplateError(ValueError):
    """A template that cannot be understood; names line and place."""


def too_many() -> TemplateError:
    return TemplateError(f"more than {MOST_FEATURES} features; use fewer or narrower ranges")


def quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
