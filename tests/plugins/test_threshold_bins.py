"""The index of thresholds: bins rise with values, and say how many thresholds lie before them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench_models.forest.tables import MOST_BINS, ThresholdBins, rounded_down

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def bounds(bins: ThresholdBins, first: np.float32, value: np.float32) -> tuple[int, int]:
    """Between which numbers the count of thresholds below a value lies, by the definition."""
    along = (np.float64(value) - np.float64(first)) * bins.scale
    own = int(np.clip(along, 0, len(bins.before) - 2))
    return int(bins.before[own]), int(bins.before[own + 1])


@given(st.sets(singles, min_size=1, max_size=40), st.lists(singles, max_size=20))
def test_the_count_of_thresholds_below_a_value_lies_within_its_bin(thresholds: set[float], values: list[float]) -> None:
    ascending = np.unique(np.array(sorted(thresholds), dtype=np.float32))
    bins = ThresholdBins.of(ascending)
    assert bins.before[0] == 0
    assert bins.before[-1] == len(ascending)
    beside = [np.nextafter(ascending, np.float32(side)) for side in (-3e38, 3e38)]
    for value in np.concatenate([np.array(values, dtype=np.float32), ascending, *beside]):
        low, high = bounds(bins, ascending[0], value)
        assert low <= np.searchsorted(ascending, value) <= high


def test_even_thresholds_have_bins_of_their_own() -> None:
    bins = ThresholdBins.of(np.arange(100, dtype=np.float32))
    assert np.diff(bins.before).max() <= 1


def test_the_number_of_bins_is_limited() -> None:
    bins = ThresholdBins.of(np.arange(20_000, dtype=np.float32))
    assert len(bins.before) == MOST_BINS + 1
    assert bins.before[-1] == 20_000


@pytest.mark.parametrize(
    ("threshold", "rounded"),
    [
        (0.5, 0.5),
        (0.1, np.nextafter(np.float32(0.1), np.float32(0))),  # float32(0.1) is above 0.1
        (0.3, np.nextafter(np.float32(0.3), np.float32(0))),
        (0.7, np.float32(0.7)),
        (-0.1, np.float32(-0.1)),
        (-0.7, np.nextafter(np.float32(-0.7), np.float32(-1))),
        (1e39, np.finfo(np.float32).max),
        (-0.0, 0.0),
    ],
)
def test_thresholds_are_rounded_down(threshold: float, rounded: float) -> None:
    assert rounded_down(np.array([threshold]))[0] == np.float32(rounded)


@given(st.floats(allow_nan=False, min_value=-3e38, max_value=3e38), singles)
def test_rounding_down_changes_no_comparison(threshold: float, value: float) -> None:
    rounded = rounded_down(np.array([threshold]))[0]
    for near in (np.float32(value), rounded, np.nextafter(rounded, np.float32(3e38))):
        assert (np.float64(near) <= threshold) == (near <= rounded)
