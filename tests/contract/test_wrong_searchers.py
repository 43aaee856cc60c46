"""Each deliberately wrong searcher fails the check that is there for its fault, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cfbench.registry.entries import Handles, SearcherEntry
from cfbench.testing import Result, check_searcher
from cfbench.testing.searchers import SEARCHER_CHECKS

if TYPE_CHECKING:
    from tests.contract.wrong_searchers import Wrong

PREPARATION = ("preparation-is-sound", "preparation-is-repeatable", "points-are-independent")
NO_SETS = {"reported-set-kept": "it returns no sets"}
WITHOUT_A_WRONG_SEARCHER = {
    "entry-pickles",  # such an entry cannot be defined in a plugin file; it has a test of its own
    "skipped-where-not-declared",  # the harness's own work, whatever the searcher
}


@pytest.mark.slow
def test_a_wrong_searcher_fails_its_check_alone(wrong: Wrong) -> None:
    # Its own end never comes, so it is not waited for; the others have time even on a busy machine.
    limit = 1.0 if wrong.status == "timed_out" else 5.0 if wrong.entry.name.startswith("asks-on") else 60.0
    report = check_searcher(wrong.entry, time_limit=limit)
    assert [finding.check for finding in report.failures] == [wrong.check], str(report)
    (finding,) = report.failures
    assert finding.why
    assert finding.fix in str(report)


@pytest.mark.slow
def test_nothing_is_wrong_with_the_honest_ones(wrong_searchers: Any) -> None:
    entry = SearcherEntry(name="honest", searcher=wrong_searchers.Honest, handles=wrong_searchers.EVERYTHING)
    report = check_searcher(entry)
    beyond = {finding.check: finding.why for finding in report.findings if finding.result is not Result.PASSED}
    assert beyond == NO_SETS, str(report)
    sets = replace(entry, searcher=wrong_searchers.gathers_a_set, handles=wrong_searchers.BUT_RELATIONS[:2])
    report = check_searcher(replace(sets, returns_sets=True))
    assert report.passed, str(report)
    assert "reported-set-kept" in {finding.check for finding in report.findings if finding.result is Result.PASSED}
    report = check_searcher(replace(entry, searcher=wrong_searchers.honest))
    beyond = {finding.check: finding.why for finding in report.findings if finding.result is not Result.PASSED}
    assert beyond == dict.fromkeys(PREPARATION, "it prepares nothing") | NO_SETS


@pytest.mark.slow
def test_a_searcher_for_numbers_alone_is_checked_on_numbers_alone(wrong_searchers: Any) -> None:
    report = check_searcher(SearcherEntry(name="honest", searcher=wrong_searchers.honest))
    assert report.passed, str(report)
    beyond = {finding.check: finding.why for finding in report.findings if finding.result is Result.NOT_APPLICABLE}
    assert beyond == {
        "categories-are-codes": "its entry does not declare Handles.CATEGORICAL",
        "all-categorical-features": "its entry does not declare Handles.CATEGORICAL",
        "constraints-obeyed": "its entry does not declare Handles.CONSTRAINTS",
        "relations-kept": "its entry does not declare Handles.RELATIONS",
        "objective-used": "its entry does not declare Handles.OBJECTIVES",
        "luck-not-returned": "its entry does not declare Handles.OBJECTIVES",
        **dict.fromkeys(PREPARATION, "it prepares nothing"),
        **NO_SETS,
    }
    assert set(Handles) == {*wrong_searchers.EVERYTHING, Handles.SEPARABLE}


def test_an_entry_that_cannot_be_pickled_fails_that_and_decides_nothing_else() -> None:
    report = check_searcher(SearcherEntry(name="hidden", searcher=lambda problem, rng: None))
    assert [finding.check for finding in report.failures] == ["entry-pickles"]
    assert "cannot be pickled" in report.failures[0].why
    undecided = {finding.why for finding in report.findings if finding.result is Result.NOT_APPLICABLE}
    assert "undecided until entry-pickles passes" in undecided


def test_every_check_has_a_wrong_searcher(wrong_searchers: Any) -> None:
    checks = {check.name for check in SEARCHER_CHECKS}
    assert {wrong.check for wrong in wrong_searchers.WRONG} == checks - WITHOUT_A_WRONG_SEARCHER
