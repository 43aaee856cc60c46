"""Charts of the report: box plots and heat maps on one canvas."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, NullFormatter

from cfbench.space import FloatArray
from cfbench_paper.published import block
from cfbench_paper.tables import (
    ABSENT,
    DATASETS,
    DISTRIBUTIONS,
    MODELS,
    PARTS,
    ROBUSTNESS,
    ReportTable,
    TableCell,
    TableRow,
    decimal,
)

INK = "#1c2430"
"""Text and lines; a page gives them its own colour."""

BLUE, ORANGE, GREEN = "#3b7dd8", "#c26a14", "#2b8a5a"
"""Colours that colour-blind readers can distinguish, visible on white and on black."""

WIDTH = 3.9
"""Inches of one column: at its natural size a figure fits a phone, with text of 12 pixels."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.dpi": 100,
}


@dataclass(frozen=True)
class Figure:
    """A figure and the numbers that it shows."""

    name: str  # of its files, without the ending
    title: str
    caption: str
    alt: str  # what it shows, for those who do not see it
    svg: str  # a whole SVG file
    png: bytes
    numbers: ReportTable  # everything that is drawn, in numbers
    says: str = ""  # what the paper's text says about its figure, in our words
    # Ways in which the published experiments differ from the text that bear on the paper's figure.
    points: tuple[int, ...] = ()

    @property
    def inline(self) -> str:
        """The SVG as an element of a page: it takes the page's ink, and needs no ids but those it refers to."""
        text = self.svg[self.svg.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
        text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
        referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
        text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in referred else "", text)
        text = re.sub(r'^<svg [^>]*?viewBox="([^"]+)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', text)
        text = (
            text.replace(" xlink:href=", " href=").replace(INK, "currentColor").replace("'DejaVu Sans'", "sans-serif")
        )
        # Coordinates to a tenth of a point; the text between the tags keeps its numbers.
        text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{2,}", _rounded, tag[0]), text)
        return re.sub(r"\n\s*", "\n", text)


def draw(
    name: str, titles: Sequence[str], panel: Callable[[Axes, int], None], *, height: float, columns: int = 1
) -> tuple[str, bytes]:
    """Draw panels below each other, or in columns, as SVG and as PNG.

    `name`: of the figure; what the SVG's ids are made of. `titles`: one per panel, row by row. `panel`: draws the panel
    of a number into axes. `height`: inches a row.
    """
    rows = -(-len(titles) // columns)
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        drawing = Drawing(figsize=(WIDTH, height * rows + 0.35), layout="constrained")
        FigureCanvasAgg(drawing)
        grid = drawing.subplots(rows, columns, squeeze=False)
        for number, (axes, title) in enumerate(zip(grid.flat, titles, strict=False)):
            axes.set_title(title)
            panel(axes, number)
        # The layout is worked out once; each file would work it out again.
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")
        svg, png = io.StringIO(), io.BytesIO()
        drawing.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        drawing.savefig(png, format="png", dpi=200, facecolor="white", metadata={"Software": None})
    return svg.getvalue(), png.getvalue()


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}"


def absent(axes: Axes) -> None:
    """Say in an empty panel that the record has nothing for it."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, "not in this record", ha="center", va="center", transform=axes.transAxes)


COLOURS = {"c": BLUE, "k": ORANGE, "ck": GREEN}

SPREAD = 20.0
"""Largest value over smallest from which on an axis is logarithmic."""


@dataclass(frozen=True, eq=False)
class BoxPlot:
    """A box: its group's label, its own mark below the axis, its colour and its sample."""

    group: str
    mark: str
    colour: str
    sample: FloatArray


def draw_boxes(axes: Axes, boxes: Sequence[BoxPlot], *, reference: float | None = None) -> None:
    """Draw boxes in their groups; whiskers reach the extremes.

    `boxes`: those of a group follow each other; a box of an empty sample leaves its place free. `reference`: where a
    dotted line is drawn.
    """
    if not any(box.sample.size for box in boxes):
        absent(axes)
        return
    groups = list(dict.fromkeys(box.group for box in boxes))
    gap = 0.8 if len(groups) < len(boxes) else 0.0
    places = [i + gap * groups.index(box.group) for i, box in enumerate(boxes)]
    for box, place in zip(boxes, places, strict=True):
        if box.sample.size:
            line = {"color": INK, "linewidth": 0.7}
            axes.boxplot(
                [box.sample],
                positions=[place],
                widths=0.7,
                whis=(0, 100),
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": box.colour, "alpha": 0.85, "edgecolor": INK, "linewidth": 0.7},
                medianprops={"color": INK, "linewidth": 1.4},
                whiskerprops=line,
                capprops=line,
            )
    if reference is not None:
        axes.axhline(reference, color=INK, linewidth=0.6, linestyle=":", zorder=0)
    if reference is not None and reference > 0:  # a ratio
        _scale(axes, [value for box in boxes for value in box.sample])
    axes.set_xlim(places[0] - 0.8, places[-1] + 0.8)
    axes.set_xticks(places, [box.mark for box in boxes])
    axes.tick_params(axis="x", length=0)
    if gap:
        for group in groups:
            middle = np.mean([place for box, place in zip(boxes, places, strict=True) if box.group == group])
            axes.annotate(
                group,
                (float(middle), 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -21),
                textcoords="offset points",
                ha="center",
                fontweight="bold",
            )


def box_entry(values: FloatArray, unit: str = "") -> TableCell:
    """Return a box in numbers: median, quartiles, extremes."""
    if not values.size:
        return TableCell()
    low, first, middle, third, high = (float(value) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    numbers: Mapping[str, float | int] = {
        "n": values.size,
        "mean": float(values.mean()),
        "minimum": low,
        "quartile 1": first,
        "median": middle,
        "quartile 3": third,
        "maximum": high,
    }
    text = f"{decimal(middle)}{unit} [{decimal(first)}, {decimal(third)}], {decimal(low)} to {decimal(high)}"
    return TableCell(text, f"n = {values.size}", numbers=numbers)


def box_figure(
    name: str,
    title: str,
    caption: str,
    panels: dict[str, list[BoxPlot]],
    says: str,
    points: tuple[int, ...],
    *,
    height: float,
    reference: float = 1.0,
) -> Figure:
    """Return a figure of boxes, a data set a panel, with a dotted line at the reference."""
    keys = list(panels)

    def panel(axes: Axes, number: int) -> None:
        draw_boxes(axes, panels[keys[number]], reference=reference)

    titles = [f"{DATASETS[dataset]}, {counted(boxes)}" for dataset, boxes in panels.items()]
    svg, png = draw(name, titles, panel, height=height)
    rows = [
        TableRow((DATASETS[dataset], box.group, box.mark), (box_entry(box.sample),))
        for dataset, boxes in panels.items()
        for box in boxes
    ]
    numbers = ReportTable(
        name,
        title,
        f"{caption} n: points.",
        ("data set", "accounted for", "mark"),
        ("median [quartiles], extremes",),
        tuple(rows),
    )
    return Figure(name, title, caption, alt_of_boxes(title, panels), svg, png, numbers, says, points)


def counted(boxes: list[BoxPlot]) -> str:
    """Say how many values the boxes have."""
    sizes = sorted({box.sample.size for box in boxes if box.sample.size})
    if not sizes:
        return "n = 0"
    return f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"


def alt_of_boxes(title: str, panels: dict[str, list[BoxPlot]]) -> str:
    """Name the box with the highest median of each data set."""
    says = []
    for dataset, boxes in panels.items():
        medians = {f"{box.group}, {box.mark}": float(np.median(box.sample)) for box in boxes if box.sample.size}
        if medians:
            highest = max(medians, key=medians.__getitem__)
            says.append(f"{DATASETS[dataset]} {decimal(medians[highest])} ({highest})")
    return f"Box plots, a data set each. {title}. Highest medians: {'; '.join(says) or 'none'}."


def _scale(axes: Axes, values: Sequence[float]) -> None:
    """Make the axis of ratios logarithmic where they span more than a linear one can show."""
    smallest, largest = min(values), max(values)
    if smallest <= 0 or largest / smallest < SPREAD:
        return
    axes.set_yscale("log")
    # "0.1, 1, 10" instead of powers of ten: superscripts are unreadable at this size.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{axes.get_title(loc='left')}, logarithmic", loc="left")


def fixability(robust: pd.DataFrame, model: str) -> Figure:
    """Return the heat map of the shares of perturbations that can be corrected."""
    # For both parts together the paper takes the value of K alone; they differ, so it has a column here.
    return _heat_map(
        robust,
        model,
        "fixability",
        f"Perturbations that can be corrected: {MODELS[model]}",
        "Mean share of random perturbations after which the result is still of the target class or can be walked back "
        "to within the constraints; 1 is best, darker is worse.",
        darkest=0.0,
        points=(2, 5, 12, 13) if model == "neural-network" else (5, 12, 13),
    )


def invalidity(robust: pd.DataFrame, model: str) -> Figure:
    """Return the heat map of the shares of perturbations that change the class."""
    return _heat_map(
        robust,
        model,
        "invalidity",
        f"Perturbations that invalidate the result: {MODELS[model]}",
        "Mean share of random perturbations after which the result is no longer of the target class; 0 is best, darker "
        "is worse.",
        darkest=1.0,
        points=(2, 5, 12, 13, 14) if model == "neural-network" else (5, 12, 13, 14),
    )


def _heat_map(
    robust: pd.DataFrame,
    model: str,
    metric: str,
    title: str,
    caption: str,
    *,
    darkest: float,
    points: tuple[int, ...],
) -> Figure:
    mine = robust[robust["model"] == model]
    panels = [(dataset, distribution) for dataset in DATASETS for distribution in DISTRIBUTIONS]
    values = {place: _means(mine[mine["dataset"] == place[0]], metric, place[1]) for place in panels}

    def panel(axes: Axes, number: int) -> None:
        means, _ = values[panels[number]]
        if np.isnan(means).all():
            absent(axes)
            return
        badness = 1.0 - np.abs(means - darkest)
        axes.pcolormesh(
            np.ma.masked_invalid(badness), cmap="Oranges", vmin=0.0, vmax=1.5, edgecolors="face", linewidth=0.2
        )
        for (row, column), mean in np.ndenumerate(means):
            # Ink of its own: the cell's colour stays what it is on a dark page, and so must the number's.
            ink = INK if np.isnan(mean) else "#1a1a1a"
            axes.text(column + 0.5, row + 0.5, decimal(mean), ha="center", va="center", color=ink, fontsize=8.5)
        axes.set_xticks(np.arange(len(PARTS)) + 0.5, ["C", "K", "C, K"])
        left = number % len(DISTRIBUTIONS) == 0
        axes.set_yticks(np.arange(len(ROBUSTNESS)) + 0.5, ["None", "C", "K", "C, K"] if left else [])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        for spine in axes.spines.values():
            spine.set_visible(False)

    name = f"{metric}-{model}"
    titles = [f"{DATASETS[dataset]}, {distribution}" for dataset, distribution in panels]
    svg, png = draw(name, titles, panel, height=1.25, columns=len(DISTRIBUTIONS))
    numbers = _numbers(name, title, caption, values, panels)
    legend = " Rows: what the search accounted for; columns: what is perturbed. n is in the numbers below."
    return Figure(
        name=name,
        title=title,
        caption=caption + legend,
        alt=_alt(metric, model, values, panels),
        svg=svg,
        png=png,
        numbers=numbers,
        says=block("figures")[metric],
        points=points,
    )


def _means(rows: pd.DataFrame, metric: str, distribution: str) -> tuple[FloatArray, list[list[int]]]:
    """Return the means and their counts, shape (robustness, part)."""
    found = [
        [
            rows.loc[rows["objective"] == objective, f"{metric}/{part}/{distribution}"].dropna().to_numpy(np.float64)
            for part in PARTS
        ]
        for objective in ROBUSTNESS
    ]
    means = np.array([[values.mean() if values.size else np.nan for values in line] for line in found])
    return means, [[values.size for values in line] for line in found]


def _numbers(
    name: str,
    title: str,
    caption: str,
    values: dict[tuple[str, str], tuple[FloatArray, list[list[int]]]],
    panels: Sequence[tuple[str, str]],
) -> ReportTable:
    rows = []
    for dataset, distribution in panels:
        means, counts = values[dataset, distribution]
        for robustness, line, sizes in zip(ROBUSTNESS.values(), means, counts, strict=True):
            entries = [
                TableCell(decimal(mean), f"n = {n}" if n else "", numbers={"mean": float(mean), "n": n})
                for mean, n in zip(line, sizes, strict=True)
            ]
            rows.append(TableRow((DATASETS[dataset], distribution, robustness), tuple(entries)))
    return ReportTable(
        name,
        title,
        f"{caption} n: points with a result.",
        ("data set", "perturbations", "accounted for"),
        tuple(f"perturbed: {text}" for text in PARTS.values()),
        tuple(rows),
    )


def _alt(
    metric: str,
    model: str,
    values: dict[tuple[str, str], tuple[FloatArray, list[list[int]]]],
    panels: Sequence[tuple[str, str]],
) -> str:
    """Say for each data set what accounting for nothing and for K means under perturbations to K."""
    column, none, k = list(PARTS).index("k"), list(ROBUSTNESS).index("none"), list(ROBUSTNESS).index("k")
    says = [
        f"{DATASETS[dataset]} {decimal(values[dataset, distribution][0][none, column])} and "
        f"{decimal(values[dataset, distribution][0][k, column])}"
        for dataset, distribution in panels
        if distribution == "uniform"
    ]
    listed = "; ".join(says).replace(ABSENT, "not there")
    return (
        f"Heat maps of {metric} with a {MODELS[model]}, a data set and distribution each. Under uniform perturbations "
        f"to K, accounting for nothing and for K: {listed}."
    )
