"""A study's MLflow experiment, open for writing: one flat run a cell, found again by the cell's key."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from cfbench.digests import digest_of
from cfbench.errors import TrackingError
from cfbench.tracking import CELL_VIEW, shown_address, sqlite_path
from cfbench_reporters.cell_files import CellTables
from cfbench_reporters.cell_run import ANYTIME_METRIC, CELL_TAG, CONTENT_TAG, CURVE_TAG, STUDY_TAG, CellRun
from cfbench_reporters.figures import cell_figures
from cfbench_reporters.store import open_client, talking_to
from cfbench_reporters.summary import cell_table, summarise, view_tag, write_summary

ARTIFACTS_FOLDER = "mlflow-artifacts"
"""Folder for the artifacts of a local store, next to its file."""
SUMMARISED_TAG, METRICS_TAG = "cfbench.summarised", "cfbench.metrics"
"""Tags of a study's experiment: whether its summary holds all that was logged, and which metrics were measured."""
_LAYOUT = 2
"""Version of what a run shows; a run of an earlier one is brought up to date."""


class Mirror:
    """The experiment of a study in a tracking store.

    `address`: the store's tracking address. `study`: the experiment's name; the experiment is made where it does not
    exist. `results`: the record's directory, home of the artifacts of database stores elsewhere.

    Raises
    ------
    TrackingError
        If the store cannot be opened; also from `log`.
    """

    def __init__(self, address: str, study: str, results: Path) -> None:
        self._address, self._study, self._results = address, study, results
        with talking_to(address):
            self._client = open_client(address)
            experiment = self._experiment()
            self._experiment_id = str(experiment.experiment_id)
            self._summarised = experiment.tags.get(SUMMARISED_TAG) == "yes"
            self._metrics = set(json.loads(experiment.tags.get(METRICS_TAG, "[]")))

    def log(self, run: CellRun, tables: CellTables) -> bool:
        """Write a cell's run, or bring the one that is there up to date.

        Returns False if the run already holds all this.
        """
        content = digest_of([_LAYOUT, run.params, run.metrics, tables.digest()])
        with talking_to(self._address):
            known = self._find(run)
            if known is not None and known.data.tags.get(CONTENT_TAG) == content:
                return False
            if known is not None and not _can_become(known, run):
                self._client.delete_run(known.info.run_id)
                known = None
            if known is not None and CONTENT_TAG in known.data.tags:
                # Programs that read it meanwhile must not take a mixture for the whole.
                self._client.delete_tag(known.info.run_id, CONTENT_TAG)
            self._note_change(tables)
            self._write(known or self._create(run), run, tables, content, is_new=known is None)
        return True

    def summarise(self) -> None:
        """Rewrite the summary of the study from the record, if cells were logged since the last time."""
        if self._summarised:
            return
        runs, described = summarise(self._results, sorted(self._metrics))
        with talking_to(self._address):
            if runs:
                write_summary(self._client, self._study, self._experiment_id, self._artifacts(), runs, described)
            tags = {METRICS_TAG: json.dumps(sorted(self._metrics)), SUMMARISED_TAG: "yes"}
            for name, value in tags.items():
                self._client.set_experiment_tag(self._experiment_id, name, value)
        self._summarised = True

    def check_whole(self, keys: Collection[str], done: int) -> None:
        """Find out whether `done` of the cells `keys`, as many as are finished, are all here.

        Raises
        ------
        TrackingError
            If some are not; says how to log them.
        """
        present, token = 0, None
        with talking_to(self._address):
            while True:
                page = self._client.search_runs([self._experiment_id], max_results=1000, page_token=token)
                present += sum(CONTENT_TAG in run.data.tags and run.data.tags.get(CELL_TAG) in keys for run in page)
                token = page.token
                if not token:
                    break
        if present < done:
            raise TrackingError(
                f"{done - present:,} of {done:,} finished cells are not in {shown_address(self._address)}: they were "
                "finished while it was down, or tracked elsewhere; `cfbench sync` logs them"
            )

    def _note_change(self, tables: CellTables) -> None:
        """Have the summary written anew, by the next run at the latest."""
        self._metrics |= set(tables.measures["metric"].unique().to_pylist())
        if self._summarised:
            self._client.set_experiment_tag(self._experiment_id, SUMMARISED_TAG, "no")
            self._summarised = False

    def _experiment(self) -> Any:
        """Return the study's experiment, made where it does not exist, with its tags as they were before."""
        study, client = self._study, self._client
        experiment = client.get_experiment_by_name(study)
        tags = {STUDY_TAG: study, view_tag(CELL_VIEW): cell_table()}
        if experiment is None:
            number = client.create_experiment(study, artifact_location=self._artifacts(), tags=tags)
            return client.get_experiment(number)
        if experiment.lifecycle_stage != "active":
            raise TrackingError(
                f"the experiment {study!r} was deleted in {shown_address(self._address)}; restore it with `mlflow "
                f"experiments restore --experiment-id {experiment.experiment_id}`, or give the study another name"
            )
        self._check_place(experiment)
        for name, value in tags.items():
            if experiment.tags.get(name) != value:
                client.set_experiment_tag(experiment.experiment_id, name, value)
        return experiment

    def _check_place(self, experiment: Any) -> None:
        """Refuse a store that was moved or copied: MLflow would go on writing to the folder of the old place."""
        store, there = sqlite_path(self._address), experiment.artifact_location
        if store is not None and there.endswith(f"/{ARTIFACTS_FOLDER}") and there != self._artifacts():
            raise TrackingError(
                f"{shown_address(self._address)} was moved or copied: its experiment {self._study!r} keeps files in "
                f"{there}. Delete {store.name} and the folder {ARTIFACTS_FOLDER} next to it, then run `cfbench sync`, "
                "which logs every cell of the record again"
            )

    def _artifacts(self) -> str | None:
        """Name the folder for artifacts; a server knows its own, and anything else would use the working directory."""
        if self._address.startswith("http"):
            return None
        path = sqlite_path(self._address)
        home = path.parent if path is not None else self._results
        return (home.resolve() / ARTIFACTS_FOLDER).as_uri()

    def _find(self, run: CellRun) -> Any:
        found = self._client.search_runs(
            [self._experiment_id], filter_string=f"tags.`{CELL_TAG}` = '{run.key}'", max_results=1
        )
        return found[0] if found else None

    def _create(self, run: CellRun) -> Any:
        started = _now() - _duration(run)
        return self._client.create_run(
            self._experiment_id, start_time=started, tags={**run.tags, CELL_TAG: run.key}, run_name=run.name
        )

    def _write(self, known: Any, run: CellRun, tables: CellTables, content: str, *, is_new: bool) -> None:
        from mlflow.entities import Metric, Param, RunTag

        run_id, now = known.info.run_id, _now()
        # The curve's time is the run's: the same step at another time would be a second point of the curve.
        curve = zip(run.curve.queries.tolist(), run.curve.losses.tolist(), strict=True)
        self._client.log_batch(
            run_id,
            metrics=[Metric(name, float(value), now, 0) for name, value in run.metrics.items()]
            + [Metric(ANYTIME_METRIC, loss, known.info.start_time, queries) for queries, loss in curve],
            params=[Param(name, value) for name, value in run.params.items() if name not in known.data.params],
            # A new run was made with them: every call more is a transaction more, for which a database waits.
            tags=[] if is_new else [RunTag(name, value) for name, value in run.tags.items()],
        )
        self._client.log_inputs(run_id, datasets=[_dataset(run)])
        with tempfile.TemporaryDirectory() as folder:
            assert tables.event.searches is not None
            files = {**cell_figures(run.name, tables.event.searches, run.curve), **tables.files()}
            for name, data in files.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)
            self._client.log_artifacts(run_id, folder)
        # MLflow shows the span as the run's duration: the time that its searches took.
        self._client.set_terminated(run_id, end_time=known.info.start_time + _duration(run))
        self._client.set_tag(run_id, CONTENT_TAG, content)


def _can_become(known: Any, run: CellRun) -> bool:
    """Whether MLflow can rewrite `known` as `run`: it never changes a parameter, nor forgets a metric or a step."""
    kept = all(run.params.get(name) == value for name, value in known.data.params.items())
    metrics = set(known.data.metrics)
    if ANYTIME_METRIC in metrics and known.data.tags.get(CURVE_TAG) != run.tags[CURVE_TAG]:
        return False
    return kept and metrics - {ANYTIME_METRIC} <= set(run.metrics)


def _dataset(run: CellRun) -> Any:
    """Describe the run's data set as an input of MLflow's: its columns are not known here, its digest is."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    name = run.params["dataset"]
    dataset = Dataset(
        name=name,
        digest=run.dataset_digest or "unknown",
        source_type="cfbench",
        source=json.dumps({"dataset": name, "show": f"cfbench datasets show {name}"}),
        profile=json.dumps({"fold": run.params["fold"], "points": int(run.metrics["points"])}),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "counterfactual search")])


def _duration(run: CellRun) -> int:
    return round(1000 * run.metrics.get("seconds", 0.0) * run.metrics["searches"])


def _now() -> int:
    return time.time_ns() // 1_000_000
