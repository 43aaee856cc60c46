"""A searcher under test: its searches, run in child processes and kept, and the faults of each."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np

from cfbench.errors import UnavailableError
from cfbench.problem.outcome import Status
from cfbench.registry.contracts import FittedModel
from cfbench.registry.entries import Entry, Handles, ModelEntry, Need, SearcherEntry
from cfbench.registry.registry import build_registry
from cfbench.running.judge import Verdict
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind
from cfbench.study.variants import make_variant
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.child import Child, ChildSetup, UnfitEntry, pack
from cfbench.testing.observation import Ending, ErrorKind, Observation
from cfbench.testing.problems import CATEGORICAL, CONSTRAINED_MIXED, CONSTRAINED_NUMERICAL, MIXED, NUMERICAL, Case

N_ROWS = 400
"""Training rows of a grown model: enough for it to follow the rule, few enough to be fitted at once."""

OUTVOTED = 30
"""Rows that hold against a single one that is labelled otherwise, so that no model follows it."""


def structured_model(entry: Entry) -> ModelEntry:
    """Return the first registered model that shows its structure.

    Raises
    ------
    UnavailableError
        If no registered model shows its structure.
    """
    models = [registered.entry for registered in build_registry().models.values()]
    found = next((model for model in models if model.shows_structure), None)
    if found is None:
        raise UnavailableError(
            f"{entry.name} cannot be checked here: it needs the model's structure, and none of the registered models "
            f"shows it ({', '.join(model.name for model in models) or 'there are none'})"
        )
    return found


def grown(case: Case, entry: ModelEntry) -> Case:
    """Return `case` with a model fitted to what its rule says.

    The model follows the rule loosely: the factual point is the training row nearest to the case's own that the model
    does not put into the target class.
    """
    X = case.training(N_ROWS).X
    y = case.rule.predict(X)
    if len(np.unique(y)) == 1:  # of which nothing can be learned: one row among many equals says otherwise
        X = np.concatenate([X, np.repeat(X[:1], OUTVOTED, axis=0)])
        y = np.append(y, np.full(OUTVOTED, y[0]))
        y[0] = case.target
    model = fitted(entry, X, y, case.space)
    elsewhere = X[model.predict(X) != case.target]
    x = elsewhere[np.argmin(case.space.gower(elsewhere, np.array(case.x)))]
    return replace(case, model=model, x=tuple(float(value) for value in x), answer=None)


def fitted(entry: ModelEntry, X: FloatArray, y: IntArray, space: FeatureSpace) -> FittedModel:
    """Return a model fitted with the first hyper-parameters of its grid."""
    family = entry.family()
    return family.fit(X, y, space, {name: values[0] for name, values in family.grid().items()})


class SearcherFault(StrEnum):
    """A kind of fault. Its value is the name of the check that is there for it."""

    NEVER_RETURNED = "returns-in-time"
    DIED = "process-survives"
    RAISED = "raises-nothing"
    UNDECLARED = "asks-only-for-what-it-declares"
    MUTATED = "problem-not-mutated"
    SET = "sets-as-declared"
    FORM = "answer-has-the-form"
    NOT_FINITE = "answer-is-finite"
    OUTSIDE = "answer-inside-intervals"
    NO_CODE = "categories-are-codes"
    OFF_STEP = "integer-features"
    CONSTRAINT = "constraints-obeyed"
    ROUNDED = "judged-alike"
    CLASS = "answer-of-the-target-class"
    BYPASSED = "meter-not-bypassed"
    SIGNALS = "signals-left-alone"
    PRINTED = "prints-nothing"


ANSWER_FAULTS = frozenset(
    {
        SearcherFault.SET,
        SearcherFault.FORM,
        SearcherFault.NOT_FINITE,
        SearcherFault.OUTSIDE,
        SearcherFault.NO_CODE,
        SearcherFault.OFF_STEP,
        SearcherFault.CONSTRAINT,
        SearcherFault.ROUNDED,
        SearcherFault.CLASS,
    }
)
"""Faults of which an answer shows the first one only."""

_FAULT_OF_ERROR = {
    ErrorKind.MUTATION: SearcherFault.MUTATED,
    ErrorKind.UNDECLARED: SearcherFault.UNDECLARED,
    ErrorKind.OTHER: SearcherFault.RAISED,
}


def faults_of(observation: Observation, case: Case, entry: SearcherEntry) -> dict[SearcherFault, str]:
    """Return what is wrong with a search, each fault with a sentence about it.

    A set is at fault only where none of its rows is a counterfactual; its first row then says why.
    """
    if observation.ending is Ending.NEVER:
        return {SearcherFault.NEVER_RETURNED: observation.error}
    if observation.ending is Ending.DIED:
        return {SearcherFault.DIED: observation.error}
    faults: dict[SearcherFault, str] = {}
    if observation.error_kind is not None:
        faults[_FAULT_OF_ERROR[observation.error_kind]] = f"it raised {observation.error}"
    if observation.changed:
        faults[SearcherFault.MUTATED] = f"after the search, not as they were: {', '.join(observation.changed)}"
    if observation.asked != observation.metered:
        faults[SearcherFault.BYPASSED] = (
            f"the model classified {observation.asked} rows, and the meter counted {observation.metered}"
        )
    if observation.signals:
        faults[SearcherFault.SIGNALS] = f"after the search, not as they were: {', '.join(observation.signals)}"
    if observation.printed:
        faults[SearcherFault.PRINTED] = f"it wrote to stdout: {observation.printed!r}"
    if observation.ending is Ending.RETURNED:
        faults |= _faults_of_answer(observation, case, entry)
    return faults


def _faults_of_answer(observation: Observation, case: Case, entry: SearcherEntry) -> Mapping[SearcherFault, str]:
    verdict, rows = observation.verdict, observation.rows
    assert verdict is not None
    if observation.is_set and not entry.returns_sets:
        return {SearcherFault.SET: "it returned a CounterfactualSet, and its entry does not say returns_sets=True"}
    if rows is None and not observation.is_none:
        return {SearcherFault.FORM: verdict.reason}
    if rows is None or len(rows) == 0:
        return {}
    complaints = [_complaint(row, observation.classes[i], case) for i, row in enumerate(rows)]
    if None not in complaints and observation.rounded:
        return {SearcherFault.ROUNDED: observation.rounded}
    if None not in complaints:
        return dict(filter(None, complaints[:1]))
    good = [row for row, complaint in zip(rows, complaints, strict=True) if complaint is None]
    return _disagreement(verdict, good, case)


def _disagreement(verdict: Verdict, good: list[FloatArray], case: Case) -> Mapping[SearcherFault, str]:
    """Say where the judge differs from what was worked out here: `good` are counterfactuals."""
    if verdict.status is not Status.FOUND or verdict.loss is None:
        return {
            SearcherFault.ROUNDED: f"the judge rejects what is a counterfactual: {verdict.status}, {verdict.reason}"
        }
    cost = min(cost_of(row, case) for row in good)
    # With an objective, the cheapest of a set need not be the best.
    if case.objective is None and not math.isclose(verdict.loss, cost, rel_tol=1e-9, abs_tol=1e-12):
        return {SearcherFault.ROUNDED: f"the judge's loss is {verdict.loss}, and the answer costs {cost}"}
    return {}


def _complaint(row: FloatArray, class_of_row: int, case: Case) -> tuple[SearcherFault, str] | None:
    """Say what is wrong with one row of an answer; None: it is a counterfactual."""
    for feature, value, now in zip(case.space.features, row.tolist(), case.x, strict=True):
        complaint = _complaint_about(feature, value, now, case)
        if complaint is not None:
            return complaint
    if class_of_row == case.target:
        return None
    if row.tolist() == list(case.x):
        return SearcherFault.CLASS, "it returned x itself"
    return SearcherFault.CLASS, f"the class of its answer is {class_of_row}, and the target is {case.target}"


def _complaint_about(feature: FeatureSpec, value: float, now: float, case: Case) -> tuple[SearcherFault, str] | None:
    found: tuple[SearcherFault, str] | None = None
    if not math.isfinite(value):
        found = SearcherFault.NOT_FINITE, "is not a finite number"
    elif not feature.lower <= value <= feature.upper:
        found = SearcherFault.OUTSIDE, f"is outside [{feature.lower!r}, {feature.upper!r}]"
    elif feature.kind is Kind.CATEGORICAL and value != int(value):
        found = SearcherFault.NO_CODE, f"is not one of its codes 0 to {feature.upper:g}"
    elif case.respect_steps and feature.step is not None and not _on_step(value, feature.step):
        found = SearcherFault.OFF_STEP, f"is not a multiple of its step {feature.step:g}"
    elif case.constraints and _forbidden(feature, now, value):
        found = SearcherFault.CONSTRAINT, f"breaks its constraint {feature.constraint.value!r} on {now!r}"
    return None if found is None else (found[0], f"its answer's {feature.name} = {value!r} {found[1]}")


def _on_step(value: float, step: float) -> bool:
    return math.isclose(value / step, round(value / step), rel_tol=1e-12, abs_tol=1e-12)


def _forbidden(feature: FeatureSpec, now: float, value: float) -> bool:
    match feature.constraint:
        case Constraint.FIXED:
            return value != now
        case Constraint.ONLY_UP:
            return value < now
        case Constraint.ONLY_DOWN:
            return value > now
        case Constraint.FREE:
            return False


def cost_of(row: FloatArray, case: Case) -> float:
    """Work out the cost (Eq. 9 without its last term) of one row, feature by feature."""
    gower, changed = 0.0, 0
    for value, now, feature in zip(row.tolist(), case.x, case.space.features, strict=True):
        if value == now:
            continue
        changed += 1
        gower += 1.0 if feature.kind is Kind.CATEGORICAL else abs(value - now) / (feature.upper - feature.lower)
    d = len(case.x)
    return 0.5 * gower / d + 0.5 * changed / d


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
        Seconds per search.

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
            Whether Ctrl-C is pressed during its first query.
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
                other = Child(self.setup(), fresh_interpreter=True)
                self._seen[key] = other.observe(case, time_limit=self.time_limit)
                other.close()
            else:
                self._seen[key] = self._living().observe(case, time_limit=self.time_limit, interrupt=interrupt)
                if self._seen[key].signals:
                    self.close()  # not everything about signals can be put back
        return self._seen[key]

    def faults(self, case: Case, *, where: str = "here") -> dict[SearcherFault, str]:
        """Return what is wrong with the searcher's search on a case."""
        return faults_of(self.observe(case, where=where), self.prepared(case), self.entry)

    def expect_no(self, fault: SearcherFault) -> None:
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
        """Return the simplest problems of a case's kind, unless the case is one of them."""
        is_categorical = case.space.is_categorical
        found = [] if is_categorical.any() else [NUMERICAL]
        found += [CATEGORICAL] if is_categorical.all() else []
        found += [self.constrained] if case.constraints else []
        return [simple for simple in found if simple.name != case.name]

    def _hidden_by(self, case: Case) -> SearcherFault | None:
        """Return the fault on a case that hides others; None if none is hidden."""
        found = self.faults(case)
        if not self.observe(case).is_over:
            return next(iter(found))
        return next((fault for fault in found if fault in ANSWER_FAULTS), None)

    def undecided(self, fault: SearcherFault) -> NoReturn:
        """Raise NotApplicable: another check's failure comes first."""
        raise NotApplicable(f"undecided until {fault.value} passes")

    def prepared(self, case: Case) -> Case:
        """Return the case as it is put to this searcher: with a fitted model, where it needs to see one."""
        if self._model is None:
            return case
        if case.name not in self._grown:
            self._grown[case.name] = grown(case, self._model)
        return self._grown[case.name]

    def setup(self) -> ChildSetup:
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
                self._child = Child(self.setup())
            except UnfitEntry:
                self._unfit = "undecided until entry-pickles passes"
                raise NotApplicable(self._unfit) from None
            weakref.finalize(self, self._child.close)
        return self._child
