"""What a training run has to say at its end, for people and for programs."""

import json
import os
from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np

from taut import __version__
from taut.cli.text_files import name_of_all
from taut.solvers.solution import UNFINISHED, Solution, describe
from taut.spelling import in_command


class Size(NamedTuple):
    """Of the text that was learned from."""

    sequences: int
    tokens: int

    def __str__(self) -> str:
        return f"{self.sequences} sentences, {self.tokens} tokens"


class Fold(NamedTuple):
    """One part, and the model of the others."""

    score: float
    sentences: int
    tokens: int
    passes: float
    relative_gap: float
    status: str


class CrossValidation(NamedTuple):
    metric: str
    folds: list[Fold]

    @property
    def mean(self) -> float:
        return float(np.mean([fold.score for fold in self.folds]))

    @property
    def standard_deviation(self) -> float:
        return float(np.std([fold.score for fold in self.folds], ddof=1))

    def __str__(self) -> str:
        scores = [fold.score for fold in self.folds]
        return (
            f"{self.metric} {self.mean:.4f}, standard deviation {self.standard_deviation:.4f} over "
            f"{len(scores)} folds (from {min(scores):.4f} to {max(scores):.4f})"
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "folds": [fold._asdict() for fold in self.folds],
        }


class Result(NamedTuple):
    solution: Solution
    size: Size
    n_attributes: int
    labels: list[str]
    metric: str | None  # of the score on held-out text, if there is any
    score: float
    trained: Solution  # the run of training; not the solution if that is the path's
    cv: CrossValidation | None = None

    @property
    def passes(self) -> float | None:
        """After how many the weights were found; the path counts none."""
        return None if self.solution.returned == "path" else self.solution.found_at

    @property
    def where(self) -> str:
        """Which weights have that score."""
        if self.passes is None:
            return ", of the path's own weights"
        return f" after pass {self.passes:.0f}, best of {len(self.trained.history)} checks"


def as_text(result: Result, options: Namespace) -> str:
    lines = [] if result.cv is None else [str(result.cv)]
    lines += [
        f"trained on {result.size}: {result.n_attributes} attributes, {len(result.labels)} labels",
        result.solution.text(in_command),
    ]
    if result.metric is not None:
        lines.append(
            f"{name_of_all(options.dev)}: {result.metric} {result.score:.4f}{result.where}"
        )
    lines.append(f"model: {options.output} ({file_size(options.output)})")
    return "\n".join(lines)


def as_json(result: Result, options: Namespace) -> str:
    held_out = None
    if result.metric is not None:
        held_out = {
            "files": options.dev,
            "metric": result.metric,
            "score": result.score,
            "pass": result.passes,
        }
    return json.dumps(
        {
            "taut": __version__,
            "model": options.output,
            "model_bytes": os.path.getsize(options.output),
            "files": options.files,
            "sentences": result.size.sequences,
            "tokens": result.size.tokens,
            "attributes": result.n_attributes,
            "labels": result.labels,
            "dev": held_out,
            "cv": None if result.cv is None else result.cv.as_dict(),
            "certificate": certificate(result.solution),
            "history": history(result.trained),
        }
    )


def cv_as_json(cv: CrossValidation, size: Size, options: Namespace) -> str:
    return json.dumps(
        {
            "taut": __version__,
            "files": options.files,
            "sentences": size.sequences,
            "tokens": size.tokens,
            "cv": cv.as_dict(),
        }
    )


def certificate(solution: Solution) -> dict[str, Any]:
    """All that a solution says of itself, in plain values."""
    return {
        "status": solution.status.name,
        "message": in_command(solution.status.marked),
        **{
            name: getattr(solution, name)
            for name in (
                "primal", "dual", "gap", "relative_gap", "passes", "oracle_calls", "seconds", "C",
                "lam", "l1", "n_examples", "scale", "formulation", "returned", "fingerprint",
            )
        },
        "solver": describe(solution.solver),
    }  # fmt: skip


def history(solution: Solution) -> list[dict[str, Any]]:
    """A dict for each check; null for a score where nothing was held out."""
    rows = solution.history
    names = rows.dtype.names or ()
    return [
        {
            name: value if np.isfinite(value) else None
            for name, value in zip(names, row.tolist(), strict=True)
        }
        for row in rows
    ]


def note(solution: Solution, options: Namespace) -> str:
    """What to do about a run that did not reach the tolerance; nothing if it did."""
    told = [solution.doubt] if solution.doubt else []
    if solution.status in UNFINISHED:
        where = f"relative gap {solution.relative_gap:.2g}, --tol {options.tol:g}"
        status = solution.status.marked
        told = [f"{status.partition(';')[0] if told else status} ({where})", *told]
    return in_command("; ".join(told))


def file_size(path: str) -> str:
    """
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes(1500)), file.flush()
    ...     file_size(file.name)
    '1.5 kB'
    """
    size = os.path.getsize(path)
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
