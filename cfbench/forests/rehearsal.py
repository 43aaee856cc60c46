"""A run of all that is compiled, on a toy, before a clock starts: compiling takes seconds, once a user."""

from __future__ import annotations

from functools import cache

import numpy as np

from cfbench.forests.boxes import KBox
from cfbench.forests.parting import Parting
from cfbench.forests.structure import ForestStructure
from cfbench.space import FeatureSpace, FeatureSpec, Kind, NumericalPerturbation


def toy_forest() -> ForestStructure:
    """Return a forest of two trees on two numbers and one category: class 1 where both numbers are above 1/2."""
    first = [[0, 0, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]]
    second = [[1, 0, 4, 5], [2, -1, 6, 7], [-1, 0, 1, 0], [-1, 0, 0, 0], [-1, 0, 0, 0]]
    return ForestStructure(
        classes=np.array([0, 1]),
        nodes=np.array([*first, *second], dtype=np.int32),
        roots=np.array([0, 3], dtype=np.int32),
        shares=np.array([[0.75, 0.25], [0.375, 0.625]]),
        boundaries=(np.array([0.5]), np.array([0.5]), np.empty(0)),
        cell_of_code=(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.array([0, 1])),
    )


@cache
def rehearse() -> None:
    """Call every kernel of this package."""
    structure = toy_forest()
    moves = NumericalPerturbation(1, 1)
    numbers = [FeatureSpec(name, Kind.NUMERICAL, 0, 1, perturbation=moves) for name in ("a", "b")]
    space = FeatureSpace((*numbers, FeatureSpec("c", Kind.CATEGORICAL, 0, 1, ("x", "y"))))
    z = np.zeros(3)
    box = KBox.of(structure, space, z, z)
    votes, whole = box.votes(box.whole, 0)
    assert len(list(box.cut(whole, votes.pull, votes.place))) == 2
    structure.predict_cells(whole.low[np.newaxis])
    part = Parting(box, 0).whole()
    assert abs(part.kept + part.lost - 1) < 1e-12
