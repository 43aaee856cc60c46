"""``cfbench drop``: what it lists is what it removes, it asks first, and everything else stays as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.digests import digest_of
from cfbench.errors import RecordError, UnknownNameError
from cfbench.record.archive import pack_record
from cfbench.record.cells import Preparation
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.tracking.addresses import remember_tracking
from tests.databases import contents, execute
from tests.unit.cli.written_cells import write_cell

Drop = Callable[..., Result]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A record of two searchers; `lore` in two variants, one with a failed cell, and `dice-a` skipped."""
    path = tmp_path / "results"
    with Record.open(path, write=True) as record:
        for fold in (0, 1):
            write_cell(record, "cogs", [0.2, 0.4], fold=fold, versions={"searcher": "1"})
        write_cell(record, "cogs", [0.2, 0.4, 0.1], fold=2, versions={"searcher": "2"})
        write_cell(record, "lore", [0.3, None], dataset="credit")
        write_cell(record, "lore[population=9]", [0.3], dataset="credit")
        record.fail(info_of("lore", fold=3), {}, "ValueError: the old default")
        record.skip(info_of("dice-a"), {}, "it handles no constraints")
        for cell in record.summaries().values():
            if cell.info.dataset == "credit":
                measure(record, cell.info.key, cell.searches)
        record.note_preparation(record_key(record, "lore"), Preparation(0.5, 20))
    return path


def info_of(searcher: str, **changes: Any) -> CellInfo:
    return CellInfo(digest_of(content_of(searcher, **changes)), **content_of(searcher, **changes))


def content_of(searcher: str, **changes: Any) -> dict[str, Any]:
    plain = {"dataset": "wine", "model": "random-forest", "objective": "none", "constraints": False, "fold": 0}
    return {**plain, "searcher": searcher, **changes}


def record_key(record: Record, searcher: str) -> str:
    (key,) = (k for k, c in record.summaries().items() if c.info.searcher == searcher and c.info.dataset == "credit")
    return key


def measure(record: Record, key: str, searches: int) -> None:
    rows = [(key, "spread", "1", "{}", point, 0, 1.0) for point in range(searches)]
    columns = ["cell_key", "metric", "version", "settings", "point", "repetition", "value"]
    record.write_measures(key, pd.DataFrame(rows, columns=columns))


@pytest.fixture
def drop(results: Path) -> Drop:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["drop", "--results", str(results), *arguments])

    return invoke


def left(results: Path) -> list[tuple[str, str, int]]:
    with Record.open(results) as record:
        assert record.problems == []
        return sorted((c.info.searcher, c.info.dataset, c.info.fold) for c in record.summaries().values())


ALL = [
    ("cogs", "wine", 0),
    ("cogs", "wine", 1),
    ("cogs", "wine", 2),
    ("dice-a", "wine", 0),
    ("lore", "credit", 0),
    ("lore", "wine", 3),
    ("lore[population=9]", "credit", 0),
]


def without(*gone: tuple[str, str, int]) -> list[tuple[str, str, int]]:
    return [cell for cell in ALL if cell not in gone]


def test_a_searcher_goes_with_all_its_variants_and_all_that_belongs_to_them(results: Path, drop: Drop) -> None:
    done = drop("--searcher", "lore", "--yes")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "searcher            version  data set  model          cells  no result  searches  measures  preparations",
        "lore                         credit    random-forest      1          0         2         1             1",
        "lore                         wine      random-forest      1          1         0         0             0",
        "lore[population=9]           credit    random-forest      1          0         1         1             0",
        f"3 cells, 3 searches, 2 measures, 1 preparation removed from {results}; 4 cells left",
    ]
    assert left(results) == [cell for cell in ALL if not cell[0].startswith("lore")]
    for table in ("searches", "measures", "preparations"):
        keys = {key for (key,) in execute(results, f"SELECT cell_key FROM {table}")}
        assert keys <= {key for (key,) in execute(results, "SELECT key FROM cells")}, table


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        (["--searcher", "lore[population=9]"], [("lore[population=9]", "credit", 0)]),
        (["--searcher", "lore", "--dataset", "wine"], [("lore", "wine", 3)]),
        (["--searcher", "cogs", "--version", "1"], [("cogs", "wine", 0), ("cogs", "wine", 1)]),
        (["--failed"], [("dice-a", "wine", 0), ("lore", "wine", 3)]),
        (["--failed", "--searcher", "dice-a"], [("dice-a", "wine", 0)]),
        (["--model", "random-forest", "--objective", "none"], ALL),
    ],
    ids=["variant", "data-set", "version", "failed", "failed-searcher", "all"],
)
def test_options_narrow_what_is_removed(
    results: Path, drop: Drop, options: list[str], gone: list[tuple[str, str, int]]
) -> None:
    assert drop(*options, "--yes").exit_code == 0
    assert left(results) == without(*gone)


def test_a_failed_cell_with_results_of_an_earlier_run_keeps_them(results: Path, drop: Drop) -> None:
    with Record.open(results, write=True) as record:
        cell = record.summaries()[record_key(record, "lore")]
        record.fail(cell.info, cell.content, "the worker died")
    assert drop("--failed", "--yes").exit_code == 0
    assert left(results) == without(("dice-a", "wine", 0), ("lore", "wine", 3))


def test_it_asks_first(results: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfbench.cli.drop._has_terminal", lambda: True)
    before = contents(results)

    def answer(text: str) -> Result:
        return CliRunner().invoke(cli, ["drop", "--results", str(results), "--searcher", "cogs"], input=text)

    for refusal in ("n\n", "\n"):
        refused = answer(refusal)
        assert refused.exit_code == 1
        assert f"Remove 3 cells, 7 searches from {results}? [y/N]" in refused.output
        assert refused.stdout.endswith("nothing was removed\n")
        assert contents(results) == before
    assert answer("y\n").exit_code == 0
    assert left(results) == [cell for cell in ALL if cell[0] != "cogs"]


def test_without_a_terminal_it_removes_nothing_and_says_what_to_add(
    results: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["cfbench", "drop", "--searcher", "cogs"])
    before = contents(results)
    refused = drop("--searcher", "cogs")
    assert refused.exit_code == 1
    assert "Error: nothing was removed: without a terminal the command cannot ask." in refused.stderr
    assert "To remove 3 cells, 7 searches, add --yes: cfbench drop --searcher cogs --yes" in refused.stderr
    assert contents(results) == before


def test_nothing_that_matches_changes_nothing(results: Path, drop: Drop) -> None:
    before = contents(results)
    assert (
        drop("--failed", "--searcher", "cogs", "--yes").stdout == f"nothing to remove: no cell of {results} matches\n"
    )
    for options, message in (
        (["--searcher", "cog"], r"unknown searcher of this record 'cog'.*cogs"),
        (["--searcher", "cogs", "--version", "3"], r"unknown searcher's version among these cells '3'.*1, 2"),
    ):
        refused = drop(*options, "--yes")
        assert isinstance(refused.exception, UnknownNameError)
        with pytest.raises(UnknownNameError, match=message):
            raise refused.exception
    assert contents(results) == before


def test_a_record_that_is_not_narrowed_down_is_not_emptied(results: Path, drop: Drop) -> None:
    refused = drop("--yes")
    assert refused.exit_code == 2
    assert "say which cells to remove" in refused.output
    assert left(results) == ALL


def test_a_record_in_use_is_refused(results: Path, drop: Drop) -> None:
    with Record.open(results, write=True):
        refused = drop("--searcher", "cogs", "--yes")
    assert isinstance(refused.exception, RecordError)
    assert "is in use: process" in str(refused.exception)
    assert left(results) == ALL


def test_a_packed_record_is_refused_with_what_makes_one_that_can_be_changed(results: Path, tmp_path: Path) -> None:
    with Record.open(results) as record:
        pack_record(record, tmp_path / "packed")
    refused = CliRunner().invoke(cli, ["drop", "--results", str(tmp_path / "packed"), "--searcher", "cogs", "--yes"])
    assert isinstance(refused.exception, RecordError)
    assert f"`cfbench merge {tmp_path / 'packed'} --results DIR`" in str(refused.exception)


def test_cells_that_were_never_finished_stay_and_are_named(results: Path, drop: Drop) -> None:
    with Record.open(results, write=True) as record:
        write_cell(record, "cogs", [0.5], fold=4, finish=False)
    done = drop("--searcher", "cogs", "--yes")
    assert done.exit_code == 0
    assert "1 cell with searches, but never finished" in done.stderr
    with Record.open(results) as record:
        assert record.pending() == {info_of("cogs", fold=4).key}


def test_it_is_said_that_runs_in_mlflow_stay(results: Path, drop: Drop) -> None:
    remember_tracking(results, "quick", "http://name:secret@127.0.0.1:5000")
    said = drop("--searcher", "cogs", "--yes").stderr
    assert "stay in MLflow, in the experiment 'quick' of http://127.0.0.1:5000: delete them there" in said
    remember_tracking(results, "quick", "")
    assert "MLflow" not in drop("--searcher", "lore", "--yes").stderr
