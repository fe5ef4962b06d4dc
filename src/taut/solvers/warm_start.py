"""What must agree before one run may start from the solution of another."""

from typing import Any

from taut.solvers.solution import Solution


def check_keep(keep: str) -> None:
    if keep not in ("dual", "primal"):
        raise ValueError(f'keep={keep!r}; expected "dual" or "primal"')


def check_has_state(earlier: Solution) -> None:
    if earlier.state is None:
        raise ValueError(
            "this solution has weights but no dual point (it was loaded from a file), so there is "
            "nothing to start from; start cold"
        )


def check_same_objective(run: Any, earlier: Solution) -> None:
    for name, theirs, ours in (
        ("formulation", earlier.formulation, run.formulation),
        ("slack_penalty", earlier.slack_penalty, run.penalty.value),
        ("l1", earlier.l1, run.l1),
    ):
        if theirs != ours:
            raise ValueError(
                f"warm_start: the earlier solution has {name}={theirs!r}, this run {ours!r}, so "
                "its dual point proves nothing here; keep it, or start cold"
            )
    if earlier.certifies != run.certifies:
        ours, theirs = run.certifies or "exact problem", earlier.certifies or "exact problem"
        raise ValueError(
            f"warm_start: the earlier solution is of the {theirs}, this run of the {ours}; use "
            "the same inference, or start cold"
        )


def earlier_examples(run: Any, earlier: Solution) -> int:
    """How many examples the earlier run had; they must be the first ones of this run."""
    n_before = earlier.n_examples
    if n_before > run.n or run.problem.fingerprint(n_before) != earlier.fingerprint:
        raise ValueError(
            "warm_start: the training data or the loss differ from those of the earlier "
            "solution, so its dual point proves nothing here; start cold (warm_start=False), "
            "or use partial_fit to add examples"
        )
    return n_before
