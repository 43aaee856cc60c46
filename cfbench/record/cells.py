"""A cell: its coordinates, and the summary of its finished searches, which the leaderboard reads without any search."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, get_type_hints

from cfbench.digests import digest_of
from cfbench.errors import RecordError
from cfbench.record.schema import (
    FLAG,
    KEY,
    MACHINES,
    MEASURES,
    NAME,
    PREPARATIONS,
    QUERIES,
    SEARCHES,
    SECONDS,
    STUDY,
    WHOLE,
    WRONG,
    Amount,
    DamagedError,
    FieldKind,
    Name,
    Row,
    SearchId,
    Table,
    Whole,
    of_type,
)
from cfbench.registry.events import CellInfo

Runs = tuple[tuple[Name, Whole, Whole, Whole], ...]
"""Searches in short: (status, repetition, first point, last point)."""

_CONTENT: dict[str, tuple[type, ...]] = {
    "protocol": (int,),
    "dataset": (dict,),
    "model": (dict,),
    "searcher": (dict,),
    "objective": (dict,),
    "constraints": (bool,),
    "respect_steps": (bool,),
    "fold": (int,),
    "points": (str,),
    "seed": (int,),
    "query_budget": (int, type(None)),
    "time_limit": (int, float, type(None)),
    "prepare_budget": (int,),
}
_ENTRY = {"name": str, "version": str, "digest": str, "settings": dict}
_AXES = ("model", "searcher", "objective")


class Preparation(NamedTuple):
    """What one preparation of a cell took: wall-clock seconds, and queries."""

    seconds: float
    queries: int


@dataclass(frozen=True, slots=True)
class CellSummary:
    """What a record holds of a cell, next to its searches: a row of the table of cells, whose columns are these fields.

    A search has *succeeded* if its row has a loss: a feasible point of the target class, confirmed by the judge. A
    point's result is its successful repetition with the smallest objective value, the first of those that tie.

    Parameters
    ----------
    info : CellInfo
    content : dict
        All that the cell's key is a digest of, settings with their defaults filled in.
    eligible : int
        Points of the test fold with another class than the target.
    repetitions : int
        The most repetitions that any point has.
    searches : int
    statuses : dict of str to int
        How many searches ended in which status.
    wall_seconds, cpu_seconds : float or None
        Sums over the searches; None if a search's is unknown.
    search_queries, robustness_queries : int or None
        Sums over the searches; None if a search's is unknown.
    fingerprints : tuple of str
        Fingerprints of the fitted models; more than one is a warning on the board.
    points, row_ids, tries, successes : tuple of int
        One per point, in order: its position among the fold's eligible points, its row in the data set, its searches,
        its successful searches.
    results : tuple of int or None
        One per point: the repetition that found its result; None if no search succeeded, as in what follows.
    loss, objective_value : tuple of float or None
        One per point: of its result.
    seconds : tuple of float or None
        One per point: wall-clock seconds of the search that found its result.
    queries : tuple of int or None
        One per point: queries of that search, the objective's included.
    skipped : str
        Why the cell was not run; empty if it was.
    failure : str
        Why the cell failed (data, model or worker) when it ran last; empty if it did not. A failed cell runs again.
    runs : sequence of (str, int, int, int)
        The finished searches: (status, repetition, first point, last point).
    mark : str
        Digest of the finished searches' rows, times included: measures belong to one mark. Empty if there are none.
    source : str
        Where a fetched cell comes from; empty for a cell that was searched or merged here.
    preparation : Preparation or None
        What its preparation took in one worker; None if the searcher prepares nothing. It has a table of its own.
    """

    info: CellInfo
    content: dict[str, Any] = field(default_factory=dict)
    eligible: int = 0
    repetitions: int = 0
    searches: int = 0
    statuses: dict[Name, Whole] = field(default_factory=dict)
    wall_seconds: float | None = 0.0
    cpu_seconds: float | None = 0.0
    search_queries: int | None = 0
    robustness_queries: int | None = 0
    fingerprints: tuple[Name, ...] = ()
    points: tuple[Whole, ...] = ()
    row_ids: tuple[Whole, ...] = ()
    tries: tuple[Whole, ...] = ()
    successes: tuple[Whole, ...] = ()
    results: tuple[Whole | None, ...] = ()
    loss: tuple[Amount | None, ...] = ()
    objective_value: tuple[float | None, ...] = ()
    seconds: tuple[Amount | None, ...] = ()
    queries: tuple[Whole | None, ...] = ()
    skipped: str = ""
    failure: str = ""
    runs: Runs = ()
    mark: str = ""
    source: str = ""
    preparation: Preparation | None = None

    @property
    def has_results(self) -> bool:
        """Whether there is something to show: searches that ended, or a cell that ended without any search to make.

        What an earlier run finished stays a result if a later one could not continue the cell.
        """
        return self.searches > 0 or not (self.skipped or self.failure)

    @property
    def done(self) -> dict[SearchId, str]:
        """(point, repetition) of the finished searches with their statuses, in order."""
        found = {
            (p, repetition): status for status, repetition, first, last in self.runs for p in range(first, last + 1)
        }
        return dict(sorted(found.items()))

    def of_rows(self, rows: Iterable[Row]) -> CellSummary:
        """Return the summary that the cell has with these searches."""
        made = summarise(self.info, self.content, self.eligible, rows)
        kept = {name: getattr(self, name) for name in ("skipped", "failure", "source", "preparation")}
        return replace(made, **kept)

    def outline(self, info: CellInfo) -> CellSummary:
        """Return what a run has to know of every cell: all summaries of a large record would fill the memory."""
        said = {name: getattr(self, name) for name in ("eligible", "searches", "skipped", "failure", "runs")}
        return CellSummary(info, **said)


_OF_INFO = get_type_hints(CellInfo)
_OF_SUMMARY = get_type_hints(CellSummary, include_extras=True)
_OF_POINTS = ("points", "row_ids", "tries", "successes", "results", "loss", "objective_value", "seconds", "queries")
_APART = ("info", "preparation")
"""Fields of a summary that are no columns of the table of cells."""
_KINDS: dict[Any, FieldKind] = {str: NAME, bool: FLAG, float | None: SECONDS, int | None: QUERIES, int: WHOLE}
CELLS = Table(
    "cells",
    ("key",),
    {
        name: KEY if name == "key" else _KINDS.get(kind) or of_type(kind)
        for name, kind in (_OF_INFO | _OF_SUMMARY).items()
        if name not in _APART
    },
)
TABLES = (SEARCHES, CELLS, MEASURES, PREPARATIONS, MACHINES, STUDY)


def stored_cell(summary: CellSummary) -> tuple[Any, ...]:
    """Return the row that the database holds of a cell."""
    named = {name: getattr(summary, name) for name in _OF_SUMMARY if name not in _APART}
    return CELLS.stored(CELLS.checked({**asdict(summary.info), **named}))


def loaded_cell(values: Sequence[Any]) -> CellSummary:
    """Return the cell in a row of the database; raise DamagedError if it holds what no cell can."""
    row = CELLS.loaded(values)
    try:
        content = checked_content(row.pop("content"))
        summary = CellSummary(CellInfo(**{name: row.pop(name) for name in _OF_INFO}), content, **row)
        if len({len(getattr(summary, name)) for name in _OF_POINTS}) > 1:
            raise ValueError("every point must have one value of each kind")
        listed = sum(max(last - first + 1, 0) for _, _, first, last in summary.runs)  # before they are written out
        if not sum(summary.tries) == sum(summary.statuses.values()) == summary.searches == listed:
            raise ValueError("its counts of searches differ")
        if summary.searches and not summary.mark:
            raise ValueError(f"it counts {summary.searches:,} searches and has no mark of them")
    except WRONG as error:
        raise DamagedError(str(error)) from error
    return summary


def mark_of(digests: Iterable[bytes]) -> str:
    """Return the mark of a cell's finished searches from the digests of their rows, in order; empty without any."""
    data = b"".join(digests)
    return hashlib.blake2b(data, digest_size=16).hexdigest() if data else ""


def summarise(info: CellInfo, content: dict[str, Any], eligible: int, rows: Iterable[Row]) -> CellSummary:
    """Return the summary of a cell's searches; rows are in their one form, in any order, one per search."""
    ordered = sorted(rows, key=lambda row: (row["point"], row["repetition"]))
    points = {point: list(searches) for point, searches in groupby(ordered, key=lambda row: row["point"])}
    successes = [[row for row in searches if row["loss"] is not None] for searches in points.values()]
    results = [min(found, key=_rank, default=None) for found in successes]

    def of_results(value: Callable[[Row], Any]) -> tuple[Any, ...]:
        return tuple(None if row is None else value(row) for row in results)

    return CellSummary(
        info=info,
        content=content,
        eligible=eligible,
        repetitions=max(map(len, points.values()), default=0),
        searches=len(ordered),
        statuses=dict(sorted(Counter(row["status"] for row in ordered).items())),
        wall_seconds=_total(ordered, "wall_seconds", math.fsum),
        cpu_seconds=_total(ordered, "cpu_seconds", math.fsum),
        search_queries=_total(ordered, "search_queries", sum),
        robustness_queries=_total(ordered, "robustness_queries", sum),
        fingerprints=tuple(sorted({row["model_fingerprint"] for row in ordered})),
        points=tuple(points),
        row_ids=tuple(searches[-1]["row_id"] for searches in points.values()),
        tries=tuple(map(len, points.values())),
        successes=tuple(map(len, successes)),
        results=of_results(itemgetter("repetition")),
        loss=of_results(itemgetter("loss")),
        objective_value=of_results(itemgetter("objective_value")),
        seconds=of_results(itemgetter("wall_seconds")),
        queries=of_results(queries_of),
        runs=_runs_of(ordered),
        mark=mark_of(SEARCHES.stored(row)[-1] for row in ordered),
    )


def queries_of(row: Row) -> int | None:
    """Return all queries of a search; None if they are unknown."""
    search, robustness = row["search_queries"], row["robustness_queries"]
    return None if search is None or robustness is None else search + robustness


def _total(rows: Iterable[Row], name: str, add: Callable[[list[Any]], Any]) -> Any:
    """Return the sum of a column; None if it is unknown for a row."""
    values = [row[name] for row in rows]
    return None if None in values else add(values)


def _rank(row: Row) -> float:
    value = row["objective_value"]
    return math.inf if value is None else float(value)


def _runs_of(rows: Iterable[Row]) -> Runs:
    """Return searches in short: neighbouring points that ended alike in one repetition are one run."""
    runs: list[tuple[str, int, int, int]] = []
    for repetition, point, status in sorted((row["repetition"], row["point"], row["status"]) for row in rows):
        if runs and runs[-1][:2] == (status, repetition) and runs[-1][3] == point - 1:
            runs[-1] = (status, repetition, runs[-1][2], point)
        else:
            runs.append((status, repetition, point, point))
    return tuple(runs)


def model_of(content: Mapping[str, Any]) -> str:
    """Return what decides which points of a fold are eligible, as text; equal texts are one object."""
    decides = [content.get("dataset"), content.get("model"), content.get("fold")]
    return sys.intern(json.dumps(decides, sort_keys=True))


# ---------------------------------------------------------------- what a file says of a cell: it comes from anywhere


def checked_info(given: object) -> CellInfo:
    """Return the coordinates in JSON-like content; raise TypeError or ValueError if it is anything else."""
    if not isinstance(given, Mapping) or given.keys() - _OF_INFO.keys():
        raise TypeError(f"a cell's coordinates are a table of {', '.join(_OF_INFO)}")
    kinds = {**CELLS.fields, "key": NAME}  # whether it is the key of this cell is for others to say
    return CellInfo(**{name: kinds[name].check(value) for name, value in given.items()})


class Content(dict[str, Any]):
    """A cell's key content; a missing field raises RecordError."""

    def __missing__(self, name: str) -> Any:
        raise RecordError(
            f"the record does not say the {name} of one of its cells, which cfbench always writes: it was altered, or "
            "made by something else"
        )


def checked_content(given: Mapping[str, Any]) -> Content:
    """Return a cell's content, of which anything may be missing; raise TypeError or ValueError for wrong types."""
    content = Content(given)
    for name in content.keys() & _CONTENT.keys():
        if type(content[name]) not in _CONTENT[name]:
            raise TypeError(f"content.{name} cannot be {content[name]!r:.50}")
        if isinstance(content[name], dict):
            content[name] = entry = Content(content[name])
            for key in entry.keys() & _ENTRY.keys():
                if not isinstance(entry[key], _ENTRY[key]):
                    raise TypeError(f"content.{name}.{key} cannot be {entry[key]!r:.50}")
    # It is hashed, shown and written again: numbers that are not finite and half surrogate pairs cannot be.
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    return content


def objection_to(key: str, info: CellInfo, content: Mapping[str, Any]) -> str:
    """Return why a cell is not the one that its key, its coordinates and its content name; empty if it is."""
    try:
        digest = digest_of(content)
        names = {axis: content[axis]["name"] for axis in ("dataset", *_AXES)}
        versions = {axis: content[axis]["version"] for axis in _AXES if axis in info.versions}
        places = (content["constraints"], content["fold"])
    except (KeyError, TypeError, RecursionError, RecordError) as error:
        return f"it does not say what was run: {error!r:.200}"
    if not key == info.key == digest:
        return f"its key is not the digest of what it says was run ({digest})"
    labels = {axis: getattr(info, axis).partition("[")[0] for axis in _AXES}
    is_folder = names["dataset"] == content["dataset"].get("digest")  # its name is a label alone
    labels["dataset"] = names["dataset"] if is_folder else info.dataset
    if names["model"] == versions.get("model"):  # a user's own: likewise
        labels["model"] = names["model"]
    if labels != names or places != (info.constraints, info.fold):
        return "it says to be another cell than the one that was run"
    if versions != {axis: info.versions[axis] for axis in versions}:
        return "it says to be of other versions than the one that was run"
    return ""
