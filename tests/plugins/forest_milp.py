"""Counterfactuals on ensembles of trees by a mixed-integer linear program: a solver that shares no step with ours."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from cfbench import FeatureSpace
from cfbench.forests import ForestStructure
from cfbench.space import FloatArray, IntArray

SCALE = 1_000.0
"""Leads are multiplied by it: HiGHS allows each row an error of 1e-6."""

STRICT = 1e-5
"""The lead that counts as one, where the target loses ties. With 1e-7, HiGHS returned a tie of a single tree."""


@dataclass(frozen=True)
class MilpAnswer:
    """What HiGHS says.

    Parameters
    ----------
    proven : bool
        Whether it says that nothing is cheaper.
    seconds : float
        Of CPU.
    z : ndarray of float64, shape (d,), or None
        The best point that it found.
    """

    proven: bool
    seconds: float
    z: FloatArray | None


def cell_values(structure: ForestStructure, space: FeatureSpace, x: FloatArray) -> list[FloatArray]:
    """Return the value nearest to `x` in every cell of every feature; NaN in cells without a feasible one."""
    values = []
    for i, ends in enumerate(structure.boundaries):
        if structure.is_coded[i]:
            of_cell = np.full(structure.n_cells[i], np.nan)
            cells = structure.cell_of_code[i]
            of_cell[cells[::-1]] = np.arange(len(cells))[::-1]
            of_cell[cells[int(x[i])]] = x[i]
        else:
            low = np.maximum(np.concatenate([[-np.inf], np.nextafter(ends, np.inf)]), space.lower[i])
            high = np.minimum(np.concatenate([ends, [np.inf]]), space.upper[i])
            if space.is_categorical[i]:
                low, high = np.ceil(low), np.floor(high)
            of_cell = np.where(low <= high, np.clip(x[i], low, high), np.nan)
        values.append(of_cell)
    return values


class ForestMilp:
    """The program of one ensemble and one target class; the costs of the cells change from point to point.

    A feature with ordered cells has a binary variable per boundary: is its cell above? A coded feature has one per
    cell. Each leaf has a weight between 0 and 1, and those of a tree add up to 1. A node's left leaves weigh at most as
    much as the node's condition allows, and so do its right leaves. So the binary variables settle the weights. The
    target's lead over each other class is a sum over the leaves, as in OCEAN (Parmentier and Vidal, ICML 2021).
    """

    def __init__(self, structure: ForestStructure, target: int) -> None:
        self.structure = structure
        self.target = int(np.flatnonzero(structure.classes == target)[0])
        widths = np.where(structure.is_coded, structure.n_cells, structure.n_cells - 1)
        self.first = np.concatenate([[0], np.cumsum(widths)])
        self.n_binary = int(self.first[-1])
        self.n = self.n_binary + int((structure.nodes[:, 0] < 0).sum())
        self._entries: list[tuple[int, int, float]] = []
        self._low: list[float] = []
        self._high: list[float] = []
        self._add_features()
        leaves = [self._add_tree(int(root)) for root in structure.roots]
        self._add_leads([leaf for of_tree in leaves for leaf in of_tree])
        rows, columns, numbers = (np.array(part) for part in zip(*self._entries, strict=True))
        matrix = coo_array((numbers, (rows, columns)), shape=(len(self._low), self.n)).tocsr()
        self.rows = LinearConstraint(matrix, np.array(self._low), np.array(self._high))

    def _add_row(self, terms: list[tuple[int, float]], low: float, high: float) -> None:
        self._entries += [(len(self._low), column, number) for column, number in terms]
        self._low.append(low)
        self._high.append(high)

    def _add_features(self) -> None:
        for i in range(self.structure.d):
            columns = range(self.first[i], self.first[i + 1])
            if self.structure.is_coded[i]:
                self._add_row([(column, 1.0) for column in columns], 1.0, 1.0)
            else:
                for column in columns[:-1]:
                    self._add_row([(column, 1.0), (column + 1, -1.0)], 0.0, np.inf)

    def _add_tree(self, root: int) -> list[tuple[int, int]]:
        """Add the rows of a tree; return the columns of its leaves with their rows of shares."""
        nodes = self.structure.nodes
        column_of = self.n_binary + np.cumsum(nodes[:, 0] < 0) - 1

        def leaves_below(node: int) -> list[int]:
            feature, cut, left, right = (int(part) for part in nodes[node])
            if feature < 0:
                return [node]
            sides = [leaves_below(left), leaves_below(right)]
            is_right = self.first[feature] + (cut if cut >= 0 else -1 - cut)
            for leaves, sign, most in ((sides[0], 1.0, 1.0), (sides[1], -1.0, 0.0)):
                self._add_row([(int(column_of[leaf]), 1.0) for leaf in leaves] + [(is_right, sign)], -np.inf, most)
            return sides[0] + sides[1]

        leaves = leaves_below(root)
        self._add_row([(int(column_of[leaf]), 1.0) for leaf in leaves], 1.0, 1.0)
        return [(int(column_of[leaf]), int(nodes[leaf, 2])) for leaf in leaves]

    def _add_leads(self, leaves: list[tuple[int, int]]) -> None:
        structure, target = self.structure, self.target
        for rival in range(len(structure.classes)):
            if rival == target:
                continue
            # The second of two classes has to lead by more than the bar, and the first may lag by as much.
            needed = structure.bar + STRICT if rival < target else -structure.bar
            leads = structure.shares[:, target] - structure.shares[:, rival]
            self._add_row([(column, SCALE * leads[row]) for column, row in leaves], SCALE * needed, np.inf)

    def solve(self, costs: list[FloatArray], values: list[FloatArray], seconds: float) -> MilpAnswer:
        """Search for the cheapest point of the target class.

        Parameters
        ----------
        costs : list of ndarray of float64
            What each cell of each feature costs, of size 1 or so; the cost of a point is the sum over the features.
        values : list of ndarray of float64
            The value that stands for each cell; NaN: the cell is infeasible. Infeasible cells are coded, or at the
            ends of a feature.
        seconds : float
            Wall-clock limit.
        """
        objective, low, high = np.zeros(self.n), np.zeros(self.n), np.ones(self.n)
        for i in range(self.structure.d):
            own, feasible = slice(self.first[i], self.first[i + 1]), np.isfinite(values[i])
            if self.structure.is_coded[i]:
                objective[own], high[own] = np.where(feasible, costs[i], 0.0), feasible
            else:
                inside = np.flatnonzero(feasible)
                assert feasible[inside[0] : inside[-1] + 1].all()
                objective[own] = np.diff(np.where(feasible, costs[i], 0.0))
                cells = np.arange(self.first[i + 1] - self.first[i])
                low[own], high[own] = cells < inside[0], cells < inside[-1]
        integrality = np.zeros(self.n, dtype=np.int64)
        integrality[: self.n_binary] = 1
        start = time.process_time()
        found = milp(
            objective,
            constraints=self.rows,
            bounds=Bounds(low, high),
            integrality=integrality,
            options={"time_limit": seconds, "mip_rel_gap": 0.0},
        )
        spent = time.process_time() - start
        z = None if found.x is None else self._point(found.x, values)
        return MilpAnswer(proven=found.status in (0, 2), seconds=spent, z=z)

    def _point(self, solution: FloatArray, values: list[FloatArray]) -> FloatArray:
        return np.array([values[i][cell] for i, cell in enumerate(self._cells(solution))])

    def _cells(self, solution: FloatArray) -> IntArray:
        parts = [solution[self.first[i] : self.first[i + 1]] for i in range(self.structure.d)]
        coded = self.structure.is_coded
        return np.array([np.argmax(part) if coded[i] else (part > 0.5).sum() for i, part in enumerate(parts)])
