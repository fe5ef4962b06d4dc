"""Whether training fits in memory, asked before the text is read into features."""

from taut.cli.data import few, name_of
from taut.memory import check_memory, pairs_and_labels


def check_labels_fit(n_sentences: int, n_tokens: int, labels: list[str], path: str) -> None:
    check_memory(
        pairs_and_labels(n_sentences, n_tokens, len(labels)),
        f"{name_of(path)}: there are {len(labels)} labels ({few(labels)}); training",
        "pairs of labels in each sentence",
        "is this the label column? see --label-column",
    )
