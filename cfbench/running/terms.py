"""An objective's term in a run: what the plugin raises or returns is checked, and a fault is the objective's alone.

The searcher that calls the term is not to blame for it, and must not be able to hide the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from cfbench.errors import BudgetExhausted, PluginError
from cfbench.problem.problem import SeparableTerm, Term
from cfbench.registry.contracts import Objective, ObjectiveContext
from cfbench.running.crashes import called
from cfbench.space.space import FloatArray, IntArray

T = TypeVar("T")


class CheckedTerm:
    """A term that raises PluginError, and keeps it in `fault`, if the objective's term raises or returns no numbers."""

    def __init__(self, term: Term, objective: str) -> None:
        self.term = term
        self.objective = objective
        self.fault: PluginError | None = None

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        """Return the term's values, shape (n,)."""
        return self.checked("its term", lambda: self.term(Z, classes), (len(Z),))

    def checked(self, what: str, call: Callable[[], object], shape: tuple[int, ...]) -> FloatArray:
        """Call a part of the term; raise PluginError unless it returns finite numbers of that shape."""
        try:
            values: Any = _called(self.objective, what, call)
            fault = _fault(values, shape)
            if fault:
                raise PluginError(f"objective {self.objective!r}: {what} returned {fault}")
        except PluginError as error:
            self.fault = self.fault or error
            raise
        numbers: FloatArray = values
        return numbers


class CheckedSeparableTerm(CheckedTerm):
    """The same of a term that is a sum over the features."""

    @property
    def breaks(self) -> tuple[FloatArray, ...]:
        """The breaks of the term."""
        assert isinstance(self.term, SeparableTerm)
        return self.term.breaks

    def parts(self, Z: FloatArray) -> FloatArray:
        """Return the parts of candidates, shape (n, d)."""
        term = self.term
        assert isinstance(term, SeparableTerm)
        return self.checked("parts", lambda: term.parts(Z), Z.shape)


def bound_term(objective: Objective, name: str, context: ObjectiveContext) -> CheckedTerm | None:
    """Return an objective's term for one problem; None for the loss alone. Raises PluginError if `bind` is faulty."""
    term = _called(name, "bind", lambda: objective.bind(context))
    if term is None:
        return None
    if not callable(term):
        raise PluginError(
            f"objective {name!r}: bind returned a {type(term).__name__}; it must return a function of candidates and "
            "their classes, or None"
        )
    return CheckedSeparableTerm(term, name) if isinstance(term, SeparableTerm) else CheckedTerm(term, name)


def declared_counts(objective: Objective, name: str) -> tuple[int, int | None]:
    """Return what an objective declares: rows queried and draws made per candidate."""
    rows = _called(name, "rows_per_candidate", objective.rows_per_candidate)
    draws = _called(name, "draws_per_candidate", objective.draws_per_candidate)
    for what, count in (("rows_per_candidate", rows), ("draws_per_candidate", draws)):
        is_count = isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count >= 0
        if not (is_count or (count is None and what == "draws_per_candidate")):
            raise PluginError(f"objective {name!r}: {what} returned {count!r}; it must return a whole number >= 0")
    return rows, draws


def _called(objective: str, what: str, call: Callable[[], T]) -> T:
    return called(f"objective {objective!r}", what, call, PluginError, passing=BudgetExhausted)


def _fault(values: object, shape: tuple[int, ...]) -> str:
    """Say what is wrong with an answer; empty if it is an array of finite numbers of that shape."""
    allowed = f"it must return finite numbers, an array of shape {shape}"
    if not isinstance(values, np.ndarray):
        return f"{'None' if values is None else f'a {type(values).__name__}'}; {allowed}"
    if values.dtype.kind not in "fiu" or values.shape != shape:
        return f"{values.dtype} of shape {values.shape}; {allowed}"
    finite = np.isfinite(values)
    return "" if finite.all() else f"{values[~finite][0]}; {allowed}"
