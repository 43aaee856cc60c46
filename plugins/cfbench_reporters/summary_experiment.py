"""The experiment that holds a study's summary: one run a searcher, rewritten in place, and the views that show it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from cfbench import CHART_VIEW, SUMMARY_TAG, TABLE_VIEW
from cfbench_reporters.cell_run import NOTE_TAG
from cfbench_reporters.summary import SummaryRun
from cfbench_reporters.views import summary_charts, summary_table, view_tag

SUMMARY_OF_TAG = "cfbench.summary_of"
"""Tag of a summary's experiment; its value is the study's name."""
_MOST_RUNS = 1000  # as many as a page of MLflow's holds
_MOST_TAG = 5000


def write_summary(client: Any, study: str, experiment_id: str, place: str | None, runs: Sequence[SummaryRun]) -> None:
    """Bring the summary of a study to `runs`.

    Parameters
    ----------
    client : MlflowClient
    study : str
    experiment_id : str
        The study's own experiment, which gets a tag that leads to the summary.
    place : str or None
        Where artifacts of a new experiment go; None leaves it to the server.
    runs : sequence of SummaryRun
    """
    number = _experiment(client, study, place)
    known = {run.info.run_name: run for run in client.search_runs([number], max_results=_MOST_RUNS)}
    for run in runs:
        _write(client, number, known.pop(run.name, None), run)
    for gone in known.values():
        client.delete_run(gone.info.run_id)
    metrics = {name for run in runs for name in run.metrics}
    tags = {
        view_tag(TABLE_VIEW): summary_table(metrics),
        view_tag(CHART_VIEW): summary_charts(metrics),
        NOTE_TAG: _note(study, runs),
    }
    for name, value in tags.items():
        client.set_experiment_tag(number, name, value)
    client.set_experiment_tag(experiment_id, SUMMARY_TAG, number)


def _experiment(client: Any, study: str, place: str | None) -> str:
    name = f"{study}: summary"
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return str(client.create_experiment(name, artifact_location=place, tags={SUMMARY_OF_TAG: study}))
    if experiment.lifecycle_stage != "active":  # the whole of it is written anew
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def _write(client: Any, number: str, known: Any, run: SummaryRun) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = time.time_ns() // 1_000_000
    if known is not None and not (known.data.params == run.params and set(known.data.metrics) <= set(run.metrics)):
        client.delete_run(known.info.run_id)  # MLflow never changes a parameter, nor forgets a metric
        known = None
    found = known or client.create_run(number, start_time=now, run_name=run.name)
    client.log_batch(
        found.info.run_id,
        metrics=[Metric(name, value, now, 0) for name, value in run.metrics.items()],
        params=[] if known is not None else [Param(name, value) for name, value in run.params.items()],
        tags=[RunTag(name, value[:_MOST_TAG]) for name, value in run.tags.items()],
    )
    if known is None:
        client.set_terminated(found.info.run_id, end_time=now)


def _note(study: str, runs: Iterable[SummaryRun]) -> str:
    runs = list(runs)
    cells = sum(int(run.metrics.get("n_cells", 0)) for run in runs)
    return f"""Study {study}, {cells:,} cells, written by the last run that logged some of them: one run a searcher,
with the numbers of `cfbench leaderboard`.

- `position` by `rank`: the mean over tasks of ranks by the objective value, 1 is best (`rank_low`, `rank_high`: 95 %
  interval); values within `tie` of the best one (a share of it), or within a tenth of `tie`, share a rank
- `group`: rows with the same letter are not significantly different from the first of them; no letter: too few tasks
- `wins` of `n_tasks`; white boxes, where there are two or more, are ranked among themselves
- `success_rate` of `searches`; not found ranks last, never dropped
- `objective_against_best`, `loss_against_best`: median over tasks of value / best known value, less 1, on the
  `loss_points` that every ranked searcher solved
- `relative_loss_median`: against the reference searcher
- metrics such as `k-robustness`: mean over tasks, over `..._points` points
- `seconds_mean`, `queries`: a search, over all searches; `failures`: timed out, crashed or invalid
"""
