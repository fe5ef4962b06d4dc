"""The template language: what each line stands for, and what is said about a line that is wrong."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.built_in_templates import BUILT_IN
from taut.text.template import parse_template, read_template
from taut.text.template_parts import MOST_FEATURES, Feature, Template, TemplateError, Term
from taut.text.transforms import Transform


def names(text):
    return [feature.name for feature in parse_template(text).features]


# --- what lines stand for ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w[0]", ["w[0]"]),
        ("w[-2..2]", ["w[-2]", "w[-1]", "w[0]", "w[1]", "w[2]"]),
        ("w[+1]", ["w[1]"]),
        ("2[-1]", ["2[-1]"]),
        ("w[-1]|w[0]", ["w[-1]|w[0]"]),
        ("w[0..1]|pos[0]", ["w[0]|pos[0]", "w[1]|pos[0]"]),
        ("w[0..1]|pos[0..1]", ["w[0]|pos[0]", "w[0]|pos[1]", "w[1]|pos[0]", "w[1]|pos[1]"]),
        ("lower(w[-1..0])", ["lower(w[-1])", "lower(w[0])"]),
        ("suffix(lower(w[0]), 1..2)", ["suffix(lower(w[0]),1)", "suffix(lower(w[0]),2)"]),
        ("lower(suffix(w[0], 3))", ["lower(suffix(w[0],3))"]),
        ("prefix(w[0..1], 1..2)", [f"prefix(w[{o}],{n})" for o in (0, 1) for n in (1, 2)]),
        ("BOS", ["__BOS__"]),
        ("EOS|w[0]", ["__EOS__|w[0]"]),
        ("BOS; EOS; w[0]", ["__BOS__", "__EOS__", "w[0]"]),
        ("# a comment; w[5]\n\n w[0] # another; w[7]\r\n\tw[1];;", ["w[0]", "w[1]"]),
        ("columns: form _x2; form[0]; _x2[0]; 1[0]", ["form[0]", "_x2[0]", "1[0]"]),
        (r'match(w[0..1], "[a-z]+")', [f'match(w[{o}],"[a-z]+")' for o in (0, 1)]),
        (
            r'test(w[0], "#;|") # "; w[1]' + '\ntest(lower(w[0]), "\\"")|w[0]; w[1]',
            ['test(w[0],"#;|")', r'test(lower(w[0]),"\"")|w[0]', "w[1]"],
        ),
        ('suffix(match(w[0], " +"), 1..2)', [f'suffix(match(w[0]," +"),{n})' for n in (1, 2)]),
        (" w [ -1 .. 0 ] | lower ( pos [ 0 ] ) ", [f"w[{o}]|lower(pos[0])" for o in (-1, 0)]),
    ],
)
def test_a_line_stands_for_these_features(text, expected):
    assert names(text) == expected


def test_a_feature_in_full():
    template = parse_template("columns: a b; BOS|suffix(lower(b[-3]), 2)|7[100]|EOS")
    suffix = (Transform("lower"), Transform("suffix", 2))
    assert template.columns == ("a", "b")
    assert template.features == (
        Feature(
            (Term(1, suffix, -3), Term(7, (), 100)),
            ("BOS", "EOS"),
            "__BOS__|suffix(lower(b[-3]),2)|7[100]|__EOS__",
        ),
    )
    assert template.n_columns == 8


def test_boundaries_alone_need_no_column():
    assert parse_template("BOS; EOS").n_columns == 0


@pytest.mark.parametrize(("name", "n_features"), [("chunking", 21), ("pos", 24), ("ner", 31)])
def test_built_in_templates(name, n_features):
    template = read_template(name)
    assert template.text == BUILT_IN[name]
    assert len(template.features) == n_features
    assert template.n_columns == (2 if name == "chunking" else 1)


@pytest.mark.parametrize(
    ("transform", "value", "result"),
    [
        (Transform("lower"), "McDonald-8", "mcdonald-8"),
        (Transform("prefix", 3), "McDonald-8", "McD"),
        (Transform("suffix", 3), "McDonald-8", "d-8"),
        (Transform("shape"), "McDonald-8", "XxXxxxxx-0"),
        (Transform("brief"), "McDonald-8", "XxXx-0"),
        (Transform("digits"), "McDonald-8", "McDonald-0"),
        (Transform("length"), "McDonald-8", "10"),
        (Transform("prefix", 2), "ab", "ab"),
        (Transform("prefix", 3), "ab", None),
        (Transform("suffix", 3), "ab", None),
        (Transform("shape"), "ÉÖß٣東", "XXx0東"),
        (Transform("brief"), "--11aA", "-0xX"),
        (Transform("length"), "", "0"),
        (Transform("shape"), "ǅa-½²", "Xx-½0"),
        (Transform("shape"), "", ""),
        (Transform("brief"), "U.S.-1995/96!!", "X.X.-0/0!"),
        (Transform("digits"), "٣²½x", "00½x"),
        (Transform("match", pattern="[0-9]+"), "McDonald-8", "8"),
        (Transform("match", pattern="[0-9]+$"), "8a", None),
        (Transform("test", pattern=r"^\u\l"), "McDonald-8", "true"),
        (Transform("test", pattern=r"^\u\l"), "mcDonald-8", "false"),
    ],
)
def test_transforms(transform, value, result):
    assert transform.apply(value) == result


# --- what is said about mistakes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["line 1", "without a feature", "w[0]"]),
        ("# nothing\n\n", ["line 3", "without a feature"]),
        ("w[0]\nword[0]", ["line 2", "no column 'word'", "w, pos", "columns: w pos"]),
        ("columns: a\nw[0]", ["line 2", "no column 'w'", "columns are a"]),
        ("1000[0]", ["line 1", "no column '1000'", "below 1000"]),
        ("00[0]", ["line 1", "no column '00'"]),
        ("w", ["line 1", "expected '['", "found the end", "'w'"]),
        ("w[0", ["line 1", "expected ']'", "the end"]),
        ("w[a]", ["line 1", "expected a number (offset)", "found 'a'"]),
        ("w[٣]", ["line 1", "expected a number (offset)", "found '٣'"]),
        ("w[0]]", ["line 1", "expected '|' or the end", "found ']'", "'w[0]]'"]),
        ("w[0] w[1]", ["line 1", "expected '|'", "found 'w'"]),
        ("w[0]|", ["line 1", "expected a column, a transform, BOS or EOS", "the end"]),
        ("|w[0]", ["line 1", "expected a column", "found '|'"]),
        ("w[1..-1]", ["line 1", "offset 1..-1", "between -100 and 100", "rises"]),
        ("w[101]", ["line 1", "offset 101", "between -100 and 100"]),
        ("w[99999]", ["line 1", "offset 99999", "between -100 and 100"]),
        ("suffix(w[0])", ["line 1", "expected ','", "suffix(w[0], 3)", "found ')'"]),
        ("prefix(w[0], 0)", ["line 1", "size 0", "between 1 and 20"]),
        ("prefix(w[0], 1..21)", ["line 1", "size 1..21", "between 1 and 20"]),
        ("match(w[0])", ["line 1", "expected ','", 'match(w[0], "[0-9]+")', "found ')'"]),
        ("test(w[0], a)", ["line 1", 'a regular expression in "..."', "found 'a'"]),
        ('test(w[0], "a)', ["line 1", 'a regular expression in "..."', "found '\"a)'"]),
        ('w[0]\ntest(w[0], "(a*)*")', ["line 2", "'(a*)*'", "may be empty"]),
        ('test(w[0], "\\1")', ["line 1", "has no meaning here"]),
        ("columns: match\nw[0]", ["line 1", "'match'", "another word"]),
        (
            "|".join(f'match(w[{k}], "{"a" * 250}")' for k in range(9)),
            ["line 1", "takes 2384 characters", "at most 2000"],
        ),
        ("lower(w[0], 2)", ["line 1", "expected ')'", "found ','"]),
        ("lower w[0]", ["line 1", "expected '('", "found 'w'"]),
        ("lower(BOS)", ["line 1", "no column 'BOS'"]),
        ("w[0]\nw[-1..1]", ["line 2", "'w[0]'", "twice", "remove"]),
        ("columns: w w\nw[0]", ["line 1", "two columns are named 'w'", "rename"]),
        ("columns:\nw[0]", ["line 1", "0 names", "columns: w pos"]),
        ("columns: w, pos\nw[0]", ["line 1", "'w,'", "another word"]),
        ("columns: lower\nw[0]", ["line 1", "'lower'", "another word"]),
        ("columns: BOS\nw[0]", ["line 1", "'BOS'", "another word"]),
        ("columns: 3\nw[0]", ["line 1", "'3'", "another word"]),
        ("w[0]\ncolumns: w", ["line 2", "'columns:'", "before all features"]),
        ("columns: w\ncolumns: v", ["line 2", "'columns:'", "once"]),
        ("w[-100..100]|w[-100..100]", ["line 1", "more than 1000 features", "narrower"]),
        ("lower(" * 9 + "w[0]" + ")" * 9, ["line 1", "more than 8 deep", "fewer"]),
        ("|".join(["w[0]"] * 11), ["line 1", "at most 10 terms"]),
    ],
)
def test_mistakes_are_named(text, parts):
    with pytest.raises(TemplateError) as caught:
        parse_template(text)
    for part in parts:
        assert part in str(caught.value)


def test_limits_are_inclusive():
    parse_template("lower(" * 8 + "w[0]" + ")" * 8)
    parse_template("|".join(["w[0]"] * 10))
    parse_template("999[-100..100]; prefix(w[0], 1..20)")
    exactly = "prefix(w[1..50], 1..20)"
    assert len(parse_template(exactly).features) == MOST_FEATURES
    with pytest.raises(TemplateError, match="more than 1000"):
        parse_template(exactly + "; BOS")


# --- nothing else ever comes out --------------------------------------------------------------

PIECES = [
    *("w", "pos", "[", "]", "(", ")", "|", ",", "..", "-", "+", ";", "#", "\n", " ", ":"),
    *("BOS", "EOS", "lower", "prefix", "suffix", "shape", "columns:", "0", "1", "7", "100", "é"),
    *("w[0]", "w[-2..2]", "suffix(w[0],1..3)", "step:", "match", '"', "\\", 'test(w[0],"a+")'),
]
anything = st.text() | st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def outcome(text):
    try:
        return parse_template(text)
    except TemplateError as error:
        return error


def check(result):
    if isinstance(result, Template):
        assert 1 <= len(result.features) <= MOST_FEATURES
        assert len({feature.name for feature in result.features}) == len(result.features)
    else:
        assert str(result).startswith("line ")
        assert len(str(result)) < 1000


@given(anything)
def test_any_text_is_a_template_or_a_template_error(text):
    check(outcome(text))


NAME = "n" * 90


@pytest.mark.parametrize(
    "text",
    [
        "lower(" * 15_000,
        "w[0]|" * 15_000,
        "w" * 90_000 + "[0]",
        "[" * 90_000,
        "w[" + "1" * 90_000 + "]",
        "\n" * 90_000,
        ";" * 90_000,
        " " * 90_000,
        "#" * 90_000,
        "w[0..1]|" * 9 + "w[0..1]",
        "|".join(["w[-100..100]"] * 10),
        "suffix(" * 8 + "w[-100..100]" + ",1..20)" * 8,
        "columns: " + " ".join(f"c{i}" for i in range(15_000)),
        "columns: " + " ".join(["c"] * 40_000),
        "columns: " + "c" * 8_000 + "\n" + "|".join(["c" * 8_000 + "[-1..0]"] * 10),
        f"columns: {NAME}\n" + "|".join([f"lower({NAME}[-1..0])"] * 10),
        "\n".join(f"w[{i}]" for i in range(-100, 101)) * 50,
        "w[0]\n" * 1_000_000,
        '"' * 90_000,
        '"' + "\\" * 90_000,
        '"' + r"\"" * 45_000,
        'test(w[0],"' + r"\"" * 45_000,
        '";' * 45_000,
        'match(w[0],"' * 8_000,
    ],
    ids=lambda text: f"{text[:20]!r} ({len(text)})",
)
def test_no_text_takes_long_or_much_memory(text):
    tracemalloc.start()
    result = outcome(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    check(result)
    # A list of a hundred thousand tokens takes 6 MB; quadratic work would make the suite hang.
    assert peak < 20e6


# --- where a template comes from --------------------------------------------------------------


def test_a_name_a_path_or_the_text_itself(tmp_path):
    path = tmp_path / "mine.template"
    path.write_text("w[0] # é\nBOS\n", "utf-8")
    for given_path in (path, str(path)):
        assert [f.name for f in read_template(given_path).features] == ["w[0]", "__BOS__"]
    assert read_template("chunking") == parse_template(BUILT_IN["chunking"])
    for text in ("w[0]", "BOS", " EOS ", "BOS|EOS", "BOS; EOS", "BOS\nEOS"):
        assert read_template(text) == parse_template(text)


def test_a_path_object_is_always_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "w[0]"
    path.write_text("pos[0]")
    assert read_template(path).features[0].name == "pos[0]"
    assert read_template("w[0]").features[0].name == "w[0]"


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbfcolumns: form\r\nform[0]\r\n")
    assert read_template(path).features[0].name == "form[0]"


@pytest.mark.parametrize("name", ["chunkin", "", "zero\0byte", "\ud800", "x" * 5000])
def test_what_is_neither_name_nor_file_nor_text(name):
    with pytest.raises(FileNotFoundError, match=r"chunking, pos, ner.*w\[0\]") as caught:
        read_template(name)
    assert len(str(caught.value)) < 500


def test_a_folder_is_no_template(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name the file"):
        read_template(tmp_path)


def test_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("w[0] # é".encode("latin-1"))
    with pytest.raises(TemplateError, match=r"latin\.txt: a template is UTF-8 text .*position"):
        read_template(path)


def test_mistakes_in_a_file_name_the_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("w[0]\nw[x]")
    with pytest.raises(TemplateError, match=r"mine\.txt, line 2: expected a number"):
        read_template(path)


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("# \n" * 100_000)
    with pytest.raises(TemplateError, match=r"corpus\.txt, .*100,000 characters; is it a"):
        read_template(path)


@pytest.mark.parametrize("template", [None, 3, ["w[0]"], b"w[0]"])
def test_other_types_are_refused(template):
    with pytest.raises(TypeError, match=r"a name .*, a path or a text is expected"):
        read_template(template)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sufix(w[0], 2)", "there is no transform 'sufix'; is suffix meant"),
        ("xyzzy(w[0])", "there is no transform 'xyzzy'; there are lower"),
    ],
)
def test_a_transform_that_is_misspelt(text, message):
    with pytest.raises(TemplateError, match=message):
        parse_template(text)
