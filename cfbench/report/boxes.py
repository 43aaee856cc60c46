"""Box plots in groups, and the numbers behind each box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from cfbench.report.canvas import BLUE, GREEN, INK, ORANGE, Figure, absent, draw
from cfbench.report.names import DATASETS
from cfbench.report.tables import Entry, Table, TableRow, decimal
from cfbench.space import FloatArray

COLOURS = {"c": BLUE, "k": ORANGE, "ck": GREEN}

SPREAD = 20.0
"""Largest value over smallest from which on an axis is logarithmic."""


@dataclass(frozen=True, eq=False)
class Box:
    """A box: its group's label, its own mark below the axis, its colour and its sample."""

    group: str
    mark: str
    colour: str
    sample: FloatArray


def draw_boxes(axes: Axes, boxes: Sequence[Box], *, reference: float | None = None) -> None:
    """Draw boxes in their groups; whiskers reach the extremes.

    Parameters
    ----------
    axes : Axes
    boxes : sequence of Box
        Those of a group follow each other; a box of an empty sample leaves its place free.
    reference : float, optional
        Where a dotted line is drawn.
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


def box_entry(values: FloatArray, unit: str = "") -> Entry:
    """Return a box in numbers: median, quartiles, extremes."""
    if not values.size:
        return Entry()
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
    return Entry(text, f"n = {values.size}", numbers=numbers)


def box_figure(
    name: str,
    title: str,
    caption: str,
    panels: dict[str, list[Box]],
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
    numbers = Table(
        name,
        title,
        f"{caption} n: points.",
        ("data set", "accounted for", "mark"),
        ("median [quartiles], extremes",),
        tuple(rows),
    )
    return Figure(name, title, caption, alt_of_boxes(title, panels), svg, png, numbers, says, points)


def counted(boxes: list[Box]) -> str:
    """Say how many values the boxes have."""
    sizes = sorted({box.sample.size for box in boxes if box.sample.size})
    if not sizes:
        return "n = 0"
    return f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"


def alt_of_boxes(title: str, panels: dict[str, list[Box]]) -> str:
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
