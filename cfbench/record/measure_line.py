"""What the index of measures says of a cell: what was measured, from which table, and the values of points' results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cfbench.record.point_values import MetricId, is_understood, packed, unpacked

if TYPE_CHECKING:
    from cfbench.space.space import FloatArray


def line_of(about: Mapping[str, Any], values: Mapping[MetricId, FloatArray], mark: str) -> dict[str, Any]:
    """Return the line of a cell.

    Parameters
    ----------
    about : mapping
        What the cell's table of measures says of itself.
    values : mapping of MetricId to ndarray
        Of the points' results; they are written in the order of the table's metrics.
    mark : str
        Of that table.
    """
    texts = {metric: packed(of_metric) for metric, of_metric in values.items()}
    measured = ((metric, version, settings) for metric, version, settings in about["measured"])
    return {**about, "table": mark, "values": [texts.get(metric, "") for metric in measured]}


def measured_in(line: Mapping[str, Any], mark: str) -> frozenset[MetricId]:
    """Return what a line of the index, or a table, counts as measured from the cell's table with that mark."""
    if not mark or line.get("of") != mark or not is_understood(line):
        return frozenset()
    return frozenset((metric, version, settings) for metric, version, settings in line["measured"])


def contradicted(made: Mapping[str, Any], line: Mapping[str, Any]) -> list[str]:
    """Return what a line says otherwise than `made`, which was made from the cell's table of measures.

    A line of an earlier version may lack the values and the table's mark: the table is read in their place.
    """
    if [*map(list, made["measured"])] != line["measured"]:
        return ["list of what was measured"]
    said = line.get("values", made["values"])
    differing = [
        metric
        for (metric, _, _), one, other in zip(made["measured"], made["values"], said, strict=True)
        if not _same(one, other)
    ]
    return differing + (["mark"] if line.get("table", made["table"]) != made["table"] else [])


def _same(one: str, other: str) -> bool:
    """Whether two texts hold the same values; a NaN is one whatever its bits."""
    import numpy as np

    try:
        return one == other or np.array_equal(unpacked(one), unpacked(other), equal_nan=True)
    except ValueError:  # not packed by us
        return False
