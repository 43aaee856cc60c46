"""A named check: a function whose docstring says what it guards and how to fix a failure."""

from __future__ import annotations

import inspect
import pickle
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

import numpy as np

from cfbench.errors import ModelError, UnavailableError, UnknownNameError
from cfbench.registry.entries import Entry

B = TypeVar("B")
E = TypeVar("E", bound=Entry)
T = TypeVar("T")


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

    `function` receives the bench of its kind of entry: it raises Failed or NotApplicable, or the check passes. `unless`
    returns why the check does not apply to what an entry declares, or an empty string. If a check that `comes_first`
    fails, the checks after it do not apply: they would only repeat its failure.
    """

    function: Callable[[B], None]
    unless: Callable[[E], str] = lambda _: ""
    comes_first: bool = False

    @property
    def name(self) -> str:
        """The function's name in kebab-case."""
        return self.function.__name__.replace("_", "-")

    @property
    def guards(self) -> str:
        """What the check guards: its docstring up to "To fix:"."""
        return self._docstring()[0]

    @property
    def fix(self) -> str:
        """How to fix a failure: its docstring after "To fix:"."""
        return self._docstring()[2]

    def run(self, bench: B, entry: E, known: str = "") -> Finding:
        """Run the check; `known` is the reason that the entry declares for a failure, or empty."""
        result, why = Result.NOT_APPLICABLE, self.unless(entry)
        if not why:
            try:
                self.function(bench)
                result = Result.FAILED if known else Result.PASSED
                why = "it no longer fails; remove its declaration from the entry's known_failures" if known else ""
            except NotApplicable as error:
                why = str(error)
            except Failed as error:
                result = Result.KNOWN if known else Result.FAILED
                why = f"{known} ({error})" if known else str(error)
        return Finding(self.name, result, why, self.guards, self.fix)

    def _docstring(self) -> tuple[str, str, str]:
        return re.sub(r"\s+", " ", inspect.getdoc(self.function) or "").partition(" To fix: ")


def blocked_by(check: str) -> str:
    """Return why a check does not apply if the check that comes first has failed."""
    return f"{check} failed; fix that first"


def report_of(
    checks: Sequence[Check[E, B]], bench: B, entry: E, known: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """Run checks on one bench; `known` has the entry's declared failures."""
    findings: list[Finding] = []
    failed = ""
    for check in checks:
        if failed:
            findings.append(Finding(check.name, Result.NOT_APPLICABLE, blocked_by(failed), check.guards, check.fix))
            continue
        findings.append(check.run(bench, entry, known.get(check.name, "")))
        if check.comes_first and findings[-1].result is Result.FAILED:
            failed = check.name
    return Report(entry.name, tuple(findings))


def guarded_call(call: Callable[[], T], what: str) -> T:
    """Call a function of the entry. Any exception except UnavailableError is a failed check."""
    try:
        return call()
    except UnavailableError:
        raise
    except (ModelError, UnknownNameError) as error:  # its sentence is complete
        raise Failed(str(error)) from error
    except Exception as error:
        raise Failed(f"{what} raised {type(error).__name__}: {error}") from error


def generator_states() -> dict[str, bytes]:
    """Return the states of the global random generators that plugins may have touched."""
    numpy_state = np.random.get_state()  # noqa: NPY002 - the generator that must not be used
    return {"numpy's": pickle.dumps(numpy_state), "Python's": pickle.dumps(random.getstate())}
