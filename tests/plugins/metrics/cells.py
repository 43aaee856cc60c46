"""A space of three features, a model in closed form, and rows of a record, for the metrics about robustness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cfbench import (
    CategoricalPerturbation,
    CellContext,
    Constraint,
    Dataset,
    FeatureSpace,
    FeatureSpec,
    Found,
    Kind,
    Metric,
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


def searches(*pairs: tuple[Sequence[float], Sequence[float] | None], row_ids: Sequence[int] = ()) -> Found:
    """Make the searches of a cell from pairs (x, z); None for z where nothing was found."""
    cost = [None if z is None else float(SPACE.cost(np.array([z], dtype=float), np.array(x))[0]) for x, z in pairs]
    columns: dict[str, Sequence[Any]] = {
        "row_id": row_ids or [7] * len(pairs),
        "x": [x for x, _ in pairs],
        "z": [z for _, z in pairs],
        "loss": cost,
        "cost": cost,
    }
    return Found.of_columns(columns)


def values(metric: Metric, found: Found, where: CellContext) -> list[float]:
    """Measure, and check the form of the answer."""
    measured = metric.measure(found, where)
    assert measured.shape == (len(found),)
    assert measured.dtype == np.float64
    numbers: list[float] = measured.tolist()
    return numbers
