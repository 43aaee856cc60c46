"""One point of a data set's fold, explained: the search that a study makes, run or read from its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cfbench.caches import cache_dir
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.explaining.explained_row import explanation_of
from cfbench.explaining.explanation import Explanation
from cfbench.explaining.hazards import DRAWS
from cfbench.problem.outcome import Status
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry
from cfbench.running.executors.local import Job, SerialExecutor
from cfbench.running.objective_measures import objective_measure
from cfbench.running.search import FittedFold, SearchTask
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.space.dataset import N_FOLDS, split
from cfbench.study.plan import Cell, Plan, judged_notes, make_plan
from cfbench.study.study import make_study
from cfbench.study.variants import Variant


@dataclass(frozen=True, eq=False)
class Recorded:
    """A search that a record holds."""

    row: Mapping[str, Any]
    cell_key: str
    repetition: int
    repetitions: int


@dataclass(frozen=True, eq=False)
class Lookup:
    """The content of a record about one search."""

    found: Recorded | None
    other_model: bool
    problems: tuple[str, ...]


def look_up(
    path: Path,
    cell: Cell,
    row_id: int,
    fingerprint: str,
    judged: Callable[[pd.DataFrame], pd.DataFrame] = lambda searches: searches,
) -> Lookup:
    """Look for the searches of a point in the record at `path`.

    A cell counts that differs in nothing that changes a result: any time limit will do, since a search that was not
    ended by the clock is the same with and without one. A point's result is its repetition with the smallest
    objective value.

    Raises RecordError if there is no record of this version.
    """
    other_model = False
    with Record.open(path) as record:
        wanted = _without_limit(cell.content)
        keys = [key for key, summary in record.summaries().items() if _without_limit(summary.content) == wanted]
        for key in dict.fromkeys([cell.info.key, *keys]):
            searches = record.searches(key)
            searches = searches[(searches["row_id"] == row_id) & (searches["status"] != Status.TIMED_OUT)]
            known = searches[searches["model_fingerprint"] == fingerprint]
            other_model |= len(known) < len(searches)
            if len(known):
                known = judged(known)
                place = known["objective_value"].fillna(float("inf")).argmin()
                best = {name: known[name].iloc[int(place)] for name in map(str, known.columns)}
                found = Recorded(best, key, int(best["repetition"]), len(known))
                return Lookup(found, other_model, tuple(record.problems))
        return Lookup(None, other_model, tuple(record.problems))


def _without_limit(content: Mapping[str, Any]) -> str:
    return digest_of({key: value for key, value in content.items() if key != "time_limit"})


@dataclass(frozen=True)
class Place:
    """The case to explain."""

    point: int | None = None
    row: int | None = None


def explain_point(
    place: Place,
    study: Mapping[str, Any],
    registry: Registry,
    source: DataSource,
    *,
    results: Path | None = None,
    draws: int = DRAWS,
    remark: Callable[[str], None] = lambda _: None,
) -> Explanation:
    """Explain one point like a study: same seed, same search, same judge.

    Raises CfbenchError if a name is unknown, the searcher does not support what is asked for, there is no such point,
    or the model puts the case into the target class already.
    """
    plan = make_plan(make_study({"repetitions": 1, "metrics": [], **study}, "explain"), registry, source)
    judged = judged_notes(plan.cells)  # the explanation says so itself, and adds no cell
    for note in plan.notes:
        if note not in judged:
            remark(note)
    (cell,) = plan.cells
    worker = Worker(WorkerSetup(registry.options, source, cache_dir()), registry, told=remark)
    with closing(SerialExecutor(worker)) as executor:  # it holds numerical libraries to one thread, as in a run
        prepared = executor.submit(0, Job("prepare", (cell,))).result()
        fitted_fold = worker.fitted_fold(cell)
        point, row_id = _located(place, cell, fitted_fold, prepared.row_ids)
        recorded = None
        if results is not None:
            lookup = look_up(results, cell, row_id, prepared.fingerprint, partial(_judged, cell, executor))
            recorded = lookup.found
            for problem in lookup.problems:
                remark(problem)
            if recorded is None and lookup.other_model:
                remark(f"{results} holds this search with another fitted model; it is repeated with the model here")
        if recorded:
            row = recorded.row
        else:
            row = executor.submit(0, Job("search", (SearchTask(cell, point, row_id, 0),))).result()
            row = {**row, "objective_value": _judged(cell, executor, pd.DataFrame([row]))["objective_value"].iloc[0]}
        _confirm(row, cell, executor, fitted_fold)
    labels = fitted_fold.dataset.class_labels
    about = _about(plan, cell, point, row_id, len(prepared.row_ids), recorded, results)
    return explanation_of(
        row,
        replace(cell, objective=_asked(cell)),
        fitted_fold.dataset.space,
        fitted_fold.dataset.target,
        labels,
        fitted_fold.oracle.predict,
        draws=draws,
        about=about,
        heading=_heading(about),
        model=fitted_fold.model,
    )


def _asked(cell: Cell) -> Variant:
    """Return the requested objective: that of the search, or the one that its result is judged under."""
    return cell.judged[0] if cell.judged else cell.objective


def _judged(cell: Cell, executor: SerialExecutor, searches: pd.DataFrame) -> pd.DataFrame:
    """Return searches with their value under the requested objective."""
    if not cell.judged:
        return searches
    measured = executor.submit(0, Job("measure", (cell, searches, (objective_measure(_asked(cell)),)))).result()
    if measured.complaints:
        raise CfbenchError(measured.complaints[0])
    return searches.assign(objective_value=measured.table["value"].to_numpy())


def _located(place: Place, cell: Cell, fitted_fold: FittedFold, row_ids: tuple[int, ...]) -> tuple[int, int]:
    """Return the case's position among the eligible points, and its row."""
    where = f"fold {cell.fold} of {cell.dataset}"
    if place.point is not None:
        if not 0 <= place.point < len(row_ids):
            raise StudyError(
                f"there is no point {place.point}: {where} has {len(row_ids)} eligible points, test rows that "
                f"{cell.model.label} does not put into the target class; they are numbered from 0 to {len(row_ids) - 1}"
            )
        return place.point, row_ids[place.point]
    row, dataset = place.row, fitted_fold.dataset
    assert row is not None
    if not 0 <= row < dataset.n:
        raise StudyError(
            f"there is no row {row}: {cell.dataset} has {dataset.n} rows, numbered from 0 to {dataset.n - 1}"
        )
    if row not in fitted_fold.fold.test:
        (fold,) = [number for number in range(N_FOLDS) if row in split(dataset, number).test]
        raise StudyError(
            f"row {row} is a training row of {where}, and only test rows are explained; it is a test row of fold {fold}"
        )
    if row not in row_ids:
        raise StudyError(
            f"{cell.model.label} puts row {row} of {cell.dataset} into the target class "
            f"{dataset.class_labels[dataset.target]!r} already: there is nothing to explain. {where} has "
            f"{len(row_ids)} eligible points, the first of them row {row_ids[0]}"
        )
    return row_ids.index(row), row


def _confirm(row: Mapping[str, Any], cell: Cell, executor: SerialExecutor, fitted_fold: FittedFold) -> None:
    """Compare a result with the model's own predict, as a run does before it finishes a cell."""
    if row["loss"] is None or np.isnan(row["loss"]):
        return
    z = np.asarray(row["z"], dtype=np.float64)[np.newaxis]
    (found,) = executor.submit(0, Job("confirm", (cell, z))).result()
    if found != fitted_fold.dataset.target:
        raise CfbenchError(
            f"the model's own predict puts the result into "
            f"class {fitted_fold.dataset.class_labels[found]!r}, not into the "
            f"target; the oracle of model {cell.model.label!r} is not exact: report this"
        )


def _about(
    plan: Plan, cell: Cell, point: int, row_id: int, points: int, recorded: Recorded | None, results: Path | None
) -> dict[str, Any]:
    found = None
    if recorded is not None:
        found = {
            "results": str(results),
            "cell": recorded.cell_key,
            "repetition": recorded.repetition,
            "repetitions": recorded.repetitions,
        }
    return {
        "dataset": cell.dataset,
        "user": plan.datasets[cell.dataset].user,
        "model": cell.model.label,
        "fold": cell.fold,
        "point": point,
        "points": points,
        "row": row_id,
        "seed": cell.seed,
        "searched_for": cell.objective.label,
        "judged_under": _asked(cell).label,
        "record": found,
    }


def _heading(about: Mapping[str, Any]) -> tuple[str, ...]:
    case = (
        f"{about['dataset']}, {about['model']}, fold {about['fold']}: point {about['point']} of {about['points']:,} "
        f"(row {about['row']})"
    )
    lines = [case]
    if about["judged_under"] != about["searched_for"]:
        searched = f"objective {about['searched_for']}"
        lines.append(f"searched for the loss alone ({searched}), and judged under objective {about['judged_under']}")
    recorded = about["record"]
    if recorded is None:
        return tuple(lines)
    of = "" if recorded["repetitions"] == 1 else f", the best of {recorded['repetitions']}"
    return (*lines, f"read from the record {recorded['results']}: repetition {recorded['repetition']}{of}")
