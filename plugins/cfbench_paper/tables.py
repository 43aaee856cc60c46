"""The paper's names for data sets, models and searchers, and tables as the report shows them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from cfbench.analysis import markdown_cell, spreadsheet_cell, visible
from cfbench_paper import presets

N_FOLDS = 5
"""The paper's folds."""

EXACT = "exact-trees"
"""The searcher that proves optima on forests."""

DATASETS: Mapping[str, str] = dict(zip(presets.DATASETS, ("Cre", "Inc", "Hou", "Pro", "Rec"), strict=True))
"""The data sets with the paper's abbreviations."""

MODELS: Mapping[str, str] = {name: name.replace("-", " ") for name in presets.MODELS}

SEARCHERS: Mapping[str, str] = dict(
    zip(presets.SEARCHERS, ("CoGS", "DiCE-a", "DiCE-b", "GrSp", "LORE", "NeMe"), strict=True)
)

ROBUSTNESS: Mapping[str, str] = dict(zip(presets.OBJECTIVES, ("None", "C", "K", "C and K"), strict=True))
"""The notions of robustness that a search accounts for, by objective."""

PARTS: Mapping[str, str] = {"c": "C", "k": "K", "ck": "C and K"}
"""The features that a perturbation concerns."""

DISTRIBUTIONS = ("uniform", "normal")

SAMPLES = (0, 4, 16, 64)
"""The paper's values of m; 0 is the same search without the term for K."""

TOLERANCES = (1, 5, 10)
"""For accidental robustness, in percent of a feature's range."""


ABSENT = "-"
"""Stands where the record says nothing."""


@dataclass(frozen=True)
class TableCell:
    """A cell of a table."""

    ours: str = ABSENT  # what the record says, as people read it
    n: str = ""  # what it is counted over
    paper: str = ""  # what the paper prints; empty where it prints nothing
    # The numbered ways in which the published experiments differ from the paper's text that bear on `paper`.
    points: tuple[int, ...] = ()
    numbers: Mapping[str, float | int | None] = field(default_factory=dict)  # the same unrounded, for the CSV file

    @property
    def differs(self) -> tuple[int, ...]:
        """The points that may be why `ours` is another number than `paper`; none where they read the same."""
        ours, paper = (text.partition(" ±")[0] for text in (self.ours, self.paper))
        return self.points if paper and ours not in (ABSENT, paper) else ()

    @property
    def text(self) -> str:
        """The cell on one line."""
        counted = f" ({self.n})" if self.n else ""
        beside = f"; paper {self.paper}" if self.paper else ""
        marks = f" [{', '.join(map(str, self.differs))}]" if self.differs else ""
        return f"{self.ours}{counted}{beside}{marks}"


@dataclass(frozen=True)
class TableRow:
    """A row: what it is about, and its cells in the order of the columns."""

    heads: tuple[str, ...]
    entries: tuple[TableCell, ...]


@dataclass(frozen=True)
class ReportTable:
    """A table."""

    name: str  # of its files, without the ending
    title: str
    caption: str
    heads: tuple[str, ...]  # what the first columns, which say what a row is about, are called
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()  # sentences below the table

    @property
    def points(self) -> tuple[int, ...]:
        """The differences of the published experiments that any of its cells names."""
        return tuple(sorted({point for row in self.rows for entry in row.entries for point in entry.differs}))

    def markdown(self) -> str:
        """Return the table in markdown, its caption and notes included."""
        lines = [(*self.heads, *self.columns), tuple("---" for _ in (*self.heads, *self.columns))]
        lines += [(*row.heads, *(entry.text for entry in row.entries)) for row in self.rows]
        body = ["| " + " | ".join(markdown_cell(cell) for cell in line) + " |" for line in lines]
        notes = [f"- {note}" for note in self.notes]
        parts = [f"### {self.title}", self.caption, "\n".join(body), "\n".join(notes)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def csv(self) -> str:
        """Return the table as CSV, with one line for each cell: its row and column, its text, its unrounded numbers."""
        numbers = list(dict.fromkeys(name for row in self.rows for entry in row.entries for name in entry.numbers))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*self.heads, "column", "ours", "counted over", "paper", "differences", *numbers])
        for row in self.rows:
            for column, entry in zip(self.columns, row.entries, strict=True):
                marks = " ".join(map(str, entry.differs))
                texts = (*row.heads, column, entry.ours, entry.n, entry.paper, marks)
                cells = [spreadsheet_cell(visible(text)) for text in texts]
                writer.writerow(cells + [_unrounded(entry.numbers.get(name)) for name in numbers])
        return out.getvalue()


def rows_where(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return the rows whose columns have these values."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame


def decimal(value: float | None, digits: int = 2) -> str:
    """Write a number with a fixed number of digits, from 1,000 on without any."""
    if value is None or math.isnan(value):
        return ABSENT
    text = f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text  # no sign on what rounds to nothing


def mean_and_sd(mean: float | None, sd: float | None) -> str:
    """Write a mean with its standard deviation, where it has one."""
    return decimal(mean) if mean is None or sd is None else f"{decimal(mean)} ± {decimal(sd)}"


def printed(pair: Sequence[float] | None) -> str:
    """Write a mean and a standard deviation that the paper prints."""
    return mean_and_sd(pair[0], pair[1]) if pair else ""


def _unrounded(value: float | int | None) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else repr(value)
