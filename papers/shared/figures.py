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

from papers.shared.curves import on_grid
from papers.shared.rows import Row

matplotlib.use("Agg")
import matplotlib.pyplot as plt

MOST_BYTES = 150_000
MOST_LINES = 8  # of a panel
# A colour is a family of methods, a dash is a variant of it.
STYLES: dict[str, tuple[str, str]] = {
    "FW": ("#7f7f7f", "-"),
    "BCFW": ("#1f77b4", "-"),
    "BCFW, cache": ("#1f77b4", "--"),
    "gap-BCFW": ("#17becf", "-"),
    "gap-BCFW, cache": ("#17becf", "--"),
    "BCPFW": ("#d62728", "-"),
    "BCPFW, cache": ("#d62728", "--"),
    "gap-BCPFW": ("#ff7f0e", "-"),
    "gap-BCPFW, cache": ("#ff7f0e", "--"),
    "SoftBCFW": ("#2ca02c", "-"),
    "SoftBCFW, ρ=0.1": ("#2ca02c", ":"),
    "SoftBCFW, ρ=1": ("#2ca02c", "-"),
    "SoftBCFW, ρ=10": ("#2ca02c", "--"),
    "SoftBCFW, pairwise": ("#98df8a", "-"),
    "SoftSDCA": ("#c5b0d5", "-"),
    "IDAL, permuted": ("#9467bd", "--"),
    "IDAL": ("#9467bd", "-"),
    "GDMM": ("#e377c2", "-"),
    "DLPW": ("#bcbd22", "-"),
    "DLPW, smoothed": ("#bcbd22", "--"),
    "FW, LP solver": ("#7f7f7f", "--"),
    "subgradient": ("#8c564b", "-"),
    "product": ("#393b79", "-"),
    "product, working set": ("#393b79", "--"),
    "one simplex": ("#637939", "-"),
    "one simplex, working set": ("#637939", "--"),
    "tangent planes": ("#637939", "-."),
    "one cone": ("#843c39", "-"),
    "one-slack": ("#8c6d31", "-"),
}
OTHERS = ("#393b79", "#637939", "#8c6d31", "#843c39", "#7b4173", "#3182bd", "#31a354", "#e6550d")


def style(name: str, position: int = 0) -> dict[str, str]:
    """Of a method; one that no paper shares gets a colour by its position in its panel."""
    colour, line = STYLES.get(name, (OTHERS[position % len(OTHERS)], "-"))
    return {"color": colour, "linestyle": line}


def panels(rows: int, columns: int, width: float = 3.6, height: float = 2.9) -> tuple[Any, Any]:
    """A figure and its axes as a matrix."""
    return plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False,
        layout="constrained",
    )  # fmt: skip


def draw_runs(axis: Any, runs: Mapping[str, Sequence[Row]], x: str, y: str) -> None:
    """A line for each method: the median of its runs over the seeds, with their range."""
    if len(runs) > MOST_LINES:
        raise ValueError(f"{len(runs)} lines in one panel; at most {MOST_LINES} can be told apart")
    for position, (name, curves) in enumerate(runs.items()):
        grid, values = on_grid(curves, x, y)
        known = np.isfinite(values).all(axis=0)  # medians over some of the seeds would jump
        look = style(name, position)
        axis.plot(grid[known], np.median(values[:, known], axis=0), label=name, lw=1.3, **look)
        axis.fill_between(
            grid[known], values[:, known].min(axis=0), values[:, known].max(axis=0),
            color=look["color"], alpha=0.15, lw=0,
        )  # fmt: skip
    axis.grid(alpha=0.3)


def finish(figure: Any, path: Path, about: str, legend: bool = True) -> None:
    """Write a PNG of at most 150 kB: legend below the panels, and where the figure comes from."""
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
