"""Conformance checks of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cfbench.errors import CfbenchError, StudyError
from cfbench.problem.oracle import random_rows
from cfbench.registry.entries import MetricEntry
from cfbench.registry.metrics import CellContext, ComparisonContext, Found, compares
from cfbench.running.measure import checked_values
from cfbench.space.dataset import Dataset
from cfbench.space.space import (
    CategoricalPerturbation,
    Constraint,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    Kind,
    NumericalPerturbation,
)
from cfbench.study.protocol import guarded_randomness
from cfbench.study.variants import build_settings, make_variant, parse_variant
from cfbench.testing.check import Check, Failed, Report, report_of
from cfbench.testing.problems import ScoreClassifier

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 10, (), Constraint.ONLY_UP, NumericalPerturbation(2, 1)),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 4, perturbation=NumericalPerturbation(0.5, 0.5, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2))),
    )
)
RULE = ScoreClassifier(SPACE, (1.0, -0.5, (0.0, 0.3, 0.4)), (0.45,))
X = (2.0, 1.0, 0.0)
RESULTS: tuple[tuple[str, tuple[tuple[float, ...], ...], bool], ...] = (
    ("found", ((6.5, 1.0, 0.0), (9.0, 1.0, 1.0), (2.5, 1.0, 0.0), (9.0, 0.5, 0.0)), True),
    ("found", ((4.5, 1.0, 1.0),), True),
    ("not_found", (), False),
    ("found", ((9.0, 0.5, 2.0), (8.0, 1.0, 1.0)), True),
    ("budget_exhausted", ((7.0, 1.0, 0.0),), True),
    ("budget_exhausted", (), False),
    ("invalid", ((2.5, 1.0, 0.0),), False),
    ("timed_out", (), False),
    ("crashed", (), False),
)
"""One search each: its status, the rows that it returned, the result first, and whether that is a counterfactual.

The first set has an invalid row, too.
"""

ARRAYS = (
    *("points", "row_ids", "repetitions", "status", "is_found", "rows", "is_answered", "x", "z"),
    *("loss", "gower", "l0", "cost", "objective_value", "seconds", "cpu_seconds", "search_queries"),
    *("robustness_queries", "queries"),
)
"""The arrays of searches, by their names."""


class MetricBench:
    """A metric with its settings, and the cells that it measures or compares."""

    def __init__(self, entry: MetricEntry, settings: Mapping[str, Any] | None = None) -> None:
        self.entry = entry
        self.metric = build_settings(entry.metric, make_variant(entry, settings or {}).settings, entry.name)
        rows = random_rows(SPACE, 80, np.random.default_rng(3))
        rows[60:70] = X
        self._dataset = Dataset("made-up", rows, RULE.predict(rows), SPACE, target=1, class_labels=("no", "yes"))

    def context(self, *, constraints: bool = True) -> CellContext:
        """Return the cell's context: 80 rows labelled by a rule, the first 60 of them for training."""
        return CellContext(self._dataset, np.arange(60), np.arange(60, 80), constraints, lambda: RULE, seed=42)

    def searches(self, *, found: bool = True) -> Found:
        """Return the searches of the cell; without those that found something, where `found` is false."""
        rows = [row for i, result in enumerate(RESULTS) if (row := _row(i, *result)) and (found or not result[2])]
        return self._found(rows, is_valid=self.context().is_valid)

    def points(self, *, moved: float = 0.0, lost: Sequence[int] = (1,)) -> Found:
        """Return the results of three points as a comparison gets them, without those that are `lost`.

        `moved` shifts the results.
        """
        results = ((6.5 + moved, 1.0, 0.0), (8.0, 1.0, 1.0), (9.0, 0.5 + moved, 2.0))
        figures: tuple[dict[str, float], ...]
        figures = ({"lower_bound": 0.25, "proven": 1.0}, {}, {"lower_bound": 0.0, "proven": 0.0})
        rows = []
        for i, z in enumerate(results):
            row = _row(i, "not_found", (), False) if i in lost else _row(i, "found", (z,), True)
            spent = dict.fromkeys(("wall_seconds", "search_queries", "robustness_queries"), np.nan) if i in lost else {}
            rows.append(row | spent | {"point": i, "row_id": 60 + i, "repetition": 0, "figures": figures[i]})
        return self._found(rows)

    def values(
        self,
        found: Found,
        reference: Found | None = None,
        context: CellContext | None = None,
        *,
        luck: int = 1,
    ) -> FloatArray:
        """Return the checked values of a cell, or of two; `luck` seeds the global generators."""
        metric = self.metric
        if reference is None:
            returned = self._call("measure", lambda: metric.measure(found, context or self.context()), luck)
        else:
            beside = ComparisonContext(lambda: self._dataset, constraints=True, seed=42)
            returned = self._call("compare", lambda: metric.compare(found, reference, beside), luck)
        try:
            return checked_values(self.entry.name, returned, len(found))
        except CfbenchError as error:
            raise Failed(str(error)) from error

    def remarks(self, reference: Found) -> object:
        """Return what the metric says of a cell of its reference."""
        return self._call("remarks", lambda: self.metric.remarks(reference))

    def _call(self, method: str, call: Callable[[], object], luck: int = 1) -> object:
        try:
            with guarded_randomness(np.random.SeedSequence(luck)):
                return call()
        except CfbenchError as error:
            raise Failed(str(error)) from error
        except Exception as error:
            raise Failed(f"{method} raised {type(error).__name__}: {error}") from error

    def _found(self, rows: Sequence[Mapping[str, Any]], **more: Any) -> Found:
        losses = [row["loss"] for row in rows]

        def measured(name: str) -> FloatArray:
            if name not in self.metric.needs():
                raise CfbenchError(f"it reads the values of metric {name!r}, which `needs` does not name")
            return np.where(np.isnan(losses), np.nan, 0.5)

        def column(name: str) -> Sequence[Any]:
            return [row[name] for row in rows]

        return Found(len(rows), column, d=SPACE.d, measured=measured, **more)


def _row(i: int, status: str, returned: Sequence[Sequence[float]], is_valid: bool) -> dict[str, Any]:
    """Return the record's row of a search."""
    x, Z = np.array(X), np.array(returned[:1] or (X,))
    cost = float(SPACE.cost(Z, x)[0]) if is_valid else np.nan
    return {
        "cell_key": "c" * 32,
        "point": i // 2,
        "row_id": 60 + i // 2,
        "repetition": i % 2,
        "status": status,
        "reason": "",
        "x": x,
        "z": np.array(returned[0]) if returned else None,
        "candidates": [list(row) for row in returned],
        "loss": cost,
        "gower": float(SPACE.gower(Z, x)[0]) if is_valid else np.nan,
        "l0": float(SPACE.l0(Z, x)[0]) if is_valid else np.nan,
        "cost": cost,
        "objective_value": cost,
        "search_queries": 100 + i,
        "robustness_queries": 10 * i,
        "wall_seconds": 0.5 + i,
        "cpu_seconds": 0.25 + i,
        "anytime": [(10, 0.5)] if is_valid else [],
        "figures": {},
        "model_fingerprint": RULE.fingerprint(),
    }


def about_cells(entry: MetricEntry) -> str:
    """Apply to metrics that measure one cell."""
    return "it compares cells" if compares(entry.metric) else ""


def comparing(entry: MetricEntry) -> str:
    """Apply to metrics that compare two cells."""
    return "" if compares(entry.metric) else "it measures one cell"


def _same(first: FloatArray, second: FloatArray) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def denominator_is_said(bench: MetricBench) -> None:
    """The entry says what its values are counted over, and what they are.

    To fix: give the MetricEntry a `denominator` ("searches that found a counterfactual") and a `summary`.
    """
    missing = [field for field in ("denominator", "summary") if not getattr(bench.entry, field).strip()]
    if missing:
        raise Failed(f"its entry has no {' and no '.join(missing)}")


def names_what_it_needs(bench: MetricBench) -> None:
    """The metrics whose values it needs are written as ``NAME[setting=value]``.

    To fix: return from `needs` each metric as a study would name it.
    """
    for text in bench.metric.needs():
        try:
            parse_variant(text)
        except StudyError as error:
            raise Failed(f"needs names {text!r}: {error}") from error


# ------------------------------------------------------------------ metrics about one cell


def values_have_the_form(bench: MetricBench) -> None:
    """The metric returns a numpy array with one finite number or NaN per search, with constraints on and off.

    To fix: return an array of shape (n,), as ``found.spread(values)`` makes it from values of the results; use NaN for
    a missing value, never an infinity.
    """
    for constraints in (True, False):
        bench.values(bench.searches(), context=bench.context(constraints=constraints))


def measures_cells_without_results(bench: MetricBench) -> None:
    """A cell whose searches all failed is measured like any other, and so is a cell without searches.

    To fix: accept a cell without results: an empty selection is not an error.
    """
    bench.values(bench.searches(found=False))
    bench.values(bench.searches().take([]))


def failures_count_alike(bench: MetricBench) -> None:
    """Either all searches that returned nothing have a number, or none of them has.

    A metric about results is missing (NaN) for them; a metric about searches counts them all. A mixture has no
    denominator.

    To fix: return NaN for every search without a result, or a number for each.
    """
    searches = bench.searches()
    values = bench.values(searches)
    without = ~searches.is_answered
    absent = np.isnan(values[without])
    if absent.any() and not absent.all():
        statuses = searches.status[without]
        raise Failed(
            f"it has a number for a search that was {statuses[~absent][0]}, and no number for one that was "
            f"{statuses[absent][0]}"
        )


def every_search_by_itself(bench: MetricBench) -> None:
    """A search's value does not depend on the other searches of its cell, nor on their order.

    To fix: name random streams by the search (seed, data set, row), not by its place among the searches.
    """
    searches = bench.searches()
    places = range(len(searches))
    whole = bench.values(searches)
    if not _same(whole, bench.values(searches.take(places[::-1]))[::-1]):
        raise Failed("in another order the searches have other values")
    alone = np.concatenate([bench.values(searches.take([place])) for place in places])
    if not _same(whole, alone):
        i = int(np.flatnonzero(~((whole == alone) | (np.isnan(whole) & np.isnan(alone))))[0])
        raise Failed(f"search {i} has {whole[i]} among the others and {alone[i]} alone")


def seeded_by_the_study(bench: MetricBench) -> None:
    """Values depend on the searches and on the study's seed, not on global random generators.

    To fix: derive random draws from `context.seed` and the search, with ``cfbench.digests.digest_of``.
    """
    first = bench.values(bench.searches(), luck=1)
    if not _same(first, bench.values(bench.searches(), luck=2)):
        raise Failed("its values change with the state of a global random generator, or from call to call")


def searches_not_mutated(bench: MetricBench) -> None:
    """The metric does not change the searches, which all metrics of the cell share.

    To fix: copy an array before you change it.
    """
    searches = bench.searches()
    bench.values(searches)
    _expect_unchanged(searches, bench.searches())


# ------------------------------------------------------------------ metrics that compare cells


def comparisons_have_the_form(bench: MetricBench) -> None:
    """The metric returns a numpy array with one finite number or NaN per point, NaN if either side found nothing.

    A metric whose reference is a named searcher may have a value if only the reference found nothing.

    To fix: mask with ``found.is_found & reference.is_found``.
    """
    for lost, lost_by_reference in (((1,), (1,)), ((0, 1), (1,)), ((1,), (0, 1))):
        found, reference = bench.points(moved=0.25, lost=lost), bench.points(lost=lost_by_reference)
        values = bench.values(found, reference)
        solved = found.is_found if bench.metric.reference.searcher else found.is_found & reference.is_found
        if not np.isnan(values[~solved]).all():
            raise Failed("it has a number for a point that one side did not solve")
    bench.values(bench.points().take([]), bench.points().take([]))


def every_point_by_itself(bench: MetricBench) -> None:
    """A point's value does not depend on the other points, nor on their order.

    To fix: compute point by point, and say in the entry's denominator what is counted over.
    """
    found, reference = bench.points(moved=0.25), bench.points()

    def of(places: Sequence[int]) -> FloatArray:
        return bench.values(found.take(places), reference.take(places))

    whole = bench.values(found, reference)
    if not _same(whole, of([2, 1, 0])[::-1]) or not _same(whole, np.concatenate([of([place]) for place in range(3)])):
        raise Failed("a point has another value when other points are next to it")


def points_not_mutated(bench: MetricBench) -> None:
    """The metric does not change the results of either side.

    To fix: copy an array before you change it.
    """
    found, reference = bench.points(moved=0.25), bench.points()
    bench.values(found, reference)
    _expect_unchanged(found, bench.points(moved=0.25))
    _expect_unchanged(reference, bench.points())


def remarks_have_the_form(bench: MetricBench) -> None:
    """The remarks on a cell of the reference are a mapping of sentences to numbers of points.

    To fix: return a dict such as ``{"no optimum is proven": 3}``; empty if there is nothing to say.
    """
    said = bench.remarks(bench.points())
    fits = isinstance(said, Mapping) and all(isinstance(text, str) and isinstance(n, int) for text, n in said.items())
    if not fits:
        raise Failed(f"remarks returned {said!r:.100}, not whole numbers by sentences")


def _expect_unchanged(searches: Found, original: Found) -> None:
    for name in ARRAYS:
        now, then = getattr(searches, name), getattr(original, name)
        if not np.array_equal(now, then, equal_nan=now.dtype.kind == "f"):
            raise Failed(f"it changed the searches: {name}")


METRIC_CHECKS: tuple[Check[MetricEntry, MetricBench], ...] = (
    Check(denominator_is_said),
    Check(names_what_it_needs),
    Check(values_have_the_form, about_cells),
    Check(measures_cells_without_results, about_cells),
    Check(failures_count_alike, about_cells),
    Check(every_search_by_itself, about_cells),
    Check(seeded_by_the_study, about_cells),
    Check(searches_not_mutated, about_cells),
    Check(comparisons_have_the_form, comparing),
    Check(every_point_by_itself, comparing),
    Check(points_not_mutated, comparing),
    Check(remarks_have_the_form, comparing),
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
    return report_of(METRIC_CHECKS, MetricBench(entry, settings), entry)
