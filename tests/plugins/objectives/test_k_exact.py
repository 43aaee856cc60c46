"""The objective `k-exact`: half of the exact probability that a perturbation costs the class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cfbench import CfbenchError, ObjectiveContext
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench_objectives.k_exact import ExactlyNeighbourAware


def refuse(Z: FloatArray) -> IntArray:
    raise AssertionError(f"the objective asked {len(Z)} rows")


def test_the_term_is_what_many_draws_come_to(draw_forest: Callable[..., Any]) -> None:
    drawn = draw_forest(3)
    context = ObjectiveContext(drawn.x, drawn.target, drawn.space, refuse, stream=0, model=drawn.model)
    term = ExactlyNeighbourAware(width=0.0).bind(context)
    assert term is not None
    moved = np.array([[9.0, drawn.x[1], drawn.x[2], drawn.x[3]], [drawn.x[0], -3.0, 1.0, 0.0]])
    Z = np.vstack([drawn.x, moved, drawn.x])
    classes = drawn.model.predict(Z)
    drawn_rows = KNeighbours(drawn.space, drawn.x, 5, 4000).draw(Z)
    answers = drawn.model.predict(drawn_rows.reshape(-1, drawn.space.d)).reshape(len(Z), -1)
    lost = (answers != classes[:, np.newaxis]).mean(axis=1)
    assert term(Z, classes) == pytest.approx(0.5 * lost, abs=0.02)
    assert term(Z, 1 - classes) == pytest.approx(0.5 * (1 - lost), abs=0.02)  # of whatever class it is asked about


def test_without_a_model_it_says_so(draw_forest: Callable[..., Any]) -> None:
    drawn = draw_forest(3)
    with pytest.raises(CfbenchError, match="k-exact looks into the model, and this search gives none"):
        ExactlyNeighbourAware().bind(ObjectiveContext(drawn.x, drawn.target, drawn.space, refuse, stream=0))
