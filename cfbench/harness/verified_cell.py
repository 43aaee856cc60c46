"""What can be said of one cell's rows without any search: every result is judged again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cfbench.dataset import Dataset
from cfbench.harness.judge import Judge
from cfbench.harness.plan import Cell
from cfbench.harness.search import Ground, SearchTask, judge_of
from cfbench.harness.store.rows import Row
from cfbench.harness.variants import build_settings, make_variant
from cfbench.outcome import Status
from cfbench.registry import Registry
from cfbench.space import IntArray

JUDGED = ("loss", "gower", "l0", "cost", "objective_value")
"""The columns that the judge computes from `z`; they must come out bit for bit."""


def misnamed(cell: Cell, registry: Registry) -> str:
    """Say what readers see of a cell that its settings deny; empty where nothing, as of entries not registered here."""
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

    Points and repetitions are counted from 0: whoever searches with many seeds and keeps the best leaves gaps.
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
    cell: Cell, ground: Ground, rows: Sequence[Row], eligible: IntArray, registry: Registry
) -> Iterator[tuple[Row, str]]:
    """Yield the rows that cannot be true, each with the reason.

    Parameters
    ----------
    cell : Cell
    ground : Ground
        The data and the fitted model that the rows were found on.
    rows : sequence of dict
    eligible : ndarray of int
        The fold's eligible points.
    registry : Registry
    """
    objective = build_settings(registry.objective(cell.objective.name).entry.objective, cell.objective.settings)
    counterfactuals: list[Row] = []
    for row in rows:
        objection = _objection(row, cell, ground.dataset, eligible)
        if not objection and has_result(row):
            task = SearchTask(cell, row["point"], row["row_id"], row["repetition"])
            objection = _misjudged(row, judge_of(task, ground, objective))
            counterfactuals += [] if objection else [row]
        if objection:
            yield row, objection
    if counterfactuals:
        classes = ground.model.predict(np.array([row["z"] for row in counterfactuals]))
        for row, answer in zip(counterfactuals, classes, strict=True):
            if answer != ground.dataset.target:
                yield row, f"the model itself puts z into class {answer}, not {ground.dataset.target}"


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
        return f"of z as it stands there, other values come out for {', '.join(wrong)}"
    best = judge.choose(np.array(row["candidates"])).z if row["candidates"] else None
    return "" if best is not None and best.tolist() == row["z"] else "z is not the best of its candidates"
