"""Figure 2: the cache's parameters F and nu.

a  which share of the steps takes its labelling from the cache, by F and nu
b  the gap of block-coordinate Frank-Wolfe with sampling by gaps in the regimes that these make
"""

from pathlib import Path
from typing import Any

import numpy as np

from papers.osokin.data import data_sets, problem_of
from papers.osokin.variants import draw_pair, write_gaps
from papers.shared.curves import C_of, curve, new_run, primal_and_dual
from papers.shared.figures import finish, panels, write_csv
from papers.shared.paper import Settings, Work
from papers.shared.rows import Found, Row, rows_by
from taut.solvers import BCFW

FACTORS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
SHARES = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)
# Name: F, nu; None is no cache.
REGIMES: dict[str, tuple[float, float] | None] = {
    "no cache": None,
    "F = 0.25, nu = 0.01 (as published)": (0.25, 0.01),
    "F = 0.25, nu = 0 (local)": (0.25, 0.0),
    "F = 0, nu = 0.1 (global)": (0.0, 0.1),
    "F = 0, nu = 1 (global)": (0.0, 1.0),
    "F = 0.01, nu = 0.001 (nearly always hit)": (0.01, 0.001),
    "F = 2, nu = 0.01 (hardly ever hit)": (2.0, 0.01),
}


def solver(regime: tuple[float, float] | None) -> BCFW:
    if regime is None:
        return BCFW("gap")
    return BCFW("gap", cache=True, cache_factor=regime[0], cache_share=regime[1])


def works(settings: Settings) -> list[Work]:
    (data,) = data_sets(settings, ("OCR-small",))
    lam = data.lambdas[0]
    seconds, passes = (0.03, 10) if settings.quick else (1.2, 100)
    factors, shares = (FACTORS[:2], SHARES[:2]) if settings.quick else (FACTORS, SHARES)

    def problem() -> Any:
        return problem_of(data.name, settings.quick, settings.data_home)

    def hits(regime: tuple[float, float]) -> Row:
        """Of so many passes of steps, certificates every tenth."""
        run = new_run(problem(), solver(regime), C_of(lam, problem()))
        run.first_certificate(run.worst_losses(cold=True), cold=True)
        calls = 0
        while run.passes < passes:
            before = run.oracle_calls
            run.advance(10 * run.n)
            calls += run.oracle_calls - before
            run.certify()
        return {"hits": 1.0 - calls / run.steps, "gap": primal_and_dual(run)["gap"]}

    def trace(regime: tuple[float, float] | None, seed: int) -> Row:
        run = new_run(problem(), solver(regime), C_of(lam, problem()), seed)
        return curve(run, seconds=seconds)

    about: Row = {"figure": "2", "data": data.name, "lam": lam}
    table = [
        Work({**about, "F": F, "nu": nu, "passes": passes}, 0.7, lambda r=(F, nu): hits(r))  # type: ignore[misc]
        for F in factors
        for nu in shares
    ]
    lines = [
        Work({**about, "method": name, "seed": seed, "seconds": seconds}, 1.2 * seconds,
             lambda r=regime, s=seed: trace(r, s))  # type: ignore[misc]
        for name, regime in REGIMES.items()
        for seed in range(settings.seeds)
    ]  # fmt: skip
    return table + lines


def draw(found: Found, _: Settings, folder: Path, about: str) -> None:
    lines = [(key, columns) for key, columns in found if "method" in key]
    cells = {(key["F"], key["nu"]): value for key, value in found if "F" in key}
    factors, shares = sorted({F for F, _ in cells}), sorted({nu for _, nu in cells})
    figure, axes = panels(1, 3, width=4.2, height=3.2)
    hits = np.array([[cells[F, nu]["hits"] for nu in shares] for F in factors])
    image = axes[0, 0].imshow(hits, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="auto")
    axes[0, 0].set_xticks(range(len(shares)), [f"{nu:g}" for nu in shares])
    axes[0, 0].set_yticks(range(len(factors)), [f"{F:g}" for F in factors])
    axes[0, 0].set(xlabel="nu", ylabel="F")
    axes[0, 0].set_title("share of steps from the cache")
    figure.colorbar(image, ax=axes[0, 0])
    draw_pair(axes[0, 1:], rows_by(lines, "method"), f"OCR-small, lambda = {lines[0][0]['lam']:g}")
    finish(figure, folder / "figure2.png", about)
    write_gaps(folder / "figure2.csv", lines)
    write_csv(folder / "figure2-hits.csv", ["F", "nu", "share of hits", "gap"],
              [[F, nu, cell["hits"], cell["gap"]] for (F, nu), cell in cells.items()])  # fmt: skip
