"""What is proven about a counterfactual, in words: a stump and a linear model by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench.errors import UnavailableError
from cfbench.explaining.perturbation_effects import proven_of_kept
from cfbench.forests.structure import ForestStructure
from cfbench.linear.structure import NUMBER, LinearStructure
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


class Line:
    """Class 1 where a wage of w and debts of 3 lead by ``(w - 5) - 0.125 * (debt - 3)``; a tie has class 0."""

    def predict(self, Z: FloatArray) -> IntArray:
        return self.linear_structure().predict(Z)

    def linear_structure(self) -> LinearStructure:
        return LinearStructure(
            d=2,
            classes=np.array([0, 1]),
            weights=np.array([[0.0, 0.0], [1.0, -0.125]]),
            intercepts=np.array([0.0, 0.0]),
            feature=np.array([0, 1]),
            code=np.array([NUMBER, NUMBER]),
            mean=np.array([5.0, 3.0]),
            scale=np.array([1.0, 1.0]),
        )


@pytest.mark.parametrize(
    ("wage", "said"),
    [
        # The wage falls by 2 at most.
        (7.5, ("Proven: no perturbation of what you keep can undo this.",)),
        (6.5, ("A perturbation of what you keep can undo this; this one would: wage 4.5 k€.",)),
        # It falls to the tie itself, where the first class wins.
        (7.0, ("A perturbation of what you keep can undo this; this one would: wage 5 k€.",)),
    ],
)
def test_what_is_said_of_a_linear_model(wage: float, said: tuple[str, ...]) -> None:
    z, x = np.array([wage, 3.0]), np.array([wage, 7.0])
    line = Line()
    assert proven_of_kept(line, SPACE, x, z, 1, line.predict) == said


def test_a_tie_that_the_model_gives_to_the_target_is_proven() -> None:
    z, x = np.array([7.0, 3.0]), np.array([7.0, 7.0])
    (said,) = proven_of_kept(Line(), SPACE, x, z, 1, lambda Z: (Z[:, 0] >= 5).astype(np.int64))
    assert said == "Proven: no perturbation of what you keep can undo this."


def test_a_model_that_shows_nothing_is_said_to_prove_nothing() -> None:
    (said,) = proven_of_kept(object(), SPACE, np.array([6.0, 7.0]), np.array([6.0, 3.0]), 1, Stump().predict)
    assert said == (
        "Not proven for all perturbations of what you keep: the model shows neither its trees nor its weights."
    )


def test_trees_that_cannot_be_laid_open_are_given_as_the_reason() -> None:
    class Strange(Stump):
        def forest_structure(self) -> ForestStructure:
            raise UnavailableError("a split looks at a set of categories")

    (said,) = proven_of_kept(Strange(), SPACE, np.array([6.0, 7.0]), np.array([6.0, 3.0]), 1, Stump().predict)
    assert said == "Not proven for all perturbations of what you keep: a split looks at a set of categories."


def test_nothing_is_said_where_the_model_disagrees_with_its_structure() -> None:
    z, x = np.array([6.0, 3.0]), np.array([6.0, 7.0])
    assert proven_of_kept(Stump(), SPACE, x, z, 1, lambda Z: np.ones(len(Z), dtype=np.int64)) == ()
