"""What one call costs in a process that serves: a taut.Tagger beside a pycrfsuite.Tagger.

A program of its own, so that neither numba nor scipy is loaded (it fails if one is), and both
answer in turns, so that busy neighbours cost both the same. All sequences are different. Prints
one JSON object: microseconds a sequence, of the first pass and the median of all.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pycrfsuite

import taut

N_WARM = 10  # sequences before the first pass
Figures = dict[str, list[float]]


def in_turns(
    peer: Callable[[Any], Any], own: Callable[[Any], Any], asked: Sequence[Any], passes: int
) -> Figures:
    """Of each: the first pass and the median, in microseconds."""
    seconds: dict[str, list[float]] = {"peer": [], "taut": []}
    for _ in range(passes):
        for name, ask in (("peer", peer), ("taut", own)):
            start = time.process_time()
            for sequence in asked:
                ask(sequence)
            seconds[name].append((time.process_time() - start) / len(asked) * 1e6)
    return {name: [times[0], statistics.median(times)] for name, times in seconds.items()}


def calls(kind: str, folder: Path, passes: int) -> dict[str, Any]:
    test = [tokens for tokens, _ in json.loads((folder / f"{kind}.json").read_text())]
    peer, own = pycrfsuite.Tagger(), taut.Tagger(folder / f"{kind}.taut")
    peer.open(str(folder / f"{kind}.crfsuite"))
    labels = peer.labels()

    def marginals(sequence: Any) -> Any:
        peer.set(sequence)
        places = range(len(sequence))
        return [[peer.marginal(label, place) for label in labels] for place in places]

    def one_by_one(sequences: Any) -> Any:
        return [peer.tag(sequence) for sequence in sequences]

    warm, asked = test[:N_WARM], test[N_WARM:]
    for sequence in warm:
        peer.tag(sequence), own.tag(sequence), own.marginals(sequence), own.tag_many([sequence])
    tokens = sum(map(len, asked))
    figures = {
        "one": in_turns(peer.tag, own.tag, asked, passes),
        "marginals": in_turns(marginals, own.marginals, asked, max(passes // 3, 1)),
        "batch": {
            name: [seconds / len(asked) for seconds in both]
            for name, both in in_turns(one_by_one, own.tag_many, [asked], passes).items()
        },
        "same": sum(
            one == other
            for sequence in asked
            for one, other in zip(peer.tag(sequence), own.tag(sequence), strict=True)
        )
        / tokens,
        "tokens": tokens / len(asked),
        "sequences": len(asked),
        "labels": len(labels),
    }
    loaded = [name for name in ("numba", "scipy", "sklearn") if name in sys.modules]
    if loaded:
        raise RuntimeError(f"{loaded} were imported; tagging should do without")
    return figures


if __name__ == "__main__":
    name, where, number = sys.argv[1:]
    print(json.dumps(calls(name, Path(where), int(number))))
