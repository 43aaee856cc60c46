"""The public ways to run the checks: all at once, or as tests of pytest."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench import Handles, ModelEntry, Need, SearcherEntry
from cfbench.errors import StudyError, UnavailableError, UnknownNameError
from cfbench.registry.discovery import import_file
from cfbench.registry.registry import Registered, build_registry
from cfbench.testing import Result, check_searcher, parametrize_searchers
from cfbench.testing.check import Failed

toys: Any = import_file(Path(__file__).with_name("toy_searchers.py"))  # a file, which child processes find, too
RANDOM = build_registry().searcher("random-search").entry


def parameters(*entries: SearcherEntry) -> list[Any]:
    """Return the parameter sets that a decorated test gets."""

    @parametrize_searchers(*entries)
    def test(check: Any) -> None:
        check()

    (mark,) = test.pytestmark  # type: ignore[attr-defined] # what pytest puts on a function
    assert mark.args[0] == "check"
    return list(mark.args[1])


def test_one_test_a_searcher_and_applicable_check() -> None:
    numbers_only = replace(RANDOM, name="numbers-only", handles=())
    ids = [one.id for one in parameters(RANDOM, numbers_only)]
    assert len(set(ids)) == len(ids)
    assert {"random-search-gives-up", "random-search-constraints-obeyed", "numbers-only-gives-up"} <= set(ids)
    assert not {"numbers-only-constraints-obeyed", "numbers-only-categories-are-codes"} & set(ids)


@pytest.mark.slow
def test_a_test_fails_with_what_to_mend_and_passes_otherwise() -> None:
    lazy = replace(RANDOM, name="lazy", check_settings={"n_rows": 1})
    tests = {one.id: one.values[0] for one in parameters(lazy)}
    tests["lazy-answer-has-the-form"]()
    tests["lazy-gives-up"]()
    broken = {one.id: one.values[0] for one in parameters(SearcherEntry(name="broken", searcher=toys.never))}
    with pytest.raises(Failed, match=r"(?s)it found nothing on any of them.*It guards: .*To fix: look at"):
        broken["broken-finds-something"]()


@pytest.mark.slow
def test_declared_failures_are_expected_and_strict() -> None:
    declared = {"finds-something": "it is asleep", "gives-up": "nobody knows"}
    entry = SearcherEntry(name="asleep", searcher=toys.never, handles=tuple(Handles), known_failures=declared)
    tests = {one.id: one.values[0] for one in parameters(entry)}
    with pytest.raises(pytest.xfail.Exception, match="it is asleep"):
        tests["asleep-finds-something"]()
    with pytest.raises(Failed, match="no longer fails; remove its declaration"):
        tests["asleep-gives-up"]()


def test_a_declared_failure_that_names_no_check_is_refused() -> None:
    entry = SearcherEntry(name="asleep", searcher=toys.never, known_failures={"finds-somthing": "a slip of the pen"})
    with pytest.raises(UnknownNameError, match="Did you mean 'finds-something'"):
        check_searcher(entry)
    with pytest.raises(UnknownNameError, match="Did you mean 'finds-something'"):
        parameters(entry)


def test_a_searcher_that_cannot_run_here_is_said_so() -> None:
    entry = SearcherEntry(name="asleep", searcher=toys.never, unavailable="it needs a bed; install one")
    with pytest.raises(UnavailableError, match="asleep cannot be checked here: it needs a bed; install one"):
        check_searcher(entry)
    (only,) = parameters(entry)
    assert only.marks[0].name == "skip"
    assert "it needs a bed" in only.marks[0].kwargs["reason"]


@pytest.mark.slow
def test_settings_come_from_the_caller_else_from_the_entry() -> None:
    entry = SearcherEntry(name="rounds", searcher=toys.Rounds)
    wanted = "finds-something"
    by_default = {finding.check: finding.result for finding in check_searcher(entry).findings}
    assert by_default[wanted] is Result.FAILED
    given = {finding.check: finding.result for finding in check_searcher(entry, settings={"rows": 50}).findings}
    assert given[wanted] is Result.PASSED
    with pytest.raises(StudyError, match="rows = -1: must be at least 0"):
        check_searcher(replace(entry, check_settings={"rows": -1}))
    with pytest.raises(UnknownNameError, match="Did you mean 'rows'"):
        check_searcher(entry, settings={"row": 1})


def test_a_white_box_needs_a_model_that_shows_its_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = build_registry()
    entry = SearcherEntry(name="white", searcher=toys.never, needs=[Need.FOREST])
    opaque = {name: replace(one, entry=replace(one.entry, shows=frozenset())) for name, one in registry.models.items()}
    registry.models = opaque
    monkeypatch.setattr("cfbench.testing.searcher_bench.build_registry", lambda: registry)
    with pytest.raises(UnavailableError, match="none of the registered models shows it"):
        check_searcher(entry)


@pytest.mark.slow
def test_a_white_box_is_checked_on_a_model_that_shows_its_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = build_registry()
    glass = ModelEntry(name="glass", family=toys.Stump, shows=[Need.FOREST])
    registry.models = {"glass": Registered(glass, "", "", "")}
    monkeypatch.setattr("cfbench.testing.searcher_bench.build_registry", lambda: registry)
    declared: dict[str, Any] = {
        "handles": [Handles.CATEGORICAL, Handles.CONSTRAINTS],
        "needs": [Need.FOREST, Need.MODEL],
    }
    report = check_searcher(SearcherEntry(name="looks-inside", searcher=toys.looks_inside, **declared))
    assert report.passed, str(report)
    assert {finding.check: finding.result for finding in report.findings}["answer-of-the-target-class"] is Result.PASSED


@pytest.mark.slow
def test_importing_the_checks_needs_no_pytest() -> None:
    code = "import sys, cfbench.testing; print('pytest' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert finished.stdout.strip() == "False"
