"""A searcher on the bench: its searches, run in child processes and kept, for all checks to look at."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, NoReturn

from cfbench.entries import Handles, Need, SearcherEntry
from cfbench.errors import UnavailableError
from cfbench.harness.variants import make_variant
from cfbench.testing.cases import Case
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.problems import CATEGORICAL, CONSTRAINED_MIXED, CONSTRAINED_NUMERICAL, MIXED, NUMERICAL
from cfbench.testing.searchers.child import Child, Luggage, UnfitEntry, pack
from cfbench.testing.searchers.faults import ANSWER_FAULTS, Fault, faults_of
from cfbench.testing.searchers.grown import grown, structured_model
from cfbench.testing.searchers.observation import Observation

TIME_LIMIT = 60.0
"""Seconds that one search of a check may take."""


class Bench:
    """Runs one searcher's searches, each once, and answers for them.

    Parameters
    ----------
    entry : SearcherEntry
    settings : mapping, optional
        Instead of the entry's ``check_settings``.
    time_limit : float
        Seconds a search.

    Raises
    ------
    UnavailableError
        If the searcher cannot run in this installation.
    UnknownNameError, StudyError
        If a setting is unknown or impossible.
    """

    def __init__(
        self, entry: SearcherEntry, settings: Mapping[str, Any] | None = None, time_limit: float = TIME_LIMIT
    ) -> None:
        if entry.unavailable:
            raise UnavailableError(f"{entry.name} cannot be checked here: {entry.unavailable}")
        self.entry = entry
        self.time_limit = time_limit
        self._settings = make_variant(
            entry, dict(entry.check_settings or {}) if settings is None else settings
        ).settings
        self._model = structured_model(entry) if Need.MODEL_STRUCTURE in entry.needs else None
        self._child: Child | None = None
        self._seen: dict[tuple[str, bool, str], Observation] = {}
        self._grown: dict[str, Case] = {}
        self._unfit = ""

    @property
    def plain(self) -> Case:
        """The plain problem: all checks that need no special one look at it."""
        return MIXED if Handles.CATEGORICAL in self.entry.handles else NUMERICAL

    @property
    def constrained(self) -> Case:
        """A problem like the plain one, with constraints that forbid the cheapest answers."""
        return CONSTRAINED_MIXED if self.plain is MIXED else CONSTRAINED_NUMERICAL

    def takes(self, case: Case) -> bool:
        """Whether the entry's declarations allow for a case."""
        handles = self.entry.handles
        return (
            (Handles.CATEGORICAL in handles or not case.space.is_categorical.any())
            and (Handles.CONSTRAINTS in handles or not case.constraints)
            and (Handles.OBJECTIVES in handles or case.objective is None)
        )

    def observe(self, case: Case, *, interrupt: bool = False, where: str = "here") -> Observation:
        """Run the searcher on a case, or return what was seen when it ran.

        Parameters
        ----------
        case : Case
        interrupt : bool
            Whether Ctrl-C is pressed during its first question.
        where : str
            "here", "again" (a second time in the same process) or "elsewhere" (in a fresh interpreter).

        Raises
        ------
        NotApplicable
            If the entry cannot be sent to a child process.
        """
        key = (case.name, interrupt, where)
        if key not in self._seen:
            case = self.prepared(case)
            if where == "elsewhere":
                other = Child(self.luggage(), fresh_interpreter=True)
                self._seen[key] = other.observe(case, time_limit=self.time_limit)
                other.close()
            else:
                self._seen[key] = self._living().observe(case, time_limit=self.time_limit, interrupt=interrupt)
                if self._seen[key].signals:
                    self.close()  # not everything about signals can be put back
        return self._seen[key]

    def faults(self, case: Case, *, where: str = "here") -> dict[Fault, str]:
        """Return what is wrong with the searcher's search on a case."""
        return faults_of(self.observe(case, where=where), self.prepared(case), self.entry)

    def expect_no(self, fault: Fault) -> None:
        """Fail where the plain problem shows this fault; be undecided where the search did not end by itself."""
        found = self.faults(self.plain)
        if fault in found:
            raise Failed(found[fault])
        self.expect_end()

    def expect_end(self) -> None:
        """Be undecided where the search on the plain problem did not end by itself."""
        if not self.observe(self.plain).is_over:
            self.undecided(next(iter(self.faults(self.plain))))

    def expect_sound(self) -> None:
        """Be undecided where the search on the plain problem did not end by itself, or its answer is at fault."""
        hidden = self._hidden_by(self.plain)
        if hidden is not None:
            self.undecided(hidden)

    def expect_answer(self) -> None:
        """Call no property of answers kept where there is no sound answer."""
        self.expect_sound()
        rows = self.observe(self.plain).rows
        if rows is None or len(rows) == 0:
            raise NotApplicable(f"it gave no answer to the problem {self.plain.name!r}")

    def expect_no_further(self, case: Case) -> None:
        """Fail where a case shows a fault of its own; be undecided where a fault that others show, too, hides some.

        The plain problem comes first, then the simplest of the same kind: a searcher that breaks on numerical features
        alone fails the check of those, and not of every problem that has no categories.
        """
        self.expect_end()
        simpler = [self.plain, *self._simpler(case)]
        for fault, sentence in self.faults(case).items():
            if not any(fault in self.faults(earlier) for earlier in simpler):
                raise Failed(f"problem {case.name!r}: {sentence}")
        hidden = self._hidden_by(case)
        if hidden is not None:
            first = next(earlier for earlier in simpler if hidden in self.faults(earlier))
            raise NotApplicable(
                f"undecided while the problem {first.name!r} shows the same: {self.faults(first)[hidden]}"
            )

    def _simpler(self, case: Case) -> list[Case]:
        """Return the simplest problems of a case's kind, where it is none of them itself."""
        is_categorical = case.space.is_categorical
        found = [] if is_categorical.any() else [NUMERICAL]
        found += [CATEGORICAL] if is_categorical.all() else []
        found += [self.constrained] if case.constraints else []
        return [simple for simple in found if simple.name != case.name]

    def _hidden_by(self, case: Case) -> Fault | None:
        """Return the fault on a case that hides further ones; None where all of them can be seen."""
        found = self.faults(case)
        if not self.observe(case).is_over:
            return next(iter(found))
        return next((fault for fault in found if fault in ANSWER_FAULTS), None)

    def undecided(self, fault: Fault) -> NoReturn:
        """Say that another check's failure has to be mended first."""
        raise NotApplicable(f"undecided until {fault.value} passes")

    def prepared(self, case: Case) -> Case:
        """Return the case as it is put to this searcher: with a fitted model, where it needs to see one."""
        if self._model is None:
            return case
        if case.name not in self._grown:
            self._grown[case.name] = grown(case, self._model)
        return self._grown[case.name]

    def luggage(self) -> Luggage:
        """Pack the entry for a child process.

        Raises
        ------
        UnfitEntry
            If it cannot be pickled.
        """
        return pack(self.entry, self._settings)

    def close(self) -> None:
        """Let the child process go; the next search would start another."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _living(self) -> Child:
        """Return a child that can run a search; an unfit entry is tried once."""
        if self._unfit:
            raise NotApplicable(self._unfit)
        if self._child is None or not self._child.is_alive:
            try:
                self._child = Child(self.luggage())
            except UnfitEntry:
                self._unfit = "undecided until entry-pickles passes"
                raise NotApplicable(self._unfit) from None
            weakref.finalize(self, self._child.close)
        return self._child
