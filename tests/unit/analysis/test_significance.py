from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cfbench.analysis.significance import compare_over_blocks, compare_samples, holm

PROBABILITIES = st.lists(st.floats(0.0, 1.0), max_size=8)


def test_holm_by_hand() -> None:
    # sorted: 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, 0.04 x 1 = 0.04, which is held up to 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_never_passes_one_and_takes_nothing() -> None:
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0
    assert holm([0.2]).tolist() == [0.2]


@given(PROBABILITIES)
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float]) -> None:
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for step, place in enumerate(sorted(range(len(p)), key=lambda place: p[place])):
            if p[place] * (len(p) - step) > alpha:
                break
            rejected.add(place)
        assert set(np.flatnonzero(holm(p) <= alpha).tolist()) == rejected


def test_samples_apart_by_hand() -> None:
    # Ranks 1-5, 6-10, 11-15: H = 12/(15*16) * (15^2 + 40^2 + 65^2)/5 - 3*16 = 12.5; chi-square with 2 degrees: e^(-H/2)
    found = compare_samples({"a": [1, 2, 3, 4, 5], "b": [6, 7, 8, 9, 10], "c": [11, 12, 13, 14, 15]})
    assert found.together.statistic == pytest.approx(12.5)
    assert found.together.p == pytest.approx(math.exp(-6.25))
    assert found.together.sizes == (5, 5, 5)
    # Complete separation of 5 and 5: exact two-sided p = 2 / C(10, 5) = 2/252; Holm triples the three that tie.
    assert list(found.pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [test.p for test in found.pairs.values()] == pytest.approx([6 / 252] * 3)
    assert found.between("c", "a") == found.between("a", "c")


def test_a_small_sample_takes_part_in_no_test_and_says_so() -> None:
    found = compare_samples({"a": [1, 2, 3, 4, 5], "b": [6, 7, 8, 9, 10], "c": [math.nan, 1, 2, 3, math.inf]})
    assert found.together.p == pytest.approx(stats.kruskal([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]).pvalue)
    assert found.pairs["a", "b"].p == pytest.approx(2 / 252)  # alone: nothing to correct for
    assert found.pairs["a", "c"].p is None
    assert found.pairs["a", "c"].reason == "c has fewer than 5 values"
    assert found.together.sizes == (5, 5, 3)


def test_nothing_to_test() -> None:
    found = compare_samples({"a": [], "b": [1.0]})
    assert (found.together.p, found.together.reason) == (None, "fewer than two groups have 5 values")
    assert found.pairs["a", "b"].reason == "a and b have fewer than 5 values"
    assert compare_samples({}).pairs == {}


def test_equal_values_are_no_difference() -> None:
    found = compare_samples({"a": [1.0] * 6, "b": [1.0] * 6})
    assert (found.together.p, found.together.reason) == (None, "all values are equal")
    assert found.pairs["a", "b"].p == 1.0


def test_searchers_over_data_sets_by_hand() -> None:
    # Ranks 1, 2, 3 on each of 6 data sets: chi2 = 12/(6*3*4) * (36 + 144 + 324) - 3*6*4 = 12, p = e^(-6)
    found = compare_over_blocks(["a", "b", "c"], [[0.1, 0.2, 0.3]] * 6)
    assert found.together.statistic == pytest.approx(12.0)
    assert found.together.p == pytest.approx(math.exp(-6))
    assert found.together.sizes == (6,)
    assert [test.statistic for test in found.pairs.values()] == pytest.approx([1.0, 2.0, 1.0])


def test_the_critical_difference_is_nemenyis() -> None:
    # Demsar's table 5: q at 0.05 is 2.569 for four classifiers; his example: 14 data sets, critical difference 1.25
    k, blocks = 4, 14
    rng = np.random.default_rng(0)
    values = rng.random((blocks, k))
    ranks = stats.rankdata(values, axis=1).mean(axis=0)
    found = compare_over_blocks("abcd", values)
    for (i, j), test in zip(combinations(range(k), 2), found.pairs.values(), strict=True):
        assert test.p is not None
        assert (test.p < 0.05) == (abs(ranks[i] - ranks[j]) > 2.569 * math.sqrt(k * (k + 1) / (6 * blocks)))
    apart = compare_over_blocks("abcd", np.tile([1.0, 2.0, 3.0, 4.0], (5, 1)))
    # Mean ranks 3 apart over an error of sqrt(20/30): 3.674, past Demsar's 2.569. Five data sets can be enough.
    assert apart.pairs["a", "d"].p == pytest.approx(0.0014, abs=2e-4)
    assert apart.pairs["a", "b"].p == pytest.approx(0.61, abs=0.02)


@pytest.mark.parametrize(
    ("names", "values", "reason"),
    [
        ("ab", [[1.0, 2.0]] * 8, "Friedman's test compares three or more searchers, not 2"),
        ("abc", [[1.0, 2.0, 3.0]] * 4, "4 complete data sets; Friedman's test needs 5"),
        ("abc", [[1.0, 2.0, 3.0]] * 4 + [[1.0, math.nan, 2.0]], "4 complete data sets; Friedman's test needs 5"),
        ("abc", [[2.0, 2.0, 2.0]] * 6, "all values are equal"),
    ],
)
def test_too_few_data_sets_are_no_test(names: str, values: list[list[float]], reason: str) -> None:
    found = compare_over_blocks(names, values)
    assert (found.together.p, found.together.reason) == (None, reason)
    assert {test.reason for test in found.pairs.values()} == {reason}


@given(st.lists(st.lists(st.floats(0.0, 9.0), min_size=3, max_size=3), max_size=9))
def test_no_p_is_ever_not_a_number(values: list[list[float]]) -> None:
    found = compare_over_blocks("abc", values)
    tests = [
        found.together,
        *found.pairs.values(),
        *compare_samples({"a": np.ravel(values), "b": [1.0] * 5}).pairs.values(),
    ]
    assert all(test.p is None or 0.0 <= test.p <= 1.0 for test in tests)
