"""Small random forests whose points can all be enumerated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfbench import CategoricalPerturbation, Constraint, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.space import FloatArray
from cfbench_models.forest.family import ForestModel, RandomForest

LETTERS = ("a", "b", "c", "d")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A fitted forest, a factual point, and a class that the forest does not give it."""

    model: ForestModel
    space: FeatureSpace
    x: FloatArray
    target: int

    def thresholds(self, feature: int) -> FloatArray:
        """Return all that scikit-learn's trees compare a numerical feature with."""
        column = self.model.encoding.columns[list(self.model.encoding.copied).index(feature)]
        trees = [member.tree_ for member in self.model.classifier.estimators_]
        cuts: FloatArray = np.concatenate([tree.threshold[tree.feature == column] for tree in trees])
        return cuts


def draw_forest(seed: int, *, n_classes: int = 2) -> Drawn:
    """Grow two to five trees on four features; training lacks the letter d, and classes tie often."""
    rng = np.random.default_rng(seed)
    ways = rng.choice(list(Constraint), 2)
    relative = bool(rng.random() < 0.5)
    size, debt = (
        NumericalPerturbation(2, 1.7 if relative else 1, relative),
        NumericalPerturbation(1.3, 0.5, relative),
    )
    space = FeatureSpace(
        (
            FeatureSpec("size", Kind.NUMERICAL, 0, 10, (), ways[0], size),
            FeatureSpec("debt", Kind.NUMERICAL, -4, 4, (), ways[1], debt, step=0.5),
            FeatureSpec("letter", Kind.CATEGORICAL, 0, 3, LETTERS, perturbation=CategoricalPerturbation((0, 2, 3))),
            FeatureSpec("home", Kind.CATEGORICAL, 0, 1, ("rent", "own"), perturbation=CategoricalPerturbation((1,))),
        )
    )
    n = 24
    columns = [rng.uniform(0, 10, n), rng.uniform(-4, 4, n), rng.integers(0, 3, n), rng.integers(0, 2, n)]
    X = np.column_stack(columns).astype(np.float64)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    settings = {"n_estimators": int(rng.integers(2, 6)), "max_depth": int(rng.integers(1, 4))}
    x = np.array([rng.uniform(0, 10), rng.integers(-8, 9) / 2, rng.integers(0, 4), rng.integers(0, 2)])
    model = RandomForest().fit(X, y, space, settings)
    others = [target for target in range(n_classes) if target != model.predict(x[np.newaxis])[0]]
    return Drawn(model, space, x, int(rng.choice(others)))
