"""Our own regular expressions find what Python's find, in a time that is bounded."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text import regex
from taut.text.regex import PatternError, Regex
from taut.text.regex_syntax import as_in_wapiti, python_like


def found(pattern, text):
    return Regex(python_like(pattern)).find(text)


def by_python(pattern, text):
    # Python's $ also matches before a last line end.
    match = re.search(pattern.replace("$", r"\Z"), text, re.DOTALL)
    return match and match[0]


atoms = st.sampled_from([*"ab.x^$-", "[ab]", "[^a1]", "[a-c-]", r"\d", r"\w", r"\.", "(?:ab)"])
repeats = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "??"])
patterns = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4).map("".join)
        | st.tuples(inner, inner).map("({0[0]}|{0[1]})".format)
        | st.tuples(inner, repeats).map("({0[0]}){0[1]}".format)
    ),
    max_leaves=8,
)


@given(patterns, st.lists(st.text("abx1-.\n", max_size=8), max_size=5))
def test_the_match_is_that_of_python(pattern, texts):
    try:
        node = Regex(python_like(pattern))
    except PatternError as error:
        reason = str(error)
        node = None
    if node is None:
        assert "may be empty" in reason
        return
    for text in texts:
        assert node.find(text) == by_python(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\u\l+", "McDonald-8", "Mc"),
        (r"\u\l{2,}", "McDonald-8", "Donald"),
        (r"\a+$", "McDonald-8", None),
        (r"\p\d", "McDonald-8", "-8"),
        (r"\L+", "abÉÖ1c", "ÉÖ1"),
        (r"[\u\d]+", "aÉ9b", "É9"),
        (r"[^\p]+", "«né»", "né"),
        ("", "abc", ""),
        ("b*", "abc", ""),
        ("a|ab", "ab", "a"),
        ("", "", ""),
        ("^$", "", ""),
        ("^$", "a", None),
        (r"\]\[\\", "[]][\\", "][\\"),
    ],
)
def test_signs_and_kinds(pattern, text, expected):
    assert found(pattern, text) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", r"not closed; write \\\("),
        (")", r"closes nothing; write \\\)"),
        ("[a", "not closed"),
        ("[]", "holds nothing"),
        ("[z-a]", "from one sign up to another"),
        (r"[a-\d]", "from one sign up to another"),
        ("*a", "nothing stands before"),
        ("a**", "a repetition of a repetition"),
        ("(a*)*", "what is repeated may be empty"),
        ("(|a)+", "what is repeated may be empty"),
        ("a{", "is followed by numbers"),
        ("a{x}", "is followed by numbers"),
        ("a{٣}", "is followed by numbers"),
        ("a{2,1}", "should rise, up to 100"),
        ("a{101}", "should rise, up to 100"),
        ("a{99999999999999999999}", "should rise, up to 100"),
        ("a{1,99999999999999999999}", "should rise, up to 100"),
        ("(?=a)", "nothing else begins with"),
        (r"(a)\1", "has no meaning here"),
        (r"\b", "has no meaning here"),
        ("\\", "has no meaning here"),
        ("a" * 501, "501 characters; at most 500"),
        ("(" * 400, "nested more than 20 deep"),
        ("((a{100}){100}){100}", "too large; use fewer"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern, message):
    with pytest.raises(PatternError, match=message):
        Regex(python_like(pattern))


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+b", "(a|aa)+$", "a*" * 8 + "b", "a?" * 150 + "a" * 150, "(a|b|ab)*c", "(.a|a.)*x"],
)
def test_the_time_grows_as_the_text(pattern):
    """Python's own would take longer than the universe has been there."""
    node = Regex(python_like(pattern))
    begin = time.process_time()
    node.find("a" * 20_000)
    assert time.process_time() - begin < 5


def test_what_is_remembered_is_limited(monkeypatch):
    """This pattern has 2^12 states, more than may be kept, and still finds what it should."""
    monkeypatch.setattr(regex, "MOST_REMEMBERED", 500)
    node = Regex(python_like("a.{11}c"))
    text = "".join("ab"[(k * k // 7) % 2] for k in range(3000)) + "a" + "b" * 11 + "c"
    assert node.find(text) == by_python("a.{11}c", text)
    for automaton in (node._forwards, node._backwards):
        assert len(automaton._states) <= 500


# --- Wapiti's -----------------------------------------------------------------------------------


def by_wapiti_rules(pattern, text):
    """Its rules, one after the other: the shortest ``*``, the longest ``?``, from the left."""

    def fits(sign, character):
        if sign == ".":
            return True
        kinds = {"a": str.isalpha, "d": str.isdigit, "l": str.islower, "u": str.isupper}
        kinds |= {"w": str.isalnum, "s": str.isspace, "p": lambda c: c in "-.+"}
        if sign[0] == "\\" and sign[1].lower() in kinds:
            return kinds[sign[1].lower()](character) == sign[1].islower()
        return sign[-1] == character

    def end_of(rest, at):
        if not rest:
            return at
        if rest == "$":
            return at if at == len(text) else None
        sign = rest[:2] if rest[0] == "\\" else rest[0]
        follows, beyond = rest[len(sign) :][:1], rest[len(sign) + 1 :]
        here = at < len(text) and fits(sign, text[at])
        if follows == "*":
            end = end_of(beyond, at)
            return end_of(rest, at + 1) if end is None and here else end
        if follows == "?":
            end = end_of(beyond, at + 1) if here else None
            return end_of(beyond, at) if end is None else end
        return end_of(rest[len(sign) :], at + 1) if here else None

    anchored = pattern.startswith("^")
    for begin in [0] if anchored else range(len(text) + 1):
        end = end_of(pattern[anchored:], begin)
        if end is not None:
            return text[begin:end]
    return None


signs = st.sampled_from(
    [*"ab.A1-", r"\u", r"\l", r"\D", r"\d", r"\w", r"\p", r"\.", r"\*", "+", "("]
)
wapiti = st.tuples(
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(signs, st.sampled_from(["", "", "*", "?"])).map("".join), max_size=5),
    st.sampled_from(["", "$"]),
).map(lambda parts: parts[0] + "".join(parts[1]) + parts[2])


@given(wapiti, st.lists(st.text("abA1-.+", max_size=7), max_size=5))
def test_patterns_of_wapiti_follow_its_rules(pattern, texts):
    node = Regex(as_in_wapiti(pattern))
    for text in texts:
        assert node.find(text) == by_wapiti_rules(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("*a", "repeats nothing"),
        ("a**", "repeats nothing"),
        ("a\\", "backslash"),
        ("a" * 501, "500"),
    ],
)
def test_patterns_that_wapiti_would_refuse(pattern, message):
    with pytest.raises(PatternError, match=message):
        as_in_wapiti(pattern)
