"""Named checks, their docstrings as data, declared failures, reports."""

from __future__ import annotations

import pytest

from cfbench.registry.entries import Entry
from cfbench.testing.check import Check, Failed, Finding, NotApplicable, Report, Result
from cfbench.testing.searcher_bench import ANSWER_CHECKS
from cfbench.testing.searchers import SEARCHER_CHECKS

ENTRY = Entry(name="thing")


def is_even(number: int) -> None:
    """The number is even,
    and not zero.

    To fix: double it.
    """
    if number == 0:
        raise NotApplicable("zero is neither here nor there")
    if number % 2:
        raise Failed(f"{number} is odd")


EVEN: Check[Entry, int] = Check(is_even)
GUARDS, FIX = "The number is even, and not zero.", "double it."


@pytest.mark.parametrize(
    ("number", "known", "result", "why"),
    [
        (2, "", Result.PASSED, ""),
        (3, "", Result.FAILED, "3 is odd"),
        (0, "", Result.NOT_APPLICABLE, "zero is neither here nor there"),
        (3, "the library counts from one", Result.KNOWN, "the library counts from one (3 is odd)"),
        (
            2,
            "the library counts from one",
            Result.FAILED,
            "it no longer fails; remove its declaration from the entry's known_failures",
        ),
    ],
)
def test_what_a_check_comes_to(number: int, known: str, result: Result, why: str) -> None:
    assert EVEN.run(number, ENTRY, known) == Finding("is-even", result, why, GUARDS, FIX)


def test_a_check_that_does_not_apply_is_not_run() -> None:
    check: Check[Entry, int] = Check(is_even, lambda entry: f"{entry.name} has no numbers")
    assert check.run(3, ENTRY).why == "thing has no numbers"


def test_a_report_fails_by_its_failures_alone() -> None:
    def finding(result: Result) -> Finding:
        return Finding("is-even", result, "3 is odd", GUARDS, FIX)

    assert Report("thing", (finding(Result.PASSED), finding(Result.NOT_APPLICABLE), finding(Result.KNOWN))).passed
    report = Report("thing", (finding(Result.PASSED), finding(Result.FAILED)))
    assert not report.passed
    assert str(report) == "thing: 1 of 2 checks failed\n  is-even: 3 is odd\n    To fix: double it."


@pytest.mark.parametrize("check", SEARCHER_CHECKS, ids=lambda check: check.name)
def test_every_check_says_what_it_guards_and_how_to_fix_it(check: Check[Entry, object]) -> None:
    assert check.guards.endswith(".")
    assert check.fix.endswith(".")
    assert check.fix[0].islower()


def test_every_check_has_its_own_name() -> None:
    names = [check.name for check in SEARCHER_CHECKS]
    assert len(set(names)) == len(names)
    assert set(names) >= ANSWER_CHECKS
