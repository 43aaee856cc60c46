"""Summaries against numbers worked out by hand, their way through the database, and what contradicts their searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench.record.cells import CELLS, loaded_cell, stored_cell, summarise
from cfbench.record.schema import SEARCHES, DamagedError, digest_of_values
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.databases import execute, forge

MakeRow = Callable[..., dict[str, Any]]
OTHER = "f" * 32


def test_a_summary_by_hand(make_row: MakeRow, info: CellInfo) -> None:
    given = [
        make_row(0, 0, loss=0.5, objective_value=0.7, search_queries=10),
        make_row(0, 1, loss=0.6, objective_value=0.4, wall_seconds=0.5, search_queries=20),  # the result
        make_row(0, 2, loss=0.1, objective_value=0.4),  # ties with the one before
        make_row(2, 0, "not_found"),
        make_row(2, 1, "budget_exhausted", loss=0.3, objective_value=0.35, model_fingerprint="e" * 32),
        make_row(5, 0, "crashed"),
    ]
    summary = summarise(info, {"a": 1}, 60, reversed([SEARCHES.checked(row) for row in given]))
    assert summary.eligible == 60
    assert summary.repetitions == 3
    assert summary.searches == 6
    assert summary.statuses == {"budget_exhausted": 1, "crashed": 1, "found": 3, "not_found": 1}
    assert summary.row_ids == (100, 102, 105)
    assert summary.tries == (3, 2, 1)
    assert summary.successes == (3, 1, 0)
    assert summary.loss == (0.6, 0.3, None)
    assert summary.objective_value == (0.4, 0.35, None)
    assert summary.seconds == (0.5, 0.25, None)
    assert summary.queries == (84, 164, None)
    assert summary.search_queries == 430
    assert summary.robustness_queries == 6 * 64
    assert summary.wall_seconds == 1.75
    assert summary.cpu_seconds == 0.75
    assert summary.fingerprints == ("e" * 32, "f" * 32)
    assert (summary.info, summary.content, summary.skipped, summary.failure) == (info, {"a": 1}, "", "")


def test_a_success_without_an_objective_value_ranks_last(make_row: MakeRow, info: CellInfo) -> None:
    given = [make_row(0, 0, loss=0.1, objective_value=None), make_row(0, 1, loss=0.2, objective_value=9.0)]
    assert summarise(info, {}, 1, map(SEARCHES.checked, given)).loss == (0.2,)


def test_the_database_gives_all_back(make_row: MakeRow, info: CellInfo) -> None:
    given = [SEARCHES.checked(make_row(p, r, "found" if p != 3 else "crashed")) for p in range(6) for r in range(2)]
    given.append(SEARCHES.checked(make_row(9, 0, loss=0.1, objective_value=float("inf"))))
    summary = summarise(info, {"names": ["a"], "settings": {"m": 4}}, 60, given)
    done = {(row["point"], row["repetition"]): row["status"] for row in given}
    assert summary.runs == (
        ("found", 0, 0, 2), ("crashed", 0, 3, 3), ("found", 0, 4, 5), ("found", 0, 9, 9),
        ("found", 1, 0, 2), ("crashed", 1, 3, 3), ("found", 1, 4, 5),
    )  # fmt: skip
    cell = replace(summary, skipped="no", failure="yes", source="somewhere")
    assert loaded_cell(stored_cell(cell)) == cell
    assert cell.done == done
    assert list(cell.done) == sorted(done)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"searches": 5}, "its counts of searches differ"),
        ({"loss": [0.5]}, "every point must have one value of each kind"),
        ({"tries": [1, -2, 4]}, "column 'tries'.*greater than or equal to 0"),
        ({"mark": ""}, "it counts 3 searches and has no mark of them"),
        ({"content": {"fold": "two"}}, "content.fold cannot be 'two'"),
        ({"dataset": "x" * 10_001}, "column 'dataset'.*at most 10000 characters"),
        ({"statuses": {"found": -3}}, "column 'statuses'"),
        ({"runs": [["found", 0, 0]]}, "column 'runs'"),
        ({"points": [0, 1, 2.0]}, "column 'points'.*a valid integer"),
        ({"tries": '["1",2,4]'}, "column 'tries'.*a valid integer"),
        ({"successes": "[true,0,1]"}, "column 'successes'.*a valid integer"),
        ({"statuses": '{"found":"3"}'}, "column 'statuses'.*a valid integer"),
        ({"loss": "[-1,null,0.5]"}, "column 'loss'.*greater than or equal to 0"),
        ({"loss": '[0.5,null,"nan"]'}, "column 'loss'.*a valid number"),
        ({"seconds": '["inf",null,null]'}, "column 'seconds'.*a valid number"),
        ({"white_box": 5}, "column 'white_box'.*cannot hold 5: it must be true or false"),
        ({"content": "[" * 100_000}, "column 'content'"),
    ],
)
def test_a_summary_that_no_cell_has_is_left_out_and_named(
    path: Path, two_cells: tuple[str, str], changes: dict[str, Any], why: str
) -> None:
    (values,) = execute(path, CELLS.select("key = ?"), OTHER)
    row = dict(zip(CELLS.columns, values, strict=False))
    for name, value in changes.items():
        store = CELLS.fields[name].store
        row[name] = value if store is None or isinstance(value, (bytes, str)) else store(value)
    forged = (*row.values(), digest_of_values(tuple(row.values())))
    with pytest.raises(DamagedError, match=why):
        loaded_cell(forged)
    execute(path, CELLS.insert, *forged)
    reader = Record.open(path)
    assert reader.summaries().keys() == {two_cells[0]}
    assert f"cell {OTHER} is damaged" in reader.problems[0]


def test_an_outline_is_what_a_run_has_to_know(make_row: MakeRow, info: CellInfo) -> None:
    rows = [make_row(0), make_row(1, 0, "crashed")]
    cell = replace(summarise(info, {"a": 1}, 9, map(SEARCHES.checked, rows)), failure="no disk")
    outline = cell.outline(info)
    assert (outline.content, outline.points, outline.statuses) == ({}, (), {})
    assert (outline.eligible, outline.searches, outline.failure, outline.done) == (9, 2, "no disk", cell.done)
    assert len(cell.done) == 2


def contradictions(path: Path, key: str = OTHER) -> list[str]:
    with Record.open(path) as record:
        return record.contradictions(record.cell_of(key))


def test_an_honest_summary_contradicts_nothing(path: Path, two_cells: tuple[str, str]) -> None:
    assert contradictions(path) == contradictions(path, two_cells[0]) == []
    with Record.open(path, write=True) as record:
        summary = record.summaries()[OTHER]
        record.fail(summary.info, summary.content, "its worker died")
    assert contradictions(path) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"loss": [0.0, 0.0, 0.0]}, "another loss than its searches"),
        ({"seconds": [0.0, 0.5, 0.5], "queries": [1, 1, 1]}, "another seconds, queries than"),
        ({"fingerprints": ["0" * 32]}, "another fingerprints than"),
        ({"mark": "0" * 32}, "another mark than"),
    ],
)
def test_a_forged_summary_is_named(path: Path, two_cells: tuple[str, str], changes: dict[str, Any], named: str) -> None:
    forge(path, "cells", f"key = '{OTHER}'", **changes)
    (sentence,) = contradictions(path)
    assert named in sentence
    assert contradictions(path, two_cells[0]) == []


def test_searches_that_are_gone_or_changed_are_named(path: Path, two_cells: tuple[str, str]) -> None:
    forge(path, "searches", f"cell_key = '{OTHER}' AND point = 0", reason="another one")
    assert contradictions(path) == ["its summary has another mark than its searches"]
    execute(path, "DELETE FROM searches WHERE cell_key = ?", OTHER)
    assert "another searches" in contradictions(path)[0].replace("repetitions, ", "")
