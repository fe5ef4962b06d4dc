"""Gazetteers, clusters and vectors: found as a plain loop finds them, and kept in the model."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import taut
from taut import ChainSVM
from taut.chain.file import load_chain
from taut.cli import main
from taut.files.model_file import ModelFileError, pack_strings, read_model, write_model
from taut.text import word_files
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.phrases import Phrases
from taut.text.template import parse_template, read_template
from taut.text.template_parts import TemplateError
from taut.text.word_files import Clusters, Vectors, read_word_file

CITIES = "York\nNew York\tcity\n\nNew York Times\tpaper\nnew\tword\nYork\tname\n"
PATHS = "00\tcat\t5\n0011\tdog\t3\n1\tran\n"
VECTORS = "3 2\ncat 3 0\ndog 0 4\nran -5 0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cities.txt").write_text(CITIES)
    (tmp_path / "paths.txt").write_text(PATHS)
    (tmp_path / "vectors.txt").write_text(VECTORS)
    return tmp_path


def encoded(template, sentences):
    """The encoder, and of each token its attributes with their values."""
    encoder = TemplateEncoder(parse_template(template))
    matrix = encoder.fit_transform(Columns.from_sentences(sentences))
    assert matrix.shape == (sum(map(len, sentences)), encoder.n_attributes)
    return encoder, named(encoder, matrix)


def named(encoder, matrix):
    names = encoder.names()
    assert len(names) == encoder.n_attributes
    return [
        {names[k]: row[k] for k in np.flatnonzero(row)} for row in matrix.toarray()
    ]  # fmt: skip


# --- gazetteers -----------------------------------------------------------------------------------


def test_tokens_of_the_longest_phrase_are_marked(folder):
    name = 'gazetteer(w[0],"cities.txt")'
    sentence = ["The", "New", "York", "Times", "of", "New", "York", "York", "new"]
    _, rows = encoded(name, [sentence, ["York"]])
    marks = [None, "B-paper", "I-paper", "I-paper", None, "B-city", "I-city", "B-name", "B-word"]
    assert [row.get(f"{name}={mark}") for row, mark in zip(rows, marks, strict=False)] == [
        mark and 1.0 for mark in marks
    ]


def test_phrases_end_with_the_sentence(folder):
    _, rows = encoded('gazetteer(w[0], "cities.txt")', [["New"], ["York", "Times"], ["x"]])
    assert [list(row) for row in rows] == [[], ['gazetteer(w[0],"cities.txt")=B-name'], [], []]


def test_what_is_done_to_words_is_done_to_phrases(folder):
    _, rows = encoded('gazetteer(lower(w[-1]), "cities.txt")', [["NEW", "york", "Times", "NEW"]])
    name = 'gazetteer(lower(w[-1]),"cities.txt")'
    assert [list(row) for row in rows] == [[], *([f"{name}={p}-paper"] for p in "BII")]


def test_marks_stand_in_conjunctions(folder):
    _, rows = encoded('gazetteer(w[0], "cities.txt")|w[1]', [["new", "x"]])
    assert [list(row) for row in rows] == [['gazetteer(w[0],"cities.txt")|w[1]=B-word|x'], []]


def marks_of_a_plain_loop(phrases, sentence):
    marks, t = [], 0
    while t < len(sentence):
        found = [p for p in phrases if tuple(sentence[t : t + len(p)]) == p]
        longest = max(found, key=len, default=None)
        marks += (
            [f"B-{phrases[longest]}"] + [f"I-{phrases[longest]}"] * (len(longest) - 1)
            if longest
            else [None]
        )
        t = len(marks)
    return marks


letters = st.sampled_from("abc")
some_phrases = st.dictionaries(
    st.lists(letters, min_size=1, max_size=4).map(tuple), st.sampled_from(["x", "y"]), min_size=1
)
some_texts = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9), min_size=1)


@given(some_phrases, some_texts, some_texts)
def test_marks_are_those_of_a_plain_loop(phrases, train, test):
    lines = [" ".join(words) + "\t" + kind for words, kind in phrases.items()]
    template = parse_template('gazetteer(w[0], "f")', lambda kind, name: Phrases.from_lines(lines))
    encoder = TemplateEncoder(template)
    encoder.fit_transform(Columns.from_sentences(train))
    known = {mark for sentence in train for mark in marks_of_a_plain_loop(phrases, sentence)}
    for text in (train, test):
        rows = named(encoder, encoder.transform(Columns.from_sentences(text)))
        marks = [mark for sentence in text for mark in marks_of_a_plain_loop(phrases, sentence)]
        assert rows == [
            {f'gazetteer(w[0],"f")={mark}': 1.0} if mark and mark in known else {} for mark in marks
        ]


def test_a_million_phrases_cost_no_more_than_a_few():
    """What is looked at per token does not depend on how many phrases there are."""
    phrases = Phrases.from_lines(f"w{k} w{k + 1} w{k + 2}" for k in range(100_000))
    assert len(phrases.tree((), ()).labels) == 100_000
    values = [f"w{k}" for k in range(50)]
    after = np.arange(999, -1, -1)
    marks = phrases.mark(phrases.tree((), ()), values, np.arange(1000) % 50, after)
    assert (marks >= 0).sum() == 20 * 48


# --- clusters -------------------------------------------------------------------------------------


def test_the_path_of_a_cluster_and_its_beginnings(folder):
    _, rows = encoded(
        'cluster(w[0], "paths.txt", 1..2, 4); cluster(lower(w[0]), "paths.txt")',
        [["cat", "dog", "DOG", "ran", "x"]],
    )
    values = [{name.partition("=")[2] for name in row} for row in rows]
    assert values == [{"0", "00"}, {"0", "00", "0011"}, {"0011"}, {"1"}, set()]
    assert len(rows[1]) == 4
    assert 'cluster(w[0],"paths.txt",4)=0011' in rows[1]
    assert 'cluster(w[0],"paths.txt",4)=00' in rows[0]  # all of it, where it is shorter


# --- vectors --------------------------------------------------------------------------------------


def test_vectors_are_attributes_with_values(folder):
    encoder, rows = encoded('w[0]; vector(w[-1..0], "vectors.txt")', [["cat", "x", "dog"]])
    scale = np.sqrt(3 / (9 + 16 + 25))  # the mean squared length is 1
    before, here = (f'vector(w[{k}],"vectors.txt")' for k in (-1, 0))
    expected = [
        {"w[0]=cat": 1, f"{here}:0": 3 * scale},
        {"w[0]=x": 1, f"{before}:0": 3 * scale},
        {"w[0]=dog": 1, f"{here}:1": 4 * scale},
    ]
    for row, values in zip(rows, expected, strict=True):
        assert row == pytest.approx(values, rel=1e-6)  # float32
    assert encoder.names()[-4:] == [f"{name}:{k}" for name in (before, here) for k in (0, 1)]


def test_vectors_of_words_not_seen_in_training_are_known(folder):
    encoder, _ = encoded('vector(lower(w[0]), "vectors.txt")', [["cat"]])
    matrix = encoder.transform(Columns.from_sentences([["RAN", "x"]]))
    assert matrix.toarray()[:, 0] == pytest.approx([-5 * np.sqrt(3 / 50), 0], rel=1e-6)


def test_attributes_of_vectors_that_are_not_kept_are_gone(folder):
    encoder, _ = encoded('w[0]; vector(w[0..1], "vectors.txt")', [["cat", "dog"]])
    names = encoder.names()
    text = Columns.from_sentences([["cat", "dog", "ran"]])
    before = encoder.transform(text).toarray()
    wanted = np.array([True, False, False, True, True, False])
    encoder.keep(wanted)
    encoder.check()
    assert encoder.names() == [n for n, flag in zip(names, wanted, strict=True) if flag]
    assert np.array_equal(encoder.transform(text).toarray(), before[:, wanted])


def test_vectors_of_steps(folder):
    steps = TemplateEncoder(parse_template('w[0]; step: vector(w[0], "vectors.txt")')).steps
    matrix = steps.fit_transform(Columns.from_sentences([["cat", "dog"], ["ran"]]))
    assert np.count_nonzero(matrix.toarray(), axis=1).tolist() == [0, 1, 0]


def test_vectors_without_a_header_and_words_that_are_there_twice():
    vectors = Vectors.from_lines(["a 1 0 ", "b 0 1", "a 5 5", ""])
    assert vectors.words == ["a", "b"]
    assert vectors.values.tolist() == [[1, 0], [0, 1]]
    assert Vectors.from_lines(["a 0 0"]).values.tolist() == [[0, 0]]


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("gazetteer", "a\n\tcity\n", r"words\.txt: line 2: a phrase of 0 words"),
        ("gazetteer", "a " * 101, "line 1: a phrase of 101 words; 1 to 100"),
        ("cluster", "01\ta\n01 b\n", r"line 2: '01 b' should be bits, a tab and a word"),
        ("cluster", "a\t01\n", "line 1: 'a' should be the path of a cluster"),
        ("cluster", "\ta\n", "line 1: '' should be the path"),
        ("cluster", "0" * 1001 + "\ta\n", "1 to 1000 signs"),
        ("vector", "a 1 2\nb 1\n", "line 2: 'b 1' should be a word and 2 finite numbers"),
        ("vector", "a 1 x\n", "line 1: 'a 1 x' should be a word and 2 finite numbers"),
        ("vector", "a 1 nan\n", "finite numbers"),
        ("vector", "a 1e38\n", "finite numbers"),
        ("vector", "a\n", "should be a word and its finite numbers"),
        ("vector", "", "holds no vectors"),
        ("vector", "1 2\n", "holds no vectors"),
        ("cluster", b"01\t\xff\n", "not UTF-8 text"),
    ],
)
def test_mistakes_in_files_are_named(kind, content, message, tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_word_file(kind, str(path))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('w[0]\ncluster(w[0], "none.txt")', ["line 2", "no file 'none.txt'", "folder"]),
        ('cluster(w[0], "a\0b")', ["line 1", "no file"]),
        ("cluster(w[0])", ["line 1", "expected ','", 'cluster(w[0], "words.txt")']),
        ('cluster(w[0], "paths.txt", 0)', ["line 1", "size 0", "between 1 and 100"]),
        ('vector(w[0], "vectors.txt")|w[0]', ["line 1", "a vector is a feature of its own"]),
        ('lower(vector(w[0], "vectors.txt"))', ["nothing can be made of a vector", "lower()"]),
        ('lower(gazetteer(w[0], "cities.txt"))', ["nothing can be made of a gazetteer"]),
        ('gazetteer(w[0], "vectors.txt", 3)', ["line 1", "expected ')'"]),
        ('vector(w[0], "cities.txt")', ["line 1", "cities.txt: line 1"]),
    ],
)
def test_mistakes_in_templates_are_named(folder, text, parts):
    with pytest.raises(TemplateError) as caught:
        parse_template(text)
    for part in parts:
        assert part in str(caught.value)


def test_files_that_a_model_cannot_hold_are_refused(folder, monkeypatch):
    monkeypatch.setattr(word_files, "MOST_BYTES", 20)
    with pytest.raises(ValueError, match=r"3 vectors of 2 numbers are more than .* one file"):
        read_word_file("vector", "vectors.txt")
    with pytest.raises(ValueError, match=r"paths\.txt: \d+ bytes are more than .* matter most"):
        read_word_file("cluster", "paths.txt")


def test_names_count_from_the_folder_of_the_template(folder, monkeypatch, tmp_path_factory):
    (folder / "mine.template").write_text('w[0]\ncluster(w[0], "paths.txt")\n')
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    template = read_template(folder / "mine.template")
    assert template.files["cluster", "paths.txt"].paths["cat"] == "00"
    with pytest.raises(TemplateError, match="counts from the template's own folder"):
        read_template('w[0]\ncluster(w[0], "paths.txt")')


# --- models ---------------------------------------------------------------------------------------

TEMPLATE = """
w[0]
gazetteer(lower(w[0]), "cities.txt")
cluster(w[0], "paths.txt", 1, 4)
vector(w[-1..0], "vectors.txt")
"""
SENTENCES = [["the", "cat", "in", "New", "York"], ["a", "dog", "ran"], ["York", "ran"]]
TAGS = [["D", "N", "P", "C", "C"], ["D", "N", "V"], ["C", "V"]]


@pytest.fixture
def saved(folder):
    (folder / "t").write_text(TEMPLATE)
    clf = ChainSVM(template="t", random_state=0).fit(SENTENCES, TAGS)
    clf.save("model.taut")
    for name in ("cities.txt", "paths.txt", "vectors.txt", "t"):
        (folder / name).unlink()
    return clf


def test_a_model_tags_without_the_files(saved):
    again = taut.load("model.taut")
    unseen = [["the", "new", "york", "dog", "cat"], ["x"], ["ran", "York"]]
    assert again.predict(SENTENCES) == TAGS
    assert again.predict(unseen) == saved.predict(unseen)
    weights = saved.state_features_
    kept = {name: weight for name, weight in weights.items() if weight}
    assert {name: w for name, w in again.state_features_.items() if w} == pytest.approx(kept)
    again.save("again.taut")
    assert read_model("again.taut").arrays.keys() == read_model("model.taut").arrays.keys()


def test_the_command_line_takes_them(folder, capsys, monkeypatch):
    lines = [f"{w} {tag}\n" for x, y in zip(SENTENCES, TAGS, strict=True) for w, tag in
             [*zip(x, y, strict=True), ("", "")]]  # fmt: skip
    (folder / "train.txt").write_text("".join(line.strip() + "\n" for line in lines))
    (folder / "t").write_text(TEMPLATE)
    arguments = ["train", "train.txt", "-o", "m.taut", "--template", "t", "--quiet"]
    assert main([*arguments, "--seed", "0"]) == 0
    (folder / "vectors.txt").unlink()
    assert main(["tag", "-m", "m.taut", "train.txt"]) == 0
    assert "York C" in capsys.readouterr().out
    assert main(arguments) == 1
    assert "line 5: there is no file 'vectors.txt'" in capsys.readouterr().err


def test_hostile_models_are_refused(saved, folder):
    header, arrays, _ = read_model("model.taut")
    values = arrays["file.2.values"]
    changes = {
        "file.0.lines": [pack_strings(["\tcity"]), pack_strings(["a " * 101]), values],
        "file.1.words": [pack_strings(["a", "a", "b"]), pack_strings(["a"])],
        "file.1.paths": [pack_strings(["0", "1", "2"]), pack_strings(["0" * 1001, "0", "1"])],
        "file.2.words": [pack_strings(["a", "a", "b"]), pack_strings(["a"])],
        "file.2.values": [values.astype(np.float64), values[:1], values * np.nan, values[:, :0],
                          values.ravel()],
        "kept.0": [np.array([5]), np.array([[0]]), np.array([1, 0]), np.array([-1]),
                   np.array([0.0])],
    }  # fmt: skip
    for name, others in changes.items():
        for other in [*others, None]:
            changed = {**arrays, name: other}
            if other is None:
                del changed[name]
            write_model("changed.taut", deepcopy(header), changed)
            with pytest.raises(ModelFileError, match=r"changed\.taut: "):
                load_chain("changed.taut")


def test_a_template_in_a_model_opens_no_file(saved, folder):
    """What it names is in the model, or the model is refused."""
    (folder / "secret.txt").write_text("0\tsecret\n")
    header, arrays, _ = read_model("model.taut")
    header = deepcopy(header)
    header["encoder"]["template"] += 'cluster(w[0], "secret.txt")\n'
    write_model("changed.taut", header, arrays)
    with pytest.raises(ModelFileError, match=r"changed\.taut: .*KeyError.*file\.3"):
        load_chain("changed.taut")


def test_clusters_say_what_does_not_fit():
    with pytest.raises(ValueError, match="2 clusters for 1 words"):
        Clusters(["a", "a"], ["0", "1"])
