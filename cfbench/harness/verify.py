"""Verification of a record: every result is judged again, and a random sample of the searches is run again.

A record that somebody hands in says what was found; whether that is so can be seen without trusting anybody, since
searches are deterministic for one fitted model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.errors import CfbenchError, DataError, RecordError, StudyError, UnavailableError
from cfbench.events import CellInfo
from cfbench.harness.plan import Cell
from cfbench.harness.remeasured import remeasured
from cfbench.harness.search import SearchTask
from cfbench.harness.second_stage import recorded_cell
from cfbench.harness.sources import may_be_passed_on
from cfbench.harness.store.coordinates import objection_to
from cfbench.harness.store.point_values import OBJECTIVE, MetricId
from cfbench.harness.store.record import Record
from cfbench.harness.store.rows import Row, checked_row
from cfbench.harness.store.schema import TIME_COLUMNS
from cfbench.harness.store.summary import CellSummary
from cfbench.harness.variants import parse_variant
from cfbench.harness.verified_cell import has_result, misnamed, unasked, wrong_rows
from cfbench.harness.worker import Worker, points_of
from cfbench.outcome import Status
from cfbench.registry import Registry

if TYPE_CHECKING:
    from cfbench.harness.store.tables import StoredCell

ROWS = ("x", "z", "candidates")
"""The columns that a published record lacks where the data may not be passed on."""

_OTHER_MODEL = (
    "training can differ between machines in the last bits, and then only the machine that made the record, or its "
    "fitted models (CFBENCH_CACHE_DIR, if you trust whoever made them), can tell"
)


@dataclass
class Verification:
    """What was looked at, and what is not as the record says.

    Parameters
    ----------
    cells : int
        Cells with searches.
    searches : int
    judged : int
        Results that were judged again.
    bare : int
        Results that the record holds without their rows: only running them again can tell.
    ran_again : int
        Searches that were run again.
    measured_again : int
        Cells whose metrics were measured again.
    faults : list of str
        What is not as the record says, a sentence each.
    withheld : Counter of str
        Why searches on data that are not passed on could not be looked at, with their number: that is nobody's fault.
    unverified : Counter of str
        Why other searches could not be looked at, or not wholly, with their number.
    """

    cells: int = 0
    searches: int = 0
    judged: int = 0
    bare: int = 0
    ran_again: int = 0
    measured_again: int = 0
    faults: list[str] = field(default_factory=list)
    withheld: Counter[str] = field(default_factory=Counter)
    unverified: Counter[str] = field(default_factory=Counter)

    @property
    def is_sound(self) -> bool:
        """Whether something was looked at, all of it that can be, and nothing is wrong."""
        return not (self.faults or self.unverified) and self.searches > 0


def verify_record(
    record: Record,
    worker: Worker,
    registry: Registry,
    *,
    sample: int,
    seed: int,
    progress: Callable[[int, int], None],
) -> Verification:
    """Verify a record; nothing is written.

    Parameters
    ----------
    record : Record
    worker : Worker
        It loads data and models, and runs searches.
    registry : Registry
    sample : int
        Searches to run again, chosen at random among those that the clock did not end; their cells are measured again.
    seed : int
        Of the choice.
    progress : callable
        Told how many cells of how many are judged.
    """
    found = Verification()
    summaries, measured = record.summaries(), record.measured()
    places = {key: (cell.info.dataset, cell.info.fold, cell.info.model, key) for key, cell in summaries.items()}
    repeatable: list[tuple[Cell, Row]] = []
    for done, key in enumerate(sorted(summaries, key=places.__getitem__)):
        progress(done, len(summaries))
        held = record.held(key)
        rows = list(held.finished().values())
        summary = summaries[key] if held.stored is None else replace(summaries[key], **_stored(held.stored))
        found.cells += bool(rows)
        found.searches += len(rows)
        found.faults += [f"{_named(summary.info)}: {fault}" for fault in record.contradictions(key, held)]
        try:
            cell = _verified_cell(key, summary, registry)
        except CfbenchError as error:
            found.faults.append(f"{_named(summary.info)}: {error}")
            continue
        if rows:
            known = _judge(cell, summary.eligible, rows, worker, registry, found)
            if len(known) == len(rows) and all(row["z"] is not None for row in rows if row["loss"] is not None):
                _judge_under_others(cell, measured.get(key, ()), record, worker, registry, found)
            repeatable += [(cell, row) for row in known if row["status"] != Status.TIMED_OUT]
    progress(len(summaries), len(summaries))
    chosen = [repeatable[i] for i in sorted(np.random.default_rng(seed).permutation(len(repeatable))[:sample])]
    for cell, row in chosen:
        _run_again(cell, row, worker, registry, found)
    _measure_again({cell.info.key: cell for cell, row in chosen if row["x"]}, record, worker, registry, found)
    found.faults += dict.fromkeys(record.problems)
    return found


def _judge(
    cell: Cell, said: int, rows: list[Row], worker: Worker, registry: Registry, found: Verification
) -> list[Row]:
    """Note what is wrong with a cell's rows, and what cannot be told; return those that can be run again."""
    try:
        _check_versions(cell, registry, ("model", "objective"))
        ground = worker.ground(cell)
        if ground.dataset.digest != cell.content["dataset"]["digest"]:
            raise DataError(f"data set {cell.dataset} has another table or annotation here: it was made with another")
    except CfbenchError as error:
        absent = isinstance(error, UnavailableError) and not may_be_passed_on(cell.dataset, registry)
        (found.withheld if absent else found.unverified)[str(error)] += len(rows)
        return []
    known = [row for row in rows if row["model_fingerprint"] == ground.fingerprint]
    if len(known) < len(rows):
        other = f"{cell.info.model} on {cell.info.dataset}, fold {cell.fold}, is fitted differently here"
        found.unverified[f"{other}; {_OTHER_MODEL}"] += len(rows) - len(known)
    gaps = unasked(rows)
    if gaps:
        found.unverified[f"{_named(cell.info)}: {gaps}"] += len(rows)
    eligible = points_of(cell, ground)
    if known and said != len(eligible):
        found.faults.append(f"{_named(cell.info)}: it says {said} eligible points, and the fold has {len(eligible)}")
    bare = sum(row["loss"] is not None and row["z"] is None for row in known)
    found.bare += bare
    if bare and may_be_passed_on(cell.dataset, registry):
        found.unverified[f"rows of {cell.dataset} are left out, which may be passed on: pack the record again"] += bare
    found.judged += sum(map(has_result, known))
    found.faults += [
        f"{_where(cell, row)}: {fault}" for row, fault in wrong_rows(cell, ground, known, eligible, registry)
    ]
    return known


def _judge_under_others(
    cell: Cell,
    measured: Iterable[MetricId],
    record: Record,
    worker: Worker,
    registry: Registry,
    found: Verification,
) -> None:
    """Judge a cell's results again under the further objectives that the record has values for."""
    measured = [metric for metric in measured if metric[0].startswith(OBJECTIVE)]
    if not measured or cell.info.key in record.pending():
        return
    differing, complaints = remeasured(cell, measured, record, worker, registry)
    for label in differing:
        under = label.removeprefix(OBJECTIVE)
        found.faults.append(f"{_named(cell.info)}: judged again under objective {under}, it has other values")
    for complaint in complaints:
        found.unverified[complaint] += cell.searches
    for label, version, _ in measured:
        objective = parse_variant(label.removeprefix(OBJECTIVE))[0]
        here = registry.objective(objective).entry.version if objective in registry.objectives else "none"
        if here != version:
            found.unverified[
                f"objective {objective} has version {here} here, and results of searchers that minimise the loss alone "
                f"were judged by version {version}: install that one"
            ] += cell.searches


def _run_again(cell: Cell, row: Row, worker: Worker, registry: Registry, found: Verification) -> None:
    try:
        _check_versions(cell, registry, ("searcher",))
        again = checked_row(worker.search(SearchTask(cell, row["point"], row["row_id"], row["repetition"])))
    except CfbenchError as error:
        found.unverified[str(error)] += 1
        return
    found.ran_again += 1
    unseen = {*TIME_COLUMNS, *(() if row["x"] else ROWS)}
    differing = [name for name in row if name not in unseen and row[name] != again[name]]
    if differing:
        found.faults.append(f"{_where(cell, row)}: run again, it gives other values of {', '.join(differing)}")


def _measure_again(
    cells: Mapping[str, Cell], record: Record, worker: Worker, registry: Registry, found: Verification
) -> None:
    measured = record.measured() if cells else {}
    for key in sorted(cells.keys() & measured.keys() - record.pending()):
        cell = cells[key]
        differing, complaints = remeasured(cell, measured[key], record, worker, registry)
        found.measured_again += 1
        if differing:
            found.faults.append(f"{_named(cell.info)}: measured again, it gives other values of {', '.join(differing)}")
        for complaint in complaints:
            found.unverified[complaint] += cell.searches


def _check_versions(cell: Cell, registry: Registry, kinds: tuple[str, ...]) -> None:
    """Refuse a cell whose entries are not registered here in the versions that its searches were made with."""
    for kind in kinds:
        said = cell.content[kind]
        here = getattr(registry, kind)(said["name"]).entry.version
        if here != said["version"]:
            raise StudyError(
                f"{kind} {said['name']} has version {here} here, and the record was made with version "
                f"{said['version']}: install that one"
            )


def _verified_cell(key: str, summary: CellSummary, registry: Registry) -> Cell:
    """Return the cell that a record tells of.

    Raises
    ------
    CfbenchError
        If it is not the one that its key, its coordinates and its settings name.
    """
    objection = objection_to(key, summary.info, summary.content)
    if objection:
        raise RecordError(objection)
    cell = recorded_cell(summary)
    objection = misnamed(cell, registry)
    if objection:
        raise RecordError(objection)
    return cell


def _stored(stored: StoredCell) -> dict[str, Any]:
    """Return what a cell's table says of the cell, in place of what the index does."""
    return {"info": stored.info, "content": stored.content, "eligible": stored.eligible}


def _named(info: CellInfo) -> str:
    constraints = ", constraints" if info.constraints else ""
    return f"{info.searcher} on {info.dataset}, {info.model}, {info.objective}, fold {info.fold}{constraints}"


def _where(cell: Cell, row: Row) -> str:
    return f"{_named(cell.info)}, point {row['point']}, repetition {row['repetition']}"
