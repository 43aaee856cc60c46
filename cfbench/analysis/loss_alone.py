"""Searchers that minimise the loss alone, on tasks with another objective.

Such a searcher has no search of its own there: its results for objective ``none`` are judged under the task's
objective, and the record holds the values as a measure of the cell of objective ``none``. Here each such cell becomes
a cell of the task, with the searcher, the results and the costs of the search for the loss, and with the judged values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cfbench.analysis.published import OWN
from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary
from cfbench.record.files import results_option
from cfbench.record.measures import OBJECTIVE, PointValues, judged_objective
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MetricId, Row, SearchId
from cfbench.registry.entries import Handles
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.space.space import FloatArray
from cfbench.study.obstacles import PLAIN

MARK = "searched for the loss alone"
"""What a reader is told of such a result."""


@dataclass(frozen=True)
class JudgedCell(CellSummary):
    """A cell of objective ``none`` as a cell of another objective: searched for the loss alone, judged by the task.

    A point's result is its successful repetition with the smallest value under the task's objective. Seconds, queries
    and metrics are those of the cell of objective ``none``. A cell whose values the record lacks is skipped, with the
    command that adds them.
    """

    judged_from: str = ""  # key of the cell of objective ``none``
    measure: MetricId = ("", "", "")  # the measure that holds the values


def board_cells(
    record: RecordReading,
    registry: Registry,
    values: PointValues | None = None,
    summaries: Mapping[str, CellSummary] | None = None,
) -> dict[str, CellSummary]:
    """Return the summaries of a record's cells for a comparison, by key.

    Cells of objective ``none`` whose results were judged under another objective are there under both. They are left
    out under ``none`` where that is no task of the study: where no searcher that can take objectives has a cell of
    objective ``none`` for the same data set, model and constraints, and one has a cell of another objective.
    """
    summaries = record.summaries() if summaries is None else summaries
    values = record.point_values() if values is None else values
    judged: dict[str, JudgedCell] = {}
    sources: dict[str, CellSummary] = {}
    for measure in sorted(metric for metric in values.metrics if metric[0].startswith(OBJECTIVE)):
        for key, of_points in values.of(measure).items():
            source = summaries.get(key)
            if source is None or not source.searches:
                continue
            cell = _judged(record, source, measure, of_points, registry)
            own = summaries.get(cell.info.key)
            if own is None or not own.has_results:
                judged[cell.info.key] = cell
                sources[key] = source
    loss_alone = {_searcher(cell) for cell in sources.values()} | _loss_alone(registry)
    loss_alone |= {_searcher(cell) for cell in summaries.values() if cell.info.not_run_here}
    for cell in _unjudged(record, summaries, judged, loss_alone, registry):
        judged[cell.info.key] = cell
    not_requested = _not_requested(summaries, sources.values(), loss_alone)
    return {key: cell for key, cell in summaries.items() if key not in not_requested} | judged


def record_key(cell: CellSummary) -> str:
    """Return the key under which the record holds the searches of a cell."""
    return cell.judged_from if isinstance(cell, JudgedCell) else cell.info.key


def rows_of(record: RecordReading, cell: CellSummary) -> list[Row]:
    """Return the searches of a cell, with the objective value that its task asks for."""
    rows = record.rows(record_key(cell))
    if not isinstance(cell, JudgedCell):
        return rows
    judged = _values_of(record, cell.judged_from, cell.measure)
    return [{**row, "objective_value": judged.get((row["point"], row["repetition"]))} for row in rows]


def with_judged(found: Mapping[str, FloatArray], cells: Iterable[CellSummary]) -> dict[str, FloatArray]:
    """Return a metric's values by cell key, those of judged cells being those of the cells of objective ``none``."""
    shared = {
        cell.info.key: found[cell.judged_from]
        for cell in cells
        if isinstance(cell, JudgedCell) and cell.judged_from in found
    }
    return {**found, **shared}


def _judged(
    record: RecordReading, source: CellSummary, measure: MetricId, values: FloatArray, registry: Registry
) -> JudgedCell:
    """Return a cell of objective ``none`` under the objective of a measure."""
    info, content = _under(source, judged_objective(measure) or {}, measure[0].removeprefix(OBJECTIVE))
    given = {one.name: getattr(source, one.name) for one in fields(CellSummary)}
    given |= {"info": info, "content": content, "skipped": "", "failure": ""}
    results, loss = source.results, source.loss
    if any(found > 1 for found in source.successes):
        results, loss, values = _best(record, source, measure)
    found = [one is not None for one in loss]
    if len(found) != len(values) or np.isnan(values[found]).any():
        return _without_values(record, source, info, content, registry)
    of_points = tuple(float(value) if there else None for value, there in zip(values, found, strict=True))
    given |= {"results": results, "loss": loss, "objective_value": of_points}
    return JudgedCell(**given, judged_from=source.info.key, measure=measure)


def _under(source: CellSummary, objective: Mapping[str, Any], label: str) -> tuple[CellInfo, dict[str, Any]]:
    """Return coordinates and content of the cell that a search under another objective would be."""
    content = {**source.content, "objective": dict(objective)}
    versions = {**source.info.versions, "objective": str(objective["version"])}
    return replace(source.info, key=digest_of(content), objective=label, versions=versions), content


def _without_values(
    record: RecordReading, source: CellSummary, info: CellInfo, content: dict[str, Any], registry: Registry
) -> JudgedCell:
    """Return a cell that waits for its values."""
    name, version = content["objective"]["name"], content["objective"]["version"]
    here = registry.objectives[name].entry.version if name in registry.objectives else "none"
    reason = f"{MARK}, and not judged under objective {info.objective} yet: "
    if here == version:
        reason += f"`cfbench measure --objective '{info.objective}'{results_option(record.path)}` does that"
    else:
        reason += f"its version {version} is needed for that, and version {here} is registered here"
    return JudgedCell(info, content, skipped=reason, judged_from=source.info.key)


def _best(
    record: RecordReading, source: CellSummary, measure: MetricId
) -> tuple[tuple[int | None, ...], tuple[float | None, ...], FloatArray]:
    """Return the repetition with the smallest judged value of each point, its loss and that value."""
    judged = _values_of(record, source.info.key, measure)
    best: dict[int, tuple[float, int, float]] = {}
    for row in record.rows(source.info.key):
        if row["loss"] is not None:
            point, repetition = row["point"], row["repetition"]
            value = judged.get((point, repetition), np.nan)
            tried = (np.inf if np.isnan(value) else value, repetition, row["loss"])
            best[point] = min(best.get(point, tried), tried)
    of_points = [best.get(point) for point in source.points]
    values = np.array([np.nan if one is None or np.isinf(one[0]) else one[0] for one in of_points])
    return tuple(one and one[1] for one in of_points), tuple(one and one[2] for one in of_points), values


def _values_of(record: RecordReading, key: str, measure: MetricId) -> dict[SearchId, float]:
    table = record.measures(key)
    name, version, settings = measure
    table = table[(table["metric"] == name) & (table["version"] == version) & (table["settings"] == settings)]
    places = zip(table["point"].tolist(), table["repetition"].tolist(), strict=True)
    return dict(zip(places, table["value"].astype(float).tolist(), strict=True))


def _loss_alone(registry: Registry) -> set[str]:
    """Return the names of the searchers that can take no objective at all."""
    takes = {Handles.OBJECTIVES, Handles.SEPARABLE}
    return {name for name, one in registry.searchers.items() if takes.isdisjoint(one.entry.handles)}


def _unjudged(
    record: RecordReading,
    summaries: Mapping[str, CellSummary],
    judged: Mapping[str, JudgedCell],
    loss_alone: set[str],
    registry: Registry,
) -> list[JudgedCell]:
    """Return cells that wait for their values: of tasks that others have results on."""
    plain = [cell for cell in summaries.values() if _is_plain(cell) and cell.searches and _searcher(cell) in loss_alone]
    if not plain:
        return []
    objectives: dict[str, dict[str, tuple[str, Mapping[str, Any]]]] = defaultdict(dict)
    for cell in [*summaries.values(), *judged.values()]:
        if not _is_plain(cell) and cell.has_results:
            objective = cell.content["objective"]
            objectives[_place(cell)][digest_of(objective)] = (cell.info.objective, objective)
    found = []
    for source in plain:
        for label, objective in objectives.get(_place(source), {}).values():
            info, content = _under(source, objective, label)
            own = summaries.get(info.key)
            if info.key not in judged and (own is None or not own.has_results):
                found.append(_without_values(record, source, info, content, registry))
    return found


def _not_requested(
    summaries: Mapping[str, CellSummary], sources: Iterable[CellSummary], loss_alone: set[str]
) -> set[str]:
    """Return the keys of cells that were searched only to be judged under another objective."""
    places = {_place(cell) for cell in sources}
    if not places:
        return set()
    at = {key: _place(cell) for key, cell in summaries.items()}
    able = [(key, _is_plain(cell)) for key, cell in summaries.items() if _searcher(cell) not in loss_alone]
    plain, others = ({at[key] for key, is_plain in able if is_plain is which} for which in (True, False))
    places &= others - plain
    return {key for key, cell in summaries.items() if _is_plain(cell) and at[key] in places}


def _place(cell: CellSummary) -> str:
    """Return what makes a task of a cell, except its objective; the fold included."""
    return digest_of({name: value for name, value in cell.content.items() if name not in (*OWN, "objective")})


def _is_plain(cell: CellSummary) -> bool:
    return cell.info.objective.partition("[")[0] == PLAIN


def _searcher(cell: CellSummary) -> str:
    return cell.info.searcher.partition("[")[0]
