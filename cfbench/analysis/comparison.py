"""One searcher compared with a reference, point by point, through comparison metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from cfbench.analysis.aggregate import Median, median_of
from cfbench.analysis.groups import Group, Point, Task, bare_name
from cfbench.errors import CfbenchError, UnknownNameError
from cfbench.registry.contracts import ComparisonMetric
from cfbench.registry.entries import MetricEntry
from cfbench.running.measure import checked_values, plugin_call

if TYPE_CHECKING:
    import pandas as pd


class Relatives:
    """Groups compared with those of the reference searcher, each when it is first needed: that takes milliseconds.

    `reference` is the reference searcher's label; empty if there is none.
    """

    def __init__(self, reference: str, metrics: Iterable[MetricEntry], groups: Iterable[Group]) -> None:
        self.reference = reference
        self.metrics = {entry.name: entry for entry in metrics}
        self.complaints: list[str] = []
        """What the metrics did wrong, each once; it costs only the metric's own column."""
        self._by_task: dict[Task, list[Group]] = defaultdict(list)
        for group in groups:
            self._by_task[group.task].append(group)
        self._found: dict[tuple[str, Group], Median | None] = {}

    def of(self, name: str, group: Group) -> Median | None:
        """Return the comparison of a group by the metric of that name; None if there is none to make."""
        if (name, group) not in self._found:
            self._found[name, group] = self._compared(name, group)
        return self._found[name, group]

    def _compared(self, name: str, group: Group) -> Median | None:
        if group.searcher == self.reference or not group.ran:
            return None
        other = reference_of(group, self.reference, self._by_task[group.task])
        if other is None:
            return None
        try:
            return compare(self.metrics[name], group, other)
        except CfbenchError as error:
            if str(error) not in self.complaints:
                self.complaints.append(str(error))
            return None

    def over_tasks(self, groups: Iterable[Group], name: str) -> Median | None:
        """Return the median of comparisons of one searcher's groups, one per task."""
        present = [one for one in (self.of(name, group) for group in groups) if one is not None]
        if not present:
            return None
        values = [one.value for one in present if one.value is not None]
        return Median(median(values) if values else None, sum(one.k for one in present), sum(one.n for one in present))


def resolve_reference(wanted: str, groups: Iterable[Group]) -> str:
    """Return the label that `wanted` means in a record: itself, or its only variant.

    Raises UnknownNameError if the record has no such searcher, or several variants of it and none by the bare name.
    """
    labels = {group.searcher for group in groups}
    if wanted in labels:
        return wanted
    variants = [label for label in labels if bare_name(label) == wanted]
    if len(variants) == 1:
        return variants[0]
    raise UnknownNameError("reference searcher", wanted, labels, "Name one that this record holds.")


def reference_of(group: Group, label: str, groups: Sequence[Group]) -> Group | None:
    """Return the group of the reference searcher that `group` is compared with.

    It has the same task, data and model. Where several are there (several seeds or budgets of the reference), it is
    the one most like `group`.
    """
    candidates = [
        other
        for other in groups
        if other.searcher == label
        and other.task == group.task
        and all(_setting(other, part) == _setting(group, part) for part in ("dataset", "model", "objective"))
    ]

    def unlikeness(other: Group) -> int:
        mine, theirs = group.cells[0].content, other.cells[0].content
        return sum(mine.get(key) != theirs.get(key) for key in {*mine, *theirs} - {"fold", "searcher"})

    return min(candidates, key=unlikeness, default=None)


def compare(entry: MetricEntry, group: Group, reference: Group) -> Median:
    """Return the median of a comparison metric over the points that both searchers were asked.

    Raises PluginError if the metric raises or returns what it must not.
    """
    assert issubclass(entry.metric, ComparisonMetric)
    places = [place for place in group.points if place in reference.points]
    if not places:
        return Median(None, 0, 0)
    points, beside = point_frame(group, places), point_frame(reference, places)
    with plugin_call(entry.name, str(group.task), group.label):
        returned: object = entry.metric().compare(points, beside)
    values = checked_values(entry.name, returned, points.index)
    return median_of(values.tolist(), len(places))


def point_frame(group: Group, places: Sequence[Point]) -> pd.DataFrame:
    """Return the best repetition a point in the columns that a comparison metric is promised."""
    import pandas as pd

    results = [group.points[place] for place in places]

    def numbers(values: Iterable[float | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    return pd.DataFrame(
        {
            "row_id": [row_id for _, row_id in places],
            "found": [result.loss is not None for result in results],
            "loss": numbers(result.loss for result in results),
            "objective_value": numbers(result.objective_value for result in results),
            "seconds": numbers(result.seconds for result in results),
            "queries": numbers(result.queries for result in results),
        }
    )


def _setting(group: Group, part: str) -> object:
    return group.cells[0].content.get(part)
