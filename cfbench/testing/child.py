"""Searches in child processes, and everything that is seen of them.

If a searcher hangs, dies or ignores signals, only its child process is lost.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, replace
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench.errors import BudgetExhausted, NotDeclaredError
from cfbench.problem.access import ModelAccess, TrainingFold
from cfbench.problem.oracle import Meter
from cfbench.problem.outcome import CounterfactualSet, Status
from cfbench.problem.problem import Problem, SearchBudget, trace_of
from cfbench.registry.contracts import Objective, ObjectiveContext, PrepareContext, Searcher, SearchFunction
from cfbench.registry.discovery import FILE_MODULE, failure, import_file
from cfbench.registry.entries import SearcherEntry
from cfbench.running.crashes import crash_reason
from cfbench.running.executors.child import ONE_THREAD, ChildProcess, environment
from cfbench.running.judge import Judge, Verdict
from cfbench.running.search import CountingOracle, put_back, signal_state
from cfbench.space.space import FloatArray
from cfbench.study.protocol import guarded_randomness
from cfbench.study.variants import build_settings
from cfbench.testing.check import generator_states
from cfbench.testing.problems import Case

START_LIMIT = 120.0
"""Seconds that a child may take to import what it needs."""

LONGEST_OUTPUT = 60
"""Characters of a searcher's output that a message repeats."""

OBJECTIVE_STREAM = 7
"""The key of the objectives' own random stream in all checks."""

HAS_FORKSERVER = "forkserver" in multiprocessing.get_all_start_methods()


class UnfitEntry(Exception):
    """The entry did not arrive in the child: the message says why."""


class Ending(StrEnum):
    """How a search ended."""

    RETURNED = "returned"
    RAISED = "raised"
    BUDGET = "let BudgetExhausted pass"
    INTERRUPTED = "let Ctrl-C pass"
    NEVER = "never returned"
    DIED = "killed its process"


@dataclass(frozen=True, eq=False)
class Observation:
    """What was seen of one search.

    `faults` has a sentence for each check that is there for a fault of this search. `rows`, shape (k, d), is None
    without a result of the right form. `z` is the counterfactual that the judge chose, None if there is none.
    `is_luckiest` says under an objective with draws whether `z` is the candidate with the smallest single value; None
    if fewer than two candidates of the target class were evaluated. If the query
    budget ended the search, `reported` is the set that was reported last, and `lost` has its valid rows that the
    returned set does not have; otherwise both are None. `generators` names the global generators that the
    search left in another state. `repeat_difference` says how the search differed from the same one before it, with one
    preparation; empty if it did not, or was made once.
    """

    ending: Ending
    faults: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    rows: FloatArray | None = None
    z: FloatArray | None = None
    is_set: bool = False
    reported: FloatArray | None = None
    lost: FloatArray | None = None
    is_luckiest: bool | None = None
    queries: int = 0
    prepare_queries: int = 0
    repeat_difference: str = ""
    generators: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the search ended by itself: with a result, or by letting an exhausted budget pass."""
        return self.ending in (Ending.RETURNED, Ending.BUDGET)

    def difference_from(self, other: Observation) -> str:
        """Say how another search differs in what a record would show; empty if it does not."""
        if self.ending is not other.ending:
            return f"one {self.ending}, the other {other.ending}"
        if self.error != other.error:
            return f"one raised {self.error}, the other {other.error}"
        mine, theirs = (str(None if rows is None else rows.tolist()) for rows in (self.rows, other.rows))
        if mine != theirs:
            return f"one result is {mine}, the other {theirs}"
        if self.queries != other.queries:
            return f"one search made {self.queries} queries, the other {other.queries}"
        if self.prepare_queries != other.prepare_queries:
            return f"one preparation made {self.prepare_queries} queries, the other {other.prepare_queries}"
        return ""


class Child:
    """One process that runs searches of one searcher, one at a time.

    It is forked, where the system can do that, from a server that has imported cfbench; that takes a hundredth of the
    time. A `fresh_interpreter` is spawned, with a hash seed of its own. Raises UnfitEntry if the entry cannot be
    pickled, or not unpickled there.
    """

    def __init__(self, entry: SearcherEntry, settings: Mapping[str, Any], *, fresh_interpreter: bool = False) -> None:
        try:
            pickled = pickle.dumps(entry)
        except Exception as error:  # pickle raises whatever it meets
            raise UnfitEntry(f"it cannot be pickled: {type(error).__name__}: {error}") from error
        # Modules made from a user's file have names that no import finds.
        module = sys.modules.get(getattr(entry.searcher, "__module__", ""))
        file = module.__file__ if module is not None and module.__name__.startswith(FILE_MODULE) else None
        method = "spawn" if fresh_interpreter or not HAS_FORKSERVER else "forkserver"
        if method == "forkserver":
            multiprocessing.get_context(method).set_forkserver_preload([__name__])
        # Another hash seed gives another order of sets.
        other_hash = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        with environment(ONE_THREAD | ({"PYTHONHASHSEED": other_hash} if fresh_interpreter else {})):
            self._process = ChildProcess(_serve, (file, pickled, dict(settings)), method=method, daemon=True)
        try:
            complaint = self._process.receive(START_LIMIT)
        except TimeoutError:
            complaint = f"a child process could not be started with it: it took more than {START_LIMIT:g} s"
        except EOFError:
            complaint = f"a child process could not be started with it: {self._process.death_reason()}"
        if complaint:
            self.close()
            raise UnfitEntry(str(complaint))

    def observe(
        self, case: Case, *, time_limit: float, interrupt: bool = False, earlier: Sequence[Case] = ()
    ) -> Observation:
        """Run one search; past the limit, or if the process dies, the child is gone.

        The same preparation serves `earlier` cases before, which differ from `case` in their points alone.
        """
        self._process.send((case, interrupt, earlier))
        try:
            observation = self._process.receive(time_limit)
        except TimeoutError:
            self.close()
            why = f"it had not returned after {time_limit:g} s, and its process was killed"
            return Observation(Ending.NEVER, {"returns-in-time": why}, why)
        except EOFError:
            self.close()
            why = self._process.death_reason()
            return Observation(Ending.DIED, {"process-survives": why}, why)
        assert isinstance(observation, Observation)
        return observation

    @property
    def is_alive(self) -> bool:
        """Whether it can run another search."""
        return self._process.is_alive()

    def close(self) -> None:
        """Kill the process."""
        self._process.end()


def _serve(connection: Connection, file: str | None, pickled: bytes, settings: dict[str, Any]) -> None:
    """Run in the child: unpack the entry, report the result, run searches until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    output = _Output()
    threadpool_limits(1)
    try:
        if file is not None:
            import_file(Path(file))
        entry = pickle.loads(pickled)  # noqa: S301 - packed by the process that started this one
        is_class = isinstance(entry.searcher, type)
        searcher: Searcher | None = build_settings(entry.searcher, settings, entry.name) if is_class else None
    except Exception as error:
        connection.send(f"it cannot be unpickled in another process: {failure(error)}")
        return
    connection.send("")
    while True:
        try:
            case, interrupt, earlier = connection.recv()
        except EOFError:
            return
        connection.send(_observe(entry, searcher, case, output, interrupt=interrupt, earlier=earlier))


class _Output:
    """Redirects this process's stdout, file descriptor included, to a file, for good."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        sys.stdout.flush()
        os.dup2(self._file.fileno(), 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        self._start = 0

    def discard(self) -> None:
        """Forget what was written until now."""
        sys.stdout.flush()
        self._start = os.fstat(self._file.fileno()).st_size

    def text(self) -> str:
        """Return what was written since, shortened."""
        sys.stdout.flush()
        found = os.pread(self._file.fileno(), 4 * LONGEST_OUTPUT, self._start).decode("utf-8", errors="replace")
        return found if len(found) <= LONGEST_OUTPUT else f"{found[: LONGEST_OUTPUT - 3]}..."


class _Interrupted:
    """An oracle whose queries end as if Ctrl-C had been pressed."""

    def predict(self, Z: FloatArray) -> NoReturn:  # noqa: ARG002 - an oracle receives it
        raise KeyboardInterrupt

    predict_proba = predict


class _RefusalMeter(Meter):
    """A meter that knows whether the budget has ended the search."""

    has_refused = False

    def require(self, rows: int) -> None:
        """Raise BudgetExhausted if `rows` more rows would exceed the query budget."""
        try:
            super().require(rows)
        except BudgetExhausted:
            self.has_refused = True
            raise


class _LossAlone(Objective):
    """The objective of cases that name none."""

    def bind(self, context: ObjectiveContext) -> None:
        """Add no term."""


def _prepared(
    entry: SearcherEntry, searcher: Searcher | None, case: Case, training: TrainingFold
) -> tuple[SearchFunction, int]:
    """Prepare a case's searches as the harness does; return the function that searches, and the queries made.

    `searcher` is None if the entry holds a plain function.
    """
    if searcher is None:
        return entry.function, 0
    meter = Meter(case.queried.oracle(), case.space.d)
    needs = {*entry.needs, *entry.can_use}
    with guarded_randomness(np.random.SeedSequence(2)):
        states = generator_states()
        search = searcher.prepare(
            PrepareContext(
                space=case.space,
                target=case.target,
                access=ModelAccess(case.space, case.target, meter, needs, training, case.queried),
                rng=np.random.default_rng(2),
                objective=case.objective or _LossAlone(),
                constraints=case.constraints,
                respect_steps=case.respect_steps,
            )
        )
        changed = [name for name, state in generator_states().items() if state != states[name]]
    meter.close("the preparation is over: in a search, query the model through the problem, which counts its queries")
    if not callable(search):
        raise TypeError(f"`prepare` returned {type(search).__name__}, not a function search(problem, rng)")
    if changed:
        raise RuntimeError(f"after `prepare`, not as they were: {', '.join(changed)}")
    return search, meter.search_queries


def _observe(
    entry: SearcherEntry,
    searcher: Searcher | None,
    case: Case,
    output: _Output,
    *,
    interrupt: bool,
    earlier: Sequence[Case] = (),
) -> Observation:
    """Run one search, as the harness does, after searches on `earlier` cases with the same preparation.

    If the last of them is the case itself, the two searches on it are compared.
    """
    output.discard()
    training = case.training()
    try:
        search, prepare_queries = _prepared(entry, searcher, case, training)
    except (Exception, SystemExit, KeyboardInterrupt) as raised:
        error = crash_reason(raised)
        check = _check_of(raised)
        check = check if check == "asks-only-for-what-it-declares" else "preparation-is-sound"
        return Observation(Ending.RAISED, {check: f"its preparation raised {error}"}, error)
    before = None
    for other in earlier:
        before = _observe_search(entry, search, other, training, output, interrupt=interrupt)
    found = _observe_search(entry, search, case, training, output, interrupt=interrupt)
    differs = before is not None and earlier[-1] is case
    difference = found.difference_from(before) if differs and before is not None else ""
    return replace(found, prepare_queries=prepare_queries, repeat_difference=difference)


def _observe_search(
    entry: SearcherEntry,
    search: SearchFunction,
    case: Case,
    training: TrainingFold,
    output: _Output,
    *,
    interrupt: bool,
) -> Observation:
    """Run one search with a prepared function."""
    oracle = CountingOracle(_Interrupted() if interrupt else case.queried.oracle())
    budget = entry.default_budget if case.max_queries is None else case.max_queries
    meter = _RefusalMeter(oracle, case.space.d, budget)
    problem = _problem(entry, case, meter, training, budget)
    before, signals = _snapshot(problem, training), signal_state()
    answer: object = None
    ending, error = Ending.RETURNED, ""
    faults: dict[str, str] = {}
    with guarded_randomness(np.random.SeedSequence(1)):
        states, rng = generator_states(), np.random.default_rng(1)
        try:
            answer = search(problem, rng)
        except BudgetExhausted:
            ending = Ending.BUDGET
        except (Exception, SystemExit, KeyboardInterrupt) as raised:
            ending, error = Ending.RAISED, crash_reason(raised)
            if interrupt and isinstance(raised, KeyboardInterrupt):
                ending = Ending.INTERRUPTED
            else:
                faults[_check_of(raised)] = f"it raised {error}"
        generators = tuple(name for name, state in generator_states().items() if state != states[name])
    queries, metered = oracle.rows + meter.gradient_queries, meter.search_queries + meter.robustness_queries
    changed = [name for name, state in _snapshot(problem, training).items() if state != before[name]]
    changed_signals, printed = put_back(signals), output.text()
    if changed:
        faults["problem-not-mutated"] = f"after the search, not as they were: {', '.join(changed)}"
    if queries != metered:
        faults["meter-not-bypassed"] = f"the model classified {queries} rows, and the meter counted {metered}"
    if changed_signals:
        faults["signals-left-alone"] = f"after the search, not as they were: {', '.join(changed_signals)}"
    if printed:
        faults["prints-nothing"] = f"it wrote to stdout: {printed!r}"
    infeasible = "" if changed else _infeasible_projections(problem, case)
    if infeasible:
        faults["projection-feasible"] = infeasible
    reported = trace_of(problem).reported if meter.has_refused else None
    lost = _lost_rows(case, reported, answer) if reported is not None and ending is Ending.RETURNED else None
    verdict = _verdict(case, answer, returns_sets=entry.returns_sets)
    if verdict.status is Status.INVALID:
        is_undeclared_set = isinstance(answer, CounterfactualSet) and not entry.returns_sets
        faults |= _fault_of_answer(verdict, case, trace_of(problem).best_asked, is_undeclared_set=is_undeclared_set)
    z = verdict.z if verdict.status is Status.FOUND else None
    evaluated = trace_of(problem).by_value.rows
    has_choice = problem.has_draws and len(evaluated) >= 2 and z is not None
    return Observation(
        ending,
        faults,
        error,
        rows=verdict.candidates,
        z=z,
        is_set=isinstance(answer, CounterfactualSet),
        reported=reported,
        lost=lost,
        is_luckiest=np.array_equal(z, evaluated[0]) if has_choice and z is not None else None,
        queries=queries,
        generators=generators,
    )


def _lost_rows(case: Case, reported: FloatArray, answer: object) -> FloatArray:
    """Return the valid rows of the reported set that are not in the searcher's answer."""
    feasible = case.space.is_feasible(
        reported, np.array(case.x), constraints=case.constraints, respect_steps=case.respect_steps
    )
    valid = reported[feasible]
    valid = valid[case.queried.predict(valid) == case.target] if len(valid) else valid
    kept = {row.tobytes() for row in answer.Z} if isinstance(answer, CounterfactualSet) else set()
    return valid[[row.tobytes() not in kept for row in valid]]


def _infeasible_projections(problem: Problem, case: Case) -> str:
    """Say which of the rows that a problem projects, repairs and draws are infeasible; empty if none are."""
    space, x, rng = case.space, np.array(case.x), np.random.default_rng(2)
    Z = rng.normal(space.lower, space.upper - space.lower, size=(50, space.d))
    for name, rows in (("repair", Problem.repair(problem, Z)), ("sample", Problem.sample(problem, 50, rng))):
        feasible = space.is_feasible(rows, x, constraints=case.constraints, respect_steps=case.respect_steps)
        if not feasible.all():
            row = rows[np.argmin(feasible)]
            return f"after the search, problem.{name} returned the infeasible row {row.tolist()}"
    return ""


def _context(case: Case, meter: Meter | None = None) -> ObjectiveContext:
    return ObjectiveContext(
        x=np.array(case.x, dtype=np.float64),
        target=case.target,
        space=case.space,
        predict=case.queried.predict if meter is None else meter.predict_for_objective,
        stream=OBJECTIVE_STREAM,
    )


def _problem(entry: SearcherEntry, case: Case, meter: Meter, training: TrainingFold, budget: int | None) -> Problem:
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
        needs={*entry.needs, *entry.can_use},
        training=training,
        model=case.queried,
    )


def _verdict(case: Case, answer: object, *, returns_sets: bool) -> Verdict:
    context = _context(case)
    judge = Judge(
        x=context.x,
        target=case.target,
        space=case.space,
        oracle=case.queried.oracle(),
        constraints=case.constraints,
        respect_steps=case.respect_steps,
        term=None if case.objective is None else case.objective.bind(context),
    )
    return judge.verdict(answer, returns_sets=returns_sets)


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
        "budget": problem._budget,
    }


def _check_of(error: BaseException) -> str:
    """Return the check that is there for an exception."""
    text = str(error)
    if isinstance(error, FrozenInstanceError) or "read-only" in text or "has no setter" in text:
        return "problem-not-mutated"
    if isinstance(error, NotDeclaredError):
        return "asks-only-for-what-it-declares"
    return "raises-nothing"


def _fault_of_answer(
    verdict: Verdict, case: Case, best_queried: FloatArray | None, *, is_undeclared_set: bool
) -> dict[str, str]:
    """Return the check that is there for an invalid result, with a sentence about its first row."""
    z = verdict.z
    if z is None:
        return {"sets-as-declared" if is_undeclared_set else "answer-has-the-form": verdict.reason}
    if best_queried is not None:
        off = np.abs(z - best_queried) / np.maximum(case.space.ranges, np.abs(best_queried))
        if np.all(off <= 1e-6):  # a NaN is not
            i = int(np.argmax(off))
            return {
                "judged-alike": (
                    f"it queried {case.space.names[i]} = {float(best_queried[i])!r}, which has the target class, but "
                    f"returned {float(z[i])!r}, which the judge rejects: {verdict.reason}"
                )
            }
    return {_check_of_row(z, case): verdict.reason}


def _check_of_row(z: FloatArray, case: Case) -> str:
    """Return the check that is there for the first value of `z` that is not allowed, or for its class."""
    space, x = case.space, np.array(case.x)
    lower, upper = space.feasible_bounds(x)
    not_allowed = {
        "answer-is-finite": ~np.isfinite(z),
        "answer-inside-intervals": (z < space.lower) | (z > space.upper),
        "categories-are-codes": space.is_categorical & (z != np.floor(z)),
        "constraints-obeyed": ((z < lower) | (z > upper)) & case.constraints,
    }
    features = np.flatnonzero(np.any(list(not_allowed.values()), axis=0))
    if len(features):
        return next(check for check, where in not_allowed.items() if where[features[0]])
    if case.constraints and not space.keeps_relations(z[np.newaxis], x)[0]:
        return "relations-kept"
    feasible = space.is_feasible(z[np.newaxis], x, constraints=False, respect_steps=case.respect_steps)[0]
    return "answer-of-the-target-class" if feasible else "integer-features"
