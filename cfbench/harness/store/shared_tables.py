"""What many cells say alike, as one object: a record has any number of cells, and few models and searchers."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T", bound=dict[str, Any])


class SharedTables:
    """Tables by what they say. A table must not be changed afterwards."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def table(self, given: T) -> T:
        """Return the first table that said what `given` says."""
        found: T = self._known.setdefault(repr(given), given)
        return found
