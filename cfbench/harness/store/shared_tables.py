"""What many cells say alike, as one object: a record has any number of cells, and few models and searchers."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, TypeVar

from cfbench.harness.store.summary import CellSummary

T = TypeVar("T", bound=dict[str, Any])


class SharedTables:
    """Tables by what they say. Nobody may change one afterwards."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def table(self, given: T) -> T:
        """Return the first table that said what `given` says."""
        found: T = self._known.setdefault(repr(given), given)
        return found

    def summary(self, summary: CellSummary) -> CellSummary:
        """Return `summary` with tables and names that others have, too."""
        for name, value in summary.content.items():
            if isinstance(value, dict):
                summary.content[name] = self.table(value)
        info = summary.info
        names: dict[str, Any] = {
            axis: sys.intern(getattr(info, axis)) for axis in ("dataset", "model", "searcher", "objective")
        }
        return replace(
            summary,
            info=replace(info, versions=self.table(info.versions), **names),
            statuses=self.table(summary.statuses),
            fingerprints=tuple(map(sys.intern, summary.fingerprints)),
        )
