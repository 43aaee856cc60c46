"""An objective on the bench: its terms on small problems with models in closed form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from cfbench.contracts import FittedModel, Objective, ObjectiveContext
from cfbench.entries import ModelEntry, ObjectiveEntry
from cfbench.harness.variants import build_settings, make_variant
from cfbench.problem import Term
from cfbench.space import (
    CategoricalPerturbation,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    IntArray,
    Kind,
    NumericalPerturbation,
)
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.rules import Rule
from cfbench.testing.searchers.grown import N_ROWS, fitted, structured_model

Number, Choice = Kind.NUMERICAL, Kind.CATEGORICAL
_SIZE = FeatureSpec("size", Number, 0, 10, perturbation=NumericalPerturbation(2, 1))
_DEBT = FeatureSpec("debt", Number, -4, 4, perturbation=NumericalPerturbation(0.5, 0.25, relative=True))
_JOB = FeatureSpec("job", Choice, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2)))
_AGE, _HOME = FeatureSpec("age", Number, 18, 98), FeatureSpec("home", Choice, 0, 1, ("x", "y"))

MIXED = Rule(FeatureSpace((_SIZE, _DEBT, _JOB, _AGE, _HOME)), (1.0, -0.5, (0.0, 0.1, 0.3), 0.1, (0.0, 0.2)), (0.45,))
SPACES = {
    "mixed": MIXED,
    "all numerical": Rule(FeatureSpace((_SIZE, _DEBT)), (1.0, -0.5), (0.3,)),
    "all categorical": Rule(FeatureSpace((_JOB, _HOME)), ((0.0, 0.3, 0.6), (0.0, 0.2)), (0.5,)),
    "one feature": Rule(FeatureSpace((_SIZE,)), (1.0,), (0.5,)),
    "never perturbed": Rule(FeatureSpace((_AGE, _HOME)), (1.0, (0.0, 0.2)), (0.5,)),
    "three classes": replace(MIXED, cuts=(0.35, 0.6)),
}
"""Models in closed form, by what is special about their spaces."""
N_CANDIDATES = 24

T = TypeVar("T")


class ObjectiveBench:
    """An objective on the bench: its terms on small problems.

    Parameters
    ----------
    entry : ObjectiveEntry
    settings : mapping, optional
        Settings of the objective; the others have their defaults.

    Raises
    ------
    UnavailableError
        If it looks into the model, and no registered model shows its structure.
    """

    def __init__(self, entry: ObjectiveEntry, settings: Mapping[str, Any] | None = None) -> None:
        variant = make_variant(entry, settings or {})
        self.objective: Objective = build_settings(entry.objective, variant.settings, entry.name)
        self.questions: list[FloatArray] = []
        self._shown = structured_model(entry) if self.objective.looks_into_model else None
        self._fitted: dict[int, FittedModel] = {}

    def context(self, rule: Rule = MIXED, *, stream: int = 7, judging: bool = False) -> ObjectiveContext:
        """Return a search's context; its questions are kept."""

        def predict(Z: FloatArray) -> IntArray:
            self.questions.append(Z)
            return rule.predict(Z)

        x = candidates(rule, seed=1)[0]
        return ObjectiveContext(
            x=x,
            target=1,
            space=rule.space,
            predict=predict,
            stream=stream,
            judging=judging,
            model=None if self._shown is None else self._model(rule, self._shown),
        )

    def _model(self, rule: Rule, entry: ModelEntry) -> FittedModel:
        """Return a model that shows its structure, fitted to what a rule says."""
        if id(rule) not in self._fitted:
            X = candidates(rule, seed=3, n=N_ROWS)
            self._fitted[id(rule)] = fitted(entry, X, rule.predict(X), rule.space)
        return self._fitted[id(rule)]

    def bind(self, context: ObjectiveContext) -> Term | None:
        """Bind the objective; a failure of its own is a failed check."""
        return guarded_call(lambda: self.objective.bind(context), "bind")

    def term(self, context: ObjectiveContext | None = None) -> Term:
        """Return the term; be done where the objective adds none."""
        term = self.bind(self.context() if context is None else context)
        if term is None:
            raise NotApplicable("it adds no term to the loss")
        return term

    def values(self, term: Term, Z: FloatArray, rule: Rule = MIXED) -> FloatArray:
        """Return the term's values, their form checked."""
        found: object = guarded_call(lambda: term(Z, rule.predict(Z)), "its term")
        if not isinstance(found, np.ndarray) or found.dtype != np.float64 or found.shape != (len(Z),):
            received = (
                f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            )
            raise Failed(f"for {len(Z)} candidates it returned a {received}, not float64 of shape ({len(Z)},)")
        if not np.isfinite(found).all():
            raise Failed(f"one of its values is {found[~np.isfinite(found)][0]}")
        return found

    def values_in_parts(self, Z: FloatArray, sizes: Sequence[int], *, stream: int = 7) -> FloatArray:
        """Return one search's values of candidates that are asked in several questions."""
        term = self.term(self.context(stream=stream))
        parts = np.split(Z, np.cumsum(sizes)[:-1])
        return np.concatenate([self.values(term, part) for part in parts])


def candidates(rule: Rule, *, seed: int = 2, n: int = N_CANDIDATES) -> FloatArray:
    """Make up rows inside a space; about half of each row's values are those of the first row of seed 1."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, feature.n_categories, n).astype(np.float64)
        if feature.kind is Kind.CATEGORICAL
        else rng.uniform(feature.lower, feature.upper, n)
        for feature in rule.space.features
    ]
    Z = np.column_stack(columns)
    if seed != 1:
        x = candidates(rule, seed=1)[0]
        Z = np.where(rng.random(Z.shape) < 0.5, x, Z)
    return Z


def guarded_call(call: Callable[[], T], what: str) -> T:
    """Call what the entry brings; whatever it raises is a failed check."""
    try:
        return call()
    except Exception as error:
        raise Failed(f"{what} raised {type(error).__name__}: {error}") from error
