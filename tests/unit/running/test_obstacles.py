"""Which objectives a searcher is asked to minimise, by what they add and by what it handles."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench.problem.access import Need
from cfbench.problem.problem import Term
from cfbench.registry.contracts import FittedElsewhere, Objective, ObjectiveContext
from cfbench.registry.entries import Handles, ModelEntry, SearcherEntry
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind
from cfbench.study.obstacles import Added, added_by, obstacle

SPACE = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 10),))
DATASET = Dataset("sizes", np.array([[1.0], [2.0]]), np.array([0, 1]), SPACE, 1, ("small", "large"))
GLASS = ModelEntry(name="glass", family=FittedElsewhere, shows=[Need.FOREST])
BLACK = ModelEntry(name="black", family=FittedElsewhere)


class Sum:
    """A term that says that it is a sum over the features."""

    breaks = (np.empty(0),)

    def parts(self, Z: FloatArray) -> FloatArray:
        return Z

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        total: FloatArray = Z.sum(axis=1)
        return total


def product(Z: FloatArray, classes: IntArray) -> FloatArray:
    total: FloatArray = Z.prod(axis=1)
    return total


class Adds(Objective):
    """An objective that adds a sum, something else, nothing, or raises."""

    what: str

    def bind(self, context: ObjectiveContext) -> Term | None:
        if self.what == "error":
            raise ValueError("broken")
        terms: dict[str, Term | None] = {"sum": Sum(), "product": product, "nothing": None}
        return terms[self.what]


class Looks(Adds):
    needs_one_of = (Need.FOREST,)


@pytest.mark.parametrize(
    ("objective", "added"),
    [
        (Adds(what="sum"), (True, True, ())),
        (Adds(what="product"), (True, False, ())),
        (Adds(what="nothing"), (False, False, ())),
        (Adds(what="error"), (True, False, ())),
        (Looks(what="error"), (True, False, (Need.FOREST,))),
    ],
)
def test_what_an_objective_adds_is_found_out(objective: Objective, added: tuple[bool, bool, tuple[Need, ...]]) -> None:
    assert added_by(objective, DATASET) == Added(*added)


@pytest.mark.parametrize(
    ("handles", "added", "model", "said"),
    [
        ((), Added(False, False, ()), BLACK, ""),
        ((), Added(True, True, ()), BLACK, "mine minimises the loss alone, not objective other"),
        ((Handles.SEPARABLE,), Added(True, True, ()), BLACK, ""),
        (
            (Handles.SEPARABLE,),
            Added(True, False, ()),
            BLACK,
            "mine minimises sums over the features, and objective other adds none",
        ),
        ((Handles.OBJECTIVES,), Added(True, False, ()), BLACK, ""),
        ((Handles.OBJECTIVES,), Added(True, False, (Need.FOREST,)), GLASS, ""),
        (
            (Handles.OBJECTIVES,),
            Added(True, False, (Need.FOREST,)),
            BLACK,
            "objective other needs the model's forest, and black does not show it",
        ),
    ],
)
def test_who_takes_what(handles: tuple[Handles, ...], added: Added, model: ModelEntry, said: str) -> None:
    entry = SearcherEntry(name="mine", searcher=lambda problem, rng: None, handles=handles)
    assert obstacle(entry, model, DATASET, "other", added, constraints=False) == said
