"""The leaderboard as an object, on the board of tests/golden and on records written by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import cfbench
from cfbench.board.board import Leaderboard
from cfbench.board.tabular import render_csv
from cfbench.errors import RecordError, StudyError
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished, CellInfo
from tests.databases import damage

FinishedCell = Callable[..., CellFinished]
TOY = CellInfo("0" * 31 + "2", "credit", "random-forest", "toy", "none", constraints=False, fold=0)


def test_an_unknown_format_names_those_that_are_there(shown: Leaderboard) -> None:
    with pytest.raises(cfbench.errors.UnknownNameError, match=r"unknown format 'markdwn'\. Did you mean 'markdown'"):
        shown.render("markdwn")


def test_the_frames_hold_every_number_of_the_csv(shown: Leaderboard, tasks: Leaderboard) -> None:
    for frame, text in ((tasks.to_frame(), render_csv(tasks)), (shown.overall(), render_csv(shown))):
        written = list(csv.DictReader(io.StringIO(text)))
        assert list(frame.columns) == list(written[0])
        assert len(frame) == len(written)
        numbers = [float(row["seconds_mean"]) for row in written if row["seconds_mean"]]
        assert frame["seconds_mean"].dropna().tolist() == numbers


def test_the_html_shows_every_row_with_its_denominator_and_escapes_names(shown: Leaderboard) -> None:
    first, *others = shown.board.standings.rows
    mean = replace(first, searcher=replace(first.searcher, name="<script>alert(1)</script>"))
    part = replace(shown.board.standings, rows=(mean, *others))
    page = Leaderboard(replace(shown.board, parts=(part, part)), "a & b")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a &amp; b" in page
    assert page.count("<table>") == page.count("</table>") == 2
    assert page.count("<td>") == len(part.rows) * page.count("<th>")


def test_a_record_is_opened_by_its_path(
    tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None]
) -> None:
    with Record.open(tmp_path / "r", write=True) as record:
        put_cell(record, finished_cell([0.25, None]))
        put_cell(record, finished_cell([0.5, 0.5], info=TOY))
    shown = cfbench.leaderboard(tmp_path / "r", reference="cogs")
    frame = shown.to_frame()[["searcher", "points_found", "points"]]
    assert frame.to_numpy().tolist() == [["toy", 2, 2], ["cogs", 1, 2]]
    assert str(tmp_path / "r") in str(shown)
    with pytest.raises(cfbench.errors.UnknownNameError, match="unknown data set of this record 'wine'"):
        cfbench.leaderboard(tmp_path / "r", datasets=["wine"])


def test_the_reference_is_the_one_that_the_record_notes_unless_the_user_names_another(
    tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None]
) -> None:
    with Record.open(tmp_path / "r", write=True) as record:
        put_cell(record, finished_cell([0.25, 0.5]))
        put_cell(record, finished_cell([0.5, 0.5], info=TOY))
    assert cfbench.leaderboard(tmp_path / "r").board.reference == "cogs"  # that of the starting preset
    with Record.open(tmp_path / "r", write=True) as record:
        record.note("reference", "toy")
    assert cfbench.leaderboard(tmp_path / "r").board.reference == "toy"
    assert cfbench.leaderboard(tmp_path / "r", reference="cogs").board.reference == "cogs"


def test_a_python_shell_shows_the_table_and_the_frame_has_the_metrics(
    tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None]
) -> None:
    with Record.open(tmp_path / "r", write=True) as record:
        cell = finished_cell([0.25, 0.5, None])
        put_cell(record, cell)
        values = {"metric": "sparsity", "version": "1", "settings": "{}", "repetition": 0}
        table = {"cell_key": cell.cell.key, **values, "point": range(3), "value": [1.0, 2.0, float("nan")]}
        record.write_measures(cell.cell.key, pd.DataFrame(table))
    shown = cfbench.leaderboard(tmp_path / "r", columns=["found", "sparsity"])
    assert repr(shown) == str(shown)
    assert len(repr(shown)) < 5000
    assert len(repr(shown.board)) < 100
    (row,) = shown.to_frame().to_dict("records")
    assert (row["sparsity"], row["sparsity_points"]) == (1.5, 2)
    assert "sparsity" not in cfbench.leaderboard(tmp_path / "r", columns=["found"]).to_frame()


def test_own_points_need_to_know_whose(
    tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None]
) -> None:
    # toy has one of the two points of cogs: alone it decides nothing, and named with cogs it leaves one point.
    with Record.open(tmp_path / "r", write=True) as record:
        put_cell(record, finished_cell([0.25, 0.25]))
        put_cell(record, finished_cell([0.5], info=TOY))
    with pytest.raises(StudyError, match="name the searchers with --searcher"):
        cfbench.leaderboard(tmp_path / "r", on="own-points")
    shown = cfbench.leaderboard(tmp_path / "r", on="own-points", searchers=["toy", "cogs"])
    assert [(row.label, row.rank) for row in shown.board.standings.rows] == [("cogs", 1.0), ("toy", 2.0)]
    assert shown.board.standings.tasks[0].points == 1
    legend = "points ranks and losses are on those points alone that every black box has results for"
    assert legend in " ".join(str(shown).split())


def test_where_there_is_nothing_the_message_says_what_makes_it(tmp_path: Path) -> None:
    Record.open(tmp_path / "empty", write=True).close()
    for place in ("nowhere", "empty"):
        with pytest.raises(cfbench.CfbenchError, match=f"cfbench run --results .*{place}"):
            cfbench.leaderboard(tmp_path / place)


def test_damage_is_told_where_nothing_can_be_shown(tmp_path: Path) -> None:
    key = "ab" * 16
    with Record.open(tmp_path, write=True) as record:
        record.skip(CellInfo(key, "credit", "forest", "cogs", "none", constraints=False, fold=0), {}, "no")
    damage(tmp_path, "cells")
    with pytest.raises(RecordError, match=rf"(?s)no cell is finished.*cell {key} is damaged") as raised:
        cfbench.leaderboard(tmp_path)
    assert "it runs again" in str(raised.value)
