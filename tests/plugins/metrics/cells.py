"""A space of three features, a model in closed form, and rows of a record, for the metrics about robustness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cfbench import (
    CategoricalPerturbation,
    CellContext,
    Constraint,
    CounterfactualMetric,
    Dataset,
    FeatureSpace,
    FeatureSpec,
    Kind,
    NumericalPerturbation,
)
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray

SPACE = FeatureSpace(
    (
        FeatureSpec(
            "wage", Kind.NUMERICAL, 0, 10, constraint=Constraint.ONLY_UP, perturbation=NumericalPerturbation(2, 1)
        ),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 4, perturbation=NumericalPerturbation(0.5, 0.5, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2))),
    )
)


class Granted:
    """Class 1 where ``wage - debt > 4`` and the job is not `a`."""

    def predict(self, Z: FloatArray) -> IntArray:
        return ((Z[:, 0] - Z[:, 1] > 4) & (Z[:, 2] > 0)).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)]

    def fingerprint(self) -> str:
        return "granted"

    def oracle(self) -> Oracle:
        return self


def context(
    *,
    constraints: bool = True,
    seed: int = 42,
    space: FeatureSpace = SPACE,
    rows: Sequence[Sequence[float]] = ((2, 1, 0),),
    labels: Sequence[int] = (0,),
) -> CellContext:
    X = np.array(rows, dtype=np.float64)
    dataset = Dataset("tiny", X, np.array(labels), space, target=1, class_labels=("refused", "granted"))
    return CellContext(dataset, np.arange(len(X)), np.array([], dtype=np.int64), constraints, Granted, seed)


def searches(*pairs: tuple[Sequence[float], Sequence[float] | None], row_ids: Sequence[int] = ()) -> pd.DataFrame:
    """Make rows of a record from pairs (x, z); None for z where nothing was found."""
    rows: list[dict[str, Any]] = []
    for i, (x, z) in enumerate(pairs):
        cost = None if z is None else float(SPACE.cost(np.array([z], dtype=np.float64), np.array(x))[0])
        rows.append(
            {
                "row_id": row_ids[i] if row_ids else 7,
                "x": np.array(x, dtype=np.float64),
                "z": None if z is None else np.array(z, dtype=np.float64),
                "loss": cost,
                "cost": cost,
            }
        )
    return pd.DataFrame(rows, index=range(20, 20 + len(rows)))


def values(metric: CounterfactualMetric, table: pd.DataFrame, where: CellContext) -> list[float]:
    """Measure, and check the form of the answer."""
    measured = metric.measure(table, where)
    assert list(measured.index) == list(table.index)
    assert measured.dtype == np.float64
    return measured.tolist()
