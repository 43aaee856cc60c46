from __future__ import annotations

from cfbench.analysis.groups import group_cells
from cfbench.analysis.notes import cautions, spans
from tests.toys.cells import cell


def test_spans() -> None:
    assert [spans([]), spans([3]), spans([4, 0, 1, 2]), spans([0, 2, 3])] == ["", "3", "0-2, 4", "0, 2-3"]


def test_nothing_to_say_about_cells_that_are_alike() -> None:
    alike = [cell([0.1], searcher=name, fingerprints=("a" * 32,), versions={name: "1"}) for name in ("cogs", "lore")]
    assert cautions(group_cells(alike)) == []


def test_failed_and_skipped_cells_are_counted_by_reason() -> None:
    cells = [
        *(cell(fold=fold, failure="the model predicts one class") for fold in (0, 1)),
        cell(fold=2, failure="the table\nis gone"),
        cell([0.1], fold=3),
        *(cell(fold=fold, searcher="lore", skipped="does not handle constraints") for fold in (0, 1)),
    ]
    assert cautions(group_cells(cells)) == [
        "2 cells failed: credit, random-forest: the model predicts one class",
        "1 cell failed: credit, random-forest: the table is gone",
        "2 cells skipped: lore: does not handle constraints",
    ]


def test_several_models_in_one_fold() -> None:
    cells = [
        cell([0.1], fingerprints=("a" * 32,)),
        cell([0.1], fingerprints=("b" * 32,), searcher="lore"),
        cell([0.1], fingerprints=("c" * 32,), fold=1),
        cell([0.1], fingerprints=("d" * 32,), fold=1, model="neural-network"),
        cell([0.1], fingerprints=("b" * 32,), fold=1, model="neural-network", searcher="lore"),
    ]
    found = [text for text in cautions(group_cells(cells)) if "fitted" in text]
    assert found == [
        "searchers met differently fitted models: credit, neural-network, fold 1 (bbbbbbbb, dddddddd); 1 other"
    ]


def test_mixed_versions_by_entry() -> None:
    cells = [
        cell([0.1], versions={"protocol": "1", "searcher": "1"}),
        cell([0.1], versions={"protocol": "1", "searcher": "2"}, fold=1, content={"version": "2"}),
        cell([0.1], versions={"protocol": "1", "searcher": "3"}, searcher="lore"),
    ]
    found = cautions(group_cells(cells))
    assert "versions are mixed: searcher cogs: 1, 2" in found
    assert "several rows, as seeds, limits or versions differ: cogs" in found


def test_searchers_that_were_not_given_the_same() -> None:
    cells = [
        cell([0.1, 0.2], rows=[1, 2], tries=2),
        cell([0.1], rows=[3], fold=1, tries=2),
        cell([0.1, 0.2, 0.3], rows=[1, 2, 4], searcher="lore", tries=5),
    ]
    assert cautions(group_cells(cells)) == [
        "folds differ in 1 of 1 task: cogs 0-1; lore 0",
        "points differ in 1 of 1 task: cogs 2; lore 3",
        "repetitions differ in 1 of 1 task: cogs 2; lore 5",
    ]


def test_tasks_that_are_uneven_in_one_way_are_counted() -> None:
    cells = [cell([0.1], rows=[1], dataset=name) for name in "abc"]
    cells += [cell([0.1, 0.2], rows=[1, 2], searcher="lore", dataset=name) for name in "ab"]
    cells += [cell([0.1, 0.2, 0.3], rows=[1, 2, 3], searcher="lore", dataset="c")]
    assert cautions(group_cells(cells)) == [
        "points differ in 3 of 3 tasks, mostly: cogs 1; lore 2",
    ]


def test_a_skipped_searcher_makes_nothing_uneven() -> None:
    cells = [cell([0.1]), cell(searcher="lore", skipped="no")]
    assert cautions(group_cells(cells)) == ["1 cell skipped: lore: no"]


def test_searches_that_crashed_or_were_killed() -> None:
    cells = [
        cell([0.1], statuses={"found": 5, "timed_out": 2}),
        cell([0.1], fold=1, statuses={"timed_out": 1, "crashed": 1}),
    ]
    assert cautions(group_cells(cells)) == [
        "searches without a proper end count as not found: cogs 3 timed_out; cogs 1 crashed"
    ]


def test_long_lists_are_cut_with_a_count() -> None:
    names = [f"a-searcher-of-some-length-{i}" for i in range(6)]
    cells = [cell([0.1], statuses={"crashed": 9 - i}, searcher=name) for i, name in enumerate(names)]
    (text,) = cautions(group_cells(cells))
    assert text == "searches without a proper end count as not found: a-searcher-of-some-length-0 9 crashed; 5 others"
