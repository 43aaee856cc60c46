"""``cfbench ui``: the MLflow UI on the tracking store of a study."""

from __future__ import annotations

from pathlib import Path

import click

from cfbench.cli.options import results_option
from cfbench.errors import TrackingError


@click.command("ui", short_help="Start the MLflow UI on a study's tracking store.")
@results_option
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port to listen on, on loopback."
)
def command(results: Path, port: int) -> None:
    """Start the MLflow UI on the store that a study was tracked to, print its address, and serve until Ctrl-C.

    A study that was tracked to a server needs none: the command prints where to look.
    """
    from cfbench.cli.mlflow_server import MlflowServer, ended_by_signals, runs_page
    from cfbench.harness.tracking import ARTIFACTS_NAME, shown_address

    study, store = _tracked(results)
    if store.startswith(("http://", "https://")):
        server = shown_address(store)
        click.echo(f"{study} is tracked to a server:\n  {runs_page(server, study) or server}")
        return
    click.echo(f"Starting the MLflow UI on {shown_address(store)}", err=True)
    try:
        with ended_by_signals(), MlflowServer(store, results.resolve() / ARTIFACTS_NAME, port) as running:
            running.wait_until_it_answers()
            page = runs_page(running.address, study)
            if page is None:
                click.echo(f"The store has no experiment {study!r} yet: `cfbench sync` makes it", err=True)
            click.echo(f"{study} in the MLflow UI:\n  {page or running.address}\nCtrl-C stops it")
            running.wait_until_it_ends()
    except KeyboardInterrupt:
        click.echo("Stopped", err=True)


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
