"""Running one search as the harness does, and recording everything that it does."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import traceback
from dataclasses import FrozenInstanceError, dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from cfbench.errors import BudgetExhausted, CfbenchError
from cfbench.problem.oracle import Meter
from cfbench.problem.outcome import CounterfactualSet
from cfbench.problem.problem import Problem, SearchBudget, TrainingFold, trace_of
from cfbench.registry.contracts import ObjectiveContext, Searcher
from cfbench.registry.entries import Need, SearcherEntry
from cfbench.running.judge import Judge, Verdict
from cfbench.running.search import put_back, signal_state
from cfbench.space.space import FloatArray
from cfbench.study.protocol import guarded_randomness
from cfbench.testing.problems import Case, Counted

LONGEST_OUTPUT = 60
"""Characters of a searcher's output that a message repeats."""


class Output:
    """Takes over this process's stdout, file descriptor included, so that whatever comes out can be read.

    For child processes: stdout is not given back.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        sys.stdout.flush()
        os.dup2(self._file.fileno(), 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        self._start = 0

    def discard(self) -> None:
        """Forget what came out until now."""
        sys.stdout.flush()
        self._start = os.fstat(self._file.fileno()).st_size

    def text(self) -> str:
        """Return what came out since, shortened."""
        sys.stdout.flush()
        found = os.pread(self._file.fileno(), 4 * LONGEST_OUTPUT, self._start).decode("utf-8", errors="replace")
        return found if len(found) <= LONGEST_OUTPUT else f"{found[: LONGEST_OUTPUT - 3]}..."


def generator_states() -> dict[str, object]:
    """Return the states of the global generators that plugins may have touched."""
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - the state that plugins may have touched
    assert isinstance(keys, np.ndarray)
    return {"numpy's": (kind, keys.tobytes(), *rest), "Python's": random.getstate()}


class Ending(StrEnum):
    """How a search came to its end."""

    RETURNED = "returned"
    RAISED = "raised"
    BUDGET = "let BudgetExhausted pass"
    INTERRUPTED = "let Ctrl-C pass"
    NEVER = "never returned"
    DIED = "killed its process"


class ErrorKind(StrEnum):
    """What an exception out of a searcher tells of it."""

    MUTATION = "it tried to change the problem"
    UNDECLARED = "it used what it did not declare"
    OTHER = "it raised"


@dataclass(frozen=True, eq=False)
class Observation:
    """What was seen of one search; picklable, whatever the searcher returned.

    Parameters
    ----------
    ending : Ending
    error : str
        What it raised and where, or how its process died; empty where it returned.
    error_kind : ErrorKind or None
        What the exception tells; None without one.
    is_set, is_none : bool
        Whether it returned a CounterfactualSet, and whether None.
    rows : ndarray of float64, shape (k, d), or None
        The result's rows; None if the result is None or malformed.
    classes : tuple of int
        The model's class of each of `rows`; -1 for a row that cannot be classified.
    verdict : Verdict or None
        The judge's verdict; None if the search did not end by itself.
    rounded : str
        Why the result seems to be a rounded form of a queried row; empty if it does not.
    is_luckiest : bool or None
        Whether the answer is the candidate with the smallest single value, under an objective with draws. None if there
        is no valid answer, or if fewer than two candidates of the target class were evaluated.
    asked, metered : int
        Rows that the model classified, and rows that the meter counted.
    changed : tuple of str
        Parts of the problem that are not what they were.
    generators : tuple of str
        Global generators that are not in the state in which they were.
    signals : tuple of str
        Signals whose handling is not what it was.
    printed : str
        What came out on stdout, shortened.
    """

    ending: Ending
    error: str = ""
    error_kind: ErrorKind | None = None
    is_set: bool = False
    is_none: bool = False
    rows: FloatArray | None = None
    classes: tuple[int, ...] = ()
    verdict: Verdict | None = None
    rounded: str = ""
    is_luckiest: bool | None = None
    asked: int = 0
    metered: int = 0
    changed: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    printed: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the search ended by itself: with an answer, or by letting an exhausted budget pass."""
        return self.ending in (Ending.RETURNED, Ending.BUDGET)

    def difference_from(self, other: Observation) -> str:
        """Say in which respect another search went another way; empty: in none that a record would show."""
        if self.ending is not other.ending:
            return f"one {self.ending}, the other {other.ending}"
        if self.error != other.error:
            return f"one raised {self.error}, the other {other.error}"
        if (self.rows is None) != (other.rows is None):
            return "one returned an answer, the other none"
        if self.rows is not None and other.rows is not None and self.rows.tobytes() != other.rows.tobytes():
            return f"one answer is {_first(self.rows)}, the other {_first(other.rows)}"
        if self.asked != other.asked:
            return f"one search made {self.asked} queries, the other {other.asked}"
        return ""


def never_returned(limit: float) -> Observation:
    """Return what is known of a search that was killed after `limit` seconds."""
    return Observation(Ending.NEVER, f"it had not returned after {limit:g} s, and its process was killed")


def died(death_reason: str) -> Observation:
    """Return what is known of a search whose process ended."""
    return Observation(Ending.DIED, death_reason)


def _first(rows: FloatArray) -> str:
    return "[" + ", ".join(repr(float(value)) for value in rows[0]) + "]" if len(rows) else "an empty set"


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
        Whether Ctrl-C is pressed during its first query.
    """
    counted = Counted(case.asked.oracle(), interrupt=interrupt)
    budget = entry.default_budget if case.max_queries is None else case.max_queries
    meter = Meter(counted, case.space.d, budget)
    training = case.training()
    problem = _problem(entry, case, meter, training, budget)
    before, signals = _snapshot(problem, training), signal_state()
    answer: object = None
    ending, error, error_kind = Ending.RETURNED, "", None
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
                ending, error, error_kind = Ending.RAISED, _where(raised), _error_kind(raised)
        touched = tuple(name for name, state in generator_states().items() if state != generators[name])
    printed = output.text()
    asked, metered = counted.rows, meter.search_queries + meter.robustness_queries
    changed = tuple(name for name, state in _snapshot(problem, training).items() if state != before[name])
    verdict = _judge(case).verdict(answer, returns_sets=entry.returns_sets) if ending is Ending.RETURNED else None
    return Observation(
        ending=ending,
        error=error,
        error_kind=error_kind,
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
    """Return the model's classes of the result's rows; -1 for a row that cannot be classified."""
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
    """Say that a rejected result is the best queried row, but for a millionth of its values or of a range."""
    if verdict is None or verdict.z is None or verdict.loss is not None or best_asked is None:
        return ""
    off = np.abs(verdict.z - best_asked) / np.maximum(case.space.ranges, np.abs(best_asked))
    if not np.all(off <= 1e-6):
        return ""
    i = int(np.argmax(off))
    feature = case.space.features[i]
    return (
        f"it queried {feature.name} = {float(best_asked[i])!r}, which has the target class, but returned "
        f"{float(verdict.z[i])!r}, which the judge rejects: {verdict.reason}"
    )


def _snapshot(problem: Problem, training: TrainingFold) -> dict[str, object]:
    """Copy everything of a problem that a searcher must not change."""
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


def _error_kind(error: BaseException) -> ErrorKind:
    text = str(error)
    if isinstance(error, FrozenInstanceError) or "read-only" in text or "has no setter" in text:
        return ErrorKind.MUTATION
    if type(error) is CfbenchError and "did not declare" in text:
        return ErrorKind.UNDECLARED
    return ErrorKind.OTHER


def _where(error: BaseException) -> str:
    """Name an exception, and the line outside cfbench's core where it came from."""
    core = str(Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if not frame.filename.startswith(core)), None)
    place = f" ({Path(last.filename).name}:{last.lineno})" if last else ""
    return f"{type(error).__name__}: {error}{place}"
