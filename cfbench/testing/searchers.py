"""All conformance checks of searchers in their order, run at once or each as a test of pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cfbench.errors import UnknownNameError
from cfbench.registry.entries import Handles, SearcherEntry
from cfbench.testing import searcher_checks
from cfbench.testing import searcher_checks as answers
from cfbench.testing import searcher_checks as declarations
from cfbench.testing import searcher_checks as endings
from cfbench.testing import searcher_checks as spaces
from cfbench.testing.check import Check, Failed, Report, Result, always
from cfbench.testing.searcher_bench import TIME_LIMIT, Bench


def _unless_declared(handled: Handles) -> Callable[[SearcherEntry], str]:
    """Apply to entries that declare that they handle something."""

    def reason(entry: SearcherEntry) -> str:
        return "" if handled in entry.handles else f"its entry does not declare Handles.{handled.name}"

    return reason


SEARCHER_CHECKS: tuple[Check[SearcherEntry, Bench], ...] = (
    Check(endings.entry_pickles, always),
    Check(endings.returns_in_time, always),
    Check(endings.process_survives, always),
    Check(endings.raises_nothing, always),
    Check(declarations.asks_only_for_what_it_declares, always),
    Check(declarations.skipped_where_not_declared, always),
    Check(answers.answer_has_the_form, always),
    Check(answers.sets_as_declared, always),
    Check(answers.answer_is_finite, always),
    Check(answers.answer_inside_intervals, always),
    Check(answers.categories_are_codes, _unless_declared(Handles.CATEGORICAL)),
    Check(answers.answer_of_the_target_class, always),
    Check(answers.judged_alike, always),
    Check(endings.finds_something, always),
    Check(endings.gives_up, always),
    Check(endings.survives_small_budgets, always),
    Check(answers.constraints_obeyed, _unless_declared(Handles.CONSTRAINTS)),
    Check(declarations.objective_used, _unless_declared(Handles.OBJECTIVES)),
    Check(declarations.luck_not_returned, _unless_declared(Handles.OBJECTIVES)),
    Check(searcher_checks.same_rng_same_answer, always),
    Check(endings.runs_in_a_spawned_process, always),
    Check(searcher_checks.global_generators_untouched, always),
    Check(searcher_checks.problem_not_mutated, always),
    Check(searcher_checks.meter_not_bypassed, always),
    Check(searcher_checks.prints_nothing, always),
    Check(searcher_checks.signals_left_alone, always),
    Check(searcher_checks.interrupts_pass, always),
    Check(spaces.all_numerical_features, always),
    Check(spaces.all_categorical_features, _unless_declared(Handles.CATEGORICAL)),
    Check(spaces.one_feature, always),
    Check(spaces.three_classes, always),
    Check(answers.integer_features, always),
    Check(spaces.tiny_ranges, always),
    Check(spaces.huge_ranges, always),
    Check(spaces.constant_features, always),
)
"""Each guards one thing, so that a searcher with one fault fails one check."""


F = TypeVar("F", bound=Callable[..., object])


def check_searcher(
    entry: SearcherEntry, *, settings: Mapping[str, Any] | None = None, time_limit: float = TIME_LIMIT
) -> Report:
    """Run all conformance checks of a searcher.

    Its searches run in child processes, so that one that hangs or dies is a failed check and nothing worse. A script
    that calls this needs the guard ``if __name__ == "__main__":``, as always where processes are started.

    Parameters
    ----------
    entry : SearcherEntry
    settings : mapping, optional
        Settings of the searcher; by default the entry's ``check_settings``.
    time_limit : float
        Seconds that one search may take.

    Returns
    -------
    Report

    Raises
    ------
    UnavailableError
        If the searcher cannot run in this installation.
    UnknownNameError, StudyError
        If a setting is unknown or impossible, or a declared failure names no check.

    Examples
    --------
    >>> from cfbench import SearcherEntry
    >>> from cfbench.testing import check_searcher
    >>> def stay(problem, rng):
    ...     return None
    >>> report = check_searcher(SearcherEntry(name="stay", searcher=stay))  # doctest: +SKIP
    >>> report.passed, [finding.check for finding in report.failures]  # doctest: +SKIP
    (False, ['finds-something'])
    """
    refuse_unknown_checks(entry)
    bench = Bench(entry, settings, time_limit)
    try:
        findings = [check.run(bench, entry, entry.known_failures.get(check.name, "")) for check in SEARCHER_CHECKS]
    finally:
        bench.close()
    return Report(entry.name, tuple(findings))


def refuse_unknown_checks(entry: SearcherEntry) -> None:
    """Raise UnknownNameError where a declared failure names no check."""
    names = [check.name for check in SEARCHER_CHECKS]
    for name in entry.known_failures:
        if name not in names:
            raise UnknownNameError(f"check in known_failures of {entry.name}", name, names)


@dataclass(eq=False)
class SearcherTest:
    """One check of one searcher, to be called by a test.

    Parameters
    ----------
    entry : SearcherEntry
    check : Check
    shared : _SharedBench
        The bench that all tests of the entry share.
    """

    entry: SearcherEntry
    check: Check[SearcherEntry, Bench]
    shared: _SharedBench

    def __call__(self) -> None:
        """Run the check; fail, skip or expect to fail as pytest does."""
        import pytest

        known = self.entry.known_failures.get(self.check.name, "")
        try:
            finding = self.check.run(self.shared.bench(), self.entry, known)
        finally:
            self.shared.done(self.check.name)
        match finding.result:
            case Result.FAILED:
                raise Failed(f"{finding.why}\n\nIt guards: {finding.guards}\nTo fix: {finding.fix}")
            case Result.NOT_APPLICABLE:
                pytest.skip(finding.why)
            case Result.KNOWN:
                pytest.xfail(finding.why)


@dataclass(eq=False)
class _SharedBench:
    """A bench that is made for the first of its tests and closed after the last."""

    entry: SearcherEntry
    time_limit: float
    waiting: set[str] = field(default_factory=set)
    made: Bench | None = None

    def bench(self) -> Bench:
        if self.made is None:
            self.made = Bench(self.entry, None, self.time_limit)
        return self.made

    def done(self, check: str) -> None:
        self.waiting.discard(check)
        if not self.waiting and self.made is not None:
            self.made.close()


def parametrize_searchers(*entries: SearcherEntry, time_limit: float = TIME_LIMIT) -> Callable[[F], F]:
    """Make a test of pytest into one test a searcher and check.

    Checks that do not apply to what an entry declares make no test. A failure that the entry declares is expected to
    fail; a searcher that cannot run in this installation is skipped with its reason.

    Parameters
    ----------
    *entries : SearcherEntry
    time_limit : float
        Seconds that one search may take.

    Returns
    -------
    callable
        A decorator. The test takes one argument, `check`, and calls it.

    Raises
    ------
    UnknownNameError
        If a declared failure names no check.

    Examples
    --------
    >>> from cfbench.testing import parametrize_searchers
    >>> from my_package.plugin import ENTRY  # doctest: +SKIP
    >>> @parametrize_searchers(ENTRY)  # doctest: +SKIP
    ... def test_conformance(check):
    ...     check()
    """
    import pytest

    parameters = []
    for entry in entries:
        refuse_unknown_checks(entry)
        if entry.unavailable:
            mark = pytest.mark.skip(reason=f"{entry.name} cannot run here: {entry.unavailable}")
            parameters.append(pytest.param(None, id=entry.name, marks=mark))
            continue
        checks = [check for check in SEARCHER_CHECKS if not check.unless(entry)]
        shared = _SharedBench(entry, time_limit, {check.name for check in checks})
        parameters += [
            pytest.param(SearcherTest(entry, check, shared), id=f"{entry.name}-{check.name}") for check in checks
        ]
    return pytest.mark.parametrize("check", parameters)
