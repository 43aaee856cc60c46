"""A board of a small made-up record, ``tests/golden/board.json``, whose numbers can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cfbench.analysis.board import Board, make_board
from cfbench.analysis.groups import GroupBy
from cfbench.board.board import Leaderboard
from cfbench.record.cells import CellSummary
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import build_registry

GOLDEN = Path(__file__).parents[2] / "golden"


def read_cells(path: Path) -> list[CellSummary]:
    cells = []
    for number, line in enumerate(json.loads(path.read_text("utf-8"))):
        info = CellInfo(key=f"{number:032x}", **line.pop("info"))
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in line.items()
        }
        loss = fields.get("loss", ())
        unused = (None,) * len(loss)
        cells.append(CellSummary(info=info, objective_value=loss, seconds=unused, queries=unused, **fields))
    return cells


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


@pytest.fixture(scope="session")
def cells() -> list[CellSummary]:
    return read_cells(GOLDEN / "board.json")


@pytest.fixture(scope="session")
def board(cells: list[CellSummary]) -> Board:
    return make_board(cells, build_registry())


@pytest.fixture(scope="session")
def shown(board: Board) -> Leaderboard:
    """The overall table."""
    return Leaderboard(board, "results")


@pytest.fixture(scope="session")
def tasks(cells: list[CellSummary]) -> Leaderboard:
    """The tables of single tasks."""
    return Leaderboard(make_board(cells, build_registry(), group_by=GroupBy.TASK), "results")
