"""Verification of a record: every result is judged again, and a random sample of the searches is run again.

A record that somebody hands in says what was found; whether that is so can be seen without trusting anybody, since
searches are deterministic for one fitted model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cfbench.dataset import Dataset
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.harness.fitted import eligible_points
from cfbench.harness.plan import Cell
from cfbench.harness.search import Ground, SearchTask, judge_of
from cfbench.harness.store.record import Record
from cfbench.harness.store.rows import Row, checked_row
from cfbench.harness.store.schema import TIME_COLUMNS
from cfbench.harness.store.summary import CellSummary
from cfbench.harness.variants import Variant, build_settings
from cfbench.harness.worker import Worker
from cfbench.outcome import Status
from cfbench.registry import Registry
from cfbench.space import IntArray

ROWS = ("x", "z", "candidates")
"""The columns that a published record lacks where the data may not be passed on."""

JUDGED = ("loss", "gower", "l0", "cost", "objective_value")
"""The columns that the judge computes from `z`; they must come out bit for bit."""


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
    faults : list of str
        What is not as the record says, a sentence each.
    left_out : Counter of str
        Why searches could not be looked at, with their number.
    """

    cells: int = 0
    searches: int = 0
    judged: int = 0
    bare: int = 0
    ran_again: int = 0
    faults: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


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
        Searches to run again, chosen at random among those that the clock did not end.
    seed : int
        Of the choice.
    progress : callable
        Told how many cells of how many are judged.
    """
    found = Verification()
    summaries = [summary for summary in record.summaries().values() if summary.searches]
    summaries.sort(key=lambda summary: (summary.info.dataset, summary.info.fold, summary.info.model, summary.info.key))
    repeatable: list[tuple[Cell, Row]] = []
    for done, summary in enumerate(summaries):
        progress(done, len(summaries))
        found.cells += 1
        found.searches += summary.searches
        cell = _cell(summary)
        if digest_of(summary.content) != summary.info.key:
            found.faults.append(f"{_named(cell)}: its key is not the digest of what it says of itself")
            continue
        try:
            _check_versions(cell, registry, ("model", "objective"))
            ground = worker.ground(cell)
        except CfbenchError as error:
            found.left_out[str(error)] += summary.searches
            continue
        rows = sorted(record.rows(summary.info.key), key=lambda row: (row["point"], row["repetition"]))
        known = [row for row in rows if row["model_fingerprint"] == ground.fingerprint]
        if len(known) < len(rows):
            other = f"{cell.info.model} on {cell.info.dataset}, fold {cell.fold}, is fitted differently here"
            found.left_out[f"{other}; `cfbench fit` models can be copied from where the record was made"] += len(
                rows
            ) - len(known)
        found.faults += _judge(cell, ground, summary, known, registry, found)
        repeatable += [(cell, row) for row in known if row["status"] != Status.TIMED_OUT]
    progress(len(summaries), len(summaries))
    for place in sorted(np.random.default_rng(seed).permutation(len(repeatable))[:sample]):
        cell, row = repeatable[place]
        _run_again(cell, row, worker, registry, found)
    return found


def _judge(
    cell: Cell, ground: Ground, summary: CellSummary, rows: list[Row], registry: Registry, found: Verification
) -> Iterator[str]:
    """Yield what is wrong with a cell's rows, without any search."""
    dataset = ground.dataset
    objective = build_settings(registry.objective(cell.objective.name).entry.objective, cell.objective.settings)
    eligible = eligible_points(ground.model, dataset, ground.fold)
    if summary.eligible != len(eligible):
        yield f"{_named(cell)}: it says {summary.eligible} eligible points, and the fold has {len(eligible)}"
    results: list[Row] = []
    for row in rows:
        objection = _objection(row, dataset, eligible)
        if objection:
            yield f"{_where(cell, row)}: {objection}"
        elif row["z"] is not None and row["loss"] is not None:
            results.append(row)
        found.bare += row["z"] is None and row["loss"] is not None
    found.judged += len(results)
    for row in results:
        judge = judge_of(SearchTask(cell, row["point"], row["row_id"], row["repetition"]), ground, objective)
        verdict = judge.verdict(np.array(row["z"]), returns_sets=False)
        wrong = [name for name in JUDGED if getattr(verdict, name) != row[name]]
        if verdict.status is not Status.FOUND:
            yield f"{_where(cell, row)}: z is no counterfactual: {verdict.reason}"
        elif wrong:
            yield f"{_where(cell, row)}: of z as it stands there, other values come out for {', '.join(wrong)}"
    if results:
        classes = ground.model.predict(np.array([row["z"] for row in results]))
        for row, answer in zip(results, classes, strict=True):
            if answer != dataset.target:
                yield f"{_where(cell, row)}: the model itself puts z into class {answer}, not {dataset.target}"


def _objection(row: Row, dataset: Dataset, eligible: IntArray) -> str:
    """Say what a row contradicts before its result is looked at; empty where nothing."""
    if not (row["point"] < len(eligible) and eligible[row["point"]] == row["row_id"]):
        return f"row {row['row_id']} of the data set is not that eligible point"
    if row["x"] and row["x"] != dataset.X[row["row_id"]].tolist():
        return f"x is not row {row['row_id']} of the data set"
    if row["loss"] is None:
        return "it is called found, and has no loss" if row["status"] == Status.FOUND else ""
    succeeded = row["status"] in (Status.FOUND, Status.BUDGET_EXHAUSTED)
    return "" if succeeded else f"it has a loss, and is called {row['status']}"


def _run_again(cell: Cell, row: Row, worker: Worker, registry: Registry, found: Verification) -> None:
    try:
        _check_versions(cell, registry, ("searcher",))
        again = checked_row(worker.search(SearchTask(cell, row["point"], row["row_id"], row["repetition"])))
    except CfbenchError as error:
        found.left_out[str(error)] += 1
        return
    found.ran_again += 1
    unseen = {*TIME_COLUMNS, *(() if row["x"] else ROWS)}
    differing = [name for name in row if name not in unseen and row[name] != again[name]]
    if differing:
        found.faults.append(f"{_where(cell, row)}: run again, it gives other values of {', '.join(differing)}")


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


def _cell(summary: CellSummary) -> Cell:
    """Return the cell that a record tells of, as a plan would hold it."""
    content, info = summary.content, summary.info
    model, searcher, objective = (
        Variant(content[kind]["name"], content[kind]["settings"], label)
        for kind, label in (("model", info.model), ("searcher", info.searcher), ("objective", info.objective))
    )
    return Cell(
        info=info,
        dataset=content["dataset"]["name"],
        model=model,
        searcher=searcher,
        objective=objective,
        constraints=content["constraints"],
        fold=content["fold"],
        query_budget=content["query_budget"],
        time_limit=content["time_limit"],
        respect_steps=content["respect_steps"],
        seed=content["seed"],
        content=content,
        points=None,
        repetitions=summary.repetitions,
        searches=summary.searches,
    )


def _named(cell: Cell) -> str:
    info = cell.info
    constraints = ", constraints" if cell.constraints else ""
    return f"{info.searcher} on {info.dataset}, {info.model}, {info.objective}, fold {info.fold}{constraints}"


def _where(cell: Cell, row: Row) -> str:
    return f"{_named(cell)}, point {row['point']}, repetition {row['repetition']}"
