"""Why white boxes found nothing, counted over a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cfbench.analysis.notes import why_unfound
from cfbench.board.board import leaderboard
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished


def test_a_proof_is_told_from_a_limit(
    tmp_path: Path,
    finished_cell: Callable[..., CellFinished],
    put_cell: Callable[[Record, CellFinished], None],
) -> None:
    first = finished_cell().cell
    seeing = replace(first, key="a" * 32, searcher="oracle", white_box=True)
    cell, black = finished_cell((0.5, None, None, None, None), info=seeing), finished_cell((0.5, None, 0.5, 0.5, 0.5))
    assert cell.searches is not None
    assert black.searches is not None
    cell.searches["reason"] = ["", "proven", "too late", "too late", ""]
    black.searches["reason"] = ["", "gave up", "", "", ""]
    with Record.open(tmp_path / "r", write=True) as record:
        put_cell(record, cell)
        put_cell(record, black)
    said = ["oracle found nothing in 2 searches: too late", "oracle found nothing in 1 search: proven"]
    with Record.open(tmp_path / "r") as record:
        assert why_unfound(record, record.summaries().values()) == said
        assert why_unfound(record, [one for one in record.summaries().values() if not one.info.white_box]) == []
    assert set(said) <= set(leaderboard(tmp_path / "r").board.cautions)
