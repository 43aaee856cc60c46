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
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from cfbench.errors import BudgetExhausted
from cfbench.problem.distances import FastCandidateMeasure
from cfbench.problem.oracle import Meter, Oracle, predict_neighbours
from cfbench.problem.outcome import Outcome, Status
from cfbench.problem.problem import Problem, SearchBudget, TrainingFold, trace_of
from cfbench.problem.trace import Trace
from cfbench.registry.contracts import FittedModel, Objective, ObjectiveContext, Searcher
from cfbench.registry.entries import Need, SearcherEntry
from cfbench.robustness.neighbours import KNeighbours
from cfbench.running.interrupt import was_asked_for
from cfbench.running.judge import Judge, Verdict
from cfbench.space.dataset import Dataset, Fold
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
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


LONGEST_MESSAGE = 500
"""Characters of a plugin's error that a row keeps."""

_OUT_OF_MEMORY = MemoryError.__name__
"""Begins the reason where a searcher was refused memory, by an error of numpy's own, too."""


def crash_reason(error: BaseException) -> str:
    """Name the error and the line of the plugin that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = f" ({last.filename.rsplit('/', 1)[-1]}:{last.lineno})" if last else ""
    try:
        said = str(error)
    except Exception:
        said = "its message cannot be shown"
    shown = said if len(said) <= LONGEST_MESSAGE else f"{said[:LONGEST_MESSAGE]}..."
    name = _OUT_OF_MEMORY if isinstance(error, MemoryError) else type(error).__name__
    return f"{name}: {shown}{place}"


def ran_out_of_memory(row: Mapping[str, Any]) -> bool:
    """Whether a search crashed because the process that ran it could have no more memory."""
    return row["status"] == Status.CRASHED and str(row["reason"]).startswith(_OUT_OF_MEMORY)


class CountingOracle:
    """An oracle that counts the rows that reach it and answers as the one behind it.

    Parameters
    ----------
    oracle : Oracle

    Attributes
    ----------
    rows : int
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.rows = 0

    def predict(self, Z: FloatArray) -> IntArray:
        """Answer with class codes, shape (n,)."""
        self.rows += len(Z)
        return self._oracle.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer with class probabilities, shape (n, n_classes)."""
        self.rows += len(Z)
        return self._oracle.predict_proba(Z)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Answer with the class codes of K-neighbours, shape (n, m)."""
        self.rows += len(Z) * neighbours.m
        return predict_neighbours(self._oracle, Z, neighbours)


def signal_state() -> dict[str, Any]:
    """Return how this process handles every signal, which signals it holds back, and whether its alarm clock runs."""
    state: dict[str, Any] = {name: signal.getsignal(n) for n, name in _catchable()}
    if hasattr(signal, "pthread_sigmask"):
        state["the blocked signals"] = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    if hasattr(signal, "getitimer"):
        state["the alarm clock"] = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    return state


def put_back(before: Mapping[str, Any]) -> tuple[str, ...]:
    """Restore the handlers of `before`, and name all that had changed. To be called in the main thread."""
    changed = tuple(name for name, state in signal_state().items() if state != before[name])
    for n, name in _catchable() if changed else ():
        if name in changed and before[name] is not None:  # None: set from outside Python, which cannot be put back
            signal.signal(n, before[name])
    return changed


@contextmanager
def guarded_signals() -> Iterator[None]:
    """Put signal handlers back after a plugin; outside the main thread Python sets none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal_state()
    try:
        yield
    finally:
        put_back(before)


@cache
def _catchable() -> tuple[tuple[int, str], ...]:
    """Return number and name of the signals that have a name and may be handled."""
    never = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
    named = {int(member): member.name for member in signal.Signals}
    return tuple(sorted((int(n), named[int(n)]) for n in signal.valid_signals() if n not in never and int(n) in named))


@dataclass(frozen=True)
class SearchTask:
    """One search of a cell.

    Parameters
    ----------
    cell : Cell
    point : int
        Position among the fold's eligible points.
    row_id : int
        Row of the data set.
    repetition : int
    """

    cell: Cell
    point: int
    row_id: int
    repetition: int

    def seeds(self) -> SearchName:
        """What names the search's random streams."""
        cell = self.cell
        names = (cell.content["dataset"]["name"], cell.model.name, cell.searcher.name, cell.objective.name)
        return SearchName(cell.seed, *names, cell.fold, self.row_id, self.repetition)


@dataclass(frozen=True, eq=False)
class FittedFold:
    """What the searches of one model share.

    Parameters
    ----------
    dataset : Dataset
    fold : Fold
    model : FittedModel
    oracle : Oracle
    fingerprint : str
        Of `model`.
    training : TrainingFold
        The rows that `model` was trained on.
    """

    dataset: Dataset
    fold: Fold
    model: FittedModel
    oracle: Oracle
    fingerprint: str
    training: TrainingFold


def run_search(
    task: SearchTask, fitted_fold: FittedFold, entry: SearcherEntry, searcher: Searcher | None, objective: Objective
) -> dict[str, Any]:
    """Run one search and return its row, whatever the searcher does.

    Parameters
    ----------
    task : SearchTask
    fitted_fold : FittedFold
    entry : SearcherEntry
    searcher : Searcher or None
        The searcher with its settings; None where the entry holds a plain function.
    objective : Objective

    Returns
    -------
    dict
        A row of ``SEARCH_SCHEMA``.
    """
    seeds = task.seeds()
    x = fitted_fold.dataset.X[task.row_id]
    counting = CountingOracle(fitted_fold.oracle)
    meter = Meter(counting, fitted_fold.dataset.space.d, task.cell.query_budget)
    context = ObjectiveContext(
        x=x,
        target=fitted_fold.dataset.target,
        space=FeatureSpace(fitted_fold.dataset.space.features),  # its own arrays: what plugins do to them ends here
        predict=meter.predict_for_objective,
        stream=seeds.objective_stream(),
        query_neighbours=meter.predict_neighbours_for_objective,
        model=fitted_fold.model if objective.looks_into_model else None,
    )
    seed = seeds.searcher_seed()
    with guarded_randomness(seed), guarded_signals(), chdir(Path.cwd()):
        problem = _problem(task.cell, fitted_fold, entry, meter, objective, context=context)
        judge = judge_of(task, fitted_fold, objective)
        again = partial(_chosen_again, task, fitted_fold, objective, problem)
        outcome = _search(problem, entry, searcher, np.random.default_rng(seed), judge, again)
    outcome = replace(outcome, search_queries=meter.search_queries, robustness_queries=meter.robustness_queries)
    past_the_meter = counting.rows - meter.search_queries - meter.robustness_queries
    if past_the_meter:
        outcome = _disqualified(outcome, past_the_meter)
    return row_of(task, x, outcome, fitted_fold.fingerprint)


def judge_of(task: SearchTask, fitted_fold: FittedFold, objective: Objective) -> Judge:
    """Return the judge of one search, which queries an unmetered oracle and takes draws of its own.

    Parameters
    ----------
    task : SearchTask
    fitted_fold : FittedFold
    objective : Objective
    """
    x, space = fitted_fold.dataset.X[task.row_id], fitted_fold.dataset.space
    context = ObjectiveContext(
        x=x,
        target=fitted_fold.dataset.target,
        space=space,
        predict=fitted_fold.oracle.predict,
        stream=task.seeds().judge_stream(),
        judging=True,
        query_neighbours=partial(predict_neighbours, fitted_fold.oracle),
        model=fitted_fold.model if objective.looks_into_model else None,
    )
    return Judge(
        x=x,
        target=fitted_fold.dataset.target,
        space=space,
        oracle=fitted_fold.oracle,
        constraints=task.cell.constraints,
        respect_steps=task.cell.respect_steps,
        term=objective.bind(context),
    )


def _problem(
    cell: Cell,
    fitted_fold: FittedFold,
    entry: SearcherEntry,
    meter: Meter,
    objective: Objective,
    *,
    context: ObjectiveContext,
) -> Problem:
    asked = {*entry.needs, *entry.can_use}
    term = objective.bind(context)
    return Problem(
        context.x,
        context.target,
        context.space,
        meter,
        constraints=cell.constraints,
        respect_steps=cell.respect_steps,
        budget=SearchBudget(cell.query_budget, cell.time_limit),
        term=term,
        term_rows=0 if term is None else objective.rows_per_candidate(),
        term_draws=objective.draws_per_candidate(),
        probabilities=Need.PROBABILITIES in asked,
        training=fitted_fold.training if Need.TRAINING_DATA in asked else None,
        model=fitted_fold.model if Need.MODEL_STRUCTURE in asked else None,
        measure=FastCandidateMeasure,
    )


def _search(
    problem: Problem,
    entry: SearcherEntry,
    searcher: Searcher | None,
    rng: np.random.Generator,
    judge: Judge,
    chosen_again: Callable[[FloatArray], FloatArray],
) -> Outcome:
    answer: object = None
    exhausted, crash = False, ""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with contained():
            answer = searcher.search(problem, rng) if searcher is not None else entry.searcher(problem, rng)  # type: ignore[call-arg] # a plain function
    except BudgetExhausted:
        exhausted = True
    except BaseException as error:  # a plugin's exit, or what its compiled parts raise, ends its own search alone
        if isinstance(error, KeyboardInterrupt) and was_asked_for():
            raise
        crash = crash_reason(error)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    trace = trace_of(problem)
    if crash:
        verdict = Verdict(Status.CRASHED, crash)
    elif exhausted:
        verdict = _after_budget(judge, trace, chosen_again)
    else:
        verdict = judge.verdict(answer, returns_sets=entry.returns_sets)
        if verdict.status is Status.NOT_FOUND and trace.reason:
            verdict = replace(verdict, reason=trace.reason)
    return Outcome(
        status=verdict.status,
        reason=verdict.reason,
        z=verdict.z,
        candidates=np.empty((0, judge.space.d)) if verdict.candidates is None else verdict.candidates,
        loss=_nan(verdict.loss),
        gower=_nan(verdict.gower),
        l0=verdict.l0,
        cost=_nan(verdict.cost),
        objective_value=_nan(verdict.objective_value),
        wall_seconds=wall,
        cpu_seconds=cpu,
        anytime=tuple(trace.anytime),
        figures=dict(trace.figures),
    )


def _disqualified(outcome: Outcome, past_the_meter: int) -> Outcome:
    """Return an outcome without a result: its count of questions, and so its place on the board, would be untrue."""
    queries = outcome.search_queries + past_the_meter
    reason = f"{queries:,} of its rows reached the model, and {outcome.search_queries:,} were asked through the problem"
    absent = float("nan")
    return replace(
        outcome,
        status=Status.INVALID,
        reason=reason,
        loss=absent,
        gower=absent,
        l0=None,
        cost=absent,
        objective_value=absent,
        search_queries=max(queries, 0),
    )


def _after_budget(judge: Judge, trace: Trace, chosen_again: Callable[[FloatArray], FloatArray]) -> Verdict:
    """Judge the best candidate of a searcher that let `BudgetExhausted` pass."""
    if not trace.candidates:
        return Verdict(Status.BUDGET_EXHAUSTED, "no feasible row of the target class had been asked")
    first, *others = trace.candidates
    z = chosen_again(np.array(trace.candidates)) if others else first
    return replace(judge.choose(z[np.newaxis]), status=Status.BUDGET_EXHAUSTED)


def _chosen_again(
    task: SearchTask, fitted_fold: FittedFold, objective: Objective, problem: Problem, candidates: FloatArray
) -> FloatArray:
    """Return the best of some candidates of the target class, shape (k, d), re-evaluated if there are draws.

    The rule is that of `Best`: the smallest mean of fresh values, the same number of evaluations each. Decision: the
    draws are the objective's, as many as in the search, from a stream of their own. The judge does not choose: it ranks
    results by draws that no searcher may select by. The rows are not counted, since the budget is used up.
    """
    term = objective.bind(
        ObjectiveContext(
            x=problem.x,
            target=problem.target,
            space=FeatureSpace(fitted_fold.dataset.space.features),
            predict=fitted_fold.oracle.predict,
            stream=task.seeds().choice_stream(),
            query_neighbours=partial(predict_neighbours, fitted_fold.oracle),
            model=fitted_fold.model if objective.looks_into_model else None,
        )
    )
    times = problem.times_to_re_evaluate
    rows = np.repeat(candidates, times, axis=0)
    values = problem.distance(rows)
    if term is not None:
        values = values + term(rows, np.full(len(rows), problem.target, dtype=np.int64))
    best: FloatArray = candidates[np.argmin(values.reshape(-1, times).mean(axis=1))]
    return best


def _nan(value: float | None) -> float:
    return float("nan") if value is None else value


def row_of(task: SearchTask, x: FloatArray, outcome: Outcome, fingerprint: str) -> dict[str, Any]:
    """Return the record's row of a search; NaN becomes None, since absent is not a number."""

    def number(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    return {
        "cell_key": task.cell.info.key,
        "point": task.point,
        "row_id": task.row_id,
        "repetition": task.repetition,
        "status": outcome.status.value,
        "reason": outcome.reason,
        "x": x.tolist(),
        "z": None if outcome.z is None else outcome.z.tolist(),
        "candidates": outcome.candidates.tolist(),
        "loss": number(outcome.loss),
        "gower": number(outcome.gower),
        "l0": outcome.l0,
        "cost": number(outcome.cost),
        "objective_value": number(outcome.objective_value),
        "search_queries": outcome.search_queries,
        "robustness_queries": outcome.robustness_queries,
        "wall_seconds": outcome.wall_seconds,
        "cpu_seconds": outcome.cpu_seconds,
        "anytime": [{"queries": queries, "loss": loss} for queries, loss in outcome.anytime],
        "figures": dict(outcome.figures),
        "model_fingerprint": fingerprint,
    }
