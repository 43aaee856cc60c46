from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfbench import CellFinished, RunStarted
from cfbench.tracking.addresses import follow_moved_store
from cfbench_reporters.tracking import TrackingReporter

FinishedCell = Callable[..., CellFinished]


def _log(results: Path, event: CellFinished) -> None:
    reporter = TrackingReporter()
    reporter.cfbench_run_started(RunStarted("quick", results, f"sqlite:///{results}/mlflow.db", (), 0, 0, 0, 1))
    reporter.cfbench_cell_finished(event)


def _client(results: Path) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=f"sqlite:///{results}/mlflow.db")


def _places(results: Path) -> set[str]:
    client = _client(results)
    experiment = client.get_experiment_by_name("quick")
    (run,) = client.search_runs([experiment.experiment_id])
    return {experiment.artifact_location, run.info.artifact_uri.partition(f"/{run.info.run_id}")[0]}


@pytest.fixture
def results(store: Path, finished_cell: FinishedCell) -> Path:
    """A directory whose store holds a run."""
    _log(store.parent, finished_cell([0.5]))
    return store.parent


def test_a_copy_writes_into_its_own_folder_and_reads_from_it(results: Path, finished_cell: FinishedCell) -> None:
    copy = results.parent / "a copy"
    shutil.copytree(results, copy)
    before = sorted(results.rglob("*"))
    _log(copy, finished_cell([0.5, 0.25]))
    assert sorted(results.rglob("*")) == before
    assert _places(copy) == {(copy / "mlflow-artifacts").as_uri()}
    client = _client(copy)
    (run,) = client.search_runs([client.get_experiment_by_name("quick").experiment_id])
    shutil.rmtree(results)
    assert {found.path for found in client.list_artifacts(run.info.run_id)} >= {"cell.json", "searches.parquet"}


def test_a_moved_directory_takes_its_artifacts_along(results: Path) -> None:
    moved = results.rename(results.parent / "moved")
    follow_moved_store(f"sqlite:///{moved}/mlflow.db")
    assert _places(moved) == {(moved / "mlflow-artifacts").as_uri()}


def test_a_file_that_was_moved_alone_keeps_its_artifacts(results: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (results / "mlflow.db").rename(tmp_path / "elsewhere" / "mlflow.db")
    follow_moved_store(f"sqlite:///{tmp_path}/elsewhere/mlflow.db")
    assert _places(tmp_path / "elsewhere") == {(results / "mlflow-artifacts").as_uri()}


def test_places_that_somebody_chose_stay(results: Path, tmp_path: Path) -> None:
    with sqlite3.connect(results / "mlflow.db") as database:
        database.execute("UPDATE experiments SET artifact_location = 'file:///data/ours' WHERE name = 'quick'")
    database.close()
    moved = results.rename(tmp_path / "moved")
    follow_moved_store(f"sqlite:///{moved}/mlflow.db")
    assert "file:///data/ours" in _places(moved)


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"no database, but something" * 100)
    for address in (f"sqlite:///{tmp_path}/file", f"sqlite:///{tmp_path}/none", "http://127.0.0.1:1", "sqlite://"):
        follow_moved_store(address)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"no database, but something" * 100
