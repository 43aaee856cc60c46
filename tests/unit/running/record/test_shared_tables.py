"""Summaries of many cells say what the index says, and share what they say alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.record.cell_line import summary_of
from cfbench.record.record import Record
from cfbench.study.plan import SharedTables

if TYPE_CHECKING:
    from tests.unit.running.conftest import Toys


def test_summaries_share_what_they_say_alike(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", folds=(0, 1), points=2)
    with Record.open(tmp_path / "r") as record:
        one, other = record.summaries().values()
        assert one == summary_of(record._index.get(one.info.key) or {})
    assert one.content["fold"] != other.content["fold"]
    assert one.content["model"] is other.content["model"]
    assert one.info.versions is other.info.versions


def test_what_differs_in_type_alone_is_not_shared() -> None:
    shared = SharedTables()
    first = shared.table({"settings": {"m": 1}})
    assert shared.table({"settings": {"m": 1}}) is first
    assert [type(shared.table({"settings": {"m": value}})["settings"]["m"]) for value in (1.0, True)] == [float, bool]
