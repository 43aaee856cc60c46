"""The features of a model's training rows, for explanations without an annotation: what is assumed is said."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from cfbench.errors import DataError
from cfbench.space.space import FeatureSpace, FeatureSpec, Kind
from cfbench.tables.columns import common_step, rounded_outwards
from cfbench.text import exact

LISTED = 5
"""Intervals that the warning lists."""


def assumed_space(training: tuple[Any, Any] | None) -> FeatureSpace:
    """Return the space of a data frame of training rows, and warn of what is assumed.

    Raises DataError if there is no frame, or if a column has gaps, a single value, a name that is not a text, or values
    that are neither numbers nor texts.
    """
    frame = training[0] if training is not None else None
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            "space is missing: give a cfbench.FeatureSpace, or training=(frame, classes) with a data frame, from "
            "which intervals and categories are taken"
        )
    space = FeatureSpace(tuple(_feature(name, frame[name]) for name in frame.columns))
    shown = [
        f"{one.name} {exact(one.lower)} to {exact(one.upper)}" for one in space.features if one.kind is Kind.NUMERICAL
    ]
    more = f", and {len(shown) - LISTED} more" if len(shown) > LISTED else ""
    numerical = f" (here {', '.join(shown[:LISTED])}{more})" if shown else ""
    warnings.warn(
        f"no space was given, so these are assumed from the {len(frame):,} training rows: a number lies between the "
        f"least and the greatest value, rounded outwards{numerical}; a column of texts has the categories that occur; "
        "every feature may change in both directions, and none changes by itself. Give space= to say otherwise",
        stacklevel=3,
    )
    return space


def _feature(name: object, column: pd.Series[Any]) -> FeatureSpec:
    if not isinstance(name, str):
        raise DataError(f"the training rows have a column {name!r}; name every column by a text, or give a space")
    gaps = int(column.isna().sum())
    if gaps:
        raise DataError(f"column {name!r} of the training rows has {gaps:,} gaps; fill them, or give a space")
    values = column.unique().tolist()
    if len(values) < 2:
        raise DataError(f"column {name!r} of the training rows has a single value; leave it out, or give a space")
    if not pd.api.types.is_numeric_dtype(column):
        other = next((value for value in values if not isinstance(value, str)), None)
        if other is not None:  # a case's number would be read as a code
            raise DataError(
                f"column {name!r} of the training rows has no numerical type and holds {other!r}, which is not a text; "
                "convert all its values to numbers or all to texts, or give a space"
            )
        return FeatureSpec(name, Kind.CATEGORICAL, 0, len(values) - 1, categories=tuple(sorted(values)))
    numbers = sorted(map(float, values))
    if not np.isfinite(numbers).all():
        raise DataError(f"column {name!r} of the training rows holds infinity; correct it, or give a space")
    step = common_step(numbers)
    lower, upper, _ = rounded_outwards(numbers, step)
    return FeatureSpec(name, Kind.NUMERICAL, float(lower), float(upper), step=None if step is None else float(step))
