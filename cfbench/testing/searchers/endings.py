"""Checks of how a search ends: by itself, in time, within its budget, and with nothing where nothing is."""

from __future__ import annotations

import pickle

from cfbench.entries import Handles
from cfbench.outcome import Status
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.problems import SOLVABLE, with_all_fixed, with_budget, with_lottery, with_toll, without_target
from cfbench.testing.searchers.bench import Bench
from cfbench.testing.searchers.child import Child, UnfitEntry
from cfbench.testing.searchers.faults import Fault


def entry_pickles(bench: Bench) -> None:
    """The entry can be pickled, and unpickled in another process.

    To mend: define the searcher at the top level of an importable module; a lambda, or a function or class made inside
    another function, cannot be found by its name.
    """
    try:
        luggage = bench.luggage()
        Child(luggage).close()
    except UnfitEntry as error:
        raise Failed(str(error)) from error
    if not luggage.files and pickle.loads(luggage.entry) != bench.entry:  # noqa: S301 - pickled a line ago
        raise Failed("what is unpickled is not equal to the entry")


def returns_in_time(bench: Bench) -> None:
    """A search returns within the time limit of the checks.

    To mend: give every loop a last round; give a slow searcher quicker settings for the checks, as `check_settings` of
    its entry, and one without an end of its own a `default_budget`.
    """
    bench.expect_no(Fault.NEVER_RETURNED)


def process_survives(bench: Bench) -> None:
    """A search does not end the process that it runs in.

    To mend: call neither os._exit nor os.kill; where compiled code crashes, guard what is handed to it.
    """
    bench.expect_no(Fault.DIED)


def raises_nothing(bench: Bench) -> None:
    """A search raises nothing but BudgetExhausted, which it may let pass.

    To mend: the message names the line. Where a library raises because it found nothing, catch that and return None.
    """
    bench.expect_no(Fault.RAISED)


def survives_small_budgets(bench: Bench) -> None:
    """With a query budget of 1 row, and of 5, a search ends without an exception of its own.

    To mend: a question past the budget raises cfbench.BudgetExhausted. Let it pass, or catch it and return the best row
    so far or None; do not ask again. `problem.queries_left` and `problem.evaluations_left` tell beforehand.
    """
    for rows in (1, 5):
        bench.expect_no_further(with_budget(bench.plain, rows))
    if Handles.OBJECTIVES in bench.entry.handles:
        bench.expect_no_further(with_budget(with_toll(0), 5))  # the objective spends of it, too
        bench.expect_no_further(with_budget(with_lottery(0), 5))  # a part of it may be kept for re-evaluation


def gives_up(bench: Bench) -> None:
    """Where nothing can be found, the answer is None: a model that never says the target, features that are all fixed.

    To mend: ask `problem.predict` about what you are going to return, and return None where its class is not
    `problem.target`.
    """
    bench.expect_sound()
    cases = [without_target(bench.plain)]
    if Handles.CONSTRAINTS in bench.entry.handles:
        cases.append(with_all_fixed(bench.plain))
    for case in cases:
        bench.expect_no_further(case)


def finds_something(bench: Bench) -> None:
    """It finds a counterfactual of at least one of the generated problems; most of their spaces is of the target class.

    To mend: look at what `problem.loss` or `problem.predict` says of the rows that you ask. A search that always gives
    up keeps every other promise, and is of no use.
    """
    bench.expect_sound()
    cases = [bench.plain, *(case for case in SOLVABLE if not case.constraints and bench.takes(case))]
    for case in cases:
        verdict = bench.observe(case).verdict
        if verdict is not None and verdict.status is Status.FOUND:
            return
    raise Failed(f"it found nothing on any of them: {', '.join(dict.fromkeys(case.name for case in cases))}")


def runs_in_a_spawned_process(bench: Bench) -> None:
    """A fresh interpreter gives the same answer, after as many questions.

    To mend: results must not depend on the order of a set of strings, on `hash` or `id`, on the time, on a file, or on
    what ran before in the same process.
    """
    bench.expect_end()
    here, again = bench.observe(bench.plain), bench.observe(bench.plain, where="again")
    if here.difference_from(again):
        raise NotApplicable("undecided until same-rng-same-answer passes")
    try:
        there = bench.observe(bench.plain, where="elsewhere")
    except UnfitEntry as error:
        raise Failed(str(error)) from error
    difference = here.difference_from(there)
    if difference:
        raise Failed(difference)
