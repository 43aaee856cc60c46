"""A case as a user has it, turned into the space's coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfbench.errors import DataError, UnknownNameError
from cfbench.space import FeatureSpace, FeatureSpec, FloatArray, Kind


def point_of(x: Any, space: FeatureSpace) -> FloatArray:
    """Return a case as a vector of shape (d,).

    Parameters
    ----------
    x : array-like, mapping or Series
        Values in feature order, or by feature name. Categories as codes or as labels.
    space : FeatureSpace

    Raises
    ------
    DataError
        If a value is missing, is no number or category, or lies outside its interval.
    UnknownNameError
        If there is no feature of a given name.
    """
    named = _by_name(x)
    if named is not None:
        for name in named:
            if name not in space.names:
                raise UnknownNameError("feature", str(name), space.names)
        missing = [name for name in space.names if name not in named]
        if missing:
            raise DataError(f"x has no value for {', '.join(missing)}; it needs one for every feature of the space")
        values = [named[name] for name in space.names]
    else:
        values = list(x)
    if len(values) != space.d:
        raise DataError(f"x has {len(values)} values, and the space has {space.d} features: {', '.join(space.names)}")
    point = np.array([_number(value, feature) for value, feature in zip(values, space.features, strict=True)])
    objection = space.objection(point, point, constraints=False)
    if objection:
        raise DataError(f"x is not in the space: {objection}; correct the value, or the feature's annotation")
    return point


def _by_name(x: Any) -> Mapping[str, Any] | None:
    """Return values by feature name, where `x` has them: a mapping, or a Series whose index holds names."""
    if isinstance(x, Mapping):
        return x
    index = getattr(x, "index", None)
    if hasattr(x, "to_dict") and index is not None and all(isinstance(name, str) for name in index):
        named: Mapping[str, Any] = x.to_dict()
        return named
    return None


def _number(value: Any, feature: FeatureSpec) -> float:
    if feature.kind is Kind.CATEGORICAL and isinstance(value, str):
        if value not in feature.categories:
            raise UnknownNameError(f"category of {feature.name}", value, feature.categories)
        return float(feature.categories.index(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        expected = "a category" if feature.kind is Kind.CATEGORICAL else "a number"
        raise DataError(f"x: {feature.name} = {value!r} is not {expected}") from None
