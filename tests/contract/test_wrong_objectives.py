"""Objectives with one fault each fail the one check that guards against it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cfbench.errors import UnknownNameError
from cfbench.problem.problem import Term
from cfbench.registry.contracts import Objective, ObjectiveContext
from cfbench.registry.entries import ObjectiveEntry
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.testing.objectives import OBJECTIVE_CHECKS, check_objective


class Distance(Objective):
    """A sound objective: half the Gower distance."""

    def bind(self, context: ObjectiveContext) -> Term | None:
        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            return self.tampered(0.5 * context.space.gower(Z, context.x), Z, classes, context)

        return term

    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        return values


class Late(Distance):
    def bind(self, context: ObjectiveContext) -> Term | None:
        raise RuntimeError("not ready")


class Column(Distance):
    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        return values[:, np.newaxis]


class Infinite(Distance):
    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        return np.full(len(Z), np.inf)


class NeedsTwoFeatures(Distance):
    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        return values + 0.0 * Z[:, 1]


class Centred(Distance):
    """A value hangs on the question that its candidate was part of."""

    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        return values if context.judging else values - (values.mean() if len(values) else 0.0)


class GlobalDraws(Distance):
    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        np.random.random()  # noqa: NPY002 - its fault
        return values


class Glutton(Distance):
    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        context.predict(Z)
        return values


class Scribbler(Distance):
    def tampered(self, values: FloatArray, Z: FloatArray, classes: IntArray, context: ObjectiveContext) -> FloatArray:
        classes[:] = 1
        return values


class Moody(Distance):
    """Also the judge's values hang on how much was asked before."""

    def bind(self, context: ObjectiveContext) -> Term | None:
        asked = 0

        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            nonlocal asked
            numbers = asked + np.arange(len(Z), dtype=np.float64)
            asked += len(Z)
            return numbers

        return term


class Secretive(Distance):
    """Values are drawn by the number of the evaluation, and that is not said."""

    def bind(self, context: ObjectiveContext) -> Term | None:
        evaluations = 0

        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            nonlocal evaluations
            numbers = range(evaluations, evaluations + len(Z))
            evaluations += 0 if context.judging else len(Z)
            draws = [0.0 if context.judging else np.random.default_rng([context.stream, n]).random() for n in numbers]
            return np.array(draws, dtype=np.float64)

        return term

    def draws_per_candidate(self) -> int | None:
        return 0


class NotSaying(Secretive):
    """The same, and it says so."""

    def draws_per_candidate(self) -> int | None:
        return None


class FewerThanNone(Distance):
    def draws_per_candidate(self) -> int | None:
        return -1


class Silent(Distance):
    def remark(self, space: FeatureSpace) -> str:
        return None  # type: ignore[return-value] # its fault


@pytest.mark.parametrize(
    ("objective", "check", "why"),
    [
        (Column, "values-have-the-form", r"returned a float64 of shape \(24, 1\), not float64 of shape \(24,\)"),
        (Infinite, "values-have-the-form", "one of its values is inf"),
        (NeedsTwoFeatures, "works-in-every-space", "space 'one feature': its term raised IndexError"),
        (Centred, "vectorised-equals-row-by-row", "candidate 0 has"),
        (GlobalDraws, "own-stream-alone", "draws from a global random generator"),
        (Glutton, "asks-what-it-declares", "queried 24 rows for 24 candidates, and declares 0 rows per candidate"),
        (Scribbler, "candidates-not-mutated", "it wrote into classes"),
        (Moody, "judges-every-candidate-alike", "gave a candidate two values"),
        (Secretive, "draws-as-declared", "it declares 0 draws, but candidate 0 has"),
        (FewerThanNone, "draws-as-declared", "draws_per_candidate returned -1"),
        (Silent, "speaks-clearly", "remark returned None"),
    ],
)
def test_one_fault_fails_one_check(objective: type[Objective], check: str, why: str) -> None:
    report = check_objective(ObjectiveEntry(name="wrong", objective=objective))
    failed = {finding.check: finding.why for finding in report.failures}
    assert check in failed
    assert re.search(why, failed[check])
    # A form that is wrong is wrong for every check that looks at values.
    assert check == "values-have-the-form" or set(failed) == {check}


def test_what_cannot_be_bound_fails_every_check_that_needs_a_term() -> None:
    report = check_objective(ObjectiveEntry(name="late", objective=Late))
    assert {finding.why for finding in report.failures if "not ready" in finding.why}
    assert len(report.failures) == len(OBJECTIVE_CHECKS) - 1


def test_a_sound_objective_passes_and_settings_are_checked() -> None:
    entry = ObjectiveEntry(name="distance", objective=Distance)
    report = check_objective(entry)
    assert report.passed
    assert len(report.findings) == len(OBJECTIVE_CHECKS)
    assert all(finding.guards and finding.fix for finding in report.findings)
    with pytest.raises(UnknownNameError, match="setting of distance"):
        check_objective(entry, settings={"m": 3})


def test_draws_that_are_not_denied_are_no_fault() -> None:
    report = check_objective(ObjectiveEntry(name="not-saying", objective=NotSaying))
    assert report.passed, str(report)


def test_draws_keyed_by_the_question_alone_are_found_out() -> None:
    class PerQuery(Objective):
        """The paper's score, but every question starts again with the first evaluation's draws."""

        def bind(self, context: ObjectiveContext) -> Term | None:
            neighbours = KNeighbours(context.space, context.x, context.stream, 16)

            def term(Z: FloatArray, classes: IntArray) -> FloatArray:
                lost: FloatArray = (context.predict_neighbours(Z, neighbours) != classes[:, np.newaxis]).mean(axis=1)
                return lost

            return term

        def rows_per_candidate(self) -> int:
            return 16

    report = check_objective(ObjectiveEntry(name="per-question", objective=PerQuery))
    assert "vectorised-equals-row-by-row" in {finding.check for finding in report.failures}
