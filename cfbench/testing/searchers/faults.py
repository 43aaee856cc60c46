"""What is wrong with one observed search, worked out without any of the harness's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum

from cfbench.entries import SearcherEntry
from cfbench.harness.judge import Verdict
from cfbench.outcome import Status
from cfbench.space import Constraint, FeatureSpec, FloatArray, Kind
from cfbench.testing.cases import Case
from cfbench.testing.searchers.observation import Ending, Guilt, Observation


class Fault(StrEnum):
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
        Fault.SET,
        Fault.FORM,
        Fault.NOT_FINITE,
        Fault.OUTSIDE,
        Fault.NO_CODE,
        Fault.OFF_STEP,
        Fault.CONSTRAINT,
        Fault.ROUNDED,
        Fault.CLASS,
    }
)
"""Faults of which an answer shows the first one only."""

_GUILTY = {Guilt.MUTATION: Fault.MUTATED, Guilt.UNDECLARED: Fault.UNDECLARED, Guilt.OTHER: Fault.RAISED}


def faults_of(observation: Observation, case: Case, entry: SearcherEntry) -> dict[Fault, str]:
    """Return what is wrong with a search, each fault with a sentence about it.

    A set is at fault only where none of its rows is a counterfactual; its first row then says why.
    """
    if observation.ending is Ending.NEVER:
        return {Fault.NEVER_RETURNED: observation.error}
    if observation.ending is Ending.DIED:
        return {Fault.DIED: observation.error}
    faults: dict[Fault, str] = {}
    if observation.guilt is not None:
        faults[_GUILTY[observation.guilt]] = f"it raised {observation.error}"
    if observation.changed:
        faults[Fault.MUTATED] = f"after the search, not as they were: {', '.join(observation.changed)}"
    if observation.asked != observation.metered:
        faults[Fault.BYPASSED] = (
            f"the model was asked {observation.asked} rows, and the meter saw {observation.metered}"
        )
    if observation.signals:
        faults[Fault.SIGNALS] = f"after the search, not as they were: {', '.join(observation.signals)}"
    if observation.printed:
        faults[Fault.PRINTED] = f"it wrote to stdout: {observation.printed!r}"
    if observation.ending is Ending.RETURNED:
        faults |= _faults_of_answer(observation, case, entry)
    return faults


def _faults_of_answer(observation: Observation, case: Case, entry: SearcherEntry) -> Mapping[Fault, str]:
    verdict, rows = observation.verdict, observation.rows
    assert verdict is not None
    if observation.is_set and not entry.returns_sets:
        return {Fault.SET: "it returned a CounterfactualSet, and its entry does not say returns_sets=True"}
    if rows is None and not observation.is_none:
        return {Fault.FORM: verdict.reason}
    if rows is None or len(rows) == 0:
        return {}
    complaints = [_complaint(row, observation.classes[i], case) for i, row in enumerate(rows)]
    if None not in complaints and observation.rounded:
        return {Fault.ROUNDED: observation.rounded}
    if None not in complaints:
        return dict(filter(None, complaints[:1]))
    good = [row for row, complaint in zip(rows, complaints, strict=True) if complaint is None]
    return _disagreement(verdict, good, case)


def _disagreement(verdict: Verdict, good: list[FloatArray], case: Case) -> Mapping[Fault, str]:
    """Say where the judge differs from what was worked out here: `good` are counterfactuals."""
    if verdict.status is not Status.FOUND or verdict.loss is None:
        return {Fault.ROUNDED: f"the judge rejects what is a counterfactual: {verdict.status}, {verdict.reason}"}
    cost = min(cost_of(row, case) for row in good)
    # With an objective, the cheapest of a set need not be the best.
    if case.objective is None and not math.isclose(verdict.loss, cost, rel_tol=1e-9, abs_tol=1e-12):
        return {Fault.ROUNDED: f"the judge's loss is {verdict.loss}, and the answer costs {cost}"}
    return {}


def _complaint(row: FloatArray, class_of_row: int, case: Case) -> tuple[Fault, str] | None:
    """Say what is wrong with one row of an answer; None: it is a counterfactual."""
    for feature, value, now in zip(case.space.features, row.tolist(), case.x, strict=True):
        complaint = _complaint_about(feature, value, now, case)
        if complaint is not None:
            return complaint
    if class_of_row == case.target:
        return None
    if row.tolist() == list(case.x):
        return Fault.CLASS, "it returned x itself"
    return Fault.CLASS, f"the class of its answer is {class_of_row}, and the target is {case.target}"


def _complaint_about(feature: FeatureSpec, value: float, now: float, case: Case) -> tuple[Fault, str] | None:
    found: tuple[Fault, str] | None = None
    if not math.isfinite(value):
        found = Fault.NOT_FINITE, "is no finite number"
    elif not feature.lower <= value <= feature.upper:
        found = Fault.OUTSIDE, f"is outside [{feature.lower!r}, {feature.upper!r}]"
    elif feature.kind is Kind.CATEGORICAL and value != int(value):
        found = Fault.NO_CODE, f"is none of its codes 0 to {feature.upper:g}"
    elif case.respect_steps and feature.step is not None and not _on_step(value, feature.step):
        found = Fault.OFF_STEP, f"is no multiple of its step {feature.step:g}"
    elif case.constraints and _forbidden(feature, now, value):
        found = Fault.CONSTRAINT, f"breaks its constraint {feature.constraint.value!r} on {now!r}"
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
