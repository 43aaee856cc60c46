"""The K-neighbours of many candidates, asked of a network together.

The neighbours of a candidate differ from it in few features and by little. Two things follow. Where the whole box that
they are drawn from lies on one side of the class boundary, nothing need be drawn. Elsewhere, what the inputs that never
move add to the units' sums is the same for all neighbours of a candidate, and is added up once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfbench import FloatArray, IntArray, KNeighbours, descended_key, perturbed_value, uniform_share
from cfbench_models.forward_pass import BLOCK, ForwardPass
from cfbench_models.neighbour_box import NeighbourBox

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
