"""Results that were made elsewhere: judged and measured here like those of a search, and stored in a record.

Such a cell's searcher has the version ``not run here``. Its key has the same form as any other cell's, and its rows are
judged by the same judge; what is unknown of them (seconds, queries) is None. Judging a file again replaces the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cfbench.caches import cache_dir
from cfbench.errors import ModelError, StudyError
from cfbench.problem.access import Need
from cfbench.problem.outcome import Status
from cfbench.problem.problem import Problem
from cfbench.record.store import Record, load_record
from cfbench.registry.contracts import DataSource
from cfbench.registry.entries import Handles, SearcherEntry
from cfbench.registry.events import NOT_RUN_HERE
from cfbench.registry.registry import Registry, registry_with
from cfbench.running.judge import Judge, Verdict
from cfbench.running.progress import Metrics
from cfbench.running.results_file import GivenResult, as_texts, refusal
from cfbench.running.search import FittedFold, SearchTask, judge_of, row_of
from cfbench.running.worker import Worker, WorkerSetup, points_of
from cfbench.space.dataset import N_FOLDS, split
from cfbench.space.feature import Constraint
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.study.plan import Cell, Plan, make_plan
from cfbench.study.sources import folders_among
from cfbench.study.study import make_study
from cfbench.study.variants import build_settings
from cfbench.text import plural

if TYPE_CHECKING:
    import pandas as pd

SAME = 1e-9
"""Relative difference up to which two numbers count as one: R writes 15 digits, which do not tell all numbers apart."""
ABSENT = "the results have no line for it"
TOO_MANY = 20
"""Most invalid results that are named; more are counted."""


@dataclass(frozen=True)
class JudgedResults:
    """What was judged, and where the record is.

    Parameters
    ----------
    searcher : str
    results : Path
        The record's directory.
    statuses : dict of str to int
        How many searches were judged to be what.
    invalid : tuple of str
        Where each invalid result stands, and why it is invalid.
    absent : int
        Searches without a line in the results; they count as not found.
    complaints : tuple of str
        A sentence for each metric that failed.
    """

    searcher: str
    results: Path
    statuses: dict[str, int]
    invalid: tuple[str, ...] = ()
    absent: int = 0
    complaints: tuple[str, ...] = ()

    def searches(self) -> pd.DataFrame:
        """All searches of the record, as `cfbench.load_record` gives them."""
        return load_record(self.results)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in self.statuses.items())
        lines = [f"{self.searcher}: {plural(sum(self.statuses.values()), 'search')} judged ({counts}): {self.results}"]
        if self.absent:
            lines.append(f"{plural(self.absent, 'search')} without a line in the results count as not found")
        lines += [f"invalid: {one}" for one in self.invalid[:TOO_MANY]]
        if len(self.invalid) > TOO_MANY:
            lines.append(f"invalid: and {len(self.invalid) - TOO_MANY:,} more; the record has all reasons")
        return "\n".join([*lines, *(f"warning: {one}" for one in self.complaints)])


def searcher_made_elsewhere(name: str, *, white_box: bool) -> SearcherEntry:
    """Return the entry that a plan needs of a searcher whose results were made elsewhere.

    Its results are judged like those of a searcher that minimises the loss alone.
    """

    def search(problem: Problem, rng: np.random.Generator) -> NoReturn:  # noqa: ARG001 - the form of a search
        raise StudyError(f"{name} was not run here: its results come from a file, and nothing here can run it")

    return SearcherEntry(
        name=name,
        version=NOT_RUN_HERE,
        searcher=search,
        handles=[Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.RELATIONS],
        needs=[Need.MODEL] if white_box else [],
    )


def registry_for(
    searcher: str, plugins: Iterable[object], datasets: Iterable[str], *, white_box: bool = False, strict: bool = False
) -> Registry:
    """Return the registry with a searcher whose results were made elsewhere.

    Raises StudyError if a searcher of that name is registered: two would share it on the board.
    """
    entry = searcher_made_elsewhere(searcher, white_box=white_box)
    registry = registry_with([*plugins, entry], folders_among(datasets), strict=strict)
    if registry.searcher(searcher).entry is not entry:
        raise StudyError(
            f"{searcher!r} is the name of a registered searcher; results that were made elsewhere need another name, "
            f"such as {searcher}-elsewhere"
        )
    return registry


@dataclass(frozen=True, eq=False)
class PreparedCell:
    """The cell that results belong to, with its data, model and eligible points."""

    plan: Plan
    cell: Cell
    worker: Worker
    fitted_fold: FittedFold
    eligible: IntArray

    @classmethod
    def prepare(
        cls,
        registry: Registry,
        source: DataSource,
        told: Callable[[str], None] = lambda _: None,
        *,
        dataset: str,
        model: str,
        searcher: str,
        objective: str = "none",
        **more: Any,
    ) -> PreparedCell:
        """Plan a study of one cell, and fit or load its model.

        `more` are further keys of a study with one value each. `told` receives a sentence before a model is tuned or
        fitted. Raises CfbenchError if there is no such cell, or its data or model cannot be used.
        """
        axes = {"datasets": [dataset], "models": [model], "searchers": [searcher], "objectives": [objective]}
        plan = make_plan(make_study({"name": "judged", "repetitions": 1, **axes, **more}), registry, source)
        (cell,) = plan.cells
        worker = Worker(WorkerSetup(registry.options, source, cache_dir()), registry, told)
        worker.prepare(cell)
        fitted_fold = worker.fitted_fold(cell)
        return cls(plan, cell, worker, fitted_fold, points_of(cell, fitted_fold))

    @property
    def space(self) -> FeatureSpace:
        """The data set's features."""
        return self.fitted_fold.dataset.space


def judge_results(
    task: PreparedCell, given: Sequence[GivenResult], registry: Registry, record: Record, *, points: int | None = None
) -> JudgedResults:
    """Judge and measure results, and store them in a record that is open for writing.

    `points` is the number of points that were searched from, by default those up to the last one in `given`. Searches
    without a line are not found. Raises DataError if a line cannot be matched with a point of the fold, and StudyError
    if `points` does not fit.
    """
    cell, eligible = task.cell, task.eligible
    matched = _matched(given, task)
    reached = max(position for position, _ in matched) + 1
    if points is not None and not reached <= points <= len(eligible):
        raise StudyError(
            f"{points} points do not fit: the results reach point {reached - 1}, counted from 0, and the fold has "
            f"{len(eligible)} eligible points; name {reached} to {len(eligible)}, or none"
        )
    repetitions = max(repetition for _, repetition in matched) + 1
    objective = build_settings(
        registry.objective(cell.objective.name).entry.objective, cell.objective.settings, cell.objective.name
    )
    rows, invalid, absent = [], [], 0
    for position in range(points or reached):
        row_id = int(eligible[position])
        for repetition in range(repetitions):
            search = SearchTask(cell, position, row_id, repetition)
            one = matched.get((position, repetition))
            x = task.fitted_fold.dataset.X[row_id]
            verdict = Verdict(Status.NOT_FOUND, ABSENT)
            if one is not None:
                verdict = _verdict(one, x, judge_of(search, task.fitted_fold, objective), task)
            row = row_of(search, x, verdict, task.fitted_fold.fingerprint)
            row |= {
                "search_queries": None if one is None else one.queries,
                "robustness_queries": None if one is None or one.queries is None else 0,
                "wall_seconds": None if one is None else one.seconds,
                "cpu_seconds": None,
            }
            rows.append(row)
            absent += one is None
            if one is not None and verdict.status is Status.INVALID:
                invalid.append(f"{one.place} (row {row_id}): {verdict.reason}")
    _confirm(rows, task)
    summary = record.adopt(cell.info, cell.content, len(eligible), rows)
    complaints = _measure(task, record, registry)
    return JudgedResults(cell.searcher.name, record.path, summary.statuses, tuple(invalid), absent, complaints)


def _confirm(rows: Sequence[Mapping[str, Any]], task: PreparedCell) -> None:
    """Raise ModelError if the model's own predict puts a valid result into another class than its oracle."""
    found = [row["z"] for row in rows if row["loss"] is not None]
    if not found:
        return
    wrong = int((task.worker.confirm(task.cell, np.array(found)) != task.fitted_fold.dataset.target).sum())
    if wrong:
        raise ModelError(
            f"the model's own predict does not confirm {wrong} of {len(found)} results: the oracle of model "
            f"{task.cell.model.label!r} is not exact; report this"
        )


def _measure(task: PreparedCell, record: Record, registry: Registry) -> tuple[str, ...]:
    """Measure the stored cell as its plan says; return a sentence for each metric that failed."""
    key = task.cell.info.key
    wanted = Metrics(task.plan.metrics, registry).missing(record.measured_of(key), task.cell.judged)
    measured = task.worker.measure(task.cell, record.rows(key), wanted)
    record.write_values(key, measured.values)
    return measured.complaints


def _verdict(one: GivenResult, x: FloatArray, judge: Judge, task: PreparedCell) -> Verdict:
    """Judge a result; it is invalid, too, if its factual is not that of its point, or it cannot be read."""
    difference = _difference(one, x, task.space)
    if difference:
        reason = f"the factual is not row {one.row} of the data set: {difference}{_where_else(one, task)}"
        return Verdict(Status.INVALID, reason)
    if one.z is None:
        return Verdict(Status.NOT_FOUND)
    if one.objection:
        return Verdict(Status.INVALID, one.objection)
    z = np.where(_same(one.z, x), x, one.z)
    verdict = judge.verdict(z, returns_sets=False)
    if verdict.status is not Status.INVALID or np.array_equal(z, x):
        return verdict
    return replace(verdict, reason=_by_labels(z, x, task) or verdict.reason)


def _by_labels(z: FloatArray, x: FloatArray, task: PreparedCell) -> str:
    """Say with labels instead of codes what is wrong with a counterfactual; empty if it is nothing about labels."""
    cell, dataset, space = task.cell, task.fitted_fold.dataset, task.space
    limits = {"constraints": cell.constraints, "respect_steps": cell.respect_steps}
    if space.is_feasible(z[np.newaxis], x, **limits)[0]:
        code = int(task.fitted_fold.oracle.predict(z[np.newaxis])[0])
        return f"its class is {dataset.class_labels[code]!r}, not the target {dataset.class_labels[dataset.target]!r}"
    if space.objection(z, x, constraints=False, respect_steps=cell.respect_steps) is not None:
        return ""
    now, before = as_texts(z, space), as_texts(x, space)
    broken = (
        f"{feature.name} = {now[i]!r} breaks the constraint '{feature.constraint}' on {before[i]!r}"
        for i, feature in enumerate(space.features)
        if feature.categories and feature.constraint is Constraint.FIXED and z[i] != x[i]
    )
    return next(broken, "")


def _where_else(one: GivenResult, task: PreparedCell) -> str:
    """Say which eligible row has the values of a factual; empty if none has."""
    X = task.fitted_fold.dataset.X
    row = next((int(row) for row in task.eligible if _same(one.x, X[row]).all()), None)
    return "" if row is None else f"; these are the values of row {row}, counted from 0"


def _matched(given: Sequence[GivenResult], task: PreparedCell) -> dict[tuple[int, int], GivenResult]:
    """Return the results by (point, repetition).

    A result without a row number belongs to the first point with its values that no earlier line has taken. Raises
    DataError with every line that belongs to no point, and every line that repeats another.
    """
    positions = {int(row): position for position, row in enumerate(task.eligible)}
    X = task.fitted_fold.dataset.X[task.eligible]
    found: dict[tuple[int, int], GivenResult] = {}
    problems = []
    for one in given:
        if one.row is not None:
            places = [positions[one.row]] if one.row in positions else []
            problem = "" if places else _why_not_eligible(one, task)
        else:
            places = np.flatnonzero(_same(X, one.x).all(axis=1)).tolist()
            problem = "" if places else _why_no_point(one, X, task)
        free = [(place, one.repetition) for place in places if (place, one.repetition) not in found]
        if free:
            found[free[0]] = one
        elif places:
            first = found[places[-1], one.repetition].place
            problem = (
                f"the same point and repetition as {first}; give one result of each search, and number several "
                "searches of a point in a column 'repetition', from 0"
            )
        if problem:
            problems.append(f"{one.place}: {problem}")
    if problems:
        raise refusal("the results", problems)
    return found


def _why_not_eligible(one: GivenResult, task: PreparedCell) -> str:
    """Say why the row of a result is not a point of the fold."""
    cell, dataset, row = task.cell, task.fitted_fold.dataset, one.row
    assert row is not None
    where = f"row {row} of {cell.dataset}"
    if row >= dataset.n:
        return f"there is no {where}: its rows are 0 to {dataset.n - 1}"
    own = next(fold for fold in range(N_FOLDS) if row in split(dataset, fold).test)
    if own != cell.fold:
        why = f"{where} is a test row of fold {own}, not of fold {cell.fold}: judge it with --fold {own}"
    else:
        label = dataset.class_labels[dataset.target]
        why = f"{where} has nothing to explain: {cell.model.label} puts it into the target class {label!r} already"
    return why + _where_else(one, task)


def _why_no_point(one: GivenResult, X: FloatArray, task: PreparedCell) -> str:
    """Say why the values of a factual without a row number are those of no point."""
    if one.unread:
        return f"the factual cannot be read: {one.unread}"
    cell = task.cell
    nearest = int(np.argmax(_same(X, one.x).sum(axis=1)))
    return (
        f"the factual is no eligible point of {cell.dataset}, fold {cell.fold}, model {cell.model.label}; the one "
        f"with the most equal values is row {task.eligible[nearest]}: {_difference(one, X[nearest], task.space)}"
    )


def _same(values: FloatArray, others: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.isclose(values, others, rtol=SAME, atol=0.0)


def _difference(one: GivenResult, x: FloatArray, space: FeatureSpace) -> str:
    """Say in what a factual is not `x`; empty if it is."""
    if one.unread:
        return one.unread
    differs = np.flatnonzero(~_same(one.x, x))
    if not len(differs):
        return ""
    first = int(differs[0])
    said, true = (as_texts(values, space)[first] for values in (one.x, x))
    more = f" (and {plural(len(differs) - 1, 'more feature')})" if len(differs) > 1 else ""
    return f"{space.names[first]} is {said}, and {true} there{more}"
