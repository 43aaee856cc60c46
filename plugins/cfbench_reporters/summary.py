"""The summary experiment of a study in MLflow: one run per searcher, rewritten in place, and the views that show it."""

from __future__ import annotations

import json
import math
import numbers
import time
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench import CfbenchError, Direction, leaderboard
from cfbench.tracking import CHART_VIEW, SUMMARY_TAG, TABLE_VIEW, VIEW_TAG_PREFIX
from cfbench_reporters.cell_run import NOTE_TAG, mlflow_names

if TYPE_CHECKING:
    import pandas as pd

_SHOW_ALL = "SHOW_ALL"

_CELL_TABLE = (
    *("params.`dataset`", "params.`model`", "params.`searcher`", "params.`objective`", "params.`constraints`"),
    *("params.`fold`", "metrics.`success_rate`", "metrics.`loss_median`", "metrics.`seconds`", "metrics.`queries`"),
    *("metrics.`robustness_queries`", "metrics.`failures`", "metrics.`points`", "metrics.`searches`"),
)
_TRADE_OFFS = "Trade-offs"
_LOSS, _FOUND, _SECONDS, _QUERIES = "loss_against_best", "success_rate", "seconds_mean", "queries"
_RENAMED = {"cells": "n_cells", "tasks": "n_tasks", "queries_mean": _QUERIES}
"""Numbers of the leaderboard that have names of their own in MLflow, where runs of cells have them, too."""
_FURTHER = ("rank_low", "rank_high", "failures", "n_cells", "searches")
"""What the summary's table shows in addition to the main number of each column."""


def view_tag(key: str) -> str:
    """Return the name of the tag that holds the view of a key."""
    return f"{VIEW_TAG_PREFIX}{key}"


def summary_table(metrics: Collection[str], described: Sequence[Described]) -> str:
    """Return the view of the summary's table, with the columns that it has; sorted by rank."""
    main = [one.name for one in described if one.is_main]
    names = [name for name in dict.fromkeys((*main, *_FURTHER)) if name in metrics]
    columns = ["tags.`position`", *(f"metrics.`{name}`" for name in names)]
    return _sorted_view(columns, metrics)


def summary_charts(metrics: Collection[str], described: Sequence[Described]) -> str:
    """Return the view of the summary's charts: bars by what they say, trade-offs, and all together."""
    sections: list[dict[str, Any]] = []
    charts: list[dict[str, Any]] = []
    shown = [one for one in described if one.name in metrics]
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in shown:
        if one.is_main and one.group and one.direction is not Direction.NEUTRAL:
            grouped.setdefault((one.group, one.direction.value), []).append(one.name)
    for (group, better), names in grouped.items():
        # MLflow sorts sections by their names, and cuts off what does not fit.
        sections.append(_section(f"{len(sections) + 1:02d} {group.capitalize()}, {better} is better", len(sections)))
        charts += [_chart("BAR", sections[-1], name, metricKey=name) for name in names]
    sections.append(_section(f"{len(sections) + 1:02d} {_TRADE_OFFS}", len(sections)))
    scores = [one.name for one in shown if one.is_main and one.is_metric and one.is_default]
    for x, y in ((_QUERIES, _LOSS), *((score, _LOSS) for score in scores), (_SECONDS, _FOUND)):
        if {x, y} <= set(metrics):
            axes = {"xaxis": {"key": x, "type": "METRIC"}, "yaxis": {"key": y, "type": "METRIC"}}
            charts.append(_chart("SCATTER", sections[-1], f"{x}-{y}", runsCountToCompare=100, **axes))
    together = [name for name in ("rank", _FOUND, _LOSS, *scores, _SECONDS) if name in metrics]
    parallel = {"selectedParams": ["searcher"], "selectedMetrics": together, "showAllRuns": True}
    charts.append(_chart("PARALLEL", sections[-1], "together", **parallel))
    columns = [f"metrics.`{name}`" for name in ("rank", _FOUND) if name in metrics]
    return _sorted_view(columns, metrics, compareRunSections=sections, compareRunCharts=charts)


def cell_table() -> str:
    """Return the view of a study's runs, a cell each."""
    return _view(_CELL_TABLE, order_by="attributes.start_time", ascending=False)


def _sorted_view(columns: Iterable[str], metrics: Collection[str], **more: Any) -> str:
    by = "rank" if "rank" in metrics else _FOUND
    return _view(columns, order_by=f"metrics.`{by}`", ascending=by == "rank", **more)


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


_FEW = 4
"""So many data sets, models or objectives are named; more are counted."""
_TEXTS = ("table", "group", "searcher", "setup", "state", "why", "basis", "white_box", "position", "position_shared")
_FAILURES = ("status_timed_out", "status_crashed", "status_invalid")


Described = Any
"""What the leaderboard says of one of its numbers: name, column, group, direction."""


@dataclass(frozen=True)
class SummaryRun:
    """A searcher's line in the summary."""

    name: str  # the searcher with its variant, and what else tells it from others
    params: dict[str, str]  # what the line is about; changes with the study alone
    tags: dict[str, str]  # what a later run of the study may change
    metrics: dict[str, float]  # finite numbers only


def summarise(results: Path, metrics: Collection[str] = ()) -> tuple[list[SummaryRun], list[Described]]:
    """Summarise a record, in the leaderboard's order.

    `results`: the record's directory. `metrics`: further metrics that it has, by their labels. Returns the runs,
    empty if the record has nothing to show, and their numbers by their names in MLflow.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unreadable cells are reported where the record is read
        try:
            board = leaderboard(results, columns=["all", *metrics])
        except CfbenchError:
            try:
                board = leaderboard(results)  # a metric of a plugin that is not installed any more, say
            except CfbenchError:
                return [], []
    tasks = board.to_frame()
    about = {
        "datasets": _named(tasks["dataset"], "data sets"),
        "models": _named(tasks["model"], "models"),
        "objectives": _named(tasks["objective"], "objectives"),
        "constraints": _named(("on" if on else "off" for on in tasks["constraints"]), "settings"),
    }
    rows = _records(board.overall())
    names = mlflow_names(rows[0]) | _RENAMED
    described = [replace(one, name=names[one.name]) for one in board.numbers()]
    return [_summary_run(row, about, names) for row in rows], described


def _summary_run(row: Mapping[str, Any], about: Mapping[str, str], names: Mapping[str, str]) -> SummaryRun:
    place = row["position"]
    position = "-" if _number(place) is None else f"{int(place)}{'=' if row['position_shared'] else ''}"
    setup = f" ({row['setup']})" if row["setup"] else ""
    known = {name: _number(value) for name, value in row.items() if name not in _TEXTS}
    numbers_ = {names[name]: _rounded(value) for name, value in known.items() if value is not None}
    return SummaryRun(
        name=f"{row['searcher']}{setup}",
        params={"searcher": str(row["searcher"]), **about, "white_box": "yes" if row["white_box"] else "no"},
        tags={"position": position, "group": str(row["group"]), "state": str(row["state"]), "why": str(row["why"])},
        metrics=numbers_ | {"failures": _rounded(sum(known.get(name) or 0.0 for name in _FAILURES))},
    )


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


def write_summary(
    client: Any,
    study: str,
    experiment_id: str,
    place: str | None,
    runs: Sequence[SummaryRun],
    described: Sequence[Described],
) -> None:
    """Bring the summary of a study to `runs`.

    `experiment_id`: the study's own experiment, which gets a tag that leads to the summary. `place`: where artifacts of
    a new experiment go; None leaves it to the server. `described`: the numbers of the runs.
    """
    number = _experiment(client, study, place)
    known = {run.info.run_name: run for run in client.search_runs([number], max_results=_MOST_RUNS)}
    for run in runs:
        _write(client, number, known.pop(run.name, None), run)
    for gone in known.values():
        client.delete_run(gone.info.run_id)
    metrics = {name for run in runs for name in run.metrics}
    tags = {
        view_tag(TABLE_VIEW): summary_table(metrics, described),
        view_tag(CHART_VIEW): summary_charts(metrics, described),
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
    return f"""Study {study}, {cells:,} cells, written by the last run that logged some of them: one run per searcher,
with the numbers of `cfbench leaderboard`.

- `position` by `rank`: the mean over tasks of ranks by the objective value, 1 is best (`rank_low`, `rank_high`: 95 %
  interval); values within `tie` of the best one (a share of it), or within a tenth of `tie`, share a rank
- `group`: rows with the same letter are not significantly different from the first of them; no letter: too few tasks
- `wins` of `n_tasks`; white boxes, where there are two or more, are ranked among themselves
- `success_rate` of `searches`; not found ranks last, never dropped
- `objective_against_best`, `loss_against_best`: median over tasks of value / best known value, less 1, on the
  `loss_points` that every ranked searcher solved
- `relative_loss_median`: against the reference searcher
- measured metrics: mean over tasks, over `..._points` points
- `seconds_mean`, `queries`: per search, over all searches; `failures`: timed out, crashed or invalid
"""
