"""The certificate of a chain model in the header of its file."""

from dataclasses import fields
from reprlib import repr as short
from typing import Any

import numpy as np

from taut.chain.header import count, flag, number, text
from taut.solvers.solution import HISTORY, Row, Solution, Status, describe

MOST_HISTORY = 10_000  # rows; more would fill the header
RETURNED = ("last", "average", "earlier", "path")
FORMULATIONS = ("margin", "slack", "likelihood", "softmax margin")
SLACK_PENALTIES = ("linear", "squared")
SECONDS_IN = ("steps", "certificates", "scores", "checkpoints")
NUMBERS = ("primal", "dual", "passes", "seconds", "C", "lam", "scale")
# Chains are trained with an oracle: nothing of theirs is soft. How training went in detail is not
# what a model is kept for.
NOT_PACKED = (
    "w", "state", "history", "status", "solver", "soft_gap", "violation", "squared_violation",
    "iterate_primal", "iterate_dual",
)  # fmt: skip
COLUMNS = tuple(name for name in Row._fields if name not in NOT_PACKED)


def packed_solution(solution: Solution) -> dict[str, Any]:
    plain = [f.name for f in fields(Solution) if f.name not in NOT_PACKED]
    history = solution.history
    if len(history) > MOST_HISTORY:  # evenly thinned, with the first and the last
        history = history[np.linspace(0, len(history) - 1, MOST_HISTORY).astype(int)]
    return {
        **{name: getattr(solution, name) for name in plain},
        "score": None if np.isnan(solution.score) else solution.score,
        "status": solution.status.name,
        "solver": describe(solution.solver),
        "history": [
            [value if np.isfinite(value) else None for value in row.tolist()[: len(COLUMNS)]]
            for row in history
        ],
    }


def unpacked_solution(packed: Any, w: np.ndarray) -> Solution:
    rows = packed["history"]
    if not isinstance(rows, list):
        raise ValueError("the history of its training is not a list")
    return Solution(
        w=w,
        status=Status[text(packed["status"], Status.__members__)],
        solver=text(packed["solver"]),
        history=np.array([_history_row(row) for row in rows], HISTORY).view(np.recarray),
        oracle_calls=count(packed["oracle_calls"]),
        n_examples=count(packed["n_examples"]),
        returned=text(packed["returned"], RETURNED),
        is_worse_than_zero=flag(packed.get("is_worse_than_zero", False)),
        score=np.nan if packed.get("score") is None else number(packed["score"]),
        found_at=number(packed.get("found_at", packed["passes"])),
        fingerprint=text(packed["fingerprint"]),
        formulation=text(packed.get("formulation", "margin"), FORMULATIONS),
        slack_penalty=text(packed.get("slack_penalty", "linear"), SLACK_PENALTIES),
        certifies=text(packed.get("certifies", "")),
        l1=number(packed.get("l1", 0.0)),
        seconds_in=_seconds_in(packed.get("seconds_in", {})),
        **{name: number(packed[name]) for name in NUMBERS},  # type: ignore[arg-type]
    )


def _seconds_in(packed: Any) -> dict[str, float]:
    if not isinstance(packed, dict):
        raise ValueError("where the seconds of its training went is not named")
    known = {text(what, SECONDS_IN): number(spent) for what, spent in packed.items()}
    return {what: known[what] for what in SECONDS_IN if what in known}  # a file sorts them


def _history_row(row: Any) -> tuple[float, ...]:
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise ValueError(f"its history has the row {short(row)}, not {len(COLUMNS)} numbers")
    values = [
        count(value) if name == "oracle_calls" else np.nan if value is None else number(value)
        for name, value in zip(COLUMNS, row, strict=True)
    ]
    return *values, *[np.nan] * (len(Row._fields) - len(COLUMNS))
