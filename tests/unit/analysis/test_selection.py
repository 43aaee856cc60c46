from __future__ import annotations

import pytest

from cfbench.analysis.groups import Selection
from cfbench.errors import RecordError, UnknownNameError
from tests.toys.cells import cell


def test_constraints_and_searchers_are_selected() -> None:
    cells = [cell([0.1]), cell([0.1], constraints=True), cell([0.1], searcher="lore[a=1]", constraints=True)]
    assert len(Selection(constraints=True).of(cells)) == 2
    assert len(Selection(constraints=False).of(cells)) == 1
    assert len(Selection(searchers=["lore"]).of(cells)) == 1
    with pytest.raises(UnknownNameError, match=r"unknown searcher of this record 'lorre'\. Known: cogs, lore\[a=1\]"):
        Selection(searchers=["lorre"]).of(cells)
    with pytest.raises(UnknownNameError, match=r"unknown constraints of this record 'on'\. Known: off"):
        Selection(constraints=True).of(cells[:1])


def test_several_protocols_are_refused_with_the_way_to_split_them() -> None:
    cells = [cell([0.1], content={"protocol": version}, fold=fold) for fold, version in enumerate((1, 1, 2))]
    with pytest.raises(RecordError) as refused:
        Selection().of(cells)
    assert str(refused.value) == (
        "these cells were searched under several versions of the benchmark's protocol (version 1: 2 cells, version 2: "
        "1 cell), and results of different versions are never compared. With `--protocol 2`, `cfbench leaderboard` "
        "and `cfbench compare` show those of one version"
    )
    assert len(Selection(protocol="1").of(cells)) == 2
    with pytest.raises(UnknownNameError, match=r"unknown protocol version of these cells '3'\. Known: 1, 2\."):
        Selection(protocol="3").of(cells)


def test_what_the_record_has_outside_the_selection_is_not_called_unknown() -> None:
    cells = [cell([0.1]), cell([0.1], searcher="lore[a=1]", constraints=True)]
    with pytest.raises(RecordError, match=r"has searcher 'lore', but not .* this selection, where it has: cogs; leave"):
        Selection(constraints=False, searchers=["lore"]).of(cells)
    with pytest.raises(UnknownNameError, match=r"unknown searcher of this record 'lorre'\. Known: cogs, lore\[a=1\]"):
        Selection(constraints=False, searchers=["lorre"]).of(cells)
