"""Which fitted models the searches of several records have asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from cfbench.errors import RecordError
from cfbench.record.outlines import model_of
from cfbench.record.record import Record

SHOWN = 5
"""Folds that a message names."""


class FoldModels:
    """The fitted models of each fold, as the indexes of several records name them.

    Parameters
    ----------
    records : sequence of Record
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._found: dict[str, dict[str, Path]] = {}
        self._names: dict[str, str] = {}
        for record in records:
            for summary in record.summaries().values():
                fold, info = model_of(summary.content), summary.info
                self._names[fold] = f"{info.dataset}, {info.model}, fold {info.fold}"
                for fingerprint in summary.fingerprints:
                    self._found.setdefault(fold, {}).setdefault(fingerprint, record.origin)

    def are_mixed(self, fingerprints: AbstractSet[str], content: Mapping[str, Any] | None) -> bool:
        """Whether searches asked several models, or one that no index names for their fold: its table was changed.

        Parameters
        ----------
        fingerprints : set of str
            Of the searches of a cell, as its tables and journals have them.
        content : mapping or None
            Of the cell; None where no record has a table of it.
        """
        known = fingerprints if content is None else self._found.get(model_of(content), {}).keys()
        return len(fingerprints) > 1 or not fingerprints <= known

    def refuse_mixed(self) -> None:
        """Refuse records whose searches asked differently fitted models of one fold.

        Raises
        ------
        RecordError
            It names the folds, and which record has which fingerprint.
        """
        mixed = [fold for fold, fingerprints in self._found.items() if len(fingerprints) > 1]
        if not mixed:
            return
        listing = "".join(
            f"\n  {self._names[fold]}: "
            + ", ".join(f"{one[:12]} in {path}" for one, path in sorted(self._found[fold].items()))
            for fold in mixed[:SHOWN]
        )
        more = f"\n  and {len(mixed) - SHOWN} more" if len(mixed) > SHOWN else ""
        raise RecordError(
            f"the searches asked differently fitted models of {len(mixed)} fold(s), so they are no results of one "
            f"study:{listing}{more}\nHave the machines share their fitted models (`cfbench fit`, CFBENCH_CACHE_DIR) "
            "and run the smaller part again; or merge with --mixed-models, and every board will carry a warning"
        )
