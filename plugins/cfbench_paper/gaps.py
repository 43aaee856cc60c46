"""Gaps to the proven optimum, and the parts of the paper's experiments that a record lacks."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cfbench.analysis import bare_name
from cfbench.record import CellSummary
from cfbench_paper.evidence import Evidence, PaperCells, Place
from cfbench_paper.presets import OBJECTIVES, REFERENCE, SAMPLES
from cfbench_paper.tables import (
    DATASETS,
    MODELS,
    N_FOLDS,
    SEARCHERS,
    ReportTable,
    TableCell,
    TableRow,
    decimal,
    rows_where,
)

POINTS = 10
"""Points a fold that a first comparison takes."""


@dataclass(frozen=True)
class Gaps:
    """What is missing."""

    coverage: tuple[str, ...]  # what the record has, in sentences
    missing: tuple[str, ...]  # the cells that it lacks on its own folds, grouped
    cells: int  # how many these are
    run: tuple[str, ...]  # commands that run them
    # Metrics that some cells lack, with the number of these cells; the variants of one metric together.
    unmeasured: tuple[str, ...]
    measure: str  # the command that measures them, and what the missing cells will lack; empty where nothing is missing
    whole: str  # the command that runs everything as the paper did


def gaps(evidence: Evidence, results: Path, command: str = "cfbench") -> Gaps:
    """Return what a record lacks.

    `results`: the record's directory. `command`: how the user calls cfbench.
    """
    selection = evidence.selection
    absent = [place for place in matrix(selection.folds) if place not in selection.cells]
    where = ["--results", str(results)]
    measure = shlex.join([command, "measure", "--preset", "paper", *where])
    unmeasured = tuple(_by_metric(evidence.unmeasured))
    return Gaps(
        coverage=tuple(_coverage(selection)),
        missing=tuple(_grouped(absent, selection)),
        cells=len(absent),
        run=tuple(shlex.join([command, *options, *where]) for options in _runs(absent, selection)),
        unmeasured=unmeasured,
        measure=measure if unmeasured or absent else "",
        whole=shlex.join([command, "run", "--preset", "paper", *where]),
    )


def first_commands(results: Path, command: str = "cfbench") -> str:
    """Say how to make a record for a first comparison (one fold, a few points, a search each), and a whole one."""
    chosen = [place for place in matrix((0,)) if place[4] and place[3] in OBJECTIVES]
    where = ["--results", str(results)]
    options = [*_axes(chosen), "--points", str(POINTS), "--repetitions", "1"]
    return (
        "For a first comparison, in minutes, run\n"
        f"  {shlex.join([command, 'run', *options, *where])}\n"
        f"  {shlex.join([command, 'measure', '--preset', 'paper', *where])}\n"
        "or everything as in the paper, in days, with\n"
        f"  {shlex.join([command, 'run', '--preset', 'paper', *where])}"
    )


def matrix(folds: Iterable[int]) -> list[Place]:
    """Return all cells of the paper's experiments on some folds: robustness first, then the searchers."""
    robust = [
        (dataset, model, REFERENCE, objective, True, fold)
        for objective in (*OBJECTIVES, *SAMPLES)
        for dataset in DATASETS
        for model in MODELS
        for fold in folds
    ]
    searching = [
        (dataset, model, searcher, "none", False, fold)
        for searcher in SEARCHERS
        for dataset in DATASETS
        for model in MODELS
        for fold in folds
    ]
    return [*robust, *searching]


def _coverage(selection: PaperCells) -> Iterator[str]:
    for what, cells in (("robustness", selection.robust), ("the searchers", selection.searching)):
        if not cells:
            yield f"Nothing on {what}: no cell with constraints {'on' if what == 'robustness' else 'off'}."
            continue
        folds = sorted({cell.info.fold for cell in cells})
        points = _span(len(cell.row_ids) for cell in cells)
        eligible = _span(cell.eligible for cell in cells)
        repetitions = _span(cell.repetitions for cell in cells)
        fewest = min(cell.repetitions for cell in cells)
        taken = f"; comparisons of results take the first {fewest}" if str(fewest) != repetitions else ""
        yield (
            f"On {what}: {len(cells)} cells; fold{'s' if len(folds) > 1 else ''} {', '.join(map(str, folds))} of 0 to "
            f"{N_FOLDS - 1}; {points} points per cell, of {eligible} eligible ones; {repetitions} of the "
            f"paper's 5 repetitions per point{taken}."
        )
    if selection.other_setups:
        yield (
            f"{selection.other_setups} cells of the same kind have another seed, budget or version than most and are "
            "in no number."
        )
    if selection.passed_over:
        yield (
            f"{selection.passed_over} cells are not the paper's (other data sets, models, searchers or settings): "
            "`cfbench leaderboard` shows them."
        )


def _by_metric(unmeasured: Mapping[str, int]) -> Iterator[str]:
    """Name the metrics that cells lack, the variants of each counted."""
    variants: dict[str, list[int]] = defaultdict(list)
    for label, cells in sorted(unmeasured.items()):
        variants[bare_name(label)].append(cells)
    for name, counts in variants.items():
        several = f", {len(counts)} variants" if len(counts) > 1 else ""
        yield f"{name}{several} (in {_span(counts)} {'cell' if set(counts) == {1} else 'cells'})"


def _grouped(absent: Sequence[Place], selection: PaperCells) -> Iterator[str]:
    """Name the missing cells, those of one searcher and objective together."""
    groups: dict[tuple[str, str, bool, str], dict[str, list[tuple[str, int]]]] = {}
    for place in absent:
        dataset, model, searcher, objective, constraints, fold = place
        group = searcher, objective, constraints, selection.without_results.get(place, "")
        groups.setdefault(group, {}).setdefault(dataset, []).append((model, fold))
    for (searcher, objective, constraints, reason), by_dataset in groups.items():
        alike: dict[str, list[str]] = defaultdict(list)
        for dataset, cells in by_dataset.items():
            models = " and ".join(MODELS[name] for name in dict.fromkeys(model for model, _ in cells))
            folds = sorted({fold for _, fold in cells})
            alike[f"{models}, fold{'s' if len(folds) > 1 else ''} {', '.join(map(str, folds))}"].append(dataset)
        where = "; ".join(f"{', '.join(DATASETS[name] for name in names)} ({what})" for what, names in alike.items())
        task = f"objective {objective}, constraints {'on' if constraints else 'off'}"
        yield f"{SEARCHERS[searcher]}, {task}{f', {reason}' if reason else ''}: {where}"


def _runs(absent: Sequence[Place], selection: PaperCells) -> Iterator[list[str]]:
    """Yield the options of runs that cover the missing cells; cells inside that are there already cost nothing."""
    for constraints in (True, False):
        block = [place for place in absent if place[4] is constraints]
        if block:
            like = (selection.robust if constraints else selection.searching) or [*selection.cells.values()]
            yield ["run", *_axes(block), *_extent(like)]


def _axes(places: Sequence[Place]) -> list[str]:
    names = ("--dataset", "--model", "--searcher", "--objective")
    options = [
        part
        for axis, name in enumerate(names)
        for value in dict.fromkeys(place[axis] for place in places)
        for part in (name, str(value))
    ]
    folds = [part for fold in sorted({place[5] for place in places}) for part in ("--fold", str(fold))]
    return [*options, "--constraints", "on" if places[0][4] else "off", *folds]


def _extent(cells: Sequence[CellSummary]) -> list[str]:
    """Return the options that make further cells comparable with those of the record."""
    content = cells[0].content
    options = ["--points", str(max(len(cell.row_ids) for cell in cells))]
    options += ["--repetitions", str(min(cell.repetitions for cell in cells)), "--seed", str(content["seed"])]
    if content["time_limit"] is not None:
        options += ["--time-limit", str(content["time_limit"])]
    budgets = {cell.info.searcher: cell.content["query_budget"] for cell in cells}
    if budgets.get(REFERENCE) is not None:  # it has none of its own, others have
        options += ["--query-budget", str(budgets[REFERENCE])]
    if content["respect_steps"]:
        options.append("--respect-steps")
    return options


def _span(numbers: Iterable[int]) -> str:
    ordered = sorted(set(numbers))
    return str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


OPTIMAL = 0.001
"""A relative gap up to which a result counts as optimal."""


def gap_table(optimum: pd.DataFrame) -> ReportTable:
    """Return the gap by data set, of one search and of the best of a point's searches.

    `optimum`: as :class:`~cfbench_paper.evidence.Evidence` has it.
    """
    rows = []
    for constraints in (False, True):
        for dataset, short in DATASETS.items():
            mine = rows_where(optimum, dataset=dataset, constraints=constraints).dropna(subset="gap")
            for several in (False, True):
                chosen = mine[(mine["searches"] == mine["of"]) if several else (mine["searches"] == 1)]
                if len(chosen) and not (several and (chosen["of"] == 1).all()):
                    text = f"best of {_span(chosen['of'])}" if several else "one search"
                    rows.append(TableRow((short, "on" if constraints else "off", text), _entries(chosen)))
    return ReportTable(
        "gap-to-the-optimum",
        "CoGS next to the proven optimum",
        "Relative gap of the loss, (loss - optimum) / optimum, on random forests, for points with a proven optimum or "
        "a lower bound; lower is better. One search: the mean over a point's searches, then over points.",
        ("data set", "constraints", "searches"),
        ("mean gap", f"optimal (gap of {OPTIMAL:g} or less)"),
        tuple(rows),
        ("The paper knows no optimum: it calls CoGS's results near-optimal, the best of five searches.",),
    )


def _entries(rows: pd.DataFrame) -> tuple[TableCell, TableCell]:
    points = rows.groupby(["fold", "row_id"])["gap"]
    gap = float(points.mean().mean())
    optimal = float(points.apply(lambda values: float(np.mean(values <= OPTIMAL))).mean())
    n = f"n = {len(points)}"
    return (
        TableCell(f"{decimal(100 * gap)} %", n, numbers={"mean": gap, "n": len(points)}),
        TableCell(f"{decimal(100 * optimal, 0)} %", n, numbers={"share": optimal, "n": len(points)}),
    )
