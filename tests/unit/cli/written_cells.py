"""Cells of a record, written search by search as a run writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cfbench.digests import digest_of
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo


def write_cell(
    record: Record, searcher: str, losses: Sequence[float | None], *, finish: bool = True, **changes: Any
) -> None:
    """Write a cell of one search a point."""
    coordinates: dict[str, Any] = {
        "dataset": "wine",
        "model": "random-forest",
        "searcher": searcher,
        "objective": "none",
        "constraints": False,
        "fold": 0,
        **changes,
    }
    info = CellInfo(digest_of(coordinates), **coordinates)
    for point, loss in enumerate(losses):
        record.append(
            {
                "cell_key": info.key,
                "point": point,
                "row_id": 10 + point,
                "repetition": 0,
                "status": "not_found" if loss is None else "found",
                "reason": "",
                "x": [0.0, 1.0],
                "z": None if loss is None else [0.5, 1.0],
                "candidates": [] if loss is None else [[0.5, 1.0]],
                "loss": loss,
                "gower": loss,
                "l0": None if loss is None else 1,
                "cost": loss,
                "objective_value": loss,
                "search_queries": 100,
                "robustness_queries": 0,
                "wall_seconds": 0.5,
                "cpu_seconds": 0.5,
                "anytime": [],
                "figures": {},
                "model_fingerprint": "f" * 32,
            }
        )
    if finish:
        entries = {kind: {"name": coordinates[kind]} for kind in ("dataset", "model", "searcher", "objective")}
        record.finish(info, {**coordinates, **entries}, eligible=len(losses))
