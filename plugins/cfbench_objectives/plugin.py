"""What this package registers: the objectives."""

from __future__ import annotations

from collections.abc import Iterable

from cfbench import ObjectiveEntry, hookimpl
from cfbench_objectives.loss import LossAlone


@hookimpl
def cfbench_register_objectives() -> Iterable[ObjectiveEntry]:
    """Yield the objectives."""
    yield ObjectiveEntry(name="none", objective=LossAlone, summary="the loss alone: cost plus one for a wrong class")
