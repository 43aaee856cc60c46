"""Whether differences between several ways of searching can be told from chance.

The tests are SciPy's; Holm's correction is ours. A test that its values cannot carry is absent with the reason: there
is never a p of NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from cfbench.space.space import FloatArray

MIN_SAMPLE = 5
"""Fewest values of a group: below it the chi-square distribution is no usable approximation of Kruskal-Wallis's H."""

MIN_BLOCKS = 5
"""Fewest data sets for Friedman's test, as many as the paper has: with fewer, chi-square is no usable approximation."""


@dataclass(frozen=True)
class Significance:
    """What a test says.

    Parameters
    ----------
    p : float or None
        The p-value, corrected where it belongs to several; None where there is no test to make.
    statistic : float or None
        The test's statistic.
    sizes : tuple of int
        How many values each group has; the number of data sets in Friedman's case.
    reason : str
        Why there is no p; empty where there is one.
    """

    p: float | None
    statistic: float | None
    sizes: tuple[int, ...]
    reason: str = ""


@dataclass(frozen=True)
class Differences:
    """A test of several groups together, and of every two of them.

    Parameters
    ----------
    together : Significance
    pairs : mapping of (str, str) to Significance
        Keys in the order in which the groups were given.
    """

    together: Significance
    pairs: Mapping[tuple[str, str], Significance]

    def between(self, one: str, other: str) -> Significance:
        """Return the test of two groups, in either order."""
        return self.pairs[(one, other)] if (one, other) in self.pairs else self.pairs[(other, one)]


def holm(p: ArrayLike) -> FloatArray:
    """Correct p-values for having made several tests, by Holm's step-down procedure.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
       1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    stepped = raw[order] * np.arange(raw.size, 0, -1)
    adjusted = np.empty_like(raw)
    # A larger p is never significant before a smaller one.
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def compare_samples(samples: Mapping[str, ArrayLike]) -> Differences:
    """Test whether samples differ: Kruskal-Wallis, then Mann-Whitney U for every pair with Holm's correction.

    Values that are NaN or infinite are left out. A sample of fewer than ``MIN_SAMPLE`` values takes part in no test.
    The pairs are tested whatever the first test says: Holm's correction alone bounds the probability of an error.

    Parameters
    ----------
    samples : mapping of str to array-like of float
        Values by group; groups are taken to be independent of each other.

    References
    ----------
    .. [1] M. Virgolin and S. Fracaros, "On the robustness of sparse counterfactual explanations to adverse
       perturbations", 2022, appendix on statistical significance.
    """
    from scipy import stats

    kept = {name: _finite(values) for name, values in samples.items()}
    large = {name: values for name, values in kept.items() if values.size >= MIN_SAMPLE}
    sizes = tuple(values.size for values in kept.values())
    if len(large) < 2:
        together = Significance(None, None, sizes, f"fewer than two groups have {MIN_SAMPLE} values")
    elif _all_equal(np.concatenate(list(large.values()))):
        together = Significance(None, None, sizes, "all values are equal")
    else:
        found = stats.kruskal(*large.values())
        together = Significance(float(found.pvalue), float(found.statistic), sizes)

    pairs: dict[tuple[str, str], Significance] = {}
    for one, other in combinations(kept, 2):
        both = (kept[one].size, kept[other].size)
        small = [name for name in (one, other) if name not in large]
        if small:
            reason = f"{' and '.join(small)} {'has' if len(small) == 1 else 'have'} fewer than {MIN_SAMPLE} values"
            pairs[one, other] = Significance(None, None, both, reason)
        else:
            test = stats.mannwhitneyu(kept[one], kept[other], alternative="two-sided")
            pairs[one, other] = Significance(float(test.pvalue), float(test.statistic), both)
    return Differences(together, _corrected(pairs))


def compare_over_blocks(names: Sequence[str], values: ArrayLike) -> Differences:
    """Test whether searchers differ over data sets: Friedman's test, then Nemenyi's for every pair.

    Decision: Nemenyi's test, not pairwise Wilcoxon with Holm's correction. The paper's five data sets allow a two-sided
    signed rank test no p below 2 / 2^5 = 0.0625, whatever the results: it could never tell two searchers apart.
    Nemenyi's looks at mean ranks and can. The price: a pair's p depends on which other searchers take part.

    Parameters
    ----------
    names : sequence of str, length k
    values : array-like of float, shape (data sets, k)
        The smaller the better; NaN where a searcher has no value, and such a data set is left out.

    Returns
    -------
    Differences
        A pair's statistic is the difference of the two mean ranks.

    References
    ----------
    .. [1] J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, section 3.2.2.
    """
    from scipy import stats

    table = np.asarray(values, dtype=np.float64).reshape(np.shape(values)[0], len(names))
    table = table[np.isfinite(table).all(axis=1)]
    blocks, k = table.shape
    reason = ""
    if k < 3:
        reason = f"Friedman's test compares three or more searchers, not {k}"
    elif blocks < MIN_BLOCKS:
        reason = f"{blocks} complete data sets; Friedman's test needs {MIN_BLOCKS}"
    elif all(_all_equal(row) for row in table):
        reason = "all values are equal"
    if reason:
        absent = Significance(None, None, (blocks,), reason)
        return Differences(absent, dict.fromkeys(combinations(names, 2), absent))

    found = stats.friedmanchisquare(*table.T)
    ranks = stats.rankdata(table, axis=1).mean(axis=0)
    # Mean ranks of k searchers under no difference have this standard error; the studentized range is sqrt(2) wider.
    error = math.sqrt(k * (k + 1) / (6 * blocks))
    pairs = {}
    for (i, one), (j, other) in combinations(enumerate(names), 2):
        apart = float(abs(ranks[i] - ranks[j]))
        p = float(stats.studentized_range.sf(apart / error * math.sqrt(2), k, np.inf))
        pairs[one, other] = Significance(min(p, 1.0), apart, (blocks,))
    return Differences(Significance(float(found.pvalue), float(found.statistic), (blocks,)), pairs)


def _corrected(pairs: Mapping[tuple[str, str], Significance]) -> dict[tuple[str, str], Significance]:
    """Apply Holm's correction to the pairs that were tested, and to their number alone."""
    raw = {pair: test.p for pair, test in pairs.items() if test.p is not None}
    adjusted = dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))
    return {
        pair: Significance(adjusted.get(pair), test.statistic, test.sizes, test.reason) for pair, test in pairs.items()
    }


def _finite(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    finite: FloatArray = array[np.isfinite(array)]
    return finite


def _all_equal(values: FloatArray) -> bool:
    return bool((values == values[0]).all())
