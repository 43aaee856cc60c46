"""A named check: a function whose docstring says what it guards and how to fix a failure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from cfbench.registry.entries import Entry

B = TypeVar("B")
E = TypeVar("E", bound=Entry)


class Failed(AssertionError):
    """A check failed; the message says why."""


class NotApplicable(Exception):
    """A check does not apply; the message says why."""


class Result(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    KNOWN = "known failure"
    """The check failed, and the entry declares this failure with its reason."""


@dataclass(frozen=True)
class Finding:
    """One check's result.

    Parameters
    ----------
    check : str
    result : Result
    why : str
        Why the check failed or does not apply; empty if it passed.
    guards : str
        What the check guards.
    fix : str
        How to fix a failure.
    """

    check: str
    result: Result
    why: str
    guards: str
    fix: str


@dataclass(frozen=True)
class Report:
    """The results of all checks of an entry.

    Parameters
    ----------
    entry : str
        The entry's name.
    findings : tuple of Finding
        One per check, in the order of the checks.
    """

    entry: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed, except for declared failures."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(finding for finding in self.findings if finding.result is Result.FAILED)

    def __str__(self) -> str:
        lines = [f"{self.entry}: {len(self.failures)} of {len(self.findings)} checks failed"]
        lines += [f"  {finding.check}: {finding.why}\n    To fix: {finding.fix}" for finding in self.failures]
        return "\n".join(lines)


@dataclass(frozen=True)
class Check(Generic[E, B]):
    """A check of one kind of entry.

    Parameters
    ----------
    function : callable
        Receives the bench of its kind of entry. Returns if the check passes, raises Failed or NotApplicable if not.
    unless : callable
        Receives an entry; returns why the check does not apply to what the entry declares, or an empty string.
    """

    function: Callable[[B], None]
    unless: Callable[[E], str]

    @property
    def name(self) -> str:
        """The function's name in kebab-case."""
        return self.function.__name__.replace("_", "-")

    @property
    def guards(self) -> str:
        """What the check guards: its docstring up to "To fix:"."""
        return _sentences(self.function)[0]

    @property
    def fix(self) -> str:
        """How to fix a failure: its docstring after "To fix:"."""
        return _sentences(self.function)[1]

    def run(self, bench: B, entry: E, known: str = "") -> Finding:
        """Run the check.

        Parameters
        ----------
        bench : object
            The argument of the function.
        entry : Entry
        known : str
            Why the entry declares this failure; empty if it does not.
        """
        reason = self.unless(entry)
        if reason:
            return self._finding(Result.NOT_APPLICABLE, reason)
        try:
            self.function(bench)
        except NotApplicable as error:
            return self._finding(Result.NOT_APPLICABLE, str(error))
        except Failed as error:
            if known:
                return self._finding(Result.KNOWN, f"{known} ({error})")
            return self._finding(Result.FAILED, str(error))
        if known:
            why = "it no longer fails; remove its declaration from the entry's known_failures"
            return self._finding(Result.FAILED, why)
        return self._finding(Result.PASSED, "")

    def _finding(self, result: Result, why: str) -> Finding:
        return Finding(self.name, result, why, self.guards, self.fix)


def _sentences(function: Callable[..., None]) -> tuple[str, str]:
    text = re.sub(r"\s+", " ", inspect.getdoc(function) or "")
    guards, _, fix = text.partition(" To fix: ")
    return guards, fix


def always(entry: Entry) -> str:  # noqa: ARG001 - the form of `unless`
    """Apply to every entry."""
    return ""
