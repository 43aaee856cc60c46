"""Conformance checks of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cfbench.errors import CfbenchError, StudyError
from cfbench.problem.oracle import random_rows
from cfbench.registry.contracts import (
    CellContext,
    CounterfactualMetric,
    ObjectiveComparison,
    ReferenceComparison,
)
from cfbench.registry.entries import MetricEntry
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
RESULTS: tuple[tuple[str, tuple[float, ...] | None, bool], ...] = (
    ("found", (6.5, 1.0, 0.0), True),
    ("found", (4.5, 1.0, 1.0), True),
    ("not_found", None, False),
    ("found", (9.0, 0.5, 2.0), True),
    ("budget_exhausted", (7.0, 1.0, 0.0), True),
    ("budget_exhausted", None, False),
    ("invalid", (2.5, 1.0, 0.0), False),
    ("timed_out", None, False),
    ("crashed", None, False),
)
"""One search each: its status, what it returned, whether that is a counterfactual."""


class MetricBench:
    """A metric with its settings, and the cells that it measures."""

    def __init__(self, entry: MetricEntry, settings: Mapping[str, Any] | None = None) -> None:
        self.entry = entry
        self.metric = build_settings(entry.metric, make_variant(entry, settings or {}).settings, entry.name)

    def context(self, *, constraints: bool = True) -> CellContext:
        """Return the cell's context: 80 rows labelled by a rule, the first 60 of them for training."""
        rows = random_rows(SPACE, 80, np.random.default_rng(3))
        rows[60:70] = X
        dataset = Dataset("made-up", rows, RULE.predict(rows), SPACE, target=1, class_labels=("no", "yes"))
        return CellContext(dataset, np.arange(60), np.arange(60, 80), constraints, lambda: RULE, seed=42)

    def measure(
        self, searches: pd.DataFrame, context: CellContext | None = None, *, luck: int = 1, in_place: bool = False
    ) -> FloatArray:
        """Return the checked values of a cell, of a copy unless `in_place`; `luck` seeds the global generators."""
        metric = self.metric
        assert isinstance(metric, CounterfactualMetric)
        given, context = searches if in_place else searches.copy(), context or self.context()
        return self._values("measure", given.index, lambda: metric.measure(given, context), luck)

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, *, in_place: bool = False) -> FloatArray:
        """Return the checked values of a comparison, of copies unless `in_place`."""
        metric = self.metric
        assert not isinstance(metric, CounterfactualMetric)
        tables = (points, reference) if in_place else (points.copy(), reference.copy())
        space = (SPACE,) if isinstance(metric, ObjectiveComparison) else ()
        return self._values("compare", points.index, lambda: metric.compare(*tables, *space))

    def _values(self, method: str, index: pd.Index, call: Callable[[], object], luck: int = 1) -> FloatArray:
        try:
            with guarded_randomness(np.random.SeedSequence(luck)):
                return checked_values(self.entry.name, call(), index)
        except CfbenchError as error:
            raise Failed(str(error)) from error
        except Exception as error:
            raise Failed(f"{method} raised {type(error).__name__}: {error}") from error

    def points(self, *, moved: float = 0.0) -> pd.DataFrame:
        """Return points as a comparison gets them: found, not found, found; `moved` shifts the results."""
        results = [(6.5 + moved, 1.0, 0.0), None, (9.0, 0.5 + moved, 2.0)]
        losses = [np.nan if z is None else float(SPACE.cost(np.array([z]), np.array(X))[0]) for z in results]
        found = [z is not None for z in results]
        columns: dict[str, Any] = {
            "row_id": [60, 61, 62],
            "found": found,
            "loss": losses,
            "objective_value": losses,
            "seconds": np.where(found, 1.5, np.nan),
            "queries": np.where(found, 100.0, np.nan),
        }
        if isinstance(self.metric, ReferenceComparison):
            columns["figures"] = [{"lower_bound": 0.25, "proven": 1.0}, {}, {"lower_bound": 0.0, "proven": 0.0}]
        if isinstance(self.metric, ObjectiveComparison):
            columns |= {"x": _objects([X] * 3), "z": _objects(results)}
            columns |= {name: np.where(found, 0.5, np.nan) for name in self.metric.measures()}
        return pd.DataFrame(columns, index=[11, 12, 13])


def searches(*, found: bool = True) -> pd.DataFrame:
    """Return the rows of the cell; without the searches that found something, where `found` is false."""
    rows = []
    for i, (status, z, is_valid) in enumerate(RESULTS):
        if is_valid and not found:
            continue
        x, Z = np.array(X), np.array([X if z is None else z])
        cost = float(SPACE.cost(Z, x)[0]) if is_valid else np.nan
        rows.append(
            {
                "cell_key": "c" * 32,
                "point": i // 2,
                "row_id": 60 + i // 2,
                "repetition": i % 2,
                "status": status,
                "reason": "",
                "x": x,
                "z": None if z is None else np.array(z),
                "candidates": np.empty((0, 3)) if z is None else np.array([z]),
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
        )
    return pd.DataFrame(rows, index=range(30, 30 + len(rows)))


def _objects(vectors: list[Any]) -> list[FloatArray | None]:
    return [None if one is None else np.array(one) for one in vectors]


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

    To fix: give the MetricEntry a `denominator` ("searches that found a counterfactual") and a `summary`.
    """
    missing = [field for field in ("denominator", "summary") if not getattr(bench.entry, field).strip()]
    if missing:
        raise Failed(f"its entry has no {' and no '.join(missing)}")


# ------------------------------------------------------------------ metrics about one cell


def values_have_the_form(bench: MetricBench) -> None:
    """The metric returns a Series with the index of the searches, of finite numbers or NaN, with constraints on and
    off.

    To fix: build the Series with ``index=searches.index``; use NaN for a missing value, never an infinity.
    """
    for constraints in (True, False):
        bench.measure(searches(), bench.context(constraints=constraints))


def measures_cells_without_results(bench: MetricBench) -> None:
    """A cell whose searches all failed is measured like any other, and so is a cell without searches.

    To fix: accept a cell without results: an empty selection is not an error.
    """
    bench.measure(searches(found=False))
    bench.measure(searches().iloc[:0])


def failures_count_alike(bench: MetricBench) -> None:
    """Either all searches that returned nothing have a number, or none of them has.

    A metric about results is missing (NaN) for them; a metric about searches counts them all. A mixture has no
    denominator.

    To fix: return NaN for every search without a result, or a number for each.
    """
    table = searches()
    values = bench.measure(table)
    without = table["z"].isna().to_numpy()
    absent = np.isnan(values[without])
    if absent.any() and not absent.all():
        statuses = table.loc[without, "status"].to_numpy()
        raise Failed(
            f"it has a number for a search that was {statuses[~absent][0]}, and no number for one that was "
            f"{statuses[absent][0]}"
        )


def every_search_by_itself(bench: MetricBench) -> None:
    """A search's value does not depend on the other searches of its cell, nor on their order.

    To fix: name random streams by the search (seed, data set, row), not by its place in the table.
    """
    table = searches()
    whole = bench.measure(table)
    if not _same(whole, bench.measure(table.iloc[::-1])[::-1]):
        raise Failed("in another order the searches have other values")
    alone = np.concatenate([bench.measure(table.iloc[i : i + 1]) for i in range(len(table))])
    if not _same(whole, alone):
        i = int(np.flatnonzero(~((whole == alone) | (np.isnan(whole) & np.isnan(alone))))[0])
        raise Failed(f"search {i} has {whole[i]} among the others and {alone[i]} alone")


def seeded_by_the_study(bench: MetricBench) -> None:
    """Values depend on the searches and on the study's seed, not on global random generators.

    To fix: derive random draws from `context.seed` and the search, with ``cfbench.digests.digest_of``.
    """
    first = bench.measure(searches(), luck=1)
    if not _same(first, bench.measure(searches(), luck=2)):
        raise Failed("its values change with the state of a global random generator, or from call to call")


def searches_not_mutated(bench: MetricBench) -> None:
    """The metric does not change the table that it receives.

    To fix: copy before you change.
    """
    table = searches()
    bench.measure(table, in_place=True)
    _expect_unchanged(table, searches())


# ------------------------------------------------------------------ metrics that compare cells


def comparisons_have_the_form(bench: MetricBench) -> None:
    """The metric returns a Series with the index of the points, NaN if either side found nothing.

    A ReferenceComparison may have a value if only the reference found nothing.

    To fix: mask with ``points["found"] & reference["found"]``.
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
    """A point's value does not depend on the other points, nor on their order.

    To fix: compute row by row, and say in the entry's denominator what is counted over.
    """
    points, reference = bench.points(moved=0.25), bench.points()
    whole = bench.compare(points, reference)
    backwards = bench.compare(points.iloc[::-1], reference.iloc[::-1])[::-1]
    alone = np.concatenate([bench.compare(points.iloc[i : i + 1], reference.iloc[i : i + 1]) for i in range(3)])
    if not _same(whole, backwards) or not _same(whole, alone):
        raise Failed("a point has another value when other points are next to it")


def points_not_mutated(bench: MetricBench) -> None:
    """The metric does not change the tables that it receives.

    To fix: copy before you change.
    """
    points, reference = bench.points(moved=0.25), bench.points()
    bench.compare(points, reference, in_place=True)
    _expect_unchanged(points, bench.points(moved=0.25))
    _expect_unchanged(reference, bench.points())


def names_what_it_needs(bench: MetricBench) -> None:
    """What a comparison of objectives needs to be measured is written as ``NAME[setting=value]``.

    To fix: return from `measures` the metric as a study would name it.
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


METRIC_CHECKS: tuple[Check[MetricEntry, MetricBench], ...] = (
    Check(denominator_is_said),
    Check(values_have_the_form, about_cells),
    Check(measures_cells_without_results, about_cells),
    Check(failures_count_alike, about_cells),
    Check(every_search_by_itself, about_cells),
    Check(seeded_by_the_study, about_cells),
    Check(searches_not_mutated, about_cells),
    Check(comparisons_have_the_form, comparing),
    Check(every_point_by_itself, comparing),
    Check(points_not_mutated, comparing),
    Check(names_what_it_needs, comparing),
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
