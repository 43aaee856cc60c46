"""Tracking that is down, hangs or refuses costs a run one message and nothing else."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfbench.errors import TrackingError
from cfbench.registry import RunFinished
from cfbench_reporters.tracking import TrackingReporter
from tests.plugins.tracked import FinishedCell, begun_reporter, experiment_of, run_started


class TestTrackingThatIsDown:
    def test_no_address_no_tracking(self, tmp_path: Path, finished_cell: FinishedCell) -> None:
        reporter = begun_reporter("", tmp_path)
        reporter.cfbench_cell_finished(finished_cell())
        reporter.cfbench_run_finished(RunFinished(1, 0, 4, False))
        assert reporter.logged == 0
        assert list(tmp_path.iterdir()) == []

    def test_an_unreachable_server_is_one_error_and_then_silence(
        self, tmp_path: Path, finished_cell: FinishedCell, capfd: pytest.CaptureFixture[str]
    ) -> None:
        reporter = TrackingReporter()
        with pytest.raises(TrackingError, match=r"http://127.0.0.1:1 .*refused.*cfbench sync") as caught:
            reporter.cfbench_run_started(run_started("http://user:secret@127.0.0.1:1", tmp_path))
        assert "secret" not in str(caught.value)
        reporter.cfbench_cell_finished(finished_cell())
        assert capfd.readouterr() == ("", "")

    def test_a_server_that_never_answers_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent_server: str
    ) -> None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")  # the user's own setting is kept
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with pytest.raises(TrackingError, match="timed out"):
            begun_reporter(silent_server, tmp_path)

    def test_a_store_that_fails_at_a_cell_is_one_error_and_then_silence(
        self, store: Path, finished_cell: FinishedCell
    ) -> None:
        reporter = begun_reporter(f"sqlite:///{store}", store.parent)
        with sqlite3.connect(store) as database:
            database.execute("DROP TABLE tags")
        database.close()
        with pytest.raises(TrackingError, match="no such table"):
            reporter.cfbench_cell_finished(finished_cell())
        reporter.cfbench_cell_finished(finished_cell())
        assert reporter.logged == 0

    @pytest.mark.parametrize("address", ["file:///tmp/mlruns", "./mlruns"])
    def test_a_file_store_is_refused_naming_sqlite(self, tmp_path: Path, address: str) -> None:
        with pytest.raises(TrackingError, match=r"sqlite:///mlflow\.db"):
            begun_reporter(address, tmp_path)

    @pytest.mark.parametrize("address", ["sqlite://", "sqlite:///:memory:"])
    def test_a_store_in_memory_is_refused(self, tmp_path: Path, address: str) -> None:
        with pytest.raises(TrackingError, match="names no file"):
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

    def test_a_missing_driver_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(TrackingError, match="needs the driver 'psycopg"):
            begun_reporter("postgresql://user:secret@127.0.0.1:1/runs", tmp_path)

    def test_a_deleted_experiment_says_how_to_restore_it(self, store: Path) -> None:
        from mlflow.tracking import MlflowClient

        address = f"sqlite:///{store}"
        begun_reporter(address, store.parent)
        client = MlflowClient(tracking_uri=address)
        client.delete_experiment(experiment_of(client))
        with pytest.raises(TrackingError, match="mlflow experiments restore --experiment-id"):
            begun_reporter(address, store.parent)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
