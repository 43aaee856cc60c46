"""``cfbench ui``: the MLflow UI on the tracking store of a study."""

from __future__ import annotations

from pathlib import Path

import click

from cfbench.cli.options import results_option
from cfbench.cli.telling import tell
from cfbench.errors import TrackingError


@click.command("ui", short_help="Start the MLflow UI on a study's tracking store.")
@results_option
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port to listen on, on loopback."
)
def command(results: Path, port: int) -> None:
    """Start the MLflow UI on the store that a study was tracked to, print where to look, and serve until Ctrl-C.

    The addresses are those of the study's summary, a searcher a line, as a table and as charts, and of its runs. For
    a study that was tracked to a server no other is started: the command prints the addresses there.
    """
    from cfbench.cli.mlflow_server import MlflowServer
    from cfbench.harness.moved_store import follow_moved_store
    from cfbench.harness.tracking import ARTIFACTS_NAME, shown_address

    study, store = _tracked(results)
    if store.startswith(("http://", "https://")):
        server = shown_address(store)
        click.echo("\n".join([f"{study} is tracked to a server:", *_pages(server, study)]))
        return
    follow_moved_store(store)
    click.echo(f"Starting the MLflow UI on {shown_address(store)}", err=True)
    try:
        with MlflowServer(store, results.resolve() / ARTIFACTS_NAME, port) as running:
            running.wait_until_it_answers()
            click.echo("\n".join([f"{study} in the MLflow UI:", *_pages(running.address, study), "Ctrl-C stops it"]))
            running.wait_until_it_ends()
    except KeyboardInterrupt:
        click.echo("Stopped", err=True)


def _pages(server: str, study: str) -> list[str]:
    """Return a line for each page of a study; the server's own address where it does not know the study."""
    from cfbench.cli.mlflow_pages import study_pages
    from cfbench.cli.mlflow_server import answer

    pages = study_pages(server, study)
    if not pages:
        up = answer(f"{server}/health") is not None
        why = f"it has no experiment {study!r} yet: `cfbench sync` makes it" if up else "it does not answer now"
        tell(f"Of {server} only the address is known", why)
        return [f"  {server}"]
    return [f"  {what:<16}  {address}" for what, address in pages]


def _tracked(results: Path) -> tuple[str, str]:
    """Return a record's study and the store that it was tracked to."""
    from cfbench.harness.store.record import Record
    from cfbench.harness.tracking import remembered_tracking, shown_address, sqlite_path

    Record.open(results).close()  # says what is wrong where there is no record
    remembered = remembered_tracking(results)
    if remembered is None or not remembered.tracking:
        raise TrackingError(f"the record {results} was not tracked; `cfbench sync` logs it to MLflow")
    path = sqlite_path(remembered.tracking)
    if path is not None and not path.is_file():
        raise TrackingError(
            f"there is no tracking store {shown_address(remembered.tracking)}; `cfbench sync` makes it from the record"
        )
    return remembered.study, remembered.tracking
