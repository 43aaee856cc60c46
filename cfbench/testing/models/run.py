"""Running the checks of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfbench.entries import ModelEntry
from cfbench.testing.check import Check, Report, always
from cfbench.testing.models import fitting, oracles
from cfbench.testing.models.bench import ModelBench

MODEL_CHECKS: tuple[Check[ModelEntry, ModelBench], ...] = (
    Check(fitting.fits_in_every_space, always),
    Check(fitting.answers_have_the_form, always),
    Check(fitting.same_rows_same_model, always),
    Check(fitting.fingerprint_tells_models_apart, always),
    Check(fitting.pickles, always),
    Check(oracles.oracle_equals_predict, always),
    Check(oracles.oracle_equals_predict_on_boundaries, always),
    Check(oracles.oracle_equals_predict_for_single_rows, always),
    Check(oracles.oracle_equals_predict_for_neighbours, always),
    Check(oracles.oracle_equals_predict_proba, always),
    Check(oracles.questions_not_mutated, always),
)
"""Each guards one thing, so that a model with one fault fails one check."""


def check_model(entry: ModelEntry, *, settings: Mapping[str, Any] | None = None) -> Report:
    """Run all conformance checks of a model and of its oracle.

    Parameters
    ----------
    entry : ModelEntry
    settings : mapping, optional
        Settings of the family; the others have their defaults. Nothing is tuned: of what the settings leave open, the
        first choice of the grid is taken.

    Raises
    ------
    UnknownNameError, StudyError
        If a setting is unknown or impossible.
    """
    bench = ModelBench(entry, settings)
    return Report(entry.name, tuple(check.run(bench, entry) for check in MODEL_CHECKS))
