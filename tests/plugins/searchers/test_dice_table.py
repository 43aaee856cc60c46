from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind, TrainingFold
from cfbench.space import BoolArray, FloatArray
from cfbench_searchers.dice import (
    DiceTable,
    MeteredModel,
    NoTargetInSightError,
    decimal_places,
    explainer_of,
    library_data,
)
from tests.plugins.searchers.problems import SpiedProblem

SPACE = FeatureSpace(
    (
        FeatureSpec("f1", Kind.NUMERICAL, 0, 2.5, step=0.5),
        FeatureSpec("outcome", Kind.CATEGORICAL, 0, 2, ("a", "b", "c")),
        FeatureSpec("kelvin", Kind.NUMERICAL, 0.125, 400),
    )
)
FOLD = TrainingFold(np.array([[0.5, 0, 273.15], [1.5, 2, 300.0]]), np.array([1, 0]))


def table_of(problem: SpiedProblem) -> DiceTable:
    assert problem.training is not None
    return DiceTable(problem.training, problem.box, problem.x)


def make_table(x: Any, **options: Any) -> DiceTable:
    return table_of(SpiedProblem(SPACE, x, lambda Z: Z[:, 0] > 1, training=FOLD, **options))


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([1, 20, -3], 0),
        ([0.5, 1, 0.25], 2),
        ([1e-9, 0], 9),
        ([1 / 3], 15),
        ([100 / 3, 1], 13),
        ([1e9 / 3], 6),
        ([1e20], 0),
        ([0], 0),
    ],
)
def test_decimal_places_are_as_many_as_the_values_have_and_a_float_holds(values: list[float], places: int) -> None:
    assert decimal_places(np.array(values, dtype=np.float64)) == places


def test_frames_hold_numbers_and_labels_under_names_of_their_own() -> None:
    table = make_table([2, 2, 1 / 3])
    assert (table.names, table.numerical, table.free) == (["f0", "f1", "f2"], ["f0", "f2"], ["f0", "f1", "f2"])
    assert table.training().to_dict("list") == {
        "f0": [0.5, 1.5],
        "f1": ["0", "2"],
        "f2": [273.15, 300],
        "outcome": [1, 0],
    }
    assert table.factual().to_dict("list") == {"f0": [2], "f1": ["2"], "f2": [1 / 3]}
    assert table.permitted_range == {"f0": [0, 2.5], "f2": [0.125, 400]}
    assert table.precisions == {"f0": 1, "f2": 12}


def test_x_joins_the_fold_where_that_lacks_one_of_its_categories() -> None:
    assert len(make_table([2, 0, 5]).training()) == 2
    assert make_table([2, 1, 5]).training()["f1"].tolist() == ["0", "2", "1"]


def test_points_are_what_the_librarys_rows_stand_for() -> None:
    x = np.array([2, 2, 100 / 3])
    table = make_table(x)
    single = float(np.float32(100 / 3))
    frame = pd.DataFrame({"f1": ["2", "0", "2"], "f0": [2.0, 2.5, 1.0], "f2": [single, 0.125, 7.25], "more": 0})
    assert table.points(frame).tolist() == [x.tolist(), [2.5, 0, 0.125], [1, 2, 7.25]]


def test_values_of_the_fold_survive_the_librarys_single_precision() -> None:
    table = make_table([2, 2, 100 / 3])
    single = np.array([273.15, 100 / 3], dtype=np.float32).astype(np.float64)
    assert single.tolist() != [273.15, 100 / 3]
    seen = [*single, *np.round(single, table.precisions["f2"])]
    frame = pd.DataFrame({"f0": 1.0, "f1": "0", "f2": seen})
    assert table.points(frame)[:, 2].tolist() == [273.15, 100 / 3] * 2
    assert table.points(table.training())[:, 2].tolist() == [273.15, 300]


def test_an_end_of_an_interval_survives_rounding() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, -1 / 3, 200 / 3),))
    fold = TrainingFold(np.array([[0.5]]), np.array([0]))
    table = table_of(SpiedProblem(space, [1], lambda Z: Z[:, 0] > 1, training=fold))
    places = table.precisions["f0"]
    rounded = [np.round(-1 / 3, places), np.round(200 / 3, places)]
    assert rounded != [-1 / 3, 200 / 3]
    assert table.points(pd.DataFrame({"f0": rounded}))[:, 0].tolist() == [-1 / 3, 200 / 3]


def test_where_steps_must_be_kept_the_fold_keeps_them() -> None:
    fold = TrainingFold(np.array([[0.6, 0, 273.15], [1.2, 2, 300.0]]), np.array([1, 0]))
    problem = SpiedProblem(SPACE, [2, 0, 5], lambda Z: Z[:, 0] > 1, training=fold, respect_steps=True)
    table = table_of(problem)
    assert table.training()["f0"].tolist() == [1, 2]
    assert table.points(table.training())[:, 0].tolist() == [0.5, 1]


def test_where_steps_must_be_kept_numbers_are_counted_in_steps() -> None:
    table = make_table([2, 0, 5], respect_steps=True)
    assert table.factual()["f0"].tolist() == [4]
    assert table.training()["f0"].tolist() == [1, 3]
    assert table.permitted_range["f0"] == [0, 5]
    assert table.precisions["f0"] == 0
    frame = pd.DataFrame({"f0": [3.0, 5.0], "f1": ["1", "0"], "f2": [5.0, 6.0]})
    assert table.points(frame).tolist() == [[1.5, 1, 5], [2.5, 0, 6]]


class _Script:
    """A problem that answers with what it was given, and has no feasible row."""

    target = 1
    x = np.zeros(3)

    def __init__(self, shares: list[float]) -> None:
        self._shares = shares

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        share = np.array([self._shares.pop(0) for _ in Z])
        return np.column_stack([1 - share, share])

    def is_feasible(self, Z: FloatArray) -> BoolArray:
        return np.zeros(len(Z), dtype=bool)


def test_patience_starts_anew_with_every_row_of_the_target_class() -> None:
    table = make_table([2, 0, 5])
    model = MeteredModel(_Script([0, 0.5, 0.9, 0.1, 0.1, 0.2]), table, n_kept=2, patience=3)  # type: ignore[arg-type]
    for _ in range(5):
        model.predict_proba(table.factual())
    with pytest.raises(NoTargetInSightError):
        model.predict_proba(table.factual())


def test_patience_is_for_rows_drawn_one_at_a_time_and_not_for_generations() -> None:
    table = make_table([2, 0, 5])
    model = MeteredModel(_Script([0.1] * 10), table, n_kept=2, patience=3)  # type: ignore[arg-type]
    for frame in (table.factual(), table.factual(), table.training(), table.training(), table.factual()):
        model.predict_proba(frame)
    model.predict_proba(table.factual())
    with pytest.raises(NoTargetInSightError):
        model.predict_proba(table.factual())


@pytest.mark.parametrize("population", [[[0.5, 1, 300.0], [1.5, 0, 0.125], [2.0, 1, 273.15]], [1.5, 1, 300.0]])
def test_whole_columns_are_decoded_as_the_library_decodes_values(population: list[Any]) -> None:
    DiceGenetic = pytest.importorskip("dice_ml.explainer_interfaces.dice_genetic").DiceGenetic

    problem = SpiedProblem(SPACE, [2, 2, 5], lambda Z: Z[:, 0] > 1, training=FOLD)
    table = table_of(problem)
    explainer = explainer_of(library_data(table), MeteredModel(problem, table, n_kept=2, patience=1))
    rows = np.array(population)
    decoded = explainer.label_decode(rows)
    pd.testing.assert_frame_equal(decoded, DiceGenetic.label_decode(explainer, rows))
    assert np.ravel(decoded["f1"]).tolist() == [["0", "2"][int(code)] for code in np.atleast_2d(rows)[:, 1]]
