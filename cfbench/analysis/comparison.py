"""One searcher compared with a reference, point by point, through comparison metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from cfbench.analysis.aggregate import Median, median_of
from cfbench.analysis.groups import Group, Task, bare_name
from cfbench.analysis.references import PointResults, aligned
from cfbench.errors import CfbenchError, UnknownNameError
from cfbench.registry.entries import MetricEntry
from cfbench.registry.metrics import Metric
from cfbench.registry.registry import Registry
from cfbench.running.measure import checked_values, plugin_call
from cfbench.space.space import FloatArray
from cfbench.study.variants import Variant, build_settings


@dataclass(frozen=True, eq=False)
class RelativeMetric:
    """A metric that compares each searcher with the reference searcher, with its settings."""

    label: str
    entry: MetricEntry
    metric: Metric


def relative_metrics(registry: Registry, variants: Iterable[Variant] = ()) -> list[RelativeMetric]:
    """Return the registered metrics that compare with the reference searcher: with default settings, and `variants`."""
    entries = [found.entry for found in registry.metrics.values() if found.entry.compares_with_board]
    found = {entry.name: RelativeMetric(entry.name, entry, entry.metric()) for entry in entries}
    for variant in variants:
        entry = registry.metric(variant.name).entry
        metric = build_settings(entry.metric, variant.settings, variant.name)
        found.setdefault(variant.label, RelativeMetric(variant.label, entry, metric))
    return list(found.values())


class Relatives:
    """Groups compared with those of the reference searcher, each when it is first needed: that takes milliseconds.

    `reference` is the reference searcher's label; empty if there is none. `results` reads what cells found.
    """

    def __init__(
        self, reference: str, metrics: Iterable[RelativeMetric], groups: Iterable[Group], results: PointResults
    ) -> None:
        self.reference = reference
        self.metrics = {one.label: one for one in metrics}
        self.complaints: list[str] = []
        """What the metrics did wrong, each once; it costs only the metric's own column."""
        self._results = results
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
            return compare(self.metrics[name], group, other, self._results)
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


def compare(relative: RelativeMetric, group: Group, reference: Group, results: PointResults) -> Median:
    """Return the median of a comparison metric over the points that both searchers were asked.

    Raises PluginError if the metric raises or returns what it must not. Raises CfbenchError if it needs values that
    were not measured.
    """
    others = {cell.info.fold: cell for cell in reference.ran}
    found: list[FloatArray] = []
    with plugin_call(relative.label, str(group.task), group.label):
        for cell in group.ran:
            if cell.info.fold not in others:
                continue
            mine, theirs = aligned(results.found(cell), results.found(others[cell.info.fold]))
            if not len(mine):
                continue
            for text in relative.metric.needs():
                if results.measured(cell, text) is None:
                    raise CfbenchError(f"not measured: {text}; `cfbench measure --metric '{text}'` adds it")
            returned: object = relative.metric.compare(mine, theirs, results.context(cell))
            found.append(checked_values(relative.label, returned, len(mine)))
    values = np.concatenate([np.empty(0), *found])
    return median_of(values.tolist(), len(values))


def _setting(group: Group, part: str) -> object:
    return group.cells[0].content.get(part)
