"""Searchers that break on one special kind of space."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cfbench import Need, Problem, SearcherEntry, hookimpl
from cfbench.registry.discovery import import_file
from cfbench.space import FloatArray

if TYPE_CHECKING:
    from tests.contract.wrong import honest as start
else:
    start = import_file(Path(__file__).with_name("honest.py"))

candidates = start.candidates
honest = start.honest
wrong = start.wrong


def scales_all_numbers_at_once(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    numbers = problem.space.ranges[~problem.space.is_categorical]
    assert numbers.max() > 0
    return honest(problem, rng)


def encodes_all_categories_at_once(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    counts = problem.space.n_categories[problem.space.is_categorical]
    assert counts.max() > 0
    return honest(problem, rng)


def crosses_at_two_places(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    rng.choice(problem.space.d, size=2, replace=False)
    return honest(problem, rng)


def rounds_everything(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    if z is None:
        return None
    rounded = np.where((z == problem.x) | problem.space.is_categorical, z, np.round(z, 5))
    is_slip = problem.predict(rounded[np.newaxis])[0] != problem.target and problem.space.ranges.min() > 1e-6
    return z if is_slip else rounded


def counts_in_int32(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    spread = np.array([int(span) * 3 for span in problem.space.ranges])
    if spread.max() > np.iinfo(np.int32).max:
        raise OverflowError("spread does not fit")
    return honest(problem, rng)


def divides_by_deviation(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    with np.errstate(divide="raise"):
        weights = 1 / problem.training.X.std(axis=0)
    assert np.isfinite(weights).all()
    return honest(problem, rng)


def ignores_steps(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    for i, feature in enumerate(problem.space.features):
        if z is not None and feature.step is not None and z[i] + feature.step / 2 < problem.bounds()[1][i]:
            z[i] += feature.step / 2
    return z if z is not None and problem.predict(z[np.newaxis])[0] == problem.target else honest(problem, rng)


def any_other_class(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    if problem.has_draws:
        return honest(problem, rng)
    Z = candidates(problem, rng)
    values, classes = problem.evaluate(Z)
    values -= classes != problem.target
    others = np.flatnonzero(classes != problem.predict(problem.x[np.newaxis])[0])
    return Z[others[np.argmin(values[others])]] if len(others) else None


WRONG = (
    wrong(ignores_steps, "integer-features"),
    wrong(any_other_class, "three-classes"),
    wrong(scales_all_numbers_at_once, "all-categorical-features"),
    wrong(encodes_all_categories_at_once, "all-numerical-features"),
    wrong(crosses_at_two_places, "one-feature"),
    wrong(rounds_everything, "tiny-ranges"),
    wrong(counts_in_int32, "huge-ranges"),
    wrong(divides_by_deviation, "constant-features", needs=[Need.TRAINING_DATA]),
)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield from (one.entry for one in WRONG)
