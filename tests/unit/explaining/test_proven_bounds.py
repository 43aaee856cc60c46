"""What a searcher reports as proven, in words; and the reason that it gives where it returns nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cfbench
from cfbench import FeatureSpace, FeatureSpec, Kind, Problem, SearcherEntry
from cfbench.explaining.explanation import bounds
from cfbench.problem.outcome import Status
from cfbench.space import FloatArray

SPACE = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100), FeatureSpec("age", Kind.NUMERICAL, 0, 100)))


def explained(answer: FloatArray | None, reason: str = "", **figures: float) -> cfbench.Explanation:
    """Explain a case of class 0, which is class 1 from an income of 60: the cheapest change costs 0.25 + 0.1."""

    def search(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        for name, number in figures.items():
            problem.report(name, number)
        if reason:
            problem.give_reason(reason)
        return answer

    return cfbench.explain(
        [20.0, 40.0],
        model=lambda rows: (np.asarray(rows)[:, 0] >= 60).astype(int),
        space=SPACE,
        target=1,
        searcher=SearcherEntry(name="mine", searcher=search),
    )


CHEAPEST = np.array([60.0, 40.0])


def test_a_proof() -> None:
    assert bounds(explained(CHEAPEST, lower_bound=0.35, proven=1)) == ["Proven by mine: no counterfactual is cheaper."]
    other = replace(explained(CHEAPEST, lower_bound=0.35, proven=1), objective="c")
    assert bounds(other) == ["Proven by mine: no counterfactual is of a lower objective value."]


def test_a_bound_without_a_proof() -> None:
    found = explained(CHEAPEST, lower_bound=0.28, proven=0)
    assert bounds(found) == [
        "Not proven to be the optimum, but within 25.00% of it: no counterfactual costs less than 0.28, the lower "
        "bound of mine."
    ]
    assert bounds(found)[0] in " ".join(found.text().split())
    assert (found.content()["figures"], found.content()["objective_value"]) == (
        {"lower_bound": 0.28, "proven": 0.0},
        pytest.approx(0.35),
    )
    assert bounds(explained(None, lower_bound=0.28, proven=0)) == [
        "Lower bound by mine: no counterfactual costs less than 0.28."
    ]


def test_a_bound_that_says_nothing() -> None:
    assert bounds(explained(CHEAPEST)) == []
    assert bounds(explained(CHEAPEST, proven=0)) == []
    assert bounds(explained(CHEAPEST, lower_bound=0, proven=0)) == [
        "Not proven by mine: there may be counterfactuals that are cheaper."
    ]
    assert bounds(explained(None, lower_bound=0, proven=0)) == []
    assert bounds(explained(None, proven=1)) == []  # the reason says it


def test_a_bound_that_the_result_itself_contradicts() -> None:
    assert bounds(explained(CHEAPEST, lower_bound=0.4, proven=1)) == [
        "mine reports a lower bound of 0.4, above the result's own value: the bound is wrong."
    ]


@pytest.mark.parametrize(
    ("given", "kept"), [("proven:\n there is none", "proven: there is none"), ("a" * 9_000, "a" * 500)]
)
def test_a_reason_is_kept_in_one_line_where_nothing_is_returned(given: str, kept: str) -> None:
    found = explained(None, given)
    assert (found.status, found.reason) == (Status.NOT_FOUND, kept)


def test_a_reason_counts_for_nothing_where_something_is_returned() -> None:
    outcomes: list[Any] = [explained(answer, "no idea") for answer in (CHEAPEST, np.array([30.0, 40.0]))]
    assert [one.status for one in outcomes] == [Status.FOUND, Status.INVALID]
    assert outcomes[0].reason == ""
    assert outcomes[1].reason.startswith("its class is")
