"""Ranks, wins and groups on a fixed part of the published record, against numbers computed independently of this code.

``tests/golden/published_points.parquet`` holds what six searchers found at the 1,294 points of 40 tasks: a row for each
point and searcher with the loss and the judged objective value of the best repetition. It was taken from the record
that was published first, and stays as it is when that record is made anew.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfbench.analysis.board import make_board
from cfbench.analysis.ranks import Tolerance
from cfbench.analysis.standings import Standings
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import build_registry
from tests.toys.cells import cell

TABLE = Path(__file__).parents[2] / "golden" / "published_points.parquet"
CELL = ["dataset", "model", "objective", "constraints", "searcher", "fold"]
EXACT = Tolerance(0)


@pytest.fixture(scope="module")
def cells() -> list[CellSummary]:
    found = []
    for coordinates, rows in pd.read_parquet(TABLE).groupby(CELL, observed=True):
        loss, value = (
            [number if ok else None for number, ok in zip(rows[name].tolist(), rows["found"].tolist(), strict=True)]
            for name in ("loss", "objective_value")
        )
        place: dict[str, Any] = dict(zip(CELL, coordinates, strict=True))
        found.append(cell(loss, rows=rows["row_id"].tolist(), objective_value=tuple(value), **place))
    return found


def standings(cells: list[CellSummary], tolerance: Tolerance) -> Standings:
    found = make_board(cells, build_registry(), tolerance=tolerance).standings
    assert len(found.in_play) == 40
    assert sum(view.points for view in found.in_play) == 1294
    assert len(found.ranked) == 6
    assert (found.unit, found.units) == ("pair", 10)
    return found


def assert_ranks(found: Standings, expected: dict[str, tuple[float, int, str]]) -> None:
    rows = {row.label: row for row in found.rows}
    assert {name: rows[name].rank for name in expected} == pytest.approx(
        {name: rank for name, (rank, _, _) in expected.items()}, abs=0.01
    )
    assert {name: rows[name].wins for name in expected} == {name: wins for name, (_, wins, _) in expected.items()}
    assert {name: rows[name].group for name in expected} == {name: group for name, (_, _, group) in expected.items()}


def test_by_the_objective_value(cells: list[CellSummary]) -> None:
    assert_ranks(
        standings(cells, EXACT),
        {
            "sparse-sweep": (1.40, 33, "a"),
            "random-search": (2.88, 0, "b"),
            "cogs": (2.87, 0, "b"),
            "cma-es": (2.99, 7, "b"),
        },
    )


def test_by_the_objective_value_with_practical_ties(cells: list[CellSummary]) -> None:
    found = standings(cells, Tolerance())
    assert_ranks(
        found,
        {
            "sparse-sweep": (1.63, 40, "a"),
            "random-search": (2.45, 0, "b"),
            "cogs": (2.64, 2, "b"),
            "cma-es": (3.44, 4, "c"),
        },
    )
    assert [row.label for row in found.rows][:4] == ["sparse-sweep", "random-search", "cogs", "cma-es"]
    assert [str(row.position) for row in found.rows] == ["1 ", "2 ", "3 ", "4 ", "5 ", "6 "]


def test_by_the_loss_as_before(cells: list[CellSummary]) -> None:
    by_loss = [replace(cell, objective_value=cell.loss) for cell in cells]
    assert_ranks(
        standings(by_loss, EXACT),
        {
            "sparse-sweep": (2.23, 15, "a"),
            "random-search": (2.85, 2, "b"),
            "cogs": (2.59, 10, "a"),
            "cma-es": (2.47, 13, "a"),
        },
    )


def test_records_without_objective_values_are_ranked_by_the_loss_and_say_so(cells: list[CellSummary]) -> None:
    early = [replace(cell, objective_value=(None,) * len(cell.loss)) for cell in cells]
    board = make_board(early, build_registry(), tolerance=EXACT)
    expected = standings([replace(cell, objective_value=cell.loss) for cell in cells], EXACT)
    assert [(row.label, row.rank, row.wins) for row in board.standings.rows] == [
        (row.label, row.rank, row.wins) for row in expected.rows
    ]
    (said,) = [sentence for sentence in board.cautions if "objective value" in sentence]
    assert said.startswith("ranked by the loss in 20 tasks, as objective values are missing: ")
