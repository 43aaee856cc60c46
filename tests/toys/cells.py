"""Cells made up for boards: what a test leaves out is alike in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import build_registry

REGISTRY = build_registry()


def cell(
    losses: Sequence[float | None] = (),
    *,
    rows: Sequence[int] | None = None,
    tries: int = 1,
    content: Mapping[str, Any] = {},
    versions: Mapping[str, str] = {},
    **fields: Any,
) -> CellSummary:
    """Build a cell from the losses of its points; None: nothing found. A searcher `peek` is a white box."""
    coordinates = {
        "dataset": "credit",
        "model": "random-forest",
        "searcher": "cogs",
        "objective": "none",
        "constraints": False,
        "fold": 0,
    }
    coordinates |= {name: fields.pop(name) for name in list(fields) if name in coordinates}
    full = {**coordinates, "seed": 42, **content}
    found = [loss is not None for loss in losses]
    return CellSummary(
        info=CellInfo(
            key=digest_of(full),
            versions=dict(versions),
            white_box=fields.pop("white_box", coordinates["searcher"] == "peek"),
            **coordinates,  # type: ignore[arg-type]
        ),
        content=full,
        **{
            "eligible": len(losses),
            "repetitions": tries,
            "searches": tries * len(losses),
            "row_ids": tuple(range(len(losses)) if rows is None else rows),
            "statuses": {"found": tries * sum(found), "not_found": tries * (len(found) - sum(found))},
            "points": tuple(range(len(losses))),
            "results": tuple(0 if one else None for one in found),
            "tries": (tries,) * len(losses),
            "successes": tuple(tries if one else 0 for one in found),
            "loss": tuple(losses),
            "objective_value": tuple(losses),
            "seconds": tuple(0.5 if one else None for one in found),
            "queries": tuple(100 if one else None for one in found),
            **fields,
        },
    )
