"""What a run has to know of every cell, and no more: all summaries of a large record would fill the memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cfbench.record.cell_line import done_of, summary_of
from cfbench.record.cells import RUNS_AGAIN, Cells
from cfbench.record.index import Index
from cfbench.record.rows import SearchId
from cfbench.record.summary import CellSummary
from cfbench.registry.events import CellInfo


@dataclass(frozen=True, slots=True)
class Outline:
    """A cell of the record.

    Parameters
    ----------
    eligible : int
        Eligible points of its fold.
    searches : int
        In its table.
    skipped, failure : str
    model : str
        The data set, the model and the fold that its searches asked, as `model_of` writes them.
    mark : str
        Of its table; empty where there is none.
    runs : tuple
        Which searches the table holds, as the index writes it.
    """

    eligible: int
    searches: int
    skipped: str
    failure: str
    model: str
    mark: str
    runs: tuple[Any, ...]

    @property
    def done(self) -> dict[SearchId, str]:
        """(point, repetition) of the table's searches, with their statuses."""
        return done_of(self.line())

    def line(self) -> dict[str, Any]:
        """Return what the index says of the table."""
        return {"mark": self.mark, "searches": self.searches, "done": self.runs}


def outlines(index: Index, cells: Cells, report: Callable[[str], None]) -> Iterator[tuple[CellInfo, float, Outline]]:
    """Read every cell's coordinates, wall-clock seconds and outline; from its table where the index does not know it.

    A cell whose table is gone is reported and left out.
    """
    # Listed first: what a writer adds meanwhile is looked for once more below.
    unread = set(cells.keys())
    shared: dict[Any, Any] = {}
    for key, line in index.contents():
        try:
            found = _outlined(summary_of(line), line["mark"], line["done"], shared)  # held against what cfbench writes
        except (KeyError, TypeError, ValueError) as error:
            report(f"the index's line of cell {key} is not understood ({error!r}); its table is read instead")
            continue
        stored = key in unread
        unread.discard(key)
        if line["mark"] and not stored and not cells.path(key).exists():
            report(f"{cells.path(key)} is missing; {RUNS_AGAIN}")
            continue
        yield found
    for key in sorted(unread):
        read = cells.read(key)
        if read is not None:
            made = cells.line_from(*read)
            yield _outlined(made.summary, made.mark, made.content()["done"], shared)


def _outlined(
    summary: CellSummary, mark: str, runs: Iterable[Any], shared: dict[Any, Any]
) -> tuple[CellInfo, float, Outline]:
    """Make an outline; runs that many cells have are one object, in `shared`."""
    listed = tuple(tuple(run) for run in runs)
    outline = Outline(
        eligible=summary.eligible,
        searches=summary.searches,
        skipped=summary.skipped,
        failure=summary.failure,
        model=model_of(summary.content),
        mark=mark,
        runs=shared.setdefault(listed, listed),
    )
    outline.done  # noqa: B018 - it raises where the line does not list as many searches as it counts
    return summary.info, summary.wall_seconds, outline


def model_of(content: Mapping[str, Any]) -> str:
    """Return what decides which points of a fold are eligible, as text; equal texts are one object."""
    decides = [content.get("dataset"), content.get("model"), content.get("fold")]
    return sys.intern(json.dumps(decides, sort_keys=True))
