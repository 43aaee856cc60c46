"""``cfbench sync``: mirror to MLflow what is missing there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import click

from cfbench.cli.options import open_registry, results_option
from cfbench.cli.telling import tell
from cfbench.errors import RecordError, TrackingError

if TYPE_CHECKING:
    from cfbench.harness.store.record import Record
    from cfbench.registry import Registry

REPORTER = "cfbench-tracking"
"""Name of the plugin that mirrors cells."""


class CountsLogged(Protocol):
    """What this command wants to know of the reporter."""

    logged: int


@click.command("sync", short_help="Log the cells to MLflow that tracking missed.")
@results_option
@click.option("--tracking", default=None, metavar="ADDRESS", help="Tracking address; by default that of the last run.")
@click.option("--study", default=None, metavar="NAME", help="Name of the experiment; by default the last study's.")
def command(results: Path, tracking: str | None, study: str | None) -> None:
    """Log the finished cells of a record to MLflow, except those that are there already.

    A cell that has grown, or was measured, since it was logged is brought up to date.
    """
    from cfbench.harness.store.record import Record
    from cfbench.harness.tracking import remember_tracking, remembered_tracking, shown_address

    with Record.open(results) as record:
        remembered = remembered_tracking(results)
        study = study or (remembered.study if remembered else results.resolve().name)
        address = _store(record, results, tracking, remembered.tracking if remembered else "")
        logged, cells = _replay(record, open_registry(), study, address, results)
    for problem in record.problems:
        tell("Warning", problem)
    if not record.is_packed:
        remember_tracking(results, study, address)
    same = f"; {cells - logged} were there already" if cells > logged else ""
    click.echo(f"{logged} of {cells} finished cells logged to {shown_address(address)}, experiment {study!r}{same}")


def _store(record: Record, results: Path, tracking: str | None, remembered: str) -> str:
    """Return the address to log to; a packed record has none of its own, and nothing is put beside its files."""
    from cfbench.harness.store.layout import refuse_inside_record
    from cfbench.harness.tracking import shown_address, sqlite_path, tracking_address

    if record.is_packed and tracking is None and not os.environ.get("MLFLOW_TRACKING_URI"):
        raise TrackingError(
            f"{results} is a packed record, which is read only and has no store of its own; name one with "
            "--tracking, as in --tracking sqlite:///mlflow.db"
        )
    address = tracking_address(tracking or remembered, results)
    if not address:
        raise TrackingError("--tracking none names no store to log to; leave it out, or name one")
    if record.is_packed:
        database = sqlite_path(address)
        if database is not None:
            refuse_inside_record(database)
        elif not address.startswith("http"):
            raise TrackingError(
                f"the artifacts of {shown_address(address)} would be put into {results}, a packed record; name a "
                "server, or a file as in --tracking sqlite:///mlflow.db"
            )
    return address


def _replay(record: Record, registry: Registry, study: str, address: str, results: Path) -> tuple[int, int]:
    """Tell the tracking reporter of every finished cell; return how many it logged, and how many there are."""
    from rich.console import Console
    from rich.progress import track

    from cfbench.events import CellFinished, RunFinished, RunStarted

    summaries = [summary for summary in record.summaries().values() if summary.searches and not summary.failure]
    if not summaries:
        raise RecordError(f"there is nothing to log in {results}: no cell is finished; `cfbench run` finishes some")
    infos = tuple(summary.info for summary in summaries)
    searches = sum(summary.searches for summary in summaries)
    _tell(registry, RunStarted(study, results, address, infos, len(infos), searches, searches, workers=1))
    console = Console(stderr=True)
    for summary in track(summaries, "Cells", console=console, transient=True, disable=not console.is_terminal):
        tables = record.searches(summary.info.key), record.measures(summary.info.key)
        finished = CellFinished(summary.info, *tables, content=summary.content, eligible=summary.eligible)
        _tell(registry, finished)
    _tell(registry, RunFinished(len(infos), 0, 0, interrupted=False))
    return cast("CountsLogged", registry.reporters[REPORTER]).logged, len(infos)


def _tell(registry: Registry, event: object) -> None:
    for complaint in registry.notify(event, only=REPORTER):
        raise TrackingError(complaint.message)
