"""Metrics with one fault each fail the one check that guards against it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cfbench.registry.entries import MetricEntry
from cfbench.registry.metrics import CellContext, ComparisonContext, Found, Metric
from cfbench.space.space import FloatArray
from cfbench.testing.metrics import METRIC_CHECKS, check_metric


class Cost(Metric):
    """A sound metric."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return self.tampered(found.cost, found)

    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        return values


class Short(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        return values[1:]


class NeedsResults(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        if np.isnan(values).all() and len(values) != 1:
            raise ZeroDivisionError("nothing to divide by")
        return values


class Picky(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        return np.where(found.status == "timed_out", 1.0, values)


class Ranked(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        return np.where(np.isnan(values), np.nan, np.argsort(np.argsort(values)))


class Random(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        return values + np.random.random()  # noqa: NPY002 - its fault


class Scribbler(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        found.loss.setflags(write=True)
        found.loss[:] = 0.0
        return values


class OpenWriter(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        values[np.isnan(values)] = 0.0
        return values


class Secretive(Cost):
    def tampered(self, values: FloatArray, found: Found) -> FloatArray:
        return values + found.measured("k-robustness")


class Open(Secretive):
    def needs(self) -> tuple[str, ...]:
        return ("k-robustness",)


class SetSize(Metric):
    """A sound metric of sets."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return np.where(found.is_found, [len(Z) for Z in found.sets], np.nan)


class Change(Metric):
    """A sound comparison."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        change: FloatArray = found.loss - reference.loss
        return change


class Optimist(Change):
    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        return np.nan_to_num(super().compare(found, reference, context))


class Centred(Change):
    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        change = super().compare(found, reference, context)
        solved = change[~np.isnan(change)]
        return change - (solved.mean() if len(solved) else 0.0)


class Writer(Change):
    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        change = super().compare(found, reference, context)
        reference.loss.setflags(write=True)
        reference.loss[:] = 0.0
        return change


class Mute(Change):
    def remarks(self, reference: Found) -> Any:
        return ["one"]


class Vague(Change):
    def needs(self) -> tuple[str, ...]:
        return ("actual-cost[part",)


def entry_of(metric: type[Metric], **fields: Any) -> MetricEntry:
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
        (Scribbler, {"searches-not-mutated"}, "it changed the searches"),
        (Optimist, {"comparisons-have-the-form"}, "a point that one side did not solve"),
        (Centred, {"every-point-by-itself"}, "another value when other points are next to it"),
        (Writer, {"points-not-mutated"}, "it changed the searches"),
        (Vague, {"names-what-it-needs"}, "needs names 'actual-cost"),
        (Mute, {"remarks-have-the-form"}, "not whole numbers by sentences"),
    ],
)
def test_one_fault_fails_one_check(metric: type[Metric], checks: set[str], why: str) -> None:
    report = check_metric(entry_of(metric))
    failed = {finding.check: finding.why for finding in report.failures}
    assert set(failed) == checks
    assert re.search(why, failed[next(iter(checks))])


def test_a_wrong_form_fails_wherever_values_are_looked_at() -> None:
    report = check_metric(entry_of(Short))
    assert "values-have-the-form" in {finding.check for finding in report.failures}
    assert any("returned values of shape (8,) for 9 rows" in finding.why for finding in report.failures)


@pytest.mark.parametrize(
    ("metric", "why"), [(OpenWriter, "read-only"), (Secretive, "'k-robustness', which `needs` does not name")]
)
def test_what_no_metric_may_do_fails_at_once(metric: type[Metric], why: str) -> None:
    report = check_metric(entry_of(metric))
    assert "values-have-the-form" in {finding.check for finding in report.failures}
    assert all(why in finding.why for finding in report.failures)


@pytest.mark.parametrize("metric", [Cost, Open, SetSize, Change])
def test_sound_metrics_pass(metric: type[Metric]) -> None:
    report = check_metric(entry_of(metric))
    assert report.passed
    assert len(report.findings) == len(METRIC_CHECKS)
    assert {finding.result for finding in report.findings} == {"passed", "not applicable"}
    assert all(finding.guards and finding.fix for finding in report.findings)


def test_an_entry_has_to_say_what_it_counts() -> None:
    report = check_metric(entry_of(Cost, denominator=" "))
    assert [finding.check for finding in report.failures] == ["denominator-is-said"]
