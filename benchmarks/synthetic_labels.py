"""Text with a thousand labels, which the word and the label before it decide, but for noise.

A word belongs to one of 250 clusters, a cluster has four labels. Which of the four a token has
follows from the label before it: 4 cluster + turn[cluster, label before], where turn is drawn once
from 0 to 3. One token in twenty has any of the four. A tagger that sees the word alone can be right
little more often than one time in four; one that sees the label before can be right 19 times in 20.
After each cluster one of twenty follows: of a million pairs of labels at most 80,000 ever occur.
"""

from collections.abc import Iterator

import numpy as np

N_CLUSTERS, N_TURNS, N_NEXT, N_WORDS = 250, 4, 20, 30
NOISE = 0.05
SIZES = {"train": 5_000, "dev": 500, "test": 500}
Sentence = list[tuple[str, str]]  # words and labels


class Text:
    """The rules, the same for every split."""

    def __init__(self, seed: int = 0):
        random = np.random.default_rng(seed)
        self.follows = random.integers(N_CLUSTERS, size=(N_CLUSTERS, N_NEXT))
        self.turn = random.integers(N_TURNS, size=(N_CLUSTERS, N_CLUSTERS * N_TURNS))

    def sentences(self, number: int, seed: int) -> Iterator[Sentence]:
        """The seed is that of the split."""
        random = np.random.default_rng([1, seed])
        for _ in range(number):
            yield self._sentence(random)

    def _sentence(self, random: np.random.Generator) -> Sentence:
        tokens: Sentence = []
        cluster, label = int(random.integers(N_CLUSTERS)), 0
        for _ in range(random.integers(5, 16)):
            turn = self.turn[cluster, label]
            if random.random() < NOISE:
                turn = random.integers(N_TURNS)
            label = N_TURNS * cluster + int(turn)
            # Some words of a cluster are frequent, others rare.
            word = int(N_WORDS * random.random() ** 2)
            tokens.append((f"w{cluster}.{word}", f"L{label}"))
            cluster = int(self.follows[cluster, random.integers(N_NEXT)])
        return tokens
