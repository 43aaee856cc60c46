"""Fixtures of the tests around tracking: finished cells made by hand, MLflow stores and a server ready to use."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from cfbench.digests import digest_of
from cfbench.record.frames import search_frame
from cfbench.record.schema import checked_rows
from cfbench.record.store import Record
from cfbench.registry import CellFinished, CellInfo, RunFinished, RunStarted
from cfbench.study.protocol import PROTOCOL_VERSION
from cfbench.tracking.addresses import remember_tracking
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
    first that uses joblib may start `lscpu`, which counts the cores.
    """
    if any(map(request.node.get_closest_marker, ("slow", "browser"))):
        return
    start = subprocess.Popen.__init__

    def refuse(*given: Any, **named: Any) -> None:
        if not any(name in str(given[1:]) for name in ("compile_once", "lscpu")):
            raise AssertionError("a test that starts a process has the marker slow")
        start(*given, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(BaseProcess, "start", refuse)


@pytest.fixture(scope="session")
def finished_cell() -> FinishedCell:
    """Return what makes the event of a finished cell: a search a loss, in the order of points and repetitions."""

    def make(
        losses: Sequence[float | None] = (0.25, 0.5, None, 0.75),
        *,
        info: CellInfo | None = None,
        repetitions: int = 1,
        statuses: Sequence[str] = (),
        objective_values: Sequence[float | None] = (),
        measures: pd.DataFrame | None = None,
    ) -> CellFinished:
        info = info or CellInfo("0" * 31 + "1", "credit", "random-forest", "cogs", "none", False, 0, {"cogs": "1"})
        rows = []
        for i, loss in enumerate(losses):
            status = statuses[i] if statuses else "not_found" if loss is None else "found"
            value = objective_values[i] if objective_values else loss
            rows.append(
                {
                    "cell_key": info.key,
                    "point": i // repetitions,
                    "row_id": 10 + i // repetitions,
                    "repetition": i % repetitions,
                    "status": status,
                    "reason": "",
                    "x": [1.0, 0.1 * i],
                    "z": None if loss is None else [2.0, 0.1 * i],
                    "candidates": [] if loss is None else [[2.0, 0.1 * i]],
                    "loss": loss,
                    "gower": loss,
                    "l0": None if loss is None else 1,
                    "cost": loss,
                    "objective_value": value,
                    "search_queries": 100 * (i + 1),
                    "robustness_queries": 0,
                    "wall_seconds": 0.5 * (i + 1),
                    "cpu_seconds": 0.25,
                    "anytime": [{"queries": 10, "loss": 1.0}],
                    "figures": [("bound", 0.125)],
                    "model_fingerprint": "f" * 32,
                }
            )
        return CellFinished(info, search_frame(checked_rows(rows)), measures)

    return make


@pytest.fixture(scope="session")
def whole_cell(finished_cell: FinishedCell) -> FinishedCell:
    """Return what makes the event of a finished cell whose key is the digest of its content, as a run sends it."""

    def make(losses: Sequence[float | None] = (0.25, 0.5), *, dataset: str = "wine", **more: Any) -> CellFinished:
        content = {
            "protocol": PROTOCOL_VERSION,
            "dataset": {"name": dataset, "digest": "d" * 32},
            "model": {"name": "random-forest", "version": "1", "settings": {}},
            "searcher": {"name": "cogs", "version": "1", "settings": {"population_size": 50}},
            "objective": {"name": "none", "version": "1", "settings": {}},
            "constraints": False,
            "fold": 0,
            "seed": 42,
        }
        info = CellInfo(
            digest_of(content), dataset, "random-forest", "cogs[population_size=50]", "none", False, 0, {"cogs": "1"}
        )
        return replace(finished_cell(losses, info=info), content=content, eligible=20, **more)

    return make


@pytest.fixture(scope="session")
def put_cell() -> PutCell:
    """Return what writes a finished cell into a record, as a run would."""

    def put(record: Record, event: CellFinished) -> None:
        from cfbench_reporters.cell_files import search_table

        assert event.searches is not None
        for row in search_table(event.searches).to_pylist():
            record.append({**row, "figures": dict(row["figures"])})
        record.finish(event.cell, event.content, eligible=20)

    return put


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an MLflow store without runs; copy it, since making one takes seconds."""
    from cfbench_reporters.store import open_client, talking_to

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    with talking_to(f"sqlite:///{path}"):
        open_client(f"sqlite:///{path}")
    return path


@pytest.fixture
def store(empty_store: Path, tmp_path: Path) -> Path:
    """Return the file of an MLflow store of the test's own, at its default place in ``tmp_path / "results"``."""
    (tmp_path / "results").mkdir()
    return Path(shutil.copy(empty_store, tmp_path / "results" / "mlflow.db"))


@pytest.fixture(scope="session")
def tracked_results(
    empty_store: Path, tmp_path_factory: pytest.TempPathFactory, finished_cell: FinishedCell, put_cell: PutCell
) -> Path:
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
