"""Whoever found too little has a rank and no loss, and does not take the others' losses away."""

from __future__ import annotations

from cfbench.analysis.board import make_board
from cfbench.analysis.standings import Basis
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import build_registry
from tests.toys.cells import cell

LOSSES = {
    "cogs": (0.1, 0.2, 0.3, 0.4),
    "lore": (0.2, 0.2, None, 0.4),  # three of four: enough to be compared
    "nelder-mead": (None, None, 0.3, None),  # one of four: too little
}


def cells() -> list[CellSummary]:
    return [cell(losses, searcher=name) for name, losses in LOSSES.items()]


def test_losses_are_compared_among_those_that_found_at_least_half() -> None:
    standings = make_board(cells(), build_registry()).standings
    rows = {row.label: row for row in standings.rows}
    # On points 0, 1 and 3 both found something; the best known losses there are 0.1, 0.2 and 0.4.
    assert (standings.shared.k, standings.shared.n) == (3, 4)
    assert rows["cogs"].loss.value == 0.0
    assert round(rows["lore"].loss.value or 0, 9) == round(0.8 / 0.7 - 1, 9)
    assert rows["nelder-mead"].loss.value is None
    assert rows["nelder-mead"].rank is not None
    assert any("as less than 50% was found: nelder-mead (1 of 4)" in note for note in standings.notes)


def test_own_successes_leave_nobody_out() -> None:
    standings = make_board(cells(), build_registry(), basis=Basis.OWN_SUCCESSES).standings
    rows = {row.label: row for row in standings.rows}
    assert rows["nelder-mead"].loss.value == 0.0
    assert not any("less than 50%" in note for note in standings.notes)
