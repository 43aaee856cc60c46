"""The overall table: its layout with made-up numbers, and what it says in every state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from cfbench.analysis.aggregate import Spending
from cfbench.analysis.board import Board, make_board
from cfbench.analysis.groups import GroupBy, Task
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.ranks import Position
from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.analysis.standings import Basis, Count, OverallValue, RankState, Standings, StandingsRow, TaskView
from cfbench.board.board import Leaderboard
from cfbench.board.columns import column_named, column_of_metric, columns_of, expanded
from cfbench.errors import UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import build_registry
from tests.toys.cells import cell

ROBUST = MetricColumn(
    "k-robustness",
    ("k-robustness", "1", '{"m":1000}'),
    replace(build_registry().metric("k-robustness").entry, summary="share of kept classes"),
)
TASKS = [
    Task(dataset, model, objective, constraints=True)
    for dataset in ("credit", "housing", "income", "recidivism", "wine")
    for model in ("neural-network", "random-forest")
    for objective in ("ck", "none")
]


def standing(
    name: str, number: int, rank: float, found: int, loss: float, score: float, **changes: object
) -> StandingsRow:
    """A ranked row; the interval is a third of a rank to both sides."""
    row = StandingsRow(
        searcher=ComparedSearcher(name),
        state=RankState.RANKED,
        why="",
        position=Position(number, shared=False),
        group="b" if number == 3 else "a",
        rank=rank,
        interval=(rank - 0.3, rank + 0.3),
        wins=0,
        found=Count(found, 20_000),
        loss=OverallValue(loss, 15_204, 20_000, 20),
        objective=OverallValue(1.5 * loss, 15_204, 20_000, 20),
        mean_loss=OverallValue(0.1 * (1 + loss), 15_204, 20_000, 20),
        mean_objective=OverallValue(0.1 * (1 + loss), 15_204, 20_000, 20),
        relative=lambda _: None,
        spending=Spending(20_000, 0.7, 101_000.0, 0.0),
        statuses={"found": found, "not_found": 20_000 - found, "crashed": 1000},
        metrics={"k-robustness": OverallValue(score, 15_204, 20_000, 20)},
        complete=20,
        cells=50,
        failed=0,
        skipped=0,
        missing=0,
        results=(),
    )
    return replace(row, **changes)  # type: ignore[arg-type] # any fields


@pytest.fixture
def sample(board: Board) -> Leaderboard:
    """The example that the layout was agreed on."""
    dice = replace(
        standing("dice-a", 4, 4.0, 380, 0.0, 0.0), state=RankState.NOT_RANKED, rank=None, interval=None, group=""
    )
    rows = (
        standing("sparse-sweep", 1, 1.3, 19_998, 0.0, 0.91, wins=17, spending=Spending(1, 0.08, 1900.0, 0.0)),
        standing("cogs", 2, 1.9, 19_990, 0.04, 0.9, wins=3),
        standing("growing-spheres", 3, 3.4, 14_020, 0.88, 0.72, spending=Spending(1, 1.2, 94_000.0, 0.0)),
        replace(dice, position=None, found=Count(380, 400), spending=Spending(400, 31.0, 3100.0, 0.0)),
    )
    standings = Standings(
        title="",
        rows=rows,
        tasks=tuple(TaskView(task, "", 1000, 760, 1000) for task in TASKS),
        basis=Basis.SOLVED_BY_ALL,
        unit="task",
        units=20,
        verdict="",
        pairs=(),
        repetitions=(1,),
        metrics=(ROBUST,),
        cells=577,
        ran=565,
        failed=12,
        limits="query budget none, time limit none",
    )
    made_up = replace(board, standings=standings, parts=(standings,), seeds=(42,), mark="7f3a91c0" * 4, said=())
    return Leaderboard(made_up, "results")


def test_the_layout_is_the_agreed_one(sample: Leaderboard, golden: Path) -> None:
    assert f"{sample}\n" == (golden / "standings.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("width", "last"),
    [
        *((110, "queries"), (100, "s/search"), (90, "wins"), (80, "loss"), (70, "objective"), (60, "interval")),
        (45, "rank"),
    ],
)
def test_columns_of_least_use_are_left_out_from_the_right(sample: Leaderboard, width: int, last: str) -> None:
    lines = [line.text for line in sample.lines(width)]
    assert max(map(cell_len, lines)) <= width
    header = next(line for line in lines if line.lstrip().startswith("searcher"))
    assert header.endswith(last)
    assert any(line.startswith("more") for line in lines) == (last != "queries")


def test_what_had_no_room_is_named_as_columns_are_asked_for(sample: Leaderboard) -> None:
    text = " ".join(line.text for line in sample.lines(80)).partition("more ")[2].split()
    assert " ".join(text).startswith("no room here for k-robustness, wins, seconds, queries: `--columns` says what to")


def test_the_objective_is_shown_where_a_task_has_another_than_the_loss() -> None:
    cells = [summary(name, (0.1, 0.2)) for name in ("cogs", "lore")]
    assert "objective  loss" not in text_of(*cells)
    robust = [replace(cell, info=replace(cell.info, objective="ck")) for cell in cells]
    assert "objective  loss" in text_of(*robust)
    assert "of ranks by the objective value" in text_of(*robust)
    assert "of ranks by the loss; values within 0.1 % or 0.0001 of the best are ties" in " ".join(
        text_of(*cells).split()
    )


def test_both_tables_are_laid_out_each_with_its_title() -> None:
    white = [summary(name, (loss, loss), white_box=True) for name, loss in (("exact", 0.05), ("gradient", 0.06))]
    text = text_of(*(summary(name, (0.1, 0.2)) for name in ("cogs", "lore")), *white)
    black, apart = text.index("black boxes"), text.index("white boxes")
    assert black < text.index("cogs") < text.index("lore") < apart
    assert apart < text.index("exact [white-box]") < text.index("gradient [white-box]")
    assert text.count("exact [white-box]") == 1
    assert "objective none, constraints off (each of the white boxes can do it)" in " ".join(text.split())


def test_the_gap_to_the_optimum_has_the_unit_of_the_loss(sample: Leaderboard) -> None:
    gap = MetricColumn("optimality-gap", ("optimality-gap", "1", "{}"), build_registry().metric("optimality-gap").entry)
    standings = sample.board.standings
    rows = tuple(
        replace(row, metrics={gap.label: OverallValue(value, 15_204, 20_000, 20)})
        for row, value in zip(standings.rows, (0.000142, 0.04, 1.13, None), strict=True)
    )
    standings = replace(standings, rows=rows, metrics=(gap,))
    column = column_of_metric(gap, standings)
    assert [column.cell(row, standings) for row in rows] == ["+0.014%", "+4.0%", "+113%", "-"]
    assert [column.value(row) for row in rows] == [0.000142, 0.04, 1.13, None]  # files hold the plain number
    assert column_named(columns_of(standings, ["loss"]), "loss").text(rows[1]) == "+4%"


def test_sorting_renumbers_nothing(sample: Leaderboard) -> None:
    def order(column: str) -> list[list[str]]:
        lines = [line.text for line in replace(sample, by=column).lines(100)]
        start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("searcher")) + 2
        return [line.split()[:2] for line in lines[start : start + 4]]

    sweep, cogs, spheres, dice = ["1", "sparse-sweep"], ["2", "cogs"], ["3", "growing-spheres"], ["-", "dice-a"]
    assert order("found") == [sweep, cogs, dice, spheres]  # the greatest share first
    assert order("seconds") == [sweep, cogs, spheres, dice]
    assert order("queries") == [sweep, dice, spheres, cogs]
    assert order("k-robustness") == [sweep, cogs, spheres, dice]  # who is not ranked comes last


def test_columns_that_were_asked_for_are_kept_in_files_and_named_where_a_terminal_has_no_room(
    sample: Leaderboard,
) -> None:
    asked = replace(sample, columns=("found", "share", "crashed", "not-found", "searches", "cells", "k-robustness"))
    (header,) = [line.text for line in asked.lines() if line.text.startswith("    searcher")]
    assert header.split() == ["searcher", "found", "crashed", "not", "searches", "cells", "robust"]
    text = "\n".join(line.text for line in asked.lines(70))
    assert "Note: columns that do not fit into 70 signs: cells, k-robustness;" in text


def test_an_unknown_column_names_the_nearest(sample: Leaderboard) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown column of this table 'sconds'\. Did you mean 'seconds'\?"):
        replace(sample, by="sconds").lines(100)


def summary(searcher: str, losses: tuple[float | None, ...], dataset: str = "wine", **changes: Any) -> CellSummary:
    return cell(losses, searcher=searcher, dataset=dataset, wall_seconds=0.5 * len(losses), **changes)


def text_of(*cells: CellSummary, group_by: GroupBy = GroupBy.NOTHING) -> str:
    return str(Leaderboard(make_board(cells, build_registry(), need_reference=False, group_by=group_by), "results"))


def test_where_all_cells_failed_the_failures_come_first() -> None:
    text = text_of(summary("cogs", (), failure="no table"), summary("lore", (), skipped="no constraints"))
    assert text.index("no table") < text.index("no constraints") < text.index("searcher")
    assert "0 of 1 cell (1 failed), 1 skipped" in text
    rows = [line.split() for line in text.splitlines() if line.startswith(" -  ")]
    assert rows == [["-", "cogs", "-", "-", "failed", "-", "-"], ["-", "lore", "-", "-", "skipped", "-", "-"]]


def test_one_searcher_has_values_and_no_rank() -> None:
    text = text_of(summary("cogs", (0.1, None, 0.3)))
    assert " -  cogs      2 of 3  66.7%  0.200" in text
    assert "rank" not in text.partition("\n\n")[2].partition("\n\n")[0]
    assert "Note: one searcher: nothing to rank it against" in text


def test_a_mean_over_own_successes_is_never_without_its_sentence() -> None:
    board = make_board([summary("cogs", (0.1,)), summary("lore", (0.2,))], build_registry(), basis=Basis.OWN_SUCCESSES)
    sentence = "each on its own successes, which rewards giving up on hard points"
    assert sentence in " ".join(str(Leaderboard(board, "results")).split())
    assert sentence not in " ".join(text_of(summary("cogs", (0.1,)), summary("lore", (0.2,))).split())


def test_parts_say_what_their_numbers_are_counted_over() -> None:
    cells = [summary(name, (0.1, 0.2), dataset) for name in ("cogs", "lore") for dataset in ("wine", "credit")]
    text = text_of(*cells, summary("lore", (0.1,), "housing"), group_by=GroupBy.DATASET)
    assert text.count("    searcher") == 3
    assert text.count("loss on 2 of 2 points") == 2
    assert "Note: data set housing: one searcher: nothing to rank it against" in text


def test_a_cost_is_followed_by_the_share_that_cannot_be_walked_back() -> None:
    registry = build_registry()
    asked = ["loss", "relative-cost[part=ck,over=fixable]", "actual-cost[draws=20]", "k-robustness", "no-such-metric"]
    assert expanded(asked, registry) == [
        "loss",
        *("relative-cost[part=ck,over=fixable]", "unfixable[part=ck]"),
        *("actual-cost[draws=20]", "unfixable[draws=20]"),
        *("k-robustness", "no-such-metric"),
    ]
    robust = expanded(["robustness", "unfixable"], registry)
    assert robust[-6:] == [
        *("relative-cost[part=c]", "unfixable[part=c]", "relative-cost", "unfixable"),
        *("relative-cost[part=ck]", "unfixable[part=ck]"),
    ]
