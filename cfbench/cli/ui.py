"""``cfbench ui``: the MLflow UI on the tracking store of a study, served on loopback until it is stopped."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from cfbench.cli.options import results_option, tell
from cfbench.errors import TrackingError, UnavailableError
from cfbench.running.interrupt import SIGNALS
from cfbench.tracking.addresses import CELL_VIEW, CHART_VIEW, SUMMARY_TAG, TABLE_VIEW, VIEW_TAG_PREFIX

HOST = "127.0.0.1"
START_SECONDS = 120.0
"""Seconds after which a server counts as failed; five are usual."""
_STOP_SECONDS = 5.0
_OPTIONS = ("--workers", "1", "--uvicorn-opts", "--no-access-log")  # the log is read only when something goes wrong
_SETTINGS = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # eight further processes and 1.9 GB, for jobs that are never sent
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback is never behind a proxy


@contextlib.contextmanager
def served(store: str, artifacts: Path, port: int) -> Iterator[str]:
    """Serve a tracking store; give the server's address when it responds. Leaving the block waits until it ends.

    `artifacts` is the folder for experiments that others make through the server. Raises UnavailableError if the port
    is taken, and TrackingError if the server does not respond, or ends.
    """
    check_port(port)
    address = f"http://{HOST}:{port}"
    with tempfile.TemporaryFile() as log:
        # The store goes by the environment: an address may hold a password, and command lines are public.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), *_OPTIONS],
            env={
                **os.environ,
                **_SETTINGS,
                "MLFLOW_BACKEND_STORE_URI": store,
                "MLFLOW_ARTIFACTS_DESTINATION": str(artifacts),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches us alone, and the group holds all that the server starts
        )
        try:
            give_up = time.monotonic() + START_SECONDS
            while answer(f"{address}/health") is None:
                if process.poll() is not None:
                    raise TrackingError(f"the MLflow server ended before it responded; {_said(log)}")
                if time.monotonic() > give_up:
                    raise TrackingError(f"the MLflow server did not answer within {START_SECONDS:.0f} s; {_said(log)}")
                time.sleep(0.1)
            yield address
            process.wait()
            raise TrackingError(f"the MLflow server ended; {_said(log)}")
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and every process that it started."""
    with _signals_ignored(), contextlib.suppress(ProcessLookupError):  # a second signal would spare it
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _said(log: IO[bytes]) -> str:
    descriptor = log.fileno()  # the server writes at the same offset, which therefore stays where it is
    said = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return "its last lines:\n" + "\n".join(f"  {line}" for line in lines[-8:]) if lines else "it said nothing"


def check_port(port: int) -> None:
    """Raise UnavailableError if a port cannot be used, and name a free one."""
    try:
        _listen(port)
    except PermissionError as error:
        raise UnavailableError(f"port {port} is reserved for the system; choose 1024 or more with --port") from error
    except OSError as error:
        raise UnavailableError(f"port {port} is in use; port {_free_port(port)} is free: --port names it") from error


def answer(url: str, seconds: float = 2.0) -> bytes | None:
    """Return the response of `url`, or None if there is none or an error."""
    try:
        with _DIRECT.open(url, timeout=seconds) as response:
            return bytes(response.read())
    except (OSError, http.client.HTTPException):  # no connection, an error's status, a broken reply
        return None


@contextlib.contextmanager
def _signals_ignored() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(port: int) -> None:
    socket.create_server((HOST, port)).close()


def _free_port(taken: int) -> int:
    for port in range(taken + 1, min(taken + 100, 2**16)):
        with contextlib.suppress(OSError):
            _listen(port)
            return port
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


_SECONDS = 10.0


def study_pages(server: str, study: str) -> list[tuple[str, str]]:
    """Return the pages of a study."""
    server = server.rstrip("/")
    experiment = _experiment(server, "get-by-name", experiment_name=study)
    if experiment is None:
        return []
    number, tags = experiment
    pages = []
    if tags.get(SUMMARY_TAG):
        summary = _experiment(server, "get", experiment_id=tags[SUMMARY_TAG])
        if summary is not None:
            pages = [
                ("summary, a table", _runs_page(server, *summary, TABLE_VIEW)),
                ("summary, charts", _runs_page(server, *summary, CHART_VIEW, compareRunsMode="CHART")),
            ]
    return [*pages, ("runs, one per cell", _runs_page(server, number, tags, CELL_VIEW))]


def _runs_page(server: str, number: str, tags: dict[str, str], view: str, **more: str) -> str:
    query = {"workflowType": "machine_learning", **more}
    if f"{VIEW_TAG_PREFIX}{view}" in tags:
        query["viewStateShareKey"] = view
    return f"{server}/#/experiments/{number}/runs?{urllib.parse.urlencode(query)}"


def _experiment(server: str, endpoint: str, **query: str) -> tuple[str, dict[str, str]] | None:
    """Return an experiment's identifier and tags, or None if the server does not have it."""
    found = answer(f"{server}/api/2.0/mlflow/experiments/{endpoint}?{urllib.parse.urlencode(query)}", _SECONDS)
    if found is None:
        return None
    try:
        experiment: Any = json.loads(found)["experiment"]
        tags = {str(tag["key"]): str(tag.get("value", "")) for tag in experiment.get("tags", [])}
        number = str(experiment["experiment_id"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return number, tags


@click.command("ui", short_help="Start the MLflow UI on a study's tracking store.")
@results_option
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port to listen on, on loopback."
)
def command(results: Path, port: int) -> None:
    """Start the MLflow UI on the tracking store of a study, and serve until Ctrl-C.

    It prints the addresses of the study's summary (one line per searcher, as a table and as charts) and of its runs.
    If the study was tracked to a server, no other server is started; the command prints the addresses there.
    """
    from cfbench.tracking.addresses import ARTIFACTS_NAME, shown_address

    study, store = _tracked(results)
    if store.startswith(("http://", "https://")):
        server = shown_address(store)
        click.echo("\n".join([f"{study} is tracked to a server:", *_pages(server, study)]))
        return
    click.echo(f"Starting the MLflow UI on {shown_address(store)}", err=True)
    try:
        with served(store, results.resolve() / ARTIFACTS_NAME, port) as address:
            click.echo("\n".join([f"{study} in the MLflow UI:", *_pages(address, study), "Ctrl-C stops it"]))
    except KeyboardInterrupt:
        click.echo("Stopped", err=True)


def _pages(server: str, study: str) -> list[str]:
    """Return one line per page of a study, or the server's address if it does not have the study."""
    pages = study_pages(server, study)
    if not pages:
        up = answer(f"{server}/health") is not None
        why = f"it has no experiment {study!r} yet: `cfbench sync` creates it" if up else "it does not respond now"
        tell(f"Of {server} only the address is known", why)
        return [f"  {server}"]
    return [f"  {what:<16}  {address}" for what, address in pages]


def _tracked(results: Path) -> tuple[str, str]:
    """Return a record's study and the store that it was tracked to."""
    from cfbench.record.store import Record
    from cfbench.tracking.addresses import remembered_tracking, shown_address, sqlite_path

    Record.open(results).close()  # says what is wrong where there is no record
    remembered = remembered_tracking(results)
    sync = f"`cfbench sync --results {shlex.quote(str(results))}`"
    if remembered is None or not remembered.tracking:
        raise TrackingError(f"the last run into the record {results} was not tracked; {sync} logs it to MLflow")
    path = sqlite_path(remembered.tracking)
    if path is not None and not path.is_file():
        raise TrackingError(
            f"there is no tracking store {shown_address(remembered.tracking)}; {sync} makes it from the record"
        )
    return remembered.study, remembered.tracking
