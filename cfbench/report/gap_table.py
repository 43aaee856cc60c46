"""How far CoGS is from the proven optimum: with one search, and with the best of several."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfbench.report.names import DATASETS
from cfbench.report.tables import Entry, Table, TableRow, decimal

OPTIMAL = 0.001
"""A relative gap up to which a result counts as optimal."""


def gap_table(optimum: pd.DataFrame) -> Table:
    """Return the gap by data set, of one search and of the best of a point's searches.

    Parameters
    ----------
    optimum : DataFrame
        As :class:`~cfbench.report.evidence.Evidence` has it.
    """
    rows = []
    for constraints in (False, True):
        for dataset, short in DATASETS.items():
            mine = optimum[(optimum["dataset"] == dataset) & (optimum["constraints"] == constraints)]
            mine = mine.dropna(subset="gap")
            for several in (False, True):
                chosen = mine[(mine["searches"] == mine["of"]) if several else (mine["searches"] == 1)]
                text = f"best of {_span(chosen['of'])}" if several else "one search"
                if len(chosen) and not (several and (chosen["of"] == 1).all()):
                    heads = (short, "on" if constraints else "off", text)
                    rows.append(TableRow(heads, _entries(chosen)))
    return Table(
        "gap-to-the-optimum",
        "CoGS next to the proven optimum",
        "Relative gap of the loss, (loss - optimum) / optimum, on random forests, for points with a proven optimum or "
        "a lower bound; lower is better. One search: the mean over a point's searches, then over points.",
        ("data set", "constraints", "searches"),
        ("mean gap", f"optimal (gap of {OPTIMAL:g} or less)"),
        tuple(rows),
        ("The paper knows no optimum: it calls CoGS's results near-optimal, the best of five searches.",),
    )


def _entries(rows: pd.DataFrame) -> tuple[Entry, Entry]:
    points = rows.groupby(["fold", "row_id"])["gap"]
    gap = float(points.mean().mean())
    optimal = float(points.apply(lambda values: float(np.mean(values <= OPTIMAL))).mean())
    n = f"n = {len(points)}"
    return (
        Entry(f"{decimal(100 * gap)} %", n, numbers={"mean": gap, "n": len(points)}),
        Entry(f"{decimal(100 * optimal, 0)} %", n, numbers={"share": optimal, "n": len(points)}),
    )


def _span(numbers: pd.Series[int]) -> str:
    ordered = sorted(set(numbers))
    return "" if not ordered else str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
