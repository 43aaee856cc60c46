"""The summary of a study: its leaderboard's overall table, a row as a run of MLflow.

MLflow averages the hundred runs that a page has loaded, whatever their number; here every run is an average already,
over all cells of its searcher, and the numbers are those that ``cfbench leaderboard`` shows.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench import CfbenchError, leaderboard
from cfbench_reporters.cell_run import mlflow_names

if TYPE_CHECKING:
    import pandas as pd

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
