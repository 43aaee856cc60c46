"""Finished cells become MLflow runs; tracking that is down, hangs or refuses costs a run one message."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sqlite3
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cfbench.errors import TrackingError
from cfbench.record import SEARCH_SCHEMA
from cfbench.registry import CellFinished, CellInfo, RunFinished, RunStarted
from cfbench_reporters.tracking import TrackingReporter
from tests.cells import finished_cell
from tests.plugins.tracked import begun_reporter, experiment_of, run_started, runs_of


class TestSqliteStore:
    def test_a_cell_becomes_one_flat_run(self, store: Path) -> None:
        address = f"sqlite:///{store}"
        event = finished_cell()
        reporter = begun_reporter(address, store.parent)
        reporter.cfbench_cell_finished(event)
        assert reporter.logged == 1
        (run,) = runs_of(address)
        assert run.info.status == "FINISHED"
        assert run.info.end_time - run.info.start_time == 5000  # the searches' 0.5 + 1 + 1.5 + 2 seconds
        assert run.data.params["fold"] == "f0"
        assert run.data.metrics["success_rate"] == 0.75
        assert run.data.tags["cfbench.cell"] == event.cell.key
        folder = store.parent / "mlflow-artifacts" / run.info.run_id / "artifacts"
        table = pq.read_table(folder / "searches.parquet")
        assert (table.schema.names, table.schema.metadata) == (SEARCH_SCHEMA.names, SEARCH_SCHEMA.metadata)
        assert table.num_rows == 4

    def test_the_same_cell_again_is_not_logged_and_a_grown_one_updates_its_run(self, store: Path) -> None:
        address = f"sqlite:///{store}"
        reporter = begun_reporter(address, store.parent)
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.5]))
        (first,) = runs_of(address)
        reporter = begun_reporter(address, store.parent)
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.5]))
        assert reporter.logged == 0
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.5, 0.2]))
        assert reporter.logged == 1
        (grown,) = runs_of(address)
        assert grown.info.run_id == first.info.run_id
        assert grown.data.metrics["searches"] == 3
        assert grown.data.metrics["loss_mean"] == pytest.approx(0.4)
        table = pq.read_table(store.parent / "mlflow-artifacts" / grown.info.run_id / "artifacts/searches.parquet")
        assert table.num_rows == 3

    @pytest.mark.slow
    def test_a_run_that_lost_a_metric_or_changed_a_parameter_is_replaced(self, store: Path) -> None:
        address = f"sqlite:///{store}"
        reporter = begun_reporter(address, store.parent)
        reporter.cfbench_cell_finished(finished_cell([0.5]))
        reporter.cfbench_cell_finished(finished_cell([None]))  # found once, lost when it ran again
        (run,) = runs_of(address)
        assert "loss_mean" not in run.data.metrics
        renamed = replace(finished_cell([None]).cell, dataset="credit-renamed")
        reporter.cfbench_cell_finished(finished_cell([None], info=renamed))
        (run,) = runs_of(address)
        assert run.data.params["dataset"] == "credit-renamed"

    def test_a_run_that_was_cut_off_is_completed(self, store: Path) -> None:
        from mlflow.tracking import MlflowClient

        address = f"sqlite:///{store}"
        reporter = begun_reporter(address, store.parent)
        client = MlflowClient(tracking_uri=address)
        event = finished_cell()
        client.create_run(
            experiment_of(client), tags={"cfbench.cell": event.cell.key}
        )  # killed right after its creation
        reporter.cfbench_cell_finished(event)
        (run,) = runs_of(address)
        assert run.info.status == "FINISHED"
        assert run.data.metrics["searches"] == 4

    def test_failed_and_empty_cells_are_not_mirrored(self, store: Path) -> None:
        reporter = begun_reporter(f"sqlite:///{store}", store.parent)
        cell = finished_cell().cell
        reporter.cfbench_cell_finished(CellFinished(cell, failure="the worker died"))
        reporter.cfbench_cell_finished(finished_cell([]))
        assert reporter.logged == 0
        assert runs_of(f"sqlite:///{store}") == []

    def test_many_runs_one_folder_with_strange_letters(self, empty_store: Path, tmp_path: Path) -> None:
        folder = tmp_path / "a b#ü'"
        folder.mkdir()
        shutil.copy(empty_store, folder / "mlflow.db")
        begun_reporter(f"sqlite:///{folder / 'mlflow.db'}", folder, study="Übung: 1/2 [x]")
        assert runs_of(f"sqlite:///{folder / 'mlflow.db'}", "Übung: 1/2 [x]") == []

    @pytest.mark.slow
    def test_no_global_state_is_left_behind(self, store: Path, capfd: pytest.CaptureFixture[str]) -> None:
        import mlflow

        before, level = dict(os.environ), logging.getLogger("mlflow").level
        uri = mlflow.get_tracking_uri()
        fresh = store.parent / "fresh" / "mlflow.db"
        begun_reporter(f"sqlite:///{fresh}", store.parent)
        assert mlflow.get_tracking_uri() == uri
        assert dict(os.environ) == before
        assert logging.getLogger("mlflow").level == level
        assert capfd.readouterr() == ("", "")  # the migration prints nothing
        assert [path.name for path in fresh.parent.iterdir()] == ["mlflow.db"]


class TestResumedRun:
    """Cells that an earlier run finished send no events; where the store lacks them, the reader is told."""

    def _resume(self, address: str, results: Path, *cells: CellInfo, done: int) -> None:
        reporter = TrackingReporter()
        reporter.cfbench_run_started(RunStarted("quick", results, address, cells, done, 0, 0, 1))
        reporter.cfbench_run_finished(RunFinished(done, 0, 0, interrupted=False))

    def test_cells_that_the_store_missed_are_counted(self, store: Path) -> None:
        address = f"sqlite:///{store}"
        first = finished_cell()
        missed = replace(first.cell, key="2" * 32)
        begun_reporter(address, store.parent).cfbench_cell_finished(first)
        with pytest.raises(TrackingError, match=r"1 of 2 finished cells are not in .*`cfbench sync` logs them"):
            self._resume(address, store.parent, first.cell, missed, done=2)
        self._resume(address, store.parent, first.cell, missed, done=1)  # the other one is not finished yet

    def test_a_fresh_run_is_not_checked(self, store: Path) -> None:
        reporter = TrackingReporter()
        cell = finished_cell().cell
        reporter.cfbench_run_started(RunStarted("quick", store.parent, f"sqlite:///{store}", (cell,), 0, 4, 0, 1))
        reporter.cfbench_run_finished(RunFinished(1, 0, 4, interrupted=False))


@pytest.mark.slow
def test_a_server_over_http_keeps_runs_and_their_files(
    runs_page: str, tracked_results: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from mlflow.tracking import MlflowClient

    address = runs_page.partition("/#/")[0]
    reporter = begun_reporter(address, tmp_path, study="over-http")
    reporter.cfbench_cell_finished(finished_cell([0.5]))
    reporter.cfbench_cell_finished(finished_cell([0.5, 0.25]))
    reporter.cfbench_cell_finished(finished_cell([0.5, 0.25]))
    assert reporter.logged == 2
    assert capfd.readouterr() == ("", "")
    (run,) = runs_of(address, "over-http")
    assert run.data.metrics["searches"] == 2
    assert run.data.params["searcher"] == "cogs"
    assert run.info.artifact_uri.startswith("mlflow-artifacts:/")
    path = MlflowClient(tracking_uri=address).download_artifacts(run.info.run_id, "searches.parquet", str(tmp_path))
    assert pq.read_table(path).num_rows == 2
    assert list((tracked_results / "mlflow-artifacts").rglob(f"{run.info.run_id}/artifacts/searches.parquet"))


class TestTrackingThatIsDown:
    def test_no_address_no_tracking(self, tmp_path: Path) -> None:
        reporter = begun_reporter("", tmp_path)
        reporter.cfbench_cell_finished(finished_cell())
        reporter.cfbench_run_finished(RunFinished(1, 0, 4, False))
        assert reporter.logged == 0
        assert list(tmp_path.iterdir()) == []

    def test_an_unreachable_server_is_one_error_and_then_silence(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        reporter = TrackingReporter()
        with pytest.raises(TrackingError, match=r"http://127.0.0.1:1 .*refused.*cfbench sync") as caught:
            reporter.cfbench_run_started(run_started("http://user:secret@127.0.0.1:1", tmp_path))
        assert "secret" not in str(caught.value)
        reporter.cfbench_cell_finished(finished_cell())
        assert capfd.readouterr() == ("", "")

    def test_a_server_that_never_answers_is_given_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")  # the user's own setting is kept
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with (
            socket.create_server(("127.0.0.1", 0)) as silent,
            pytest.raises(TrackingError, match="timed out"),
        ):
            begun_reporter(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path)

    def test_a_store_that_fails_at_a_cell_is_one_error_and_then_silence(self, store: Path) -> None:
        reporter = begun_reporter(f"sqlite:///{store}", store.parent)
        with sqlite3.connect(store) as database:
            database.execute("DROP TABLE tags")
        database.close()
        with pytest.raises(TrackingError, match="no such table"):
            reporter.cfbench_cell_finished(finished_cell())
        reporter.cfbench_cell_finished(finished_cell())
        assert reporter.logged == 0

    @pytest.mark.parametrize(
        ("address", "words"),
        [
            ("file:///tmp/mlruns", r"sqlite:///mlflow\.db"),
            ("./mlruns", r"sqlite:///mlflow\.db"),
            ("sqlite://", "names no file"),
            ("sqlite:///:memory:", "names no file"),
            ("postgresql://user:secret@127.0.0.1:1/runs", "needs the driver 'psycopg"),
        ],
    )
    def test_an_address_that_holds_no_store_is_refused(self, tmp_path: Path, address: str, words: str) -> None:
        with pytest.raises(TrackingError, match=words):
            begun_reporter(address, tmp_path)

    def test_an_old_schema_says_how_to_upgrade(self, store: Path) -> None:
        with sqlite3.connect(store) as database:
            database.execute("UPDATE alembic_version SET version_num = '27a6a02d2cf1'")
        database.close()
        with pytest.raises(TrackingError, match=f"mlflow db upgrade sqlite:///{store}"):
            begun_reporter(f"sqlite:///{store}", store.parent)

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "mlflow.db").write_bytes(b"not a database, but long enough to look at" * 100)
        with pytest.raises(TrackingError, match="file is not a database"):
            begun_reporter(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)

    def test_a_place_that_cannot_hold_a_store(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(TrackingError, match="File exists"):
            begun_reporter(f"sqlite:///{tmp_path}/file/mlflow.db", tmp_path)

    def test_a_deleted_experiment_says_how_to_restore_it(self, store: Path) -> None:
        from mlflow.tracking import MlflowClient

        address = f"sqlite:///{store}"
        begun_reporter(address, store.parent)
        client = MlflowClient(tracking_uri=address)
        client.delete_experiment(experiment_of(client))
        with pytest.raises(TrackingError, match="mlflow experiments restore --experiment-id"):
            begun_reporter(address, store.parent)
