"""The K-neighbours of many candidates, classified by a network together.

Where the network's class is the same all over the box that neighbours are drawn from, nothing is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfbench.robustness import KNeighbours, descended_key, perturbed_value, uniform_share
from cfbench.space import FloatArray, IntArray
from cfbench_models.network.inputs import BLOCK, MOST_ROUNDING, ForwardPass, Reals

_SUMS = 4
"""A bound is made of this many sums at most, each with the rounding of a forward pass."""


class NeighbourBox:
    """Bounds by how much a class leads the others over all that the K-neighbours of a candidate may be.

    Every input that may move lies in an interval, and with the inputs the sums of the units do. Over its interval, a
    rectified unit lies between two lines, so that a lead is at least a linear function of the inputs, whose least value
    over the box is plain. What a one-hot encoded feature contributes is bounded over the categories that a perturbation
    may lead to, never over its indicators one by one.

    Parameters
    ----------
    network : ForwardPass
    neighbours : KNeighbours
        Of the search.

    References
    ----------
    H. Zhang, T.-W. Weng, P.-Y. Chen, C.-J. Hsieh and L. Daniel, "Efficient neural network robustness certification with
    general activation functions" (CROWN), NeurIPS 2018, section 3.2 and the table of bounds for rectified units.
    """

    def __init__(self, network: ForwardPass, neighbours: KNeighbours) -> None:
        self._network = network
        self._neighbours = neighbours
        self._x = neighbours.x[:, np.newaxis]
        reach, indicated = neighbours.reach, network.inputs.indicated
        coded = np.array([len(codes) > 0 for codes in reach.categories])
        one_hot = np.isin(np.arange(len(coded)), indicated)
        self._numerical = np.flatnonzero((reach.decrease > 0) | (reach.increase > 0))
        self._binary = np.flatnonzero(coded & ~one_hot)
        self._one_hot = np.flatnonzero(coded & one_hot)
        self._moving = np.concatenate([self._numerical, self._binary])
        self._moving_weights = np.ascontiguousarray(network.hidden[:, self._moving])

        self._indicators = [len(coded) + np.flatnonzero(indicated == f) for f in self._one_hot]
        self._code_sums = [_sums_by_code(network, int(f), reach.categories[f]) for f in self._one_hot]
        highest = [sums.max(axis=1) for sums in self._code_sums]
        lowest = [sums.min(axis=1) for sums in self._code_sums]
        units = len(network.hidden)
        self._highest_of_codes: Reals = np.array(highest, dtype=network.hidden.dtype).reshape(-1, units).T
        self._lowest_of_codes: Reals = np.array(lowest, dtype=network.hidden.dtype).reshape(-1, units).T
        self._matrices, self._contest_biases = _matrices(network)

        # What one of some categories adds is at most what all of them together do.
        of_codes = np.array([network.rounding[indicators].sum() for indicators in self._indicators])
        self._rounding: Reals = _SUMS * np.concatenate(
            [network.rounding, network.rounding[self._moving], of_codes.astype(network.rounding.dtype)]
        )

    def answer(self, Z: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer all neighbours of a candidate at once.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)

        Returns
        -------
        winners : ndarray of int64, shape (n,)
            The class of all neighbours of each candidate, as a position among the network's classes.
        settled : ndarray of bool, shape (n,)
            False where neighbours may differ in class; the winner means nothing there.
        """
        kept = Z.T == self._x
        inputs, halves = self._inputs(Z, kept)
        drawn = kept[self._one_hot].astype(inputs.dtype)
        sums = self._network.hidden @ inputs
        half = np.abs(self._moving_weights) @ halves
        low = sums - half + self._lowest_of_codes @ drawn
        high = sums + half + self._highest_of_codes @ drawn

        middle = np.maximum((low + high) / 2, 0)
        winners = (self._matrices @ middle + self._contest_biases[:, :, np.newaxis]).min(axis=1).argmax(axis=0)
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        rise = high / (high - low + np.finfo(high.dtype).tiny)
        is_mostly_on = high > -low
        lead = np.full(len(Z), np.inf, dtype=sums.dtype)
        for other in range(self._matrices.shape[1]):
            weights = self._matrices[winners, other].T
            # A unit is at least itself or nothing, and at most the line between its values at the interval's ends.
            from_above = np.minimum(weights, 0) * rise
            slopes = np.maximum(weights, 0) * is_mostly_on + from_above
            least = np.einsum("un,un->n", slopes, sums) - np.einsum("un,un->n", from_above, low)
            least -= np.einsum("in,in->n", np.abs(self._moving_weights.T @ slopes), halves)
            for is_drawn, of_codes in zip(drawn, self._code_sums, strict=True):
                least += is_drawn * (of_codes.T @ slopes).min(axis=0)
            np.minimum(lead, least + self._contest_biases[winners, other], out=lead)
        rounding = self._rounding @ np.concatenate([np.abs(inputs, out=inputs), halves, drawn])
        return winners, (rounding < lead) & (rounding < MOST_ROUNDING)

    def _inputs(self, Z: FloatArray, kept: NDArray[np.bool_]) -> tuple[Reals, Reals]:
        """Return the inputs in the middle of the box, and half the widths of those that move.

        A kept feature that is one-hot encoded and drawn has no indicator set.
        """
        low, high = self._ends(Z, kept)
        inputs = self._network.encode(Z)
        inputs[self._moving] = (low + high) / 2
        for f, indicators in zip(self._one_hot, self._indicators, strict=True):
            inputs[indicators] *= ~kept[f]
        return inputs, ((high - low) / 2).astype(inputs.dtype)

    def _ends(self, Z: FloatArray, kept: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the moving inputs' intervals, both of shape (moving, n)."""
        space, reach, coding = self._neighbours.space, self._neighbours.reach, self._network.inputs
        numerical, moving = self._numerical, self._moving
        lowest, highest = (bound.T[numerical] for bound in reach.bounds(Z))
        lower, upper = space.lower[numerical, np.newaxis], space.upper[numerical, np.newaxis]
        own = Z.T[moving]
        ends = []
        for share, extreme in ((0.0, np.min), (1.0, np.max)):
            # Every operation on the way from a share to an input is monotone, rounding included.
            numbers = perturbed_value(own[: len(numerical)], share, lowest, highest, lower, upper)
            codes = np.array([extreme(reach.categories[f]) for f in self._binary], dtype=np.float64)
            drawn = np.concatenate([numbers, np.broadcast_to(codes[:, np.newaxis], (len(codes), len(Z)))])
            ends.append((np.where(kept[moving], drawn, own) - coding.mean[moving]) * coding.factor[moving])
        return ends[0], ends[1]


def _sums_by_code(network: ForwardPass, feature: int, codes: IntArray) -> Reals:
    """Return what a one-hot encoded feature adds to the units' sums, shape (units, codes)."""
    indicators = np.flatnonzero(network.inputs.indicated == feature)
    indicates = network.inputs.codes[indicators] == codes
    sums: Reals = network.hidden[:, len(network.inputs.mean) + indicators] @ indicates.astype(network.hidden.dtype)
    return sums


def _matrices(network: ForwardPass) -> tuple[Reals, Reals]:
    """Return by how much each class leads each other one, as weights on the units and as biases.

    Returns
    -------
    weights : ndarray, shape (classes, classes - 1, units)
    biases : ndarray, shape (classes, classes - 1)
    """
    weights, biases = network.output, network.output_bias
    if len(weights) == 1:
        return np.stack([-weights, weights]), np.stack([-biases[0], biases[0]])
    others = [np.delete(np.arange(len(weights)), k) for k in range(len(weights))]
    leads = np.stack([weights[k] - weights[rest] for k, rest in enumerate(others)])
    return leads, np.stack([(biases[k] - biases[rest])[:, 0] for k, rest in enumerate(others)])


CANDIDATES = 256
"""Candidates that are looked at together: what is known of their boxes stays in a core's cache."""


class NetworkNeighbours:
    """Answers questions about the uniform K-neighbours of one search.

    Parameters
    ----------
    network : ForwardPass
    neighbours : KNeighbours
        Of the search; which of its evaluations a question begins with does not matter.
    """

    def __init__(self, network: ForwardPass, neighbours: KNeighbours) -> None:
        self._network = network
        self._neighbours = neighbours
        self._box = NeighbourBox(network, neighbours)
        reach = neighbours.reach
        self._numerical = np.flatnonzero((reach.decrease > 0) | (reach.increase > 0))
        self._categorical = np.flatnonzero([len(codes) > 0 for codes in reach.categories])
        self._moving = np.concatenate([self._numerical, self._categorical])
        self._inputs, self._positions = network.inputs.only(self._moving)

        self._moving_weights = network.hidden[:, self._positions]
        self._resting_weights = network.hidden.copy()
        self._resting_weights[:, self._positions] = 0
        self._moving_rounding = network.rounding[self._positions]
        self._resting_rounding = network.rounding.copy()
        self._resting_rounding[self._positions] = 0

    def serves(self, neighbours: KNeighbours) -> bool:
        """Whether these are neighbours of the same search, whatever evaluation they begin with."""
        own = self._neighbours
        return neighbours.reach is own.reach and neighbours.x is own.x and neighbours.m == own.m

    def answer(self, Z: FloatArray, evaluations: NDArray[np.uint64]) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer the neighbours of candidates.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        evaluations : ndarray of uint64, shape (n,)
            Their keys.

        Returns
        -------
        winners : ndarray of int64, shape (n, m)
            Positions among the network's classes.
        certain : ndarray of bool, shape (n, m)
            False for neighbours in doubt, whose winners mean nothing.
        """
        winners = np.empty((len(Z), self._neighbours.m), dtype=np.int64)
        certain = np.empty(winners.shape, dtype=bool)
        for start in range(0, len(Z), CANDIDATES):
            block = slice(start, start + CANDIDATES)
            of_box, settled = self._box.answer(Z[block])
            winners[block], certain[block] = of_box[:, np.newaxis], settled[:, np.newaxis]
            rows = start + np.flatnonzero(~settled)
            if len(rows):
                winners[rows], certain[rows] = self._one_by_one(Z[rows], evaluations[rows])
        return winners, certain

    def rows(self, Z: FloatArray, evaluations: NDArray[np.uint64]) -> FloatArray:
        """Return the neighbours themselves, shape (n, m, d)."""
        rows: FloatArray = np.repeat(Z[:, np.newaxis], self._neighbours.m, axis=1)
        rows[:, :, self._moving] = self._draw(Z, evaluations).swapaxes(1, 2)
        return rows

    def _one_by_one(self, Z: FloatArray, evaluations: NDArray[np.uint64]) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer all neighbours of candidates, as `answer`."""
        n, m = len(Z), self._neighbours.m
        winners, certain = np.empty((n, m), dtype=np.int64), np.empty((n, m), dtype=bool)
        resting = self._network.encode(Z)
        sums = (self._resting_weights @ resting).T
        rounding = self._resting_rounding @ np.abs(resting, out=resting)

        # What rests enters as one more input, of 1, with a weight for each candidate.
        at_once = max(1, BLOCK // max(1, m))
        weights = np.empty((at_once, len(self._moving_weights), len(self._inputs) + 1), dtype=sums.dtype)
        weights[:, :, :-1] = self._moving_weights
        inputs = np.ones((at_once, len(self._inputs) + 1, m), dtype=sums.dtype)
        for start in range(0, n, at_once):
            block = slice(start, min(start + at_once, n))
            some = slice(block.stop - block.start)
            weights[some, :, -1] = sums[block]
            moving = inputs[some, :-1]
            self._inputs.encode(self._draw(Z[block], evaluations[block]), moving)
            all_sums = weights[some] @ inputs[some]
            all_rounding = self._moving_rounding @ np.abs(moving) + rounding[block, np.newaxis]
            winners[block], certain[block] = self._network.decide(all_sums, all_rounding)
        return winners, certain

    def _draw(self, Z: FloatArray, evaluations: NDArray[np.uint64]) -> FloatArray:
        """Draw the features that move, shape (n, features, m), with the bits of ``KNeighbours.draw``."""
        neighbours, numerical = self._neighbours, self._numerical
        keys = descended_key(evaluations[:, np.newaxis], np.arange(neighbours.m, dtype=np.uint64))
        shares = uniform_share(descended_key(keys[:, np.newaxis], self._moving.astype(np.uint64)[:, np.newaxis]))
        own = Z[:, self._moving, np.newaxis]
        lowest, highest = (bound[:, numerical, np.newaxis] for bound in neighbours.reach.bounds(Z))
        lower, upper = (ends[numerical, np.newaxis] for ends in (neighbours.space.lower, neighbours.space.upper))
        many = len(numerical)
        drawn: FloatArray = shares
        drawn[:, :many] = perturbed_value(own[:, :many], shares[:, :many], lowest, highest, lower, upper)
        for f, feature in enumerate(self._categorical, start=many):
            codes = neighbours.reach.categories[feature]
            drawn[:, f] = codes[(shares[:, f] * len(codes)).astype(np.int64)]
        changed = Z[:, self._moving] != neighbours.x[self._moving]
        np.copyto(drawn, own, where=changed[:, :, np.newaxis])
        return drawn
