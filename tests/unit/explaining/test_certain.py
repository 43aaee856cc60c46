"""What is proven about a counterfactual, in words: a stump by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench.explaining.perturbation_effects import proven_of_kept
from cfbench.forests.structure import ForestStructure
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind, NumericalPerturbation

SPACE = FeatureSpace(
    (
        FeatureSpec("wage", Kind.NUMERICAL, 0, 10, perturbation=NumericalPerturbation(2, 1), unit="k€"),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 10),
    )
)


class Stump:
    """Class 1 above a wage of 5.5."""

    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] > 5.5).astype(np.int64)

    def forest_structure(self) -> ForestStructure:
        nodes = np.array([[0, 0, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]], dtype=np.int32)
        no_codes = np.empty(0, dtype=np.int64)
        ends = (np.array([5.5]), np.empty(0))
        return ForestStructure(
            np.array([0, 1]), nodes, np.zeros(1, dtype=np.int32), np.eye(2), ends, (no_codes, no_codes)
        )


@pytest.mark.parametrize(
    ("wage", "said"),
    [
        (8.0, ("Proven: no perturbation of what you keep can undo this.",)),
        (6.0, ("A perturbation of what you keep can undo this; this one would: wage 5.5 k€.",)),
    ],
)
def test_what_is_said(wage: float, said: tuple[str, ...]) -> None:
    z, x = np.array([wage, 3.0]), np.array([wage, 7.0])
    stump = Stump()
    assert proven_of_kept(stump, SPACE, x, z, 1, stump.predict) == said


def test_of_a_model_that_shows_no_forest_it_is_said_that_nothing_is_proven() -> None:
    (said,) = proven_of_kept(object(), SPACE, np.array([6.0, 7.0]), np.array([6.0, 3.0]), 1, Stump().predict)
    assert said == "Not proven for all perturbations of what you keep: the model shows no forest."


def test_nothing_is_said_where_the_model_disagrees_with_its_structure() -> None:
    z, x = np.array([6.0, 3.0]), np.array([6.0, 7.0])
    assert proven_of_kept(Stump(), SPACE, x, z, 1, lambda Z: np.ones(len(Z), dtype=np.int64)) == ()
