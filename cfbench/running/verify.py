"""Verification of a record: every result is judged again, a sample of searches is run again, metrics are repeated.

Searches are deterministic, so a reader can check a submitted record without trust in its author.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfbench.errors import CfbenchError, DataError, RecordError, StudyError, UnavailableError
from cfbench.problem.outcome import Status
from cfbench.record.cells import CellSummary, objection_to
from cfbench.record.measures import ID_COLUMNS, OBJECTIVE
from cfbench.record.schema import SEARCHES, TIME_COLUMNS, MetricId, Row
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.running.judge import Judge
from cfbench.running.measure import identity
from cfbench.running.objective_measures import objective_measure
from cfbench.running.search import FittedFold, SearchTask, judge_of
from cfbench.running.second_stage import recorded_cell
from cfbench.running.worker import Worker, points_of
from cfbench.space.dataset import Dataset
from cfbench.space.space import IntArray
from cfbench.study.plan import Cell
from cfbench.study.sources import may_be_passed_on
from cfbench.study.variants import Variant, build_settings, make_variant, parse_variant, resolve_variant

JUDGED = ("loss", "gower", "l0", "cost", "objective_value")
"""The columns that the judge computes from `z`; they must come out bit for bit."""


def misnamed(cell: Cell, registry: Registry) -> str:
    """Describe labels that contradict the cell's settings; empty if none, or if its entries are not registered."""
    info, searcher = cell.info, registry.searchers.get(cell.searcher.name)
    for found, variant, label in (
        (registry.models.get(cell.model.name), cell.model, info.model),
        (searcher, cell.searcher, info.searcher),
        (registry.objectives.get(cell.objective.name), cell.objective, info.objective),
    ):
        true = label if found is None else make_variant(found.entry, variant.settings).label
        if true != label:
            return f"it is called {label}, and its settings are those of {true}"
    if searcher is not None and searcher.entry.is_white_box != info.white_box:
        return "whether its searcher looks into the model is told wrong"
    return ""


def unasked(rows: Sequence[Row]) -> str:
    """Say why the rows cannot be all that a study has asked for; empty where they can.

    Points and repetitions are counted from 0. If only the best of many searches were kept, there are gaps.
    """
    repetitions: dict[int, set[int]] = {}
    for row in rows:
        repetitions.setdefault(row["point"], set()).add(row["repetition"])
    if max(repetitions, default=-1) >= len(repetitions):
        return f"it has point {max(repetitions)}, and lacks one before it: run its study to the end"
    for point, found in repetitions.items():
        if max(found) >= len(found):
            return f"of point {point} it has repetition {max(found)}, and lacks one before it: run its study to the end"
    return ""


def wrong_rows(
    cell: Cell, fitted_fold: FittedFold, rows: Sequence[Row], eligible: IntArray, registry: Registry
) -> Iterator[tuple[Row, str]]:
    """Yield the rows that cannot be true, each with the reason.

    Parameters
    ----------
    cell : Cell
    fitted_fold : FittedFold
        The data and the fitted model that the rows were found on.
    rows : sequence of dict
    eligible : ndarray of int
        The fold's eligible points.
    registry : Registry
    """
    objective = build_settings(registry.objective(cell.objective.name).entry.objective, cell.objective.settings)
    counterfactuals: list[Row] = []
    for row in rows:
        objection = _objection(row, cell, fitted_fold.dataset, eligible)
        if not objection and has_result(row):
            task = SearchTask(cell, row["point"], row["row_id"], row["repetition"])
            objection = _misjudged(row, judge_of(task, fitted_fold, objective))
            counterfactuals += [] if objection else [row]
        if objection:
            yield row, objection
    if counterfactuals:
        classes = fitted_fold.model.predict(np.array([row["z"] for row in counterfactuals]))
        for row, answer in zip(counterfactuals, classes, strict=True):
            if answer != fitted_fold.dataset.target:
                yield row, f"the model itself puts z into class {answer}, not {fitted_fold.dataset.target}"


def has_result(row: Row) -> bool:
    """Whether a row holds a counterfactual that can be judged."""
    return row["z"] is not None and row["loss"] is not None


def _objection(row: Row, cell: Cell, dataset: Dataset, eligible: IntArray) -> str:
    """Say what a row contradicts before its result is looked at; empty where nothing."""
    if not (row["point"] < len(eligible) and eligible[row["point"]] == row["row_id"]):
        return f"row {row['row_id']} of the data set is not that eligible point"
    if row["x"] and row["x"] != dataset.X[row["row_id"]].tolist():
        return f"x is not row {row['row_id']} of the data set"
    if row["status"] == Status.TIMED_OUT and (cell.time_limit is None or row["wall_seconds"] < cell.time_limit):
        limit = cell.time_limit or "none"
        return f"it is called {row['status']} after {row['wall_seconds']:g} s, and its limit is {limit}"
    if row["loss"] is None:
        return "it is called found, and has no loss" if row["status"] == Status.FOUND else ""
    succeeded = row["status"] in (Status.FOUND, Status.BUDGET_EXHAUSTED)
    return "" if succeeded else f"it has a loss, and is called {row['status']}"


def _misjudged(row: Row, judge: Judge) -> str:
    """Say in what the judge comes to another verdict on a row's result; empty where in nothing."""
    verdict = judge.verdict(np.array(row["z"]), returns_sets=False)
    if verdict.status is not Status.FOUND:
        return f"z is no counterfactual: {verdict.reason}"
    wrong = [name for name in JUDGED if getattr(verdict, name) != row[name]]
    if wrong:
        return f"recomputing {', '.join(wrong)} for the stored z gives different values"
    best = judge.choose(np.array(row["candidates"])).z if row["candidates"] else None
    return "" if best is not None and best.tolist() == row["z"] else "z is not the best of its candidates"


CLOSE = 1e-9
"""Relative difference of values that sums in another order, of other versions of numpy, may have."""
LIMIT = "seconds"
"""Setting of metrics that a clock ends: what they give is another machine's by right."""


def remeasured(
    cell: Cell, measured: Iterable[MetricId], record: Record, worker: Worker, registry: Registry
) -> tuple[list[str], tuple[str, ...]]:
    """Measure again what metrics say of a cell, and what its results are worth under further objectives.

    Parameters
    ----------
    cell : Cell
    measured : iterable of MetricId
        What the record counts as measured of it.
    record : Record
        The cell's rows are whole, and none waits in a journal.
    worker : Worker
    registry : Registry

    Returns
    -------
    differing : list of str
        Metrics that give other values. Those of other versions than are registered here, which no board shows, and
        those that a clock ends are left out.
    complaints : tuple of str
        Why others could not be measured, a sentence each.
    """
    variants = [variant for metric in sorted(measured) if (variant := _here(metric, registry)) is not None]
    found = worker.measure(cell, record.searches(cell.info.key), tuple(variants))
    again = set(found.table[ID_COLUMNS].itertuples(index=False, name=None))
    said = record.measures(cell.info.key)
    said = said[[one in again for one in said[ID_COLUMNS].itertuples(index=False, name=None)]]
    place = [*ID_COLUMNS, "point", "repetition"]
    both = said.merge(found.table, how="outer", on=place, suffixes=("_said", "_found"))
    one, other = (both[f"value_{side}"].to_numpy(dtype=np.float64, na_value=np.nan) for side in ("said", "found"))
    close = np.isclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True)
    return sorted(set(both["metric"][~close])), found.complaints


def _here(metric: MetricId, registry: Registry) -> Variant | None:
    """Return a metric as it is registered here; None where it is another one, or a clock ends it."""
    try:
        if metric[0].startswith(OBJECTIVE):
            variant = objective_measure(resolve_variant(registry, "objective", metric[0].removeprefix(OBJECTIVE)))
        else:
            variant = resolve_variant(registry, "metric", metric[0])
    except CfbenchError:
        return None
    return variant if LIMIT not in variant.settings and identity(variant, registry) == metric else None


ROWS = ("x", "z", "candidates")
"""The columns that a published record lacks where the data may not be passed on."""

_OTHER_MODEL = (
    "training can differ between machines in the last bits, and then only the machine that made the record, or its "
    "fitted models (CFBENCH_CACHE_DIR, if you trust their source), can tell"
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
        Why searches on data that are not passed on could not be checked, with their number; these are not faults.
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
        recorded = record.cell_of(key)
        rows = list(recorded.finished.values())
        summary = summaries[key]
        found.cells += bool(rows)
        found.searches += len(rows)
        found.faults += [f"{_named(summary.info)}: {fault}" for fault in record.contradictions(recorded)]
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
        fitted_fold = worker.fitted_fold(cell)
        if fitted_fold.dataset.digest != cell.content["dataset"]["digest"]:
            raise DataError(f"data set {cell.dataset} has another table or annotation here: it was made with another")
    except CfbenchError as error:
        absent = isinstance(error, UnavailableError) and not may_be_passed_on(cell.dataset, registry)
        (found.withheld if absent else found.unverified)[str(error)] += len(rows)
        return []
    known = [row for row in rows if row["model_fingerprint"] == fitted_fold.fingerprint]
    if len(known) < len(rows):
        other = f"{cell.info.model} on {cell.info.dataset}, fold {cell.fold}, is fitted differently here"
        found.unverified[f"{other}; {_OTHER_MODEL}"] += len(rows) - len(known)
    gaps = unasked(rows)
    if gaps:
        found.unverified[f"{_named(cell.info)}: {gaps}"] += len(rows)
    eligible = points_of(cell, fitted_fold)
    if known and said != len(eligible):
        found.faults.append(f"{_named(cell.info)}: it says {said} eligible points, and the fold has {len(eligible)}")
    bare = sum(row["loss"] is not None and row["z"] is None for row in known)
    found.bare += bare
    if bare and may_be_passed_on(cell.dataset, registry):
        found.unverified[f"rows of {cell.dataset} are left out, which may be passed on: pack the record again"] += bare
    found.judged += sum(map(has_result, known))
    found.faults += [
        f"{_where(cell, row)}: {fault}" for row, fault in wrong_rows(cell, fitted_fold, known, eligible, registry)
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
        again = SEARCHES.checked(worker.search(SearchTask(cell, row["point"], row["row_id"], row["repetition"])))
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


def _named(info: CellInfo) -> str:
    constraints = ", constraints" if info.constraints else ""
    return f"{info.searcher} on {info.dataset}, {info.model}, {info.objective}, fold {info.fold}{constraints}"


def _where(cell: Cell, row: Row) -> str:
    return f"{_named(cell.info)}, point {row['point']}, repetition {row['repetition']}"
