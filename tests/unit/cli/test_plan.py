"""``cfbench plan``: the matrix, as text and as JSON, and the options that it shares with ``cfbench run``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.cli import cli
from tests.toys.studies import CELL, ONCE

STUDY = [*CELL, "--searcher", "toy-dice", "--fold", "1", "--points", "3", *ONCE, "--repetitions", "2"]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))


def said(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, [*arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def test_a_study_that_never_ran_has_no_estimate_and_leaves_nothing_behind(tmp_path: Path) -> None:
    text = said("plan", *STUDY)
    assert "Study command-line, record results" in text
    assert "2 cells (2 missing); up to 12 of 12 searches to run" in text
    assert "no search of these searchers (? in the table)" in text
    assert not (tmp_path / "results").exists()


def test_what_is_done_and_what_is_missing_after_a_part_has_run() -> None:
    said("run", *STUDY)
    lines = said("plan", *STUDY, "--points", "4").splitlines()
    row = next(line for line in lines if line.startswith("toy-dice"))
    assert row.split()[:8] == ["toy-dice", "none", "off", "2", "-", "16", "12", "4"]
    assert any("; 4 of 16 searches to run" in line for line in lines)
    assert any(line.startswith("Time: about ") for line in lines)


def test_every_cell_in_text_and_in_json() -> None:
    text = said("plan", *STUDY, "--cells", "--searcher", "toy-both")
    assert sum(line.startswith("toy  ") for line in text.splitlines()) == 4
    outlook = json.loads(said("plan", *STUDY, "--format", "json"))
    assert [cell["state"] for cell in outlook["cells"]] == ["missing", "missing"]
    assert [cell["fold"] for cell in outlook["cells"]] == [0, 1]
    assert (outlook["searches"], outlook["missing"], outlook["searches_exact"]) == (12, 12, False)
    assert outlook["estimate"]["searching_seconds"] is None
    assert outlook["estimate"]["searches_without_estimate"] == 12


def test_a_shard_has_its_part_of_the_cells_and_a_directory_of_its_own() -> None:
    first = json.loads(said("plan", *STUDY, "--shard", "1/2", "--format", "json"))
    second = json.loads(said("plan", *STUDY, "--shard", "2/2", "--format", "json"))
    assert [len(shard["cells"]) for shard in (first, second)] == [1, 1]
    assert first["cells"][0]["key"] != second["cells"][0]["key"]
    assert first["results"] == "results-shard-1-of-2"
    named = json.loads(said("plan", *STUDY, "--shard", "2/2", "--results", "mine", "--format", "json"))
    assert named["results"] == "mine"


def test_bad_options_are_refused_as_by_a_run() -> None:
    for option in (["--shard", "9/2"], ["--retry", "tired"], ["--searcher", "toy-dce"]):
        result = CliRunner().invoke(cli, ["plan", *STUDY, *option])
        assert result.exit_code != 0
        assert option[1] in str(result.exception)
