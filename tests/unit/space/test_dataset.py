from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
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
    ],
)
def test_a_table_that_does_not_fit_its_annotation_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(**changes)
