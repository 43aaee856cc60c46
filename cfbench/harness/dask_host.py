"""The side of a Dask worker: it hosts processes of ours that do the work, and only hands jobs on to them.

A search runs in a process of its own because it may have a time limit, end its process, or change what a process has
once; threads of one process, in which Dask would run searches, have none of that. Nothing here imports Dask.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cfbench.contracts import DataSource
from cfbench.discovery import is_file_name
from cfbench.errors import CfbenchError
from cfbench.harness.caches import cache_dir
from cfbench.harness.executors import Job, ProcessExecutor, WorkerDied
from cfbench.harness.inventory import EntryName, Inventory
from cfbench.harness.plan import Cell
from cfbench.harness.worker import GROUNDS_KEPT, WorkerSetup
from cfbench.registry import RegistryOptions


class UnfitHost(CfbenchError):
    """A Dask worker that lacks something, or has another version of it."""


@dataclass(frozen=True)
class Mission:
    """What a Dask worker has to know of a run before its first job.

    Parameters
    ----------
    run : str
        Names the run.
    options : RegistryOptions
    entries : tuple of (str, str)
        What the plan's jobs need to have registered.
    inventory : Inventory
        What the main process has: a worker must have the same.
    """

    run: str
    options: RegistryOptions
    entries: tuple[EntryName, ...]
    inventory: Inventory


@dataclass(frozen=True)
class Parcel:
    """A data set and a fitted model, pickled by the main process. Dask carries it to a worker once.

    Parameters
    ----------
    digest : str
        Names it.
    payload : bytes
    """

    digest: str
    payload: bytes


class Host:
    """The processes of one run on one Dask worker.

    Parameters
    ----------
    mission : Mission
    slots : int
        Jobs that the Dask worker runs at once, one process each.
    """

    def __init__(self, mission: Mission, slots: int) -> None:
        here = cache_dir()
        # The main process's folders are not here: tables travel with the models.
        options = replace(mission.options, folders=())
        self._mission = mission
        self._executor = ProcessExecutor(WorkerSetup(options, DataSource((), here, download=False), here), slots)
        self._idle = list(range(slots))
        self._loaded: list[OrderedDict[str, None] | None] = [None] * slots
        self._lock = threading.Lock()
        # Linux ends a process when the very thread that started it ends, and Dask's threads come and go.
        self._starter = ThreadPoolExecutor(1, "cfbench starts processes")

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return len(self._idle) < self._executor.slots

    def perform(self, job: Job, cell: Cell | None, parcel: Parcel | None) -> Any:
        """Do a job in an idle process, which gets the model first where it has not loaded it."""
        with self._lock:
            slot = self._idle.pop()
        try:
            self._start(slot)
            loaded = self._loaded[slot]
            assert loaded is not None
            if parcel is not None and parcel.digest not in loaded:
                self._ask(slot, Job("unpack", (cell, parcel.payload)))
            if parcel is not None:
                loaded[parcel.digest] = None
                loaded.move_to_end(parcel.digest)
                if len(loaded) > GROUNDS_KEPT:
                    loaded.popitem(last=False)
            return self._ask(slot, job)
        finally:
            with self._lock:
                self._idle.append(slot)

    def _start(self, slot: int) -> None:
        """Start a slot's process if it has none, and hold what it has against what it should have."""
        if self._loaded[slot] is not None:
            return
        job = Job("inventory", (self._mission.entries,))
        found = self._starter.submit(self._executor.submit, slot, job).result().result()
        differences = self._mission.inventory.differences(found)
        if differences:
            raise UnfitHost("; ".join(differences))
        self._loaded[slot] = OrderedDict()

    def _ask(self, slot: int, job: Job) -> Any:
        try:
            return self._executor.submit(slot, job).result()
        except (TimeoutError, WorkerDied):
            self._loaded[slot] = OrderedDict()  # its next process has loaded nothing
            raise

    def close(self) -> None:
        """End the processes at once."""
        self._executor.close()
        self._starter.shutdown(wait=False)


_hosts: dict[str, Host] = {}
_hosts_lock = threading.Lock()


def perform(mission: Mission, slots: int, job: Job, cell: Cell | None, parcel: Parcel | None) -> Any:
    """Do a job of a run on this Dask worker.

    Raises
    ------
    UnfitHost
        If this worker lacks something that the run needs.
    """
    return _host(mission, slots).perform(job, cell, parcel)


def inspect_host(mission: Mission, slots: int) -> str:
    """Say what this Dask worker lacks or has in another version; empty: nothing."""
    absent = [name for name in mission.options.plugins if is_file_name(name) and not Path(name).exists()]
    if absent:
        return f"the plugin file {absent[0]} is not there: install the plugin, or share its folder"
    try:
        perform(mission, slots, Job("inventory", (mission.entries,)), None, None)
    except CfbenchError as error:
        stop_host(mission.run)
        return str(error)
    return ""


def stop_host(run: str) -> None:
    """End the processes of a run on this Dask worker."""
    with _hosts_lock:
        host = _hosts.pop(run, None)
    if host is not None:
        host.close()


def _host(mission: Mission, slots: int) -> Host:
    with _hosts_lock:
        host = _hosts.get(mission.run)
        if host is None:
            # Runs whose main process was killed have left theirs.
            for run in [run for run, other in _hosts.items() if not other.busy]:
                _hosts.pop(run).close()
            _allow_processes()
            host = _hosts[mission.run] = Host(mission, slots)
        return host


def _allow_processes() -> None:
    """Let a daemonic process start others, which multiprocessing refuses because they might outlive it: ours do not."""
    configuration = getattr(multiprocessing.current_process(), "_config", {})
    configuration["daemon"] = False
