"""Random numbers by position: right bits, uniform, and independent along every coordinate of their key."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cfbench.robustness.draws import descended_key, evaluation_keys, uniform_share, uniform_shares
from cfbench.space.space import FloatArray

WORD = 2**64


def reference_key(key: int, number: int) -> int:
    """SplitMix64 in Python's whole numbers: the state after ``number + 1`` steps from `key`, finalised."""
    bits = (key + 0x9E3779B97F4A7C15 * (number + 1)) % WORD
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % WORD
    return bits ^ (bits >> 31)


def draws(streams: int, evaluations: int, m: int, features: int) -> FloatArray:
    """Draws by (stream, evaluation, neighbour, feature); streams count from 0, the worst that a caller may choose."""
    columns = np.arange(features)
    return np.stack([uniform_shares(evaluation_keys(s, 0, evaluations), m, columns) for s in range(streams)])


def test_the_first_output_of_splitmix64_from_zero_is_the_published_one() -> None:
    key = descended_key(np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.uint64))
    assert int(key[0]) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("stream", [0, 1, 2**63, WORD - 1])
def test_a_draw_is_the_reference_along_the_tree_of_keys(stream: int) -> None:
    shares = uniform_shares(evaluation_keys(stream, 7, 2), 3, np.array([0, 5]))
    for i, j, k in np.ndindex(shares.shape):
        key = reference_key(reference_key(0, stream), 7 + i)
        key = reference_key(reference_key(key, j), (0, 5)[k])
        assert shares[i, j, k] == (key >> 11) / 2**53


def test_shares_are_multiples_of_the_smallest_step_below_one() -> None:
    bits = np.array([0, WORD - 1, 1 << 11], dtype=np.uint64)
    assert uniform_share(bits).tolist() == [0.0, 1 - 2**-53, 2**-53]


def test_draws_are_uniform() -> None:
    shares = draws(10, 20, 64, 16).ravel()
    counts = np.bincount((shares * 256).astype(int), minlength=256)
    assert stats.chisquare(counts).pvalue > 0.001
    assert stats.kstest(shares, "uniform").pvalue > 0.001


@pytest.mark.parametrize("axis", range(4), ids=["stream", "evaluation", "neighbour", "feature"])
@pytest.mark.parametrize("lag", [1, 2, 8])
def test_neighbouring_keys_give_independent_draws(axis: int, lag: int) -> None:
    shares = np.moveaxis(draws(20, 20, 20, 20), axis, 0)
    before, after = shares[:-lag].ravel(), shares[lag:].ravel()
    counts, _, _ = np.histogram2d(before, after, bins=16, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > 0.001
    assert abs(np.corrcoef(before, after)[0, 1]) < 4 / np.sqrt(len(before))
