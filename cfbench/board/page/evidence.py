"""What the page shows beyond the board, from one pass over the searches: progress, examples, failures.

Decision: under a robust objective the record's anytime list holds base losses and noisy bests. There a search counts
with its result alone: the judged objective value, reached after all its queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cfbench.analysis.groups import Point
from cfbench.analysis.loss_alone import record_key, rows_of
from cfbench.analysis.result_matrix import ComparedSearcher, ComparedTask, ResultMatrix
from cfbench.problem.outcome import Status
from cfbench.record.cells import CellSummary, queries_of
from cfbench.record.reading import RecordReading
from cfbench.record.schema import Row
from cfbench.space.space import FloatArray
from cfbench.study.plan import command_again

TARGETS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, np.inf)
"""Values above a point's best known one, as shares of it, that count as reached; the last is any counterfactual."""

LONGEST_REASON = 160


@dataclass(frozen=True, eq=False)
class Progress:
    """When a searcher's searches reached their targets."""

    queries: FloatArray  # queries when a (search, target) pair was reached, sorted
    pairs: int  # all pairs


@dataclass(frozen=True, eq=False)
class Example:
    """One point of a task with what searchers found for it."""

    fold: int
    row_id: int
    x: FloatArray  # empty where the record holds no rows of this data set
    # The value is the one that the task asks searchers to minimise
    found: Mapping[ComparedSearcher, tuple[FloatArray, float]]


class PageEvidence(NamedTuple):
    """All of it: an example or None for each task of the matrix, and the most frequent failures first."""

    progress: dict[ComparedSearcher, Progress]
    examples: list[Example | None]
    failures: list[dict[str, Any]]


def gather(matrix: ResultMatrix, record: RecordReading) -> PageEvidence:
    """Read the searches of every cell of a matrix once."""
    reached: dict[ComparedSearcher, list[float]] = {searcher: [] for searcher in matrix.searchers}
    pairs = dict.fromkeys(matrix.searchers, 0)
    failures: dict[tuple[str, str, str], dict[str, Any]] = {}
    examples: list[Example | None] = []
    counted: set[str] = set()  # one search may belong to several tasks: judged under several objectives
    for task in matrix.tasks:
        best = dict(zip(task.places, _best(task), strict=True))
        numbers = {place: number for number, place in enumerate(task.places)}
        by_loss = task.values is task.losses
        telling = _telling(task)
        x, found = np.empty(0), {}
        for searcher, group in task.groups.items():
            for cell in group.cells:
                if cell.skipped or cell.failure:
                    reason, status = cell.skipped or cell.failure, "skipped" if cell.skipped else "failed"
                    _note(failures, searcher.label, status, reason, cell, 0)
                if not cell.searches:
                    continue
                prepared = 0 if cell.preparation is None else cell.preparation.queries
                for row in rows_of(record, cell):
                    place = cell.info.fold, row["row_id"]
                    spent = queries_of(row)
                    if spent is not None:
                        is_traced = by_loss and not cell.info.not_run_here
                        steps = (
                            row["anytime"] if is_traced else _end(row, spent, "loss" if by_loss else "objective_value")
                        )
                        reached[searcher] += [prepared + queries for queries in _reached(steps, best[place])]
                        pairs[searcher] += len(TARGETS)
                    if row["status"] != Status.FOUND and record_key(cell) not in counted:
                        _note(failures, searcher.label, row["status"], row["reason"], cell, row["point"])
                    if place == telling and _is_result(row, cell):
                        value = task.values[searcher][numbers[place]]
                        x, found[searcher] = np.array(row["x"]), (np.array(row["z"]), float(value))
                counted.add(record_key(cell))
        example = None if telling is None else Example(*telling, x, found)
        examples.append(example if found else None)
    progress = {
        searcher: Progress(np.sort(np.array(queries)), pairs[searcher])
        for searcher, queries in reached.items()
        if pairs[searcher]
    }
    ordered = sorted(failures.values(), key=lambda one: (-one["count"], one["searcher"], one["status"], one["reason"]))
    return PageEvidence(progress, examples, ordered)


def _best(task: ComparedTask) -> FloatArray:
    """Return the best known value of each place of a task, infinity where no searcher found anything."""
    values = [np.where(np.isnan(own), np.inf, own) for own in task.values.values()]
    best: FloatArray = np.min(values, axis=0) if values else np.full(len(task.places), np.inf)
    return best


def _telling(task: ComparedTask) -> Point | None:
    """Choose the point of a task that the most searchers solved, the first of those."""
    if not task.losses:
        return None
    solved = np.sum([np.isfinite(own) for own in task.losses.values()], axis=0)
    return task.places[int(np.argmax(solved))]


def _end(row: Row, queries: int, compared: str) -> list[tuple[int, float]]:
    """Return what a search had reached at its end, after all its queries; nothing where it found nothing."""
    return [] if row[compared] is None or row["loss"] is None else [(queries, row[compared])]


def _reached(steps: Iterable[tuple[int, float]], best: float) -> list[float]:
    """Return the queries after which a search reached each of the targets that it reached."""
    found = []
    for target in TARGETS:
        limit = np.inf if np.isinf(target) else best * (1 + target)
        queries = next((queries for queries, value in steps if value <= limit), None)
        if queries is not None:
            found.append(float(queries))
    return found


def _is_result(row: Row, cell: CellSummary) -> bool:
    """Whether a row is its point's result, with its z."""
    place = cell.points.index(row["point"]) if row["point"] in cell.points else -1
    return row["z"] is not None and place >= 0 and cell.results[place] == row["repetition"]


def _note(
    failures: dict[tuple[str, str, str], dict[str, Any]],
    searcher: str,
    status: str,
    reason: str,
    cell: CellSummary,
    point: int,
) -> None:
    """Count a search, or a whole cell, that ended like others; the first one has the command that runs it again.

    Results that were made elsewhere have no command.
    """
    reason = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."
    if (searcher, status, reason) not in failures:
        command = ""
        if not cell.info.not_run_here:
            command = command_again([cell.info], cell.content, points=point + 1, repetitions=max(cell.repetitions, 1))
        known = {"searcher": searcher, "status": status.replace("_", " "), "reason": reason, "command": command}
        failures[searcher, status, reason] = {**known, "count": 0}
    failures[searcher, status, reason]["count"] += 1
