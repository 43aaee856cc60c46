"""Cells made up for the analysis: what a test leaves out is alike in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pytest

from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary
from cfbench.registry.events import CellInfo


class MakeCell(Protocol):
    """Builds a cell from the losses of its points; None: nothing found."""

    def __call__(
        self,
        losses: Sequence[float | None] = (),
        *,
        rows: Sequence[int] | None = None,
        tries: int = 1,
        content: Mapping[str, Any] = ...,
        versions: Mapping[str, str] = ...,
        **fields: Any,
    ) -> CellSummary: ...


@pytest.fixture
def cell() -> MakeCell:
    def make(
        losses: Sequence[float | None] = (),
        *,
        rows: Sequence[int] | None = None,
        tries: int = 1,
        content: Mapping[str, Any] = {},
        versions: Mapping[str, str] = {},
        **fields: Any,
    ) -> CellSummary:
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
                white_box=fields.pop("white_box", False),
                **coordinates,  # type: ignore[arg-type]
            ),
            content=full,
            **{
                "eligible": len(losses),
                "repetitions": tries,
                "searches": tries * len(losses),
                "row_ids": tuple(range(len(losses)) if rows is None else rows),
                "tries": (tries,) * len(losses),
                "successes": tuple(tries if one else 0 for one in found),
                "loss": tuple(losses),
                "objective_value": tuple(losses),
                "seconds": tuple(0.5 if one else None for one in found),
                "queries": tuple(100 if one else None for one in found),
                **fields,
            },
        )

    return make
