"""The Dask executor: jobs run on an existing cluster, and this process alone writes the record.

A Dask worker hosts processes of ours that do the work, because a search may have a time limit or end its process.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
import uuid
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cfbench.caches import cache_dir
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError, UnavailableError
from cfbench.registry.contracts import DataSource
from cfbench.registry.discovery import is_file_name
from cfbench.registry.registry import RegistryOptions
from cfbench.running.executors.local import ExecutorLost, Job, ProcessExecutor, WorkerDied
from cfbench.running.preparation import PreparationLost
from cfbench.running.warned import Counted
from cfbench.running.worker import FOLDS_KEPT, EntryName, Inventory, ModelKey, Prepared, WorkerSetup, model_key
from cfbench.study.plan import Cell


class UnfitHost(CfbenchError):
    """A Dask worker that lacks something, or has another version of it."""


@dataclass(frozen=True)
class RunSetup:
    """What a Dask worker has to know of a run before its first job.

    Its jobs need `entries` to be registered, and a worker must have the main process's `inventory`.
    """

    run: str
    options: RegistryOptions
    entries: tuple[EntryName, ...]
    inventory: Inventory


@dataclass(frozen=True)
class PickledModel:
    """A data set and a fitted model, pickled by the main process. Dask carries it to a worker once."""

    digest: str
    payload: bytes


class Host:
    """The processes of one run on one Dask worker.

    It runs as many jobs at once as it has `slots`, one process each.
    """

    def __init__(self, run_setup: RunSetup, slots: int) -> None:
        here = cache_dir()
        # The main process's folders are not here: tables travel with the models.
        options = replace(run_setup.options, folders=())
        self._run_setup = run_setup
        self._executor = ProcessExecutor(WorkerSetup(options, DataSource((), here, download=False), here), slots)
        self._idle = list(range(slots))
        self._loaded: list[OrderedDict[str, None] | None] = [None] * slots
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return len(self._idle) < self._executor.slots

    def perform(self, job: Job, cell: Cell | None, pickled_model: PickledModel | None) -> Any:
        """Do a job in an idle process, which gets the model first where it has not loaded it."""
        with self._lock:
            slot = self._idle.pop()
        try:
            self._start(slot)
            loaded = self._loaded[slot]
            assert loaded is not None
            if pickled_model is not None and pickled_model.digest not in loaded:
                self._ask(slot, Job("unpack", (cell, pickled_model.payload)))
            if pickled_model is not None:
                loaded[pickled_model.digest] = None
                loaded.move_to_end(pickled_model.digest)
                if len(loaded) > FOLDS_KEPT:
                    loaded.popitem(last=False)
            return self._ask(slot, job)
        finally:
            with self._lock:
                self._idle.append(slot)

    def _start(self, slot: int) -> None:
        """Start a slot's process if it has none, and compare what is installed there with what should be."""
        if self._loaded[slot] is not None:
            return
        found = self._executor.submit(slot, Job("inventory", (self._run_setup.entries,))).result()
        differences = self._run_setup.inventory.differences(found)
        if differences:
            raise UnfitHost("; ".join(differences))
        self._loaded[slot] = OrderedDict()

    def _ask(self, slot: int, job: Job) -> Any:
        try:
            return self._executor.submit(slot, job).result()
        except (TimeoutError, WorkerDied, PreparationLost):
            self._loaded[slot] = OrderedDict()  # its next process has loaded nothing
            raise

    def close(self) -> None:
        """End the processes at once."""
        self._executor.close()


_hosts: dict[str, Host] = {}
_hosts_lock = threading.Lock()


def perform(run_setup: RunSetup, slots: int, job: Job, cell: Cell | None, pickled_model: PickledModel | None) -> Any:
    """Do a job of a run on this Dask worker."""
    return _host(run_setup, slots).perform(job, cell, pickled_model)


def inspect_host(run_setup: RunSetup, slots: int) -> str:
    """Say what this Dask worker lacks or has in another version; empty: nothing."""
    absent = [name for name in run_setup.options.plugins if is_file_name(name) and not Path(name).exists()]
    if absent:
        return f"the plugin file {absent[0]} is not there: install the plugin, or share its folder"
    try:
        perform(run_setup, slots, Job("inventory", (run_setup.entries,)), None, None)
    except CfbenchError as error:
        stop_host(run_setup.run)
        return str(error)
    return ""


def stop_host(run: str) -> None:
    """End the processes of a run on this Dask worker."""
    with _hosts_lock:
        host = _hosts.pop(run, None)
    if host is not None:
        host.close()


def _host(run_setup: RunSetup, slots: int) -> Host:
    with _hosts_lock:
        host = _hosts.get(run_setup.run)
        if host is None:
            # Runs whose main process was killed have left theirs.
            for run in [run for run, other in _hosts.items() if not other.busy]:
                _hosts.pop(run).close()
            # multiprocessing refuses a daemonic process children because they might outlive it: ours do not.
            multiprocessing.current_process().daemon = False
            host = _hosts[run_setup.run] = Host(run_setup, slots)
        return host


WAIT_FOR_WORKERS = 600.0
"""Seconds that a cluster may take to have its first worker: batch systems let jobs queue."""

WAIT_FOR_SCHEDULER = 20.0
"""Seconds that a scheduler may take to answer a greeting, and then a client."""


def connect(cluster: object) -> tuple[Any, bool]:
    """Return a client, and whether it is ours to close.

    `cluster` is a scheduler's address, a `distributed.Client`, or a cluster object. Raises UnavailableError if the
    extra `dask` is not installed, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UnavailableError(
            "a Dask cluster needs the extra dask, which is not installed: pip install counterfactual-bench[dask]"
        ) from None
    if isinstance(cluster, Client):
        return cluster, False
    try:
        if isinstance(cluster, str):
            # A client that cannot connect goes on trying in a thread of its own, and complains when it is thrown away.
            with ThreadPoolExecutor(1) as other:  # this thread may be in the middle of a notebook's event loop
                other.submit(asyncio.run, _greet(cluster)).result()
        client = Client(cluster, timeout=WAIT_FOR_SCHEDULER, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise UnavailableError(
            f"no Dask scheduler answers at {cluster}: {str(error) or type(error).__name__}. Give the address that "
            "`dask scheduler` prints, as in tcp://host:8786"
        ) from None
    return client, True


async def _greet(address: str) -> None:
    """Connect to what speaks Dask's protocol at an address, and part."""
    from distributed import Security
    from distributed.comm.core import connect as connected

    arguments = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    greeting = connected(address, timeout=WAIT_FOR_SCHEDULER, **arguments)  # type: ignore[no-untyped-call]
    # Dask's own limit ends with the connection: a server of another kind would be listened to for ever.
    try:
        comm = await asyncio.wait_for(greeting, WAIT_FOR_SCHEDULER + 1)
    except TimeoutError:
        raise OSError("what listens there does not speak as a scheduler does") from None
    await comm.close()


def wait_for_workers(client: Any) -> None:
    """Wait until the cluster has a worker."""
    try:
        client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
    except TimeoutError:
        raise UnavailableError(
            f"the Dask cluster has had no worker for {WAIT_FOR_WORKERS:.0f} s; start some, then give the same command "
            "again"
        ) from None


def inspect_workers(client: Any, run_setup: RunSetup) -> None:
    """Ask every worker what it has.

    Raises StudyError, with all of it, if one lacks something that the run needs, or has another version of it.
    """
    threads = dict(client.nthreads())
    asked = {
        address: client.submit(
            inspect_host, run_setup, count, workers=[address], pure=False, key=f"cfbench-inspect-{uuid.uuid4().hex}"
        )
        for address, count in threads.items()
    }
    faults: dict[str, list[str]] = {}
    for address, future in asked.items():
        try:
            fault = future.result()
        except Exception as error:  # what a worker without cfbench raises, for one
            fault = f"{type(error).__name__}: {error}"
        if fault:
            faults.setdefault(fault, []).append(address)
    if faults:
        listing = "".join(f"\n  {', '.join(where)}: {fault}" for fault, where in faults.items())
        count = sum(map(len, faults.values()))
        raise StudyError(
            f"{count} of {len(threads)} Dask workers cannot search for this study:{listing}\nInstall there what is "
            "installed here, in the same versions"
        )


LOOK_AGAIN = 1.0
"""Seconds between two looks at how many workers the cluster has."""

MODELS_KEPT = 16
"""Models that stay in the cluster's memory."""

TRIES = 3
"""Times that a job is sent, where what it needs was lost with the worker that had it."""

ON_YOUR_WAY = "Every finished search is in the record: start a cluster and give the same command again"


@dataclass(frozen=True)
class _Sent:
    """A model that the cluster holds."""

    prepared: Prepared
    digest: str
    future: Any


class DaskExecutor:
    """Runs jobs on a Dask cluster.

    `setup` is that of the local process that fits models. Raises UnavailableError as `connect`, or if there is no
    worker, and StudyError if a worker lacks something that the study needs, or has another version of it.
    """

    blocks = False

    def __init__(self, setup: WorkerSetup, run_setup: RunSetup, cluster: object) -> None:
        self._client, self._is_ours = connect(cluster)
        self._run_setup = run_setup
        self._pickled_models: OrderedDict[ModelKey, _Sent] = OrderedDict()
        self._lock = threading.Lock()
        self._closing = False
        self._addresses: list[str] = []
        self._threads: dict[str, int] = {}
        self._looked = -LOOK_AGAIN
        self._pending: set[Any] = set()
        try:
            wait_for_workers(self._client)
            inspect_workers(self._client, run_setup)
        except BaseException:
            self._leave()
            raise
        self._local = ProcessExecutor(setup, 1)

    @property
    def slots(self) -> int:
        """Threads of all workers, the ones that have joined since among them."""
        now = time.monotonic()
        if now - self._looked >= LOOK_AGAIN:
            self._looked = now
            with suppress(Exception):  # a scheduler that is gone shows in the jobs
                self._threads = dict(self._client.nthreads())
            self._addresses = [address for address, count in sorted(self._threads.items()) for _ in range(count)]
        return len(self._addresses)

    def submit(self, slot: int, job: Job) -> Future[Any]:
        """Start `job`, if possible on the slot's worker."""
        outer: Future[Any] = Future()
        cell = _cell_of(job)
        if job.method == "prepare":
            self._prepare(cell, outer)
        else:
            self._send(slot, job, cell, outer, tries=TRIES)
        return outer

    def close(self) -> None:
        """Stop what runs on the workers, and leave the cluster as it was."""
        self._closing = True
        self._local.close()
        with suppress(Exception):
            self._client.cancel(list(self._pending))
        # The scheduler may be gone, a worker may hang: neither holds up the end of the run.
        stop = threading.Thread(target=self._stop_hosts, daemon=True)
        stop.start()
        stop.join(timeout=10.0)
        self._leave()

    # ---------------------------------------------------------------- models

    def _prepare(self, cell: Cell, outer: Future[Any]) -> None:
        """Have a model fitted or loaded in a local worker, and send it to the cluster."""
        with self._lock:
            sent = self._pickled_models.get(model_key(cell))
        if sent is not None:
            outer.set_result(Counted(sent.prepared))
            return

        def arrived(ended: Future[Any]) -> None:
            try:
                counted: Counted = ended.result()
                outer.set_result(Counted(self._put(cell, *counted.value).prepared, counted.warnings))
            except BaseException as error:
                outer.set_exception(self._translated(error))

        self._local.submit(0, Job("pickled_model", (cell,), counted=True)).add_done_callback(arrived)

    def _put(self, cell: Cell, prepared: Prepared, payload: bytes) -> _Sent:
        digest = digest_of([self._run_setup.run, *map(str, model_key(cell)), prepared.fingerprint])
        pickled_model = PickledModel(digest, payload)
        (future,) = self._client.scatter([pickled_model], hash=False)
        sent = _Sent(prepared, digest, future)
        with self._lock:
            self._pickled_models[model_key(cell)] = sent
            while len(self._pickled_models) > MODELS_KEPT:
                self._pickled_models.popitem(last=False)
        return sent

    # ---------------------------------------------------------------- jobs

    def _send(self, slot: int, job: Job, cell: Cell, outer: Future[Any], *, tries: int) -> None:
        """Submit a job together with its model; where the cluster has lost the model, send that first."""
        with self._lock:
            sent = self._pickled_models.get(model_key(cell))
            if sent is not None:
                self._pickled_models.move_to_end(model_key(cell))
        if sent is None or sent.future.status in ("lost", "cancelled", "error"):
            self._send_model_first(slot, job, cell, outer, tries=tries)
            return
        address = self._addresses[slot % len(self._addresses)] if self._addresses else None
        slots = self._threads.get(address or "", 1)
        try:
            future = self._client.submit(
                perform,
                self._run_setup,
                slots,
                job,
                cell,
                sent.future,
                key=f"cfbench-{job.method}-{uuid.uuid4().hex}",
                workers=None if address is None else [address],
                allow_other_workers=address is not None,
                pure=False,
            )
        except Exception as error:  # a client that is closed raises errors of several kinds
            outer.set_exception(self._translated(error))
            return
        self._pending.add(future)
        future.add_done_callback(partial(self._ended, slot, job, cell, outer, tries))

    def _send_model_first(self, slot: int, job: Job, cell: Cell, outer: Future[Any], *, tries: int) -> None:
        with self._lock:
            self._pickled_models.pop(model_key(cell), None)
        prepared: Future[Any] = Future()

        def go_on(ended: Future[Any]) -> None:
            error = ended.exception()
            if error is not None:
                outer.set_exception(error)
            else:
                self._send(slot, job, cell, outer, tries=tries)

        prepared.add_done_callback(go_on)
        self._prepare(cell, prepared)

    def _ended(self, slot: int, job: Job, cell: Cell, outer: Future[Any], tries: int, future: Any) -> None:
        """Take a result, in one of the client's threads."""
        self._pending.discard(future)
        try:
            result = future.result()
        except BaseException as error:
            if future.status == "cancelled" and not self._closing and self._is_connected() and tries > 1:
                self._send(slot, job, cell, outer, tries=tries - 1)
            else:
                outer.set_exception(self._translated(error))
        else:
            outer.set_result(result)

    def _translated(self, error: BaseException) -> BaseException:
        """Return what the run understands."""
        from distributed import KilledWorker

        if isinstance(error, UnfitHost):
            return ExecutorLost(f"a Dask worker that has joined is unfit: {error}. {ON_YOUR_WAY}")
        if isinstance(error, KilledWorker):
            return CfbenchError(f"the Dask workers that had this job died, one after the other: {error}")
        if isinstance(error, (CfbenchError, TimeoutError)) and self._is_connected():
            return error
        if not self._is_connected():
            return ExecutorLost(f"the Dask scheduler cannot be reached any more. {ON_YOUR_WAY}")
        return error

    def _is_connected(self) -> bool:
        return bool(self._client.status == "running")

    # ---------------------------------------------------------------- the cluster

    def _stop_hosts(self) -> None:
        with suppress(Exception):
            self._client.run(stop_host, self._run_setup.run, on_error="ignore")

    def _leave(self) -> None:
        if self._is_ours:
            with suppress(Exception):
                self._client.close(timeout=5.0)


def _cell_of(job: Job) -> Cell:
    """Return the cell of a job: its first argument, or that of the first of its searches."""
    first = job.arguments[0]
    cell: Cell = first if isinstance(first, Cell) else first[0].cell
    return cell
