"""The conformance checks of searchers, by what they look at: answers, declarations, endings, side effects, spaces."""

from __future__ import annotations

import pickle

from cfbench.problem.outcome import Status
from cfbench.registry.contracts import ModelFamily
from cfbench.registry.entries import Handles, ModelEntry
from cfbench.space.dataset import Dataset
from cfbench.space.space import FloatArray
from cfbench.study.obstacles import obstacle
from cfbench.testing import problems
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.child import Child, UnfitEntry
from cfbench.testing.observation import Ending
from cfbench.testing.problems import (
    INTEGERS,
    MIXED,
    NUMERICAL,
    SOLVABLE,
    STEPS,
    Case,
    Toll,
    with_all_fixed,
    with_budget,
    with_lottery,
    with_toll,
    without_target,
)
from cfbench.testing.searcher_bench import Bench, Fault


def answer_has_the_form(bench: Bench) -> None:
    """The answer is None, or a numpy array of numbers of shape (d,): no list, no frame, no two-dimensional array.

    To mend: return one row, `Z[i]`, not `Z`; turn other things into `np.array(..., dtype=np.float64)`. Several
    candidates are returned as cfbench.CounterfactualSet(Z), and the entry says returns_sets=True.
    """
    bench.expect_no(Fault.FORM)


def sets_as_declared(bench: Bench) -> None:
    """It returns a CounterfactualSet where its entry says returns_sets=True, and only there.

    To mend: set returns_sets in the entry to what `search` does.
    """
    bench.expect_no(Fault.SET)
    if bench.entry.returns_sets:
        bench.expect_answer()
        if not bench.observe(bench.plain).is_set:
            raise Failed("its entry says returns_sets=True, and it returned a vector")


def answer_is_finite(bench: Bench) -> None:
    """The answer holds no NaN and no infinity.

    To mend: look for divisions by a standard deviation or a range that is zero, and for an optimiser that failed.
    """
    bench.expect_no(Fault.NOT_FINITE)
    bench.expect_answer()


def answer_inside_intervals(bench: Bench) -> None:
    """Every value of the answer lies inside its feature's interval, ends included.

    To mend: clip candidates to `problem.bounds()` before they are asked about, so that the answer is one of them.
    """
    bench.expect_no(Fault.OUTSIDE)
    bench.expect_answer()


def categories_are_codes(bench: Bench) -> None:
    """Categorical features of the answer are whole codes.

    To mend: round the columns in `problem.space.is_categorical` before candidates are asked about. A searcher for
    numerical features alone leaves Handles.CATEGORICAL out of its entry.
    """
    bench.expect_no(Fault.NO_CODE)
    bench.expect_answer()


def answer_of_the_target_class(bench: Bench) -> None:
    """The model puts the answer into the target class; `x` itself is never an answer.

    To mend: return the best row that `problem.predict` has put into `problem.target`, and None where there is none.
    """
    bench.expect_no(Fault.CLASS)
    bench.expect_answer()


def judged_alike(bench: Bench) -> None:
    """The judge comes to the same verdict as the search: what is returned is what was asked, not a rounded form of it.

    To mend: return the very row that the model was asked about, in float64. Whatever is rounded, cast to float32 or
    projected afterwards has to be asked about again.
    """
    bench.expect_no(Fault.ROUNDED)
    bench.expect_answer()


def constraints_obeyed(bench: Bench) -> None:
    """Where constraints hold, the answer obeys them: fixed features stay, others move only the way they may.

    To mend: keep candidates inside `problem.bounds()`, which the constraints narrow, or ask `problem.is_feasible`. A
    searcher that cannot leaves Handles.CONSTRAINTS out of its entry.
    """
    bench.expect_no_further(bench.constrained)


def integer_features(bench: Bench) -> None:
    """Integer-valued features do no harm, and where a study asks for respect_steps, the answer keeps to the steps.

    To mend: where `problem.respect_steps` holds, round to multiples of each feature's `step`, or ask
    `problem.is_feasible`, which knows of them.
    """
    bench.expect_no_further(INTEGERS)
    bench.expect_no_further(STEPS)


LOTTERIES = 8
"""Problems with noise. To return the luckiest of two re-evaluated candidates on all of them has probability 1/256."""


def asks_only_for_what_it_declares(bench: Bench) -> None:
    """It uses training data, probabilities and the model's structure only where its entry declares them.

    To mend: list in the entry's `needs` what it cannot do without, in `can_use` what it uses where it is there.
    """
    bench.expect_no(Fault.UNDECLARED)


def objective_used(bench: Bench) -> None:
    """It minimises the objective that it is given: two that favour different answers lead to different ones.

    To mend: compare candidates by `problem.loss` or the values of `problem.evaluate`, also where the last one is
    chosen; `problem.distance` knows nothing of objectives. A searcher that minimises the loss alone leaves
    Handles.OBJECTIVES out of its entry.
    """
    bench.expect_sound()
    cases = [with_toll(0), with_toll(1)]
    for case in cases:
        bench.expect_no_further(case)
    first, second = (bench.observe(case).verdict for case in cases)
    if first is None or first.z is None or second is None or second.z is None:
        raise NotApplicable("it found nothing on the problems whose objectives differ")
    # What the tolls come to where each objective has its own answer, and where the answers are exchanged.
    own = _toll(cases[0], first.z) + _toll(cases[1], second.z)
    exchanged = _toll(cases[0], second.z) + _toll(cases[1], first.z)
    if not own < exchanged:
        raise Failed(
            f"with moving {cases[0].space.names[0]} dear it returned {_shown(first.z)}, with moving "
            f"{cases[0].space.names[1]} dear {_shown(second.z)}: it does not minimise what the objectives add"
        )


def luck_not_returned(bench: Bench) -> None:
    """Where values are noisy, it does not return the candidate with the luckiest single value.

    To mend: evaluate candidates by `cfbench.Best`, and return what its `choose` returns. Or re-evaluate the best few
    yourself where `problem.has_draws` is true, and compare the means of the new values alone.
    """
    bench.expect_sound()
    lucky = 0
    for seed in range(LOTTERIES):
        case = with_lottery(seed)
        bench.expect_no_further(case)
        is_luckiest = bench.observe(case).is_luckiest
        if is_luckiest is False:
            return  # so will it be at nine of ten where ten candidates are re-evaluated, and once is enough
        lucky += is_luckiest is True
    if lucky < LOTTERIES / 2:
        raise NotApplicable("it found nothing, or evaluated fewer than two candidates, on the problems with noise")
    raise Failed(
        f"on {lucky} of {lucky} problems whose values are mostly noise it returned the very candidate with the "
        f"smallest single value: that one was lucky, and nothing shows that it is good"
    )


def skipped_where_not_declared(bench: Bench) -> None:
    """Cells that ask for what the entry does not declare are skipped, and those that it can take are not.

    To mend: this is the harness's own work; if it fails, please report it.
    """
    model = ModelEntry(name="rule", family=ModelFamily, shows_structure=True)
    cells: list[tuple[Case, bool, bool, Handles | None]] = [
        (NUMERICAL, False, False, None),
        (MIXED, False, False, Handles.CATEGORICAL),
        (NUMERICAL, True, False, Handles.CONSTRAINTS),
        (NUMERICAL, False, True, Handles.OBJECTIVES),
    ]
    for case, constraints, has_term, asked in cells:
        training = case.training()
        labels = ("undesired", "desired")
        dataset = Dataset(case.name, training.X.copy(), training.y.copy(), case.space, case.target, labels)
        reason = obstacle(bench.entry, model, dataset, "toll", has_term=has_term, constraints=constraints)
        is_beyond = asked is not None and asked not in bench.entry.handles
        if bool(reason) is not is_beyond:
            what = f"a cell that asks for {asked}" if asked else "a cell that asks for nothing special"
            raise Failed(f"{what} is skipped: {reason}" if reason else f"{what} is not skipped")


def _toll(case: Case, row: FloatArray) -> float:
    toll = case.objective
    assert isinstance(toll, Toll)
    i = toll.feature
    return toll.price * abs(float(row[i]) - case.x[i]) / float(case.space.ranges[i])


def _shown(row: FloatArray) -> str:
    return "[" + ", ".join(f"{value:g}" for value in row) + "]"


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


def same_rng_same_answer(bench: Bench) -> None:
    """A generator of the same seed gives the same answer, after as many questions.

    To mend: draw from the `rng` that `search` is handed and from nothing else; hand it, or a seed drawn from it, to
    every library that draws.
    """
    bench.expect_end()
    difference = bench.observe(bench.plain).difference_from(bench.observe(bench.plain, where="again"))
    if difference:
        raise Failed(difference)


def global_generators_untouched(bench: Bench) -> None:
    """The global generators of numpy and of Python are after a search in the state in which they were.

    To mend: use `rng`, not `np.random.*` or `random.*`. Where a library knows nothing else, seed them from `rng`, and
    put their states back in a `finally`.
    """
    bench.expect_end()
    # The second search in a process: what a library draws while the first one imports it is no draw of the search.
    touched = bench.observe(bench.plain, where="again").generators
    if touched:
        raise Failed(f"it drew from, or seeded, {' and '.join(touched)} global generator")


def problem_not_mutated(bench: Bench) -> None:
    """A search changes nothing of the problem: `x`, the space, the training fold, the target.

    To mend: work on copies: `problem.x.copy()`. These arrays are read-only; do not make them writeable.
    """
    bench.expect_no(Fault.MUTATED)


def meter_not_bypassed(bench: Bench) -> None:
    """Every row that the model is asked is counted.

    To mend: ask by `problem.predict`, `problem.loss`, `problem.evaluate` or `problem.predict_proba` alone, and reach
    for no private attribute.
    """
    bench.expect_no(Fault.BYPASSED)


def prints_nothing(bench: Bench) -> None:
    """A search writes nothing to stdout, which belongs to the command line's own output.

    To mend: take prints out; switch a library's progress off, or redirect it with contextlib.redirect_stdout. What is
    worth knowing goes into the record by `problem.report(name, number)`.
    """
    bench.expect_no(Fault.PRINTED)


def signals_left_alone(bench: Bench) -> None:
    """After a search, signals are handled as before: handlers, blocked signals, the alarm clock.

    To mend: install no handlers, since a run needs its own to stop cleanly; put back what a library has installed.
    """
    bench.expect_no(Fault.SIGNALS)


def interrupts_pass(bench: Bench) -> None:
    """Ctrl-C in the middle of a search ends it.

    To mend: write `except Exception`, never `except BaseException` or a bare `except`, around questions to the model.
    """
    bench.expect_end()
    if bench.observe(bench.plain).asked == 0:
        raise NotApplicable("it asks the model nothing")
    seen = bench.observe(bench.plain, interrupt=True)
    if seen.ending is not Ending.INTERRUPTED:
        raise Failed(
            f"KeyboardInterrupt was raised in its first question, and it {seen.ending}: {seen.error or 'no error'}"
        )


def all_numerical_features(bench: Bench) -> None:
    """It works where all features are numerical.

    To mend: the failure says what went wrong. An index of no categorical columns is empty: reductions over it, and
    encoders fitted to it, need a case of their own.
    """
    bench.expect_no_further(problems.NUMERICAL)


def all_categorical_features(bench: Bench) -> None:
    """It works where all features are categorical.

    To mend: the failure says what went wrong. An index of no numerical columns is empty: scalers, covariances and
    distances over it need a case of their own.
    """
    bench.expect_no_further(problems.CATEGORICAL)


def one_feature(bench: Bench) -> None:
    """It works where there is one feature only.

    To mend: look for a `squeeze` that loses a dimension, for `1 / (d - 1)`, and for crossovers that need two places.
    """
    bench.expect_no_further(problems.ONE_NUMBER)
    if Handles.CATEGORICAL in bench.entry.handles:
        bench.expect_no_further(problems.ONE_CATEGORY)


def three_classes(bench: Bench) -> None:
    """With three classes it looks for the target, not for any other class than that of `x`.

    To mend: compare with `problem.target`: `problem.predict(Z) == problem.target`, not `!= class_of_x`, not `== 1`.
    """
    bench.expect_no_further(problems.THREE_CLASSES)


def tiny_ranges(bench: Bench) -> None:
    """It works where an interval is 1e-9 wide, also far from zero.

    To mend: measure steps, tolerances and epsilons in `problem.space.ranges`, not in absolute numbers; do not round.
    """
    bench.expect_no_further(problems.TINY)


def huge_ranges(bench: Bench) -> None:
    """It works where an interval is 1e9 wide.

    To mend: measure steps in `problem.space.ranges`; use float64; give a search that grows by fixed steps an end, by a
    `default_budget` in its entry.
    """
    bench.expect_no_further(problems.HUGE)


def constant_features(bench: Bench) -> None:
    """It works where a feature has one value in all data, or one category only.

    To mend: divide by `problem.space.ranges`, which are never zero, instead of by a standard deviation; where a feature
    has one category, there is no other to draw.
    """
    bench.expect_no_further(problems.CONSTANT)
    if Handles.CATEGORICAL in bench.entry.handles:
        bench.expect_no_further(problems.CONSTANT_CATEGORIES)
