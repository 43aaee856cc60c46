"""Fill the board of README.md and the gaps of the exact searcher's page from the published record.

``python docs/pictures/published.py leaderboard/record`` writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from findings import filled

import cfbench
from cfbench.analysis.references import PointResults, compare_cells
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.registry import build_registry
from cfbench.study.variants import resolve_variant

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "exact-trees.md"
NO_GAP = 0.001
"""A gap up to this share counts as none, as on boards."""


def board_text(path: Path) -> str:
    """Return the board's title and table as a block of text, without the legend below them."""
    title, table, *_ = str(cfbench.leaderboard(path)).split("\n\n")
    return f"```text\n{title}\n\n{table}\n```"


def searched_cells_and_gaps(path: Path) -> tuple[list[CellSummary], pd.DataFrame]:
    """Return the cells of a record that have searches, and the distances of their points from the proven optimum."""
    registry = build_registry()
    with Record.open(path) as record:
        cells = [cell for cell in record.summaries().values() if cell.searches]
        metrics = [resolve_variant(registry, "metric", "optimality-gap")]
        return cells, compare_cells(record, registry, metrics, results=PointResults(record, registry)).table


def gap_table(path: Path) -> str:
    """Return the distances from the proven optimum as a table, one row per searcher, over all points of forests."""
    cells, gaps = searched_cells_and_gaps(path)
    places = {(cell.info.dataset, cell.info.model, cell.info.fold) for cell in cells if "exact" in cell.info.searcher}
    counted = pd.DataFrame(
        [
            (cell.info.searcher, len(cell.tries), sum(wins > 0 for wins in cell.successes))
            for cell in cells
            if (cell.info.dataset, cell.info.model, cell.info.fold) in places and cell.info.objective == "none"
        ],
        columns=["searcher", "points", "found"],
    )
    counts = counted.groupby("searcher").sum()
    gaps = gaps[gaps["value"].notna() & (gaps["objective"] == "none")]
    best = gaps.groupby(["searcher", "dataset", "model", "constraints", "fold", "row_id"])["value"].min()
    lines = []
    for searcher, values in best.drop("exact-trees").groupby("searcher"):
        points, found = counts.loc[str(searcher)]
        shares = f"{values.mean():.2%} | {(values <= NO_GAP).mean():.0%} | {values.max():,.1%}".replace("%", " %")
        lines.append((found < points, values.mean(), f"| {searcher} | {points} | {found} | {shares} |"))
    head = "| searcher | points | found | gap, mean | within 0.1 % | largest |"
    rule = "| --- | ---: | ---: | ---: | ---: | ---: |"
    return "\n".join([head, rule, *(line for *_, line in sorted(lines))])


def main(record: Path) -> None:
    """Write both pages."""
    for page, blocks in ((ROOT / "README.md", {"board": board_text(record)}), (PAGE, {"gaps": gap_table(record)})):
        page.write_text(filled(page.read_text(encoding="utf-8"), blocks), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
