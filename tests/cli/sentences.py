"""Words, parts of speech and chunks of a few sentences."""

SENTENCES = [
    ("the cat sleeps", "DT NN VBZ", "B-NP I-NP B-VP"),
    ("a dog sees the cat", "DT NN VBZ DT NN", "B-NP I-NP B-VP B-NP I-NP"),
    ("dogs sleep", "NNS VBP", "B-NP B-VP"),
    ("the old cat sees a dog .", "DT JJ NN VBZ DT NN .", "B-NP I-NP I-NP B-VP B-NP I-NP O"),
    ("it sleeps .", "PRP VBZ .", "B-NP B-VP O"),
]
ROWS = [list(zip(*map(str.split, parts), strict=True)) for parts in SENTENCES]
WORDS = [[word for word, _, _ in rows] for rows in ROWS]
TAGS = [[tag for _, _, tag in rows] for rows in ROWS]


def columns(sentences, separator=" "):
    """The text of a column file."""
    return "".join("".join(separator.join(row) + "\n" for row in rows) + "\n" for rows in sentences)
