from __future__ import annotations

import logging
import math
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cfbench import SEARCH_SCHEMA, CellFinished, CellInfo, RunFinished, RunStarted, TrackingError
from cfbench.harness.store.frames import search_frame
from cfbench_reporters.cell_run import cell_run, mlflow_name
from cfbench_reporters.search_table import search_table
from cfbench_reporters.tracking import TrackingReporter

FinishedCell = Callable[..., CellFinished]


def _started(address: str, results: Path, study: str = "quick") -> RunStarted:
    return RunStarted(study, results, address, (), 0, 0, 0, 1)


def _reporter(address: str, results: Path, study: str = "quick") -> TrackingReporter:
    reporter = TrackingReporter()
    reporter.cfbench_run_started(_started(address, results, study))
    return reporter


def _runs(address: str, study: str = "quick") -> list[Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=address)
    return list(client.search_runs([_experiment(client, study)]))


def _experiment(client: Any, study: str = "quick") -> str:
    return str(client.get_experiment_by_name(study).experiment_id)


class TestCellRun:
    def test_metrics_against_numbers_worked_out_by_hand(self, finished_cell: FinishedCell) -> None:
        # Three points, two repetitions: point 0 found twice (the second has the better objective), point 1 once,
        # point 2 never.
        event = finished_cell(
            [0.2, 0.4, None, 0.6, None, None],
            repetitions=2,
            objective_values=[0.9, 0.5, None, 0.6, None, None],
            statuses=["found", "found", "timed_out", "found", "crashed", "not_found"],
        )
        assert cell_run(event).metrics == {
            "searches": 6,
            "points": 3,
            "found": 3,
            "points_found": 2,
            "success_rate": 0.5,
            "point_success_rate": pytest.approx(2 / 3),
            "failures": 2,
            "loss_mean": pytest.approx(0.5),  # of 0.4 and 0.6
            "loss_median": pytest.approx(0.5),
            "seconds": pytest.approx((0.5 + 1 + 1.5 + 2 + 2.5 + 3) / 6),
            "queries": 350.0,
            "robustness_queries": 0.0,
        }

    def test_nothing_found_leaves_no_nan(self, finished_cell: FinishedCell) -> None:
        metrics = cell_run(finished_cell([None, None])).metrics
        assert metrics["success_rate"] == 0
        assert "loss_mean" not in metrics
        assert all(math.isfinite(value) for value in metrics.values())

    def test_means_of_measured_metrics_under_names_that_mlflow_takes(self, finished_cell: FinishedCell) -> None:
        measures = pd.DataFrame(
            {
                "metric": ["sparsity", "sparsity", "k-score[m=32]", "k-score[m=32]", "never", "infinite"],
                "point": [0, 1, 0, 1, 0, 0],
                "repetition": 0,
                "value": [1.0, 2.0, 0.5, float("nan"), float("nan"), float("inf")],
            }
        )
        metrics = cell_run(finished_cell(measures=measures)).metrics
        assert metrics["mean/sparsity"] == 1.5
        assert metrics["mean/k-score_m_32"] == 0.5  # over the one search that has a value
        assert not any("never" in name or "infinite" in name for name in metrics)

    def test_labels_that_differ_in_forbidden_letters_stay_apart(self, finished_cell: FinishedCell) -> None:
        measures = pd.DataFrame({"metric": ["a[b=é]", "a[b=è]"], "point": 0, "repetition": 0, "value": [1.0, 2.0]})
        metrics = cell_run(finished_cell(measures=measures)).metrics
        assert sorted(value for name, value in metrics.items() if name.startswith("mean/a_b")) == [1.0, 2.0]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("k[m=4]", "k_m_4"), ("a/b//../c", "a_b_.._c"), ("ünï", "n"), ("[]", "unnamed"), ("x" * 300, "x" * 200)],
    )
    def test_names(self, name: str, expected: str) -> None:
        assert mlflow_name(name) == expected

    def test_parameters_and_tags(self, finished_cell: FinishedCell) -> None:
        info = CellInfo(
            "ab", "income", "neural-network", "k-d", "ck[m=4]", True, 3, {"cogs": "2", "protocol": "1"}, white_box=True
        )
        run = cell_run(finished_cell(info=info))
        assert run.params == {
            "dataset": "income",
            "model": "neural-network",
            "searcher": "k-d",
            "objective": "ck[m=4]",
            "constraints": "on",
            "fold": "f3",
        }
        assert run.tags["cfbench.cell"] == "ab"
        assert run.tags["cfbench.white_box"] == "true"
        assert run.tags["cfbench.version.protocol"] == "1"
        assert run.tags["cfbench.version.cogs"] == "2"
        assert run.tags["cfbench.model_fingerprint"] == "f" * 32


def test_the_artifact_holds_what_the_record_holds(finished_cell: FinishedCell) -> None:
    searches = finished_cell().searches
    assert searches is not None
    answer = np.empty(1, dtype=object)
    answer[0] = np.array([float("nan"), float("inf")])  # no counterfactual, yet kept as it was
    searches.loc[[2], "z"] = answer
    table = search_table(searches)
    table.validate(full=True)
    rows = table.to_pylist()
    assert rows[1]["candidates"] == [[2.0, 0.1]]
    assert rows[1]["anytime"] == [{"queries": 10, "loss": 1.0}]
    assert rows[1]["figures"] == [("bound", 0.125)]
    assert (rows[1]["l0"], rows[2]["l0"], rows[2]["loss"]) == (1, None, None)
    assert repr(rows[2]["z"]) == "[nan, inf]"
    pd.testing.assert_frame_equal(search_frame(table), searches)


class TestSqliteStore:
    def test_a_cell_becomes_one_flat_run(self, store: Path, finished_cell: FinishedCell) -> None:
        address = f"sqlite:///{store}"
        event = finished_cell()
        reporter = _reporter(address, store.parent)
        reporter.cfbench_cell_finished(event)
        assert reporter.logged == 1
        (run,) = _runs(address)
        assert run.info.status == "FINISHED"
        assert run.info.end_time - run.info.start_time == 5000  # the searches' 0.5 + 1 + 1.5 + 2 seconds
        assert run.data.params["fold"] == "f0"
        assert run.data.metrics["success_rate"] == 0.75
        assert run.data.tags["cfbench.cell"] == event.cell.key
        folder = store.parent / "mlflow-artifacts" / run.info.run_id / "artifacts"
        table = pq.read_table(folder / "searches.parquet")
        assert (table.schema.names, table.schema.metadata) == (SEARCH_SCHEMA.names, SEARCH_SCHEMA.metadata)
        assert table.num_rows == 4

    def test_the_same_cell_again_is_not_logged_and_a_grown_one_updates_its_run(
        self, store: Path, finished_cell: FinishedCell
    ) -> None:
        address = f"sqlite:///{store}"
        reporter = _reporter(address, store.parent)
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.5]))
        (first,) = _runs(address)
        reporter = _reporter(address, store.parent)
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.5]))
        assert reporter.logged == 0
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.5, 0.2]))
        assert reporter.logged == 1
        (grown,) = _runs(address)
        assert grown.info.run_id == first.info.run_id
        assert grown.data.metrics["searches"] == 3
        assert grown.data.metrics["loss_mean"] == pytest.approx(0.4)
        table = pq.read_table(store.parent / "mlflow-artifacts" / grown.info.run_id / "artifacts/searches.parquet")
        assert table.num_rows == 3

    def test_a_run_that_lost_a_metric_or_changed_a_parameter_is_replaced(
        self, store: Path, finished_cell: FinishedCell
    ) -> None:
        address = f"sqlite:///{store}"
        reporter = _reporter(address, store.parent)
        reporter.cfbench_cell_finished(finished_cell([0.5]))
        reporter.cfbench_cell_finished(finished_cell([None]))  # found once, lost when it ran again
        (run,) = _runs(address)
        assert "loss_mean" not in run.data.metrics
        renamed = replace(finished_cell([None]).cell, dataset="credit-renamed")
        reporter.cfbench_cell_finished(finished_cell([None], info=renamed))
        (run,) = _runs(address)
        assert run.data.params["dataset"] == "credit-renamed"

    def test_a_run_that_was_cut_off_is_completed(self, store: Path, finished_cell: FinishedCell) -> None:
        from mlflow.tracking import MlflowClient

        address = f"sqlite:///{store}"
        reporter = _reporter(address, store.parent)
        client = MlflowClient(tracking_uri=address)
        event = finished_cell()
        client.create_run(_experiment(client), tags={"cfbench.cell": event.cell.key})  # killed right after its creation
        reporter.cfbench_cell_finished(event)
        (run,) = _runs(address)
        assert run.info.status == "FINISHED"
        assert run.data.metrics["searches"] == 4

    def test_failed_and_empty_cells_are_not_mirrored(self, store: Path, finished_cell: FinishedCell) -> None:
        reporter = _reporter(f"sqlite:///{store}", store.parent)
        cell = finished_cell().cell
        reporter.cfbench_cell_finished(CellFinished(cell, None, None, failure="the worker died"))
        reporter.cfbench_cell_finished(finished_cell([]))
        assert reporter.logged == 0
        assert _runs(f"sqlite:///{store}") == []

    def test_many_runs_one_folder_with_strange_letters(self, empty_store: Path, tmp_path: Path) -> None:
        folder = tmp_path / "a b#ü'"
        folder.mkdir()
        shutil.copy(empty_store, folder / "mlflow.db")
        _reporter(f"sqlite:///{folder / 'mlflow.db'}", folder, study="Übung: 1/2 [x]")
        assert _runs(f"sqlite:///{folder / 'mlflow.db'}", "Übung: 1/2 [x]") == []

    def test_no_global_state_is_left_behind(self, store: Path, capfd: pytest.CaptureFixture[str]) -> None:
        import mlflow

        before, level = dict(os.environ), logging.getLogger("mlflow").level
        uri = mlflow.get_tracking_uri()
        fresh = store.parent / "fresh" / "mlflow.db"
        _reporter(f"sqlite:///{fresh}", store.parent)
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

    def test_cells_that_the_store_missed_are_counted(self, store: Path, finished_cell: FinishedCell) -> None:
        address = f"sqlite:///{store}"
        first = finished_cell()
        missed = replace(first.cell, key="2" * 32)
        _reporter(address, store.parent).cfbench_cell_finished(first)
        with pytest.raises(TrackingError, match=r"1 of 2 finished cells are not in .*`cfbench sync` logs them"):
            self._resume(address, store.parent, first.cell, missed, done=2)
        self._resume(address, store.parent, first.cell, missed, done=1)  # the other one is not finished yet

    def test_a_fresh_run_is_not_checked(self, store: Path, finished_cell: FinishedCell) -> None:
        reporter = TrackingReporter()
        cell = finished_cell().cell
        reporter.cfbench_run_started(RunStarted("quick", store.parent, f"sqlite:///{store}", (cell,), 0, 4, 0, 1))
        reporter.cfbench_run_finished(RunFinished(1, 0, 4, interrupted=False))


class TestServer:
    """A real MLflow server, over HTTP."""

    def test_a_cell_is_logged_updated_and_left_alone(
        self, runs_page: str, tmp_path: Path, finished_cell: FinishedCell, capfd: pytest.CaptureFixture[str]
    ) -> None:
        address = runs_page.partition("/#/")[0]
        reporter = _reporter(address, tmp_path, study="over-http")
        reporter.cfbench_cell_finished(finished_cell([0.5]))
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.25]))
        reporter.cfbench_cell_finished(finished_cell([0.5, 0.25]))
        assert reporter.logged == 2
        assert capfd.readouterr() == ("", "")
        (run,) = _runs(address, "over-http")
        assert run.data.metrics["searches"] == 2
        assert run.data.params["searcher"] == "cogs"

    def test_artifacts_go_where_the_server_keeps_them(
        self, runs_page: str, tracked_results: Path, tmp_path: Path, finished_cell: FinishedCell
    ) -> None:
        from mlflow.tracking import MlflowClient

        address = runs_page.partition("/#/")[0]
        _reporter(address, tmp_path, study="artifacts").cfbench_cell_finished(finished_cell([0.5, 0.25]))
        (run,) = _runs(address, "artifacts")
        assert run.info.artifact_uri.startswith("mlflow-artifacts:/")
        path = MlflowClient(tracking_uri=address).download_artifacts(run.info.run_id, "searches.parquet", str(tmp_path))
        assert pq.read_table(path).num_rows == 2
        assert list((tracked_results / "mlflow-artifacts").rglob(f"{run.info.run_id}/artifacts/searches.parquet"))


class TestTrackingThatIsDown:
    def test_no_address_no_tracking(self, tmp_path: Path, finished_cell: FinishedCell) -> None:
        reporter = _reporter("", tmp_path)
        reporter.cfbench_cell_finished(finished_cell())
        reporter.cfbench_run_finished(RunFinished(1, 0, 4, False))
        assert reporter.logged == 0
        assert list(tmp_path.iterdir()) == []

    def test_an_unreachable_server_is_one_error_and_then_silence(
        self, tmp_path: Path, finished_cell: FinishedCell, capfd: pytest.CaptureFixture[str]
    ) -> None:
        reporter = TrackingReporter()
        with pytest.raises(TrackingError, match=r"http://127.0.0.1:1 .*refused.*cfbench sync") as caught:
            reporter.cfbench_run_started(_started("http://user:secret@127.0.0.1:1", tmp_path))
        assert "secret" not in str(caught.value)
        reporter.cfbench_cell_finished(finished_cell())
        assert capfd.readouterr() == ("", "")

    def test_a_server_that_never_answers_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent_server: str
    ) -> None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")  # the user's own setting is kept
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with pytest.raises(TrackingError, match="timed out"):
            _reporter(silent_server, tmp_path)

    def test_a_store_that_fails_at_a_cell_is_one_error_and_then_silence(
        self, store: Path, finished_cell: FinishedCell
    ) -> None:
        reporter = _reporter(f"sqlite:///{store}", store.parent)
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
            _reporter(address, tmp_path)

    @pytest.mark.parametrize("address", ["sqlite://", "sqlite:///:memory:"])
    def test_a_store_in_memory_is_refused(self, tmp_path: Path, address: str) -> None:
        with pytest.raises(TrackingError, match="names no file"):
            _reporter(address, tmp_path)

    def test_an_old_schema_says_how_to_upgrade(self, store: Path) -> None:
        with sqlite3.connect(store) as database:
            database.execute("UPDATE alembic_version SET version_num = '27a6a02d2cf1'")
        database.close()
        with pytest.raises(TrackingError, match=f"mlflow db upgrade sqlite:///{store}"):
            _reporter(f"sqlite:///{store}", store.parent)

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "mlflow.db").write_bytes(b"not a database, but long enough to look at" * 100)
        with pytest.raises(TrackingError, match="file is not a database"):
            _reporter(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)

    def test_a_place_that_cannot_hold_a_store(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(TrackingError, match="File exists"):
            _reporter(f"sqlite:///{tmp_path}/file/mlflow.db", tmp_path)

    def test_a_missing_driver_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(TrackingError, match="needs the driver 'psycopg"):
            _reporter("postgresql://user:secret@127.0.0.1:1/runs", tmp_path)

    def test_a_deleted_experiment_says_how_to_restore_it(self, store: Path) -> None:
        from mlflow.tracking import MlflowClient

        address = f"sqlite:///{store}"
        _reporter(address, store.parent)
        client = MlflowClient(tracking_uri=address)
        client.delete_experiment(_experiment(client))
        with pytest.raises(TrackingError, match="mlflow experiments restore --experiment-id"):
            _reporter(address, store.parent)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
