from __future__ import annotations

import numpy as np

from cfbench import FeatureSpace, FeatureSpec, Kind, ObjectiveContext
from cfbench.space import FloatArray, IntArray
from cfbench_objectives.plugin import cfbench_register_objectives


def test_none_adds_nothing_and_asks_nothing() -> None:
    def refuse(Z: FloatArray) -> IntArray:
        raise AssertionError(f"the objective asked {len(Z)} rows")

    entry = next(iter(cfbench_register_objectives()))
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 1),))
    context = ObjectiveContext(x=np.zeros(1), target=1, space=space, predict=refuse, stream=0)
    assert entry.name == "none"
    assert entry.objective().bind(context) is None
