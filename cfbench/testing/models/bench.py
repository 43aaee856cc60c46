"""A model family on the bench: fitted on small made-up tables, without tuning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np

from cfbench.contracts import FittedModel, ModelFamily
from cfbench.entries import ModelEntry
from cfbench.errors import UnavailableError
from cfbench.harness.variants import build_settings, make_variant
from cfbench.oracle import Oracle
from cfbench.oracle_check import random_rows
from cfbench.space import FeatureSpace, FloatArray, IntArray
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.objectives.bench import SPACES
from cfbench.testing.rules import Rule

N_ROWS = 200
"""Rows of a made-up table."""

PLAIN = "mixed"
"""The table that most checks look at; the others are there for what is special about them."""

T = TypeVar("T")


class ModelBench:
    """A model family with its settings, and what it is fitted on.

    Parameters
    ----------
    entry : ModelEntry
    settings : mapping, optional
        Settings of the family; the others have their defaults. Of what they leave open, the first choice is taken.
    """

    def __init__(self, entry: ModelEntry, settings: Mapping[str, Any] | None = None) -> None:
        self.family: ModelFamily = build_settings(
            entry.family, make_variant(entry, settings or {}).settings, entry.name
        )
        self.fitted = cache(self._fitted)

    def fit(self, table: str, seed: int = 0) -> FittedModel:
        """Fit the family on a made-up table."""
        choices = guarded_call(self.family.grid, "grid")
        chosen = {name: values[0] for name, values in choices.items()}
        X, y = rows_of(SPACES[table], seed)
        return guarded_call(lambda: self.family.fit(X, y, space_of(table), chosen), "fit")

    def _fitted(self, table: str = PLAIN) -> FittedModel:
        return self.fit(table)

    def oracle(self, table: str = PLAIN) -> Oracle:
        """Return the oracle of the model fitted on a table; be done where the model has none of its own."""
        model = self.fitted(table)
        try:
            oracle = guarded_call(model.oracle, "oracle")
        except UnavailableError as error:
            raise NotApplicable(f"it has no oracle for this model: {error}") from error
        if oracle is model:
            raise NotApplicable("the model is its own oracle")
        return oracle


def space_of(table: str) -> FeatureSpace:
    """Return the features of a table."""
    return SPACES[table].space


def rows_of(rule: Rule, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Make up rows that a rule labels; every tenth label is another."""
    rng = np.random.default_rng(seed)
    X = random_rows(rule.space, N_ROWS, rng)
    y = rule.predict(X)
    y[::10] = rng.integers(0, rule.n_classes, len(y[::10]))
    return X, y


def guarded_call(call: Callable[[], T], what: str) -> T:
    """Call what the entry brings; whatever it raises is a failed check, that there is none of it aside."""
    try:
        return call()
    except UnavailableError:
        raise
    except Exception as error:
        raise Failed(f"{what} raised {type(error).__name__}: {error}") from error
