"""``--from-tracking``: a record rebuilt from a tracking server before a command reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import click
from click.core import ParameterSource

from cfbench.cli.sync import REPORTER
from cfbench.cli.telling import tell
from cfbench.errors import TrackingError

if TYPE_CHECKING:
    from cfbench.harness.mirrored_record import MirrorReader
    from cfbench.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])
CACHE_NAME = "from-tracking"
"""Folder of the cache that holds rebuilt records, one an address and study."""


class OpensReaders(Protocol):
    """What this command wants of the reporter."""

    def reader(self, address: str) -> MirrorReader:
        """Open a tracking store for reading."""


def from_tracking_options(command: F) -> F:
    """Add ``--from-tracking`` and ``--study`` to a command."""
    study = click.option(
        "--study", default="", metavar="NAME", help="With --from-tracking: this study alone.  [default: all there]"
    )
    address = click.option(
        "--from-tracking",
        "from_tracking",
        metavar="ADDRESS",
        help="Rebuild the record from the runs of a tracking server first: into the cache, or the --results given.",
    )
    return address(study(command))


def results_to_read(results: Path, from_tracking: str | None, study: str, registry: Registry) -> Path:
    """Return the record that a command with `from_tracking_options` reads, rebuilt where that was asked for.

    Parameters
    ----------
    results : Path
        The value of ``--results``; it is used for a rebuilt record only where it was given.
    from_tracking : str or None
    study : str
    registry : Registry
    """
    if from_tracking is None:
        if study:
            raise click.UsageError("--study chooses among the studies of a server: give --from-tracking ADDRESS, too")
        return results
    given = click.get_current_context().get_parameter_source("results") is not ParameterSource.DEFAULT
    return record_from_tracking(from_tracking, study, registry, results if given else None)


def record_from_tracking(address: str, study: str, registry: Registry, results: Path | None = None) -> Path:
    """Rebuild a record from a tracking store, and say on stderr what was done.

    What was fetched before is not fetched again.

    Parameters
    ----------
    address : str
    study : str
        Empty for all studies that the store holds.
    registry : Registry
        For the tracking reporter, which reads the store.
    results : Path, optional
        Where the record goes; by default a folder of the cache that belongs to the address and the study.

    Returns
    -------
    Path
        The record's directory.

    Raises
    ------
    TrackingError
        If the store cannot be read, or the tracking reporter did not load.
    RecordError
        If `results` holds a record of its own.
    """
    from cfbench.harness.mirrored_record import check_target, rebuild_record
    from cfbench.harness.tracking import shown_address, tracking_address

    if not address.strip():
        raise TrackingError("--from-tracking has an empty address; write http://HOST:PORT, or sqlite:///PATH/mlflow.db")
    address = tracking_address(address, Path())
    if not address:
        raise TrackingError("--from-tracking none names no server; write http://HOST:PORT, or a database's address")
    path = results or _cached(shown_address(address), study)
    check_target(path)
    if REPORTER not in registry.reporters:
        raise TrackingError(
            f"the plugin {REPORTER!r} reads tracking servers, and it did not load; see `cfbench plugins`"
        )
    try:
        reader = cast("OpensReaders", registry.reporters[REPORTER]).reader(address)
        rebuilt = rebuild_record(reader, path, study, _with_bar)
    except TrackingError as error:
        if not (path / "record.json").exists():
            raise
        raise TrackingError(f"{error}. The record as far as it was fetched is {path} (--results reads it)") from error
    source = f"{shown_address(address)} ({', '.join(rebuilt.listing.studies)})"
    click.echo(f"{source}: {rebuilt.fetched:,} cells fetched, {rebuilt.kept:,} known; the record is {path}", err=True)
    for remark in rebuilt.remarks():
        tell("Note", remark)
    return path


def _cached(shown: str, study: str) -> Path:
    from cfbench.digests import digest_of
    from cfbench.harness.caches import cache_folder

    return cache_folder(CACHE_NAME) / digest_of([shown.rstrip("/"), study])


def _with_bar(cells: Sequence[Any]) -> Iterable[Any]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(cells, "Cells", console=console, transient=True, disable=not console.is_terminal)
