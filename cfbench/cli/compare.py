"""``cfbench compare``: two searchers of a record, or two records, point by point. It reads and runs nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import command_name, results_option, tell, text_width, tie_option
from cfbench.errors import RecordError, StudyError

if TYPE_CHECKING:
    from cfbench.analysis.groups import Group, Selection, Task
    from cfbench.analysis.ranks import Tolerance
    from cfbench.board.pairwise import Comparison


@click.command("compare", short_help="Compare two searchers or two records point by point.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@results_option
@click.option("--searcher", "searchers", multiple=True, metavar="NAME", help="For two records: only this searcher.")
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="Only this data set. May be repeated.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only this model. May be repeated.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME", help="Only this objective. May be repeated.")
@click.option("--constraints", type=click.Choice(["on", "off"]), help="Constraints.  [default: both]")
@click.option("--protocol", default="", metavar="VERSION", help="Only cells of this version of the protocol.")
@tie_option
@click.option(
    "--points",
    "shown",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="How many of the points with the largest differences to list.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "json"]),
    default="table",
    show_default=True,
    help="Output format; csv has one line per point, json everything.",
)
def command(
    *,
    first: str,
    second: str,
    results: Path,
    searchers: Sequence[str],
    datasets: Sequence[str],
    models: Sequence[str],
    objectives: Sequence[str],
    constraints: str | None,
    protocol: str,
    tie: Tolerance | None,
    shown: int,
    form: str,
) -> None:
    """Compare two searchers of a record, or two records, point by point.

    A and B are searchers of the record at --results (cogs, "cogs[population_size=500]"), or the directories of two
    records. Searchers with the same name in both records are compared. Nothing is searched.
    """
    from cfbench.analysis.groups import Selection
    from cfbench.analysis.ranks import Tolerance
    from cfbench.board import pairwise

    tolerance = tie or Tolerance()
    bound = None if constraints is None else constraints == "on"
    selection = Selection(datasets, models, objectives, bound, protocol)
    if _is_directory(first) and _is_directory(second):
        comparison = _records(Path(first), Path(second), selection, searchers, shown, tolerance)
    elif _is_directory(first) or _is_directory(second):
        folder, other = (first, second) if _is_directory(first) else (second, first)
        raise StudyError(
            f"{first!r} and {second!r} are not of one kind: {folder} {_kind(folder)}, and {other} is not a directory. "
            "Name two searchers of the record at --results, or the directories of two records"
        )
    elif searchers:
        raise StudyError("--searcher chooses among the searchers of two records; here A and B are searchers themselves")
    else:
        comparison = _searchers(results, first, second, selection, shown, tolerance)
    if form == "table":
        text = pairwise.render_table(comparison, text_width())
    else:
        text = getattr(pairwise, f"render_{form}")(comparison)
    click.echo(text, nl=False)


def _is_directory(text: str) -> bool:
    """Return whether a side is written as a path, or is a directory."""
    return os.sep in text or "/" in text or text in (".", "..") or Path(text).is_dir()


def _kind(side: str) -> str:
    """Say why a side is read as a record."""
    return "is a directory" if Path(side).is_dir() else "is written as the path of one"


def _searchers(
    results: Path, first: str, second: str, selection: Selection, shown: int, tolerance: Tolerance
) -> Comparison:
    from cfbench.analysis.pairwise import meet, side_of
    from cfbench.board.pairwise import Comparison

    groups = _groups(results, replace(selection, searchers=(first, second)))
    one, other = side_of(groups, first), side_of(groups, second)
    labels = [side[0].searcher for side in (one, other)]
    if labels[0] == labels[1]:
        raise StudyError(f"both are {labels[0]}: name two searchers, or the directories of two records")
    tasks = meet(one, other, labels[1], tolerance)
    if not tasks:
        raise RecordError(
            f"{labels[0]} and {labels[1]} have no point in common in {results}: {_each(one, other, labels)}"
        )
    met = {task.key for task in tasks}
    unmet = _unmet(one, other, met, labels)
    return Comparison(labels[0], labels[1], str(results), tasks, unmet, shown, command_name())


def _records(
    first: Path, second: Path, selection: Selection, searchers: Sequence[str], shown: int, tolerance: Tolerance
) -> Comparison:
    from cfbench.analysis.pairwise import meet, side_of
    from cfbench.board.pairwise import Comparison

    if first.resolve() == second.resolve():
        raise StudyError(f"{first} and {second} are one directory: name two records, or two searchers")
    one, other = _groups(first, selection), _groups(second, selection)
    if searchers:
        one, other = ([group for name in searchers for group in side_of(side, name)] for side in (one, other))
    names = [str(first), str(second)]
    _refuse_protocols(one, other, names)
    tasks = meet(one, other, tolerance=tolerance)
    if not tasks:
        raise RecordError(f"{first} and {second} have no search in common: {_each(one, other, names)}")
    met = {task.key for task in tasks}
    return Comparison(names[0], names[1], "", tasks, _unmet(one, other, met, names), shown)


def _groups(results: Path, selection: Selection) -> list[Group]:
    """Return what a record has results of."""
    from cfbench.analysis.groups import group_cells
    from cfbench.analysis.loss_alone import board_cells
    from cfbench.record.store import Record
    from cfbench.registry.registry import build_registry

    with Record.open(results) as record:
        summaries = board_cells(record, build_registry())
        problems = list(record.problems)
    for problem in problems:
        tell("Warning", problem)
    groups = [group for group in group_cells(selection.of(summaries.values())) if group.points]
    if not groups:
        raise RecordError(f"there is nothing to compare in {results}: no cell is finished; `cfbench run` finishes some")
    return groups


def _refuse_protocols(first: Sequence[Group], second: Sequence[Group], names: Sequence[str]) -> None:
    from cfbench.analysis.groups import protocol_of

    versions = [sorted({protocol_of(cell) for group in side for cell in group.cells}) for side in (first, second)]
    if versions[0] != versions[1]:
        named = "; ".join(f"{name}: {', '.join(each)}" for name, each in zip(names, versions, strict=True))
        raise RecordError(
            f"the two records follow different versions of the benchmark's protocol ({named}), and results of "
            "different versions are never compared"
        )


def _each(first: Sequence[Group], second: Sequence[Group], names: Sequence[str]) -> str:
    """Describe what each side has, for an error message."""
    parts = [
        f"{name} has {_listed({group.task for group in side})}"
        for name, side in zip(names, (first, second), strict=True)
    ]
    same = {group.task for group in first} & {group.task for group in second}
    why = ". Where the tasks bear the same names, their data, settings or points differ" if same else ""
    return ". ".join(parts) + why


def _unmet(first: Sequence[Group], second: Sequence[Group], met: set[Task], names: Sequence[str]) -> list[str]:
    """Name the tasks that only one side has."""
    notes = []
    for name, side in zip(names, (first, second), strict=True):
        alone = {group.task for group in side} - met
        if alone:
            notes.append(f"not compared, since {name} alone has points there: {_listed(alone)}")
    return notes


def _listed(tasks: set[Task]) -> str:
    texts = sorted(map(str, tasks))
    more = f"; and {len(texts) - 3} more" if len(texts) > 3 else ""
    return f"{'; '.join(texts[:3])}{more}"
