"""Finished cells made by hand, and a record that takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from cfbench.digests import digest_of
from cfbench.record.frames import MEASURE_SCHEMA, search_frame
from cfbench.record.schema import checked_rows
from cfbench.record.store import Record
from cfbench.registry import CellFinished, CellInfo
from cfbench.study.protocol import PROTOCOL_VERSION


def finished_cell(
    losses: Sequence[float | None] = (0.25, 0.5, None, 0.75),
    *,
    info: CellInfo | None = None,
    repetitions: int = 1,
    statuses: Sequence[str] = (),
    objective_values: Sequence[float | None] = (),
    measures: pd.DataFrame | None = None,
) -> CellFinished:
    """Make the event of a finished cell: one search per loss, in the order of points and repetitions."""
    info = info or CellInfo("0" * 31 + "1", "credit", "random-forest", "cogs", "none", False, 0, {"cogs": "1"})
    rows = []
    for i, loss in enumerate(losses):
        status = statuses[i] if statuses else "not_found" if loss is None else "found"
        value = objective_values[i] if objective_values else loss
        rows.append(
            {
                "cell_key": info.key,
                "point": i // repetitions,
                "row_id": 10 + i // repetitions,
                "repetition": i % repetitions,
                "status": status,
                "reason": "",
                "x": [1.0, 0.1 * i],
                "z": None if loss is None else [2.0, 0.1 * i],
                "candidates": [] if loss is None else [[2.0, 0.1 * i]],
                "loss": loss,
                "gower": loss,
                "l0": None if loss is None else 1,
                "cost": loss,
                "objective_value": value,
                "search_queries": 100 * (i + 1),
                "robustness_queries": 0,
                "wall_seconds": 0.5 * (i + 1),
                "cpu_seconds": 0.25,
                "anytime": [{"queries": 10, "loss": 1.0}],
                "figures": [("bound", 0.125)],
                "model_fingerprint": "f" * 32,
            }
        )
    frame = search_frame(checked_rows(rows))
    nothing = pd.DataFrame(columns=MEASURE_SCHEMA.names)
    statuses_of = Counter(frame["status"])
    return CellFinished(info, lambda: (frame, nothing if measures is None else measures), statuses_of)


def whole_cell(losses: Sequence[float | None] = (0.25, 0.5), *, dataset: str = "wine", **more: Any) -> CellFinished:
    """Make the event of a finished cell whose key is the digest of its content, as a run sends it."""
    content = {
        "protocol": PROTOCOL_VERSION,
        "dataset": {"name": dataset, "digest": "d" * 32},
        "model": {"name": "random-forest", "version": "1", "settings": {}},
        "searcher": {"name": "cogs", "version": "1", "settings": {"population_size": 50}},
        "objective": {"name": "none", "version": "1", "settings": {}},
        "constraints": False,
        "fold": 0,
        "seed": 42,
    }
    info = CellInfo(
        digest_of(content), dataset, "random-forest", "cogs[population_size=50]", "none", False, 0, {"cogs": "1"}
    )
    return replace(finished_cell(losses, info=info), content=content, eligible=20, **more)


def put_cell(record: Record, event: CellFinished) -> None:
    """Write a finished cell into a record, as a run would."""
    from cfbench_reporters.cell_files import search_table

    assert event.searches is not None
    for row in search_table(event.searches).to_pylist():
        record.append({**row, "figures": dict(row["figures"])})
    record.finish(event.cell, event.content, eligible=20)
