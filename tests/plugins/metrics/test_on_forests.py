"""The metrics that look into a forest, and the gap to the optimum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cfbench import CellContext, ComparisonContext, Dataset, Found, Metric
from cfbench.errors import ModelError
from cfbench_metrics.k_certified import KCertified, KProbability
from cfbench_metrics.optimality import OptimalityGap
from tests.plugins.drawn_forests import Drawn, draw_forest
from tests.plugins.metrics.cells import context, searches, values


def cell_of(drawn: Drawn, model: Any = None) -> tuple[CellContext, Found]:
    """Return a cell whose results are points of the target class, and one search without a result."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(0, 10, 60), rng.uniform(-4, 4, 60), rng.integers(0, 4, (60, 2)) % [4, 2]])
    rows = rows[drawn.model.predict(rows) == drawn.target]
    rows[: len(rows) // 2, 2:] = drawn.x[2:]
    rows = rows[drawn.model.predict(rows) == drawn.target]
    labels = tuple("abc"[: max(2, drawn.target + 1)])
    dataset = Dataset("drawn", rows, drawn.model.predict(rows), drawn.space, drawn.target, labels)
    context = CellContext(dataset, np.arange(len(rows)), np.arange(0), False, lambda: model or drawn.model, 42)
    n = len(rows)
    columns = {"row_id": [*range(n), 99], "x": [drawn.x] * (n + 1), "z": [*rows, None], "loss": [*[0.5] * n, None]}
    return context, Found.of_columns(columns)


def test_certainty_and_probability_agree() -> None:
    certain, lost = 0, 0
    for seed in range(6):
        context, searches = cell_of(draw_forest(seed))
        certified = np.array(values(KCertified(), searches, context))
        exact = np.array(values(KProbability(width=0.0), searches, context))
        assert np.isnan([certified[-1], exact[-1]]).all()
        assert not np.isnan(certified[:-1]).any()
        assert (exact[certified == 1] > 1 - 1e-9).all()
        assert (certified[exact < 1 - 1e-9] == 0).all()
        certain, lost = certain + int((certified == 1).sum()), lost + int((certified == 0).sum())
    assert min(certain, lost) > 5


@pytest.mark.parametrize("metric", [KCertified(), KProbability()])
def test_absent_on_models_that_show_no_forest(metric: Metric) -> None:
    table = searches(((2, 1, 0), (5.25, 1, 1)))
    assert np.isnan(values(metric, table, context())).all()


def test_a_refutation_that_predict_does_not_confirm_is_an_error() -> None:
    class Stubborn:
        def __init__(self, drawn: Drawn) -> None:
            self.forest_structure = drawn.model.forest_structure
            self.predict = lambda Z: np.full(len(Z), drawn.target)

    drawn = draw_forest(0)
    context, searches = cell_of(drawn, Stubborn(drawn))
    with pytest.raises(ModelError, match="the structure is not the model's, and nothing is certified"):
        KCertified().measure(searches, context)


def reports(*figures: dict[str, float]) -> Found:
    return Found.of_columns({"row_id": range(len(figures)), "figures": figures})


def nothing() -> Dataset:
    raise AssertionError("no metric of these tests asks for the data")


WITHOUT_DATA = ComparisonContext(nothing, constraints=False, seed=42)


def test_the_gap_is_to_the_bound_that_the_reference_reports() -> None:
    values = [0.3, 0.2, None, 0.2, 0.2]
    points = Found.of_columns({"row_id": range(5), "loss": values, "objective_value": values})
    figures = reports(
        {"lower_bound": 0.2, "proven": 1.0}, {"lower_bound": 0.2}, {"lower_bound": 0.2}, {}, {"lower_bound": 0}
    )
    gap = OptimalityGap().compare(points, figures, WITHOUT_DATA)
    assert gap.tolist() == pytest.approx([0.5, 0.0, math.nan, math.nan, math.nan], nan_ok=True)


def test_points_without_a_proof_are_told_from_those_that_have_no_counterfactual() -> None:
    figures: list[dict[str, float]] = [
        {"lower_bound": 0.2, "proven": 1.0},
        {"lower_bound": 0.2, "proven": 0.0},
        {"lower_bound": 0.1, "proven": 0.0},
        {"proven": 1.0},
        {"lower_bound": 0.0, "proven": 0.0},
        {},
    ]
    assert list(OptimalityGap().remarks(reports(*figures)).items()) == [
        ("no optimum is proven, so that the gap is to a lower bound: at most what is shown", 2),
        ("the exact searcher reports no lower bound, so that there is no gap", 2),
        ("the exact searcher proved that there is no counterfactual, or that its value is 0", 1),
    ]
    assert OptimalityGap().remarks(reports(*figures[:1])) == {}
