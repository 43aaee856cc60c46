"""Drawing: one style, the same bytes for the same numbers, and SVG that follows a page's light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from cfbench.report.tables import Table

INK = "#1c2430"
"""Text and lines; a page gives them its own colour."""

BLUE, ORANGE, GREEN = "#3b7dd8", "#c26a14", "#2b8a5a"
"""Told apart by colour-blind readers as well, and visible on white and on black."""

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
    """A figure and the numbers that it shows.

    Parameters
    ----------
    name : str
        Of its files, without the ending.
    title, caption : str
    alt : str
        What it shows, for those who do not see it.
    svg : str
        A whole SVG file.
    png : bytes
    numbers : Table
        Everything that is drawn, in numbers.
    says : str
        What the paper's text says about its figure, in our words.
    points : tuple of int
        Ways in which the published experiments differ from the text that bear on the paper's figure.
    """

    name: str
    title: str
    caption: str
    alt: str
    svg: str
    png: bytes
    numbers: Table
    says: str = ""
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

    Parameters
    ----------
    name : str
        Of the figure; what the SVG's ids are made of.
    titles : sequence of str
        A panel each, row by row.
    panel : callable
        Draws the panel of a number into axes.
    height : float
        Inches a row.
    columns : int
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
