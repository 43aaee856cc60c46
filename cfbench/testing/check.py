"""A named check: a function whose docstring says what it guards and how to mend a failure."""

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
    """A check has nothing to say here; the message says why."""


class Result(StrEnum):
    """What a check came to."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    KNOWN = "known failure"
    """It failed, and the entry declares that, with the reason."""


@dataclass(frozen=True)
class Finding:
    """One check's result.

    Parameters
    ----------
    check : str
    result : Result
    why : str
        Why it failed or does not apply; empty where it passed.
    guards : str
        What the check guards.
    mend : str
        How to mend a failure.
    """

    check: str
    result: Result
    why: str
    guards: str
    mend: str


@dataclass(frozen=True)
class Report:
    """What all checks of an entry came to.

    Parameters
    ----------
    entry : str
        Its name.
    findings : tuple of Finding
        One a check, in the checks' order.
    """

    entry: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed, declared failures aside."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(finding for finding in self.findings if finding.result is Result.FAILED)

    def __str__(self) -> str:
        lines = [f"{self.entry}: {len(self.failures)} of {len(self.findings)} checks failed"]
        lines += [f"  {finding.check}: {finding.why}\n    To mend: {finding.mend}" for finding in self.failures]
        return "\n".join(lines)


@dataclass(frozen=True)
class Check(Generic[E, B]):
    """A check of one kind of entry.

    Parameters
    ----------
    function : callable
        Receives what the checks of its kind work with; raises Failed or NotApplicable, or returns.
    unless : callable
        An entry in; out comes why the check does not apply to what the entry declares, or an empty string.
    """

    function: Callable[[B], None]
    unless: Callable[[E], str]

    @property
    def name(self) -> str:
        """The function's name in kebab-case."""
        return self.function.__name__.replace("_", "-")

    @property
    def guards(self) -> str:
        """What the check guards: its docstring up to "To mend:"."""
        return _sentences(self.function)[0]

    @property
    def mend(self) -> str:
        """How to mend a failure: its docstring from "To mend:" on."""
        return _sentences(self.function)[1]

    def run(self, bench: B, entry: E, known: str = "") -> Finding:
        """Run the check.

        Parameters
        ----------
        bench : object
            What the function receives.
        entry : Entry
        known : str
            Why the entry declares that it fails; empty where it does not.
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
        return Finding(self.name, result, why, self.guards, self.mend)


def _sentences(function: Callable[..., None]) -> tuple[str, str]:
    text = re.sub(r"\s+", " ", inspect.getdoc(function) or "")
    guards, _, mend = text.partition(" To mend: ")
    return guards, mend


def always(entry: Entry) -> str:  # noqa: ARG001 - the form of `unless`
    """Apply to every entry."""
    return ""
