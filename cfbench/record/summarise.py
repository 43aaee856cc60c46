"""From a cell's rows to its summary: a point's result, its tries and successes, the sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cfbench.record.summary import CellSummary
from cfbench.registry.events import CellInfo


def summarise(info: CellInfo, content: dict[str, Any], eligible: int, rows: Iterable[Mapping[str, Any]]) -> CellSummary:
    """Summarise the searches of a cell.

    A search has succeeded where its row has a loss. A point's result is its successful repetition with the smallest
    objective value, the first of those that tie.

    Parameters
    ----------
    info : CellInfo
    content : dict
    eligible : int
    rows : iterable of mapping
        Rows in the form of :func:`~cfbench.record.rows.checked_row`, one a search, in any order.
    """
    ordered = sorted(rows, key=lambda row: (row["point"], row["repetition"]))
    tries: dict[int, int] = {}
    successes: dict[int, int] = {}
    row_ids: dict[int, int] = {}
    results: dict[int, Mapping[str, Any]] = {}
    for row in ordered:
        point = row["point"]
        row_ids[point] = row["row_id"]
        tries[point] = tries.get(point, 0) + 1
        successes[point] = successes.get(point, 0) + (row["loss"] is not None)
        if row["loss"] is not None and (point not in results or _rank(row) < _rank(results[point])):
            results[point] = row
    of_points = [results.get(point) for point in tries]
    return CellSummary(
        info=info,
        content=content,
        eligible=eligible,
        repetitions=max(tries.values(), default=0),
        searches=len(ordered),
        statuses=dict(sorted(Counter(row["status"] for row in ordered).items())),
        wall_seconds=math.fsum(row["wall_seconds"] for row in ordered),
        cpu_seconds=math.fsum(row["cpu_seconds"] for row in ordered),
        search_queries=sum(row["search_queries"] for row in ordered),
        robustness_queries=sum(row["robustness_queries"] for row in ordered),
        fingerprints=tuple(sorted({row["model_fingerprint"] for row in ordered})),
        points=tuple(tries),
        row_ids=tuple(row_ids.values()),
        tries=tuple(tries.values()),
        successes=tuple(successes.values()),
        results=tuple(None if row is None else row["repetition"] for row in of_points),
        loss=tuple(None if row is None else row["loss"] for row in of_points),
        objective_value=tuple(None if row is None else row["objective_value"] for row in of_points),
        seconds=tuple(None if row is None else row["wall_seconds"] for row in of_points),
        queries=tuple(None if row is None else row["search_queries"] + row["robustness_queries"] for row in of_points),
    )


def _rank(row: Mapping[str, Any]) -> float:
    value = row["objective_value"]
    return math.inf if value is None else float(value)
