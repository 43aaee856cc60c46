"""An explanation for programs: what JSON can hold, absent numbers as null."""

from __future__ import annotations

from typing import Any

from cfbench.analysis.hazards import Hazards
from cfbench.api.explanation import Explanation, number_or_none, shown_value


def content_of(explanation: Explanation) -> dict[str, Any]:
    """Return all of an explanation, numbers unrounded."""
    features = explanation.features()
    return {
        "case": dict(explanation.about) or None,
        "searcher": explanation.searcher,
        "objective": explanation.objective,
        "constraints": explanation.constraints,
        "found": explanation.found,
        "status": explanation.status.value,
        "reason": explanation.reason,
        "class_before": _plain(explanation.class_before),
        "class_after": _plain(explanation.class_after),
        "target": _plain(explanation.target),
        "cost": number_or_none(explanation.loss),
        "gower": number_or_none(explanation.gower),
        "objective_value": number_or_none(explanation.objective_value),
        "figures": {name: number_or_none(value) for name, value in sorted(explanation.figures.items())},
        "changed": sum(row["changed"] for row in features) if explanation.found else None,
        "features": [_json_like(row) for row in features],
        "queries": explanation.queries,
        "seconds": explanation.seconds,
        "perturbations": None if explanation.hazards is None else _hazards(explanation, explanation.hazards),
    }


def _hazards(explanation: Explanation, hazards: Hazards) -> dict[str, Any]:
    space = explanation.space
    setback = hazards.setback
    worst = None
    if setback is not None:
        assert explanation.z is not None
        back = explanation.z + setback.moved
        worst = {
            "to": {space.names[i]: shown_value(space.features[i], back[i]) for i in setback.moved.nonzero()[0]},
            "turned": [space.names[i] for i in setback.turned],
            "price": setback.price,
            "cost_with_it": number_or_none(explanation.loss + setback.price),
            "ways": setback.ways,
            "ways_that_lose_the_class": setback.undone,
        }
    return {
        "worst_setback": worst,
        "survived": {one.part.value: {"survived": one.survived, "n": one.n} for one in hazards.survivals},
        "threats": [
            {"feature": space.names[one.feature], "class_changes": one.lost, "n": one.n} for one in hazards.threats
        ],
        "certain": list(hazards.certain),
    }


def _json_like(row: dict[str, Any]) -> dict[str, Any]:
    return {key: number_or_none(value) if isinstance(value, float) else value for key, value in row.items()}


def _plain(label: object) -> object:
    return label if label is None or isinstance(label, (str, bool, int, float)) else str(label)
