"""The Dask executor: jobs run on an existing cluster, and this process alone writes the record.

Plain `submit`, and a callback for every result. Models are fitted, or loaded, in a process beside this one and travel
to a worker once; Dask runs the jobs of a worker that died again. Time limits are enforced on the worker, in the process
that searches, since Dask's own cancelling stops nothing that runs.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError
from cfbench.harness.dask_cluster import connect, inspect_workers, wait_for_workers
from cfbench.harness.dask_host import Mission, Parcel, UnfitHost, perform, stop_host
from cfbench.harness.executors import ExecutorLost, Job, ProcessExecutor
from cfbench.harness.plan import Cell
from cfbench.harness.schedule import ModelKey, model_key
from cfbench.harness.worker import Prepared, WorkerSetup

LOOK_AGAIN = 1.0
"""Seconds after which the cluster is asked again how many workers it has."""

PARCELS_KEPT = 16
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

    Parameters
    ----------
    setup : WorkerSetup
        Of the process that fits models.
    mission : Mission
        What the cluster's workers have to know.
    cluster : object
        A scheduler's address, a `distributed.Client`, or a cluster object.

    Raises
    ------
    UnavailableError
        If the extra `dask` is not installed, the scheduler does not answer, or there is no worker.
    StudyError
        If a worker lacks something that the study needs, or has another version of it.
    """

    blocks = False

    def __init__(self, setup: WorkerSetup, mission: Mission, cluster: object) -> None:
        self._client, self._is_ours = connect(cluster)
        self._mission = mission
        self._parcels: OrderedDict[ModelKey, _Sent] = OrderedDict()
        self._lock = threading.Lock()
        self._closing = False
        self._addresses: list[str] = []
        self._threads: dict[str, int] = {}
        self._looked = -LOOK_AGAIN
        self._pending: set[Any] = set()
        try:
            wait_for_workers(self._client)
            inspect_workers(self._client, mission)
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
        """Have a model fitted or loaded beside this process, and send it to the cluster."""
        with self._lock:
            sent = self._parcels.get(model_key(cell))
        if sent is not None:
            outer.set_result(sent.prepared)
            return

        def arrived(ended: Future[Any]) -> None:
            try:
                prepared, payload = ended.result()
                outer.set_result(self._put(cell, prepared, payload).prepared)
            except BaseException as error:
                outer.set_exception(self._translated(error))

        self._local.submit(0, Job("parcel", (cell,))).add_done_callback(arrived)

    def _put(self, cell: Cell, prepared: Prepared, payload: bytes) -> _Sent:
        digest = digest_of([self._mission.run, *map(str, model_key(cell)), prepared.fingerprint])
        parcel = Parcel(digest, payload)
        (future,) = self._client.scatter([parcel], hash=False)
        sent = _Sent(prepared, digest, future)
        with self._lock:
            self._parcels[model_key(cell)] = sent
            while len(self._parcels) > PARCELS_KEPT:
                self._parcels.popitem(last=False)
        return sent

    # ---------------------------------------------------------------- jobs

    def _send(self, slot: int, job: Job, cell: Cell, outer: Future[Any], *, tries: int) -> None:
        """Submit a job together with its model; where the cluster has lost the model, send that first."""
        with self._lock:
            sent = self._parcels.get(model_key(cell))
            if sent is not None:
                self._parcels.move_to_end(model_key(cell))
        if sent is None or sent.future.status in ("lost", "cancelled", "error"):
            self._send_model_first(slot, job, cell, outer, tries=tries)
            return
        address = self._addresses[slot % len(self._addresses)] if self._addresses else None
        slots = self._threads.get(address or "", 1)
        try:
            future = self._client.submit(
                perform,
                self._mission,
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
            self._parcels.pop(model_key(cell), None)
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
            self._client.run(stop_host, self._mission.run, on_error="ignore")

    def _leave(self) -> None:
        if self._is_ours:
            with suppress(Exception):
                self._client.close(timeout=5.0)


def _cell_of(job: Job) -> Cell:
    """Return the cell of a job: its first argument, or that of the first of its searches."""
    first = job.arguments[0]
    cell: Cell = first if isinstance(first, Cell) else first[0].cell
    return cell
