"""The compiled form of a problem's CandidateMeasure, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled

_FOUR_ROUNDINGS = 4 * float(np.finfo(np.float64).eps)


@compiled
def total(values: Any) -> Any:
    """Add up at most 128 numbers in numpy's order, which has eight sums side by side."""
    n = len(values)
    if n < 8:
        result = 0.0
        for i in range(n):
            result += values[i]
        return result
    a, b, c, d = values[0], values[1], values[2], values[3]
    e, f, g, h = values[4], values[5], values[6], values[7]
    whole = n - n % 8
    for i in range(8, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    result = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, n):
        result += values[i]
    return result


@compiled
def costs(Z: Any, x: Any, ranges: Any, is_categorical: Any) -> Any:
    """Return the cost of each row of `Z`, shape (n,)."""
    n, d = Z.shape
    result, apart = np.empty(n), np.empty(d)
    for i in range(n):
        changed = 0
        for j in range(d):
            differs = Z[i, j] != x[j]
            changed += differs
            share = abs(Z[i, j] - x[j]) / ranges[j]
            mismatch = 1.0 if differs else 0.0
            apart[j] = mismatch if is_categorical[j] else share
        result[i] = 0.5 * (total(apart) / d) + 0.5 * changed / d
    return result


@compiled
def are_within(Z: Any, lower: Any, upper: Any, is_categorical: Any, steps: Any) -> Any:
    """Return which rows of `Z` are within the box, on category codes and on steps where those are no NaN."""
    n, d = Z.shape
    result = np.empty(n, dtype=np.bool_)
    for i in range(n):
        outside = 0
        for j in range(d):
            z = Z[i, j]
            outside += not (lower[j] <= z)
            outside += not (upper[j] >= z)
            outside += is_categorical[j] & (z != np.floor(z))
        result[i] = outside == 0
    for j in range(d):
        if np.isnan(steps[j]):
            continue
        for i in range(n):
            count = Z[i, j] / steps[j]
            result[i] &= abs(count - np.rint(count)) <= _FOUR_ROUNDINGS * abs(count)
    return result


@compiled
def measures(Z: Any, x: Any, ranges: Any, lower: Any, upper: Any, is_categorical: Any, steps: Any) -> Any:
    """Return both."""
    return costs(Z, x, ranges, is_categorical), are_within(Z, lower, upper, is_categorical, steps)
