"""Figures: medians and ranges over seeds, one colour for a method in all papers, small files."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image  # comes with matplotlib

from papers.shared.curves import Enough, Vector, on_grid
from papers.shared.rows import Row

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

plt.rcParams.update({"axes.titlesize": 9, "figure.titlesize": 9})

MOST_BYTES = 150_000
MOST_LINES = 8  # of a panel
# A colour is a family of methods, a dash is a variant of it: "family, variant".
COLOURS = {
    "FW": "#7f7f7f",
    "BCFW": "#1f77b4",
    "gap-BCFW": "#17becf",
    "BCPFW": "#d62728",
    "gap-BCPFW": "#ff7f0e",
    "gap-BCAFW": "#8c564b",
    "SoftBCFW": "#2ca02c",
    "SoftBCFW, pairwise": "#00441b",
    "SoftSDCA": "#c5b0d5",
    "IDAL": "#9467bd",
    "GDMM": "#e377c2",
    "DLPW": "#bcbd22",
    "product": "#393b79",
    "one simplex": "#637939",
    "tangent planes": "#b5cf6b",
    "one cone": "#843c39",
    "one-slack": "#8c6d31",
}
DASHES = {
    "cache": "--",
    "working set": "--",
    "LP solver": "--",
    "smoothed": "--",
    "permuted": "--",
    "as printed": "--",
    "fixed steps": ":",
    "safeguard": ":",
    "Gini-OTRW": ":",
    "ρ=0.1": ":",
    "ρ=10": "--",
}
# Other names that figures have for these.
SAME = {
    "Uniform": "BCFW",
    "Gap 10": "gap-BCFW",
    "no cache": "gap-BCFW",
    "F = 0.25, nu = 0.01 (as published)": "gap-BCFW, cache",
}
# Of lines that are no methods, by their position in a panel.
OTHERS = ("#000000", "#228833", "#ccbb44", "#aa3377", "#ee6677", "#4477aa", "#a6611a", "#bbbbbb")


def style(name: str, position: int = 0) -> dict[str, str]:
    """Of a method; one that no paper shares gets a colour by its position in its panel."""
    name = SAME.get(name, name)
    family, _, variant = name.partition(", ")
    if name in COLOURS:
        return {"color": COLOURS[name], "linestyle": "-"}
    if family in COLOURS:
        return {"color": COLOURS[family], "linestyle": DASHES.get(variant, "-")}
    return {"color": OTHERS[position % len(OTHERS)], "linestyle": "-"}


def panels(rows: int, columns: int, width: float = 3.6, height: float = 2.9) -> tuple[Any, Any]:
    """A figure and its axes as a matrix."""
    return plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False,
        layout="constrained",
    )  # fmt: skip


def draw_runs(
    axis: Any, runs: Mapping[str, Sequence[Row]], x: str, y: str, enough: Enough | None = None
) -> None:
    """A line for each method: the median of its runs over the seeds, with their range, as far as
    all of them go."""
    if len(runs) > MOST_LINES:
        raise ValueError(f"{len(runs)} lines in one panel; at most {MOST_LINES} can be told apart")
    for position, (name, curves) in enumerate(runs.items()):
        grid, middle, low, high = medians(curves, x, y, 200, enough)
        look = style(name, position)
        axis.plot(grid, middle, label=name, lw=1.3, **look)
        axis.fill_between(grid, low, high, color=look["color"], alpha=0.15, lw=0)
    axis.grid(alpha=0.3)


def medians(
    curves: Sequence[Row], x: str, y: str, points: int, enough: Enough | None
) -> tuple[Vector, Vector, Vector, Vector]:
    """(x, median, least, largest), where all runs have a value: those over some would jump."""
    grid, values = on_grid(curves, x, y, points, enough)
    known = np.isfinite(values).all(axis=0)
    values = values[:, known]
    return grid[known], np.median(values, axis=0), values.min(axis=0), values.max(axis=0)


def write_medians(
    path: Path,
    groups: Mapping[tuple[Any, ...], Sequence[Row]],
    names: Sequence[str],
    quantities: Sequence[tuple[str, str]],
    enough: Enough | None = None,
    points: int = 20,
) -> None:
    """What lines are drawn through: of each group of runs, for each (x, y) of the quantities.

    ``names`` are those of the parts of a group's name.
    """
    rows = [
        [*group, x, y, *map(float, values)]
        for group, curves in groups.items()
        for x, y in quantities
        for values in zip(*medians(curves, x, y, points, enough), strict=True)
    ]
    write_csv(path, [*names, "axis", "quantity", "x", "median", "least", "largest"], rows)


MANY = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)


def _label_plainly(side: Any) -> None:
    """Numbers at a logarithmic axis: powers of ten, and some between them if there are few."""
    if side.get_scale() != "log" or side.get_transform().base != 10:
        return
    low, high = np.log10(sorted(side.get_view_interval()))
    side.set_minor_formatter(NullFormatter())
    if np.floor(high) - np.ceil(low) < 1:
        side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high - low > 0.8 else MANY))
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def finish(figure: Any, path: Path, about: str, legend: bool = True) -> None:
    """Write a PNG of at most 150 kB: legend below the panels, and where the figure comes from."""
    for axis in figure.axes:
        _label_plainly(axis.xaxis)
        _label_plainly(axis.yaxis)
    if legend:
        named: dict[str, Any] = {}
        for axis in figure.axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                named.setdefault(label, handle)
        if named:
            figure.legend(
                list(named.values()), list(named), loc="outside lower center", fontsize=8,
                ncols=min(len(named), 4), frameon=False,
            )  # fmt: skip
    for dpi in (130, 110, 90, 75, 60):
        content = _png(figure, about, dpi)
        if len(content) <= MOST_BYTES:
            break
    else:
        raise ValueError(f"{path.name}: {len(content)} bytes, of at most {MOST_BYTES}")
    plt.close(figure)
    _write(path, content)


def _png(figure: Any, about: str, dpi: int) -> bytes:
    """With the line below; in 128 colours, which are a third of the bytes and look the same."""
    drawn = _drawn(figure, dpi)
    strip = plt.figure(figsize=(drawn.width / dpi, 0.2))
    strip.text(0.5, 0.5, about, fontsize=6, color="0.4", ha="center", va="center")
    line = _drawn(strip, dpi)
    plt.close(strip)
    both = Image.new("RGB", (drawn.width, drawn.height + line.height), "white")
    both.paste(drawn, (0, 0))
    both.paste(line, (0, drawn.height))
    content = io.BytesIO()
    both.quantize(128).save(content, format="png", optimize=True)
    return content.getvalue()


def _drawn(figure: Any, dpi: int) -> Any:
    content = io.BytesIO()
    figure.savefig(content, dpi=dpi, format="png")
    with Image.open(content) as image:
        return image.convert("RGB")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])
    _write(path, text.getvalue().encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
