"""``cfbench sync`` and ``--from-tracking``: between a record and a tracking store, in both directions."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import click
from click.core import ParameterSource

from cfbench.cli.options import open_registry, results_option, tell, with_bar
from cfbench.errors import RecordError, TrackingError

if TYPE_CHECKING:
    from cfbench.record.store import Record
    from cfbench.registry.registry import Registry
    from cfbench.tracking.mirror import MirrorReader


class MirrorReporter(Protocol):
    """What these commands need of the reporter that mirrors cells; it is known by its method `reader`."""

    logged: int

    def reader(self, address: str) -> MirrorReader:
        """Open a tracking store for reading."""


def tracking_reporter(registry: Registry) -> str:
    """Return the name of the reporter that mirrors cells to a tracking store; empty where none is registered."""
    return next((name for name, one in registry.reporters.items() if callable(getattr(one, "reader", None))), "")


def found_reporter(registry: Registry) -> tuple[str, MirrorReporter]:
    """Return the tracking reporter with its name.

    Raises TrackingError if none is registered.
    """
    name = tracking_reporter(registry)
    if not name:
        raise TrackingError("no plugin that reads and writes tracking stores is loaded; see `cfbench plugins`")
    return name, cast("MirrorReporter", registry.reporters[name])


@click.command("sync", short_help="Log the cells to MLflow that tracking missed.")
@results_option
@click.option("--tracking", default=None, metavar="ADDRESS", help="Tracking address; by default that of the last run.")
@click.option("--study", default=None, metavar="NAME", help="Name of the experiment; by default the last study's.")
def command(results: Path, tracking: str | None, study: str | None) -> None:
    """Log the finished cells of a record to MLflow, except those that are there already.

    A logged cell that has grown or was measured since is updated.
    """
    from cfbench.record.store import Record
    from cfbench.tracking.addresses import remember_tracking, remembered_tracking, shown_address

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
    """Return the address to log to. A packed record has no store of its own, and gets no additional files."""
    from cfbench.record.files import refuse_inside_record
    from cfbench.tracking.addresses import shown_address, sqlite_path, tracking_address

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
    """Pass every finished cell to the tracking reporter; return how many it logged, and how many there are."""
    from cfbench.registry.events import CellFinished, RunFinished, RunStarted

    summaries = [summary for summary in record.summaries().values() if summary.searches and not summary.failure]
    if not summaries:
        raise RecordError(f"there is nothing to log in {results}: no cell is finished; `cfbench run` finishes some")
    infos = tuple(summary.info for summary in summaries)
    searches = sum(summary.searches for summary in summaries)
    name, reporter = found_reporter(registry)
    _tell(registry, name, RunStarted(study, results, address, infos, len(infos), searches, searches, workers=1))
    for summary in with_bar(summaries):
        about = {name: getattr(summary, name) for name in ("statuses", "content", "eligible", "preparation")}
        finished = CellFinished(summary.info, partial(record.tables, summary.info.key), **about)
        _tell(registry, name, finished)
    _tell(registry, name, RunFinished(len(infos), 0, 0, interrupted=False))
    return reporter.logged, len(infos)


def _tell(registry: Registry, reporter: str, event: object) -> None:
    for complaint in registry.notify(event, only=reporter):
        raise TrackingError(complaint.message)


F = TypeVar("F", bound=Callable[..., Any])
CACHE_NAME = "from-tracking"
"""Folder of the cache for rebuilt records, one per address and study."""


def from_tracking_options(command: F) -> F:
    """Add ``--from-tracking`` and ``--study`` to a command."""
    study = click.option(
        "--study", default="", metavar="NAME", help="With --from-tracking: only this study.  [default: all]"
    )
    address = click.option(
        "--from-tracking",
        "from_tracking",
        metavar="ADDRESS",
        help="First rebuild the record from the runs of a tracking server, in the cache or in --results.",
    )
    return address(study(command))


def results_to_read(results: Path, from_tracking: str | None, study: str, registry: Registry) -> Path:
    """Return the record that a command with `from_tracking_options` reads, rebuilt if requested."""
    if from_tracking is None:
        if study:
            raise click.UsageError("--study chooses among the studies of a server: give --from-tracking ADDRESS, too")
        return results
    given = click.get_current_context().get_parameter_source("results") is not ParameterSource.DEFAULT
    return record_from_tracking(from_tracking, study, registry, results if given else None)


def record_from_tracking(address: str, study: str, registry: Registry, results: Path | None = None) -> Path:
    """Rebuild a record from a tracking store, and say on stderr what was done.

    What was fetched before is not fetched again.

    Raises TrackingError if the store cannot be read, or the tracking reporter did not load. Raises RecordError if
    `results` holds a record of its own.
    """
    from cfbench.caches import cache_folder
    from cfbench.digests import digest_of
    from cfbench.record.files import DATABASE_NAME
    from cfbench.tracking.addresses import shown_address, tracking_address
    from cfbench.tracking.mirror import check_target, rebuild_record

    if not address.strip():
        raise TrackingError("--from-tracking has an empty address; write http://HOST:PORT, or sqlite:///PATH/mlflow.db")
    address = tracking_address(address, Path())
    if not address:
        raise TrackingError("--from-tracking none names no server; write http://HOST:PORT, or a database's address")
    folder = digest_of([shown_address(address).rstrip("/"), study])
    path = results or cache_folder(CACHE_NAME) / folder
    check_target(path)
    _, reporter = found_reporter(registry)
    try:
        reader = reporter.reader(address)
        rebuilt = rebuild_record(reader, path, study, with_bar)
    except TrackingError as error:
        if not (path / DATABASE_NAME).exists():
            raise
        raise TrackingError(f"{error}. The record as far as it was fetched is {path} (--results reads it)") from error
    source = f"{shown_address(address)} ({', '.join(rebuilt.listing.studies)})"
    click.echo(f"{source}: {rebuilt.fetched:,} cells fetched, {rebuilt.kept:,} known; the record is {path}", err=True)
    for remark in rebuilt.remarks():
        tell("Note", remark)
    return path
