"""A tracking reporter that has begun a run, and what the store then holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfbench.registry import RunStarted
from cfbench_reporters.tracking import TrackingReporter


def run_started(address: str, results: Path, study: str = "quick") -> RunStarted:
    return RunStarted(study, results, address, (), 0, 0, 0, 1)


def begun_reporter(address: str, results: Path, study: str = "quick") -> TrackingReporter:
    made = TrackingReporter()
    made.cfbench_run_started(run_started(address, results, study))
    return made


def runs_of(address: str, study: str = "quick") -> list[Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=address)
    return list(client.search_runs([experiment_of(client, study)]))


def experiment_of(client: Any, study: str = "quick") -> str:
    return str(client.get_experiment_by_name(study).experiment_id)
