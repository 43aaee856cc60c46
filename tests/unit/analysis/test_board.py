from __future__ import annotations

import pytest

from cfbench.analysis.aggregate import Median, Rate
from cfbench.analysis.board import make_board
from cfbench.analysis.groups import Selection
from cfbench.errors import UnknownNameError
from tests.toys.cells import REGISTRY, cell


def test_rows_stand_best_first_and_white_boxes_last() -> None:
    board = make_board(
        [
            cell([0.1, 0.1], searcher="exact-trees"),  # by what is registered, not by the record
            cell([0.2, 0.4], searcher="cogs"),
            cell([0.2, 0.3], searcher="lore"),
            cell([0.1, None], searcher="grow"),
            cell(searcher="dice-a", skipped="not installed"),
        ],
        REGISTRY,
    )
    assert [row.label for row in board.rows] == ["cogs", "lore", "grow", "dice-a", "exact-trees [white-box]"]
    assert [row.shared_loss for row in board.rows[:3]] == [Median(0.2, 1, 2), Median(0.2, 1, 2), Median(0.1, 1, 2)]


def test_ties_in_success_are_ordered_by_the_loss_on_shared_points() -> None:
    board = make_board([cell([0.5, None, 0.2]), cell([0.6, 0.01, None], searcher="lore")], REGISTRY)
    # lore's own median is smaller, but on the one point that both solved cogs is closer
    assert [row.label for row in board.rows] == ["cogs", "lore"]
    assert board.rows[1].loss == Median(0.305, 2, 3)


def test_ties_in_success_are_ordered_by_the_objective_value_of_the_task() -> None:
    cells = [
        cell([0.1, 0.2], objective="ck", objective_value=(0.5, 0.7)),
        cell([0.3, 0.4], objective="ck", objective_value=(0.4, 0.6), searcher="lore"),
    ]
    rows = make_board(cells, REGISTRY).rows
    assert [(row.label, row.objective, row.shared_objective) for row in rows] == [
        ("lore", Median(0.5, 2, 2), Median(0.5, 2, 2)),
        ("cogs", Median(0.6, 2, 2), Median(0.6, 2, 2)),
    ]
    lacking = [cells[0], cell([0.3, 0.4], objective="ck", objective_value=(None, None), searcher="lore")]
    assert [row.label for row in make_board(lacking, REGISTRY).rows] == ["cogs", "lore"]  # by the loss


def test_a_row_has_every_number() -> None:
    board = make_board(
        [
            cell([0.2, 0.4], searches=2, wall_seconds=3.0, search_queries=80, fingerprints=("a",)),
            cell([0.3, None], searcher="lore", searches=2, wall_seconds=1.0, search_queries=20),
        ],
        REGISTRY,
    )
    cogs, lore = board.rows
    assert cogs.is_reference
    assert cogs.relative == {}
    assert lore.relative["relative-loss"].value == pytest.approx(0.5)
    assert (lore.relative["relative-loss"].k, lore.relative["relative-loss"].n) == (1, 2)
    assert lore.success == Rate(0.5, None, 1, 2)
    assert (cogs.spending.seconds, lore.spending.queries) == (1.5, 10.0)
    assert (cogs.eligible, cogs.folds, cogs.cells) == (2, (0,), 1)
    assert (board.reference, board.cells, board.failed, board.skipped) == ("cogs", 2, 0, 0)


def test_an_unknown_reference_is_an_error_only_where_it_was_asked_for() -> None:
    cells = [cell([0.2], searcher="lore"), cell([0.2], searcher="grow")]
    with pytest.raises(UnknownNameError, match="unknown reference searcher 'cogs'"):
        make_board(cells, REGISTRY)
    board = make_board(cells, REGISTRY, need_reference=False)
    assert board.reference == ""
    assert not any("nothing to compare with" in caution for caution in board.cautions)
    assert all(row.relative == {} for row in board.rows)


def test_several_variants_of_the_reference_leave_a_caution() -> None:
    cells = [cell([0.2], searcher=f"cogs[population_size={size}]") for size in (50, 500)]
    board = make_board(cells, REGISTRY, need_reference=False)
    assert board.reference == ""
    assert board.cautions[0].startswith("nothing to compare with: unknown reference searcher 'cogs'")


def test_a_selection_keeps_names_and_labels() -> None:
    cells = [
        cell([0.1]),
        cell([0.1], dataset="wine"),
        cell([0.1], objective="k[m=4]"),
        cell([0.1], objective="k"),
        cell([0.1], model="neural-network"),
    ]

    def kept(selection: Selection) -> int:
        return make_board(cells, REGISTRY, selection=selection).cells

    assert kept(Selection(datasets=["wine"])) == 1
    assert kept(Selection(datasets=["wine", "credit"])) == 5
    assert kept(Selection(objectives=["k"])) == 2
    assert kept(Selection(objectives=["k[m=4]"])) == 1
    assert kept(Selection(models=["random-forest"], objectives=["none"])) == 2
    with pytest.raises(
        UnknownNameError, match=r"unknown data set of this record 'vine'. Did you mean 'wine'\? Known: wine, credit"
    ):
        kept(Selection(datasets=["vine"]))


def test_unfinished_cells_are_counted() -> None:
    board = make_board([cell([0.2])], REGISTRY, unfinished=3)
    assert board.cautions == ("unfinished cells, whose searches under way are in no number yet: 3",)
