"""Running the checks of objectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfbench.entries import ObjectiveEntry
from cfbench.testing.check import Check, Report, always
from cfbench.testing.objectives import terms
from cfbench.testing.objectives.bench import ObjectiveBench

OBJECTIVE_CHECKS: tuple[Check[ObjectiveEntry, ObjectiveBench], ...] = (
    Check(terms.values_have_the_form, always),
    Check(terms.works_in_every_space, always),
    Check(terms.vectorised_equals_row_by_row, always),
    Check(terms.same_stream_same_values, always),
    Check(terms.own_stream_alone, always),
    Check(terms.asks_what_it_declares, always),
    Check(terms.draws_as_declared, always),
    Check(terms.candidates_not_mutated, always),
    Check(terms.judges_every_candidate_alike, always),
    Check(terms.parts_add_up, always),
    Check(terms.speaks_clearly, always),
)
"""Each guards one thing, so that an objective with one fault fails one check."""


def check_objective(entry: ObjectiveEntry, *, settings: Mapping[str, Any] | None = None) -> Report:
    """Run all conformance checks of an objective.

    Parameters
    ----------
    entry : ObjectiveEntry
    settings : mapping, optional
        Settings of the objective; the others have their defaults.

    Raises
    ------
    UnknownNameError, StudyError
        If a setting is unknown or impossible.
    """
    findings = [check.run(ObjectiveBench(entry, settings), entry) for check in OBJECTIVE_CHECKS]
    return Report(entry.name, tuple(findings))
