from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.analysis.cautions import cautions, spans
from cfbench.analysis.groups import group_cells

if TYPE_CHECKING:
    from tests.unit.analysis.conftest import MakeCell


def test_spans() -> None:
    assert [spans([]), spans([3]), spans([4, 0, 1, 2]), spans([0, 2, 3])] == ["", "3", "0-2, 4", "0, 2-3"]


def test_nothing_to_say_about_cells_that_are_alike(cell: MakeCell) -> None:
    alike = [cell([0.1], searcher=name, fingerprints=("a" * 32,), versions={name: "1"}) for name in ("cogs", "lore")]
    assert cautions(group_cells(alike)) == []


def test_failed_and_skipped_cells_are_counted_by_reason(cell: MakeCell) -> None:
    cells = [
        *(cell(fold=fold, failure="the model predicts one class") for fold in (0, 1)),
        cell(fold=2, failure="the table\nis gone"),
        cell([0.1], fold=3),
        *(cell(fold=fold, searcher="lore", skipped="does not handle constraints") for fold in (0, 1)),
    ]
    assert cautions(group_cells(cells)) == [
        "cells that failed, so that they are in no number (the same study runs them again): 2 of credit, "
        "random-forest: the model predicts one class; 1 of credit, random-forest: the table is gone",
        "cells that were skipped: 2 of lore: does not handle constraints",
    ]


def test_several_models_in_one_fold(cell: MakeCell) -> None:
    cells = [
        cell([0.1], fingerprints=("a" * 32,)),
        cell([0.1], fingerprints=("b" * 32,), searcher="lore"),
        cell([0.1], fingerprints=("c" * 32,), fold=1),
        cell([0.1], fingerprints=("d" * 32,), fold=1, model="neural-network"),
        cell([0.1], fingerprints=("b" * 32,), fold=1, model="neural-network", searcher="lore"),
    ]
    found = [text for text in cautions(group_cells(cells)) if "fitted" in text]
    assert found == [
        "searches of one fold met differently fitted models, so they are not strictly alike: "
        "credit, neural-network, fold 1 (bbbbbbbb, dddddddd); credit, random-forest, fold 0 (aaaaaaaa, bbbbbbbb)"
    ]


def test_mixed_versions_by_entry(cell: MakeCell) -> None:
    cells = [
        cell([0.1], versions={"protocol": "1", "searcher": "1"}),
        cell([0.1], versions={"protocol": "1", "searcher": "2"}, fold=1, content={"version": "2"}),
        cell([0.1], versions={"protocol": "1", "searcher": "3"}, searcher="lore"),
    ]
    found = cautions(group_cells(cells))
    assert "versions are mixed: searcher cogs: 1, 2" in found
    assert "cells of one label differ in more than the fold and stand in rows of their own: cogs" in found


def test_searchers_that_were_not_given_the_same(cell: MakeCell) -> None:
    cells = [
        cell([0.1, 0.2], rows=[1, 2], tries=2),
        cell([0.1], rows=[3], fold=1, tries=2),
        cell([0.1, 0.2, 0.3], rows=[1, 2, 4], searcher="lore", tries=5),
    ]
    task = "credit, random-forest, objective none, constraints off"
    assert cautions(group_cells(cells)) == [
        f"folds differ between searchers: {task}: cogs has 0-1, lore has 0",
        f"points differ between searchers: {task}: cogs has 2, lore has 3 (2 asked of all)",
        f"repetitions differ between searchers: {task}: cogs has 2, lore has 5",
    ]


def test_tasks_that_are_uneven_in_one_way_are_counted(cell: MakeCell) -> None:
    cells = [cell([0.1], rows=[1], dataset=name) for name in "abc"]
    cells += [cell([0.1, 0.2], rows=[1, 2], searcher="lore", dataset=name) for name in "ab"]
    cells += [cell([0.1, 0.2, 0.3], rows=[1, 2, 3], searcher="lore", dataset="c")]
    assert cautions(group_cells(cells)) == [
        "points differ between searchers: cogs has 1, lore has 2 (1 asked of all), in 2 tasks such as a, "
        "random-forest, objective none, constraints off; and in 1 more, otherwise",
    ]


def test_a_skipped_searcher_makes_nothing_uneven(cell: MakeCell) -> None:
    cells = [cell([0.1]), cell(searcher="lore", skipped="no")]
    assert cautions(group_cells(cells)) == ["cells that were skipped: 1 of lore: no"]


def test_searches_that_crashed_or_were_killed(cell: MakeCell) -> None:
    cells = [
        cell([0.1], statuses={"found": 5, "timed_out": 2}),
        cell([0.1], fold=1, statuses={"timed_out": 1, "crashed": 1}),
    ]
    assert cautions(group_cells(cells)) == [
        "searches without a proper end, counted as not found: cogs 3 timed_out; cogs 1 crashed"
    ]


def test_long_lists_are_cut_with_a_count(cell: MakeCell) -> None:
    cells = [cell(dataset=f"data-{i}", failure="gone") for i in range(5)]
    (text,) = cautions(group_cells(cells))
    assert text.endswith("; and 2 more")
