"""Wrong answers: of another form, outside, of another class, against constraints and declarations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench import CounterfactualSet, Problem, SearcherEntry, hookimpl
from cfbench.registry.discovery import import_file
from cfbench.space import FloatArray

if TYPE_CHECKING:
    from tests.contract.wrong import honest as start
else:
    start = import_file(Path(__file__).with_name("honest.py"))

candidates = start.candidates
honest = start.honest
wrong = start.wrong


def returns_a_string(problem: Problem, rng: np.random.Generator) -> Any:
    return "z"


def returns_a_list(problem: Problem, rng: np.random.Generator) -> Any:
    z = honest(problem, rng)
    return None if z is None else z.tolist()


def returns_a_frame(problem: Problem, rng: np.random.Generator) -> Any:
    import pandas as pd

    return pd.DataFrame([honest(problem, rng)], columns=problem.space.names)


def returns_a_matrix(problem: Problem, rng: np.random.Generator) -> Any:
    return candidates(problem, rng)[:3]


def wrong_shape(problem: Problem, rng: np.random.Generator) -> Any:
    z = honest(problem, rng)
    return None if z is None else np.append(z, 1.0)


def undeclared_set(problem: Problem, rng: np.random.Generator) -> Any:
    return CounterfactualSet(candidates(problem, rng)[:3])


def not_finite(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = problem.x.copy()
    z[0] = np.nan
    return z


def outside(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = problem.x.copy()
    z[0] = problem.space.upper[0] + 1
    return z


def no_codes(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    if z is not None:
        z[problem.space.is_categorical & (problem.space.upper > 0)] = 0.5
    return z


def x_itself(problem: Problem, rng: np.random.Generator) -> FloatArray:
    return problem.x.copy()


def rounds(problem: Problem, rng: np.random.Generator) -> Any:
    """Walk from a counterfactual towards x until the numbers end, then drop half of the digits."""
    there = honest(problem, rng)
    if there is None:
        return None
    here = problem.x.copy()
    for i in range(problem.space.d):
        while not problem.space.is_categorical[i]:
            middle = there.copy()
            middle[i] = here[i] + (there[i] - here[i]) / 2
            if middle[i] in (here[i], there[i]):
                break
            is_there = problem.predict(middle[np.newaxis])[0] == problem.target
            (there if is_there else here)[i] = middle[i]
    return there.astype(np.float32)


def ignores_constraints(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    lower, upper = problem.space.lower, problem.space.upper
    problem.bounds = lambda: (lower, upper)  # type: ignore[method-assign]
    return honest(problem, rng)


def changes_what_is_fixed(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    for i, feature in enumerate(problem.space.features):
        if problem.constraints and z is not None and feature.constraint == "=":
            z[i] = feature.lower if z[i] != feature.lower else feature.upper
    return z


def ignores_objectives(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    Z = candidates(problem, rng)
    hits = Z[problem.predict(Z) == problem.target]
    return hits[np.argmin(problem.distance(hits))] if len(hits) else None


def trusts_its_luck(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return _luckiest(problem, candidates(problem, rng))


def tries_its_luck_again(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Evaluate every candidate ten times, and return the one with the smallest of all values."""
    return _luckiest(problem, np.repeat(candidates(problem, rng), 10, axis=0))


def _luckiest(problem: Problem, Z: FloatArray) -> FloatArray | None:
    values, classes = problem.evaluate(Z)
    hits = np.flatnonzero(classes == problem.target)
    return Z[hits[np.argmin(values[hits])]] if len(hits) else None


def returns_one_of_its_set(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, rng)


WRONG = (
    wrong(returns_a_string, "answer-has-the-form", "invalid"),
    wrong(returns_a_list, "answer-has-the-form", "invalid"),
    wrong(returns_a_frame, "answer-has-the-form", "invalid"),
    wrong(returns_a_matrix, "answer-has-the-form", "invalid"),
    wrong(wrong_shape, "answer-has-the-form", "invalid"),
    wrong(undeclared_set, "sets-as-declared", "invalid"),
    wrong(returns_one_of_its_set, "sets-as-declared", returns_sets=True),
    wrong(not_finite, "answer-is-finite", "invalid"),
    wrong(outside, "answer-inside-intervals", "invalid"),
    wrong(no_codes, "categories-are-codes", "invalid"),
    wrong(x_itself, "answer-of-the-target-class", "invalid"),
    wrong(rounds, "judged-alike", "invalid"),
    wrong(ignores_constraints, "constraints-obeyed"),
    wrong(changes_what_is_fixed, "constraints-obeyed"),
    wrong(ignores_objectives, "objective-used"),
    wrong(trusts_its_luck, "luck-not-returned"),
    wrong(tries_its_luck_again, "luck-not-returned"),
)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield from (one.entry for one in WRONG)
