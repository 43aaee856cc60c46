"""The feature space and the data set: features, intervals, categories, constraints, distances, folds.

Imports nothing of cfbench but errors and digests. Start with `space.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.space.box import FeasibleBox as FeasibleBox
    from cfbench.space.dataset import Spelling as Spelling
    from cfbench.space.relations import Relation as Relation
    from cfbench.space.relations import contradiction as contradiction
    from cfbench.space.relations import read_relations as read_relations
    from cfbench.space.space import BoolArray as BoolArray
    from cfbench.space.space import FloatArray as FloatArray
    from cfbench.space.space import IntArray as IntArray
    from cfbench.space.space import are_multiples as are_multiples

__all__, __getattr__, __dir__ = public_names(__name__)
