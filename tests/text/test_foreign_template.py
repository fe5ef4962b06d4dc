"""Templates of CRF++ and Wapiti as they are: the same attributes as a plain reading gives them."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import taut
from taut import ChainSVM
from taut.chain.packed_encoder import pack_encoder, unpack_encoder
from taut.cli import main
from taut.text import extract
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.template import parse_template, read_template
from taut.text.template_parts import TemplateError

CHUNKING = """
# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]

U05:%x[-1,0]/%x[0,0]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]

# Bigram
B
B01:%x[-1,1]/%x[0,0]
"""

# --- a plain reading, string by string ------------------------------------------------------------


def macro_value(macro, sentence, t, prefix):
    command, origin, offset, column, pattern = macro
    place = {"": t + offset, "@": offset - 1 if offset >= 0 else offset + len(sentence)}[origin]
    if place < 0:
        value = prefix + ("-#" if place < -4 else str(place))
    elif place >= len(sentence):
        beyond = place - len(sentence) + 1
        value = prefix + ("+#" if beyond > 4 else f"+{beyond}")
    else:
        value = sentence[place][column]
    # The patterns used here mean the same to Python.
    match = pattern and re.search(pattern.replace(r"\u", "[A-Z]"), value)
    if command in "tT":
        value = "true" if match else "false"
    if command in "mM":
        value = match[0] if match else ""
    return value.lower() if command.isupper() else value


def observation(line, sentence, t, prefix):
    """A line is [text, macro, text, macro, ..., text]."""
    macros = [macro_value(macro, sentence, t, prefix) for macro in line[1::2]]
    text = "".join(a + b for a, b in zip(line[::2], [*macros, ""], strict=True))
    return text if prefix == "_B" else text[0].lower() + text[1:]


def written(line):
    macros = [
        f"%{command}[{origin}{offset},{column}" + (f',"{pattern}"]' if pattern else "]")
        for command, origin, offset, column, pattern in line[1::2]
    ]
    return "".join(a + b for a, b in zip(line[::2], [*macros, ""], strict=True))


def rows_of(encoder, matrix):
    """Of each token, how often it has which attribute."""
    names = np.array(encoder.names(), object)
    pieces = np.split(np.arange(matrix.nnz), matrix.indptr[1:-1])
    return [
        dict(zip(names[matrix.indices[piece]], matrix.data[piece].tolist(), strict=True))
        for piece in pieces
    ]


def expected_rows(lines, sentences, prefix, of_steps=False):
    kinds = "bB*" if of_steps else "uU*"
    lines = [line for line in lines if line[0][0] in kinds and (len(line) > 1 or not of_steps)]
    return [
        dict(Counter(observation(line, s, t, prefix) for line in lines if t > 0 or not of_steps))
        for s in sentences
        for t in range(len(s))
    ]


# Signs that stand between values stand in none of them: two ways to the same text are two
# attributes here, but one there.
rows = st.tuples(st.text("aBc", min_size=1, max_size=2), st.sampled_from(["N", "V"]))
texts = st.lists(st.lists(rows, min_size=1, max_size=7), min_size=1, max_size=4)
columns = st.integers(0, 1)
no_pattern = st.just("")
plain = st.tuples(st.just("x"), st.just(""), st.integers(-4, 4), columns, no_pattern)
origins = st.sampled_from(["", "", "@"])
of_wapiti = st.tuples(
    st.sampled_from("xX"), origins, st.integers(-6, 6), columns, no_pattern
) | st.tuples(
    st.sampled_from("tTmM"),
    origins,
    st.integers(-6, 6),
    columns,
    st.sampled_from(["^.?.?", ".?$", r"^\u", "a", "[x]"[1], r"\u.?"]),
)


def lines_of(macros, kinds):
    def line(parts):
        head, inner = parts
        between = [piece for macro in inner for piece in (macro, "/")]
        return [head, *between[:-1], ""] if inner else [head]

    heads = st.tuples(st.sampled_from(kinds), st.sampled_from([":", "0:", "1:"])).map("".join)
    return st.lists(
        st.tuples(heads, st.lists(macros, max_size=3)).map(line), min_size=1, max_size=6
    )


@pytest.mark.parametrize(
    ("prefix", "macros", "kinds", "first"),
    [
        ("_B", plain, "UB", ["U:", ("x", "", 0, 0, ""), ""]),
        ("_x", plain | of_wapiti, "uUbB*", ["u:", ("x", "", 0, 0, ""), ""]),
    ],
    ids=["CRF++", "Wapiti"],
)
@given(data=st.data(), train=texts, test=texts, most=st.sampled_from([2**62, 50]))
def test_attributes_are_those_of_a_plain_reading(
    prefix, macros, kinds, first, data, train, test, most
):
    lines = [first, *data.draw(lines_of(macros, kinds))]
    template = parse_template("\n".join(map(written, lines)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extract, "MOST_CODES", most)
        whole = TemplateEncoder(template)
        encoders = [TemplateEncoder(template._replace(step_features=()))]
        encoders += [whole.steps] if whole.steps else []
        for encoder in encoders:
            expected = expected_rows(lines, train, prefix, encoder.of_steps)
            matrix = encoder.fit_transform(Columns.from_sentences(train))
            assert matrix.has_canonical_format
            assert rows_of(encoder, matrix) == expected
            assert len(set(encoder.names())) == encoder.n_attributes
            known = set().union(*expected)
            assert rows_of(encoder, encoder.transform(Columns.from_sentences(test))) == [
                {name: value for name, value in row.items() if name in known}
                for row in expected_rows(lines, test, prefix, encoder.of_steps)
            ]
            encoder.check()


# --- by example -----------------------------------------------------------------------------------


def test_a_template_of_CRFpp_by_hand(tmp_path):
    path = tmp_path / "template"
    path.write_text(CHUNKING.replace("\n", "\r\n"))
    template = read_template(path)
    assert [f.name for f in template.features][3:] == [
        "U05:%x[-1,0]/%x[0,0]",
        "U20:%x[-2,1]/%x[-1,1]/%x[0,1]",
    ]
    assert [f.name for f in template.step_features] == ["B01:%x[-1,1]/%x[0,0]"]
    assert template.n_columns == 2
    text = Columns.from_sentences([[("the", "DT"), ("cat", "NN")]])
    encoder = TemplateEncoder(template._replace(step_features=()))
    assert rows_of(encoder, encoder.fit_transform(text)) == [
        dict.fromkeys(["U00:_B-2", "U01:_B-1", "U02:the", "U05:_B-1/the", "U20:_B-2/_B-1/DT"], 1.0),
        dict.fromkeys(["U00:_B-1", "U01:the", "U02:cat", "U05:the/cat", "U20:_B-1/DT/NN"], 1.0),
    ]
    steps = TemplateEncoder(template).steps
    assert rows_of(steps, steps.fit_transform(text)) == [{}, {"B01:DT/cat": 1.0}]


def test_patterns_of_wapiti_by_hand():
    template = parse_template(
        '*\nU:Wrd X=%x[ 0,0]  # a comment\n*:Caps=%t[-1,0,"\\u"]\nu:suf=%M[0,0,".?.?$"]\n'
        "b\nu:first=%X[@1,0]/%x[@-1,0]\nu:%x[+5,0]"
    )
    encoder = TemplateEncoder(template._replace(step_features=()))
    text = Columns.from_sentences([["The", "BIG", "x"]])
    assert [list(row) for row in rows_of(encoder, encoder.fit_transform(text))] == [
        ["*", "u:Wrd X=The", "*:Caps=false", "u:suf=he", "u:first=the/x", "u:_x+3"],
        ["*", "u:Wrd X=BIG", "*:Caps=true", "u:suf=ig", "u:first=the/x", "u:_x+4"],
        ["*", "u:Wrd X=x", "*:Caps=true", "u:suf=x", "u:first=the/x", "u:_x+#"],
    ]
    assert [f.name for f in template.step_features] == ['*:Caps=%t[-1,0,"\\u"]']


def test_lines_of_one_name_make_a_bag_of_words():
    encoder = TemplateEncoder(parse_template("U:%x[-1,0]\nU:%x[1,0]\nU1:%x[0,1]"))
    text = Columns.from_sentences([[("a", "N"), ("b", "N"), ("a", "V")]])
    rows = rows_of(encoder, encoder.fit_transform(text))
    assert rows[1] == {"U:a": 2.0, "U1:N": 1.0}
    assert rows[0] == {"U:_B-1": 1.0, "U:b": 1.0, "U1:N": 1.0}


def test_rare_attributes_of_a_bag_are_left_out():
    encoder = TemplateEncoder(parse_template("U:%x[-1,0]\nU:%x[1,0]"), min_freq=2)
    encoder.fit_transform(Columns.from_sentences([["a", "b", "a", "c"]]))
    assert encoder.names() == ["U:a", "U:b"]  # each beside two tokens; c is beside one


def test_what_stands_outside_is_seen_by_macros_of_wapiti():
    encoder = TemplateEncoder(parse_template('u:%t[-1,0,"^_x"]/%M[1,0,"X.*$"]'))
    text = Columns.from_sentences([["aX"]])
    assert list(rows_of(encoder, encoder.fit_transform(text))[0]) == ["u:true/"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("U00:%x[0,0]\nw[0]", ["line 2", "'w[0]' begins with 'w'", "U, B or *"]),
        ("U00:%x[0,0]\nU:%y[0,0]", ["line 2", "begins no macro", "%x[-1,0]"]),
        ("U00:%x[0,0]\nU:%x[0]", ["line 2", "begins no macro", "offset and column"]),
        ("U00:%x[0,0] 100%", ["line 1", "begins no macro"]),
        ("U:%x[0,1000]", ["line 1", "'%x[0,1000]'", "column below 1000"]),
        ("U:%x[-101,0]", ["line 1", "from -100 to 100"]),
        ("u:%x[*1,0]", ["line 1", "takes its offset from the data", "add a column"]),
        ("u:%t[0,0]", ["line 1", "'%t[0,0]'", "a regular expression"]),
        ('u:%x[0,0,"a"]', ["line 1", "nothing more for %x"]),
        ('u:%x[0,0]\nu:%m[0,0,"**"]', ["line 2", "repeats nothing by '*'"]),
        ("B00:%x[0,0]\nB", ["line 2", "without a feature of a token", "U00:%x[0,0]"]),
        ("U:" + "%x[0,0]" * 11, ["line 1", "at most 10 macros"]),
        ("U:%x[0,0]" + "a" * 1000, ["line 1", "1009 characters; at most 1000"]),
        ("\n".join(f"U{k}:%x[0,0]" for k in range(1001)), ["line 1001", "more than 1000 features"]),
    ],
)
def test_mistakes_are_named(text, parts):
    with pytest.raises(TemplateError) as caught:
        parse_template(text)
    for part in parts:
        assert part in str(caught.value)


PIECES = ["U", "u:", "B", "*", "%x[", "%m[", "0,0", "]", '"', "\\", ",", "#", "\n", "@", "-1", "a*"]
pieces = st.lists(st.sampled_from([*PIECES, "%x[0,0]", '%t[0,0,"\\u"]']), max_size=30)


@given(pieces.map("".join))
def test_any_text_is_a_template_or_a_template_error(text):
    try:
        outcome = parse_template("U:%x[0,0]\n" + text)._replace(step_features=())
    except TemplateError as error:
        outcome = str(error)
    if isinstance(outcome, str):
        assert outcome.startswith("line ")
        assert len(outcome) < 1000
    elif outcome.n_columns == 1:
        TemplateEncoder(outcome).fit_transform(Columns.from_sentences([["a", "b"]]))


@pytest.mark.parametrize(
    "text",
    ["U:%x[0,0]" + "\n" * 90_000, "U:%x[0,0]" + " " * 90_000, '%m[0,0,"' * 11_000,
     "%x[" * 30_000, "U:%x[0,0]\n" * 9_000, 'u:%m[0,0,"' + "\\a" * 45_000],
    ids=lambda text: f"{text[:20]!r} ({len(text)})",
)  # fmt: skip
def test_no_text_takes_long(text):
    with pytest.raises(TemplateError) if "%m" in text or "%x[%" in text else _nothing(text):
        parse_template(text)


class _nothing:
    """Nothing is said; or that there are too many features."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        return isinstance(error, TemplateError) and "more than 1000" in str(error)


# --- steps ----------------------------------------------------------------------------------------


def test_features_of_steps_in_taut_s_own_language():
    template = parse_template("w[0]; step: w[-1]|w[0]; step:lower(w[0..1])")
    assert [f.name for f in template.features] == ["w[0]"]
    assert [f.name for f in template.step_features] == [
        "w[-1]|w[0]",
        "lower(w[0])",
        "lower(w[1])",
    ]
    steps = TemplateEncoder(template).steps
    text = Columns.from_sentences([["A", "b", "A"], ["b"], ["b", "A"]])
    matrix = steps.fit_transform(text)
    assert matrix.shape == (6, 5)
    assert [sorted(row) for row in rows_of(steps, matrix)] == [
        [],
        ["lower(w[0])=b", "lower(w[1])=a", "w[-1]|w[0]=A|b"],
        ["lower(w[0])=a", "w[-1]|w[0]=b|A"],
        [],
        [],
        ["lower(w[0])=a", "w[-1]|w[0]=b|A"],
    ]
    assert (steps.transform(text) != matrix).nnz == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("step: w[0]", ["line 1", "without a feature"]),
        ("w[0]\nstep: w[0]\nstep: w[-1..0]", ["line 3", "'w[0]'", "twice"]),
        ("w[0]\nstep:", ["line 2", "expected a column"]),
        ("step: w[0]\ncolumns: w", ["line 2", "'columns:'", "before all features"]),
        ("w[0]; step: prefix(w[1..50], 1..20)", ["more than 1000 features"]),
        ("w[0]; step: step: w[0]", ["no column 'step'"]),
    ],
)
def test_mistakes_in_steps_are_named(text, parts):
    with pytest.raises(TemplateError) as caught:
        parse_template(text)
    for part in parts:
        assert part in str(caught.value)


def test_columns_of_steps_count_too():
    template = parse_template("w[0]; step: pos[0]")
    assert template.n_columns == 2
    with pytest.raises(ValueError, match="uses column 1"):
        TemplateEncoder(template).steps.fit_transform(Columns.from_sentences([["a"]]))


@pytest.mark.parametrize("text", [CHUNKING, "w[0]; step: lower(w[-1])|w[0]; step: pos[0]"])
def test_an_encoder_with_steps_comes_back_from_a_file(text):
    encoder = TemplateEncoder(parse_template(text))
    train = Columns.from_sentences([[("the", "DT"), ("Cat", "NN"), ("a", "DT")]])
    expected = encoder.fit_transform(train), encoder.steps.fit_transform(train)
    arrays = {}
    about = pack_encoder(encoder, arrays)
    again = unpack_encoder(about, arrays)
    assert (again.names(), again.steps.names()) == (encoder.names(), encoder.steps.names())
    for matrix, found in zip(expected, (again, again.steps), strict=True):
        assert (found.transform(train) != matrix).nnz == 0
    for damage in ({"step_stages": about["step_stages"][1:]}, {"step_stages": None}):
        with pytest.raises(ValueError, match="do not belong to its template"):
            unpack_encoder(about | damage, arrays)
    with pytest.raises(ValueError, match="parts that do not exist"):
        unpack_encoder(about, arrays | {"step.codes.0.0": np.array([10**6])})
    with pytest.raises(KeyError):
        unpack_encoder({k: v for k, v in about.items() if k != "step_stages"}, arrays)


# --- models ---------------------------------------------------------------------------------------


def test_a_model_of_a_template_of_CRFpp_comes_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "template").write_text("U:%x[-1,0]\nU:%x[1,0]\nU1:%x[0,0]\nB\n")
    sentences = [["the", "cat", "ran"], ["a", "dog"], ["the", "the", "the"]]
    tags = [["D", "N", "V"], ["D", "N"], ["D", "D", "D"]]
    clf = ChainSVM(template="template", random_state=0).fit(sentences, tags)
    clf.save("model.taut")
    again = taut.load("model.taut")
    assert again.predict(sentences) == clf.predict(sentences) == tags
    weights = {name: weight for name, weight in clf.state_features_.items() if weight}
    assert ("U:the", "D") in weights
    assert {name: w for name, w in again.state_features_.items() if w} == pytest.approx(weights)


def test_the_command_line_reads_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("the DT D\ncat NN N\n\na DT D\ndog NN N\n\n")
    (tmp_path / "patterns").write_text('*\nu:%x[0,0]\nu:%t[0,1,"^N"]  # names of things\n')
    train = ["train", "train.txt", "-o", "m.taut", "--quiet", "--template"]
    assert main([*train, "patterns"]) == 0
    assert main(["tag", "-m", "m.taut", "train.txt"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert [row[2] for row in rows] == [row[3] for row in rows] == ["D", "N", "D", "N"]
    assert main([*train, "U:%x[0,1]\nB:%x[0,0]"]) == 0
    assert main(["inspect", "m.taut", "--weights", "-"]) == 0
    assert "transition:B:cat\tD\tN\t" in capsys.readouterr().out
