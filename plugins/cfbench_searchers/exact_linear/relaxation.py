"""The linear relaxation of a part of the search, solved by the dual simplex method.

Minimise ``sum_j c_j u_j`` where ``sum_j g_j u_j >= need`` for each rival class and ``0 <= u_j <= 1``. The number of
rivals is small, and of features too, so the basis is inverted anew in each step. The bound that is returned is computed
from the multipliers alone, so it is valid whatever rounding does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled_or_plain

UNDECIDED, STAYS = -2, -1
"""What is decided about a feature; otherwise the number of its option."""

_PIVOT = 1e-13
_FEASIBLE = 1e-10


@compiled_or_plain
def relax(options: Any, choice: Any, low: Any, high: Any, need: Any) -> Any:
    """Bound the cost of a part of the search from below.

    Parameters
    ----------
    options : Options
    choice : ndarray of int64, shape (d,)
        UNDECIDED, STAYS, or the option that a feature has.
    low, high : ndarray of float64, shape (d,)
        The shares of the way that decided features may go.
    need : ndarray of float64, shape (R,)
        What the target's lead over each rival has to gain.

    Returns
    -------
    bound : float
        Infinite if no point of this part has the target class.
    used : ndarray of float64, shape (J, 2)
        The weights of the start and of the end of each option of undecided features. Of decided ones, the second is
        the share of the way from `low` to `high`.
    """
    n_options, n_rivals = options.gain.shape
    gains, costs = np.empty((2 * n_options, n_rivals)), np.empty(2 * n_options)
    source = np.empty(2 * n_options, dtype=np.int64)
    rest, spent, n = need.copy(), 0.0, 0
    for f in range(len(choice)):
        begin, stop = options.first[f], options.first[f + 1]
        if choice[f] >= 0:
            j = choice[f]
            rest -= options.gain[j] + low[f] * options.gain_span[j]
            spent += options.cost[j] + low[f] * options.cost_span[j]
            if high[f] > low[f]:
                gains[n] = (high[f] - low[f]) * options.gain_span[j]
                costs[n], source[n] = (high[f] - low[f]) * options.cost_span[j], 2 * j + 1
                n += 1
        elif choice[f] == UNDECIDED and not options.may_stay[f]:
            # It has to change: at least at the lowest cost of all options, and at most with the best gains of all.
            least, most = np.inf, np.full(n_rivals, -np.inf)
            for j in range(begin, stop):
                least = min(least, options.cost[j], options.cost[j] + options.cost_span[j])
                most = np.maximum(most, np.maximum(options.gain[j], options.gain[j] + options.gain_span[j]))
            rest -= most
            spent += least
        elif choice[f] == UNDECIDED:
            for j in range(begin, stop):
                if not options.begins_at_x[j]:
                    gains[n], costs[n], source[n] = options.gain[j], options.cost[j], 2 * j
                    n += 1
                if options.end[j] != options.start[j]:
                    gains[n] = options.gain[j] + options.gain_span[j]
                    costs[n], source[n] = options.cost[j] + options.cost_span[j], 2 * j + 1
                    n += 1
    bound, amounts = least_cost(gains[:n], costs[:n], rest)
    used = np.zeros((n_options, 2))
    for i in range(n):
        used[source[i] // 2, source[i] % 2] = amounts[i]
    return spent + bound, used


@compiled_or_plain
def least_cost(gains: Any, costs: Any, need: Any) -> Any:  # noqa: PLR0912, PLR0915 - the steps of one algorithm
    """Solve the linear problem; return the bound and the amounts, shape (n,)."""
    n, m = gains.shape
    at_top = costs < 0
    basis = np.arange(n, n + m)  # surplus variables stand behind the amounts
    basic = np.zeros(n + m, dtype=np.bool_)
    basic[n:] = True
    inverse = np.zeros((m, m))
    multipliers, values = np.zeros(m), np.zeros(m)
    amounts = np.zeros(n)
    scale = 1.0
    for i in range(m):
        scale = max(scale, abs(need[i]))
    for _ in range(20 * (n + m) + 50):
        invert(gains, basis, inverse)
        right = need.copy()
        for j in range(n):
            if at_top[j] and not basic[j]:
                right -= gains[j]
        for i in range(m):
            multipliers[i] = 0.0
            values[i] = 0.0
            for k in range(m):
                values[i] += inverse[i, k] * right[k]
                if basis[k] < n:
                    multipliers[i] += costs[basis[k]] * inverse[k, i]
        leaving, worst, above = -1, _FEASIBLE * scale, False
        for i in range(m):
            if -values[i] > worst:
                leaving, worst, above = i, -values[i], False
            if basis[i] < n and values[i] - 1.0 > max(worst, _FEASIBLE):
                leaving, worst, above = i, values[i] - 1.0, True
        if leaving < 0:
            break
        entering, least, pivot = -1, np.inf, 0.0
        for j in range(n + m):
            if basic[j]:
                continue
            alpha, reduced = 0.0, 0.0
            if j < n:
                reduced = costs[j]
                for k in range(m):
                    alpha += inverse[leaving, k] * gains[j, k]
                    reduced -= multipliers[k] * gains[j, k]
            else:
                alpha, reduced = -inverse[leaving, j - n], multipliers[j - n]
            top = j < n and at_top[j]
            rises = alpha > 0 if above else alpha < 0
            if abs(alpha) <= _PIVOT or rises == top:
                continue
            ratio = max(0.0, -reduced if top else reduced) / abs(alpha)
            if ratio < least - 1e-15 or (ratio <= least + 1e-15 and abs(alpha) > pivot):
                entering, least, pivot = j, min(ratio, least), abs(alpha)
        if entering < 0:
            return np.inf, amounts
        gone = basis[leaving]
        basic[gone] = False
        if gone < n:
            at_top[gone] = above
        basis[leaving] = entering
        basic[entering] = True
    for j in range(n):
        amounts[j] = 1.0 if at_top[j] and not basic[j] else 0.0
    for i in range(m):
        if basis[i] < n:
            amounts[basis[i]] = min(1.0, max(0.0, values[i]))
    bound = 0.0
    for i in range(m):
        multipliers[i] = max(0.0, multipliers[i])
        bound += multipliers[i] * need[i]
    for j in range(n):
        reduced = costs[j]
        for i in range(m):
            reduced -= multipliers[i] * gains[j, i]
        bound += min(0.0, reduced)
    return bound, amounts


@compiled_or_plain
def invert(gains: Any, basis: Any, inverse: Any) -> None:  # noqa: PLR0912 - loops in place of numpy's calls
    """Fill `inverse` with the inverse of the basis, by Gauss and Jordan with pivoting by rows."""
    n, m = gains.shape
    work = np.zeros((m, 2 * m))
    for k in range(m):
        work[k, m + k] = 1.0
        if basis[k] < n:
            for i in range(m):
                work[i, k] = gains[basis[k], i]
        else:
            work[basis[k] - n, k] = -1.0
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(work[i, k]) > abs(work[best, k]):
                best = i
        for c in range(2 * m):
            work[k, c], work[best, c] = work[best, c], work[k, c]
        divisor = work[k, k]
        for c in range(2 * m):
            work[k, c] /= divisor
        for i in range(m):
            if i != k and work[i, k] != 0.0:
                factor = work[i, k]
                for c in range(2 * m):
                    work[i, c] -= factor * work[k, c]
    for i in range(m):
        for k in range(m):
            inverse[i, k] = work[i, m + k]
