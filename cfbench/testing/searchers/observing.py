"""Running one search, as the harness does, and looking at it from all sides."""

from __future__ import annotations

import traceback
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np

from cfbench.contracts import ObjectiveContext, Searcher
from cfbench.entries import Need, SearcherEntry
from cfbench.errors import BudgetExhausted, CfbenchError
from cfbench.harness.judge import Judge, Verdict
from cfbench.harness.seeds import guarded_randomness
from cfbench.harness.signal_guard import put_back, signal_state
from cfbench.oracle import Meter
from cfbench.outcome import CounterfactualSet
from cfbench.problem import Problem, SearchBudget, TrainingFold, trace_of
from cfbench.space import FloatArray
from cfbench.testing.cases import Case
from cfbench.testing.rules import Counted
from cfbench.testing.searchers.observation import Ending, Guilt, Observation
from cfbench.testing.searchers.surroundings import Output, generator_states

OBJECTIVE_STREAM = 7
"""The key of the objectives' own random stream in all checks."""


def observe(
    entry: SearcherEntry,
    searcher: Searcher | None,
    case: Case,
    *,
    output: Output,
    seed: int = 1,
    interrupt: bool = False,
) -> Observation:
    """Run one search, as the harness does, and look at it from all sides.

    Parameters
    ----------
    entry : SearcherEntry
    searcher : Searcher or None
        None where the entry holds a plain function.
    case : Case
    output : Output
        Where this process's stdout goes.
    seed : int
        Of the searcher's generator.
    interrupt : bool
        Whether Ctrl-C is pressed during its first question.
    """
    counted = Counted(case.asked.oracle(), interrupt=interrupt)
    budget = entry.default_budget if case.max_queries is None else case.max_queries
    meter = Meter(counted, case.space.d, budget)
    training = case.training()
    problem = _problem(entry, case, meter, training, budget)
    before, signals = _snapshot(problem, training), signal_state()
    answer: object = None
    ending, error, guilt = Ending.RETURNED, "", None
    output.discard()
    with guarded_randomness(np.random.SeedSequence(seed)):
        generators = generator_states()
        rng = np.random.default_rng(seed)
        try:
            answer = searcher.search(problem, rng) if searcher is not None else entry.searcher(problem, rng)  # type: ignore[call-arg] # a plain function
        except BudgetExhausted:
            ending = Ending.BUDGET
        except (Exception, SystemExit, KeyboardInterrupt) as raised:
            if interrupt and isinstance(raised, KeyboardInterrupt):
                ending = Ending.INTERRUPTED
            else:
                ending, error, guilt = Ending.RAISED, _where(raised), _guilt(raised)
        touched = tuple(name for name, state in generator_states().items() if state != generators[name])
    printed = output.text()
    asked, metered = counted.rows, meter.search_queries + meter.robustness_queries
    changed = tuple(name for name, state in _snapshot(problem, training).items() if state != before[name])
    verdict = _judge(case).verdict(answer, returns_sets=entry.returns_sets) if ending is Ending.RETURNED else None
    return Observation(
        ending=ending,
        error=error,
        guilt=guilt,
        is_set=isinstance(answer, CounterfactualSet),
        is_none=answer is None,
        rows=None if verdict is None else verdict.candidates,
        classes=_classes(case, verdict),
        verdict=verdict,
        rounded=_rounded(case, verdict, trace_of(problem).best_asked),
        is_luckiest=_is_luckiest(problem, verdict),
        asked=asked,
        metered=metered,
        changed=changed,
        generators=touched,
        signals=put_back(signals),
        printed=printed,
    )


def _context(case: Case, meter: Meter | None = None) -> ObjectiveContext:
    return ObjectiveContext(
        x=np.array(case.x, dtype=np.float64),
        target=case.target,
        space=case.space,
        predict=case.asked.predict if meter is None else meter.predict_for_objective,
        stream=OBJECTIVE_STREAM,
    )


def _problem(entry: SearcherEntry, case: Case, meter: Meter, training: TrainingFold, budget: int | None) -> Problem:
    declared = {*entry.needs, *entry.can_use}
    context = _context(case, meter)
    return Problem(
        context.x,
        case.target,
        case.space,
        meter,
        constraints=case.constraints,
        respect_steps=case.respect_steps,
        budget=SearchBudget(budget),
        term=None if case.objective is None else case.objective.bind(context),
        term_rows=0 if case.objective is None else case.objective.rows_per_candidate(),
        term_draws=0 if case.objective is None else case.objective.draws_per_candidate(),
        probabilities=Need.PROBABILITIES in declared,
        training=training if Need.TRAINING_DATA in declared else None,
        model=case.asked if Need.MODEL_STRUCTURE in declared else None,
    )


def _judge(case: Case) -> Judge:
    context = _context(case)
    return Judge(
        x=context.x,
        target=case.target,
        space=case.space,
        oracle=case.asked.oracle(),
        constraints=case.constraints,
        respect_steps=case.respect_steps,
        term=None if case.objective is None else case.objective.bind(context),
    )


def _classes(case: Case, verdict: Verdict | None) -> tuple[int, ...]:
    """Return what the model says of the answer's rows; -1 for a row that cannot be asked about."""
    rows = None if verdict is None else verdict.candidates
    if rows is None:
        return ()
    classes = np.full(len(rows), -1)
    finite = np.isfinite(rows).all(axis=1)
    if finite.any():
        classes[finite] = case.asked.predict(rows[finite])
    return tuple(int(code) for code in classes)


def _is_luckiest(problem: Problem, verdict: Verdict | None) -> bool | None:
    """Say whether a valid answer is the candidate with the smallest single value; None where there is no choice."""
    evaluated = trace_of(problem).by_value.rows
    if not problem.has_draws or len(evaluated) < 2 or verdict is None or verdict.z is None or verdict.loss is None:
        return None
    return np.array_equal(verdict.z, evaluated[0])


def _rounded(case: Case, verdict: Verdict | None, best_asked: FloatArray | None) -> str:
    """Say that a rejected answer is the best row that was asked, but for a millionth of its values or of a range."""
    if verdict is None or verdict.z is None or verdict.loss is not None or best_asked is None:
        return ""
    off = np.abs(verdict.z - best_asked) / np.maximum(case.space.ranges, np.abs(best_asked))
    if not np.all(off <= 1e-6):
        return ""
    i = int(np.argmax(off))
    feature = case.space.features[i]
    return (
        f"it asked about {feature.name} = {float(best_asked[i])!r} and was told the target class, but returned "
        f"{float(verdict.z[i])!r}, which the judge rejects: {verdict.reason}"
    )


def _snapshot(problem: Problem, training: TrainingFold) -> dict[str, object]:
    """Write down all of a problem that a searcher has no business to change."""
    space = problem._space  # as it stands now; `space` could have been replaced on the instance
    arrays = {
        "x": problem._x,
        "space.lower": space.lower,
        "space.upper": space.upper,
        "space.ranges": space.ranges,
        "space.is_categorical": space.is_categorical,
        "space.n_categories": space.n_categories,
        "training.X": training.X,
        "training.y": training.y,
    }
    return {
        **{name: array.tobytes() for name, array in arrays.items()},
        "space.features": repr(space.features),
        "target": problem._target,
        "constraints": problem._constraints,
        "respect_steps": problem._respect_steps,
        "budget": repr(problem._budget),
        "the price of a candidate": (problem._term_rows, problem._term_draws),
        "the ways to the model": (id(problem._meter), id(problem._term), id(problem._model), id(problem._training)),
    }


def _guilt(error: BaseException) -> Guilt:
    text = str(error)
    if isinstance(error, FrozenInstanceError) or "read-only" in text or "has no setter" in text:
        return Guilt.MUTATION
    if type(error) is CfbenchError and "did not declare" in text:
        return Guilt.UNDECLARED
    return Guilt.OTHER


def _where(error: BaseException) -> str:
    """Name an exception, and the line outside cfbench's core where it came from."""
    core = str(Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if not frame.filename.startswith(core)), None)
    place = f" ({Path(last.filename).name}:{last.lineno})" if last else ""
    return f"{type(error).__name__}: {error}{place}"
