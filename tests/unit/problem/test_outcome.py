from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import pytest

from cfbench.problem.outcome import Outcome, Status


def test_the_statuses_are_those_of_the_records_schema() -> None:
    assert [str(status) for status in Status] == [
        "found",
        "not_found",
        "budget_exhausted",
        "timed_out",
        "invalid",
        "crashed",
        "skipped",
    ]


def test_an_outcome_without_a_result_has_no_numbers() -> None:
    outcome = Outcome(Status.NOT_FOUND)
    assert outcome.z is None
    assert outcome.l0 is None
    assert len(outcome.candidates) == 0
    assert all(math.isnan(n) for n in (outcome.loss, outcome.gower, outcome.cost, outcome.objective_value))
    assert outcome.figures == {}
    assert outcome.figures is not Outcome(Status.NOT_FOUND).figures


def test_an_outcome_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Outcome(Status.FOUND).status = Status.INVALID  # type: ignore[misc]
