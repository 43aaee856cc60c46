"""In which order jobs are handed out, and to whom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.running.estimate import Durations
from cfbench.running.schedule import Assignment, Purpose, Schedule
from cfbench.running.search import SearchTask
from cfbench.study.plan import Cell

if TYPE_CHECKING:
    from tests.toys.runs import Toys

SEARCHERS = ("toy-dice", "toy-both", "toy-crash")


def cells_of(toys: Toys, path: Path, **changes: Any) -> list[Cell]:
    return list(toys.plan(path, **{"searchers": SEARCHERS, "folds": (0,), **changes}).cells)


def tasks(cells: Iterable[Cell], points: int = 2) -> list[SearchTask]:
    return [SearchTask(cell, point, point, 0) for cell in cells for point in range(points)]


def drained(schedule: Schedule, slot: int, slots: int = 1) -> list[Assignment]:
    found = []
    while (assignment := schedule.next_for(slot, slots)) is not None:
        found.append(assignment)
    return found


def test_without_knowledge_cells_keep_the_plans_order(toys: Toys, tmp_path: Path) -> None:
    cells = cells_of(toys, tmp_path)
    schedule = Schedule(cells, Durations())
    first = schedule.next_for(0, 1)
    assert first is not None
    assert (first.purpose, first.cell) == (Purpose.PREPARE, cells[0])
    assert schedule.next_for(0, 1) is None
    schedule.add_searches(tasks(cells))
    batches = drained(schedule, 0)
    assert [batch.purpose for batch in batches] == [Purpose.SEARCH] * 6
    assert [batch.cell.searcher.name for batch in batches[::2]] == list(SEARCHERS)


def test_the_longest_known_come_first_and_the_unknown_before_them(toys: Toys, tmp_path: Path) -> None:
    cells = cells_of(toys, tmp_path)
    durations = Durations()
    durations.add(cells[0].info, 1.0)
    durations.add(cells[2].info, 9.0)
    schedule = Schedule(cells, durations)
    schedule.next_for(0, 1)
    schedule.add_searches(tasks(cells))
    order = [batch.cell.searcher.name for batch in drained(schedule, 0)]
    assert order == ["toy-both"] * 2 + ["toy-crash"] * 2 + ["toy-dice"] * 2


def test_models_with_the_longest_searches_are_prepared_first(toys: Toys, tmp_path: Path) -> None:
    cells = cells_of(toys, tmp_path, folds=(0, 1, 2), searchers=("toy-dice",))
    durations = Durations()
    for cell, seconds in zip(cells, (1.0, 7.0, 3.0), strict=True):
        durations.add(cell.info, seconds)
    prepared = [schedule_cell.fold for schedule_cell in (a.cell for a in drained(Schedule(cells, durations), 0))]
    assert prepared == [1, 2, 0]


def test_every_slot_gets_a_share_of_what_is_left(toys: Toys, tmp_path: Path) -> None:
    (cell,) = cells_of(toys, tmp_path, searchers=("toy-dice",))
    schedule = Schedule([cell], Durations())
    for _ in range(8):
        schedule.returned(cell, [0.0001] * 200)
    schedule.next_for(0, 2)
    schedule.add_searches(tasks([cell], points=40))
    sizes = [len(batch.tasks) for batch in drained(schedule, 0, slots=2)]
    assert sizes == [10, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1]
    assert sum(sizes) == 40


def test_a_slot_that_has_not_loaded_the_model_is_warmed_first(toys: Toys, tmp_path: Path) -> None:
    cells = cells_of(toys, tmp_path)
    schedule = Schedule(cells, Durations())
    schedule.next_for(0, 2)
    schedule.add_searches(tasks(cells))
    warm, search = schedule.next_for(1, 2), schedule.next_for(1, 2)
    assert warm is not None
    assert search is not None
    assert (warm.purpose, warm.job().method, warm.job().time_limit) == (Purpose.WARM, "prepare", None)
    assert search.purpose is Purpose.SEARCH
    schedule.forget_slot(1)
    again = schedule.next_for(1, 2)
    assert again is not None
    assert again.purpose is Purpose.WARM


def test_the_searches_of_a_lost_batch_travel_alone(toys: Toys, tmp_path: Path) -> None:
    (cell,) = cells_of(toys, tmp_path, searchers=("toy-dice",))
    schedule = Schedule([cell], Durations())
    for _ in range(8):
        schedule.returned(cell, [0.0001] * 200)
    schedule.next_for(0, 1)
    schedule.add_searches(tasks([cell], points=12))
    batch = schedule.next_for(0, 1)
    assert batch is not None
    assert len(batch.tasks) == 6
    schedule.add_alone(batch.tasks)
    sizes = [len(assignment.tasks) for assignment in drained(schedule, 0)]
    assert sizes == [1] * 6 + [3, 2, 1]


def test_what_waits_for_a_cell_or_a_model_that_failed_is_forgotten(toys: Toys, tmp_path: Path) -> None:
    cells = cells_of(toys, tmp_path)
    schedule = Schedule(cells, Durations())
    schedule.next_for(0, 1)
    schedule.add_searches(tasks(cells))
    schedule.add_first(Assignment(Purpose.CONFIRM, cells[1], (cells[1], None)))
    schedule.drop_cell(cells[1])
    assert {assignment.cell.searcher.name for assignment in drained(schedule, 0)} == {"toy-dice", "toy-crash"}
    schedule.add_searches(tasks(cells))
    schedule.drop_model((cells[0].dataset, cells[0].model.label, 0))
    assert schedule.next_for(0, 1) is None
