"""What searchers of a table were given alike, and what not, a note each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cfbench.analysis.contest import Contest
from cfbench.analysis.notes import Kind, Note, listing
from cfbench.analysis.scores import LEAST_FOUND, Losses
from cfbench.analysis.standings import Basis, Standing, State
from cfbench.harness.store.summary import CellSummary


def limits(cells: Iterable[CellSummary]) -> str:
    """Say which limits searches had; empty where the cells do not say."""
    ran = [cell for cell in cells if cell.has_results]
    rows = _limit(ran, "query_budget", "query budget", lambda value: f"{value:,} rows")
    clock = _limit(ran, "time_limit", "time limit", lambda value: f"{value:g} s")
    return ", ".join(filter(None, [rows, clock]))


def unequal(contest: Contest, rows: Sequence[Standing], losses: Losses) -> list[Note]:
    """Say which tasks and points are in no rank, and which searchers are not ranked because of missing points."""
    found = []
    asked = [arena for arena in contest.arenas if arena.places]
    out = [arena.label for arena in asked if not arena.counted.any()]
    if out:
        found.append(Note(Kind.TASKS_LEFT_OUT, listing(out, start="tasks in no rank, as few searchers did them: ")))
    points = sum(int((~arena.counted).sum()) for arena in contest.in_play)
    if points:
        found.append(
            Note(Kind.POINTS_LEFT_OUT, f"points in no rank, as few searchers have results for them: {points:,}")
        )
    found += _left_out(rows, losses)
    total = len(contest.in_play)
    short = [f"{row.label} {row.complete}" for row in rows if row.state is State.NOT_RANKED]
    if short and any(row.state is State.RANKED for row in rows):
        start = f"not ranked, as points are missing (complete tasks of {total:,}): "
        found.append(Note(Kind.NOT_RANKED, listing(short, start=start, join=", ")))
    lacking = [f"{row.label} {row.missing:,}" for row in rows if row.missing]
    if lacking:
        start = "cells that others have and that were not run: "
        found.append(Note(Kind.NOT_RUN, listing(lacking, start=start, join=", ")))
    return found


def _left_out(rows: Sequence[Standing], losses: Losses) -> list[Note]:
    """Say which searchers are ranked, and found too little for the others to be compared on it."""
    weak = [
        f"{row.label} ({row.found.k:,} of {row.found.n:,})"
        for row in rows
        if row.state is State.RANKED and row.entrant not in losses.compared
    ]
    if not weak or losses.basis is Basis.OWN_SUCCESSES:
        return []
    start = f"ranked, but in no loss and no metric, as less than {LEAST_FOUND:.0%} was found: "
    return [Note(Kind.NO_LOSS, listing(weak, start=start, join=", "))]


def _limit(cells: Sequence[CellSummary], key: str, name: str, written: Callable[[Any], str]) -> str:
    by_searcher: Mapping[str, set[str]] = defaultdict(set)
    for cell in cells:
        if key in cell.content:
            value = cell.content[key]
            by_searcher[cell.info.searcher].add("none" if value is None else written(value))
    views = {searcher: " and ".join(sorted(values)) for searcher, values in by_searcher.items()}
    if not views:
        return ""
    usual = Counter(views.values()).most_common(1)[0][0]
    others: dict[str, list[str]] = defaultdict(list)
    for searcher, view in sorted(views.items()):
        if view != usual:
            others[view].append(searcher)
    written_out = "; ".join(f"{view} for {', '.join(searchers)}" for view, searchers in others.items())
    return f"{name} {usual}" + (f" ({written_out})" if others else "")
