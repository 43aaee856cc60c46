"""Which fitted models the searches of several records have asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cfbench.errors import RecordError
from cfbench.harness.store.record import Record

SHOWN = 5
"""Folds that a message names."""


def refuse_mixed_models(records: Sequence[Record]) -> None:
    """Refuse records whose searches asked differently fitted models of one fold.

    Raises
    ------
    RecordError
        It names the folds, and which record has which fingerprint.
    """
    found: dict[str, dict[str, Path]] = {}
    names: dict[str, str] = {}
    for record in records:
        for content, where, fingerprints in _asked(record):
            fold = json.dumps([content.get("dataset"), content.get("model"), content.get("fold")], sort_keys=True)
            names[fold] = where
            for fingerprint in fingerprints:
                found.setdefault(fold, {}).setdefault(fingerprint, record.path)
    mixed = [fold for fold, fingerprints in found.items() if len(fingerprints) > 1]
    if not mixed:
        return
    listing = "".join(
        f"\n  {names[fold]}: " + ", ".join(f"{one[:12]} in {path}" for one, path in sorted(found[fold].items()))
        for fold in mixed[:SHOWN]
    )
    more = f"\n  and {len(mixed) - SHOWN} more" if len(mixed) > SHOWN else ""
    raise RecordError(
        f"the searches asked differently fitted models of {len(mixed)} fold(s), so they are no results of one study:"
        f"{listing}{more}\nHave the machines share their fitted models (`cfbench fit`, CFBENCH_CACHE_DIR) and run the "
        "smaller part again; or merge with --mixed-models, and every board will carry a warning"
    )


def _asked(record: Record) -> Iterable[tuple[Mapping[str, Any], str, Iterable[str]]]:
    """Return content, name of the fold, and fingerprints of every finished cell."""
    for summary in record.summaries().values():
        info = summary.info
        yield summary.content, f"{info.dataset}, {info.model}, fold {info.fold}", summary.fingerprints
