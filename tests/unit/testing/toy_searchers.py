"""Small searchers, and a model that shows its structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, ModelFamily, Problem, Searcher
from cfbench.digests import digest_of
from cfbench.space import FloatArray, IntArray


def never(problem: Problem, rng: np.random.Generator) -> None:
    """Find nothing."""


class Rounds(Searcher):
    """A searcher whose setting decides whether it finds anything."""

    rows: int = Field(default=0, ge=0)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Ask `rows` rows and return the best."""
        if self.rows == 0:
            return None
        lower, upper = problem.bounds()
        Z: FloatArray = rng.uniform(lower, upper, (self.rows, problem.space.d))
        values, classes = problem.evaluate(Z)
        best = int(values.argmin())
        return Z[best] if classes[best] == problem.target else None


@dataclass(frozen=True)
class Cut:
    """A fitted stump: class 1 above `threshold` in `feature`."""

    feature: int
    threshold: float
    n_classes: int

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the highest class above the threshold, 0 below."""
        classes: IntArray = (Z[:, self.feature] > self.threshold).astype(np.int64) * (self.n_classes - 1)
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return certainty."""
        return np.eye(self.n_classes)[self.predict(Z)]

    def fingerprint(self) -> str:
        """Digest of the cut."""
        return digest_of([self.feature, self.threshold])

    def oracle(self) -> Cut:
        """It answers for itself."""
        return self


class Stump(ModelFamily):
    """Cuts the first feature that can be cut, at its mean."""

    def grid(self) -> dict[str, list[Any]]:
        """Nothing is to choose."""
        return {}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Cut:
        """Return the cut."""
        feature = int(np.argmax(X.std(axis=0) > 0))
        return Cut(feature, float(X[:, feature].mean()), int(y.max()) + 1)


def looks_inside(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Read the cut off the model and step over it: what a white box does."""
    model: Any = problem.model
    z = problem.x.copy()
    lower, upper = problem.bounds()
    above = np.nextafter(model.threshold, np.inf)
    z[model.feature] = np.ceil(above) if problem.space.is_categorical[model.feature] else above
    if problem.respect_steps:
        step = problem.space.features[model.feature].step or 1.0
        z[model.feature] = np.ceil(above / step) * step
    if not (lower <= z).all() or not (z <= upper).all():
        return None
    return z if problem.predict(z[np.newaxis])[0] == problem.target else None
