"""Renderings of a comparison of two: table, markdown, CSV, JSON, all of the same numbers."""

from __future__ import annotations

import json
import math
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cfbench.analysis.groups import bare_name
from cfbench.analysis.pairwise import (
    FEWEST,
    RESAMPLES,
    PairedPoint,
    PairedTask,
    PairwiseResult,
    farthest,
    one_sided,
    reservations,
    score,
)
from cfbench.analysis.ranks import Tolerance
from cfbench.board.text import csv_text, markdown_table, text_table
from cfbench.text import markdown_cell, visible

ABSENT = "-"
HEADER = ("task", "points", "wins", "ties", "losses", "difference", "95 % interval", "on")
ROUNDING = 1e-9
"""What is smaller is written as nothing: it comes of rounding."""
OUTCOMES = {1: "win", 0: "tie", -1: "loss"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is shown."""

    first: str
    second: str
    record: str  # where both come from; empty where the sides are records themselves
    tasks: Sequence[PairedTask]
    unmet: Sequence[str]  # what of either side met nothing, a sentence each
    shown: int  # how many points are listed where the two differ most
    program: str = "cfbench"  # what the user types for ``cfbench``

    @property
    def tolerance(self) -> Tolerance:
        """How far apart values may be that count as ties."""
        return self.tasks[0].tolerance


def render_table(comparison: Comparison, width: int) -> str:
    """Return the comparison as plain text of at most `width` columns where its names allow it."""
    lines = _wrapped(_headline(comparison), width)
    lines += ["", *text_table(HEADER, [[visible(cell) for cell in row] for row in _rows(comparison)], width), ""]
    for sentence in _legend(comparison):
        lines += _wrapped(sentence, width)
    header, rows = _apart(comparison)
    if rows:
        lines += ["", *_wrapped("Points where they differ most, of those that both solved:", width)]
        lines += text_table(header, [[visible(cell) for cell in row] for row in rows], width)
    for sentence in _alone(comparison):
        lines += _wrapped(sentence, width)
    hint = _hint(comparison)
    if hint:
        lines += ["", "To look at the first of them:", f"  {hint}"]
    for note in _notes(comparison):
        lines += _wrapped(f"Note: {note}", width)
    return "\n".join(lines) + "\n"


def render_markdown(comparison: Comparison) -> str:
    """Return the comparison as markdown."""
    lines = [f"**{markdown_cell(_headline(comparison))}**", "", *markdown_table(HEADER, _rows(comparison)), ""]
    lines += [f"- {markdown_cell(sentence)}" for sentence in _legend(comparison)]
    header, rows = _apart(comparison)
    if rows:
        lines += ["", "Points where they differ most, of those that both solved:", "", *markdown_table(header, rows)]
    notes = [*_alone(comparison), *(f"Note: {note}" for note in _notes(comparison))]
    if notes:
        lines += ["", *(f"- {markdown_cell(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def render_csv(comparison: Comparison) -> str:
    """Return every point that both searched, one per line; an absent number is an empty cell."""
    return csv_text([_point(task, point) for task in comparison.tasks for point in task.points])


def render_json(comparison: Comparison) -> str:
    """Return everything as one JSON object, numbers unrounded."""
    tasks = comparison.tasks
    content = {
        "first": comparison.first,
        "second": comparison.second,
        "record": comparison.record or None,
        "tie": {"relative": comparison.tolerance.relative, "absolute": comparison.tolerance.absolute},
        "interval": f"bootstrap of the median, {RESAMPLES} resamples of the points within each task, 95 %",
        "all": asdict(score(tasks)),
        "tasks": [
            {
                **asdict(task.key),
                "first": task.first.label,
                "second": task.second.label,
                **asdict(score([task])),
            }
            for task in tasks
        ],
        "points": [_point(task, point) for task in tasks for point in task.points],
        "notes": _notes(comparison),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _headline(comparison: Comparison) -> str:
    where = f"   record {comparison.record}" if comparison.record else ""
    telling = _telling(comparison)
    alike = [values[0] for part, values in _coordinates(comparison).items() if part not in telling and values[0]]
    return f"{comparison.first} against {comparison.second}, point by point   {', '.join(alike)}{where}"


def _coordinates(comparison: Comparison) -> dict[str, list[str]]:
    """Return what each task is about, part by part: what is the same for all is said once, above the table."""
    tasks = comparison.tasks
    return {
        "dataset": [task.key.dataset for task in tasks],
        "model": [task.key.model for task in tasks],
        "objective": [f"objective {task.key.objective}" for task in tasks],
        "constraints": [f"constraints {'on' if task.key.constraints else 'off'}" for task in tasks],
        "searcher": ["" if comparison.record else task.first.searcher for task in tasks],
        "setup": [task.first.setup for task in tasks],
    }


def _titles(comparison: Comparison) -> dict[int, str]:
    """Return each task's title, by its identity: the parts in which they differ, or else data and model."""
    coordinates = _coordinates(comparison)
    telling = [coordinates[part] for part in _telling(comparison)]
    words = [[text for text in texts if text] for texts in zip(*telling, strict=True)]
    return {id(one): ", ".join(texts) for one, texts in zip(comparison.tasks, words, strict=True)}


def _telling(comparison: Comparison) -> list[str]:
    """Return the parts in which the tasks differ, or else data set and model."""
    differing = [part for part, values in _coordinates(comparison).items() if len(set(values)) > 1]
    return differing or ["dataset", "model"]


def _rows(comparison: Comparison) -> list[list[str]]:
    titles = _titles(comparison)
    rows = [_row(titles[id(task)], score([task])) for task in comparison.tasks]
    if len(rows) > 1:
        rows.append(_row("all", score(comparison.tasks)))
    return rows


def _row(title: str, found: PairwiseResult) -> list[str]:
    interval = ABSENT if found.interval is None else f"{_signed(found.interval[0])} to {_signed(found.interval[1])}"
    return [
        title,
        f"{found.points:,} of {found.asked:,}",
        f"{found.wins:,}",
        f"{found.ties:,}",
        f"{found.losses:,}",
        _signed(found.median),
        interval,
        f"{found.solved:,} of {found.points:,}",
    ]


def _compared(comparison: Comparison) -> str:
    """Name what is compared at each point."""
    robust = [bare_name(one.key.objective) != "none" and not one.by_loss for one in comparison.tasks]
    if not any(robust):
        return "loss"
    return "objective value" if all(robust) else "objective value (the loss under objective none)"


def _legend(comparison: Comparison) -> list[str]:
    first, second = comparison.first, comparison.second
    total = score(comparison.tasks)
    value = _compared(comparison)
    few = f"; none under {FEWEST} points" if any(score([one]).solved < FEWEST for one in comparison.tasks) else ""
    return [
        "points: that both ran on, of those that either ran on; a point counts with the "
        f"{value} of its best repetition.",
        f"wins, losses: of {first}: the smaller {value}, or a counterfactual where {second} found none "
        f"({total.only_first:,} of the wins), and the reverse ({total.only_second:,} of the losses); ties: "
        f"{comparison.tolerance}, or nothing found by either ({total.neither:,}).",
        f"difference: median of {first}'s {value} less {second}'s, on the points that both solved; negative is better "
        f"for {first}. Interval: bootstrap, {RESAMPLES:,} resamples of the points within each task{few}.",
    ]


def _apart(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    titles = _titles(comparison)
    rows = [
        [
            titles[id(task)],
            str(point.fold),
            str(point.row),
            _decimal(point.first),
            _decimal(point.second),
            _signed(point.difference),
        ]
        for task, point in farthest(comparison.tasks, comparison.shown)
    ]
    return ["task", "fold", "row", comparison.first, comparison.second, "difference"], rows


def _alone(comparison: Comparison) -> list[str]:
    titles = _titles(comparison)
    sentences = []
    for outcome, side in ((1, comparison.first), (-1, comparison.second)):
        found = one_sided(comparison.tasks, outcome)
        if found:
            places = [f"{titles[id(task)]}, fold {point.fold}, row {point.row}" for task, point in found]
            rest = len(places) - comparison.shown
            more = f"; and {rest:,} more" if rest > 0 else ""
            listed = f": {'; '.join(places[: comparison.shown])}{more}" if comparison.shown else ""
            sentences.append(f"{side} alone found a counterfactual of {len(places):,}{listed}.")
    return sentences


def _hint(comparison: Comparison) -> str:
    """Return the command that explains the first of the points where they differ."""
    listed = [
        *farthest(comparison.tasks, 1),
        *one_sided(comparison.tasks, 1),
        *one_sided(comparison.tasks, -1),
    ]
    if not listed or not comparison.record:
        return ""
    task, point = listed[0]
    key = task.key
    words = [comparison.program, "explain", "--dataset", key.dataset, "--model", key.model, "--fold", str(point.fold)]
    words += ["--row", str(point.row), "--searcher", task.first.searcher, "--objective", key.objective]
    words += ["--constraints", "on" if key.constraints else "off", "--results", comparison.record]
    return visible(shlex.join(words))


def _notes(comparison: Comparison) -> list[str]:
    return [*reservations(comparison.tasks), *comparison.unmet]


def _point(task: PairedTask, point: PairedPoint) -> dict[str, Any]:
    key = task.key
    return {
        "dataset": key.dataset,
        "model": key.model,
        "objective": key.objective,
        "constraints": key.constraints,
        "fold": point.fold,
        "row": point.row,
        "first": task.first.label,
        "second": task.second.label,
        "first_value": point.first,
        "second_value": point.second,
        "first_loss": point.first_loss,
        "second_loss": point.second_loss,
        "difference": point.difference,
        "outcome": OUTCOMES[point.outcome],
    }


def _decimal(loss: float | None) -> str:
    return ABSENT if loss is None else f"{loss:.{_places(loss)}f}"


def _signed(difference: float | None) -> str:
    """Write a difference with its sign; none has none."""
    if difference is None:
        return ABSENT
    return "0.0000" if abs(difference) < ROUNDING else f"{difference:+.{_places(difference)}f}"


def _places(value: float) -> int:
    """Return how many decimals show two digits of `value`: four, more where it is small."""
    return 4 if abs(value) < ROUNDING else max(4, 1 - math.floor(math.log10(abs(value))))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(visible(text), width, subsequent_indent="  ", break_on_hyphens=False) or [""]
