"""A small honest search, and deliberately wrong ones that start from it."""

from __future__ import annotations

import ctypes
import os
import random
import re
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from cfbench import (
    Best,
    BudgetExhausted,
    CounterfactualSet,
    Handles,
    Need,
    PrepareContext,
    Problem,
    Searcher,
    SearcherEntry,
    hookimpl,
)
from cfbench.space import FloatArray

BUT_RELATIONS = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)
EVERYTHING = (*BUT_RELATIONS, Handles.RELATIONS)
N_ROWS = 400


def candidates(problem: Problem, rng: np.random.Generator, n: int = N_ROWS) -> FloatArray:
    """Draw feasible rows that keep about half of `x`."""
    lower, upper = problem.bounds()
    Z = rng.uniform(lower, upper, (n, problem.space.d))
    for i, feature in enumerate(problem.space.features):
        if problem.space.is_categorical[i]:
            Z[:, i] = np.clip(np.round(Z[:, i]), lower[i], upper[i])
        elif problem.respect_steps and feature.step is not None:
            Z[:, i] = np.clip(np.round(Z[:, i] / feature.step) * feature.step, lower[i], upper[i])
    Z = np.where(rng.random(Z.shape) < 0.5, problem.x, Z)
    return problem.repair(Z) if problem.has_relations else Z


def honest(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Return the best of random rows; nothing is wrong with it."""
    best = Best(problem)
    best.evaluate(candidates(problem, rng))
    return best.choose()


@dataclass(frozen=True)
class Wrong:
    """A wrong searcher.

    `check` is the only one that it fails; `status` is what a run without a query budget makes of it, "failed" if its
    cells fail.
    """

    entry: SearcherEntry
    check: str
    status: str


def wrong(function: Callable[..., Any], check: str, status: str = "found", **declared: Any) -> Wrong:
    name = re.sub("(?<=[a-z])(?=[A-Z])", "-", function.__name__).lower().strip("_").replace("_", "-")
    return Wrong(SearcherEntry(name=name, searcher=function, **{"handles": BUT_RELATIONS, **declared}), check, status)


# ------------------------------------------------------------------ wrong ends


def never_returns(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    threading.Event().wait()
    return None


def deaf_and_never_returns(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Event().wait()
    return None


def exits(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    os._exit(7)


def segfaults(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    ctypes.string_at(0)
    return None


def raises(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    raise ValueError("cannot think today")


def asks_on_past_its_budget(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    while True:
        try:
            return honest(problem, rng)
        except BudgetExhausted:
            continue


def breaks_on_its_budget(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    try:
        return honest(problem, rng)
    except BudgetExhausted as error:
        raise RuntimeError("I was promised more rows") from error


def never_gives_up(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = honest(problem, rng)
    return candidates(problem, rng)[0] if z is None else z


def gives_up_at_once(problem: Problem, rng: np.random.Generator) -> None:
    return None


def depends_on_hashes(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    draws = np.random.default_rng(hash("a word") % 2**32)
    return honest(problem, draws)


# ------------------------------------------------------------------ wrong results


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


def ignores_relations(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    problem.repair = lambda Z: Z  # type: ignore[method-assign]
    z = honest(problem, rng)
    del problem.repair
    return z


def drops_what_breaks_relations(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = ignores_relations(problem, rng)
    return z if z is not None and problem.is_feasible(z[np.newaxis])[0] else None


def shifts_the_box(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem.box.lower.setflags(write=True)
    problem.box.lower[0] -= 1
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


def _gathered(problem: Problem, rng: np.random.Generator, found: list[FloatArray]) -> CounterfactualSet | None:
    """Query row by row, and report the set of valid rows as it grows."""
    for z in candidates(problem, rng, 60):
        if problem.predict(z[np.newaxis])[0] == problem.target:
            found.append(z)
            problem.report_candidates(np.array(found))
    return CounterfactualSet(np.array(found)) if found else None


def gathers_a_set(problem: Problem, rng: np.random.Generator) -> CounterfactualSet | None:
    """Return the set of all valid rows; nothing is wrong with it."""
    return _gathered(problem, rng, [])


def loses_its_set(problem: Problem, rng: np.random.Generator) -> CounterfactualSet | None:
    found: list[FloatArray] = []
    try:
        return _gathered(problem, rng, found)
    except BudgetExhausted:
        return CounterfactualSet(np.array(found[:1])) if found else None


# ------------------------------------------------------------------ forbidden side effects


def ignores_rng(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, np.random.default_rng())


def draws_from_numpy(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, np.random.default_rng(np.random.randint(1000)))  # noqa: NPY002 - the fault


def draws_from_python(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, np.random.default_rng(random.randint(0, 1000)))


def writes_into_x(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    problem.x[0] = 1.0
    return None


def forces_its_way_into_x(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem.x.setflags(write=True)
    problem.x[0] += 1e-3
    return z


def widens_the_space(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem.space.upper.setflags(write=True)
    problem.space.upper[0] += 1e-3
    return z


def frees_a_feature(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    problem.space.features[0].constraint = "none"  # type: ignore[misc, assignment] # the fault
    return None


def moves_the_target(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem._target = 0
    return z


def bypasses_the_meter(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    Z = candidates(problem, rng)
    hits = Z[problem._meter._oracle.predict(Z) == problem.target]
    best = Best(problem)
    best.evaluate(hits)
    return best.choose()


def prints(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    print("looking around")
    return honest(problem, rng)


def prints_past_python(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    os.write(1, b"looking around\n")
    return honest(problem, rng)


def _shrug(number: int, frame: FrameType | None) -> None:
    """Handle a signal by doing nothing."""


def eats_signals(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    signal.signal(signal.SIGTERM, _shrug)
    return honest(problem, rng)


def swallows_ctrl_c(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    try:
        return honest(problem, rng)
    except BudgetExhausted:
        return None
    except:  # noqa: E722 - the fault
        return None


def takes_training_data(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    assert problem.training is not None
    case: FloatArray = problem.training.X[0]
    return case


# ------------------------------------------------------------------ broken on one kind of space


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
        assert problem.training is not None
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


class Honest(Searcher):
    """The honest search as a class, with a preparation that learns nothing."""

    def prepare(self, context: PrepareContext) -> Any:
        return honest


class ReturnsItsSettings(Honest):
    def prepare(self, context: PrepareContext) -> Any:
        return {"neighbours": 5}


class SortsTheFold(Honest):
    def prepare(self, context: PrepareContext) -> Any:
        assert context.training is not None
        context.training.X.sort(axis=0)
        return honest


PREPARED: list[PrepareContext] = []


class CountsPreparations(Honest):
    def prepare(self, context: PrepareContext) -> Any:
        PREPARED.append(context)
        n_rows = N_ROWS + len(PREPARED)

        def search(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
            best = Best(problem)
            best.evaluate(candidates(problem, rng, n_rows))
            return best.choose()

        return search


class RemembersPoints(Honest):
    def prepare(self, context: PrepareContext) -> Any:
        seen: set[bytes] = set()

        def search(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
            seen.add(problem.x.tobytes())
            best = Best(problem)
            best.evaluate(candidates(problem, rng, N_ROWS + len(seen)))
            return best.choose()

        return search


WRONG = (
    wrong(never_returns, "returns-in-time", "timed_out"),
    wrong(deaf_and_never_returns, "returns-in-time", "timed_out"),
    wrong(exits, "process-survives", "crashed"),
    wrong(segfaults, "process-survives", "crashed"),
    wrong(raises, "raises-nothing", "crashed"),
    wrong(asks_on_past_its_budget, "survives-small-budgets"),
    wrong(breaks_on_its_budget, "survives-small-budgets"),
    wrong(never_gives_up, "gives-up"),
    wrong(gives_up_at_once, "finds-something", "not_found"),
    wrong(depends_on_hashes, "runs-in-a-spawned-process"),
    wrong(returns_a_string, "answer-has-the-form", "invalid"),
    wrong(returns_a_list, "answer-has-the-form", "invalid"),
    wrong(returns_a_frame, "answer-has-the-form", "invalid"),
    wrong(returns_a_matrix, "answer-has-the-form", "invalid"),
    wrong(wrong_shape, "answer-has-the-form", "invalid"),
    wrong(undeclared_set, "sets-as-declared", "invalid"),
    wrong(returns_one_of_its_set, "sets-as-declared", returns_sets=True),
    wrong(loses_its_set, "reported-set-kept", returns_sets=True, handles=BUT_RELATIONS[:2]),
    wrong(not_finite, "answer-is-finite", "invalid"),
    wrong(outside, "answer-inside-intervals", "invalid"),
    wrong(no_codes, "categories-are-codes", "invalid"),
    wrong(x_itself, "answer-of-the-target-class", "invalid"),
    wrong(rounds, "judged-alike", "invalid"),
    wrong(ignores_constraints, "constraints-obeyed"),
    wrong(changes_what_is_fixed, "constraints-obeyed"),
    wrong(ignores_relations, "relations-kept", handles=EVERYTHING),
    wrong(drops_what_breaks_relations, "relations-kept", handles=EVERYTHING),
    wrong(shifts_the_box, "projection-feasible"),
    wrong(ignores_objectives, "objective-used"),
    wrong(trusts_its_luck, "luck-not-returned"),
    wrong(tries_its_luck_again, "luck-not-returned"),
    wrong(ignores_rng, "same-rng-same-answer"),
    wrong(draws_from_numpy, "global-generators-untouched"),
    wrong(draws_from_python, "global-generators-untouched"),
    wrong(writes_into_x, "problem-not-mutated", "crashed"),
    wrong(forces_its_way_into_x, "problem-not-mutated"),
    wrong(widens_the_space, "problem-not-mutated"),
    wrong(frees_a_feature, "problem-not-mutated", "crashed"),
    wrong(moves_the_target, "problem-not-mutated"),
    wrong(bypasses_the_meter, "meter-not-bypassed", status="invalid"),
    wrong(prints, "prints-nothing"),
    wrong(prints_past_python, "prints-nothing"),
    wrong(eats_signals, "signals-left-alone"),
    wrong(swallows_ctrl_c, "interrupts-pass"),
    wrong(takes_training_data, "asks-only-for-what-it-declares", "crashed"),
    wrong(ignores_steps, "integer-features"),
    wrong(any_other_class, "three-classes"),
    wrong(scales_all_numbers_at_once, "all-categorical-features"),
    wrong(encodes_all_categories_at_once, "all-numerical-features"),
    wrong(crosses_at_two_places, "one-feature"),
    wrong(rounds_everything, "tiny-ranges"),
    wrong(counts_in_int32, "huge-ranges"),
    wrong(ReturnsItsSettings, "preparation-is-sound", "failed"),
    wrong(SortsTheFold, "preparation-is-sound", "failed", needs=[Need.TRAINING_DATA]),
    wrong(CountsPreparations, "preparation-is-repeatable"),
    wrong(RemembersPoints, "points-are-independent"),
    wrong(divides_by_deviation, "constant-features", needs=[Need.TRAINING_DATA]),
)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield SearcherEntry(name="honest", searcher=honest, handles=EVERYTHING)
    yield from (one.entry for one in WRONG)
