"""What a run has to know of the cells is what their summaries say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.record.record import Record

if TYPE_CHECKING:
    from tests.unit.running.conftest import Toys

STUDY: dict[str, Any] = {"searchers": ("toy-dice", "toy-crash"), "folds": (0, 1), "points": 2}


def test_outlines_say_what_summaries_say(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", **STUDY)
    with Record.open(tmp_path / "r") as record:
        summaries = record.summaries()
        found = {info.key: (info, seconds, outline) for info, seconds, outline in record.outlines()}
        assert found.keys() == summaries.keys()
        for key, (info, seconds, outline) in found.items():
            summary = summaries[key]
            assert (info, seconds) == (summary.info, summary.wall_seconds)
            assert (outline.eligible, outline.searches) == (summary.eligible, summary.searches)
            assert outline.done == record.done(key)
            assert record.done_of(key, outline, has_journal=False) == record.done(key)
        assert len({outline.model for _, _, outline in found.values()}) == 2  # two folds


def test_a_table_that_the_index_does_not_know_is_read_and_one_that_is_gone_is_reported(
    toys: Toys, tmp_path: Path
) -> None:
    toys.run(tmp_path / "r", **STUDY)
    tables = sorted((tmp_path / "r").glob("cells/*/*.parquet"))
    tables[0].unlink()
    with Record.open(tmp_path / "r") as record:
        assert {info.key for info, _, _ in record.outlines()} == {path.stem for path in tables[1:]}
        assert [str(tables[0]) in problem for problem in record.problems] == [True]
    (tmp_path / "r" / "index.log").unlink()
    with Record.open(tmp_path / "r") as record:
        assert {info.key for info, _, _ in record.outlines()} == {path.stem for path in tables[1:]}
        assert record.problems == []


def test_a_table_that_changed_behind_the_index_is_read_again(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", **{**STUDY, "folds": (0,)})
    with Record.open(tmp_path / "r") as record:
        (first, *_) = [(info.key, outline) for info, _, outline in record.outlines()]
    path = next((tmp_path / "r").glob(f"cells/*/{first[0]}.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    with Record.open(tmp_path / "r") as record:
        assert record.done_of(*first, has_journal=False) == {}
        assert "cannot be read" in record.problems[0]
