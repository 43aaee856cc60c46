"""The summary experiment of a study in MLflow: one run per searcher, rewritten in place, and the views that show it."""

from __future__ import annotations

import json
import math
import numbers
import time
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench import CHART_VIEW, SUMMARY_TAG, TABLE_VIEW, VIEW_TAG_PREFIX, CfbenchError, leaderboard
from cfbench_reporters.cell_run import NOTE_TAG, mlflow_names

if TYPE_CHECKING:
    import pandas as pd

_SHOW_ALL = "SHOW_ALL"

_SUMMARY_TABLE = (
    *("tags.`position`", "metrics.`rank`", "metrics.`rank_low`", "metrics.`rank_high`", "metrics.`success_rate`"),
    *("metrics.`objective_against_best`", "metrics.`loss_against_best`", "metrics.`relative_loss_median`"),
    "metrics.`wins`",
    *("metrics.`k-robustness`", "metrics.`invalidity_part_c`", "metrics.`invalidity`", "metrics.`invalidity_part_ck`"),
    *("metrics.`fixability_part_c`", "metrics.`fixability`", "metrics.`fixability_part_ck`"),
    *("metrics.`relative-cost_part_c`", "metrics.`unfixable_part_c`"),
    *("metrics.`relative-cost`", "metrics.`unfixable`"),
    *("metrics.`relative-cost_part_ck`", "metrics.`unfixable_part_ck`"),
    *("metrics.`redundancy`", "metrics.`knn-distance`", "metrics.`lof-inlier`"),
    *("metrics.`seconds_mean`", "metrics.`queries`", "metrics.`failures`", "metrics.`n_cells`", "metrics.`searches`"),
)
_CELL_TABLE = (
    *("params.`dataset`", "params.`model`", "params.`searcher`", "params.`objective`", "params.`constraints`"),
    *("params.`fold`", "metrics.`success_rate`", "metrics.`loss_median`", "metrics.`seconds`", "metrics.`queries`"),
    *("metrics.`robustness_queries`", "metrics.`failures`", "metrics.`points`", "metrics.`searches`"),
)
_SECTIONS: Mapping[str, Sequence[str]] = {
    # MLflow sorts sections by their names, and cuts off what does not fit.
    "1 Rank, lower is better": ("rank",),
    "2 Found, higher is better": ("success_rate",),
    "3 Objective value and loss, lower is better (by the best known one, less 1; by the reference's)": (
        "objective_against_best",
        "loss_against_best",
        "relative_loss_median",
    ),
    "4 Robust, higher is better": (*("k-robustness", "fixability_part_c", "fixability", "fixability_part_ck"),),
    "5 Fragile, lower is better (invalidity, relative cost, what cannot be fixed)": (
        *("invalidity_part_c", "invalidity", "invalidity_part_ck"),
        *("relative-cost_part_c", "unfixable_part_c", "relative-cost", "unfixable"),
        *("relative-cost_part_ck", "unfixable_part_ck"),
    ),
    "6 Implausible, lower is better": ("redundancy", "knn-distance"),
    "7 Plausible, higher is better": ("lof-inlier",),
    "8 Spent a search, lower is better": ("seconds_mean", "queries"),
}
_TRADE_OFFS = "9 Trade-offs"
_PAIRS = (("queries", "loss_against_best"), ("k-robustness", "loss_against_best"), ("seconds_mean", "success_rate"))
_TOGETHER = ("rank", "success_rate", "loss_against_best", "k-robustness", "seconds_mean")


def view_tag(key: str) -> str:
    """Return the name of the tag that holds the view of a key."""
    return f"{VIEW_TAG_PREFIX}{key}"


def summary_table(metrics: Collection[str]) -> str:
    """Return the view of the summary's table, with the columns that it has; sorted by rank."""
    columns = [name for name in _SUMMARY_TABLE if name.startswith("tags.") or name.split("`")[1] in metrics]
    by = "rank" if "rank" in metrics else "success_rate"
    return _view(columns, order_by=f"metrics.`{by}`", ascending=by == "rank")


def summary_charts(metrics: Collection[str]) -> str:
    """Return the view of the summary's charts: bars by what they say, trade-offs, and all together."""
    sections: list[dict[str, Any]] = []
    charts: list[dict[str, Any]] = []
    for name, wanted in _SECTIONS.items():
        shown = [metric for metric in wanted if metric in metrics]
        if shown:
            sections.append(_section(name, len(sections)))
            charts += [_chart("BAR", sections[-1], metric, metricKey=metric) for metric in shown]
    sections.append(_section(_TRADE_OFFS, len(sections)))
    for x, y in _PAIRS:
        if {x, y} <= set(metrics):
            axes = {"xaxis": {"key": x, "type": "METRIC"}, "yaxis": {"key": y, "type": "METRIC"}}
            charts.append(_chart("SCATTER", sections[-1], f"{x}-{y}", runsCountToCompare=100, **axes))
    together = [metric for metric in _TOGETHER if metric in metrics]
    parallel = {"selectedParams": ["searcher"], "selectedMetrics": together, "showAllRuns": True}
    charts.append(_chart("PARALLEL", sections[-1], "together", **parallel))
    by = "rank" if "rank" in metrics else "success_rate"
    columns = [f"metrics.`{name}`" for name in ("rank", "success_rate") if name in metrics]
    return _view(
        columns,
        order_by=f"metrics.`{by}`",
        ascending=by == "rank",
        compareRunSections=sections,
        compareRunCharts=charts,
    )


def cell_table() -> str:
    """Return the view of a study's runs, a cell each."""
    return _view(_CELL_TABLE, order_by="attributes.start_time", ascending=False)


def _view(columns: Iterable[str], *, order_by: str, ascending: bool, **more: Any) -> str:
    state = {
        "selectedColumns": list(columns),
        "columnOrder": list(columns),
        "orderByKey": order_by,
        "orderByAsc": ascending,
        "runsHiddenMode": _SHOW_ALL,
        "groupBy": None,
        "viewMaximized": False,
        "runListHidden": False,
        "hideEmptyCharts": True,
        **more,
    }
    return json.dumps(state, separators=(",", ":"))


def _section(name: str, number: int) -> dict[str, Any]:
    return {
        "uuid": f"cfbench-section-{number}",
        "name": name,
        "display": True,
        "isReordered": True,
        "deleted": False,
        "isGenerated": False,
    }


def _chart(kind: str, section: Mapping[str, Any], name: str, **settings: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"cfbench-{kind.lower()}-{name}",
        "metricSectionId": section["uuid"],
        "runsCountToCompare": 100,
        "deleted": False,
        "isGenerated": False,
        **settings,
    }


COLUMNS = ("robustness", "plausibility")
"""What of the leaderboard's columns is asked for besides those that it always has."""
_FEW = 4
"""So many data sets, models or objectives are named; more are counted."""
_TEXTS = ("table", "group", "searcher", "setup", "state", "why", "basis", "white_box", "position", "position_shared")
_RENAMED = {"cells": "n_cells", "tasks": "n_tasks"}
_RATES = {"success_rate": ("searches_found", "searches")}
_SUMS = {"queries": ("search_queries_mean", "robustness_queries_mean")}
_FAILURES = ("status_timed_out", "status_crashed", "status_invalid")


@dataclass(frozen=True)
class SummaryRun:
    """A searcher's line in the summary.

    Parameters
    ----------
    name : str
        The searcher with its variant, and what else tells it from others.
    params : dict of str to str
        What the line is about; changes with the study alone.
    tags : dict of str to str
        What a later run of the study may change.
    metrics : dict of str to float
        Finite numbers only.
    """

    name: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]


def summary_runs(results: Path, metrics: Collection[str] = ()) -> list[SummaryRun]:
    """Summarise a record, in the leaderboard's order.

    Parameters
    ----------
    results : Path
        The record's directory.
    metrics : collection of str
        Further metrics that it has, by their labels.

    Returns
    -------
    list of SummaryRun
        Empty where the record has nothing to show.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be read is reported by whoever reads the record
        try:
            board = leaderboard(results, columns=[*COLUMNS, *metrics])
        except CfbenchError:
            try:
                board = leaderboard(results)  # a metric of a plugin that is not installed any more, say
            except CfbenchError:
                return []
    tasks = board.to_frame()
    about = {
        "datasets": _named(tasks["dataset"], "data sets"),
        "models": _named(tasks["model"], "models"),
        "objectives": _named(tasks["objective"], "objectives"),
        "constraints": _named(("on" if on else "off" for on in tasks["constraints"]), "settings"),
    }
    return [_summary_run(row, about) for row in _records(board.overall())]


def _summary_run(row: Mapping[str, Any], about: Mapping[str, str]) -> SummaryRun:
    place = row["position"]
    position = "-" if _number(place) is None else f"{int(place)}{'=' if row['position_shared'] else ''}"
    setup = f" ({row['setup']})" if row["setup"] else ""
    return SummaryRun(
        name=f"{row['searcher']}{setup}",
        params={"searcher": str(row["searcher"]), **about, "white_box": "yes" if row["white_box"] else "no"},
        tags={"position": position, "group": str(row["group"]), "state": str(row["state"]), "why": str(row["why"])},
        metrics=_metrics(row),
    )


def _metrics(row: Mapping[str, Any]) -> dict[str, float]:
    known = {name: _number(value) for name, value in row.items() if name not in _TEXTS}
    names = mlflow_names(known) | _RENAMED
    numbers_ = {names[name]: value for name, value in known.items() if value is not None}
    for name, (part, whole) in _RATES.items():
        if known.get(whole):
            numbers_[name] = (known[part] or 0.0) / (known[whole] or 1.0)
    for name, parts in _SUMS.items():
        if all(known.get(part) is not None for part in parts):
            numbers_[name] = sum(known[part] or 0.0 for part in parts)
    numbers_["failures"] = sum(known.get(name) or 0.0 for name in _FAILURES)
    return {name: _rounded(value) for name, value in numbers_.items()}


def _rounded(value: float) -> float:
    """Return four significant digits, whole numbers entire: MLflow's tables show every digit that there is."""
    return float(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    return float(value) if math.isfinite(value) else None


def _named(values: Iterable[str], kind: str) -> str:
    distinct = sorted(set(values))
    return ", ".join(distinct) if len(distinct) <= _FEW else f"{len(distinct)} {kind}"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


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
