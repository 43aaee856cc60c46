"""Two searchers point by point, on losses that can be compared by eye."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cfbench.analysis.groups import Group, group_cells
from cfbench.analysis.pairwise import PairedTask, farthest, meet, one_sided, reservations, score, side_of
from cfbench.analysis.ranks import Tolerance
from cfbench.errors import UnknownNameError
from cfbench.record.cells import CellSummary
from tests.toys.cells import cell

FIRST = [0.10, 0.30, None, 0.20, None, 0.40]
SECOND = [0.20, 0.25, 0.50, 0.20, None, None]


def sides(cells: Sequence[CellSummary]) -> tuple[list[Group], list[Group]]:
    groups = group_cells(cells)
    return side_of(groups, "cogs"), side_of(groups, "lore")


def met(cells: Sequence[CellSummary]) -> list[PairedTask]:
    first, second = sides(cells)
    return meet(first, second, "lore")


def test_wins_ties_and_losses() -> None:
    found = score(met([cell(FIRST), cell(SECOND, searcher="lore")]))
    assert (found.wins, found.ties, found.losses) == (2, 2, 2)
    assert (found.only_first, found.only_second, found.neither) == (1, 1, 1)
    assert (found.points, found.asked) == (6, 6)
    # Differences where both solved it: -0.10, +0.05, 0.
    assert found.solved == 3
    assert found.median == pytest.approx(0.0)
    assert found.interval is None, "three points are too few"


def test_points_are_won_by_the_objective_value_and_differ_in_it() -> None:
    robust: dict[str, Any] = {"objective": "ck"}
    cells = [
        cell([0.1, 0.2, None], objective_value=(0.5, 0.6, None), **robust),
        cell([0.3, 0.1, 0.2], objective_value=(0.4, 0.9, 0.7), searcher="lore", **robust),
    ]
    (task,) = tasks = met(cells)
    assert [point.outcome for point in task.points] == [-1, 1, -1]
    assert [point.difference for point in task.points] == [pytest.approx(0.1), pytest.approx(-0.3), None]
    assert [(point.first_loss, point.second_loss) for point in task.points] == [(0.1, 0.3), (0.2, 0.1), (None, 0.2)]
    assert score(tasks).median == pytest.approx(-0.1)
    assert not task.by_loss
    lacking = met([cells[0], cell([0.3, 0.1, 0.2], objective_value=(None,) * 3, searcher="lore", **robust)])
    assert [point.outcome for point in lacking[0].points] == [1, -1, -1]
    assert reservations(lacking) == [
        "not given alike: objective values, which results of one side lack, so that losses are compared "
        "(credit, random-forest, objective ck, constraints off)"
    ]


def test_values_within_the_tolerance_of_the_better_one_tie() -> None:
    cells = [cell([0.1, 0.1, 2.0]), cell([0.10009, 0.10011, 2.0019], searcher="lore")]
    (usual,) = met(cells)
    assert [point.outcome for point in usual.points] == [0, 1, 0]
    (exact,) = meet(*sides(cells), "lore", Tolerance(0))
    assert [point.outcome for point in exact.points] == [1, 1, 1]


def test_only_points_that_both_were_asked_are_compared() -> None:
    tasks = met([cell([0.1, 0.2, 0.3], rows=[1, 2, 3]), cell([0.4, 0.1], rows=[3, 9], searcher="lore")])
    assert [(point.row, point.first, point.second) for point in tasks[0].points] == [(3, 0.3, 0.4)]
    assert (score(tasks).points, score(tasks).asked) == (1, 4)
    assert met([cell([0.1], rows=[1]), cell([0.1], rows=[2], searcher="lore")]) == []


def test_folds_are_told_apart_and_tasks_added_up() -> None:
    cells = [
        *(cell([0.1], fold=fold) for fold in (0, 1)),
        *(cell([0.2], fold=fold, searcher="lore") for fold in (0, 1)),
        cell([0.5], dataset="wine"),
        cell([0.3], dataset="wine", searcher="lore"),
    ]
    tasks = met(cells)
    assert [(one.label.partition(",")[0], score([one]).wins, score([one]).losses) for one in tasks] == [
        ("credit", 2, 0),
        ("wine", 0, 1),
    ]
    total = score(tasks)
    assert (total.wins, total.losses, total.solved) == (2, 1, 3)
    assert total.median == pytest.approx(-0.1)


def test_the_interval_is_the_bootstraps() -> None:
    rng = np.random.default_rng(3)
    first = rng.uniform(0.1, 0.5, 40)
    tasks = met([cell(first.tolist()), cell((first + 0.25).tolist(), searcher="lore")])
    assert score(tasks).interval == pytest.approx((-0.25, -0.25))  # whatever is drawn, the median is the same
    apart = rng.normal(0.1, 0.05, 40)
    found = score(met([cell((first + apart).tolist()), cell(first.tolist(), searcher="lore")]))
    # Independently: the order statistics between which the median lies with 95 % (binomial, n = 40: 14th and 27th).
    ordered = np.sort(apart)
    assert found.interval == pytest.approx((ordered[13], ordered[26]), abs=0.012)
    assert score(met([cell((first + apart).tolist()), cell(first.tolist(), searcher="lore")])) == found


def test_a_bootstrap_in_pieces_is_one_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    cells = [cell(rng.uniform(0, 1, 30).tolist()), cell(rng.uniform(0, 1, 30).tolist(), searcher="lore")]
    whole = score(met(cells)).interval
    monkeypatch.setattr("cfbench.analysis.pairwise._AT_ONCE", 30 * 700)
    assert score(met(cells)).interval == whole


def test_where_they_differ_most() -> None:
    tasks = met([cell(FIRST), cell(SECOND, searcher="lore")])
    assert [(point.row, round(point.difference or 0, 3)) for _, point in farthest(tasks, 5)] == [(0, -0.1), (1, 0.05)]
    assert len(farthest(tasks, 1)) == 1
    assert [point.row for _, point in one_sided(tasks, 1)] == [5]
    assert [point.row for _, point in one_sided(tasks, -1)] == [2]


def test_two_records_meet_by_label() -> None:
    first = group_cells([cell([0.1, 0.2]), cell([0.3], searcher="lore"), cell([0.3], searcher="dice-a")])
    second = group_cells([cell([0.1, 0.4], tries=3), cell([0.2], searcher="lore")])
    tasks = meet(first, second)
    assert [task.first.searcher for task in tasks] == ["cogs", "lore"]
    assert tasks[0].label.endswith(", cogs")
    assert reservations(tasks) == [
        "not given alike: the best of 1 against the best of 3 repetitions "
        "(credit, random-forest, objective none, constraints off, cogs)"
    ]


def test_the_most_alike_of_several_meet() -> None:
    cells = [
        cell([0.1], content={"seed": 1}),
        cell([0.2], content={"seed": 2}),
        cell([0.5], content={"seed": 2}, searcher="lore"),
        cell([0.4], content={"seed": 1}, searcher="lore"),
    ]
    found = {one.first.setup: one.points[0].second for one in met(cells)}
    assert found == {"seed=1": 0.4, "seed=2": 0.5}


def test_what_was_not_given_alike_is_said() -> None:
    cells = [
        cell([0.1], fingerprints=("a",)),
        cell([0.1], searcher="lore", content={"seed": 7}, fingerprints=("b",)),
    ]
    said = reservations(met(cells))
    assert [sentence.partition(" (")[0] for sentence in said] == [
        "not given alike: differently fitted models of fold 0",
        "not given alike: seed=42 against seed=7",
    ]


def test_a_searcher_is_named_by_its_label_or_its_only_variant() -> None:
    groups = group_cells(
        [cell([0.1], searcher="cogs[n=1]"), cell([0.1], searcher="lore"), cell([0.1], searcher="lore[n=2]")]
    )
    assert [group.searcher for group in side_of(groups, "cogs")] == ["cogs[n=1]"]
    assert [group.searcher for group in side_of(groups, "lore")] == ["lore"]
    with pytest.raises(UnknownNameError, match=r"unknown searcher of this record 'lor'\. Did you mean 'lore'"):
        side_of(groups, "lor")
    several = group_cells([cell([0.1], searcher="cogs[n=1]"), cell([0.1], searcher="cogs[n=2]")])
    with pytest.raises(UnknownNameError, match="Name one variant"):
        side_of(several, "cogs")
