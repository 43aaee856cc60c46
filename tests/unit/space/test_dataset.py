from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench.errors import DataError
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FeatureSpec, Kind

SPACE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 10), FeatureSpec("b", Kind.NUMERICAL, 0, 10)))


def make(**changes: Any) -> Dataset:
    content: dict[str, Any] = {
        "name": "small",
        "X": np.array([[1.0, 2], [3, 4], [5, 6]]),
        "y": np.array([0, 2, 0]),
        "space": SPACE,
        "target": 1,
        "class_labels": ("low", "middle", "high"),
    }
    return Dataset(**(content | changes))


def test_classes_are_counted_also_where_one_has_no_rows() -> None:
    dataset = make()
    assert (dataset.n, dataset.n_classes, dataset.class_counts) == (3, 3, (2, 0, 1))


def test_the_table_cannot_be_written() -> None:
    dataset = make()
    for array in (dataset.X, dataset.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_digest_covers_all_content_that_can_change_a_result() -> None:
    other_space = FeatureSpace((replace(SPACE.features[0], upper=11), SPACE.features[1]))
    digests = [
        make().digest,
        make(X=np.array([[1.0, 2], [3, 4], [5, 7]])).digest,
        make(y=np.array([0, 2, 1])).digest,
        make(space=other_space).digest,
        make(target=0).digest,
        make(class_labels=("low", "middle", "high", "top")).digest,
    ]
    assert len(set(digests)) == len(digests)
    assert make(name="other", user="Applicant", class_labels=("a", "b", "c")).digest == make().digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"X": np.zeros((3, 3))},
            r"the table has shape \(3, 3\); its 3 labels and 2 annotated features ask for \(3, 2\)",
        ),
        ({"X": np.zeros(3)}, r"the table has shape \(3,\)"),
        ({"y": np.zeros(2, dtype=np.int64)}, r"ask for \(2, 2\)"),
        ({"target": 3}, "target class 3 is not among the classes 0 to 2"),
        ({"target": -1}, "target class -1"),
        ({"target": "high"}, "target class 'high' is not among the classes 0 to 2; give the code"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0, dtype=np.int64)}, "the table has no rows"),
        ({"X": [[1.0, 2], [3], [5, 6]]}, "X is a list whose rows have different lengths"),
        (
            {"X": [[1.0, 2], [np.nan, 4], [5, 6]]},
            "data set 'small': column 'a', row 2: nan is missing; allowed: a number from 0 to 10. Correct the table",
        ),
        ({"X": [[1.0, 2], [3, np.inf], [5, 6]]}, "column 'b', row 2: inf is not allowed; allowed: a number from 0"),
        (
            {"X": [[1.0, 2], [3, 11], [5, -1]]},
            r"column 'b', row 2: 11.0 is not allowed; allowed: a number from 0 to 10 \[2 such values\]",
        ),
        (
            {"X": [[1.0, 2], [-3, 11], [5, 6]]},
            "2 columns have values that are not allowed:\n- column 'a', row 2: -3.0 .*\n- column 'b', row 2: 11.0 ",
        ),
        ({"X": np.array([[1.0, 2], ["x", 4], [5, 6]], dtype=object)}, "column 'a', row 2: 'x' is a str; give a number"),
        ({"X": np.array([[1.0, 2], [3, None], [5, 6]], dtype=object)}, "column 'b', row 2: None is a NoneType"),
        ({"X": np.array([["1", "2"], ["3", "4"], ["5", "6"]])}, "column 'a', row 1: '1' is a str"),
        ({"X": np.ones((3, 2), dtype=complex)}, r"column 'a', row 1: \(1\+0j\) is a complex; give"),
        ({"X": pd.DataFrame({"a": [1, 2, 3], "c": [4, 5, 6]})}, "the table's columns are a, c; they must be .*: a, b"),
        ({"y": np.array([0, 3, 0])}, "y, row 2: 3 is no class code; allowed: the class codes 0 to 2 of low, middle"),
        ({"y": np.array([-1, 1, -1])}, r"y, row 1: -1 is no class code; .* \[2 such values\]"),
        ({"y": np.array([0, 0.5, 0])}, "y, row 2: 0.5 is no class code"),
        ({"y": np.array([0, np.nan, 0])}, "y, row 2: nan is no class code"),
        ({"y": np.array(["low", "high", "low"])}, "y, row 1: 'low' is a str; allowed: the class codes 0 to 2"),
        ({"y": np.array([True, False, True])}, "y holds booleans, and there are 3 classes"),
        ({"y": np.array([[0], [2], [0]])}, r"y has shape \(3, 1\); it must be \(3,\): one class code per row"),
        ({"class_labels": ("low", "middle", "low")}, "the class label 'low' occurs more than once"),
        ({"class_labels": ("low", " ", "high")}, "the class label ' ' is no name"),
        ({"class_labels": (0, 1, 2)}, "the class label 0 is no name"),
        ({"class_labels": "lmh"}, "class_labels is 'lmh'; it must be a tuple of names"),
        ({"space": None}, "its space is a NoneType, not a cfbench.FeatureSpace"),
    ],
)
def test_a_table_that_does_not_fit_its_annotation_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(**changes)


COLOUR = FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue"))


@pytest.mark.parametrize("code", [0.5, -1.0, 3.0])
def test_what_is_no_category_code_is_refused(code: float) -> None:
    message = f"column 'colour', row 3: {code} is not allowed; allowed: a code from 0 to 2"
    with pytest.raises(DataError, match=message):
        make(space=FeatureSpace((COLOUR,)), X=[[0.0], [2.0], [code]])


@pytest.mark.parametrize(
    "changes",
    [
        {"X": np.array([[1, 2], [3, 4], [5, 6]])},
        {"X": np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)},
        {"X": np.array([[1, 2], [3, 4], [5, 6]], dtype=object)},
        {"X": np.asfortranarray([[1.0, 2], [3, 4], [5, 6]])},
        {"X": [[1, 2], [3, 4], [5, 6]]},
        {"X": pd.DataFrame({"b": [2, 4, 6], "a": [1.0, 3, 5]})},
        {"y": [0, 2, 0]},
        {"y": np.array([0.0, 2.0, 0.0])},
        {"y": np.array([0, 2, 0], dtype=np.uint8)},
        {"y": pd.Series([0, 2, 0], index=[7, 8, 9])},
        {"class_labels": ["low", "middle", "high"]},
        {"target": np.int64(1)},
    ],
    ids=str,
)
def test_harmless_forms_are_converted(changes: dict[str, Any]) -> None:
    dataset = make(**changes)
    assert dataset.digest == make().digest
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64
    assert dataset.X.flags.c_contiguous
    assert dataset.class_labels == ("low", "middle", "high")


def test_booleans_are_the_codes_of_two_classes() -> None:
    two = {"class_labels": ("no", "yes"), "target": 1}
    given = np.array([False, True, False])
    assert make(y=given, **two).digest == make(y=given.astype(np.int64), **two).digest


def test_an_array_in_the_right_form_is_not_copied() -> None:
    X = np.array([[1.0, 2], [3, 4], [5, 6]])
    assert make(X=X).X is X
