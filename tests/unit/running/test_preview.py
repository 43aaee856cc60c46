"""What is left of a plan, held against real records of toy runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cfbench.digests import digest_of
from cfbench.errors import RecordError
from cfbench.record.database import WriterLock
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.running.estimate import Durations
from cfbench.running.progress import CellState, Preview, preview_of

if TYPE_CHECKING:
    from tests.toys.runs import Toys


def preview(toys: Toys, results: Path, retry: tuple[str, ...] = (), **changes: Any) -> Preview:
    return preview_of(toys.plan(results, **changes), toys.registry, retry)


def test_without_a_record_everything_is_missing_and_nothing_is_made(toys: Toys, tmp_path: Path) -> None:
    seen = preview(toys, tmp_path / "r")
    assert [cell.state for cell in seen.cells] == [CellState.MISSING] * 2
    assert (seen.searches, seen.missing, seen.unknown, seen.exact) == (12, 12, 12, False)
    assert not (tmp_path / "r").exists()


def test_a_directory_of_something_else_is_refused_as_by_a_run(toys: Toys, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RecordError, match="holds other things"):
        preview(toys, tmp_path)


def test_a_finished_study_has_nothing_left(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r")
    seen = preview(toys, tmp_path / "r")
    assert seen.states == {CellState.DONE: 2}
    assert (seen.searches, seen.missing, seen.seconds, seen.exact) == (12, 0, 0.0, True)
    assert preview(toys, tmp_path / "r", metrics=("success",)).states == {CellState.UNMEASURED: 2}


def test_a_grown_study_misses_the_difference_and_expects_what_the_cell_took(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", folds=(0,), points=2, repetitions=1)
    with Record.open(tmp_path / "r") as record:
        (summary,) = record.summaries().values()
    seen = preview(toys, tmp_path / "r", folds=(0, 1), points=1000)
    first, second = seen.cells
    assert (first.searches, first.done, first.exact) == (2 * summary.eligible, 2, True)
    assert summary.wall_seconds is not None
    assert first.seconds == pytest.approx(summary.wall_seconds / 2 * (2 * summary.eligible - 2))
    assert first.basis == "of the same cell"
    # Fold 1 was never prepared: its twelve test rows are the bound.
    assert (second.searches, second.exact, second.basis) == (24, False, "on other folds")


def test_a_cell_of_a_known_model_knows_its_points(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", folds=(0,), points=1, repetitions=1)
    seen = preview(toys, tmp_path / "r", folds=(0,), points=1000, searchers=("toy-both",))
    with Record.open(tmp_path / "r") as record:
        (summary,) = record.summaries().values()
    assert (seen.searches, seen.exact) == (2 * summary.eligible, True)
    assert seen.unknown == seen.missing


def test_searches_that_wait_count_while_another_process_writes(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "whole", folds=(0,))
    (cell,) = toys.plan(tmp_path / "r", folds=(0,)).cells
    with Record.open(tmp_path / "whole") as whole, Record.open(tmp_path / "r", write=True) as record:
        rows = whole.rows(cell.info.key)
        for row in rows[:4]:
            record.append(row)
        seen = preview(toys, tmp_path / "r", folds=(0,))
    assert (seen.missing, seen.exact) == (2, False)
    assert seen.seconds == pytest.approx(sum(row["wall_seconds"] for row in rows[:4]) / 4 * 2)


def test_a_failed_cell_says_why_and_what_is_skipped_says_so(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", models=("threshold[shift=-100.0]",), folds=(0,))
    seen = preview(toys, tmp_path / "r", models=("threshold[shift=-100.0]",), folds=(0,))
    assert seen.states == {CellState.FAILED: 1}
    assert "predicts class" in seen.cells[0].reason


def test_what_is_to_run_again_is_missing(toys: Toys, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"searchers": ("toy-crash", "toy-dice"), "folds": (0,)}
    toys.run(tmp_path / "r", **asked)
    before = preview(toys, tmp_path / "r", **asked)
    again = preview(toys, tmp_path / "r", ("crashed",), **asked)
    assert (before.missing, again.missing) == (0, 6)
    assert toys.run(tmp_path / "r", retry=("crashed",), **asked).searches_run == 6


def test_a_cell_that_was_skipped_once_is_no_finished_cell(toys: Toys, tmp_path: Path) -> None:
    (cell,) = toys.plan(tmp_path / "r", folds=(0,)).cells
    with Record.open(tmp_path / "r", write=True) as record:
        record.skip(cell.info, cell.content, "not installed that day")
    assert preview(toys, tmp_path / "r", folds=(0,)).missing == 6
    assert toys.run(tmp_path / "r", folds=(0,)).searches_run == 6


def test_a_lock_is_neither_needed_nor_taken(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r")
    lock = WriterLock.acquire(tmp_path / "r" / "lock")
    try:
        assert preview(toys, tmp_path / "r").missing == 0
    finally:
        lock.release()


def info(key: str, **changes: Any) -> CellInfo:
    place: dict[str, Any] = {"dataset": "a", "model": "m", "searcher": "s", "objective": "o", "constraints": False}
    return CellInfo(key, **{**place, "fold": 0, **changes})


def test_durations_are_taken_from_the_nearest_group() -> None:
    durations = Durations()
    assert durations.expected(info("1")) is None
    durations.add(info("1"), 6.0, 3)
    durations.add(info("2", fold=1), 4.0, 1)
    durations.add(info("3", dataset="b"), 100.0, 2)
    durations.add(info("4", model="n"), 1.0, 4)
    assert durations.expected(info("1")) == (2.0, "of the same cell")
    assert durations.expected(info("9", fold=4)) == (2.5, "on other folds")
    assert durations.expected(info("9", dataset="c")) == (110 / 6, "of the same searcher, objective and model")
    assert durations.expected(info("9", model="x")) == (11.1, "of the same searcher and objective")
    assert durations.expected(info("9", objective="x")) == (11.1, "of the same searcher")
    assert durations.expected(info("9", searcher="x")) is None


def test_cells_with_points_in_the_tables_order_are_searched_again_and_said_to_be(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "new", folds=(0,))
    (cell,) = toys.plan(tmp_path / "r", folds=(0,)).cells
    content = {name: value for name, value in cell.content.items() if name != "points"}
    older = replace(cell.info, key=digest_of(content))
    with Record.open(tmp_path / "new") as new, Record.open(tmp_path / "r", write=True) as record:
        rows = [{**row, "cell_key": older.key} for row in new.rows(cell.info.key)]
        record.adopt(older, content, len(rows), rows)
    seen = preview(toys, tmp_path / "r", folds=(0,))
    assert seen.missing == 6
    assert "1 cell of this record has its points in the order of the table" in seen.notes[0]
    assert toys.run(tmp_path / "r", folds=(0,)).searches_run == 6
    with Record.open(tmp_path / "r") as record:
        assert record.keys() == {older.key, cell.info.key}
