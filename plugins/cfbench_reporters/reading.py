"""Reading cells back from a tracking store: which runs are cells, and their files. Nothing is interpreted here.

Whatever a store answers is bounded in time, size and number: it may be slow, broken, or somebody else's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from cfbench import MirroredCell, MirrorListing, TrackingError, shown_address
from cfbench_reporters.cell_run import CELL_TAG, CONTENT_TAG, STUDY_TAG
from cfbench_reporters.store import talking_to

ANSWER_SECONDS = 60.0
"""A page of runs or a file takes milliseconds; a store that needs longer is given up."""
MOST_RUNS = 200_000
PAGE = 500

T = TypeVar("T")


class UnfitFileError(ValueError):
    """A run's file that cannot be had, and why; the rest of the store may be sound."""


@dataclass(frozen=True)
class StoredRun:
    """A run as a store lists it.

    Parameters
    ----------
    run_id : str
    tags : dict of str to str
    searches : float
        The run's metric of that name; 0 where there is none.
    started : int
        Milliseconds since the epoch.
    """

    run_id: str
    tags: dict[str, str]
    searches: float
    started: int


class Store(Protocol):
    """A tracking store, open for reading."""

    def experiments(self) -> list[tuple[str, str, dict[str, str]]]:
        """Return identifier, name and tags of every active experiment."""

    def page(self, experiments: list[str], token: str) -> tuple[list[StoredRun], str]:
        """Return a page of runs, and the token of the next one; empty where it is the last."""

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run, or raise UnfitFileError."""


class TrackingReader:
    """Reads cells from the store at an address.

    Parameters
    ----------
    address : str

    Raises
    ------
    TrackingError
        If the store cannot be opened; also from every method, if it does not answer, or with an error.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._store = self._ask(lambda: _open(address))

    def listing(self, study: str = "") -> MirrorListing:
        """List the cells of a study, or, where `study` is empty, of all studies that the store holds.

        Where several runs hold a cell, the one with the most searches counts, among them the latest.

        Raises
        ------
        TrackingError
            If there is no such study, or none.
        """
        experiments = self._ask(self._store.experiments)
        wanted = [e for e in experiments if e[1] == study] if study else [e for e in experiments if STUDY_TAG in e[2]]
        if not wanted:
            known = sorted(name for _, name, tags in experiments if STUDY_TAG in tags)
            raise TrackingError(_no_study(shown_address(self._address), study, known, len(experiments)))
        runs = self._all_runs([number for number, _, _ in wanted])
        cells = [run for run in runs if run.tags.get(CELL_TAG)]
        whole = sorted((run for run in cells if run.tags.get(CONTENT_TAG)), key=lambda run: (run.searches, run.started))
        best = {run.tags[CELL_TAG]: run for run in whole}
        return MirrorListing(
            cells=tuple(MirroredCell(run.run_id, key, run.tags[CONTENT_TAG]) for key, run in sorted(best.items())),
            studies=tuple(sorted(name for _, name, _ in wanted)),
            foreign=len(runs) - len(cells),
            unfinished=len(cells) - len(whole),
            doubled=len(whole) - len(best),
        )

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run.

        Raises
        ------
        ValueError
            If the run has no such file, or a larger one.
        """
        answer = self._ask(partial(self._file, run_id, name, most_bytes))
        if isinstance(answer, UnfitFileError):
            raise answer
        return answer

    def _file(self, run_id: str, name: str, most_bytes: int) -> bytes | UnfitFileError:
        try:
            return self._store.file(run_id, name, most_bytes)
        except UnfitFileError as error:
            return error

    def _all_runs(self, experiments: list[str]) -> list[StoredRun]:
        runs: dict[str, StoredRun] = {}
        token, seen = "", set[str]()
        while True:
            page, token = self._ask(partial(self._store.page, experiments, token))
            runs |= {run.run_id: run for run in page}
            if not token:
                return list(runs.values())
            if token in seen or len(runs) > MOST_RUNS:
                raise TrackingError(
                    f"the tracking store {shown_address(self._address)} lists runs without an end "
                    f"({len(runs):,} so far): this is no list that can be read"
                )
            seen.add(token)

    def _ask(self, question: Callable[[], T]) -> T:
        with talking_to(self._address, advice="What was fetched before is kept; the same command goes on from there"):
            return _within(ANSWER_SECONDS, question)


def _open(address: str) -> Store:
    if address.startswith(("http://", "https://")):
        from cfbench_reporters.server_store import ServerStore

        return ServerStore(address)
    from cfbench_reporters.database_store import DatabaseStore

    return DatabaseStore(address)


def _within(seconds: float, question: Callable[[], T]) -> T:
    """Return the answer, or give up: timeouts of sockets never end where bytes trickle."""
    outcome: list[Any] = []

    def ask() -> None:
        try:
            outcome.append((question(), None))
        except BaseException as error:  # it is raised again in the thread that asked
            outcome.append((None, error))

    thread = threading.Thread(target=ask, daemon=True, name="cfbench-tracking")
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"no whole answer within {seconds:.0f} s")
    answer, error = outcome[0]
    if error is not None:
        raise error
    result: T = answer
    return result


def _no_study(shown: str, study: str, known: list[str], experiments: int) -> str:
    names = ", ".join(repr(name) for name in known[:10]) + (", ..." if len(known) > 10 else "")
    if study and known:
        return f"{shown} has no experiment {study!r}; the studies there: {names}"
    what = f"no experiment {study!r} and no study at all" if study else "no study"
    return (
        f"{shown} holds {what} among its {experiments:,} experiments; `cfbench run --tracking ADDRESS`, or `cfbench "
        "sync` for a record that is there, logs one"
    )
