"""Running the checks of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfbench.entries import MetricEntry
from cfbench.testing.check import Check, Report, always
from cfbench.testing.metrics import values
from cfbench.testing.metrics.bench import MetricBench
from cfbench.testing.metrics.values import about_cells, comparing

METRIC_CHECKS: tuple[Check[MetricEntry, MetricBench], ...] = (
    Check(values.denominator_is_said, always),
    Check(values.values_have_the_form, about_cells),
    Check(values.measures_cells_without_results, about_cells),
    Check(values.failures_count_alike, about_cells),
    Check(values.every_search_by_itself, about_cells),
    Check(values.seeded_by_the_study, about_cells),
    Check(values.searches_not_mutated, about_cells),
    Check(values.comparisons_have_the_form, comparing),
    Check(values.every_point_by_itself, comparing),
    Check(values.points_not_mutated, comparing),
    Check(values.names_what_it_needs, comparing),
)
"""Each guards one thing, so that a metric with one fault fails one check."""


def check_metric(entry: MetricEntry, *, settings: Mapping[str, Any] | None = None) -> Report:
    """Run all conformance checks of a metric.

    Parameters
    ----------
    entry : MetricEntry
    settings : mapping, optional
        Settings of the metric; the others have their defaults.

    Raises
    ------
    UnknownNameError, StudyError
        If a setting is unknown or impossible.
    """
    bench = MetricBench(entry, settings)
    return Report(entry.name, tuple(check.run(bench, entry) for check in METRIC_CHECKS))
