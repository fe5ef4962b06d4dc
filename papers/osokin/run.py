"""The figures of Osokin et al. (2016), Minding the gaps: ``make paper-osokin``."""

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from papers.osokin import caching, paths, staleness, toy, variants
from papers.osokin.data import DATA, OCR, Data, data_sets, files_of, problem_of
from papers.shared.curves import C_of, new_run
from papers.shared.figures import write_csv
from papers.shared.paper import Figure, Settings, Work, run_paper
from papers.shared.rows import Found, Row
from taut.solvers import BCFW


def table_1_works(settings: Settings) -> list[Work]:
    return [
        Work({"figure": "table1", "data": data.name}, 3.0, partial(statistics, data, settings))
        for data in data_sets(settings)
    ]


def statistics(data: Data, settings: Settings) -> Row:
    """The oracle's time is that of a pass at weights that three passes have found."""
    problem = problem_of(data.name, settings.quick, settings.data_home)
    run = new_run(problem, BCFW("gap"), C_of(data.lambdas[1], problem))
    run.advance(problem.n if settings.quick else 3 * problem.n)
    start = time.process_time()
    run.certify()
    each = (time.process_time() - start) / problem.n
    return {"n": problem.n, "d": problem.dim, "bounded": problem.required_bounds() is not None,
            "seconds of a call": each}  # fmt: skip


def draw_table_1(found: Found, _: Settings, folder: Path, __: str) -> None:
    rows: list[list[Any]] = [
        [key["data"], DATA[key["data"]].task, DATA[key["data"]].oracle, row["n"], row["d"],
         "yes" if row["bounded"] else "no", row["seconds of a call"]]
        for key, row in found
    ]  # fmt: skip
    write_csv(folder / "table1.csv", ["data", "task", "oracle", "n", "d", "box constraints",
                                      "oracle call, CPU s"], rows)  # fmt: skip


EVERY, MIDDLE = slice(None), slice(1, 2)
FIGURES = (
    Figure("table1", "data sets: n, d, oracle and its cost", table_1_works, draw_table_1,
           files_of(DATA)),
    Figure("1", "staleness: how often gaps are computed anew", staleness.works, staleness.draw,
           OCR),
    Figure("no-refresh", "gap sampling without refresh, on larger sets and at smaller lambda",
           staleness.hunt_works, staleness.draw_hunt, files_of(staleness.HUNTED_ON)),
    Figure("2", "the cache's F and nu", caching.works, caching.draw, OCR),
    Figure("3", "the eight variants in short: a fast oracle, large n, a slow oracle",
           partial(variants.works, variants.SUMMARY, MIDDLE), variants.draw_summary,
           files_of(variants.SUMMARY)),
    Figure("4", "path against grids, horses-small",
           partial(paths.works, ("horses-small",)), paths.draw_4, files_of(["horses-small"])),
    Figure("5", "the eight variants: OCR-small, OCR-large, CoNLL, horses-small",
           partial(variants.works, variants.FIGURE_5, EVERY),
           partial(variants.draw_data_sets, "5"), files_of(variants.FIGURE_5)),
    Figure("6", "the eight variants: horses-large, poses",
           partial(variants.works, variants.FIGURE_6, EVERY),
           partial(variants.draw_data_sets, "6"), files_of(variants.FIGURE_6)),
    Figure("7", "kappa of both paths, OCR-small", paths.kappa_works, paths.draw_7, OCR),
    Figure("8", "paths against grids: horses-small, OCR-small, horses-large, OCR-large",
           partial(paths.works, tuple(paths.LIMITS)), paths.draw_8, files_of(paths.LIMITS)),
    Figure("toy", "appendix C: gap sampling n times faster", toy.works, toy.draw),
    Figure("safeguard", "appendix G: a toward step beside pairwise and away steps",
           variants.safeguard_works, variants.draw_safeguard, OCR),
    Figure("box-step", "appendix H: the exact and the printed step within bounds",
           variants.box_works, variants.draw_box, files_of(["horses-small", "OCR-small"])),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    return run_paper("osokin", "Osokin et al. (2016), Minding the gaps", FIGURES, arguments)


if __name__ == "__main__":
    sys.exit(main())
