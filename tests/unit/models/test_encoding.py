"""The encoding of points as a classifier's columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.models import fit_encoding
from cfbench.space import FloatArray


def number(name: str) -> FeatureSpec:
    return FeatureSpec(name, Kind.NUMERICAL, -10.0, 10.0)


def category(name: str, k: int) -> FeatureSpec:
    return FeatureSpec(name, Kind.CATEGORICAL, 0, k - 1, categories=tuple(f"{name}{code}" for code in range(k)))


SPACE = FeatureSpace((number("age"), category("job", 4), category("sex", 2), number("sum")))


def test_columns_stand_in_feature_order_and_only_more_than_two_categories_are_one_hot() -> None:
    X = np.array([[1.0, 0, 1, 5.0], [3.0, 1, 0, 5.0], [8.0, 3, 0, 6.5]])
    encoding = fit_encoding(X, SPACE, standardise=False)
    expected = [[1.0, 1, 0, 0, 1, 5.0], [3.0, 0, 1, 0, 0, 5.0], [8.0, 0, 0, 1, 0, 6.5]]
    assert encoding.n_columns == 6
    np.testing.assert_array_equal(encoding.transform(X), expected)


def test_a_category_unseen_in_training_and_what_is_no_category_are_rows_of_zeros() -> None:
    X = np.array([[1.0, 0, 1, 5.0], [3.0, 1, 0, 5.0]])
    encoding = fit_encoding(X, SPACE, standardise=False)
    asked = np.array([[1.0, code, 0, 5.0] for code in (2, 3, 4, -1, 0.5, 1e12, 1)])
    np.testing.assert_array_equal(encoding.transform(asked)[:, 1:3], [[0, 0]] * 6 + [[0, 1]])


def test_standardising_moves_numerical_columns_only() -> None:
    X = np.array([[1.0, 0, 1, 5.0], [3.0, 1, 0, 5.0]])
    encoding = fit_encoding(X, SPACE, standardise=True)
    # age: mean 2, deviation 1; sum is constant, so it is moved to 0 and keeps its scale
    np.testing.assert_array_equal(encoding.transform(X), [[-1.0, 1, 0, 1, 0.0], [1.0, 0, 1, 0, 0.0]])
    np.testing.assert_array_equal(encoding.transform(np.array([[4.0, 1, 1, 7.0]])), [[2.0, 0, 1, 1, 2.0]])


@st.composite
def spaces(draw: st.DrawFn) -> FeatureSpace:
    counts = draw(st.lists(st.sampled_from([0, 2, 3, 5]), min_size=1, max_size=5))
    return FeatureSpace(
        tuple(category(f"f{i}", k) if k else number(f"f{i}") for i, k in enumerate(counts)),
    )


def random_rows(space: FeatureSpace, n: int, rng: np.random.Generator) -> FloatArray:
    columns = [rng.integers(k, size=n) if k else rng.normal(0, 3, size=n) for k in space.n_categories]
    return np.column_stack(columns).astype(np.float64)


def sklearn_columns(train: FloatArray, Z: FloatArray, space: FeatureSpace, *, standardise: bool) -> FloatArray:
    parts = []
    for i, feature in enumerate(space.features):
        if feature.n_categories > 2:
            part = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(train[:, [i]]).transform(Z[:, [i]])
        elif feature.kind is Kind.NUMERICAL and standardise:
            part = StandardScaler().fit(train[:, [i]]).transform(Z[:, [i]])
        else:
            part = Z[:, [i]]
        parts.append(part)
    return np.hstack(parts)


@settings(max_examples=50)
@given(space=spaces(), seed=st.integers(0, 2**32 - 1), standardise=st.booleans())
def test_the_encoding_equals_scikit_learns_encoders_column_by_column(
    space: FeatureSpace, seed: int, standardise: bool
) -> None:
    rng = np.random.default_rng(seed)
    train, asked = random_rows(space, 6, rng), random_rows(space, 40, rng)
    ours = fit_encoding(train, space, standardise=standardise).transform(asked)
    np.testing.assert_array_equal(ours, sklearn_columns(train, asked, space, standardise=standardise))
