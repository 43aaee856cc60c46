"""Pruned forests say the same as whole ones, with fewer nodes, wherever they are asked in their box."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from cfbench.forests import ForestStructure, forest_of, leads_of
from cfbench.space import IntArray
from cfbench_searchers.exact_forest import bound as pruning
from cfbench_searchers.exact_forest.bound import kept_nodes, pruned


def way(structure: ForestStructure, cells: IntArray) -> set[int]:
    """Return the nodes that a point passes in all trees."""
    passed = set()
    for root in structure.roots:
        node = int(root)
        passed.add(node)
        while structure.nodes[node, 0] >= 0:
            feature, cut, left, right = structure.nodes[node].tolist()
            cell = cells[feature]
            node = right if (cell > cut if cut >= 0 else cell == -1 - cut) else left
            passed.add(node)
    return passed


def box(structure: ForestStructure, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Draw a box; return its ends and all of its points."""
    drawn = rng.integers(0, structure.n_cells, (2, structure.d))
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    return low, high, np.array(list(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leads_are_the_same_and_no_split_is_left_that_does_not_cut_the_box(
    draw_forest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, n_classes: int
) -> None:
    monkeypatch.setattr(pruning, "WORTH_PRUNING", 1.0)
    fewer = 0
    for seed in range(40):
        structure, rng = forest_of(draw_forest(seed, n_classes=n_classes).model), np.random.default_rng(seed)
        low, high, points = box(structure, rng)
        some = points[rng.random(len(points)) < 0.5] if seed % 2 else points
        some = some if len(some) else points[:1]
        reached = np.zeros(len(structure.nodes), dtype=bool)
        reached[list(set().union(*(way(structure, cells) for cells in some)))] = True
        left = pruned(structure.walked, structure.depth, reached, low, high)
        # Pruned once more, to a part of the box, as the parts of a box are.
        half = points[rng.integers(len(points))]
        inside = some[(some <= np.maximum(half, some[0])).all(axis=1)]
        again = pruned(left, structure.depth, np.ones(len(left.nodes), dtype=bool), low, np.maximum(half, some[0]))
        for target in range(n_classes):
            np.testing.assert_array_equal(
                leads_of(left, some, target), leads_of(structure.walked, some, target), f"seed {seed}"
            )
            np.testing.assert_array_equal(
                leads_of(again, inside, target), leads_of(structure.walked, inside, target), f"seed {seed}"
            )
        every = np.ones(len(left.nodes), dtype=bool)
        assert kept_nodes(left.nodes, every, low, high) == len(left.nodes) <= reached.sum()
        fewer += len(left.nodes) < reached.sum()
    assert fewer > 10


def test_a_copy_that_is_hardly_smaller_is_not_made(draw_forest: Callable[..., Any]) -> None:
    structure = forest_of(draw_forest(3).model)
    every = np.ones(len(structure.nodes), dtype=bool)
    zeros = np.zeros(structure.d, dtype=np.int64)
    assert pruned(structure.walked, structure.depth, every, zeros, structure.n_cells - 1) is structure.walked
    assert len(pruned(structure.walked, structure.depth, every, zeros, zeros).nodes) == len(structure.roots)
