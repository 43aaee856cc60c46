from __future__ import annotations

import numpy as np

from cfbench.robustness.reach import Reach
from cfbench.space.space import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation

SPACE = FeatureSpace(
    (
        FeatureSpec("a", Kind.NUMERICAL, -10, 10, perturbation=NumericalPerturbation(2, 3)),
        FeatureSpec("b", Kind.NUMERICAL, -10, 10, perturbation=NumericalPerturbation(0.5, 0.1, relative=True)),
        FeatureSpec("c", Kind.NUMERICAL, 0, 1),
        FeatureSpec("d", Kind.CATEGORICAL, 0, 2, ("x", "y", "z"), perturbation=CategoricalPerturbation((2, 0, 2))),
        FeatureSpec("e", Kind.CATEGORICAL, 0, 1, ("x", "y")),
    )
)


def test_the_annotation_is_read_feature_by_feature() -> None:
    reach = Reach.of(SPACE)
    assert reach.decrease.tolist() == [2, 0.5, 0, 0, 0]
    assert reach.increase.tolist() == [3, 0.1, 0, 0, 0]
    assert reach.relative.tolist() == [False, True, False, False, False]
    assert [codes.tolist() for codes in reach.categories] == [[], [], [], [0, 2], []]
    assert reach.moves_anything


def test_relative_bounds_scale_with_the_magnitude_of_the_value() -> None:
    lowest, highest = Reach.of(SPACE).bounds(np.array([[5.0, -4.0, 1, 0, 0], [0, 0, 0, 0, 0]]))
    assert lowest.tolist() == [[-2, -2, 0, 0, 0], [-2, 0, 0, 0, 0]]
    assert np.allclose(highest, np.array([[3, 0.4, 0, 0, 0], [3, 0, 0, 0, 0]]))


def test_a_space_without_annotations_moves_nothing() -> None:
    still = NumericalPerturbation(0, 0)
    assert not Reach.of(FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 1),))).moves_anything
    assert not Reach.of(FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 1, perturbation=still),))).moves_anything
    only = FeatureSpec("d", Kind.CATEGORICAL, 0, 1, ("x", "y"), perturbation=CategoricalPerturbation((1,)))
    assert Reach.of(FeatureSpace((only,))).moves_anything
