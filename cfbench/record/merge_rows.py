"""The searches of one cell, put together from several records; what they say twice must agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfbench.problem.outcome import Status
from cfbench.record.lines import pack
from cfbench.record.record import Record
from cfbench.record.rows import Row, SearchId
from cfbench.record.schema import TIME_COLUMNS
from cfbench.registry.events import CellInfo

SHOWN = 3
"""Differing searches of a cell that a message names."""


class Union:
    """A cell's searches from a record and from those that are merged into it.

    Parameters
    ----------
    key : str
    record : Record
        What it holds comes first.

    Attributes
    ----------
    stored : (CellInfo, dict, int) or None
        Coordinates, content and eligible points; None where no record has a table of the cell.
    finished, waiting : dict of (int, int) to dict
        Rows for the table and for the journal.
    waiting_new : dict of (int, int) to dict
        Those for the journal that the record does not have.
    new : int
        Searches that the record does not have.
    grown : bool
        Whether the table has to be written.
    kept_by_clock : int
    conflicts : list of str
    """

    def __init__(self, key: str, record: Record) -> None:
        held = record.held(key)
        self.key = key
        self.stored: tuple[CellInfo, dict[str, Any], int] | None = None
        if held.stored is not None:
            self.stored = (held.stored.info, held.stored.content, held.stored.eligible)
        self.finished = held.finished()
        self.waiting: dict[SearchId, Row] = {
            search: row for search, row in held.waiting.items() if search not in self.finished
        }
        self.held_before = held.stored is not None or bool(held.waiting)
        self.waiting_new: dict[SearchId, Row] = {}
        self.new = 0
        self.grown = False
        self.kept_by_clock = 0
        self.conflicts: list[str] = []
        self._marks = {held.mark}
        self._origins: dict[SearchId, Path] = {}
        self._path = record.origin

    @property
    def fingerprints(self) -> set[str]:
        """Of the fitted models that the searches asked."""
        return {row["model_fingerprint"] for rows in (self.finished, self.waiting) for row in rows.values()}

    def add(self, source: Record, *, has_journal: bool) -> None:
        """Take in what another record holds of the cell."""
        # A table that is the same byte for byte is not decoded: most cells of a merge that is repeated are.
        if not has_journal and source.mark(self.key) in self._marks - {""}:
            return
        held = source.held(self.key)
        if held.stored is not None:
            self._marks.add(held.mark)
            about = (held.stored.info, held.stored.content, held.stored.eligible)
            if self.stored is None:
                self.stored, self.grown = about, True
            elif pack(self.stored[1]) != pack(about[1]) or self.stored[2] != about[2]:
                self.conflicts.append(self._disagreement(about, source.origin))
                return
            self._take(held.finished(), self.finished, source.origin)
        self._take(held.waiting, self.waiting, source.origin)

    def _take(self, rows: dict[SearchId, Row], into: dict[SearchId, Row], path: Path) -> None:
        different: list[SearchId] = []
        for search, row in rows.items():
            known = self.finished.get(search) or self.waiting.get(search)
            if known is None:
                into[search] = row
                self._origins[search] = path
                self.new += 1
                if into is self.finished:
                    self.grown = True
                else:
                    self.waiting_new[search] = row
            elif not _agree(known, row):
                if Status.TIMED_OUT in (known["status"], row["status"]):
                    self.kept_by_clock += 1
                else:
                    different.append(search)
            if into is self.finished and search in self.waiting:
                # Finished elsewhere: it moves to the table.
                into[search] = self.waiting.pop(search)
                self.waiting_new.pop(search, None)
                self.grown = True
        if different:
            self.conflicts.append(self._difference(different, rows, path))

    def _difference(self, different: list[SearchId], rows: dict[SearchId, Row], path: Path) -> str:
        first = different[0]
        known, row = self.finished.get(first) or self.waiting[first], rows[first]
        columns = ", ".join(column for column in row if column not in TIME_COLUMNS and not _same(known, row, column))
        named = ", ".join(f"point {point} repetition {repetition}" for point, repetition in different[:SHOWN])
        more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
        return (
            f"cell {self.key}: {self._origins.get(first, self._path)} and {path} hold different results of the same "
            f"searches ({named}{more}); the first differ in {columns}. One of them comes from other code or another "
            "machine's arithmetic: keep the one that you trust"
        )

    def _disagreement(self, about: tuple[CellInfo, dict[str, Any], int], path: Path) -> str:
        assert self.stored is not None
        if pack(self.stored[1]) != pack(about[1]):
            return f"cell {self.key}: {path} holds it with other settings under the same key: one of them was altered"
        return (
            f"cell {self.key}: {path} has {about[2]} eligible points where there are {self.stored[2]} elsewhere: the "
            "models differ"
        )


def _agree(one: Row, other: Row) -> bool:
    return all(_same(one, other, column) for column in one if column not in TIME_COLUMNS)


def _same(one: Row, other: Row, column: str) -> bool:
    return pack(one[column]) == pack(other[column])  # as text, in which NaN equals NaN
