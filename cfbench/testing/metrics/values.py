"""The checks of metrics: what their values have to keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from cfbench.entries import MetricEntry
from cfbench.errors import StudyError
from cfbench.harness.variants import parse_variant
from cfbench.metric_contracts import CounterfactualMetric, ObjectiveComparison, ReferenceComparison
from cfbench.space import FloatArray
from cfbench.testing.check import Failed
from cfbench.testing.metrics.bench import MetricBench, searches


def about_cells(entry: MetricEntry) -> str:
    """Apply to metrics of the stage ``counterfactual``."""
    return "" if issubclass(entry.metric, CounterfactualMetric) else "it compares cells"


def comparing(entry: MetricEntry) -> str:
    """Apply to metrics of the stage ``comparison``."""
    return "it measures one cell" if issubclass(entry.metric, CounterfactualMetric) else ""


def _same(first: FloatArray, second: FloatArray) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def denominator_is_said(bench: MetricBench) -> None:
    """The entry says what its values are counted over, and what they are.

    To mend: give the MetricEntry a `denominator` ("searches that found a counterfactual") and a `summary`.
    """
    missing = [field for field in ("denominator", "summary") if not getattr(bench.entry, field).strip()]
    if missing:
        raise Failed(f"its entry has no {' and no '.join(missing)}")


# ------------------------------------------------------------------ metrics about one cell


def values_have_the_form(bench: MetricBench) -> None:
    """It returns a Series with the index of the searches, of finite numbers or NaN; with constraints on and off.

    To mend: build the Series with ``index=searches.index``; NaN where there is no value, never an infinity.
    """
    for constraints in (True, False):
        bench.measure(searches(), bench.context(constraints=constraints))


def measures_cells_without_results(bench: MetricBench) -> None:
    """A cell whose searches all failed is measured like any other, and so is one without searches.

    To mend: let a cell without results through: an empty selection is no error.
    """
    bench.measure(searches(found=False), bench.context())
    bench.measure(searches().iloc[:0], bench.context())


def failures_count_alike(bench: MetricBench) -> None:
    """Searches that returned nothing all have a number, or none of them has.

    A metric about results is absent (NaN) where there is none; one about searches counts them all. A mixture has no
    denominator.

    To mend: return NaN for every search without a result, or a number for each.
    """
    table = searches()
    values = bench.measure(table, bench.context())
    without = table["z"].isna().to_numpy()
    absent = np.isnan(values[without])
    if absent.any() and not absent.all():
        statuses = table.loc[without, "status"].to_numpy()
        raise Failed(
            f"it has a number where a search was {statuses[~absent][0]}, none where one was {statuses[absent][0]}"
        )


def every_search_by_itself(bench: MetricBench) -> None:
    """A search's value does not hang on the other searches of its cell, nor on their order.

    To mend: name random streams by the search (seed, data set, row), not by its place in the table.
    """
    table, context = searches(), bench.context()
    whole = bench.measure(table, context)
    if not _same(whole, bench.measure(table.iloc[::-1], context)[::-1]):
        raise Failed("in another order the searches have other values")
    alone = np.concatenate([bench.measure(table.iloc[i : i + 1], context) for i in range(len(table))])
    if not _same(whole, alone):
        i = int(np.flatnonzero(~((whole == alone) | (np.isnan(whole) & np.isnan(alone))))[0])
        raise Failed(f"search {i} has {whole[i]} among the others and {alone[i]} alone")


def seeded_by_the_study(bench: MetricBench) -> None:
    """Its values are decided by the searches and the study's seed, not by global random generators.

    To mend: derive random draws from `context.seed` and the search, with ``cfbench.digest_of``.
    """
    first = bench.measure(searches(), bench.context(), luck=1)
    if not _same(first, bench.measure(searches(), bench.context(), luck=2)):
        raise Failed("its values change with the state of a global random generator, or from call to call")


def searches_not_mutated(bench: MetricBench) -> None:
    """It changes nothing in the table that it is given.

    To mend: copy before you change.
    """
    table = searches()
    bench.measure(table, bench.context(), as_it_is=True)
    _expect_unchanged(table, searches())


# ------------------------------------------------------------------ metrics that compare cells


def comparisons_have_the_form(bench: MetricBench) -> None:
    """It returns a Series with the index of the points, NaN where either side found nothing.

    What a reference reports of a point may be of use where it found nothing.

    To mend: mask with ``points["found"] & reference["found"]``.
    """
    points, reference = bench.points(moved=0.25), bench.points()
    for mine, other, what in (
        (points, reference, "found"),
        (_lost(points), reference, "lost"),
        (points, _lost(reference), "ideal"),
    ):
        values = bench.compare(mine, other)
        theirs = True if isinstance(bench.metric, ReferenceComparison) else other["found"]
        unsolved = ~(mine["found"] & theirs).to_numpy()
        if not np.isnan(values[unsolved]).all():
            raise Failed(f"it has a number for a point that one side did not solve ({what})")
    bench.compare(points.iloc[:0], reference.iloc[:0])


def every_point_by_itself(bench: MetricBench) -> None:
    """A point's value does not hang on the other points, nor on their order.

    To mend: compute row by row; say what is counted over in the entry's denominator.
    """
    points, reference = bench.points(moved=0.25), bench.points()
    whole = bench.compare(points, reference)
    backwards = bench.compare(points.iloc[::-1], reference.iloc[::-1])[::-1]
    alone = np.concatenate([bench.compare(points.iloc[i : i + 1], reference.iloc[i : i + 1]) for i in range(3)])
    if not _same(whole, backwards) or not _same(whole, alone):
        raise Failed("a point has another value in another company")


def points_not_mutated(bench: MetricBench) -> None:
    """It changes nothing in the tables that it is given.

    To mend: copy before you change.
    """
    points, reference = bench.points(moved=0.25), bench.points()
    bench.compare(points, reference, as_it_is=True)
    _expect_unchanged(points, bench.points(moved=0.25))
    _expect_unchanged(reference, bench.points())


def names_what_it_needs(bench: MetricBench) -> None:
    """What a comparison of objectives needs to be measured is written as ``NAME[setting=value]``.

    To mend: return from `measures` the metric as a study would name it.
    """
    if not isinstance(bench.metric, ObjectiveComparison):
        return
    for text in bench.metric.measures():
        try:
            parse_variant(text)
        except StudyError as error:
            raise Failed(f"measures names {text!r}: {error}") from error


def _lost(points: pd.DataFrame) -> pd.DataFrame:
    """Return points of which the first was not solved either."""
    lost = points.copy()
    numbers = [name for name in lost.columns if name not in ("row_id", "found", "x", "z", "figures")]
    lost.loc[lost.index[0], numbers] = np.nan
    lost.loc[lost.index[0], "found"] = False
    if "z" in lost:
        lost["z"] = [None, *lost["z"].iloc[1:]]
    return lost


def _expect_unchanged(table: pd.DataFrame, original: pd.DataFrame) -> None:
    compare: Callable[..., None] = pd.testing.assert_frame_equal
    try:
        compare(table, original)
    except AssertionError as error:
        raise Failed(f"it changed the table: {str(error).splitlines()[0]}") from error
