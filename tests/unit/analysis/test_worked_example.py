"""The worked example of the method page: what its tables say is what the product computes from its first table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cfbench.analysis.board import make_board
from cfbench.analysis.ranks import DEFAULT_TOLERANCE, point_ranks
from cfbench.analysis.standings import Standings
from cfbench.registry.registry import build_registry
from tests.toys.cells import cell

PAGE = Path(__file__).parents[3] / "docs" / "leaderboard.md"
SEARCHERS = ("alpha", "beta", "gamma")
Cell = tuple[float | None, float | None]
"""Value and loss."""


def tables() -> list[list[dict[str, str]]]:
    """Return the tables of the example, rows by the names of their columns."""
    text = PAGE.read_text("utf-8").partition("## An example")[2].partition("\n## ")[0]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        header, _, *lines = ([cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines())
        found.append([dict(zip(header, line, strict=True)) for line in lines])
    return found


VALUES, RANKS, TABLE, PAIRS = tables()


def parsed(text: str) -> Cell:
    if text == "not found":
        return None, None
    numbers = [float(number) for number in re.findall(r"[\d.]+", text)]
    return numbers[0], numbers[-1]


@pytest.fixture
def standings() -> Standings:
    cells = []
    for task, dataset, objective in (("1", "credit", "none"), ("2", "housing", "ck")):
        rows = [row for row in VALUES if row["task"] == task]
        assert len(rows) == 2
        for name in SEARCHERS:
            found = [parsed(row[name]) for row in rows]
            losses, values = [loss for _, loss in found], tuple(value for value, _ in found)
            cells.append(cell(losses, dataset=dataset, objective=objective, searcher=name, objective_value=values))
    return make_board(cells, build_registry(), need_reference=False).standings


def test_ranks_at_each_point() -> None:
    for values, ranks in zip(VALUES, [row for row in RANKS if row["point"] != "mean"], strict=True):
        assert (values["task"], values["point"]) == (ranks["task"], ranks["point"])
        found = [parsed(values[name])[0] for name in SEARCHERS]
        compared = np.array([[np.inf if value is None else value] for value in found])
        assert point_ranks(compared, DEFAULT_TOLERANCE).ravel().tolist() == [float(ranks[name]) for name in SEARCHERS]


def test_mean_ranks(standings: Standings) -> None:
    of_task = {row["task"]: row for row in RANKS if row["point"] == "mean"}
    for row in standings.rows:
        assert [result.rank for result in row.results if result] == [float(of_task[task][row.label]) for task in "12"]
        assert row.rank == float(of_task["both"][row.label])


def test_the_table(standings: Standings) -> None:
    def percent(value: float | None) -> str:
        assert value is not None
        return f"{100 * value:+.1f} %" if abs(value) >= 0.001 or value == 0 else f"{100 * value:+.2f} %"

    computed = [
        {
            "position": str(row.position).strip(),
            "searcher": row.label,
            "found": f"{row.found.k} of {row.found.n}",
            "rank": f"{row.rank}",
            "objective": percent(row.objective.value),
            "loss": percent(row.loss.value),
            "wins": str(row.wins),
        }
        for row in standings.rows
    ]
    assert computed == TABLE
    assert standings.shared.k == 3
    assert standings.verdict == "too few tasks for a test: 2 tasks; 3 searchers need 7"


def test_pairs(standings: Standings) -> None:
    computed = [
        {
            "first": standings.rows[pair.first].label,
            "second": standings.rows[pair.second].label,
            "tasks won": str(pair.wins),
            "tasks lost": str(pair.losses),
            "ties": str(pair.ties),
        }
        for pair in standings.pairs
    ]
    assert computed == PAIRS
