"""CoNLL-U: which lines are words, what is learned of them, and labels written back."""

import io

import numpy as np
import pytest

from taut.text.reading import FormatError, conllu_blocks, read_conllu, with_labels

TEXT = """# sent_id = 1
1\tVamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\tNER=O
2-3\tao\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\ta\ta\tADP\tP\t_\t4\tcase\t_\t_
3\to\to\tDET\tD\tGender=Masc\t4\tdet\t_\t_
4\tPorto\tPorto\tPROPN\tN\tGender=Masc\t1\tobl\t_\tNER=B-LOC|SpaceAfter=No
4.1\tsim\tsim\tINTJ\t_\t_\t_\t_\t1:dep\t_

# sent_id = 2
1\tSim\tsim\tINTJ\tI\t_\t0\troot\t_\t_

"""
WORDS = ["Vamos", "a", "o", "Porto", "Sim"]
LABELS = {
    "upos": ["VERB", "ADP", "DET", "PROPN", "INTJ"],
    "xpos": ["V", "P", "D", "N", "I"],
    "feats": ["Mood=Imp", "_", "Gender=Masc", "Gender=Masc", "_"],
    "deprel": ["root", "case", "det", "obl", "root"],
    "upos+feats": ["VERB+Mood=Imp", "ADP+_", "DET+Gender=Masc", "PROPN+Gender=Masc", "INTJ+_"],
    "misc:NER": ["O", "O", "O", "B-LOC", "O"],
}


@pytest.mark.parametrize("label", LABELS)
def test_only_words_are_tokens(label):
    words, column, lines = read_conllu(io.StringIO(TEXT), label)
    assert [TEXT.split("\n")[line - 1].split("\t")[1] for line in lines.tolist()] == WORDS
    assert words.lengths.tolist() == [4, 1]
    [forms] = words.columns
    assert [forms.values[code] for code in forms.codes] == WORDS
    assert [column.values[code] for code in column.codes] == LABELS[label]


@pytest.mark.parametrize("label", LABELS)
def test_true_labels_written_back_change_nothing_but_the_order_of_misc(label):
    [block] = conllu_blocks(io.StringIO(TEXT), label)
    lines = with_labels(block.lines, block.word_lines, label, LABELS[label])
    expected = TEXT[:-1].split("\n")
    if label == "misc:NER":
        expected[1] = expected[1].replace("NER=O", "_")
        expected[5] = expected[5].replace("NER=B-LOC|SpaceAfter=No", "SpaceAfter=No|NER=B-LOC")
    assert lines == expected


def test_other_labels_take_the_place_of_those_that_are_there():
    [block] = conllu_blocks(io.StringIO(TEXT), "upos+feats")
    found = ["NOUN+_", "X+A=b|C=d", "X+_", "X+_", "X+_"]
    lines = with_labels(block.lines, block.word_lines, "upos+feats", found, ["0.5"] * 5)
    assert lines[1] == "1\tVamos\tir\tNOUN\tV\t_\t0\troot\t_\tNER=O|P=0.5"
    assert lines[3] == "2\ta\ta\tX\tP\tA=b|C=d\t4\tcase\t_\tP=0.5"
    assert [lines[i] for i in (0, 2, 6, 7)] == [block.lines[i] for i in (0, 2, 6, 7)]


def test_sentences_are_blocks_of_a_stream():
    blocks = list(conllu_blocks(io.StringIO(TEXT * 3000), "upos"))
    assert len(blocks) > 1
    assert np.concatenate([block.words.lengths for block in blocks]).tolist() == 3000 * [4, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\tHe\tPRP", "line 3: 3 columns, apart by tabs; CoNLL-U has 10"),
        ("1 He he PRON _ _ _ _ _ _", "line 3: 1 column, apart by tabs"),
        ("x" + "\t_" * 9, "line 3: 'x' is no number of a word, such as 3, 3-4 or 3.1"),
        ("-1" + "\t_" * 9, "line 3: '-1' is no number"),
    ],
)
def test_wrong_lines_are_named(line, message):
    with pytest.raises(FormatError, match=message):
        read_conllu(io.StringIO("# one\n\n" + line + "\n"), "upos")


def test_a_file_without_words_is_refused():
    with pytest.raises(FormatError, match="no word in the whole file"):
        read_conllu(io.StringIO("# one\n\n2-3" + "\t_" * 9 + "\n"), "upos")
    with pytest.raises(ValueError, match=r"label='pos'; expected upos, .* or misc:KEY"):
        read_conllu(io.StringIO(TEXT), "pos")
