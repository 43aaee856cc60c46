"""A study's MLflow experiment, open for writing: one flat run a cell, found again by the cell's key."""

from __future__ import annotations

import hashlib
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cfbench import TrackingError, shown_address, sqlite_path
from cfbench_reporters.cell_run import CELL_TAG, CONTENT_TAG, CellRun
from cfbench_reporters.store import open_client, talking_to

ARTIFACTS_FOLDER = "mlflow-artifacts"
"""Folder for the artifacts of a local store, beside its file."""
TABLE_NAME = "searches.parquet"
"""The artifact that holds the cell's rows, in the record's schema."""


class Mirror:
    """The experiment of a study in a tracking store.

    Parameters
    ----------
    address : str
        The store's tracking address.
    study : str
        The experiment's name; the experiment is made where it does not exist.
    results : Path
        The record's directory, home of the artifacts of database stores elsewhere.

    Raises
    ------
    TrackingError
        If the store cannot be opened; also from `log`.
    """

    def __init__(self, address: str, study: str, results: Path) -> None:
        self._address = address
        with talking_to(address):
            self._client = open_client(address)
            self._experiment_id = self._experiment(study, results)

    def log(self, run: CellRun, table: pa.Table) -> bool:
        """Write a cell's run, or bring the one that is there up to date.

        Parameters
        ----------
        run : CellRun
        table : pyarrow.Table
            The cell's rows.

        Returns
        -------
        bool
            False where the run already holds all this.
        """
        content = _content(run, table)
        with talking_to(self._address):
            known = self._find(run)
            if known is not None and known.data.tags.get(CONTENT_TAG) == content:
                return False
            if known is not None and not _can_become(known, run):
                self._client.delete_run(known.info.run_id)
                known = None
            self._write(known or self._create(run), run, table, content)
        return True

    def _experiment(self, study: str, results: Path) -> str:
        experiment = self._client.get_experiment_by_name(study)
        if experiment is None:
            return str(self._client.create_experiment(study, artifact_location=self._artifacts(results)))
        if experiment.lifecycle_stage != "active":
            raise TrackingError(
                f"the experiment {study!r} was deleted in {shown_address(self._address)}; restore it with `mlflow "
                f"experiments restore --experiment-id {experiment.experiment_id}`, or give the study another name"
            )
        return str(experiment.experiment_id)

    def _artifacts(self, results: Path) -> str | None:
        """Name the folder for artifacts; a server knows its own, and anything else would use the working directory."""
        if self._address.startswith("http"):
            return None
        path = sqlite_path(self._address)
        home = path.parent if path is not None else results
        return (home.resolve() / ARTIFACTS_FOLDER).as_uri()

    def _find(self, run: CellRun) -> Any:
        found = self._client.search_runs(
            [self._experiment_id], filter_string=f"tags.`{CELL_TAG}` = '{run.key}'", max_results=1
        )
        return found[0] if found else None

    def _create(self, run: CellRun) -> Any:
        started = _now() - _duration(run)
        return self._client.create_run(
            self._experiment_id, start_time=started, tags={CELL_TAG: run.key}, run_name=run.name
        )

    def _write(self, known: Any, run: CellRun, table: pa.Table, content: str) -> None:
        from mlflow.entities import Metric, Param, RunTag

        run_id, now = known.info.run_id, _now()
        self._client.log_batch(
            run_id,
            metrics=[Metric(name, float(value), now, 0) for name, value in run.metrics.items()],
            params=[Param(name, value) for name, value in run.params.items() if name not in known.data.params],
            tags=[RunTag(name, value) for name, value in run.tags.items()],
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / TABLE_NAME
            pq.write_table(table, path, compression="zstd")
            self._client.log_artifact(run_id, str(path))
        # MLflow shows the span as the run's duration: the time that its searches took.
        self._client.set_terminated(run_id, end_time=known.info.start_time + _duration(run))
        self._client.set_tag(run_id, CONTENT_TAG, content)


def _can_become(known: Any, run: CellRun) -> bool:
    """Whether MLflow can rewrite `known` as `run`: it never changes a parameter, nor forgets a metric."""
    kept = all(run.params.get(name) == value for name, value in known.data.params.items())
    return kept and set(known.data.metrics) <= set(run.metrics)


def _content(run: CellRun, table: pa.Table) -> str:
    """Return a digest of what a run shows; Python writes numbers so that they read back as the same bits."""
    text = repr((sorted(run.params.items()), sorted(run.metrics.items()), table.to_pylist()))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _duration(run: CellRun) -> int:
    return round(1000 * run.metrics["seconds"] * run.metrics["searches"])


def _now() -> int:
    return time.time_ns() // 1_000_000
