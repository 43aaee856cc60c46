"""One search looked at from all sides: what it returned, asked, printed, raised, and what it left behind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cfbench.harness.judge import Verdict
from cfbench.space import FloatArray


class Ending(StrEnum):
    """How a search came to its end."""

    RETURNED = "returned"
    RAISED = "raised"
    BUDGET = "let BudgetExhausted pass"
    INTERRUPTED = "let Ctrl-C pass"
    NEVER = "never returned"
    DIED = "killed its process"


class Guilt(StrEnum):
    """What an exception out of a searcher tells of it."""

    MUTATION = "it tried to change the problem"
    UNDECLARED = "it asked for what it did not declare"
    OTHER = "it raised"


@dataclass(frozen=True, eq=False)
class Observation:
    """What was seen of one search; picklable, whatever the searcher returned.

    Parameters
    ----------
    ending : Ending
    error : str
        What it raised and where, or how its process died; empty where it returned.
    guilt : Guilt or None
        What the exception tells; None without one.
    is_set, is_none : bool
        Whether it returned a CounterfactualSet, and whether None.
    rows : ndarray of float64, shape (k, d), or None
        The answer's rows; None where it is None or has not the form of an answer.
    classes : tuple of int
        What the model says of each of `rows` that can be asked about.
    verdict : Verdict or None
        The judge's; None where the search did not end by itself.
    rounded : str
        Why the answer seems to be a row that was asked, rounded on the way; empty where it does not.
    is_luckiest : bool or None
        Whether the answer is the candidate with the smallest single value, under an objective with draws. None if there
        is no valid answer, or if fewer than two candidates of the target class were evaluated.
    asked, metered : int
        Rows that the model was asked, and rows that the meter counted.
    changed : tuple of str
        Parts of the problem that are not what they were.
    generators : tuple of str
        Global generators that are not in the state in which they were.
    signals : tuple of str
        Signals whose handling is not what it was.
    printed : str
        What came out on stdout, shortened.
    """

    ending: Ending
    error: str = ""
    guilt: Guilt | None = None
    is_set: bool = False
    is_none: bool = False
    rows: FloatArray | None = None
    classes: tuple[int, ...] = ()
    verdict: Verdict | None = None
    rounded: str = ""
    is_luckiest: bool | None = None
    asked: int = 0
    metered: int = 0
    changed: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    printed: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the search ended by itself: with an answer, or by letting an exhausted budget pass."""
        return self.ending in (Ending.RETURNED, Ending.BUDGET)

    def difference_from(self, other: Observation) -> str:
        """Say in which respect another search went another way; empty: in none that a record would show."""
        if self.ending is not other.ending:
            return f"one {self.ending}, the other {other.ending}"
        if self.error != other.error:
            return f"one raised {self.error}, the other {other.error}"
        if (self.rows is None) != (other.rows is None):
            return "one returned an answer, the other none"
        if self.rows is not None and other.rows is not None and self.rows.tobytes() != other.rows.tobytes():
            return f"one answer is {_first(self.rows)}, the other {_first(other.rows)}"
        if self.asked != other.asked:
            return f"one asked {self.asked} rows, the other {other.asked}"
        return ""


def never_returned(limit: float) -> Observation:
    """Return what is known of a search that was killed after `limit` seconds."""
    return Observation(Ending.NEVER, f"it had not returned after {limit:g} s, and its process was killed")


def died(obituary: str) -> Observation:
    """Return what is known of a search whose process ended."""
    return Observation(Ending.DIED, obituary)


def _first(rows: FloatArray) -> str:
    return "[" + ", ".join(repr(float(value)) for value in rows[0]) + "]" if len(rows) else "an empty set"
