"""The figure of Solagna et al. (2022), BCFW for structured SVMs: ``make paper-solagna``.

FW, BCFW and gap-BCFW on the first 1,000 sentences of CoNLL-2000, until the gap is 0.01: gap and
training error against iterations (visits to a sentence; for FW, steps of all sentences) and CPU
seconds. lambda is not in the paper; 20 is what the authors' code has. FW is also the method with
fixed steps, 2 / (k + 2), as is BCFW, 2n / (k + 2n): algorithms 1 and 3.
"""

import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from papers.shared.chunking import PADDED, Chunks, made_up_chunks, training_chunks
from papers.shared.curves import C_of, Enough, cost_to, curve, new_run, primal_and_dual
from papers.shared.figures import draw_runs, finish, panels, write_csv, write_medians
from papers.shared.paper import Figure, Settings, Work, run_paper
from papers.shared.rows import Found, Row, parts_of, rows_by
from taut.decode import decode
from taut.problem import label_loss
from taut.solvers import BCFW, FrankWolfe, solve

N = 1000
TEXT = ("conll2000/train.txt.gz",)
ENOUGH = Enough("gap", 0.01)
LAMBDAS = (20.0, 1.0)
METHODS: dict[str, Any] = {
    "FW": FrankWolfe(),
    "BCFW": BCFW("uniform", refresh=None),
    "gap-BCFW": BCFW("gap"),
    "FW, fixed steps": FrankWolfe(step="fixed"),
    "BCFW, fixed steps": BCFW("uniform", refresh=None, step="fixed"),
}


@cache
def chunks(
    quick: bool, data_home: str | None, least: int = 3, template: str = "chunking"
) -> Chunks:
    if quick:
        return made_up_chunks(template=template)
    return training_chunks(data_home, least, template).first(N)


@cache
def problem_of(quick: bool, data_home: str | None) -> Any:
    return chunks(quick, data_home).problem()


# --- figure 1 -------------------------------------------------------------------------------------


def works(settings: Settings) -> list[Work]:
    seconds = 0.05 if settings.quick else 12.0
    return [
        Work({"lam": lam, "method": name, "seed": seed, "seconds": seconds},
             (0.3 if "BCFW" in name else 1.2) * seconds,
             partial(trace, lam, name, seed, seconds, settings))
        for lam in LAMBDAS
        for name, solver in METHODS.items()
        for seed in range(settings.seeds if isinstance(solver, BCFW) else 1)
    ]  # fmt: skip


def trace(lam: float, name: str, seed: int, seconds: float, settings: Settings) -> Row:
    problem = problem_of(settings.quick, settings.data_home)
    run = new_run(problem, METHODS[name], C_of(lam, problem), seed)

    def look(run: Any) -> Row:
        return primal_and_dual(run) | {
            "training error": training_error(problem, run.state.w),
            "iterations": run.steps / (1 if isinstance(run.solver, BCFW) else run.n),
        }

    growth = 1.5 if settings.quick else 1.04
    return curve(run, seconds=seconds, enough=ENOUGH.level, look=look, growth=growth)


def training_error(problem: Any, w: np.ndarray) -> float:
    """The mean over sentences of the share of wrong tags."""
    found = decode(problem, w).astype(np.int32)
    parts = np.split(found, problem.pointer[1:-1])
    return float(np.mean([label_loss(problem, i, y) for i, y in enumerate(parts)]))


PANELS = [
    (x, y, label, name)
    for x, label in (("iterations", "iterations"), ("seconds", "CPU seconds"))
    for y, name in (("gap", "duality gap"), ("training error", "training error"))
]


def draw(found: Found, _: Settings, folder: Path, about: str) -> None:
    """As in the paper: iterations above, time below; a picture for each lambda."""
    for lam, part in parts_of(found, "lam").items():
        runs = rows_by(part, "method")
        figure, axes = panels(2, 2)
        for axis, (x, y, label, name) in zip(axes.flat, PANELS, strict=True):
            draw_runs(axis, runs, x, y, ENOUGH)
            axis.set(xscale="log", xlabel=label, ylabel=name)
            if y == "gap":
                axis.set_yscale("log")
                axis.axhline(ENOUGH.level, color="0.5", lw=0.8, ls=":")
        figure.suptitle(f"CoNLL-2000, 1,000 sentences, lambda = {lam:g}")
        finish(figure, folder / f"figure1-lambda-{lam:g}.png", about)
    write_medians(
        folder / "figure1.csv", rows_by(found, "lam", "method"), ["lambda", "method"],
        [(x, y) for x, y, _, _ in PANELS], ENOUGH, points=25,
    )  # fmt: skip
    write_table(folder / "figure1-summary.csv", found)


def write_table(path: Path, found: Found) -> None:
    """What it takes to the gap at which the paper stops, and the training error there."""
    rows: list[list[Any]] = []
    for group, curves in rows_by(found, "lam", "method").items():
        costs = [cost_to(curves, x, *ENOUGH) for x in ("iterations", "seconds")]
        row = [*group, costs[0].reached, *(v for cost in costs for v in cost[:3])]
        ends = [[c[name][-1] for c in curves] for name in ("gap", "training error")]
        rows.append([*row, *(float(np.median(end)) for end in ends)])
    write_csv(path, ["lambda", "method", f"seeds to gap {ENOUGH.level:g}",
                     *(f"{word}{x} to gap {ENOUGH.level:g}" for x in
                     ("iterations", "seconds") for word in ("", "least ", "most ")),
                     "gap at the end", "training error at the end"], rows)  # fmt: skip


# --- the optimum ----------------------------------------------------------------------------------

# The least number of times that an attribute occurs in the training set, the template, and whether
# a constant attribute stands beside the bias: "one bias row is already encoded in the unit matrix".
FEATURES: dict[str, tuple[int, str, bool]] = {
    "at least three times": (3, "chunking", False),
    "all": (1, "chunking", False),
    "all, marks outside of the sentence": (1, PADDED, False),
    "all, marks, a second bias": (1, PADDED, True),
}
REFERENCE = 0.5101222


def optimum_works(settings: Settings) -> list[Work]:
    return [
        Work({"optimum": name, "lam": 20.0}, 5.0, partial(optimum, *options, settings))
        for name, options in FEATURES.items()
    ]


def optimum(least: int, template: str, is_biased: bool, settings: Settings) -> Row:
    found = chunks(settings.quick, settings.data_home, least, template)
    if is_biased:
        constant = csr_array(np.ones((found.X.shape[0], 1)))
        found = found._replace(X=csr_array(hstack([found.X, constant])))
    problem = found.problem()
    solver = BCFW("gap", "corrective", refresh=5)
    solution = solve(problem, solver, C=1.0 / (20.0 * problem.n), tol=1e-7, max_passes=200,
                     progress=False)  # fmt: skip
    return {"attributes": found.X.shape[1], "weights": problem.dim, "primal": solution.primal,
            "dual": solution.dual}  # fmt: skip


def draw_optimum(found: Found, _: Settings, folder: Path, __: str) -> None:
    header = ["attributes", "number", "weights", "primal", "dual", "minus 0.5101222"]
    rows = [
        [key["optimum"], row["attributes"], row["weights"], f"{row['primal']:.8f}",
         f"{row['dual']:.8f}", f"{row['primal'] - REFERENCE:.1e}"]
        for key, row in found
    ]  # fmt: skip
    write_csv(folder / "optimum.csv", header, rows)


FIGURES = (
    Figure("1", "gap and training error against iterations and time, lambda = 20 and 1", works,
           draw, TEXT),
    Figure("optimum", "the optimum at lambda = 20 under four feature maps", optimum_works,
           draw_optimum, TEXT),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    return run_paper("solagna", "Solagna et al. (2022), BCFW for structured SVMs", FIGURES,
                     arguments)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
