"""Boards of real runs of toy searchers: ranks go by the value that the task asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cfbench
from cfbench.analysis.ranks import Tolerance
from cfbench.analysis.standings import Standings
from cfbench.board.board import Leaderboard
from cfbench.record.store import Record

TOYS = Path(__file__).parents[2] / "toys"
DRIFTING = TOYS / "loss_alone_plugin.py"
PLAIN = TOYS / "toy_plugin.py"


def board(results: Path, plugin: Path, *, tie: float | None = None, **study: Any) -> Leaderboard:
    """Run a small study of a toy plugin and return its board."""
    usual = {"metrics": ["success"], "folds": [0, 1], "points": 4, "repetitions": 1, "tracking": "none"}
    cfbench.run({"name": "toys", **usual, **study}, plugins=[plugin], results=results)
    return cfbench.leaderboard(results, plugins=[str(plugin)], tie=tie)


def on_drifting(results: Path, *searchers: str, objective: str, tie: float | None = None) -> Standings:
    study = {"datasets": ["drifting"], "models": ["rule"], "searchers": searchers, "objectives": [objective]}
    return board(results, DRIFTING, tie=tie, **study).board.standings


def ranked(standings: Standings) -> list[tuple[str, str, float | None, int | None]]:
    return [(str(row.position).strip(), row.label, row.rank, row.wins) for row in standings.rows]


def test_a_searcher_that_ignores_the_objective_is_not_ranked_above_one_that_is_better_by_it(tmp_path: Path) -> None:
    # The near row has the smaller loss, and 7 of 16 drifts of `age` cost its class; none costs that of the far row.
    robust = on_drifting(tmp_path / "k", "able-near", "able-far", objective="k")
    assert ranked(robust) == [("1", "able-far", 1.0, 1), ("2", "able-near", 2.0, 0)]
    far, near = robust.rows
    assert far.objective.value == 0.0
    assert near.objective.value is not None
    assert near.objective.value > 0.2
    assert near.loss.value == 0.0
    assert far.loss.value is not None
    assert far.loss.value > 0.01
    # By the loss, which objective none asks for, it is the other way round.
    plain = on_drifting(tmp_path / "none", "able-near", "able-far", objective="none")
    assert ranked(plain) == [("1", "able-near", 1.0, 1), ("2", "able-far", 2.0, 0)]


def test_losses_that_differ_by_a_billionth_share_rank_and_win(tmp_path: Path) -> None:
    searchers = ("able-worse", "able-near", "able-hair")
    found = on_drifting(tmp_path / "results", *searchers, objective="none")
    assert ranked(found) == [("1=", "able-hair", 1.5, 1), ("1=", "able-near", 1.5, 1), ("3", "able-worse", 3.0, 0)]
    near, hair, worse = (
        [loss for cell in cells_of(tmp_path / "results", name) for loss in cell if loss is not None]
        for name in ("able-near", "able-hair", "able-worse")
    )
    assert [b - a for a, b in zip(near, hair, strict=True)] == pytest.approx([1e-9] * 8, rel=1e-3)
    assert all(b / a > 1.01 for a, b in zip(near, worse, strict=True))
    exact = cfbench.leaderboard(tmp_path / "results", plugins=[str(DRIFTING)], tie=0).board
    assert ranked(exact.standings) == [
        ("1", "able-near", 1.0, 1),
        ("2", "able-hair", 2.0, 0),
        ("3", "able-worse", 3.0, 0),
    ]
    assert exact.tolerance == Tolerance(0)


def cells_of(results: Path, searcher: str) -> list[tuple[float | None, ...]]:
    with Record.open(results) as record:
        return [cell.loss for cell in record.summaries().values() if cell.info.searcher == searcher]


def test_where_nothing_is_perturbed_the_objective_value_is_the_loss(tmp_path: Path) -> None:
    study: dict[str, Any] = {"datasets": ["toy"], "models": ["threshold"], "searchers": ["toy-both", "toy-dice"]}
    robust = board(tmp_path / "ck", PLAIN, **study, objectives=["ck"]).board.standings
    with Record.open(tmp_path / "ck") as record:
        cells = list(record.summaries().values())
    assert {cell.info.objective for cell in cells} == {"ck"}
    assert all(cell.objective_value == cell.loss for cell in cells)
    assert [row.objective for row in robust.rows] == [row.loss for row in robust.rows]
    assert not any(view.by_loss for view in robust.tasks)
