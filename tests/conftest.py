"""Fixtures of the tests around tracking: finished cells made by hand, MLflow stores and a server ready to use."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.metadata import version
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from cfbench.record.store import Record
from cfbench.registry import CellFinished, RunFinished, RunStarted
from cfbench.tracking.addresses import remember_tracking
from tests.cells import finished_cell, put_cell, whole_cell
from tests.toys.drifting import Drifting

# A suite that is started in the background inherits an ignored Ctrl-C, and so would the commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A property holds on a busy machine, too: how long hypothesis takes is no property of ours.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("any machine")

FinishedCell = Callable[..., CellFinished]
PutCell = Callable[[Record, CellFinished], None]
StartUi = Callable[[Path, int], AbstractContextManager[subprocess.Popen[str]]]


@pytest.fixture(autouse=True)
def _processes_are_slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that starts a process without the marker `slow`: `make test-fast` would run it.

    The first test that needs compiled kernels may start the process that compiles them, once per state of the code; the
    first that uses joblib may start `lscpu`, which counts the cores; the first that imports MLflow starts `uname`.
    """
    if any(map(request.node.get_closest_marker, ("slow", "browser"))):
        return
    start = subprocess.Popen.__init__

    def refuse(*given: Any, **named: Any) -> None:
        if not any(name in str(given[1:]) for name in ("compile_once", "lscpu", "uname")):
            raise AssertionError("a test that starts a process has the marker slow")
        start(*given, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(BaseProcess, "start", refuse)


@pytest.fixture(scope="session", name="finished_cell")
def _finished_cell() -> FinishedCell:
    """Return what makes the event of a finished cell."""
    return finished_cell


@pytest.fixture(scope="session", name="put_cell")
def _put_cell() -> PutCell:
    """Return what writes a finished cell into a record."""
    return put_cell


@pytest.fixture(scope="session", name="whole_cell")
def _whole_cell() -> FinishedCell:
    """Return what makes the event of a finished cell with its content."""
    return whole_cell


@pytest.fixture(scope="session")
def empty_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an MLflow store without runs; copy it. Making one takes seconds, so pytest's cache keeps it."""
    from cfbench_reporters.store import open_client, talking_to

    cache = getattr(request.config, "cache", None)  # absent under `-p no:cacheprovider`
    folder = cache.mkdir(f"mlflow-{version('mlflow')}") if cache else tmp_path_factory.mktemp("store")
    path = Path(folder / "mlflow.db")
    if not path.exists():
        with talking_to(f"sqlite:///{path}"):
            open_client(f"sqlite:///{path}")
    return path


@pytest.fixture
def store(empty_store: Path, tmp_path: Path) -> Path:
    """Return the file of an MLflow store of the test's own, at its default place in ``tmp_path / "results"``."""
    (tmp_path / "results").mkdir()
    return Path(shutil.copy(empty_store, tmp_path / "results" / "mlflow.db"))


@pytest.fixture(scope="session")
def tracked_results(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a record of two cells, which the default store holds as the runs of experiment ``quick``."""
    from cfbench_reporters.tracking import TrackingReporter

    results = tmp_path_factory.mktemp("tracked") / "results"
    address = f"sqlite:///{results}/mlflow.db"
    first = finished_cell().cell
    events = [
        finished_cell(info=replace(first, key=str(i) * 32, dataset=name)) for i, name in enumerate(["wine", "housing"])
    ]
    with Record.open(results, write=True) as record:
        shutil.copy(empty_store, results / "mlflow.db")
        remember_tracking(results, "quick", address)
        reporter = TrackingReporter()
        reporter.cfbench_run_started(RunStarted("quick", results, address, (), 0, 0, 0, 1))
        for event in events:
            put_cell(record, event)
            reporter.cfbench_cell_finished(event)
        reporter.cfbench_run_finished(RunFinished(2, 0, 8, interrupted=False))
    return results


@pytest.fixture(scope="session")
def start_ui() -> StartUi:
    """Return what runs ``cfbench ui`` on a record and a port, as a process in a ``with`` block."""

    @contextlib.contextmanager
    def start(results: Path, port: int) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-c", "from cfbench.cli import main; main()", "ui"]
        command += ["--results", str(results), "--port", str(port)]
        environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
        with subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)

    return start


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Return what names a port that nobody listens on."""

    def find() -> int:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return int(server.getsockname()[1])

    return find


@pytest.fixture(scope="session")
def ui_pages(tracked_results: Path, start_ui: StartUi, free_port: Callable[[], int]) -> Iterator[dict[str, str]]:
    """Serve `tracked_results` with ``cfbench ui`` and return the addresses that it prints, by what they show."""
    with start_ui(tracked_results, free_port()) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pages = {}
        while (line := process.stdout.readline()).startswith("  "):
            what, _, address = line.strip().rpartition("  ")
            pages[what.strip()] = address
        yield pages


@pytest.fixture(scope="session")
def runs_page(ui_pages: dict[str, str]) -> str:
    """Serve `tracked_results` with ``cfbench ui`` and return the address of its runs."""
    return ui_pages["runs, one per cell"]


@pytest.fixture
def drifting(tmp_path: Path) -> Drifting:
    """Return a way to run small studies of searchers that minimise the loss alone."""
    return Drifting(tmp_path)
