"""What a record holds of one cell: the table that a finished cell has, and the searches that wait in a journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cfbench.record.rows import Row, SearchId

if TYPE_CHECKING:
    from cfbench.record.tables import StoredCell


@dataclass(frozen=True)
class Held:
    """A cell's table and journal.

    Parameters
    ----------
    stored : StoredCell or None
        None where the cell was never finished.
    waiting : dict of (int, int) to dict
        The journal's rows by (point, repetition).
    mark : str
        Tells the table from any other; empty where there is none.
    """

    stored: StoredCell | None
    waiting: dict[SearchId, Row]
    mark: str

    def finished(self) -> dict[SearchId, Row]:
        """Return the table's rows by (point, repetition)."""
        if self.stored is None:
            return {}
        from cfbench.record import tables

        return {(row["point"], row["repetition"]): row for row in tables.rows_of(self.stored.table)}
