"""One search: the problem is set up, the searcher is called, its answer is judged, and all of it becomes a row.

What the searcher does to its process (copies of it, output, signal handlers) ends with the search, and a second count
behind the meter notices every way past it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from cfbench.errors import BudgetExhausted, CfbenchError, NoFeasibleRowError, UnavailableError
from cfbench.problem.access import Need, TrainingFold
from cfbench.problem.distances import FastCandidateMeasure
from cfbench.problem.oracle import MemoOracle, Meter, Oracle, predict_neighbours
from cfbench.problem.outcome import CounterfactualSet, Status
from cfbench.problem.problem import Problem, SearchBudget, trace_of
from cfbench.problem.trace import Trace
from cfbench.registry.contracts import FittedModel, Objective, ObjectiveContext, SearchFunction
from cfbench.registry.entries import SearcherEntry
from cfbench.robustness.neighbours import KNeighbours
from cfbench.running.crashes import crash_reason
from cfbench.running.interrupt import was_asked_for
from cfbench.running.judge import Judge, Verdict
from cfbench.running.terms import bound_term, declared_counts
from cfbench.space.dataset import Dataset, Fold
from cfbench.space.space import FloatArray, IntArray
from cfbench.study.plan import Cell
from cfbench.study.protocol import SearchName, guarded_randomness


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Send a plugin's output to standard error, and end every copy of this process that the plugin made.

    Standard output is for what the user asked for. A copy that went on would run the rest of the study a second time,
    and write into the same record.
    """
    number = os.getpid()
    try:
        with contextlib.redirect_stdout(sys.stderr), _descriptor_beside():
            yield
    finally:
        if os.getpid() != number:
            os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def _descriptor_beside() -> Iterator[None]:
    """Send what compiled code writes to standard output to standard error; where one is closed, nothing happens."""
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


class CountingOracle:
    """An oracle that counts the rows that reach it and answers as the one behind it."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.rows = 0
        self.fault: Exception | None = None
        """The first error of the model, whatever the searcher made of it."""

    def predict(self, Z: FloatArray) -> IntArray:
        """Answer with class codes, shape (n,)."""
        self.rows += len(Z)
        with self._noticed():
            return self._oracle.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer with class probabilities, shape (n, n_classes)."""
        self.rows += len(Z)
        with self._noticed():
            return self._oracle.predict_proba(Z)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Answer with the class codes of K-neighbours, shape (n, m)."""
        self.rows += len(Z) * neighbours.m
        with self._noticed():
            return predict_neighbours(self._oracle, Z, neighbours)

    def model_fault(self) -> str:
        """Say how the model failed; empty if it did not.

        Raises UnavailableError if it is an endpoint that is down, which is not the result of a search.
        """
        if isinstance(self.fault, UnavailableError):
            raise self.fault
        if self.fault is None or isinstance(self.fault, CfbenchError):
            return str(self.fault or "")
        return f"the model raised {crash_reason(self.fault)}"

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:  # the query was too large
            raise
        except Exception as error:
            self.fault = self.fault or error
            raise


_TIMERS = {
    getattr(signal, timer): getattr(signal, number)
    for timer, number in (("ITIMER_REAL", "SIGALRM"), ("ITIMER_VIRTUAL", "SIGVTALRM"), ("ITIMER_PROF", "SIGPROF"))
    if hasattr(signal, timer)
}
"""Alarm clocks of a process, each with the signal that it sends."""

_ALARM, _MASK = "the alarm clock", "the blocked signals"


def signal_state() -> dict[str, Any]:
    """Return the handler of every signal, the signals that this thread blocks, and whether an alarm clock runs."""
    state: dict[str, Any] = {name: signal.getsignal(n) for n, name in _catchable()}
    if hasattr(signal, "pthread_sigmask"):
        state[_MASK] = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    if _TIMERS:
        state[_ALARM] = any(signal.getitimer(timer)[0] > 0 for timer in _TIMERS)
    return state


def put_back(before: Mapping[str, Any]) -> tuple[str, ...]:
    """Restore what `signal_state` returned before a plugin ran, and name all that had changed.

    An alarm clock that the plugin set is stopped, and its pending signals are dropped. Python restores handlers in the
    main thread only.
    """
    changed = tuple(name for name, state in signal_state().items() if state != before[name])
    if _ALARM in changed and not before[_ALARM]:
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
    if _MASK in changed:  # what the plugin's alarm clocks sent must not arrive when the signals are let through
        for n in signal.sigpending() & {*_TIMERS.values()} - before[_MASK]:
            signal.sigwait({n})
    for n, name in _catchable() if changed and _in_main_thread() else ():
        if name in changed and before[name] is not None:  # None: set from outside Python, which cannot be put back
            signal.signal(n, before[name])
    if _MASK in changed:
        signal.pthread_sigmask(signal.SIG_SETMASK, before[_MASK])
    return changed


@contextmanager
def guarded_signals() -> Iterator[None]:
    """Put signal handlers, blocked signals and alarm clocks back after a plugin.

    An alarm that goes off without a handler, which would end the process, raises RuntimeError instead.
    """
    before = signal_state()
    if _in_main_thread() and not before.get(_ALARM, False):
        for n in _TIMERS.values():
            if signal.getsignal(n) is signal.SIG_DFL:
                signal.signal(n, _raise_alarm)
    try:
        yield
    finally:
        put_back(before)


def _raise_alarm(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the form of a signal handler
    raise RuntimeError(f"{signal.Signals(number).name} came from an alarm clock that was set without a handler")


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@cache
def _catchable() -> tuple[tuple[int, str], ...]:
    """Return number and name of the signals that have a name and may be handled."""
    never = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
    named = {int(member): member.name for member in signal.Signals}
    return tuple(sorted((int(n), named[int(n)]) for n in signal.valid_signals() if n not in never and int(n) in named))


@dataclass(frozen=True)
class SearchTask:
    """One search of a cell.

    `point` is the position among the fold's eligible points, `row_id` the row of the data set.
    """

    cell: Cell
    point: int
    row_id: int
    repetition: int

    def seeds(self) -> SearchName:
        """What names the search's random streams."""
        cell = self.cell
        return SearchName(cell.seed, *cell.names, cell.fold, self.row_id, self.repetition)


@dataclass(frozen=True, eq=False)
class FittedFold:
    """What the searches of one model share."""

    dataset: Dataset
    fold: Fold
    model: FittedModel
    oracle: Oracle
    fingerprint: str
    training: TrainingFold | None

    def offers(self, entry: SearcherEntry) -> set[Need]:
        """Return what a searcher may use of the model and of the training fold: what it declares, if it is there."""
        absent = set() if getattr(self.model, "has_probabilities", True) else {Need.PROBABILITIES}
        return {*entry.needs, *entry.can_use} - absent


def run_search(
    task: SearchTask, fitted_fold: FittedFold, entry: SearcherEntry, search: SearchFunction, objective: Objective
) -> dict[str, Any]:
    """Run one search and return its row of ``SEARCH_SCHEMA``, whatever the searcher does."""
    cell, dataset, seed = task.cell, fitted_fold.dataset, task.seeds().searcher_seed()
    counting = CountingOracle(fitted_fold.oracle)
    meter = Meter(counting, dataset.space.d, cell.query_budget)
    answer: object = None
    with guarded_randomness(seed), chdir(Path.cwd()):
        context = _objective_context(task, fitted_fold, objective, task.seeds().objective_stream(), meter=meter)
        name = cell.objective.label
        term = bound_term(objective, name, context)
        term_rows, term_draws = declared_counts(objective, name)
        problem = Problem(
            context.x,
            context.target,
            context.space,
            meter,
            constraints=cell.constraints,
            respect_steps=cell.respect_steps,
            budget=SearchBudget(cell.query_budget, cell.time_limit),
            term=term,
            term_rows=0 if term is None else term_rows,
            term_draws=term_draws,
            needs=fitted_fold.offers(entry),
            training=fitted_fold.training,
            model=fitted_fold.model,
            measure=FastCandidateMeasure,
        )
        judge, rng = judge_of(task, fitted_fold, objective), np.random.default_rng(seed)
        exhausted, crash = False, ""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            with contained(), guarded_signals():  # an alarm that goes off at the end belongs to this search
                answer = search(problem, rng)
        except BudgetExhausted:
            exhausted = True
        except NoFeasibleRowError as error:
            problem.give_reason(str(error))
        except BaseException as error:  # a plugin's exit, or what its compiled parts raise, ends its own search alone
            if isinstance(error, KeyboardInterrupt) and was_asked_for():
                raise
            crash = crash_reason(error)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        fault = counting.model_fault()
        if term is not None and term.fault is not None and not fault:  # whatever the searcher made of it
            raise term.fault
        trace = trace_of(problem)
        if fault:
            verdict = Verdict(Status.INVALID, fault)
        elif crash:
            verdict = Verdict(Status.CRASHED, crash)
        elif exhausted:
            verdict = _after_budget(task, fitted_fold, entry, objective, problem, judge)
        else:
            verdict = judge.verdict(answer, returns_sets=entry.returns_sets)
            if verdict.status is Status.NOT_FOUND and trace.reason:
                verdict = replace(verdict, reason=trace.reason)
    verdict = _unless_changed(verdict, fitted_fold.oracle)
    queries = counting.rows + meter.gradient_queries - meter.robustness_queries
    if queries != meter.search_queries:  # its count, and so its place on the board, would be untrue
        asked = meter.search_queries
        reason = f"{queries:,} of its rows reached the model, and {asked:,} were asked through the problem"
        verdict = Verdict(Status.INVALID, reason, z=verdict.z, candidates=verdict.candidates)
    return row_of(
        task,
        dataset.X[task.row_id],
        verdict,
        fitted_fold.fingerprint,
        search_queries=max(queries, 0),
        robustness_queries=meter.robustness_queries,
        wall_seconds=wall,
        cpu_seconds=cpu,
        trace=trace,
    )


def _unless_changed(verdict: Verdict, oracle: Oracle) -> Verdict:
    """Return a verdict, or the one that the model has changed its answers since they were first given."""
    change = oracle.change() if isinstance(oracle, MemoOracle) else ""
    return Verdict(Status.INVALID, change, z=verdict.z, candidates=verdict.candidates) if change else verdict


def judge_of(task: SearchTask, fitted_fold: FittedFold, objective: Objective, name: str = "") -> Judge:
    """Return the judge of one search, which queries an unmetered oracle and takes draws of its own.

    `name` is the objective's label if it is not that of the cell.
    """
    context = _objective_context(task, fitted_fold, objective, task.seeds().judge_stream(), judging=True)
    return Judge(
        x=context.x,
        target=context.target,
        space=context.space,
        oracle=fitted_fold.oracle,
        constraints=task.cell.constraints,
        respect_steps=task.cell.respect_steps,
        term=bound_term(objective, name or task.cell.objective.label, context),
    )


def _objective_context(
    task: SearchTask,
    fitted_fold: FittedFold,
    objective: Objective,
    stream: int,
    *,
    meter: Meter | None = None,
    judging: bool = False,
) -> ObjectiveContext:
    """Return an objective's context; without a meter, its queries are not counted."""
    dataset, oracle = fitted_fold.dataset, fitted_fold.oracle
    unmetered = partial(predict_neighbours, oracle)
    return ObjectiveContext(
        x=dataset.X[task.row_id],
        target=dataset.target,
        # A searcher gets arrays of its own: what plugins do to them ends with the search.
        space=dataset.space if judging else replace(dataset.space),
        predict=oracle.predict if meter is None else meter.predict_for_objective,
        stream=stream,
        judging=judging,
        query_neighbours=unmetered if meter is None else meter.predict_neighbours_for_objective,
        model=fitted_fold.model if objective.needs_one_of else None,
    )


def _after_budget(
    task: SearchTask,
    fitted_fold: FittedFold,
    entry: SearcherEntry,
    objective: Objective,
    problem: Problem,
    judge: Judge,
) -> Verdict:
    """Judge what a searcher had found that let `BudgetExhausted` pass: its reported set, or the best row queried.

    A reported set with a valid row is judged as if the search had returned it.

    Otherwise it is the best candidate, re-evaluated if there are draws. The rule is that of `Best`: the smallest mean
    of fresh values, the same number of evaluations each. Decision: the draws are the objective's, as many as in the
    search, from a stream of their own. The judge does not choose: it ranks results by draws that no searcher may select
    by. The rows are not counted, since the budget is used up.
    """
    reported = trace_of(problem).reported
    if reported is not None:
        if not entry.returns_sets:
            return Verdict(Status.INVALID, "it called report_candidates, but its entry does not say returns_sets=True")
        verdict = judge.verdict(CounterfactualSet(reported), returns_sets=True)
        if verdict.status is Status.FOUND:
            return replace(verdict, status=Status.BUDGET_EXHAUSTED)
    candidates = np.array(trace_of(problem).candidates)
    if not len(candidates):
        return Verdict(Status.BUDGET_EXHAUSTED, "no feasible row of the target class had been asked")
    if len(candidates) > 1:
        context = _objective_context(task, fitted_fold, objective, task.seeds().choice_stream())
        term, times = bound_term(objective, task.cell.objective.label, context), problem.times_to_re_evaluate
        rows = np.repeat(candidates, times, axis=0)
        values = problem.distance(rows)
        if term is not None:
            values = values + term(rows, np.full(len(rows), context.target, dtype=np.int64))
        candidates = candidates[[np.argmin(values.reshape(-1, times).mean(axis=1))]]
    return replace(judge.choose(candidates), status=Status.BUDGET_EXHAUSTED)


def row_of(
    task: SearchTask,
    x: FloatArray,
    verdict: Verdict,
    fingerprint: str,
    *,
    search_queries: int = 0,
    robustness_queries: int = 0,
    wall_seconds: float = 0.0,
    cpu_seconds: float = 0.0,
    trace: Trace | None = None,
) -> dict[str, Any]:
    """Return the record's row of a search; NaN becomes None."""

    def number(value: float | None) -> float | None:
        return None if value is None or np.isnan(value) else float(value)

    return {
        "cell_key": task.cell.info.key,
        "point": task.point,
        "row_id": task.row_id,
        "repetition": task.repetition,
        "status": verdict.status.value,
        "reason": verdict.reason,
        "x": x.tolist(),
        "z": None if verdict.z is None else verdict.z.tolist(),
        "candidates": [] if verdict.candidates is None else verdict.candidates.tolist(),
        "loss": number(verdict.loss),
        "gower": number(verdict.gower),
        "l0": verdict.l0,
        "cost": number(verdict.cost),
        "objective_value": number(verdict.objective_value),
        "search_queries": search_queries,
        "robustness_queries": robustness_queries,
        "wall_seconds": wall_seconds,
        "cpu_seconds": cpu_seconds,
        "anytime": [] if trace is None else [{"queries": queries, "loss": loss} for queries, loss in trace.anytime],
        "figures": {} if trace is None else dict(trace.figures),
        "model_fingerprint": fingerprint,
    }
