"""A metric on the bench: a small cell with results of every kind, and the same points searched twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cfbench.dataset import Dataset
from cfbench.entries import MetricEntry
from cfbench.errors import CfbenchError
from cfbench.harness.metric_values import checked_values
from cfbench.harness.seeds import guarded_randomness
from cfbench.harness.variants import build_settings, make_variant
from cfbench.metric_contracts import (
    CellContext,
    ComparisonMetric,
    CounterfactualMetric,
    ObjectiveComparison,
    ReferenceComparison,
)
from cfbench.space import (
    CategoricalPerturbation,
    Constraint,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    Kind,
    NumericalPerturbation,
)
from cfbench.testing.check import Failed
from cfbench.testing.rules import Rule

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 10, (), Constraint.ONLY_UP, NumericalPerturbation(2, 1)),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 4, perturbation=NumericalPerturbation(0.5, 0.5, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2))),
    )
)
RULE = Rule(SPACE, (1.0, -0.5, (0.0, 0.3, 0.4)), (0.45,))
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
"""A search each: its status, what it returned, whether that is a counterfactual."""


class MetricBench:
    """A metric with its settings, and what it is asked about.

    Parameters
    ----------
    entry : MetricEntry
    settings : mapping, optional
        The others have their defaults.
    """

    def __init__(self, entry: MetricEntry, settings: Mapping[str, Any] | None = None) -> None:
        self.entry = entry
        self.metric = build_settings(entry.metric, make_variant(entry, settings or {}).settings, entry.name)

    def context(self, *, constraints: bool = True, seed: int = 42) -> CellContext:
        """Return the cell's context: 80 rows labelled by a rule, the first 60 of them for training."""
        rng = np.random.default_rng(3)
        rows = np.column_stack([rng.uniform(0, 10, 80), rng.uniform(0, 4, 80), rng.integers(0, 3, 80)])
        rows[60:70] = X
        dataset = Dataset("made-up", rows, RULE.predict(rows), SPACE, target=1, class_labels=("no", "yes"))
        return CellContext(dataset, np.arange(60), np.arange(60, 80), constraints, lambda: RULE, seed)

    def measure(
        self, searches: pd.DataFrame, context: CellContext, *, luck: int = 1, as_it_is: bool = False
    ) -> FloatArray:
        """Return the checked values of a cell.

        Parameters
        ----------
        searches : DataFrame
        context : CellContext
        luck : int
            Seed of the global generators.
        as_it_is : bool
            Whether the metric gets this very table, not a copy.
        """
        searches = searches if as_it_is else searches.copy()
        metric = self.metric
        assert isinstance(metric, CounterfactualMetric)
        try:
            with guarded_randomness(np.random.SeedSequence(luck)):
                return checked_values(self.entry.name, metric.measure(searches, context), searches.index)
        except CfbenchError as error:
            raise Failed(str(error)) from error
        except Exception as error:
            raise Failed(f"measure raised {type(error).__name__}: {error}") from error

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, *, as_it_is: bool = False) -> FloatArray:
        """Return the checked values of a comparison; of copies, unless the tables are given as they are."""
        if not as_it_is:
            points, reference = points.copy(), reference.copy()
        metric = self.metric
        assert not isinstance(metric, CounterfactualMetric)
        try:
            with guarded_randomness(np.random.SeedSequence(1)):
                returned: object = _compare(metric, points, reference)
                return checked_values(self.entry.name, returned, points.index)
        except CfbenchError as error:
            raise Failed(str(error)) from error
        except Exception as error:
            raise Failed(f"compare raised {type(error).__name__}: {error}") from error

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


def _compare(
    metric: ComparisonMetric | ObjectiveComparison | ReferenceComparison, points: pd.DataFrame, reference: pd.DataFrame
) -> pd.Series[float]:
    if isinstance(metric, ObjectiveComparison):
        return metric.compare(points, reference, SPACE)
    return metric.compare(points, reference)


def _objects(vectors: list[Any]) -> list[FloatArray | None]:
    return [None if one is None else np.array(one) for one in vectors]
