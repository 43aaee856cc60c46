"""``cfbench merge`` as it is called after a study's shards have run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.tracking.addresses import remembered_tracking
from tests.databases import damage, execute, record_digest
from tests.toys.studies import CELL, ONCE

STUDY = [*CELL, "--searcher", "toy-dice", "--fold", "1", "--points", "1", *ONCE]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments])


def test_shards_run_and_merge(tmp_path: Path) -> None:
    for shard in ("1/2", "2/2"):
        done = call("run", *STUDY, "--shard", shard)
        assert done.exit_code == 0
        assert "cfbench merge results-shard-*-of-2 --results results " in done.stdout
    parts = ["results-shard-1-of-2", "results-shard-2-of-2"]
    merged = call("merge", *parts, "--results", "all")
    assert merged.exit_code == 0
    assert merged.stdout.startswith("2 cells (2 new), 2 new searches: all\n")
    assert "cfbench leaderboard --results all" in merged.stdout
    assert call("run", *STUDY, "--results", "whole").exit_code == 0
    assert record_digest(Path("all")) == record_digest(Path("whole"))
    remembered = remembered_tracking(Path("all"))
    assert remembered is not None
    assert remembered.study == "command-line"
    assert "2 there already" in call("merge", *parts, "--results", "all").stdout


def test_damage_is_named_and_is_an_exit_code() -> None:
    assert call("run", *STUDY).exit_code == 0
    key = min(record_digest(Path("results")))
    damage(Path("results"), "cells", f"key = '{key}'")
    execute(Path("results"), "DELETE FROM searches WHERE cell_key = ?", key)
    merged = call("merge", "results", "--results", "all")
    assert merged.exit_code == 1
    assert "1 cell (1 new)" in merged.stdout
    assert f"Damaged: results: cell {key} is damaged" in merged.stderr


def test_a_whole_study_is_not_told_to_merge() -> None:
    assert "merge" not in call("run", *STUDY).stdout


def test_directories_are_asked_for() -> None:
    assert "Missing argument" in call("merge", "--results", "all").output
    refused = call("merge", "part 1", "part-2")
    assert refused.exit_code == 2
    assert "name the record that they are merged into" in refused.output
    assert "merge 'part 1' part-2 --results DIR" in refused.output
