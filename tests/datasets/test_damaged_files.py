"""A damaged text file is either still valid or refused by name and line; nothing else happens."""

import gzip

import pytest
from damaged_files import damaged_gzip, load_or_refuse
from hypothesis import given

from taut.datasets import load_conll2000, load_ocr_letters

PIXELS = "0\t1\t" * 64
LETTERS = "".join(
    f"{line}\t{letter}\t{next_id}\t{word}\t{position}\t{fold}\t{PIXELS}\n"
    for line, letter, next_id, word, position, fold in [
        (1, "o", 2, 1, 1, 0),
        (2, "n", -1, 1, 2, 0),
        (3, "a", 4, 2, 1, 7),
        (4, "n", 5, 2, 2, 7),
        (5, "d", -1, 2, 3, 7),
    ]
).encode()
CHUNKS = b"He PRP B-NP\nreckons VBZ B-VP\n. . O\n\nNo DT B-NP\none NN I-NP\n\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def load_letters(home, content: bytes):
    return load_or_refuse(load_ocr_letters, home, "ocr_letters/letter.data.gz", content)


def load_chunks(home, content: bytes):
    return load_or_refuse(load_conll2000, home, "conll2000/train.txt.gz", content)


def test_the_undamaged_files_are_read(home):
    X, y, fold = load_letters(home, gzip.compress(LETTERS))
    assert ["".join(word) for word in y] == ["on", "and"]
    assert [word.shape for word in X] == [(2, 128), (3, 128)]
    assert fold.tolist() == [0, 7]
    assert X[1][2].tolist() == [0.0, 1.0] * 64

    sentences, tags = load_chunks(home, gzip.compress(CHUNKS))
    assert sentences[1] == [("No", "DT"), ("one", "NN")]
    assert tags == [["B-NP", "B-VP", "O"], ["B-NP", "I-NP"]]


def test_windows_line_ends_are_read_the_same(home):
    _, y, _ = load_letters(home, gzip.compress(LETTERS.replace(b"\n", b"\r\n")))
    assert ["".join(word) for word in y] == ["on", "and"]
    _, tags = load_chunks(home, gzip.compress(CHUNKS.replace(b"\n", b"\r\n")))
    assert tags == [["B-NP", "B-VP", "O"], ["B-NP", "I-NP"]]


@given(content=damaged_gzip(LETTERS))
def test_damaged_letters(home, content):
    loaded = load_letters(home, content)
    if loaded is not None:
        X, y, fold = loaded
        assert len(X) == len(y) == len(fold) > 0
        for images, letters in zip(X, y, strict=True):
            assert images.shape == (len(letters), 128)
            assert set(images.ravel()) <= {0.0, 1.0}
            assert all("a" <= letter <= "z" for letter in letters)


@given(content=damaged_gzip(CHUNKS))
def test_damaged_chunks(home, content):
    loaded = load_chunks(home, content)
    if loaded is not None:
        sentences, tags = loaded
        assert [len(sentence) for sentence in sentences] == [len(row) for row in tags]
        assert all(row for row in tags)


@pytest.mark.parametrize("length", range(0, len(CHUNKS), 3))
def test_a_cut_chunk_file_never_yields_a_cut_sentence(home, length):
    loaded = load_chunks(home, gzip.compress(CHUNKS[:length]))
    if loaded is not None:
        assert loaded[1] in ([["B-NP", "B-VP", "O"]], [["B-NP", "B-VP", "O"], ["B-NP", "I-NP"]])


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        (b"1\to", b"1\t0", 1, "expected id, letter"),
        (b"0\t1\t\n2", b"0\t\n2", 1, "128 pixels"),
        (b"2\tn\t-1\t1", b"2\tn\t3\t1", 3, "expected id 3 at position 3 of word 1 "),
        (b"4\tn\t5", b"4\tn\t6", 5, "expected id 6 at position 3 of word 2 "),
        (b"5\td\t-1", b"5\td\t6", 6, "but the file ends"),
        (b"4\tn\t5\t2\t2\t7", b"4\tn\t5\t2\t2\t8", 4, "fold 7"),
    ],
)
def test_each_fault_of_a_letter_file_is_located(home, old, new, line, complaint):
    path = home / "ocr_letters" / "letter.data.gz"
    path.parent.mkdir(exist_ok=True)
    assert LETTERS.count(old) == 1
    path.write_bytes(gzip.compress(LETTERS.replace(old, new)))
    with pytest.raises(ValueError, match=f"line {line}: .*{complaint}"):
        load_ocr_letters(home)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [(b"reckons VBZ B-VP", b"reckons VBZ", 2), (b". . O", b". . o", 3), (b"No DT", b"No  DT", 5)],
)
def test_each_fault_of_a_chunk_file_is_located(home, old, new, line):
    path = home / "conll2000" / "train.txt.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(CHUNKS.replace(old, new)))
    with pytest.raises(ValueError, match=f"train.txt.gz, line {line}: expected a word"):
        load_conll2000(data_home=home)
