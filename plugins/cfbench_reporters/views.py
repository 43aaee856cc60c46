"""Views of the MLflow UI that are shared by an address: which columns a table shows, which charts there are.

MLflow keeps a view as a tag of the experiment, in JSON whose names are those of its own pages; the tag's key stands in
the address. Its charts ignore titles of their own, so that the better direction stands in a section's name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cfbench import VIEW_TAG_PREFIX

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
