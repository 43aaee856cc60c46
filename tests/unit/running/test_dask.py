"""The Dask executor on a real cluster: a scheduler and two workers, processes of their own on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cfbench
from cfbench.errors import StudyError, UnavailableError
from cfbench.record.store import Record
from cfbench.running.executors.dask import DaskExecutor, RunSetup, connect
from cfbench.running.executors.local import ExecutorLost, Job
from cfbench.running.session import executor_for
from cfbench.running.worker import entries_of, take_inventory
from tests.databases import record_digest
from tests.toys.studies import TOY

if TYPE_CHECKING:
    from tests.toys.runs import Toys

pytest.importorskip("distributed", reason="the extra dask is not installed")
pytestmark = pytest.mark.slow  # it starts a dozen processes, which import everything

STUDY: dict[str, Any] = {"searchers": ("toy-dice", "toy-both"), "points": 4, "metrics": ("success",)}


@dataclass
class Cluster:
    """The processes of a cluster, and its address."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    about = folder / "scheduler.json"
    environment = {**os.environ, "CFBENCH_CACHE_DIR": str(folder / "cache")}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        with (folder / f"{arguments[0]}.log").open("ab") as log:
            command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(about), "--no-dashboard"]
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)

    processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0")]
    try:
        workers = ["worker", "--nthreads", "1", "--local-directory", str(folder)]
        processes += [start(*workers), start(*workers)]
        deadline = time.monotonic() + 300
        while not about.exists() or not about.read_text():
            assert time.monotonic() < deadline, (folder / "scheduler.log").read_text()
            time.sleep(0.05)  # polls a process that starts meanwhile
        address = json.loads(about.read_text())["address"]
        client, _ = connect(address)
        client.wait_for_workers(2, timeout=300)
        client.close()
        yield Cluster(address, processes[0], processes[1:])
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=300)
            process.kill()


def executor_on(cluster: object, toys: Toys, results: Path, **asked: Any) -> DaskExecutor:
    executor = executor_for(toys.plan(results, **asked), toys.setup, toys.registry, cluster)
    assert isinstance(executor, DaskExecutor)
    return executor


class Deadly:
    """Passes jobs on, and does something once the second batch of searches is on its way."""

    blocks = False

    def __init__(self, inner: DaskExecutor, what: Any) -> None:
        self.inner = inner
        self.what = what
        self.batches = 0

    @property
    def slots(self) -> int:
        return self.inner.slots

    def submit(self, slot: int, job: Job) -> Future[Any]:
        future = self.inner.submit(slot, job)
        self.batches += job.method == "search_all"
        if self.batches == 2 and self.what is not None:
            what, self.what = self.what, None
            what()
        return future

    def close(self) -> None:
        self.inner.close()


def test_results_are_those_of_a_serial_run_bit_for_bit_also_after_a_worker_was_killed(
    toys: Toys, tmp_path: Path, cluster: Cluster
) -> None:
    toys.run(tmp_path / "serial", **STUDY)
    client, _ = connect(cluster.address)
    with client:
        victim = next(iter(client.run(os.getpid).values()))
    executor = executor_on(cluster.address, toys, tmp_path / "dask", **STUDY)
    assert executor.slots == 2
    deadly = Deadly(executor, lambda: os.kill(victim, signal.SIGKILL))
    report = toys.run(tmp_path / "dask", deadly, **STUDY)
    assert deadly.what is None
    assert (report.cells_done, report.cells_failed, report.searches_run) == (4, 0, 32)
    assert record_digest(tmp_path / "dask") == record_digest(tmp_path / "serial")
    with Record.open(tmp_path / "dask") as record:
        assert all(len(record.measures(key)) == 8 for key in record.summaries())


def test_from_python_a_search_past_its_limit_is_killed_on_its_worker_and_the_client_stays_open(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    study = {"datasets": ["toy"], "models": ["threshold"], "searchers": ["toy-hang", "toy-segfault"], "folds": [0]}
    few = {"points": 1, "repetitions": 1, "metrics": [], "time_limit": 5.0, "tracking": "none"}
    client, _ = connect(cluster.address)
    with client:
        result = cfbench.run({**study, **few}, plugins=[str(TOY)], cluster=client, results=tmp_path / "r")
        assert (result.report.cells_done, result.report.cells_failed) == (2, 0)
        assert client.submit(sum, [1, 2]).result() == 3
    frame = result.searches().set_index("searcher")
    assert frame.loc["toy-hang", "reason"] == "killed after its limit of 5 s"
    assert frame.loc["toy-segfault", "reason"] == "its process was killed by SIGSEGV"


def test_an_interrupted_run_leaves_the_cluster_to_the_next(toys: Toys, tmp_path: Path, cluster: Cluster) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    endless = {**STUDY, "searchers": ["toy-hang"], "objectives": ["none"], "folds": [0]}
    executor = executor_on(cluster.address, toys, tmp_path / "first", **endless)
    assert toys.run(tmp_path / "first", Deadly(executor, interrupt), **endless).interrupted
    executor = executor_on(cluster.address, toys, tmp_path / "second", **STUDY)
    assert toys.run(tmp_path / "second", executor, **STUDY).searches_run == 32


def test_workers_that_lack_something_are_named_before_the_run(toys: Toys, tmp_path: Path, cluster: Cluster) -> None:
    plan = toys.plan(tmp_path / "r", **STUDY)
    entries = entries_of(plan)
    here = take_inventory(toys.registry, entries)
    other = replace(here, versions={**here.versions, "numpy": "0.1", "metric rare": "3"})
    run_setup = RunSetup("a", toys.options, (*entries, ("metric", "rare")), other)
    with pytest.raises(StudyError) as refused:
        DaskExecutor(toys.setup, run_setup, cluster.address)
    message = str(refused.value)
    assert message.startswith("2 of 2 Dask workers cannot search for this study:")
    assert message.count("tcp://127.0.0.1:") == 2
    assert f"numpy is {here.versions['numpy']}, not 0.1" in message
    assert "it lacks metric rare" in message
    absent = replace(toys.options, plugins=(*toys.options.plugins, "/nowhere/mine.py"))
    with pytest.raises(StudyError, match=r"the plugin file /nowhere/mine\.py is not there"):
        DaskExecutor(toys.setup, RunSetup("b", absent, entries, here), cluster.address)


def test_a_scheduler_that_does_not_answer_is_named(toys: Toys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfbench.running.executors.dask.WAIT_FOR_SCHEDULER", 0.5)
    with pytest.raises(UnavailableError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        executor_on("tcp://127.0.0.1:1", toys, tmp_path / "r", **STUDY)
    with pytest.raises(UnavailableError, match="no Dask scheduler answers at nonsense"):
        executor_on("nonsense", toys, tmp_path / "r", **STUDY)


def test_a_server_of_another_kind_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfbench.running.executors.dask.WAIT_FOR_SCHEDULER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnavailableError, match=f"{address}: what listens there does not speak as a scheduler does"):
            connect(address)


def test_a_scheduler_that_dies_ends_the_run_with_everything_in_the_record(
    toys: Toys, tmp_path: Path, cluster: Cluster
) -> None:
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        executor = Deadly(executor_on(cluster.address, toys, tmp_path / "dask", **STUDY), cluster.scheduler.kill)
        with pytest.raises(ExecutorLost, match=r"cannot be reached any more\. Every finished search is in the record"):
            toys.run(tmp_path / "dask", executor, **STUDY)
    toys.run(tmp_path / "serial", **STUDY)
    toys.run(tmp_path / "dask", **STUDY)
    assert record_digest(tmp_path / "dask") == record_digest(tmp_path / "serial")
