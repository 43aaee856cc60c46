"""One counterfactual of an explanation: its changes, its cost, and what perturbations do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cfbench.digests import digest_of
from cfbench.errors import UnavailableError
from cfbench.explaining.explanation import Explanation, shown_value
from cfbench.explaining.hazards import hazards_of
from cfbench.forests.certificate import Settled, k_certificate
from cfbench.forests.structure import forest_of
from cfbench.problem.outcome import Status
from cfbench.robustness.random_perturbations import PerturbedPart
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.study.plan import Cell

SECONDS = 2.0


def proven_of_kept(
    model: object,
    space: FeatureSpace,
    x: FloatArray,
    z: FloatArray,
    target: int,
    predict: Callable[[FloatArray], IntArray],
) -> tuple[str, ...]:
    """Return a sentence: can any perturbation of kept features undo the counterfactual, or why is that unknown?"""
    try:
        structure = forest_of(model)
    except UnavailableError:
        return ("Not proven for all perturbations of what you keep: the model shows no forest.",)
    certificate = k_certificate(structure, space, x, z, target, seconds=SECONDS)
    if certificate.verdict is Settled.CERTIFIED:
        return ("Proven: no perturbation of what you keep can undo this.",)
    point = certificate.point
    if point is None:
        return (f"Whether any perturbation of what you keep can undo this was not decided within {SECONDS:g} s.",)
    if predict(point[np.newaxis])[0] == target:
        return ()  # the structure is not the model's
    moved = []
    for i in np.flatnonzero(point != z).tolist():
        feature, value = space.features[i], shown_value(space.features[i], float(point[i]))
        number = f"{value:.6g} {feature.unit}".strip() if isinstance(value, float) else value
        moved.append(f"{feature.name} {number}")
    return (f"A perturbation of what you keep can undo this; this one would: {', '.join(moved)}.",)


_BITS = 0xFFFF_FFFF_FFFF_FFFF


def explanation_of(
    row: Mapping[str, Any],
    cell: Cell,
    space: FeatureSpace,
    target: int,
    labels: Sequence[object],
    predict: Callable[[FloatArray], IntArray],
    *,
    draws: int,
    about: Mapping[str, Any] | None = None,
    heading: Sequence[str] = (),
    model: object | None = None,
) -> Explanation:
    """Return the content of a search's row, and what perturbations can do to its result."""
    x = np.asarray(row["x"], dtype=np.float64)
    z = None if row["z"] is None else np.asarray(row["z"], dtype=np.float64)
    before = labels[int(predict(x[np.newaxis])[0])]
    after = None
    if z is not None and space.is_feasible(z[np.newaxis], x, constraints=False)[0]:  # no model need know other values
        after = labels[int(predict(z[np.newaxis])[0])]
    valid = not _absent(row["loss"])
    hazards = None
    if valid and z is not None and draws:
        # One luck a case: another searcher's result for it meets the same.
        stream = int(digest_of(["explain", cell.seed, cell.content["dataset"]["name"], int(row["row_id"])]), 16) & _BITS
        hazards = hazards_of(x, z, space, target, predict, stream, draws)
        if model is not None and any(one.part is PerturbedPart.K for one in hazards.survivals):
            proven = proven_of_kept(model, space, x, z, target, predict)
            hazards = replace(hazards, certain=(*hazards.certain, *proven))
    return Explanation(
        x=x,
        z=z,
        status=Status(row["status"]),
        reason=row["reason"],
        class_before=before,
        class_after=after,
        target=labels[target],
        loss=float(row["loss"]) if valid else float("nan"),
        gower=float(row["gower"]) if valid else float("nan"),
        objective_value=float("nan") if _absent(row["objective_value"]) else float(row["objective_value"]),
        figures=dict(row["figures"]),
        queries=int(row["search_queries"]) + int(row["robustness_queries"]),
        candidates=np.array(row["candidates"], dtype=np.float64).reshape(-1, space.d),
        seconds=float(row["wall_seconds"]),
        searcher=cell.searcher.label,
        space=space,
        objective=cell.objective.label,
        constraints=cell.constraints,
        hazards=hazards,
        about=about or {},
        heading=tuple(heading),
    )


def _absent(number: float | None) -> bool:
    """A row that comes from a data frame has NaN where a search's own has None."""
    return number is None or bool(np.isnan(number))
