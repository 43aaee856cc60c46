"""The compiled query of a network for K-neighbours: a bound over all of a candidate's neighbours, else each one.

What a candidate and its neighbours share is computed once: the hidden layer's sums at the candidate itself. The bound
and each neighbour add what their own inputs change about these sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled
from cfbench.robustness import descended_key as core_descended_key
from cfbench.robustness import perturbed_value as core_perturbed_value
from cfbench.robustness import uniform_share as core_uniform_share
from cfbench_models.network.kernels import (
    add_input,
    compiled_in_any_order,
    decide,
    exchange,
    indicator_of,
    output_of,
    start,
    winner_of_many,
)

# The core's own definitions, compiled: neighbours have the same bits with and without numba.
descended_key = compiled(core_descended_key)
perturbed_value = compiled(core_perturbed_value)
uniform_share = compiled(core_uniform_share)

ROWS = 64
"""Neighbours of a candidate that are drawn together: their sums stay in a core's cache."""

_NOTHING = np.float32(0)
_HALF = np.float32(0.5)
_TINY = np.finfo(np.float32).tiny
_BOX_ROUNDINGS = np.float32(8)
"""A bound is made of four sums at most, each a sum at the candidate with something added to it."""


@compiled
def value_between(reach: Any, i: int, z: float, share: float) -> Any:
    """Return the value of a kept numerical feature at a share of the way through its perturbations."""
    size = abs(z) if reach.relative[i] else 1.0
    lowest, highest = -reach.decrease[i] * size, reach.increase[i] * size
    return perturbed_value(z, share, lowest, highest, reach.lower[i], reach.upper[i])


@compiled
def codes_of(reach: Any, i: int) -> Any:
    """Return the categories that perturbations of a feature lead to."""
    return reach.codes[reach.first_code[i] : reach.first_code[i + 1]]


@compiled
def table_of(network: Any, i: int) -> Any:
    """Return the inputs that indicate the categories of a feature; empty if it is not one-hot encoded."""
    return network.indicator[network.first_code[i] : network.first_code[i + 1]]


@compiled
def find_moving(reach: Any, z: Any, x: Any, moving: Any) -> Any:
    """Fill in the kept features that perturbations move; return how many they are."""
    count = 0
    for i in range(len(z)):
        if z[i] == x[i] and (len(codes_of(reach, i)) > 0 or reach.decrease[i] > 0 or reach.increase[i] > 0):
            moving[count] = i
            count += 1
    return count


@compiled_in_any_order
def add_spread(hidden: Any, i: int, size: Any, low: Any, high: Any) -> None:
    """Widen the intervals of the hidden layer's sums by what an input adds that moves by up to `size`."""
    for u in range(len(low)):
        change = size * abs(hidden[i, u])
        low[u] -= change
        high[u] += change


@compiled_in_any_order
def add_extremes(hidden: Any, inputs: Any, low: Any, high: Any) -> None:
    """Add the least and the most that one of several inputs of 1 adds to the hidden layer's sums."""
    for u in range(len(low)):
        least = most = hidden[inputs[0], u]
        for k in range(1, len(inputs)):
            least, most = min(least, hidden[inputs[k], u]), max(most, hidden[inputs[k], u])
        low[u] += least
        high[u] += most


@compiled_in_any_order
def add_inputs(hidden: Any, i: int, sizes: Any, sums: Any) -> None:
    """Add an input of some size each to several rows of the hidden layer's sums, shape (rows, u)."""
    for j in range(len(sizes)):
        for u in range(sums.shape[1]):
            sums[j, u] += sizes[j] * hidden[i, u]


@compiled_in_any_order
def exchange_each(hidden: Any, before: int, after: Any, sums: Any) -> None:
    """Take one input of 1 out of several rows of the hidden layer's sums, and add another one to each."""
    for j in range(len(after)):
        for u in range(sums.shape[1]):
            sums[j, u] += hidden[after[j], u] - hidden[before, u]


@compiled_in_any_order
def weighted(hidden: Any, i: int, slopes: Any) -> Any:
    """Return how steeply a linear function of the hidden layer's sums depends on an input."""
    result = _NOTHING
    for u in range(len(slopes)):
        result += hidden[i, u] * slopes[u]
    return result


@compiled_in_any_order
def linear_bound(output: Any, winner: int, other: int, sums: Any, low: Any, high: Any, slopes: Any) -> Any:
    """Fill in the slopes of a linear function below the winner's lead, its bias apart; return its value at `sums`.

    A rectified unit is at least itself or nothing, and at most the line between its values at the interval's ends.
    """
    result = _NOTHING
    for u in range(len(sums)):
        if len(output) == 1:
            weight = output[0, u] if winner == 1 else -output[0, u]
        else:
            weight = output[winner, u] - output[other, u]
        least, most = min(low[u], _NOTHING), max(high[u], _NOTHING)
        from_above = min(weight, _NOTHING) * (most / (most - least + _TINY))
        slope = from_above + (max(weight, _NOTHING) if most > -least else _NOTHING)
        slopes[u] = slope
        result += slope * sums[u] - from_above * least
    return result


@compiled
def find_box(
    network: Any, reach: Any, z: Any, moving: Any, inputs: Any, indicators: Any, sums: Any, low: Any, high: Any
) -> Any:
    """Fill in the box in which the hidden layer's sums of all neighbours of a candidate lie.

    Every input that may move lies in an interval, and with the inputs the sums of the units do. The inputs that
    indicate categories are left out of the sums, and their extremes added to the box.

    Parameters
    ----------
    network : NetworkTables
    reach : NeighbourReach
    z : ndarray of float64, shape (d,)
    moving : ndarray of int64
        The kept features that perturbations move.
    inputs, indicators
        Of `z`; see `start`.
    sums : ndarray of float32, shape (u,)
        The hidden layer's sums at `z`; changed into those in the middle of the inputs' intervals.
    low, high : ndarray of float32, shape (u,)
        Filled in.

    Returns
    -------
    halves : ndarray of float32, shape (moving,)
        Half the width of each input's interval.
    float
        What rounding may amount to, in addition to that of the sums at `z`.
    """
    hidden, rounding, none = network.hidden, network.rounding, len(network.hidden) - 1
    halves, bound = np.zeros(len(moving), dtype=np.float32), _NOTHING
    for u in range(len(sums)):
        low[u] = high[u] = _NOTHING
    for k in range(len(moving)):
        i = moving[k]
        codes, table = codes_of(reach, i), table_of(network, i)
        if len(table) > 0:
            drawn = np.empty(len(codes), dtype=np.int64)
            for c in range(len(codes)):
                drawn[c] = indicator_of(table, codes[c], none)
                bound += rounding[drawn[c]]
            exchange(hidden, indicators[i], none, sums)
            bound += rounding[indicators[i]]
            add_extremes(hidden, drawn, low, high)
            continue
        if len(codes) > 0:
            first, last = float(codes[0]), float(codes[-1])  # they ascend
        else:
            # Every operation on the way from a share to an input is monotone, rounding included.
            first, last = value_between(reach, i, z[i], 0.0), value_between(reach, i, z[i], 1.0)
        first, last = (first - network.mean[i]) * network.factor[i], (last - network.mean[i]) * network.factor[i]
        middle, halves[k] = np.float32((first + last) / 2), np.float32((last - first) / 2)
        add_input(hidden, i, middle - inputs[i], sums)
        add_spread(hidden, i, halves[k], low, high)
        bound += rounding[i] * (abs(middle) + abs(inputs[i]) + halves[k])
    for u in range(len(sums)):
        low[u] += sums[u]
        high[u] += sums[u]
    return halves, bound


@compiled
def lead_in_box(
    network: Any, reach: Any, moving: Any, halves: Any, winner: Any, other: Any, sums: Any, low: Any, high: Any
) -> Any:
    """Return a bound below the winner's lead over another class in all of a box; see `find_box`.

    The linear function that `linear_bound` gives is smallest at an end of each input's interval, and at one of the
    categories of each one-hot encoded feature.
    """
    hidden, bias, none = network.hidden, network.output_bias, len(network.hidden) - 1
    slopes = np.empty(len(sums), dtype=np.float32)
    lead = linear_bound(network.output, winner, other, sums, low, high, slopes)
    for k in range(len(moving)):
        codes, table = codes_of(reach, moving[k]), table_of(network, moving[k])
        if len(table) == 0:
            lead -= abs(weighted(hidden, moving[k], slopes)) * halves[k]
            continue
        least = weighted(hidden, indicator_of(table, codes[0], none), slopes)
        for c in range(1, len(codes)):
            least = min(least, weighted(hidden, indicator_of(table, codes[c], none), slopes))
        lead += least
    if len(bias) == 1:
        return lead + (bias[0] if winner == 1 else -bias[0])
    return lead + (bias[winner] - bias[other])


@compiled
def class_of_box(
    network: Any, reach: Any, z: Any, moving: Any, base: Any, inputs: Any, indicators: Any, of_candidate: Any
) -> Any:
    """Return the class of all neighbours of a candidate; -1 where they may differ, or where rounding might matter.

    Parameters
    ----------
    network : NetworkTables
    reach : NeighbourReach
    z : ndarray of float64, shape (d,)
    moving : ndarray of int64
        The kept features that perturbations move.
    base, inputs, indicators, of_candidate
        The hidden layer's sums at `z`, its inputs, and what rounding may amount to; see `start`.

    References
    ----------
    H. Zhang, T.-W. Weng, P.-Y. Chen, C.-J. Hsieh and L. Daniel, "Efficient neural network robustness certification with
    general activation functions" (CROWN), NeurIPS 2018, section 3.2 and the table of bounds for rectified units.
    """
    output, bias = network.output, network.output_bias
    sums, low, high = base.copy(), np.empty_like(base), np.empty_like(base)
    halves, of_box = find_box(network, reach, z, moving, inputs, indicators, sums, low, high)
    middle = (low + high) * _HALF
    if len(output) == 1:
        winner = np.int64(output_of(output, 0, middle) + bias[0] > 0)
    else:
        winner, _ = winner_of_many(output, bias, middle)
    bound = (of_candidate + of_box) * _BOX_ROUNDINGS
    settled = bound < network.most_rounding
    for other in range(max(2, len(output))):
        if other != winner:
            settled &= bound < lead_in_box(network, reach, moving, halves, winner, other, sums, low, high)
    return winner if settled else np.int64(-1)


@compiled
def move_input(
    network: Any, reach: Any, i: int, z: float, own: Any, indicator: int, keys: Any, sums: Any, bounds: Any
) -> None:
    """Draw one feature of several neighbours of a candidate, and add what that changes about their sums.

    Parameters
    ----------
    network : NetworkTables
    reach : NeighbourReach
    i : int
        The feature.
    z : float
        The candidate's value.
    own, indicator
        The candidate's input, or the input that indicates its category.
    keys : ndarray of uint64, shape (neighbours,)
    sums : ndarray of float32, shape (at least neighbours, u)
        The hidden layer's sums.
    bounds : ndarray of float32, shape (at least neighbours,)
        What rounding may amount to.
    """
    rounding, none = network.rounding, len(network.hidden) - 1
    codes, table = codes_of(reach, i), table_of(network, i)
    if len(table) > 0:
        after = np.empty(len(keys), dtype=np.int64)
        for j in range(len(keys)):
            share = uniform_share(descended_key(keys[j], np.uint64(i)))
            after[j] = indicator_of(table, codes[np.int64(share * len(codes))], none)
            bounds[j] += rounding[indicator] + rounding[after[j]]
        exchange_each(network.hidden, indicator, after, sums)
        return
    changes = np.empty(len(keys), dtype=np.float32)
    for j in range(len(keys)):
        share = uniform_share(descended_key(keys[j], np.uint64(i)))
        value = float(codes[np.int64(share * len(codes))]) if len(codes) > 0 else value_between(reach, i, z, share)
        drawn = np.float32((value - network.mean[i]) * network.factor[i])
        changes[j] = drawn - own
        bounds[j] += rounding[i] * (abs(drawn) + abs(own))
    add_inputs(network.hidden, i, changes, sums)


@compiled
def classes_of_neighbours(network: Any, reach: Any, Z: Any, x: Any, evaluations: Any, m: int) -> Any:
    """Classify the m uniform K-neighbours of each row of `Z`.

    Parameters
    ----------
    network : NetworkTables
    reach : NeighbourReach
    Z : ndarray of float64, shape (n, d)
    x : ndarray of float64, shape (d,)
    evaluations : ndarray of uint64, shape (n,)
        Their keys.
    m : int

    Returns
    -------
    winners : ndarray of int64, shape (n, m)
        Positions among the network's classes.
    certain : ndarray of bool, shape (n, m)
        False for neighbours in doubt, whose winners mean nothing.
    """
    n, d = Z.shape
    winners, certain = np.empty((n, m), dtype=np.int64), np.empty((n, m), dtype=np.bool_)
    units = network.hidden.shape[1]
    base, sums = np.empty(units, dtype=np.float32), np.empty((ROWS, units), dtype=np.float32)
    keys, bounds = np.empty(ROWS, dtype=np.uint64), np.empty(ROWS, dtype=np.float32)
    inputs, indicators = np.zeros(d, dtype=np.float32), np.zeros(d, dtype=np.int64)
    moving = np.empty(d, dtype=np.int64)
    for row in range(n):
        z = Z[row]
        of_candidate = start(network, z, base, inputs, indicators)
        features = moving[: find_moving(reach, z, x, moving)]
        winner = class_of_box(network, reach, z, features, base, inputs, indicators, of_candidate)
        if winner >= 0:
            winners[row], certain[row] = winner, True
            continue
        for first in range(0, m, ROWS):
            count = min(ROWS, m - first)
            for j in range(count):
                keys[j] = descended_key(evaluations[row], np.uint64(first + j))
                bounds[j] = of_candidate
                for u in range(len(base)):
                    sums[j, u] = base[u]
            for i in features:
                move_input(network, reach, i, z[i], inputs[i], indicators[i], keys[:count], sums, bounds)
            for j in range(count):
                winners[row, first + j], certain[row, first + j] = decide(network, sums[j], bounds[j])
    return winners, certain
