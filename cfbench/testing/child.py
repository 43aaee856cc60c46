"""A process for searches that are not trusted: if it hangs, dies or ignores signals, only that process is lost."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from cfbench.registry.contracts import Searcher
from cfbench.registry.discovery import failure, import_file
from cfbench.registry.entries import SearcherEntry
from cfbench.running.executors.child import ONE_THREAD, ChildProcess, environment
from cfbench.study.variants import build_settings
from cfbench.testing.observation import Observation, Output, died, never_returned, observe
from cfbench.testing.problems import Case

START_LIMIT = 120.0
"""Seconds that a child may take to import what it needs."""

IS_FORKSERVER_HERE = "forkserver" in multiprocessing.get_all_start_methods()


class UnfitEntry(Exception):
    """The entry did not arrive in the child: its message says why."""


@dataclass(frozen=True)
class ChildSetup:
    """What a child needs to know of a searcher; all of it can be sent before anything is unpickled.

    Parameters
    ----------
    entry : bytes
        The pickled entry.
    files : tuple of Path
        Plugin files that have to be imported before the entry can be unpickled.
    settings : dict
        JSON-like.
    """

    entry: bytes
    files: tuple[Path, ...]
    settings: dict[str, Any]


def pack(entry: SearcherEntry, settings: Mapping[str, Any]) -> ChildSetup:
    """Pack an entry for a child.

    Raises
    ------
    UnfitEntry
        If it cannot be pickled.
    """
    try:
        pickled = pickle.dumps(entry)
    except Exception as error:  # pickle raises whatever it meets
        raise UnfitEntry(f"it cannot be pickled: {type(error).__name__}: {error}") from error
    # Modules made from a user's file have names that no import finds.
    module = sys.modules.get(getattr(entry.searcher, "__module__", ""))
    is_from_file = module is not None and module.__name__.startswith("cfbench_plugin_") and module.__file__ is not None
    files = (Path(str(module.__file__)),) if is_from_file and module is not None else ()
    return ChildSetup(pickled, files, dict(settings))


class Child:
    """One process that runs searches of one searcher, one at a time.

    Parameters
    ----------
    setup : ChildSetup
    fresh_interpreter : bool
        Whether it is spawned with an interpreter and a hash seed of its own. Otherwise it is forked, where the system
        can do that, from a server that has imported cfbench, which takes a hundredth of the time.

    Raises
    ------
    UnfitEntry
        If the entry cannot be unpickled there.
    """

    def __init__(self, setup: ChildSetup, *, fresh_interpreter: bool = False) -> None:
        method = "spawn" if fresh_interpreter or not IS_FORKSERVER_HERE else "forkserver"
        if method == "forkserver":
            multiprocessing.get_context(method).set_forkserver_preload([__name__])
        # A fresh interpreter has another order of hashing.
        other_hash = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        with environment(ONE_THREAD | ({"PYTHONHASHSEED": other_hash} if fresh_interpreter else {})):
            self._process = ChildProcess(_serve, (setup,), method=method, daemon=True)
        try:
            complaint = self._process.receive(START_LIMIT)
        except (TimeoutError, EOFError) as error:
            late = isinstance(error, TimeoutError)
            reason = f"it took more than {START_LIMIT:g} s" if late else self._process.death_reason()
            complaint = f"a child process could not be started with it: {reason}"
        if complaint:
            self.close()
            raise UnfitEntry(str(complaint))

    def observe(self, case: Case, *, time_limit: float, seed: int = 1, interrupt: bool = False) -> Observation:
        """Run one search; past the limit, or where the process dies, the child is gone."""
        self._process.send((case, seed, interrupt))
        try:
            observation = self._process.receive(time_limit)
        except TimeoutError:
            self.close()
            return never_returned(time_limit)
        except EOFError:
            self.close()
            return died(self._process.death_reason())
        assert isinstance(observation, Observation)
        return observation

    @property
    def is_alive(self) -> bool:
        """Whether it can run another search."""
        return self._process.is_alive()

    def close(self) -> None:
        """Kill the process; it holds nothing that anybody needs."""
        self._process.end()


def _serve(connection: Connection, setup: ChildSetup) -> None:
    """Run in the child: unpack the entry, report the result, run searches until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    output = Output()
    threadpool_limits(1)
    try:
        for file in setup.files:
            import_file(file)
        entry = pickle.loads(setup.entry)  # noqa: S301 - packed by the process that started this one
        searcher: Searcher | None = None
        if isinstance(entry.searcher, type):
            searcher = build_settings(entry.searcher, setup.settings, entry.name)
    except Exception as error:
        connection.send(f"it cannot be unpickled in another process: {failure(error)}")
        return
    connection.send("")
    while True:
        try:
            case, seed, interrupt = connection.recv()
        except EOFError:
            return
        connection.send(observe(entry, searcher, case, output=output, seed=seed, interrupt=interrupt))
