from __future__ import annotations

from cfbench.analysis.groups import group_cells
from cfbench.analysis.result_matrix import ComparedSearcher, ResultMatrix, make_result_matrix
from cfbench.record.cells import CellSummary
from tests.toys.cells import cell


def matrix_of(*cells: CellSummary) -> ResultMatrix:
    return make_result_matrix(group_cells(cells), {"peek"})


def labels(matrix: ResultMatrix) -> list[str]:
    return [searcher.label for searcher in matrix.ranked]


def test_everybody_who_was_asked_the_same_is_ranked() -> None:
    matrix = matrix_of(cell([0.1, None]), cell([0.2, 0.3], searcher="lore"), cell([0.1, 0.1], searcher="peek"))
    assert labels(matrix) == ["cogs", "lore"]
    assert [searcher.label for searcher in matrix.searchers] == ["cogs", "lore", "peek [white-box]"]


def test_what_half_of_the_searchers_were_not_asked_is_in_no_rank() -> None:
    # Two searchers: the three points that both were asked, not cogs' two further ones, nor its other data set.
    matrix = matrix_of(cell([0.1] * 5), cell([0.1] * 2, dataset="wine"), cell([0.2] * 3, searcher="lore"))
    assert labels(matrix) == ["cogs", "lore"]
    assert [task.key.dataset for task in matrix.in_play] == ["credit"]
    assert matrix.in_play[0].counted.tolist() == [True, True, True, False, False]


def test_a_searcher_that_was_asked_little_is_not_ranked_and_shrinks_nothing() -> None:
    matrix = matrix_of(
        *(cell([0.1] * 5, searcher=name) for name in ("cogs", "lore", "grow")), cell([0.1] * 2, searcher="dice")
    )
    assert labels(matrix) == ["cogs", "grow", "lore"]
    assert matrix.in_play[0].counted.sum() == 5
    assert matrix.complete_in(ComparedSearcher("dice")) == 0


def test_searchers_that_were_asked_little_do_not_take_tasks_out_of_the_ranks() -> None:
    # Three of five searchers do both tasks; a sixth that was tried on one point of a task would make it three of six.
    whole = [cell([0.1] * 4, searcher=name, objective=o) for name in ("cogs", "lore", "grow") for o in ("none", "ck")]
    part = [cell([0.1] * 4, searcher=name, objective="none") for name in ("dice", "near")]
    tried = cell([0.1], searcher="mine", objective="none")
    matrix = matrix_of(*whole, *part, tried)
    assert labels(matrix) == ["cogs", "grow", "lore"]
    assert [task.key.objective for task in matrix.in_play] == ["ck", "none"]
    assert all(task.counted.all() for task in matrix.tasks)


def test_a_fold_more_of_one_searcher_does_not_count() -> None:
    matrix = matrix_of(cell([0.1]), cell([0.1], fold=1), cell([0.1], searcher="lore"))
    assert matrix.in_play[0].places == [(0, 0), (1, 0)]
    assert matrix.in_play[0].counted.tolist() == [True, False]


def test_cells_of_another_budget_or_seed_are_another_entrant_on_the_same_task() -> None:
    matrix = matrix_of(cell([0.1]), cell([0.2], content={"seed": 7}), cell([0.2], searcher="lore"))
    assert labels(matrix) == ["cogs (seed=42)", "cogs (seed=7)", "lore"]
    assert len(matrix.tasks) == 1


def test_cells_of_another_version_of_the_data_are_another_task() -> None:
    cells = [cell([0.1], searcher=name, content={"dataset": f"v{v}"}) for name in ("cogs", "lore") for v in (1, 2)]
    matrix = matrix_of(*cells)
    assert [task.label.removeprefix("credit, random-forest, ") for task in matrix.tasks] == [
        "objective none, constraints off (dataset=v1)",
        "objective none, constraints off (dataset=v2)",
    ]
    assert labels(matrix) == ["cogs", "lore"]


def test_a_white_box_is_known_by_the_record_where_its_plugin_is_not_installed() -> None:
    from dataclasses import replace

    stranger = cell([0.1], searcher="stranger")
    stranger = replace(stranger, info=replace(stranger.info, white_box=True))
    assert labels(matrix_of(cell([0.1]), stranger)) == ["cogs"]


def test_on_own_points_everybody_is_ranked_on_what_your_searcher_has() -> None:
    # Three published searchers have four points of two tasks; yours has two points of one, lore lacks the second.
    cells = [cell([0.1] * 4, searcher=name, dataset=d) for name in ("cogs", "grow") for d in ("credit", "wine")]
    cells += [cell([0.1], searcher="lore"), cell([0.1], searcher="lore", dataset="wine")]
    mine = cell([0.1] * 2, searcher="mine")
    groups = group_cells([*cells, mine])
    alone = make_result_matrix(groups, (), yours={mine.info.key})
    assert labels(alone) == ["cogs", "grow"]
    matrix = make_result_matrix(groups, (), yours={mine.info.key}, own_points=True)
    assert labels(matrix) == ["cogs", "grow", "mine [yours]"]
    assert [(task.key.dataset, task.counted.sum()) for task in matrix.in_play] == [("credit", 2)]


def test_own_points_without_yours_are_those_that_every_black_box_has() -> None:
    cells = [cell([0.1] * 4), cell([0.1] * 4, searcher="lore"), cell([0.1] * 1, searcher="mine")]
    matrix = make_result_matrix(group_cells([*cells, cell([], searcher="peek")]), {"peek"}, own_points=True)
    assert labels(matrix) == ["cogs", "lore", "mine"]
    assert matrix.in_play[0].counted.tolist() == [True, False, False, False]
