"""The comparison as one page: a file that holds everything and asks nothing of any network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from cfbench.leaderboard.safe import visible
from cfbench.report.canvas import Figure
from cfbench.report.claims import Claim, Verdict
from cfbench.report.gaps import Gaps
from cfbench.report.names import DATASETS
from cfbench.report.paper_report import Report
from cfbench.report.published import POINTS
from cfbench.report.tables import Table, decimal


@dataclass(frozen=True)
class Run:
    """Items of a section that stand together: figures, or tables."""

    figures: bool
    items: tuple[Table | Figure, ...]


class Drawings:
    """Takes inline drawings and collects what they repeat, their styles, for the page's style sheet."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}

    def __call__(self, figure: Figure) -> Markup:
        """Return a figure's SVG for the page."""
        # Drawn by us: no text of a record or a plugin is in it unescaped.
        return Markup(re.sub(r' style="([^"]*)"', self._class, figure.inline))  # noqa: S704

    def css(self) -> Markup:
        """Return the rules of all drawings so far."""
        rules = [f".{name}{{{style}}}" for style, name in self._classes.items()]
        return Markup("\n".join(rules))  # noqa: S704 - as above

    def _class(self, found: re.Match[str]) -> str:
        style = found[1].replace("; ", ";").replace(": ", ":").rstrip(";")
        return f' class="{self._classes.setdefault(style, f"d{len(self._classes)}")}"'


def render_page(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_printable, keep_trailing_newline=True
    )
    folder = files("cfbench.report") / "templates"
    drawings = Drawings()
    drawn = {
        item.name: drawings(item) for section in report.sections for item in section.items if isinstance(item, Figure)
    }
    environment.filters["code"] = _with_code
    template = environment.from_string((folder / "paper.html.j2").read_text(encoding="utf-8"))
    return template.render(
        report=report,
        css=Markup((folder / "paper.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        drawing_css=drawings.css(),
        drawing=lambda figure: drawn[figure.name],
        result=headline(report.claims),
        missing=lacks(report.gaps),
        points=POINTS,
        names=DATASETS,
        runs=_runs,
        value=lambda number: decimal(number, 3),
    )


def headline(claims: Sequence[Claim]) -> str:
    """Say in one sentence how the paper's claims fare."""
    counts = {verdict: sum(one.verdict is verdict for one in claims) for verdict in Verdict}
    return (
        f"Of {len(claims)} statements that stand for the paper's claims {counts[Verdict.HOLDS]} hold here, "
        f"{counts[Verdict.FAILS]} do not, and {counts[Verdict.OPEN]} cannot be decided from this record."
    )


def lacks(found: Gaps) -> str:
    """Say in one sentence how much is missing; empty where nothing is."""
    parts = [f"{found.cells} cells of the paper's experiments"] if found.cells else []
    parts += [f"{len(found.unmeasured)} metrics of some cells"] if found.unmeasured else []
    return f"This record lacks {' and '.join(parts)}; the rest is shown." if parts else ""


def _runs(items: Sequence[Table | Figure]) -> list[Run]:
    groups = groupby(items, key=lambda item: isinstance(item, Figure))
    return [Run(figures, tuple(group)) for figures, group in groups]


def _with_code(sentence: str) -> Markup:
    """Return a sentence as markup: what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(sentence)))))  # noqa: S704 - escaped


def _printable(value: object) -> object:
    """Make control characters of foreign names visible; what is markup already was made here."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
