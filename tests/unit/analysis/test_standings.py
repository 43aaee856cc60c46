"""Overall tables against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench.analysis.board import make_board
from cfbench.analysis.groups import GroupBy, Selection
from cfbench.analysis.measured import Measurements, MetricColumn
from cfbench.analysis.ranks import Tolerance
from cfbench.analysis.standings import Basis, Count, OverallValue, RankState, Standings, StandingsRow
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import build_registry
from tests.toys.cells import REGISTRY, cell

DATASETS = [f"data-{i}" for i in range(8)]


def rows(standings: Standings) -> dict[str, StandingsRow]:
    return {row.label: row for row in standings.rows}


def assert_score(score: OverallValue, value: float, k: int, n: int, tasks: int) -> None:
    assert score.value == pytest.approx(value)
    assert (score.k, score.n, score.tasks) == (k, n, tasks)


@pytest.fixture
def eight() -> list[CellSummary]:
    """Eight tasks of two points: cogs always finds the closest, lore double that, grow half of them, far away."""
    return [
        *(cell([0.1, 0.2], dataset=name, wall_seconds=2.0, search_queries=20) for name in DATASETS),
        *(cell([0.2, 0.4], dataset=name, searcher="lore") for name in DATASETS),
        *(cell([0.5, None], dataset=name, searcher="grow") for name in DATASETS),
    ]


def test_what_a_ranked_search_costs_is_of_the_tasks_that_all_are_ranked_on(eight: list[CellSummary]) -> None:
    alone: dict[str, Any] = {"objective": "ck", "wall_seconds": 40.0, "search_queries": 4000}
    extra = [cell([0.1, 0.2], searcher="cogs", **alone), cell([0.1, 0.2], dataset="other", searcher="late", **alone)]
    rows = {row.label: row for row in make_board([*eight, *extra], REGISTRY).standings.rows}
    assert rows["cogs"].position is not None
    assert (rows["cogs"].spending.seconds, rows["cogs"].spending.queries) == (1.0, 10.0)
    assert rows["late"].position is None
    assert (rows["late"].spending.seconds, rows["late"].spending.queries) == (20.0, 2000.0)


def test_a_whole_table(eight: list[CellSummary]) -> None:
    standings = make_board(eight, REGISTRY).standings
    assert [row.label for row in standings.rows] == ["cogs", "lore", "grow"]
    cogs, lore, grow = standings.rows
    assert [row.rank for row in standings.rows] == [1.0, 2.0, 3.0]
    assert [row.interval for row in standings.rows] == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    assert [str(row.position).strip() for row in standings.rows] == ["1", "2", "3"]  # p = 2 / 256, of 2 comparisons
    assert [row.wins for row in standings.rows] == [8, 0, 0]
    assert [row.found for row in standings.rows] == [Count(16, 16), Count(16, 16), Count(8, 16)]
    # Only each task's first point was solved by all: 0.1, 0.2, 0.5 beside 0.1.
    assert cogs.loss == OverallValue(0.0, 8, 16, 8)
    assert lore.loss.value == pytest.approx(1.0)
    assert grow.loss.value == pytest.approx(4.0)
    assert grow.mean_loss.value == pytest.approx(0.5)
    assert (cogs.spending.seconds, cogs.spending.queries) == (1.0, 10.0)
    relative = lore.relative("relative-loss")
    assert relative is not None
    assert relative.value == pytest.approx(1.0)
    assert (relative.k, relative.n) == (16, 16)
    assert cogs.relative("relative-loss") is None
    assert (standings.unit, standings.units, standings.verdict) == ("task", 8, "")
    assert (standings.searches, standings.shared, standings.repetitions) == (16, Count(8, 16), (1,))
    assert (standings.cells, standings.ran, standings.not_run) == (24, 24, 0)
    result = grow.results[0]
    assert result is not None
    assert (result.state, result.rank, result.found) == ("ran", 3.0, Count(1, 2))
    assert result.against_best == pytest.approx(4.0)


def test_on_own_successes_each_is_averaged_over_what_it_solved(eight: list[CellSummary]) -> None:
    found = rows(make_board(eight, REGISTRY, basis=Basis.OWN_SUCCESSES).standings)
    assert found["cogs"].mean_loss.value == pytest.approx(0.15)
    assert_score(found["lore"].mean_loss, 0.3, 16, 16, 8)
    assert_score(found["grow"].mean_loss, 0.5, 8, 16, 8)
    assert found["cogs"].rank == 1.0  # ranks hold for all points whatever the basis


def test_tasks_of_one_data_set_and_model_are_one_unit() -> None:
    cells = [
        cell([loss], dataset=name, searcher=searcher, constraints=constraints)
        for name in DATASETS[:6]
        for constraints in (False, True)
        for searcher, loss in (("cogs", 0.1), ("lore", 0.2))
    ]
    standings = make_board(cells, REGISTRY).standings
    assert (len(standings.in_play), standings.unit, standings.units) == (12, "pair", 6)
    assert standings.pairs[0].p == pytest.approx(2 / 64)
    assert standings.pairs[0].wins == 12
    few = make_board(cells, REGISTRY, selection=Selection(datasets=DATASETS[:5])).standings
    assert few.verdict == "too few tasks for a test: 5 pairs of data set and model; 2 searchers need 6"
    assert few.rows[0].interval is None
    assert few.pairs[0].p is None
    assert [(str(row.position), row.group) for row in few.rows] == [("1 ", ""), ("2 ", "")]


def test_white_boxes_stand_beside_and_change_no_rank(eight: list[CellSummary]) -> None:
    peeks = [cell([0.05, 0.1], dataset=name, searcher="peek") for name in DATASETS]
    standings = make_board([*eight, *peeks], REGISTRY).standings
    found = rows(standings)
    assert [row.rank for row in standings.rows] == [1.0, 2.0, 3.0, None]
    white = found["peek [white-box]"]
    assert (white.state, white.position, white.wins) == (RankState.WHITE_BOX, None, None)
    # It found the best known losses, which others are held against.
    assert white.loss.value == pytest.approx(0.0)
    assert found["cogs"].loss.value == pytest.approx(1.0)


def test_too_few_tasks_for_a_test_of_so_many_is_one_sentence_and_positions_go_by_rank(eight: list[CellSummary]) -> None:
    of_six = [cell for cell in eight if cell.info.dataset in DATASETS[:6]]
    standings = make_board(of_six, REGISTRY).standings
    assert [(str(row.position), row.group) for row in standings.rows] == [("1 ", ""), ("2 ", ""), ("3 ", "")]
    # 2 / 2**6 for each of two comparisons is 0.0625, so that no result could be significant.
    assert standings.verdict == "too few tasks for a test: 6 tasks; 3 searchers need 7"
    assert standings.notes == ()
    assert [pair.p for pair in standings.pairs] == [None] * 3
    assert standings.rows[0].interval == (1.0, 1.0)  # six tasks are enough for an interval
    enough = make_board(eight, REGISTRY).standings
    assert (enough.verdict, enough.notes) == ("", ())
    assert [row.group for row in enough.rows] == ["a", "b", "c"]


def places(*tasks: list[list[int]]) -> dict[tuple[int, int], list[float]]:
    """Turn places (task, searcher, point; a place further back is a slightly larger loss) into losses."""
    return {
        (task, searcher): [0.1 + 0.01 * place for place in own]
        for task, searchers in enumerate(tasks)
        for searcher, own in enumerate(searchers)
    }


def test_mean_ranks_that_are_equal_but_for_the_last_bit_share_a_position_in_the_order_of_names() -> None:
    losses = places([[0, 0, 0], [2, 2, 2], [1, 1, 1]], [[2, 2, 0], [1, 1, 2], [0, 0, 1]])
    # Task one: ranks 1, 3, 2. Task two: (3 + 3 + 1) / 3, (2 + 2 + 3) / 3, (1 + 1 + 2) / 3.
    # Means: (1 + 7/3) / 2 = (2 + 4/3) / 2 = 5/3, and (3 + 7/3) / 2 = 8/3.
    for names in (("a", "b", "c"), ("c", "b", "a")):
        cells = [
            cell(own, dataset=DATASETS[task], searcher=names[searcher]) for (task, searcher), own in losses.items()
        ]
        standings = make_board(cells, REGISTRY, need_reference=False).standings
        assert [(str(row.position), row.label) for row in standings.rows] == [("1=", "a"), ("1=", "c"), ("3 ", "b")]
        assert [row.rank for row in standings.rows] == pytest.approx([5 / 3, 5 / 3, 8 / 3])
        assert standings.rows[0].rank == standings.rows[1].rank
        first, second = standings.pairs[0].first, standings.pairs[0].second
        assert (standings.rows[first].label, standings.rows[second].label) == ("a", "c")


def robust_cell(searcher: str, losses: list[float | None], values: list[float | None], **fields: Any) -> CellSummary:
    return cell(losses, searcher=searcher, objective="ck", objective_value=tuple(values), **fields)


def test_ranks_and_wins_go_by_the_objective_value_and_the_loss_stays_the_loss() -> None:
    cells = [
        robust_cell("cogs", [0.1, 0.2], [0.5, 0.6]),
        robust_cell("lore", [0.2, 0.3], [0.4, 0.4]),
    ]
    standings = make_board(cells, REGISTRY).standings
    assert [(row.label, row.rank, row.wins) for row in standings.rows] == [("lore", 1.0, 1), ("cogs", 2.0, 0)]
    lore, cogs = standings.rows
    # Best known values: 0.4, 0.4; best known losses: 0.1, 0.2.
    assert lore.objective == OverallValue(0.0, 2, 2, 1)
    assert cogs.objective.value == pytest.approx(1.1 / 0.8 - 1)
    assert cogs.loss.value == 0.0
    assert lore.loss.value == pytest.approx(0.5 / 0.3 - 1)
    assert standings.robust
    result = cogs.results[0]
    assert result is not None
    assert result.loss == pytest.approx(0.15)
    assert result.objective == pytest.approx(0.55)
    assert result.objective_against_best == pytest.approx(1.1 / 0.8 - 1)
    assert [(pair.wins, pair.losses) for pair in standings.pairs] == [(1, 0)]


def test_a_white_box_counts_among_the_best_known_under_every_objective() -> None:
    cells = [
        robust_cell("cogs", [0.2], [0.3]),
        robust_cell("lore", [0.2], [0.4]),
        robust_cell("peek", [0.1], [0.6]),  # the closest, and the least robust
    ]
    found = rows(make_board(cells, REGISTRY).standings)
    assert found["cogs"].objective.value == 0.0
    assert found["peek [white-box]"].objective.value == pytest.approx(1.0)
    assert found["cogs"].loss.value == pytest.approx(1.0)


def test_a_difference_that_matters_to_no_one_is_a_tie() -> None:
    losses = {"cogs": 0.1, "lore": 0.1 + 1e-9, "grow": 0.101}
    cells = [cell([loss] * 3, dataset=name, searcher=one) for name in DATASETS for one, loss in losses.items()]
    standings = make_board(cells, REGISTRY).standings
    assert [(str(row.position), row.label, row.rank, row.wins) for row in standings.rows] == [
        ("1=", "cogs", 1.5, 8),
        ("1=", "lore", 1.5, 8),
        ("3 ", "grow", 3.0, 0),
    ]
    assert [(pair.wins, pair.losses, pair.ties) for pair in standings.pairs] == [(0, 0, 8), (8, 0, 0), (8, 0, 0)]
    exact = make_board(cells, REGISTRY, tolerance=Tolerance(0)).standings
    assert [(row.label, row.rank, row.wins) for row in exact.rows] == [
        *(("cogs", 1.0, 8), ("lore", 2.0, 0), ("grow", 3.0, 0)),
    ]
    assert (standings.tolerance, exact.tolerance) == (Tolerance(0.001), Tolerance(0))


def test_a_task_whose_results_lack_objective_values_is_ranked_by_the_loss_and_that_is_said() -> None:
    cells = [
        robust_cell("cogs", [0.1, 0.2], [None, None], fold=3),
        robust_cell("lore", [0.2, None], [0.05, None], fold=3),
        robust_cell("cogs", [0.1], [0.5], dataset="wine"),
        robust_cell("lore", [0.2], [0.4], dataset="wine"),
    ]
    board = make_board(cells, REGISTRY)
    by_task = {row.label: [result.rank if result else None for result in row.results] for row in board.standings.rows}
    assert by_task == {"cogs": [1.0, 2.0], "lore": [2.0, 1.0]}  # credit by the loss, wine by the objective
    assert [view.by_loss for view in board.standings.tasks] == [True, False]
    assert board.cautions == (
        "ranked by the loss in 1 task, as objective values are missing: "
        "cogs on credit, random-forest, objective ck, constraints off, fold 3",
    )
    plain = make_board([cell([0.1], objective_value=(None,)), cell([0.2], searcher="lore")], REGISTRY)
    assert plain.cautions == ()  # under objective none the loss is what is asked for


def test_white_boxes_are_ranked_in_a_table_of_their_own_over_the_tasks_that_all_can_do(
    eight: list[CellSummary],
) -> None:
    peeks = [cell([0.05, 0.1], dataset=name, searcher="peek") for name in DATASETS]
    able, unable = DATASETS[:5], DATASETS[5:]
    gazes = [cell([0.1, 0.4], dataset=name, searcher="gaze", white_box=True) for name in able]
    skipped = [cell(dataset=name, searcher="gaze", white_box=True, skipped="no gradients") for name in unable]
    alone = make_board(eight, REGISTRY).standings
    board = make_board([*eight, *peeks, *gazes, *skipped], REGISTRY)
    main, white = board.parts
    assert board.standings is main
    assert board.white_standings is white
    assert (main.title, main.white, white.title, white.white) == ("black boxes", False, "white boxes", True)
    assert [(row.label, row.rank, row.wins) for row in main.rows] == [
        (row.label, row.rank, row.wins) for row in alone.rows
    ]
    assert [row.label for row in white.rows] == ["peek [white-box]", "gaze [white-box]"]
    assert [(row.state, row.rank, row.wins) for row in white.rows] == [
        (RankState.RANKED, 1.0, 5),
        (RankState.RANKED, 2.0, 0),
    ]
    assert [view.task.dataset for view in white.in_play] == able
    # 0.1 + 0.4 where peek has 0.05 + 0.1, the best known of all; cogs has 0.1 + 0.2.
    assert white.rows[1].loss.value == pytest.approx(0.5 / 0.15 - 1)
    assert (white.cells, white.ran, white.skipped) == (10, 10, 0)
    assert main.cells == 24 + 16  # the headline counts every cell


def test_white_boxes_that_share_no_task_stay_lines_of_reference(eight: list[CellSummary]) -> None:
    peeks = [cell([0.05, 0.1], dataset=DATASETS[0], searcher="peek")]
    peeks += [cell(dataset=name, searcher="peek", skipped="no trees") for name in DATASETS[1:]]
    gazes = [cell(dataset=DATASETS[0], searcher="gaze", white_box=True, skipped="no gradients")]
    gazes += [cell([0.1, 0.1], dataset=name, searcher="gaze", white_box=True) for name in DATASETS[1:]]
    board = make_board([*eight, *peeks, *gazes], REGISTRY)
    assert board.white_standings is None
    (main,) = board.parts
    assert [(row.label, row.state) for row in main.rows[3:]] == [
        ("gaze [white-box]", RankState.WHITE_BOX),
        ("peek [white-box]", RankState.WHITE_BOX),
    ]


def test_white_boxes_alone_have_one_table() -> None:
    cells = [cell([0.1], searcher="peek"), cell([0.2], searcher="gaze", white_box=True)]
    board = make_board(cells, REGISTRY, need_reference=False)
    (only,) = board.parts
    assert [(row.label, row.rank) for row in only.rows] == [("peek [white-box]", 1.0), ("gaze [white-box]", 2.0)]
    assert board.standings is board.white_standings is only


def test_each_part_of_a_divided_board_has_both_tables(eight: list[CellSummary]) -> None:
    white = [cell([0.1, 0.1], dataset=name, searcher="peek") for name in DATASETS[:2]]
    white += [cell([0.2, 0.2], dataset=DATASETS[0], searcher="gaze", white_box=True)]
    board = make_board([*eight, *white], REGISTRY, group_by=GroupBy.DATASET)
    assert [part.title for part in board.parts][:3] == [
        *("data set data-0, black boxes", "data set data-0, white boxes", "data set data-1"),
    ]
    assert board.white_standings is None


def test_who_lacks_tasks_is_listed_not_ranked(eight: list[CellSummary]) -> None:
    dice = [cell([0.1, 0.2], dataset=name, searcher="dice") for name in DATASETS[:3]]
    board = make_board([*eight, *dice], REGISTRY)
    row = rows(board.standings)["dice"]
    assert (row.state, row.position, row.rank, row.complete, row.missing) == (RankState.NOT_RANKED, None, None, 3, 5)
    assert row.found == Count(6, 6)
    assert row.why == "it ran on all points that count in 3 of 8 tasks"
    assert board.standings.notes == (
        "not ranked, as points are missing (complete tasks of 8): dice 3",
        "cells that others have and that were not run: dice 5",
    )
    assert (board.standings.cells, board.standings.ran, board.standings.not_run) == (27, 27, 5)
    assert [result is not None for result in row.results] == [True] * 3 + [False] * 5


def test_one_searcher_has_values_and_no_rank() -> None:
    standings = make_board([cell([0.1, None]), cell([0.3], dataset="wine")], REGISTRY).standings
    (row,) = standings.rows
    assert (row.state, row.rank, row.position, row.wins) == (RankState.NOT_RANKED, None, None, None)
    assert_score(row.mean_loss, 0.2, 2, 3, 2)
    assert standings.verdict == row.why == "one searcher: nothing to rank it against"
    assert standings.pairs == ()


def test_one_task_has_ranks_without_an_interval() -> None:
    standings = make_board([cell([0.1, 0.4]), cell([0.2, 0.3], searcher="lore")], REGISTRY).standings
    assert [row.rank for row in standings.rows] == [1.5, 1.5]
    assert [row.interval for row in standings.rows] == [None, None]
    assert [str(row.position) for row in standings.rows] == ["1=", "1="]
    assert standings.verdict == "too few tasks for a test: 1 task; 2 searchers need 6"


def test_where_nobody_found_anything_nobody_is_ranked() -> None:
    empty = [cell([None, None], dataset=name, searcher=one) for name in DATASETS for one in ("cogs", "lore")]
    standings = make_board(empty, REGISTRY).standings
    assert standings.verdict == "none of the searchers that could be ranked found anything: no searcher is ranked"
    assert [(row.state, row.position, row.rank, row.wins) for row in standings.rows] == [
        (RankState.NOT_RANKED, None, None, None)
    ] * 2
    assert [row.found for row in standings.rows] == [Count(0, 16)] * 2
    assert standings.pairs == ()


def test_nobody_wins_a_task_in_which_nobody_found_anything() -> None:
    searchers = ("cogs", "lore", "grow")
    empty = [cell([None], dataset=name, searcher=one) for name in DATASETS[:7] for one in searchers]
    last = [cell([0.1 if one == "cogs" else None], dataset=DATASETS[7], searcher=one) for one in searchers]
    standings = make_board([*empty, *last], REGISTRY).standings
    assert [row.wins for row in standings.rows] == [1, 0, 0]
    assert [str(row.position).strip() for row in standings.rows] == ["1", "2=", "2="]
    assert standings.notes[0] == (
        f"tasks without a winner, as nothing was found: {DATASETS[0]}, random-forest, objective none, constraints off; "
        "6 others"
    )


def test_nothing_in_common_says_so() -> None:
    standings = make_board([cell([0.1]), cell([0.2], dataset="wine", searcher="lore")], REGISTRY).standings
    assert standings.verdict == "no point was searched by more than half of the searchers: no searcher is ranked"
    assert [row.state for row in standings.rows] == [RankState.NOT_RANKED, RankState.NOT_RANKED]
    assert [row.found for row in standings.rows] == [Count(1, 1), Count(1, 1)]


def test_all_failed_and_all_skipped() -> None:
    board = make_board([cell(failure="no table"), cell(searcher="lore", skipped="no constraints")], REGISTRY)
    assert [(row.state, row.why) for row in board.standings.rows] == [
        (RankState.FAILED, "no table"),
        (RankState.SKIPPED, "no constraints"),
    ]
    assert board.standings.verdict == "no cell has results"
    assert (board.standings.ran, board.standings.failed, board.standings.skipped) == (0, 1, 1)


def test_what_finished_before_a_cell_failed_counts_and_the_failure_is_told() -> None:
    board = make_board([cell([0.1, 0.2], failure="the worker died"), cell([0.2, 0.3], searcher="lore")], REGISTRY)
    cogs = rows(board.standings)["cogs"]
    assert (cogs.state, cogs.rank, cogs.found, cogs.failed) == (RankState.RANKED, 1.0, Count(2, 2), 1)
    assert (board.standings.ran, board.standings.failed) == (2, 0)
    assert board.cautions == ("1 cell failed, earlier results count: credit, random-forest: the worker died",)
    (row, _) = board.rows
    assert (row.success.k, row.success.n, row.failed) == (2, 2, 1)


def test_a_board_in_parts_ranks_each_anew(eight: list[CellSummary]) -> None:
    others = [cell([0.3, 0.3], dataset=name, objective="k") for name in DATASETS]
    others += [cell([0.1, 0.1], dataset=name, objective="k", searcher="lore") for name in DATASETS]
    board = make_board([*eight, *others], REGISTRY, group_by=GroupBy.OBJECTIVE)
    assert [part.title for part in board.parts] == ["objective k", "objective none"]
    assert [[row.label for row in part.ranked] for part in board.parts] == [["lore", "cogs"], ["cogs", "lore", "grow"]]
    by = {group_by: len(make_board(eight, REGISTRY, group_by=group_by).parts) for group_by in GroupBy}
    assert list(by.values()) == [1, 8, 1, 1, 1, 8]


ROBUST = MetricColumn("k-robustness", ("k-robustness", "1", "{}"), build_registry().metric("k-robustness").entry)


def test_a_metric_is_a_mean_over_tasks_on_points_with_a_value_of_all() -> None:
    cells = [
        *(cell([0.1, 0.1, 0.1], dataset=name) for name in ("wine", "credit")),
        *(cell([0.2, 0.2, None], dataset=name, searcher="lore") for name in ("wine", "credit")),
    ]
    of = {(one.info.dataset, one.info.searcher): one.info.key for one in cells}
    values = {
        of["wine", "cogs"]: np.array([0.2, 0.6, 0.9]),
        of["credit", "cogs"]: np.array([1.0, np.nan, 0.9]),
        of["wine", "lore"]: np.array([0.5, 0.7, np.nan]),
        of["credit", "lore"]: np.array([0.3, 0.1, np.nan]),
    }
    measurements = Measurements((ROBUST,), {ROBUST.identity: values})
    found = rows(make_board(cells, REGISTRY, measurements=measurements).standings)
    # wine: points 1 and 2; credit: point 1 alone, since cogs has no value for the second.
    assert_score(found["cogs"].metrics["k-robustness"], (0.4 + 1.0) / 2, 3, 6, 2)
    assert_score(found["lore"].metrics["k-robustness"], (0.6 + 0.3) / 2, 3, 6, 2)
    own = rows(make_board(cells, REGISTRY, measurements=measurements, basis=Basis.OWN_SUCCESSES).standings)
    assert_score(own["cogs"].metrics["k-robustness"], ((0.2 + 0.6 + 0.9) / 3 + 0.95) / 2, 5, 6, 2)
    assert_score(own["lore"].metrics["k-robustness"], (0.6 + 0.2) / 2, 4, 6, 2)


def test_a_searcher_without_measures_takes_no_points_from_others() -> None:
    cells = [cell([0.1, 0.2]), cell([0.2, 0.3], searcher="lore")]
    measurements = Measurements((ROBUST,), {ROBUST.identity: {cells[0].info.key: np.array([0.5, 0.7])}})
    board = make_board(cells, REGISTRY, measurements=measurements)
    found = rows(board.standings)
    assert_score(found["cogs"].metrics["k-robustness"], 0.6, 2, 2, 1)
    assert found["lore"].metrics == {}
    assert "k-robustness is known in 1 of 2 cells with searches" in board.cautions


def test_limits_are_said() -> None:
    none = {"query_budget": None, "time_limit": 60.0}
    cells = [cell([0.1], content=none), cell([0.1], searcher="lore", content=none)]
    cells.append(cell([0.1], searcher="grow", content={"query_budget": 2500, "time_limit": 60.0}))
    assert make_board(cells, REGISTRY).standings.limits == "query budget none (2,500 queries for grow), time limit 60 s"
    assert make_board([cell([0.1])], REGISTRY).standings.limits == ""
