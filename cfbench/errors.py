"""The errors that cfbench raises, and how it words them.

One root, :class:`CfbenchError`. A message says what was wrong, the value received, what is allowed, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_NAME = 200
"""Characters of an unknown name that are compared with the known ones and repeated."""

ALIKE = 0.6
"""Likeness from which a known name may be the one that was meant."""


class CfbenchError(Exception):
    """Root of every error that cfbench raises on purpose; the command line prints its message without a traceback.

    Examples
    --------
    >>> from cfbench import CfbenchError, FeatureSpec, Kind
    >>> try:
    ...     FeatureSpec("income", Kind.NUMERICAL, 100, 0)
    ... except CfbenchError as error:
    ...     print(error)
    feature 'income': its interval [100, 0] needs a minimum below its maximum
    """


class StudyError(CfbenchError):
    """A study (TOML file or command line) that cannot be run as written."""


class DataError(CfbenchError):
    """A data set whose table or annotation is unusable."""


class UnavailableError(CfbenchError):
    """Something known is unavailable here: a table that is not downloaded, an extra that is not installed."""


class ModelError(CfbenchError):
    """A model that cannot be tuned, fitted or queried, or that makes every search pointless."""


class PluginError(CfbenchError):
    """A plugin that does not keep its contract."""


class NotDeclaredError(CfbenchError):
    """A searcher uses something that its entry does not declare among its needs."""


class ProjectionError(CfbenchError):
    """The nearest feasible rows have no closed form: relations share a feature, or an inequality has steps."""


class NoFeasibleRowError(CfbenchError):
    """No row is feasible for a factual point, or too few are for a sample.

    A searcher need not catch it: its search ends with status ``not_found`` and this reason.
    """


class RecordError(CfbenchError):
    """A results directory that cannot be read or written."""


class TrackingError(CfbenchError):
    """A tracking server that cannot be reached or that refuses a run."""


class BudgetExhausted(CfbenchError):
    """A query would exceed the search's query budget; none of its rows was classified.

    A searcher may catch it and return what it has. If it does not, the best feasible row of the target class that it
    has queried is judged, with status ``budget_exhausted``.

    Examples
    --------
    >>> from cfbench import Best, BudgetExhausted, FeatureSpace, FeatureSpec, Kind, SearcherEntry, explain
    >>> def search(problem, rng):
    ...     best = Best(problem)
    ...     lower, upper = problem.bounds()
    ...     try:
    ...         while True:
    ...             best.evaluate(rng.uniform(lower, upper, size=(50, problem.space.d)))
    ...     except BudgetExhausted:
    ...         return best.choose()
    >>> explanation = explain(
    ...     [20],
    ...     model=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     space=FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),)),
    ...     target=1,
    ...     searcher=SearcherEntry(name="mine", searcher=search),
    ...     query_budget=200,
    ... )
    >>> explanation.found, explanation.queries
    (True, 200)
    """


class UnknownNameError(CfbenchError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(nearest_first(name, known))
        self.hint = hint
        listing = ", ".join(self.known) if self.known else "none"
        close = difflib.get_close_matches(name[:LONGEST_NAME], self.known, n=1, cutoff=ALIKE)
        suggestion = f" Did you mean {close[0]!r}?" if close else ""
        shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
        super().__init__(f"unknown {kind} {shown!r}.{suggestion} Known: {listing}.{' ' + hint if hint else ''}")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.kind, self.name, self.known, self.hint)


def nearest_first(name: str, known: Iterable[str]) -> list[str]:
    """Return the names that look like `name`, the most alike first, then all others by the alphabet.

    The others stand in one order whatever was looked for, so that a reader finds them again.

    Examples
    --------
    >>> nearest_first("cog", ["wine", "lore", "cogs", "dice-a"])
    ['cogs', 'dice-a', 'lore', 'wine']
    """
    start = name[:LONGEST_NAME].lower()

    def place(candidate: str) -> tuple[float, str]:
        likeness = difflib.SequenceMatcher(None, start, candidate.lower()).ratio()
        return -likeness if likeness >= ALIKE else 0.0, candidate

    return sorted(set(known), key=place)
