"""Small models in closed form: what they say of any row can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfbench.digests import digest_of
from cfbench.oracle import Oracle
from cfbench.space import FeatureSpace, FloatArray, IntArray, Kind


@dataclass(frozen=True, eq=False)
class Rule:
    """A classifier that adds up a score over the features and cuts it into classes.

    The class of a row is the number of cuts that its score exceeds.

    Parameters
    ----------
    space : FeatureSpace
    weights : tuple of (float or tuple of float)
        A numerical feature adds its weight times its position in its interval, from 0 at the lower end to 1 at the
        upper; a categorical one adds what the tuple holds for its code.
    cuts : tuple of float
        Ascending. One cut makes two classes; an infinite one is never exceeded.
    """

    space: FeatureSpace
    weights: tuple[float | tuple[float, ...], ...]
    cuts: tuple[float, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.cuts) + 1

    def score(self, Z: FloatArray) -> FloatArray:
        """Add up the score of each row, shape (n,)."""
        total = np.zeros(len(Z))
        for values, feature, weight in zip(Z.T, self.space.features, self.weights, strict=True):
            if isinstance(weight, tuple):
                # A searcher may ask about what is no category; the nearest one answers for it.
                codes = np.clip(np.rint(values), 0, len(weight) - 1).astype(np.int64)
                total += np.array(weight)[codes]
            else:
                assert feature.kind is Kind.NUMERICAL
                total += weight * (values - feature.lower) / (feature.upper - feature.lower)
        return total

    def predict(self, Z: FloatArray) -> IntArray:
        """Say the class of each row, shape (n,)."""
        classes: IntArray = (self.score(Z)[:, np.newaxis] > np.array(self.cuts)).sum(axis=1).astype(np.int64)
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return 0.9 for each row's class and share the rest among the others, shape (n, n_classes)."""
        rest = 0.1 / (self.n_classes - 1)
        probabilities: FloatArray = np.full((len(Z), self.n_classes), rest)
        probabilities[np.arange(len(Z)), self.predict(Z)] = 0.9
        return probabilities

    def fingerprint(self) -> str:
        """Digest of weights and cuts."""
        return digest_of([self.space.digest, [str(weight) for weight in self.weights], [str(cut) for cut in self.cuts]])

    def oracle(self) -> Oracle:
        """The rule answers for itself."""
        return self


class Counted:
    """An oracle that counts the rows it is asked, by whatever way, and can interrupt a search.

    Parameters
    ----------
    oracle : Oracle
    interrupt : bool
        Whether the first question ends as if Ctrl-C had been pressed during it.

    Attributes
    ----------
    rows : int
    """

    def __init__(self, oracle: Oracle, *, interrupt: bool = False) -> None:
        self._inner = oracle
        self._interrupt = interrupt
        self.rows = 0

    def predict(self, Z: FloatArray) -> IntArray:
        """Answer as the oracle does."""
        self._count(Z)
        return self._inner.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer as the oracle does."""
        self._count(Z)
        return self._inner.predict_proba(Z)

    def _count(self, Z: FloatArray) -> None:
        self.rows += len(Z)
        if self._interrupt:
            raise KeyboardInterrupt
