"""The page's tables: the ranked ones with what their rows open to, the heat table, and a card for each task."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from cfbench.analysis.aggregate import spending
from cfbench.analysis.board import Board
from cfbench.analysis.groups import bare_name
from cfbench.analysis.loss_alone import MARK, record_key
from cfbench.analysis.ranks import EQUAL
from cfbench.analysis.scores import LEAST_FOUND
from cfbench.analysis.standings import Basis, RankState, Standings, StandingsRow, TaskResult, TaskView
from cfbench.board.columns import StandingColumn, columns_of, page_columns, state_text
from cfbench.board.page.evidence import Example
from cfbench.board.text import ABSENT, decimal, share, short_seconds, whole, whole_change
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import Registry
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, Kind
from cfbench.study.plan import command_again
from cfbench.text import distinct_texts, plural, visible

RECOMPUTED = ("found", "rank", "objective", "loss", "wins")
"""What the page's script computes anew where tasks are filtered; other columns are hidden then."""

ON_A_PHONE = (("found",), ("rank",), ("objective", "loss"))
"""Columns that stay in the table on a phone, one of each; the others are in the opened row."""


def ranked_tables(board: Board, names: Sequence[str], registry: Registry) -> list[dict[str, Any]]:
    """Return what the template shows of the main table, and of the white boxes' if they are ranked among themselves."""
    whole, white = board.standings, board.white_standings
    titled = [("board", "Searchers", whole)]
    if white is not None and white is not whole:
        titled.append(("white-boxes", "White boxes", white))
    tables = []
    for name, title, standings in titled:
        columns = table_columns(standings, names)
        tables.append(
            {
                "name": name,
                "title": title,
                "what": "objective value" if standings.robust else "loss",
                "tested": any(row.group for row in standings.rows),
                "span": max(len(standings.ranked) - 1, 1),
                "headings": _headings(columns, names, registry),
                "lines": [_line(row, standings, board, columns, registry) for row in standings.rows],
                "data": filter_data(standings),
            }
        )
    return tables


def table_columns(standings: Standings, names: Sequence[str]) -> list[StandingColumn]:
    """Return the columns that are shown, without metrics that nothing was measured of; the notes tell of those."""
    metrics = {metric.label for metric in standings.metrics}
    left_out = {"objective"} if not standings.robust and "loss" in names else set()
    return [
        column
        for column in columns_of(standings, names)
        if column.name not in left_out
        and not column.column.part_of
        and (column.name not in metrics or any(column.value(row) is not None for row in standings.rows))
    ]


def _headings(columns: Sequence[StandingColumn], names: Sequence[str], registry: Registry) -> list[dict[str, Any]]:
    """Return the columns' headers. What the page shows by itself has further columns; what was asked for has none."""
    better = {"↑": "higher is better", "↓": "lower is better", "": ""}
    known = [column.name for column in columns]
    kept = [next((name for name in names if name in known), "") for names in ON_A_PHONE]
    kept = [name for name in kept if name] or known[: len(ON_A_PHONE)]
    has_further = set(page_columns(registry)) <= set(names)
    return [
        {
            "name": column.name,
            "title": column.title or column.name,
            "unit": column.bare_unit,
            "arrow": column.arrow,
            "better": better[column.arrow],
            "legend": column.explained,
            "secondary": column.name not in kept,
            "further": has_further and not column.column.default,
            "recomputed": column.name in RECOMPUTED,
        }
        for column in columns
    ]


def filter_data(standings: Standings) -> str:
    """Return what the page's script needs to compute a table of some tasks alone, as JSON.

    A task has the results that the table has: its ranks among the ranked searchers, and values on the points that all
    compared searchers solved. So a table of all tasks is the table itself. The script shows no values of tasks on which
    other searchers would be compared, those that found at least the share `least` there.
    """
    tasks = [
        {**{part.replace(" ", ""): value for part, value in view.task.parts.items()}, "points": view.points}
        for view in standings.tasks
    ]
    rows = []
    for row in standings.rows:
        results = [
            None
            if result is None or result.state not in ("ran", "partly")
            else [
                result.rank,
                result.found.k,
                result.found.n,
                result.against_best,
                result.objective_against_best,
                result.solved,
            ]
            for result in row.results
        ]
        compared = row.state in (RankState.RANKED, RankState.WHITE_BOX) or not standings.ranked
        rows.append({"ranked": row.state is RankState.RANKED, "blank": not compared, "results": results})
    least = 0.0 if standings.basis is Basis.OWN_SUCCESSES else LEAST_FOUND
    text = json.dumps({"least": least, "tasks": tasks, "rows": rows}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")  # nothing in it ends the element that it stands in


def _line(
    row: StandingsRow, standings: Standings, board: Board, columns: Sequence[StandingColumn], registry: Registry
) -> dict[str, Any]:
    """Return a row and what it opens to. A cell has its text, what it is sorted by, and what follows in small type."""
    cells = []
    for column in columns:
        text = column.text(row) or ABSENT
        value = column.value(row) if text != ABSENT else None
        detail = ""
        if column.name == "found":
            text = f"{row.found.k:,} of {row.found.n:,}" if row.found.n else ABSENT
            detail = f"({share(row.found.share)})" if row.found.n else ""
        elif column.name == "rank" and row.interval is not None:
            detail = f"({row.interval[0]:.1f} - {row.interval[1]:.1f})"
        cells.append({"text": text, "value": value, "detail": detail})
    groups = [(task, task.groups[row.searcher]) for task in board.matrix.tasks if row.searcher in task.groups]
    own = [cell for _, group in groups for cell in group.cells]
    known = registry.searchers.get(bare_name(row.searcher.name))
    alone = sum(group.loss_alone for _, group in groups)
    state = [state_text(row, standings), f"{MARK} on {plural(alone, 'task')}" if alone else ""]
    return {
        "row": row,
        "position": str(row.position).strip() if row.position else ABSENT,
        "label": visible(row.label),
        "state": "; ".join(filter(None, state)),
        "method": "" if known is None else visible(known.entry.summary),
        "url": "" if known is None else known.entry.url,
        "cells": cells,
        "facts": _facts(row, own, alone),
        "command": _command(own),
        "record": [(task.label, cell, record_key(cell)) for task, group in groups for cell in group.cells],
    }


def _facts(row: StandingsRow, own: list[CellSummary], alone: int) -> list[tuple[str, str]]:
    """Return terms with what the record says of a row, `alone` tasks of which were searched for the loss alone."""
    facts = []
    if row.why:
        facts.append(("not ranked", row.why))
    if alone:
        facts.append(("objectives", f"{MARK}, and judged under the task's objective: {plural(alone, 'task')}"))
    content: dict[str, Any] = own[0].content if own else {}
    searcher = content.get("searcher", {})
    settings = searcher.get("settings", {}) if isinstance(searcher, dict) else {}
    facts.append(("settings", ", ".join(f"{key} = {value}" for key, value in settings.items()) or "none"))
    versions: dict[str, set[str]] = {}
    for cell in own:
        for part, version in cell.info.versions.items():
            versions.setdefault(part, set()).add(version)
    facts.append(("versions", ", ".join(f"{part} {'/'.join(sorted(v))}" for part, v in sorted(versions.items()))))
    limits = [
        f"{what}: {'none' if content.get(key) is None else content[key]}"
        for key, what in (("query_budget", "query budget"), ("time_limit", "time limit in s"), ("seed", "seed"))
    ]
    facts.append(("limits", ", ".join(limits)))
    facts.append(("searches", ", ".join(f"{count:,} {status}" for status, count in row.statuses.items()) or "none"))
    cells = [plural(row.cells, "cell")]
    cells += [f"{n:,} {what}" for n, what in ((row.failed, "failed"), (row.skipped, "skipped")) if n]
    cells += [f"{row.missing:,} that others have are missing"] if row.missing else []
    facts.append(("cells", ", ".join(cells)))
    return [(term, visible(text)) for term, text in facts]


def _command(own: list[CellSummary]) -> str:
    """Return the command that runs a row's searches again; empty if they were made elsewhere."""
    if any(cell.info.not_run_here for cell in own):
        return ""
    ran = [cell for cell in own if not cell.skipped] or own
    points = max((max(cell.points, default=0) + 1 for cell in ran), default=1)
    repetitions = max((cell.repetitions for cell in ran), default=1) or 1
    command = command_again([cell.info for cell in ran], ran[0].content, points=points, repetitions=repetitions)
    return visible(command)


SHADES = ((0.001, 0), (0.05, 1), (0.25, 2), (1.0, 3), (4.0, 4))
"""Upper limits of the value relative to the best known one, each with its shade in the heat table; above: shade 5."""


def _heat(result: TaskResult | None, *, best: bool, alone: bool) -> dict[str, Any]:
    """Return the cell of a searcher on a task: its value above the best known one, or why there is none."""

    def cell(text: str, shade: str, words: str = "") -> dict[str, Any]:
        compared = shade != "gap"
        return {
            "text": text,
            "shade": shade,
            "words": words or text,
            "best": compared and best,
            "alone": compared and alone,
        }

    if result is None:
        return cell("not run", "gap")
    if result.state in ("failed", "skipped"):
        return cell(result.state, "gap")
    if result.found.n and not result.found.k:
        return cell("none found", "gap", f"0 of {result.found.n:,} found")
    value = result.objective_against_best
    words = f"{result.found.k:,} of {result.found.n:,} found{f'; {MARK}' if alone else ''}"
    if value is None:
        return cell(f"{result.found.k}/{result.found.n}", "plain", f"{words}; not compared")
    shade = next((shade for limit, shade in SHADES if value <= limit), 5)
    missing = "" if result.found.k == result.found.n else f" {result.found.k}/{result.found.n}"
    rank = "" if result.rank is None else f", mean rank {result.rank:.1f}"
    words = f"{whole_change(value)} compared with the best known, {words}{rank}{'; wins the task' if best else ''}"
    return cell(f"{whole_change(value)}{missing}", f"h{shade}", words)


def heat_table(board: Board) -> dict[str, Any]:
    """Return the heat table of a board, grouped by data set, white boxes with a table of their own included."""
    rows, results = _results(board)
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number, (view, task) in enumerate(zip(board.standings.tasks, board.matrix.tasks, strict=True)):
        of_task = results[view.label]
        alone = [row.searcher in task.groups and task.groups[row.searcher].loss_alone for row in rows]
        leaders = _leaders(view, of_task[: len(board.standings.rows)])
        cells = [_heat(result, best=at in leaders, alone=alone[at]) for at, result in enumerate(of_task)]
        key = view.task
        name = f"{key.model}, {key.objective}, constraints {key.parts['constraints']}"
        name = f"{name} ({view.setup})" if view.setup else name
        groups[key.dataset].append({"task": number, "name": name, "cells": cells})
    return {
        "searchers": [row.label for row in rows],
        "groups": list(groups.items()),
        "alone": any(cell["alone"] for members in groups.values() for row in members for cell in row["cells"]),
    }


def cards(board: Board, examples: Sequence[Example | None], spaces: Mapping[str, FeatureSpace]) -> list[dict[str, Any]]:
    """Return a card for each task: its searchers by their mean ranks, and what they found for one point."""
    rows, results = _results(board)
    white = {row.searcher for row in rows[len(board.standings.rows) :]}
    made = []
    for view, task, example in zip(board.standings.tasks, board.matrix.tasks, examples, strict=True):
        of_task = [(row, result) for row, result in zip(rows, results[view.label], strict=True) if result is not None]
        of_task.sort(key=lambda pair: (pair[1].rank is None, pair[0].searcher in white, pair[1].rank or 0.0))
        by_loss = view.task.objective == "none"
        lines = []
        for row, result in of_task:
            value = () if by_loss else (whole_change(result.objective_against_best),)
            spent = spending(task.groups[row.searcher].ran)
            rank = ABSENT if result.rank is None else f"{result.rank:.1f}"
            mark = f" ({MARK})" if task.groups[row.searcher].loss_alone else ""
            lines.append(
                (
                    row.label + mark,
                    f"{rank} of the white boxes" if row.searcher in white and rank != ABSENT else rank,
                    _count(result),
                    *value,
                    whole_change(result.against_best),
                    short_seconds(spent.seconds),
                    whole(spent.queries),
                )
            )
        objective = () if by_loss else ("objective vs best",)
        what, space = "loss" if by_loss else "objective value", spaces.get(view.task.dataset)
        made.append(
            {
                "title": view.label,
                "points": _points(view),
                "header": ("searcher", "rank", "found", *objective, "loss vs best", "s/search", "queries"),
                "rows": lines,
                "example": _which(example),
                "found": [
                    (row.label, f"{what} {decimal(value)}", _changes(example.x, z, space))
                    for row in rows
                    if example is not None and len(example.x) and row.searcher in example.found
                    for z, value in [example.found[row.searcher]]
                ],
            }
        )
    return made


def _results(board: Board) -> tuple[list[StandingsRow], dict[str, list[TaskResult | None]]]:
    """Return the rows of all tables, and by the label of a task their results, in this order."""
    tables = [board.standings]
    if board.white_standings is not None and board.white_standings is not board.standings:
        tables.append(board.white_standings)
    rows = [row for table in tables for row in table.rows]
    found = []
    for table in tables:
        labels = [view.label for view in table.tasks]
        found += [dict(zip(labels, row.results, strict=True)) for row in table.rows]
    return rows, {view.label: [own.get(view.label) for own in found] for view in board.standings.tasks}


def _leaders(view: TaskView, results: Sequence[TaskResult | None]) -> set[int]:
    """Return which results win a task."""
    ranks = {at: one.rank for at, one in enumerate(results) if one is not None and one.rank is not None}
    found = any(one is not None and one.rank is not None and one.found.k for one in results)
    if not view.points or not found:
        return set()
    least = min(ranks.values())
    return {at for at, rank in ranks.items() if rank <= least + EQUAL}


def _count(result: TaskResult) -> str:
    if result.state in ("failed", "skipped"):
        return result.state
    return f"{result.found.k:,} of {result.found.n:,} ({share(result.found.share)})" if result.found.n else ABSENT


def _points(view: TaskView) -> str:
    if not view.points:
        return "too few searchers ran on its points for them to count in ranks"
    return (
        f"{view.points:,} points count in ranks; every searcher that is compared solved {view.shared:,} of them, and "
        "values are compared on these"
    )


def _which(example: Example | None) -> str:
    if example is None:
        return "no searcher found a counterfactual"
    if not len(example.x):
        return "the rows of this data set may not be passed on, so that no example is shown"
    return f"row {example.row_id} of the data set, fold {example.fold}"


def _changes(x: FloatArray, z: FloatArray, space: FeatureSpace | None) -> list[tuple[str, str, str]]:
    changes = []
    for i in range(len(x)):
        if x[i] == z[i]:
            continue
        if space is None or space.d != len(x):
            now, then = distinct_texts(x[i], z[i])
            changes.append((f"feature {i + 1}", now, then))
        else:
            changes.append((space.features[i].name, *_values(space.features[i], x[i], z[i])))
    return changes


def _values(feature: FeatureSpec, before: float, after: float) -> tuple[str, str]:
    if feature.kind is Kind.CATEGORICAL:
        inside = range(feature.n_categories)
        shown = [feature.categories[int(code)] if code in inside else ABSENT for code in (before, after)]
        return shown[0], shown[1]
    now, then = distinct_texts(before, after)
    unit = f" {feature.unit}" if feature.unit else ""
    return f"{now}{unit}", f"{then}{unit}"
