"""Digit words: real handwritten digits in a made-up language, a chain task without any download.

The images are those of :func:`sklearn.datasets.load_digits`. The language is a Markov chain in
which each digit has only three followers, so a reader who knows the language recovers digits that
the image alone leaves in doubt: what structured prediction is for.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

# FOLLOWERS[k][d] is the digit that follows d with probability FOLLOWER_PROBABILITIES[k]. Each row
# is a permutation, so the transition matrix is doubly stochastic and all digits stay equally
# frequent: the language helps through context alone, never through the frequency of a digit.
FOLLOWERS = np.array(
    [
        [7, 4, 9, 0, 8, 2, 5, 1, 3, 6],
        [3, 6, 0, 5, 2, 9, 8, 4, 1, 7],
        [4, 8, 5, 6, 1, 0, 3, 9, 7, 2],
    ]
)
FOLLOWER_PROBABILITIES = np.array([0.6, 0.3, 0.1])

# Both subsets come from one fixed shuffle of the images, whatever the caller's random_state.
_SHUFFLE_SEED = 1797


def make_digit_words(
    n_words: int = 600,
    *,
    images: Literal["train", "test"] = "train",
    lengths: tuple[int, int] = (4, 9),
    noise: float = 0.3,
    occlusion: float = 0.2,
    random_state: int | None = 0,
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
    """Make words of handwritten digits, to be read with the help of a language.

    A word starts with any digit; then each digit is followed by one of three others, with
    probabilities 0.6, 0.3 and 0.1. Every digit of every word is a real image, drawn with
    replacement. The language is always the same and the two subsets share no image: train on words
    made with ``images="train"`` and test on words made with ``images="test"``.

    Parameters
    ----------
    n_words : int
        Number of words.
    images : {"train", "test"}
        Which half of the 1,797 images to draw from.
    lengths : (int, int)
        Shortest and longest word, both included; all lengths are equally likely.
    noise : float
        Standard deviation of the Gaussian noise added to each pixel before clipping to [0, 1].
    occlusion : float
        Share of the images of which one half, top, bottom, left or right, is blank.
    random_state : int or None
        Seed of the words and the noise; None draws fresh ones each time.

    Returns
    -------
    X : list of arrays of shape (n_digits, 64)
        The pixels of each word in [0, 1]: 8 rows of 8, row by row.
    y : list of arrays of shape (n_digits,)
        The digits of each word.

    Examples
    --------
    >>> from taut.datasets import make_digit_words
    >>> X, y = make_digit_words(3)
    >>> [word.shape for word in X]
    [(8, 64), (9, 64), (4, 64)]
    >>> y[0]
    array([3, 0, 7, 4, 8, 1, 4, 2])
    """
    shortest, longest = lengths
    if n_words < 1:
        raise ValueError(f"n_words must be at least 1, not {n_words}")
    if not 1 <= shortest <= longest:
        raise ValueError(f"lengths must be (shortest, longest), both positive, not {lengths}")
    if images not in ("train", "test"):
        raise ValueError(f"images must be 'train' or 'test', not {images!r}")
    if noise < 0:
        raise ValueError(f"noise must not be negative, not {noise}")
    if not 0 <= occlusion <= 1:
        raise ValueError(f"occlusion must be between 0 and 1, not {occlusion}")

    # The subset is part of the seed, so that train and test words differ for one random_state.
    subset = 0 if images == "train" else 1
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(subset,)))
    word_lengths = rng.integers(shortest, longest, size=n_words, endpoint=True)
    y = [_speak(length, rng) for length in word_lengths]
    X = _write(np.concatenate(y), subset, rng)
    _spoil(X, noise, occlusion, rng)
    return np.split(X, np.cumsum(word_lengths)[:-1]), y


def _speak(length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """One word of the language."""
    word = np.empty(length, dtype=np.int64)
    word[0] = rng.integers(10)
    choices = rng.choice(len(FOLLOWERS), size=length, p=FOLLOWER_PROBABILITIES)
    for t in range(1, length):
        word[t] = FOLLOWERS[choices[t], word[t - 1]]
    return word


def _write(digits: NDArray[np.int64], subset: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A clean image of each digit, drawn from one half of the bundled images."""
    from sklearn.datasets import load_digits  # here, because it takes a second to import

    pixels, shown = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(_SHUFFLE_SEED).permutation(len(shown))
    half = np.array_split(shuffled, 2)[subset]
    X = np.empty((len(digits), pixels.shape[1]))
    for digit in range(10):
        places = np.flatnonzero(digits == digit)
        X[places] = pixels[rng.choice(half[shown[half] == digit], size=len(places))]
    return X / 16.0


def _spoil(
    X: NDArray[np.float64], noise: float, occlusion: float, rng: np.random.Generator
) -> None:
    """Blank one half of some images, then add noise to all, in place."""
    squares = X.reshape(-1, 8, 8)
    halves = (np.s_[:4, :], np.s_[4:, :], np.s_[:, :4], np.s_[:, 4:])
    for i in np.flatnonzero(rng.random(len(X)) < occlusion):
        squares[i][halves[rng.integers(4)]] = 0.0
    if noise > 0:
        X += rng.normal(scale=noise, size=X.shape)
        np.clip(X, 0.0, 1.0, out=X)
