"""Metrics with one fault each fail the one check that guards against it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench.registry.contracts import CellContext, ComparisonMetric, CounterfactualMetric, ObjectiveComparison
from cfbench.registry.entries import MetricEntry
from cfbench.space.space import FeatureSpace
from cfbench.testing.metrics import METRIC_CHECKS, check_metric

Metric = type[CounterfactualMetric] | type[ComparisonMetric] | type[ObjectiveComparison]
DRAWS = np.random.default_rng(1)


class Cost(CounterfactualMetric):
    """A sound metric."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        return self.tampered(searches["cost"].astype("float64"), searches)

    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        return values


class Short(Cost):
    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        return values.iloc[1:]


class NeedsResults(Cost):
    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        if values.isna().all() and len(values) != 1:
            raise ZeroDivisionError("nothing to divide by")
        return values


class Picky(Cost):
    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        return values.mask(searches["status"] == "timed_out", 1.0)


class Ranked(Cost):
    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        return values.rank()


class Random(Cost):
    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        return values + np.random.random()  # noqa: NPY002 - its fault


class Scribbler(Cost):
    def tampered(self, values: pd.Series[float], searches: pd.DataFrame) -> pd.Series[float]:
        searches["status"] = "seen"
        return values


class Change(ComparisonMetric):
    """A sound comparison."""

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        change: pd.Series[float] = points["loss"] - reference["loss"]
        return change


class Optimist(Change):
    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        return super().compare(points, reference).fillna(0.0)


class Centred(Change):
    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        change = super().compare(points, reference)
        return change - change.mean()


class Writer(Change):
    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        change = super().compare(points, reference)
        points["loss"] = 0.0
        return change


class Vague(ObjectiveComparison):
    def measures(self) -> tuple[str, ...]:
        return ("actual-cost[part",)

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:
        change: pd.Series[float] = points["loss"] - reference["loss"]
        return change


def entry_of(metric: Metric, **fields: Any) -> MetricEntry:
    return MetricEntry(name="wrong", metric=metric, **{"denominator": "points", "summary": "a number", **fields})


@pytest.mark.parametrize(
    ("metric", "checks", "why"),
    [
        (NeedsResults, {"measures-cells-without-results"}, "ZeroDivisionError: nothing to divide by"),
        (
            Picky,
            {"failures-count-alike"},
            "a number for a search that was timed_out, and no number for one that was not_found",
        ),
        (Ranked, {"every-search-by-itself"}, "among the others"),
        (Random, {"seeded-by-the-study"}, "global random generator"),
        (Scribbler, {"searches-not-mutated"}, "changed the table"),
        (Optimist, {"comparisons-have-the-form"}, "a point that one side did not solve"),
        (Centred, {"every-point-by-itself"}, "another value when other points are next to it"),
        (Writer, {"points-not-mutated"}, "changed the table"),
        (Vague, {"names-what-it-needs"}, "measures names 'actual-cost"),
    ],
)
def test_one_fault_fails_one_check(metric: Metric, checks: set[str], why: str) -> None:
    report = check_metric(entry_of(metric))
    failed = {finding.check: finding.why for finding in report.failures}
    assert set(failed) == checks
    assert re.search(why, failed[next(iter(checks))])


def test_a_wrong_form_fails_wherever_values_are_looked_at() -> None:
    report = check_metric(entry_of(Short))
    assert "values-have-the-form" in {finding.check for finding in report.failures}
    assert any("returned 8 values for 9 rows" in finding.why for finding in report.failures)


@pytest.mark.parametrize("metric", [Cost, Change])
def test_sound_metrics_pass(metric: Metric) -> None:
    report = check_metric(entry_of(metric))
    assert report.passed
    assert len(report.findings) == len(METRIC_CHECKS)
    assert {finding.result for finding in report.findings} == {"passed", "not applicable"}
    assert all(finding.guards and finding.fix for finding in report.findings)


def test_an_entry_has_to_say_what_it_counts() -> None:
    report = check_metric(entry_of(Cost, denominator=" "))
    assert [finding.check for finding in report.failures] == ["denominator-is-said"]
