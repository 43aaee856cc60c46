"""The judge: what a searcher answered is checked here, and nothing that it claims is believed.

It checks shape, finite values, intervals and categories, constraints, and the class, on an unmetered oracle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfbench.problem.oracle import Oracle
from cfbench.problem.outcome import CounterfactualSet, Status
from cfbench.problem.problem import Term
from cfbench.space.space import FeatureSpace, FloatArray


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the judge found.

    `status` is ``found``, ``not_found`` or ``invalid``. `z` has shape (d,), `candidates` (k, d). The numbers are those
    of a valid `z`.
    """

    status: Status
    reason: str = ""
    z: FloatArray | None = None
    candidates: FloatArray | None = None
    loss: float | None = None
    gower: float | None = None
    l0: int | None = None
    cost: float | None = None
    objective_value: float | None = None


class NotAnAnswer(ValueError):
    """What a searcher returned has not the form of an answer."""


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges the answers to one problem.

    `x` has shape (d,). The oracle is not metered. `term` is the objective's with the judge's own draws; None for the
    loss alone.
    """

    x: FloatArray
    target: int
    space: FeatureSpace
    oracle: Oracle
    constraints: bool
    respect_steps: bool
    term: Term | None = None

    def verdict(self, answer: object, *, returns_sets: bool) -> Verdict:
        """Judge what a searcher returned."""
        if answer is None:
            return Verdict(Status.NOT_FOUND)
        try:
            candidates = self._rows_of(answer, returns_sets=returns_sets)
        except NotAnAnswer as error:
            return Verdict(Status.INVALID, str(error))
        if len(candidates) == 0:
            return Verdict(Status.NOT_FOUND, "the returned set is empty", candidates=candidates)
        return self.choose(candidates)

    def choose(self, candidates: FloatArray) -> Verdict:
        """Judge every row and return the valid one with the smallest objective value; the first of equals."""
        feasible = self.space.is_feasible(
            candidates, self.x, constraints=self.constraints, respect_steps=self.respect_steps
        )
        valid = np.flatnonzero(feasible)
        valid = valid[self.oracle.predict(candidates[valid]) == self.target] if len(valid) else valid
        if len(valid) == 0:
            reason = self._objection(candidates[0], feasible=bool(feasible[0]))
            return Verdict(Status.INVALID, reason, z=candidates[0], candidates=candidates)
        rows = candidates[valid]
        cost = self.space.cost(rows, self.x)
        value = cost.copy()
        if self.term is not None:
            value += self.term(rows, np.full(len(rows), self.target, dtype=np.int64))
        best = int(np.argmin(value))
        z = rows[best]
        return Verdict(
            Status.FOUND,
            z=z,
            candidates=candidates,
            loss=float(cost[best]),  # the class term of Eq. 9 is 0 for a valid row
            gower=float(self.space.gower(z[np.newaxis], self.x)[0]),
            l0=int(self.space.l0(z[np.newaxis], self.x)[0]),
            cost=float(cost[best]),
            objective_value=float(value[best]),
        )

    def _rows_of(self, answer: object, *, returns_sets: bool) -> FloatArray:
        d = self.space.d
        if isinstance(answer, CounterfactualSet):
            if not returns_sets:
                raise NotAnAnswer("it returned a CounterfactualSet, but its entry does not say returns_sets=True")
            return _numbers(answer.Z, (None, d), "the Z of its CounterfactualSet")
        if isinstance(answer, np.ndarray) and answer.ndim == 2:
            raise NotAnAnswer(
                f"it returned an array of shape {answer.shape}; one candidate is returned as its row Z[i], several "
                "candidates are returned as CounterfactualSet(Z)"
            )
        return _numbers(answer, (d,), "it returned")[np.newaxis]

    def _objection(self, z: FloatArray, *, feasible: bool) -> str:
        if np.array_equal(z, self.x):
            return "it returned x itself"
        if feasible:
            return f"its class is {int(self.oracle.predict(z[np.newaxis])[0])}, not the target {self.target}"
        return (
            self.space.objection(z, self.x, constraints=self.constraints, respect_steps=self.respect_steps)
            or "it is infeasible"
        )


def _numbers(answer: object, shape: tuple[int | None, ...], what: str) -> FloatArray:
    """Return `answer` as a float64 copy, or say why it is no array of numbers of that shape."""
    words = f"({', '.join('k' if size is None else str(size) for size in shape)}{',' if len(shape) == 1 else ''})"
    if not isinstance(answer, np.ndarray):
        received = f"{type(answer).__module__}.{type(answer).__name__}".removeprefix("builtins.")
        raise NotAnAnswer(f"{what} a {received}, not a numpy array of shape {words}")
    if answer.dtype.kind not in "fiu":
        raise NotAnAnswer(f"{what} an array of {answer.dtype}, not of numbers")
    fits = answer.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, answer.shape, strict=True)
    )
    if not fits:
        raise NotAnAnswer(f"{what} an array of shape {answer.shape}, not {words}")
    return np.array(answer, dtype=np.float64)
