from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench.cli import main
from cfbench.cli.run import _epilogue
from cfbench.record.archive import pack_record
from cfbench.record.store import Record
from cfbench.registry import CellFinished
from cfbench.running.progress import RunReport
from cfbench.tracking.addresses import Remembered, remember_tracking, remembered_tracking

FinishedCell = Callable[..., CellFinished]
PutCell = Callable[[Record, CellFinished], None]


@pytest.fixture(autouse=True)
def _no_ambient_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture
def results(tmp_path: Path, finished_cell: FinishedCell, put_cell: PutCell) -> Path:
    """A record of two finished cells, a failed one and a skipped one."""
    path = tmp_path / "results"
    first = finished_cell().cell
    with Record.open(path, write=True) as record:
        for key in ("0" * 32, "1" * 32):
            put_cell(record, finished_cell(info=replace(first, key=key)))
        record.fail(replace(first, key="2" * 32), {}, "the worker died")
        record.skip(replace(first, key="3" * 32), {}, "needs probabilities")
    return path


def _sync(results: Path, *options: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["sync", "--results", str(results), *options])
    return int(ended.value.code or 0)


def _runs(address: str, study: str) -> list[Any]:
    from mlflow.tracking import MlflowClient

    client: Any = MlflowClient(tracking_uri=address)
    return list(client.search_runs([client.get_experiment_by_name(study).experiment_id]))


@pytest.mark.slow
def test_what_is_missing_is_logged_once(
    results: Path,
    empty_store: Path,
    finished_cell: FinishedCell,
    put_cell: PutCell,
    capsys: pytest.CaptureFixture[str],
) -> None:
    remember_tracking(results, "quick", f"sqlite:///{results}/mlflow.db")
    shutil.copy(empty_store, results / "mlflow.db")
    assert _sync(results) == 0
    address = f"sqlite:///{results}/mlflow.db"
    assert capsys.readouterr().out == f"2 of 2 finished cells logged to {address}, experiment 'quick'\n"
    assert {run.data.tags["cfbench.cell"] for run in _runs(address, "quick")} == {"0" * 32, "1" * 32}

    assert _sync(results) == 0
    assert capsys.readouterr().out.startswith("0 of 2 finished cells logged")

    with Record.open(results, write=True) as record:
        put_cell(record, finished_cell([0.1] * 5, info=replace(finished_cell().cell, key="1" * 32)))
    assert _sync(results) == 0
    assert "1 of 2 finished cells logged" in capsys.readouterr().out
    assert sorted(run.data.metrics["searches"] for run in _runs(address, "quick")) == [4, 5]


@pytest.mark.slow
def test_a_record_that_was_never_tracked_goes_where_the_options_say(
    results: Path, empty_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_tracking(results, "quick", "")  # by a run with --tracking none
    shutil.copy(empty_store, tmp_path / "team.db")
    address = f"sqlite:///{tmp_path}/team.db"
    assert _sync(results, "--tracking", address, "--study", "ours") == 0
    assert len(_runs(address, "ours")) == 2
    assert remembered_tracking(results) == Remembered("ours", address)


def test_a_store_that_is_down_is_an_error_and_nothing_is_remembered(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sync(results, "--tracking", "http://127.0.0.1:1") == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "Error: the tracking store http://127.0.0.1:1 cannot be used" in output.err
    assert "refused" in output.err
    assert not (results / "tracking.json").exists()


def test_no_tracking_is_no_place_to_log_to(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sync(results, "--tracking", "none") == 1
    assert "names no store" in capsys.readouterr().err


@pytest.mark.slow
def test_a_packed_record_stays_as_it_is(
    results: Path, empty_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    names = sorted(file.name for file in packed.iterdir())
    assert _sync(packed) == 1
    assert "is a packed record, which is read only and has no store of its own; name one" in capsys.readouterr().err
    assert _sync(packed, "--tracking", f"sqlite:///{packed}/mlflow.db") == 1
    assert f"{packed} is a record, and nothing but the record is written there" in capsys.readouterr().err
    assert _sync(packed, "--tracking", "postgresql://127.0.0.1:1/mlflow") == 1
    assert f"would be put into {packed}, a packed record; name a server" in capsys.readouterr().err
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    assert _sync(packed, "--tracking", f"sqlite:///{tmp_path}/mlflow.db") == 0
    assert sorted(file.name for file in packed.iterdir()) == names


def test_a_record_without_finished_cells_makes_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Record.open(tmp_path / "results", write=True).close()
    assert _sync(tmp_path / "results") == 1
    assert "there is nothing to log in" in capsys.readouterr().err
    assert not (tmp_path / "results" / "mlflow.db").exists()


def test_a_damaged_memory_is_named(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "tracking.json").write_text(json.dumps(["quick"]))
    assert _sync(results) == 1
    assert "tracking.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("complaint", "tracking", "expected"),
    [
        ("cfbench-tracking: 1 of 1 finished cells are not in sqlite:///mlflow.db", "sqlite:///mlflow.db", True),
        ("their-reporter: no such file", "sqlite:///mlflow.db", False),
        ("cfbench-tracking: anything", "", False),
    ],
)
def test_a_run_hints_at_it_only_where_tracking_missed_something(
    complaint: str, tracking: str, expected: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = RunReport(complaints=[complaint])
    _epilogue(report, "cfbench-tracking", tracking=tracking, results=tmp_path, resume="", shard=None)
    assert ("what tracking missed" in capsys.readouterr().out) is expected
