"""One point of a data set's fold, explained: the search that a study makes, run or read from its record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cfbench.caches import cache_dir
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.explaining.explanation import Explanation, explanation_of
from cfbench.explaining.perturbation_effects import DRAWS
from cfbench.problem.outcome import Status
from cfbench.record.schema import Row
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry
from cfbench.running.executors.local import Job, SerialExecutor
from cfbench.running.measure import objective_measure
from cfbench.running.search import FittedFold, SearchTask
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.space.dataset import N_FOLDS, split
from cfbench.study.plan import Cell, judged_notes, make_plan
from cfbench.study.study import make_study


def explain_point(
    study: Mapping[str, Any],
    registry: Registry,
    source: DataSource,
    *,
    point: int | None = None,
    row: int | None = None,
    results: Path | None = None,
    remark: Callable[[str], None],
) -> Explanation:
    """Explain one point like a study: same seed, same search, same judge.

    `study` holds the keys of a study of one cell. The case is number `point` of the fold's eligible points, or `row` of
    the data set, both from 0. If the record `results` holds the search, that is shown and nothing is searched. `remark`
    receives what a reader should know, a sentence at a time.

    Raises CfbenchError if a name is unknown, the searcher does not support the cell, there is no such point, or the
    model puts the case into the target class already.
    """
    plan = make_plan(make_study({"repetitions": 1, "metrics": [], **study}, "explain"), registry, source)
    judged = judged_notes(plan.cells)  # the explanation says so itself, and adds no cell
    for note in plan.notes:
        if note not in judged:
            remark(note)
    (cell,) = plan.cells
    objective = cell.judged[0] if cell.judged else cell.objective
    worker = Worker(WorkerSetup(registry.options, source, cache_dir()), registry, told=remark)
    with closing(SerialExecutor(worker)) as executor:  # it holds numerical libraries to one thread, as in a run

        def under_objective(rows: list[Row]) -> list[Row]:
            """Return searches with their value under the objective, if their own search minimised the loss alone."""
            if not cell.judged:
                return rows
            measured = executor.submit(0, Job("measure", (cell, rows, (objective_measure(objective),)))).result()
            if measured.complaints:
                raise CfbenchError(measured.complaints[0])
            (values,) = measured.values.values()
            return [
                {**row, "objective_value": None if np.isnan(value) else float(value)}
                for row, value in zip(rows, values, strict=True)
            ]

        prepared = executor.submit(0, Job("prepare", (cell,))).result()
        fitted_fold = worker.fitted_fold(cell)
        point, row_id = _located(point, row, cell, fitted_fold, prepared.row_ids)
        known, place, preparation = None, None, None
        if results is not None:
            known, place = _recorded(results, cell, row_id, prepared.fingerprint, under_objective, remark)
        if known is None:
            task = SearchTask(cell, point, row_id, 0)
            preparation = executor.submit(0, Job("prepare_searches", (cell,))).result()
            searched = executor.submit(0, Job("search", (task,))).result()
            (known,) = under_objective([searched])
        _confirm(known, cell, executor, fitted_fold)
    about = {
        "dataset": cell.dataset,
        "user": plan.datasets[cell.dataset].user,
        "model": cell.model.label,
        "fold": cell.fold,
        "point": point,
        "points": len(prepared.row_ids),
        "row": row_id,
        "seed": cell.seed,
        "searched_for": cell.objective.label,
        "judged_under": objective.label,
        "record": place,
    }
    return explanation_of(
        known,
        replace(cell, objective=objective),
        fitted_fold.dataset.space,
        fitted_fold.dataset.target,
        fitted_fold.dataset.class_labels,
        fitted_fold.oracle.predict,
        draws=DRAWS,
        about=about,
        heading=_heading(about),
        model=fitted_fold.model,
        preparation=preparation,
    )


def _recorded(
    results: Path,
    cell: Cell,
    row_id: int,
    fingerprint: str,
    under_objective: Callable[[list[Row]], list[Row]],
    remark: Callable[[str], None],
) -> tuple[Mapping[str, Any] | None, dict[str, Any] | None]:
    """Return the best search of a point that a record holds, and where it is; None and None if it holds none.

    A cell counts that differs in nothing that changes a result: any time limit will do, since a search that was not
    ended by the clock is the same with and without one. A point's result is its repetition with the smallest
    objective value.
    """
    other_model = False
    with Record.open(results) as record:
        wanted = _without_limit(cell.content)
        keys = [key for key, summary in record.summaries().items() if _without_limit(summary.content) == wanted]
        best, place = None, None
        for key in dict.fromkeys([cell.info.key, *keys]):
            rows = [r for r in record.rows(key) if r["row_id"] == row_id and r["status"] != Status.TIMED_OUT]
            known = [row for row in rows if row["model_fingerprint"] == fingerprint]
            other_model |= len(known) < len(rows)
            if known:
                best = min(
                    under_objective(known),
                    key=lambda row: math.inf if row["objective_value"] is None else row["objective_value"],
                )
                counts = {"repetition": best["repetition"], "repetitions": len(known)}
                place = {"results": str(results), "cell": key, **counts}
                break
        for problem in record.problems:
            remark(problem)
    if best is None and other_model:
        remark(f"{results} holds this search with another fitted model; it is repeated with the model here")
    return best, place


def _without_limit(content: Mapping[str, Any]) -> str:
    return digest_of({key: value for key, value in content.items() if key != "time_limit"})


def _located(
    point: int | None, row: int | None, cell: Cell, fitted_fold: FittedFold, row_ids: tuple[int, ...]
) -> tuple[int, int]:
    """Return the case's position among the eligible points, and its row."""
    where = f"fold {cell.fold} of {cell.dataset}"
    if point is not None:
        if not 0 <= point < len(row_ids):
            raise StudyError(
                f"there is no point {point}: {where} has {len(row_ids)} eligible points, test rows that "
                f"{cell.model.label} does not put into the target class; they are numbered from 0 to {len(row_ids) - 1}"
            )
        return point, row_ids[point]
    dataset = fitted_fold.dataset
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


def _heading(about: Mapping[str, Any]) -> tuple[str, ...]:
    lines = [
        f"{about['dataset']}, {about['model']}, fold {about['fold']}: point {about['point']} of {about['points']:,} "
        f"(row {about['row']})"
    ]
    if about["judged_under"] != about["searched_for"]:
        searched = f"objective {about['searched_for']}"
        lines.append(f"searched for the loss alone ({searched}), and judged under objective {about['judged_under']}")
    recorded = about["record"]
    if recorded is not None:
        of = "" if recorded["repetitions"] == 1 else f", the best of {recorded['repetitions']}"
        lines.append(f"read from the record {recorded['results']}: repetition {recorded['repetition']}{of}")
    return tuple(lines)
