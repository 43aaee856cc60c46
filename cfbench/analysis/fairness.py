"""What searchers of a table were given alike, and what not, a sentence each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cfbench.analysis.contest import Contest
from cfbench.analysis.scores import LEAST_FOUND, Losses
from cfbench.analysis.standings import Basis, Standing, State
from cfbench.harness.store.summary import CellSummary

SHOWN = 3
"""How many cases of one sentence are named; the others are counted."""


def limits(cells: Iterable[CellSummary]) -> str:
    """Say which limits searches had; empty where the cells do not say."""
    ran = [cell for cell in cells if cell.has_results]
    rows = _limit(ran, "query_budget", "query budget", lambda value: f"{value:,} rows")
    clock = _limit(ran, "time_limit", "time limit", lambda value: f"{value:g} s")
    return ", ".join(filter(None, [rows, clock]))


def unequal(contest: Contest, rows: Sequence[Standing], losses: Losses) -> list[str]:
    """Say which tasks and points are in no rank, and who is not ranked for want of them."""
    found = []
    asked = [arena for arena in contest.arenas if arena.places]
    out = [arena.label for arena in asked if not arena.counted.any()]
    if out:
        found.append(f"tasks in no rank, since half of the searchers or fewer were asked them: {listing(out)}")
    points = sum(int((~arena.counted).sum()) for arena in contest.in_play)
    if points:
        found.append(f"points in no rank, since half of the searchers or fewer were asked them: {points:,}")
    found += _left_out(rows, losses)
    total = len(contest.in_play)
    short = [f"{row.label} has {row.complete}" for row in rows if row.state is State.NOT_RANKED]
    if short and any(row.state is State.RANKED for row in rows):
        tasks = f"all {total:,} tasks" if total > 1 else "the task"
        found.append(f"not ranked, since they were not asked all points of {tasks}: {', '.join(short)}")
    lacking = [f"{row.label} {row.missing:,}" for row in rows if row.missing]
    if lacking:
        found.append(f"cells that others have and that were not run: {', '.join(lacking)}")
    return found


def _left_out(rows: Sequence[Standing], losses: Losses) -> list[str]:
    """Say who is ranked, and found too little for the others to be compared on it."""
    weak = [
        f"{row.label} ({row.found.k:,} of {row.found.n:,})"
        for row in rows
        if row.state is State.RANKED and row.entrant not in losses.compared
    ]
    if not weak or losses.basis is Basis.OWN_SUCCESSES:
        return []
    return [
        f"ranked, but in no loss and no metric, since less than {LEAST_FOUND:.0%} was found: {', '.join(weak)}; nobody "
        "could be compared on the little that they solved"
    ]


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


def listing(cases: Sequence[str]) -> str:
    """Name the first few of several cases, and count the others."""
    rest = len(cases) - SHOWN
    return "; ".join(cases[:SHOWN]) + (f"; and {rest} more" if rest > 0 else "")
