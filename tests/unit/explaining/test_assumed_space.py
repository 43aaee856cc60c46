"""Explanations without an annotation: the space of the training rows, and what is said of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cfbench
from cfbench import Kind
from cfbench.errors import DataError
from cfbench.explaining.assumed_space import assumed_space

FRAME = pd.DataFrame(
    {"age": [21, 34, 47, 58], "income": [1.125, 2.5, 3.75, 9.875], "job": ["clerk", "none", "clerk", "boss"]}
)


def test_intervals_are_rounded_outwards_and_categories_are_those_that_occur() -> None:
    with pytest.warns(UserWarning, match="no space was given") as caught:
        age, income, job = assumed_space((FRAME, [0, 0, 1, 1])).features
    # 21 to 58: round numbers are 2 apart, since ten to twenty-five of them fit between. 1.125 to 9.875: 0.5 apart.
    assert (age.lower, age.upper, age.step) == (20.0, 58.0, 1.0)
    assert (income.lower, income.upper, income.step) == (1.0, 10.0, None)
    assert (job.kind, job.categories) == (Kind.CATEGORICAL, ("boss", "clerk", "none"))
    said = str(caught[0].message)
    assert "from the 4 training rows" in said
    assert "(here age 20 to 58, income 1 to 10)" in said
    assert "every feature may change in both directions" in said


@pytest.mark.parametrize(
    ("training", "problem"),
    [
        (None, "space is missing: give a cfbench.FeatureSpace, or training="),
        ((FRAME[["age"]].to_numpy(), [0, 0, 1, 1]), "space is missing"),
        ((FRAME.assign(age=[20, np.nan, 30, 40]), [0, 0, 1, 1]), "column 'age' of the training rows has 1 gaps"),
        ((FRAME.assign(age=7), [0, 0, 1, 1]), "column 'age' of the training rows has a single value"),
        ((FRAME.assign(age=[1, 2, 3, np.inf]), [0, 0, 1, 1]), "column 'age' of the training rows holds infinity"),
        ((FRAME.rename(columns={"age": 3}), [0, 0, 1, 1]), "a column 3; name every column by a text"),
        (
            (FRAME.assign(age=pd.Categorical([1, 2, 3, 1])), [0, 0, 1, 1]),
            "column 'age' .* holds 1, which is not a text",
        ),
        ((FRAME.assign(job=["1", 2, "3", 4]), [0, 0, 1, 1]), "column 'job' .* holds 2, which is not a text"),
    ],
)
def test_rows_that_say_too_little_are_refused(training: tuple[object, object] | None, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        assumed_space(training)


def test_a_case_is_explained_without_an_annotation() -> None:
    rows = FRAME[["age", "income"]]
    with pytest.warns(UserWarning, match="no space was given"):
        found = cfbench.explain(
            rows.iloc[0],
            model=lambda Z: np.where(Z[:, 1] > 3, "granted", "refused"),
            target="granted",
            searcher="nearest-unlike",
            training=(rows, ["refused", "refused", "granted", "granted"]),
        )
    assert found.z is not None
    assert found.z.tolist() == [47.0, 3.75]  # the nearer of the two rows that are granted
    # Gower: (26/38 + 2.625/9) / 2; both features change.
    assert found.loss == pytest.approx(0.5 * (26 / 38 + 2.625 / 9) / 2 + 0.5)
