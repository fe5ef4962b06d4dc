"""What a training run has to say at its end, for people and for programs."""

import json
import os
from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np

from taut import __version__
from taut.solvers.solution import UNFINISHED, Solution, describe
from taut.spelling import in_command


class Result(NamedTuple):
    solution: Solution
    n_sequences: int
    n_tokens: int
    n_attributes: int
    labels: list[str]
    metric: str | None  # of the score on held-out text, if there is any
    score: float
    trained: Solution  # the last run of training; not the solution if that is the path's

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
    lines = [
        f"trained on {result.n_sequences} sentences, {result.n_tokens} tokens: "
        f"{result.n_attributes} attributes, {len(result.labels)} labels",
        result.solution.text(in_command),
    ]
    if result.metric is not None:
        lines.append(f"{options.dev}: {result.metric} {result.score:.4f}{result.where}")
    lines.append(f"model: {options.output} ({file_size(options.output)})")
    return "\n".join(lines)


def as_json(result: Result, options: Namespace) -> str:
    held_out = None
    if result.metric is not None:
        held_out = {
            "file": options.dev,
            "metric": result.metric,
            "score": result.score,
            "pass": result.passes,
        }
    return json.dumps(
        {
            "taut": __version__,
            "model": options.output,
            "model_bytes": os.path.getsize(options.output),
            "file": options.file,
            "sentences": result.n_sequences,
            "tokens": result.n_tokens,
            "attributes": result.n_attributes,
            "labels": result.labels,
            "dev": held_out,
            "certificate": certificate(result.solution),
            "history": history(result.trained),
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
