"""``cfbench verify`` and ``cfbench pack``: an honest record passes, and each kind of untruth is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cfbench
from cfbench.cli import cli
from cfbench.digests import digest_of
from cfbench.record.schema import Row
from cfbench.record.store import Record
from tests.databases import damage
from tests.toys.studies import STUDY, TOY

Verify = Callable[..., Result]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "results"
    cfbench.run(STUDY, plugins=[TOY], points=3, results=path)
    return path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--plugin", str(TOY)], catch_exceptions=True)


def change(results: Path, edit: Callable[[list[Row]], None]) -> None:
    """Replace the rows of the only cell, as somebody who makes results up would."""
    with Record.open(results, write=True) as record:
        ((key, summary),) = record.summaries().items()
        rows = record.rows(key)
        edit(rows)
        record.adopt(summary.info, summary.content, summary.eligible, rows)


def test_an_honest_record_passes(results: Path) -> None:
    result = invoke("verify", str(results))
    assert result.exit_code == 0, result.stderr
    assert "3 searches in 1 cells: 3 counterfactuals judged again, 3 searches run again" in result.stdout
    assert "0 are not as the record says; 0 searches could not be verified" in result.stdout


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("loss", 0.001, "point 1, repetition 0: recomputing loss"),
        ("objective_value", -1.0, "recomputing objective_value"),
        ("z", [0.0, 40.0, 0.0], "z is no counterfactual: its class is 0, not the target 1"),
        ("z", [99.0, 40.0, 0.0], "z is no counterfactual: size = 99.0 is outside"),
        ("x", [1.0, 2.0, 0.0], "of the data set"),
        ("row_id", 0, "row 0 of the data set is not that eligible point"),
        ("status", "not_found", "it has a loss, and is called not_found"),
        ("search_queries", 1, "run again, it gives other values of search_queries"),
    ],
)
def test_what_was_made_up_is_told(results: Path, column: str, value: object, fault: str) -> None:
    change(results, lambda rows: next(row for row in rows if row["point"] == 1).update({column: value}))
    result = invoke("verify", str(results))
    assert result.exit_code == 1
    assert fault in result.stderr


def test_a_success_without_a_loss_and_a_wrong_count_are_told(results: Path) -> None:
    absent = dict.fromkeys(("loss", "gower", "l0", "cost", "objective_value"))
    with Record.open(results, write=True) as record:
        ((key, summary),) = record.summaries().items()
        rows = [row | absent for row in record.rows(key)]
        record.adopt(summary.info, summary.content, summary.eligible + 1, rows)
    result = invoke("verify", str(results), "--sample", "0")
    assert result.exit_code == 1
    assert "it is called found, and has no loss" in result.stderr
    assert f"it says {summary.eligible + 1} eligible points, and the fold has {summary.eligible}" in result.stderr


def test_a_cell_that_is_not_what_its_key_says_is_told(results: Path) -> None:
    with Record.open(results, write=True) as record:
        ((key, summary),) = record.summaries().items()
        record.adopt(summary.info, {**summary.content, "seed": 43}, summary.eligible, record.rows(key))
    result = invoke("verify", str(results))
    assert result.exit_code == 1
    assert "its key is not the digest of what it says was run" in result.stderr


def test_what_cannot_be_told_is_not_verified(results: Path) -> None:
    change(results, lambda rows: rows[0].update(model_fingerprint="0" * 32))
    result = invoke("verify", str(results))
    assert result.exit_code == 1
    assert "Not verified: 1 search: threshold on toy, fold 0, is fitted differently here" in result.stderr
    assert "0 are not as the record says; 1 search could not be verified" in result.stdout
    with Record.open(results, write=True) as record:
        ((key, summary),) = record.summaries().items()
        content = {**summary.content, "model": {**summary.content["model"], "version": "99"}}
        info = replace(summary.info, key=digest_of(content), versions={**summary.info.versions, "model": "99"})
        record.adopt(info, content, summary.eligible, [row | {"cell_key": info.key} for row in record.rows(key)])
    result = invoke("verify", str(results))
    assert result.exit_code == 1
    assert "model threshold has version 1 here, and the record was made with version 99" in result.stderr


def test_a_packed_record_is_verified_like_any_other(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    result = invoke("pack", "--results", str(results), "--output", str(packed))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"1 cells packed into {packed}, 0.0 MB")
    result = invoke("verify", str(packed), "--sample", "2")
    assert result.exit_code == 0, result.stderr
    assert "3 counterfactuals judged again, 2 searches run again" in result.stdout


def test_a_damaged_cell_is_not_counted_as_packed(results: Path, tmp_path: Path) -> None:
    damage(results, "searches", "point = 1", "reason")
    (key,) = Record.open(results).keys()
    result = invoke("pack", "--results", str(results), "--output", str(tmp_path / "packed"))
    assert result.exit_code == 1
    assert result.stdout.startswith("0 cells packed into")
    assert f"searches of cell {key}, point 1, repetition 0: it is damaged" in result.stderr
    assert f"1 left out because they cannot be read: {key}" in result.stderr


def test_rows_that_may_not_be_passed_on_are_not_packed(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TOY.read_text().replace('DatasetEntry(name="toy", ', 'DatasetEntry(name="toy", shareable=False, ')
    assert "shareable=False" in text
    private = tmp_path / "private.py"
    private.write_text(text)
    packed = tmp_path / "packed"
    arguments = ["pack", "--results", str(results), "--output", str(packed), "--plugin", str(private)]
    result = CliRunner().invoke(cli, arguments)
    assert result.stdout.rstrip().endswith("; without rows: toy")
    assert cfbench.load_record(packed)["z"].tolist() == [None] * 3
    result = CliRunner().invoke(cli, ["verify", str(packed), "--plugin", str(private)])
    assert result.exit_code == 0, result.stderr
    assert "3 counterfactuals are kept without their rows: only running them again can tell" in result.stdout
    assert "0 counterfactuals judged again, 3 searches run again" in result.stdout
    result = invoke("verify", str(packed))
    assert result.exit_code == 1
    assert "3 searches: rows of toy are left out, which may be passed on: pack the record again" in result.stderr
