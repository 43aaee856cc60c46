"""A searcher under test: its searches are run in child processes and kept."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from cfbench.errors import UnavailableError
from cfbench.problem.access import SHOWN, Need
from cfbench.registry.contracts import FittedModel
from cfbench.registry.entries import Entry, Handles, ModelEntry, SearcherEntry
from cfbench.registry.registry import build_registry
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.study.variants import make_variant
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.child import Child, Observation, UnfitEntry
from cfbench.testing.problems import (
    CATEGORICAL,
    CONSTRAINED_MIXED,
    CONSTRAINED_NUMERICAL,
    MIXED,
    NUMERICAL,
    RELATED_MIXED,
    RELATED_NUMERICAL,
    Case,
)

N_ROWS = 400
"""Training rows of a fitted model: enough for it to follow the rule, and quickly fitted."""

OUTVOTED = 30
"""Copies of a row against the one that is labelled otherwise, so that no model follows that one."""

N_OTHERS = 2
"""Points that are searched before, to see whether they change what is found later."""

TIME_LIMIT = 60.0
"""Seconds that one search of a check may take."""

ANSWER_CHECKS = frozenset(
    {
        "sets-as-declared",
        "answer-has-the-form",
        "answer-is-finite",
        "answer-inside-intervals",
        "categories-are-codes",
        "integer-features",
        "constraints-obeyed",
        "relations-kept",
        "judged-alike",
        "answer-of-the-target-class",
    }
)
"""The checks for faults of which a result shows only the first."""


def model_that_shows(needs: Iterable[Need], entry: Entry) -> ModelEntry:
    """Return the first registered model that shows what `entry` needs. Raise UnavailableError if there is none."""
    models = [registered.entry for registered in build_registry().models.values()]
    wanted = {*needs} & {*SHOWN}
    found = next((model for model in models if wanted <= {*model.shows}), None)
    if found is None:
        raise UnavailableError(
            f"{entry.name} cannot be checked here: it needs {' and '.join(sorted(wanted))}, and none of the registered "
            f"models shows it ({', '.join(model.name for model in models) or 'there are none'})"
        )
    return found


def fitted(entry: ModelEntry, X: FloatArray, y: IntArray, space: FeatureSpace) -> Iterator[FittedModel]:
    """Yield models fitted with the choices of the grid, the first hyper-parameters first."""
    family = entry.family()
    grid = family.grid()
    for values in product(*grid.values()):
        yield family.fit(X, y, space, dict(zip(grid, values, strict=True)))


def with_fitted_model(case: Case, entry: ModelEntry) -> Case:
    """Return `case` with a model fitted to its rule.

    The model follows the rule loosely, so `x` becomes the nearest training row that it does not put into the target
    class.
    """
    X = case.training(N_ROWS).X
    y = case.rule.predict(X)
    if len(np.unique(y)) == 1:  # nothing can be learned from one class, so one of many equal rows gets the other
        X = np.concatenate([X, np.repeat(X[:1], OUTVOTED, axis=0)])
        y = np.append(y, np.full(OUTVOTED, y[0]))
        y[0] = case.target
    for model in fitted(entry, X, y, case.space):
        others = X[model.predict(X) != case.target]
        if len(others):  # a strong penalty may put all rows into the largest class
            break
    x = others[np.argmin(case.space.gower(others, np.array(case.x)))]
    return replace(case, model=model, x=tuple(x.tolist()))


def other_points(case: Case) -> tuple[Case, ...]:
    """Return the case with other points: training rows that the model does not put into the target class."""
    X = case.training().X
    others = X[(case.queried.predict(X) != case.target) & (X != np.array(case.x)).any(axis=1)]
    return tuple(replace(case, x=tuple(x.tolist())) for x in others[:N_OTHERS])


class Bench:
    """Runs one searcher's searches, each once.

    `settings` replace the entry's ``check_settings``. Raises UnavailableError if the searcher cannot run in this
    installation, UnknownNameError or StudyError if a setting is unknown or impossible.
    """

    def __init__(
        self, entry: SearcherEntry, settings: Mapping[str, Any] | None = None, time_limit: float = TIME_LIMIT
    ) -> None:
        if entry.unavailable:
            raise UnavailableError(f"{entry.name} cannot be checked here: {entry.unavailable}")
        self.entry = entry
        self.time_limit = time_limit
        given = dict(entry.check_settings or {}) if settings is None else settings
        self.settings = make_variant(entry, given).settings
        self._model = None if {*SHOWN}.isdisjoint(entry.needs) else model_that_shows(entry.needs, entry)
        self._child: Child | None = None
        self._seen: dict[tuple[str, bool, str], Observation] = {}
        self._is_unfit = False
        is_categorical = Handles.CATEGORICAL in entry.handles
        self.plain = MIXED if is_categorical else NUMERICAL
        """The plain problem, which all checks use that need no special one."""
        self.constrained = CONSTRAINED_MIXED if is_categorical else CONSTRAINED_NUMERICAL
        """A problem like the plain one, with constraints that forbid the cheapest results."""
        self.related = RELATED_MIXED if is_categorical else RELATED_NUMERICAL
        """A problem like the plain one, with relations that exclude nine tenths of the rows."""

    def observe(self, case: Case, *, interrupt: bool = False, where: str = "here") -> Observation:
        """Run the searcher on a case, or return what was seen when it ran.

        With `interrupt`, Ctrl-C is pressed during its first query. `where` is "here", "again" (a second time in the
        same process), "elsewhere" (in a fresh interpreter), "repeated" or "later" (with the same preparation after a
        search on the same point, or on other points). Raises NotApplicable if the entry cannot be sent to a
        child process.
        """
        key = (case.name, interrupt, where)
        if key not in self._seen:
            case = case if self._model is None else with_fitted_model(case, self._model)
            child = Child(self.entry, self.settings, fresh_interpreter=True) if where == "elsewhere" else self._living()
            earlier = other_points(case) if where == "later" else (case,) if where == "repeated" else ()
            self._seen[key] = child.observe(case, time_limit=self.time_limit, interrupt=interrupt, earlier=earlier)
            # Not everything about signals can be put back.
            if where == "elsewhere" or "signals-left-alone" in self._seen[key].faults:
                child.close()
        return self._seen[key]

    def faults(self, case: Case) -> Mapping[str, str]:
        """Return what is wrong with the search on a case, by the check that is there for it."""
        return self.observe(case).faults

    def expect_no(self, check: str) -> None:
        """Fail if the plain problem shows the fault of this check; undecided if its search did not end by itself."""
        found = self.faults(self.plain)
        if check in found:
            raise Failed(found[check])
        self.expect_end()

    def expect_end(self) -> None:
        """Undecided if the search on the plain problem did not end by itself."""
        if not self.observe(self.plain).is_over:
            raise NotApplicable(f"undecided until {next(iter(self.faults(self.plain)))} passes")

    def expect_sound(self) -> None:
        """Undecided if the search on the plain problem did not end by itself, or its result is at fault."""
        hiding = self._hiding(self.plain)
        if hiding is not None:
            raise NotApplicable(f"undecided until {hiding} passes")

    def expect_answer(self) -> None:
        """Not applicable if there is no sound result whose property could be checked."""
        self.expect_sound()
        rows = self.observe(self.plain).rows
        if rows is None or len(rows) == 0:
            raise NotApplicable(f"it gave no answer to the problem {self.plain.name!r}")

    def expect_no_further(self, case: Case) -> None:
        """Fail if a case shows a fault that simpler problems do not show; undecided if a known fault hides others.

        The plain problem comes first, then the simplest of the same kind: a searcher that breaks on numerical features
        alone fails the check of those, and not of every problem that has no categories.
        """
        self.expect_end()
        is_categorical = case.space.is_categorical
        same_kind = [] if is_categorical.any() else [NUMERICAL]
        same_kind += [CATEGORICAL] if is_categorical.all() else []
        same_kind += [self.constrained] if case.constraints else []
        simpler = [self.plain, *(simple for simple in same_kind if simple.name != case.name)]
        for check, sentence in self.faults(case).items():
            if not any(check in self.faults(earlier) for earlier in simpler):
                raise Failed(f"problem {case.name!r}: {sentence}")
        hiding = self._hiding(case)
        if hiding is not None:
            first = next(earlier for earlier in simpler if hiding in self.faults(earlier))
            raise NotApplicable(
                f"undecided while the problem {first.name!r} shows the same: {self.faults(first)[hiding]}"
            )

    def _hiding(self, case: Case) -> str | None:
        """Return the check of a fault on a case that hides others; None if nothing is hidden."""
        found = self.faults(case)
        if not self.observe(case).is_over:
            return next(iter(found))
        return next((check for check in found if check in ANSWER_CHECKS), None)

    def close(self) -> None:
        """End the child process; the next search would start another."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _living(self) -> Child:
        """Return a child that can run a search; an unfit entry is tried once."""
        if self._child is None or not self._child.is_alive:
            try:
                if self._is_unfit:
                    raise UnfitEntry
                self._child = Child(self.entry, self.settings)
            except UnfitEntry:
                self._is_unfit = True
                raise NotApplicable("undecided until entry-pickles passes") from None
            weakref.finalize(self, self._child.close)
        return self._child
