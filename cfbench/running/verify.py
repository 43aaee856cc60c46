"""Verification of a record: every result is judged again, a sample of searches is run again, metrics are repeated.

Searches are deterministic, so a reader can check a submitted record without trust in its author.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfbench.errors import CfbenchError, DataError, StudyError, UnavailableError
from cfbench.problem.outcome import Status
from cfbench.record.cells import CellSummary, objection_to
from cfbench.record.measures import OBJECTIVE
from cfbench.record.schema import SEARCHES, TIME_COLUMNS, MetricId, Row
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.running.judge import Judge
from cfbench.running.measure import identity, objective_measure
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


ROWS = ("x", "z", "candidates")
"""The columns that a published record lacks where the data may not be passed on."""

_OTHER_MODEL = (
    "training can differ between machines in the last bits, and then only the machine that made the record, or its "
    "fitted models (CFBENCH_CACHE_DIR, if you trust their source), can tell"
)


CLOSE = 1e-9
"""Relative difference of values that sums in another order, of other versions of numpy, may have."""
LIMIT = "seconds"
"""Setting of metrics that a clock ends: what they give is another machine's by right."""


@dataclass
class Verification:
    """What was looked at, and what is not as the record says.

    `not_run_here` searches were made elsewhere: their results are judged again, and nothing can run them again.
    `judged` results were judged again; `bare` ones are recorded without their rows. `faults` are sentences about what
    is not as the record says. `withheld` (of data that are not passed on, which is not a fault) and `unverified` count
    by reason the searches that could not be checked, or not wholly.
    """

    cells: int = 0
    searches: int = 0
    judged: int = 0
    bare: int = 0
    ran_again: int = 0
    measured_again: int = 0
    not_run_here: int = 0
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

    The worker loads data and models, and runs searches. A random `sample` of the searches that the clock did not end is
    run again, and their cells are measured again. `progress` receives how many cells of how many are judged.
    """
    verifier = _Verifier(record, worker, registry)
    found, summaries = verifier.found, record.summaries()
    places = {key: (cell.info.dataset, cell.info.fold, cell.info.model, key) for key, cell in summaries.items()}
    repeatable: list[tuple[Cell, Row]] = []
    for done, key in enumerate(sorted(summaries, key=places.__getitem__)):
        progress(done, len(summaries))
        repeatable += verifier.judge_cell(key, summaries[key])
    progress(len(summaries), len(summaries))
    chosen = [repeatable[i] for i in sorted(np.random.default_rng(seed).permutation(len(repeatable))[:sample])]
    for cell, row in chosen:
        verifier.run_again(cell, row)
    again = {cell.info.key: cell for cell, row in chosen if row["x"]}
    for key in sorted(again):
        verifier.measure_again(again[key])
    found.faults += dict.fromkeys(record.problems)
    return found


class _Verifier:
    """Compares the cells of a record with what their searches give here, and notes what it finds."""

    def __init__(self, record: Record, worker: Worker, registry: Registry) -> None:
        self.found = Verification()
        self._record = record
        self._worker = worker
        self._registry = registry
        self._measured = record.measured()
        self._pending = record.pending()

    def judge_cell(self, key: str, summary: CellSummary) -> list[tuple[Cell, Row]]:
        """Judge the results of a cell again, and return those of its searches that can be run again."""
        found, recorded = self.found, self._record.cell_of(key)
        rows = list(recorded.finished.values())
        found.cells += bool(rows)
        found.searches += len(rows)
        found.faults += [f"{_named(summary.info)}: {fault}" for fault in self._record.contradictions(recorded)]
        try:
            objection = objection_to(key, summary.info, summary.content)
            objection = objection or misnamed(recorded_cell(summary), self._registry)
        except CfbenchError as error:
            objection = str(error)
        if objection:
            found.faults.append(f"{_named(summary.info)}: {objection}")
        if objection or not rows:
            return []
        cell = recorded_cell(summary)
        known = self._judge(cell, summary.eligible, rows)
        if len(known) == len(rows) and all(row["z"] is not None for row in rows if row["loss"] is not None):
            self._judge_under_others(cell)
        if cell.info.not_run_here:
            found.not_run_here += len(rows)
            return []
        return [(cell, row) for row in known if row["status"] != Status.TIMED_OUT]

    def _judge(self, cell: Cell, said: int, rows: list[Row]) -> list[Row]:
        """Note what is wrong with a cell's rows, and what cannot be verified; return those of the model fitted here."""
        found = self.found
        can_be_passed_on = may_be_passed_on(cell.dataset, self._registry)
        try:
            self._check_versions(cell, ("model", "objective"))
            fitted_fold = self._worker.fitted_fold(cell)
            if fitted_fold.dataset.digest != cell.content["dataset"]["digest"]:
                raise DataError(
                    f"data set {cell.dataset} has another table or annotation here: it was made with another"
                )
        except CfbenchError as error:
            absent = isinstance(error, UnavailableError) and not can_be_passed_on
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
            found.faults.append(
                f"{_named(cell.info)}: it says {said} eligible points, and the fold has {len(eligible)}"
            )
        bare = sum(row["loss"] is not None and row["z"] is None for row in known)
        found.bare += bare
        if bare and can_be_passed_on:
            reason = f"rows of {cell.dataset} are left out, which may be passed on: pack the record again"
            found.unverified[reason] += bare
        found.judged += sum(row["z"] is not None and row["loss"] is not None for row in known)
        found.faults += [
            f"{_where(cell, row)}: {fault}" for row, fault in self._wrong_rows(cell, fitted_fold, known, eligible)
        ]
        return known

    def _wrong_rows(
        self, cell: Cell, fitted_fold: FittedFold, rows: Sequence[Row], eligible: IntArray
    ) -> Iterator[tuple[Row, str]]:
        """Yield the rows that cannot be true, each with the reason."""
        entry = self._registry.objective(cell.objective.name).entry
        objective = build_settings(entry.objective, cell.objective.settings)
        counterfactuals: list[Row] = []
        for row in rows:
            objection = _objection(row, cell, fitted_fold.dataset, eligible)
            if not objection and row["z"] is not None and row["loss"] is not None:
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

    def _judge_under_others(self, cell: Cell) -> None:
        """Judge a cell's results again under the further objectives that the record has values for."""
        measured = [metric for metric in self._measured.get(cell.info.key, ()) if metric[0].startswith(OBJECTIVE)]
        if not measured or cell.info.key in self._pending:
            return
        for label in self._remeasured(cell, measured):
            under = label.removeprefix(OBJECTIVE)
            self.found.faults.append(f"{_named(cell.info)}: judged again under objective {under}, it has other values")
        for label, version, _ in measured:
            objective = parse_variant(label.removeprefix(OBJECTIVE))[0]
            known = objective in self._registry.objectives
            here = self._registry.objective(objective).entry.version if known else "none"
            if here != version:
                self.found.unverified[
                    f"objective {objective} has version {here} here, and results of searchers that minimise the loss "
                    f"alone were judged by version {version}: install that one"
                ] += cell.searches

    def run_again(self, cell: Cell, row: Row) -> None:
        """Run a search again and compare all that is not a time."""
        try:
            self._check_versions(cell, ("searcher",))
            again = SEARCHES.checked(
                self._worker.search(SearchTask(cell, row["point"], row["row_id"], row["repetition"]))
            )
        except CfbenchError as error:
            self.found.unverified[str(error)] += 1
            return
        self.found.ran_again += 1
        unseen = {*TIME_COLUMNS, *(() if row["x"] else ROWS)}
        differing = [name for name in row if name not in unseen and row[name] != again[name]]
        if differing:
            self.found.faults.append(f"{_where(cell, row)}: run again, it gives other values of {', '.join(differing)}")

    def measure_again(self, cell: Cell) -> None:
        """Measure all metrics of a finished cell again."""
        if cell.info.key not in self._measured or cell.info.key in self._pending:
            return
        differing = self._remeasured(cell, self._measured[cell.info.key])
        self.found.measured_again += 1
        if differing:
            self.found.faults.append(
                f"{_named(cell.info)}: measured again, it gives other values of {', '.join(differing)}"
            )

    def _remeasured(self, cell: Cell, measured: Iterable[MetricId]) -> list[str]:
        """Measure a cell again, and return the metrics that give other values.

        Metrics of other versions than are registered here, which no board shows, and those that a clock ends are left
        out.
        """
        variants = [variant for metric in sorted(measured) if (variant := _here(metric, self._registry)) is not None]
        found = self._worker.measure(cell, self._record.rows(cell.info.key), tuple(variants))
        for complaint in found.complaints:
            self.found.unverified[complaint] += cell.searches
        said = self._record.values_of(cell.info.key)
        return sorted(
            {
                metric[0]
                for metric, values in found.values.items()
                if not np.allclose(said.get(metric, np.nan), values, rtol=CLOSE, atol=CLOSE, equal_nan=True)
            }
        )

    def _check_versions(self, cell: Cell, kinds: tuple[str, ...]) -> None:
        """Refuse a cell whose entries are not registered here in the versions that its searches were made with."""
        for kind in kinds:
            said = cell.content[kind]
            here = getattr(self._registry, kind)(said["name"]).entry.version
            if here != said["version"]:
                raise StudyError(
                    f"{kind} {said['name']} has version {here} here, and the record was made with version "
                    f"{said['version']}: install that one"
                )


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


def _named(info: CellInfo) -> str:
    constraints = ", constraints" if info.constraints else ""
    return f"{info.searcher} on {info.dataset}, {info.model}, {info.objective}, fold {info.fold}{constraints}"


def _where(cell: Cell, row: Row) -> str:
    return f"{_named(cell.info)}, point {row['point']}, repetition {row['repetition']}"
