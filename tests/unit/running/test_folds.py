"""The folds of a data set."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from cfbench import Dataset, FeatureSpace, FeatureSpec, Kind
from cfbench.errors import DataError, StudyError
from cfbench.space.dataset import N_FOLDS, split

SPACE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0.0, 100.0),))


def dataset(counts: tuple[int, ...]) -> Dataset:
    y = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.int64)
    X = np.arange(len(y), dtype=np.float64)[:, np.newaxis]
    return Dataset("toy", X, y, SPACE, 0, tuple(f"class {code}" for code in range(len(counts))))


def test_folds_are_scikit_learns_with_the_papers_seed() -> None:
    data = dataset((30, 13, 5))
    reference = StratifiedKFold(5, shuffle=True, random_state=42).split(np.zeros((48, 1)), data.y)
    for fold, (train, test) in enumerate(reference):
        ours = split(data, fold)
        np.testing.assert_array_equal(ours.train, train)
        np.testing.assert_array_equal(ours.test, test)
        assert ours.train.dtype == ours.test.dtype == np.int64


def test_every_row_is_tested_once_and_every_class_is_everywhere() -> None:
    data = dataset((30, 13, 5))
    folds = [split(data, fold) for fold in range(N_FOLDS)]
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(48))
    for fold in folds:
        assert set(data.y[fold.train]) == set(data.y[fold.test]) == {0, 1, 2}
        assert not set(fold.train) & set(fold.test)


@pytest.mark.parametrize(("counts", "rows"), [((30, 4), "4 rows"), ((30, 0, 10), "0 rows")])
def test_a_class_with_fewer_rows_than_folds_is_refused_by_name(counts: tuple[int, ...], rows: str) -> None:
    with pytest.raises(DataError, match=f"'toy': class 'class 1' has {rows}.*at least 5"):
        split(dataset(counts), 0)


@pytest.mark.parametrize("fold", [-1, 5])
def test_a_fold_out_of_range_is_refused(fold: int) -> None:
    with pytest.raises(StudyError, match=f"no fold {fold}.*0 to 4"):
        split(dataset((10, 10)), fold)
