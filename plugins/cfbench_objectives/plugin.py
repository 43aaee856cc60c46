"""What this package registers: the objectives."""

from __future__ import annotations

from collections.abc import Iterable

from cfbench import ObjectiveEntry, hookimpl
from cfbench_objectives.c_and_k import BothAware
from cfbench_objectives.c_setback import SetbackAware
from cfbench_objectives.k_exact import ExactlyNeighbourAware
from cfbench_objectives.k_score import NeighbourAware
from cfbench_objectives.loss import LossAlone


@hookimpl
def cfbench_register_objectives() -> Iterable[ObjectiveEntry]:
    """Yield the objectives."""
    yield ObjectiveEntry(name="none", objective=LossAlone, summary="the loss alone, plus one for a wrong class")
    yield ObjectiveEntry(
        name="c", objective=SetbackAware, summary="the loss plus the cost of the worst setback of the changed features"
    )
    yield ObjectiveEntry(
        name="k",
        objective=NeighbourAware,
        summary="the loss plus a penalty for perturbations of the kept features that lose the class",
    )
    yield ObjectiveEntry(name="ck", objective=BothAware, summary="the loss plus the terms of both c and k")
    yield ObjectiveEntry(
        name="k-exact",
        version="2",
        objective=ExactlyNeighbourAware,
        summary="like k, with the exact probability of keeping the class; only for forests, looks inside the model",
    )
