"""A run of all steps on a toy before the clock starts: compiling them takes seconds, once a user."""

from __future__ import annotations

from functools import cache

import numpy as np

from cfbench import toy_forest
from cfbench_searchers.exact_forest.branching import BranchAndBound
from cfbench_searchers.exact_forest.costs import CellCosts
from cfbench_searchers.exact_forest.descent import descend
from cfbench_searchers.exact_forest.few_changes import one_change, two_changes
from cfbench_searchers.exact_forest.pruning import pruned
from cfbench_searchers.exact_forest.task import ForestTask


@cache
def rehearse() -> None:
    """Call every kernel: from the lower left corner to class 1, which takes two changes."""
    two = np.array([0.0, 1.0] * 3)
    costs = CellCosts(np.array([0, 2, 4, 6]), two, two, np.zeros(3, dtype=np.int64), two, 0.0 * two, np.ones(3))
    for steps in ([one_change, two_changes], [descend], []):
        task = ForestTask(toy_forest(), costs, 1, np.inf)
        for step in steps:
            step(task)
        BranchAndBound(task, 0.0).run()
        assert task.best is not None
    toy, corner = toy_forest(), np.zeros(3, dtype=np.int64)
    everything = np.ones(len(toy.nodes), dtype=bool)
    assert len(pruned(toy.walked, toy.depth, everything, corner, corner).nodes) == 2  # a leaf a tree
