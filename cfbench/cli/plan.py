"""``cfbench plan``: what a run would do and how long it may take, without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import aligned, tell
from cfbench.cli.run import run_options, session_from_options

if TYPE_CHECKING:
    from cfbench.running.progress import Preview


PROBLEMS_SHOWN = 10
"""Number of damaged parts of a record that are named."""


@click.command("plan", short_help="Show what a run would do, and how long it may take.")
@run_options
@click.option("--cells", "every_cell", is_flag=True, help="Show one line per cell.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(*, every_cell: bool, form: str, **options: Any) -> None:
    """Show what `cfbench run` would do with the same options, without running anything.

    The record is only read, even while a run writes it. The estimate of time comes from its searches.
    """
    from cfbench.running.progress import preview_of

    session = session_from_options(options)
    preview = preview_of(session.plan, session.registry, options["retry"])
    if form == "json":
        click.echo(json.dumps(preview.to_json(), indent=2))
        return
    for problem in preview.problems[:PROBLEMS_SHOWN]:
        tell("Warning", problem)
    if len(preview.problems) > PROBLEMS_SHOWN:
        click.echo(f"Warning: and {len(preview.problems) - PROBLEMS_SHOWN:,} more like these", err=True)
    click.echo("\n".join(_text(preview, every_cell=every_cell)))


def _text(preview: Preview, *, every_cell: bool) -> Iterable[str]:
    from cfbench.running.progress import CellState
    from cfbench.text import visible

    plan = preview.plan
    yield f"Study {visible(plan.study.name)}, record {visible(str(plan.study.results))}"
    for note in preview.notes:
        yield f"Note: {visible(note)}"
    yield ""
    yield from _table(preview, every_cell=every_cell)
    failed = [cell for cell in preview.cells if cell.state is CellState.FAILED]
    if failed:
        yield ""
        yield f"Failed before, and run again: {len(failed)}, the first because: {visible(failed[0].reason)}"
    yield ""
    states = ", ".join(f"{count:,} {state.value}" for state, count in preview.states.items())
    bound = "" if preview.exact else "up to "
    yield f"{len(preview.cells):,} cells ({states}); {bound}{preview.missing:,} of {preview.searches:,} searches to run"
    yield _time(preview)


def _table(preview: Preview, *, every_cell: bool) -> list[str]:
    """Return the matrix: one line per searcher, objective and constraints, or per cell."""
    from cfbench.text import visible

    groups: dict[tuple[str, ...], list[Any]] = {}
    for cell in preview.cells:
        info = cell.cell.info
        under = ", ".join(objective.label for objective in cell.cell.judged)
        objective = f"{info.objective}, judged under {under}" if under else info.objective
        place: tuple[str, ...] = (info.searcher, objective, "on" if info.constraints else "off")
        if every_cell:
            place = (info.dataset, info.model, *place, str(info.fold), cell.state.value)
        groups.setdefault(tuple(visible(part) for part in place), []).append(cell)
    names = ["searcher", "objective", "constraints"]
    if every_cell:
        names = ["data set", "model", *names, "fold", "state"]
    lines = [[*names, "cells", "skipped", "searches", "done", "missing", "time"]]
    for place, cells in groups.items():
        known = [cell.seconds for cell in cells if cell.missing and cell.seconds is not None]
        unknown = any(cell.missing and cell.seconds is None for cell in cells)
        bound = "" if all(cell.exact for cell in cells) else "<="
        sums = [sum(getattr(cell, name) for cell in cells) for name in ("searches", "done", "missing")]
        time = ("-" if not unknown else "?") if not known else f"{_duration(sum(known))}{' + ?' * unknown}"
        skipped = sum(bool(cell.cell.skipped) for cell in cells)
        numbers = [str(len(cells)), str(skipped or "-"), f"{bound}{sums[0]:,}", f"{sums[1]:,}", f"{bound}{sums[2]:,}"]
        lines.append([*place, *numbers, time])
    return aligned(lines, left=len(names))


def _time(preview: Preview) -> str:
    workers = preview.plan.study.workers
    if not preview.missing:
        return "Time: nothing is left to search"
    if preview.unknown == preview.missing:
        return (
            "Time: unknown, because the record holds no search of these searchers (? in the table); run a few "
            "points (`--points 1 --repetitions 1`) and ask again"
        )
    elapsed = max(preview.seconds / workers, preview.longest)
    spread = f", about {_duration(elapsed)} with {workers} workers" if workers > 1 else ""
    unknown = f", and so do {preview.unknown:,} searches of unknown length (? in the table)" if preview.unknown else ""
    far = f"\n{preview.far:,} searches are estimated from those of other objectives" if preview.far else ""
    return (
        f"Time: about {_duration(preview.seconds)} of searching{spread}, from what the record's searches took.\n"
        f"Fitting models and measuring come on top{unknown}.{far}"
    )


def _duration(seconds: float) -> str:
    if seconds < 99.5:
        return f"{seconds:.2g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"
