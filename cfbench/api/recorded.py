"""Looking up in a record what a search would find anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.digests import digest_of
from cfbench.harness.plan import Cell
from cfbench.harness.store.record import Record
from cfbench.outcome import Status

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Recorded:
    """A search that a record holds.

    Parameters
    ----------
    row : mapping
        Columns of ``SEARCH_SCHEMA``, of the best repetition.
    cell_key : str
    repetition, repetitions : int
        The repetition that is shown, and how many the record has of this point.
    """

    row: Mapping[str, Any]
    cell_key: str
    repetition: int
    repetitions: int


@dataclass(frozen=True, eq=False)
class Lookup:
    """What a record says about one search.

    Parameters
    ----------
    found : Recorded or None
    other_model : bool
        Whether it holds the search, made with a differently fitted model.
    problems : tuple of str
        What of the record could not be read.
    """

    found: Recorded | None
    other_model: bool
    problems: tuple[str, ...]


def look_up(
    path: Path,
    cell: Cell,
    row_id: int,
    fingerprint: str,
    judged: Callable[[pd.DataFrame], pd.DataFrame] = lambda searches: searches,
) -> Lookup:
    """Look for the searches of a point in the record at `path`.

    A cell counts that differs in nothing that changes a result: any time limit will do, since a search that was not
    ended by the clock is the same with and without one. A point's result is its repetition with the smallest
    objective value.

    Parameters
    ----------
    path : Path
    cell : Cell
    row_id : int
        The point's row of the data set.
    fingerprint : str
        Of the fitted model here: a record that was made elsewhere may have met another one.
    judged : callable
        From searches to the same with the objective value that is asked for, where that is another than the search's.

    Raises
    ------
    RecordError
        If there is no record of this version.
    """
    other_model = False
    with Record.open(path) as record:
        wanted = _without_limit(cell.content)
        keys = [key for key, summary in record.summaries().items() if _without_limit(summary.content) == wanted]
        for key in dict.fromkeys([cell.info.key, *keys]):
            searches = record.searches(key)
            searches = searches[(searches["row_id"] == row_id) & (searches["status"] != Status.TIMED_OUT)]
            known = searches[searches["model_fingerprint"] == fingerprint]
            other_model |= len(known) < len(searches)
            if len(known):
                known = judged(known)
                place = known["objective_value"].fillna(float("inf")).argmin()
                best = {name: known[name].iloc[int(place)] for name in map(str, known.columns)}
                found = Recorded(best, key, int(best["repetition"]), len(known))
                return Lookup(found, other_model, tuple(record.problems))
        return Lookup(None, other_model, tuple(record.problems))


def _without_limit(content: Mapping[str, Any]) -> str:
    return digest_of({key: value for key, value in content.items() if key != "time_limit"})
