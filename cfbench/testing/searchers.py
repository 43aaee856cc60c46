"""Conformance checks of searchers, run at once or each as a test of pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from cfbench.errors import UnknownNameError
from cfbench.problem.access import SHOWN
from cfbench.registry.contracts import FittedElsewhere
from cfbench.registry.entries import Handles, ModelEntry, SearcherEntry
from cfbench.space.dataset import Dataset
from cfbench.space.space import FloatArray
from cfbench.study.obstacles import Added, obstacle
from cfbench.testing import problems
from cfbench.testing.check import Check, Failed, NotApplicable, Report, Result, report_of
from cfbench.testing.child import Child, Ending, UnfitEntry
from cfbench.testing.problems import (
    INTEGERS,
    MIXED,
    NUMERICAL,
    RELATED_NUMERICAL,
    SOLVABLE,
    STEPS,
    Case,
    MoveCost,
    with_all_fixed,
    with_budget,
    with_move_cost,
    with_noise,
    without_target,
)
from cfbench.testing.searcher_bench import TIME_LIMIT, Bench

F = TypeVar("F", bound=Callable[..., object])


def answer_has_the_form(bench: Bench) -> None:
    """The result is None, or a numpy array of numbers of shape (d,): no list, no frame, no two-dimensional array.

    To fix: return one row, `Z[i]`, not `Z`. Convert other types with `np.array(..., dtype=np.float64)`. Return several
    candidates as cfbench.CounterfactualSet(Z), and set returns_sets=True in the entry.
    """
    bench.expect_no("answer-has-the-form")


def sets_as_declared(bench: Bench) -> None:
    """The searcher returns a CounterfactualSet if, and only if, its entry says returns_sets=True.

    To fix: set returns_sets in the entry to what `search` returns.
    """
    bench.expect_no("sets-as-declared")
    if bench.entry.returns_sets:
        bench.expect_answer()
        if not bench.observe(bench.plain).is_set:
            raise Failed("its entry says returns_sets=True, and it returned a vector")


def reported_set_kept(bench: Bench) -> None:
    """A query budget that ends the search keeps the valid rows of the set that the searcher reported last.

    To fix: let BudgetExhausted propagate: cfbench takes the set given to `problem.report_candidates`. If you catch it,
    return a set that contains the reported rows.
    """
    bench.expect_answer()
    queries = bench.observe(bench.plain).queries
    ended = [bench.observe(with_budget(bench.plain, rows)) for rows in (queries // 2, queries - 1) if rows > 0]
    for search in ended:
        if search.lost is not None and len(search.lost):
            raise Failed(
                f"when the budget ended the search, it returned a set without valid rows that it had reported: "
                f"{len(search.lost)} rows, the first is {search.lost[0].tolist()}"
            )
    if all(search.reported is None for search in ended):
        raise NotApplicable("it had not called problem.report_candidates when the budget ended its search")


def answer_is_finite(bench: Bench) -> None:
    """The result has no NaN and no infinity.

    To fix: look for divisions by a standard deviation or range of zero, and for an optimiser that failed.
    """
    bench.expect_no("answer-is-finite")
    bench.expect_answer()


def answer_inside_intervals(bench: Bench) -> None:
    """Every value of the result is inside its feature's interval, ends included.

    To fix: clip candidates to `problem.bounds()` before the model is queried, so that the result is one of them.
    """
    bench.expect_no("answer-inside-intervals")
    bench.expect_answer()


def categories_are_codes(bench: Bench) -> None:
    """Categorical features of the result are whole codes.

    To fix: round the columns in `problem.space.is_categorical` before the model is queried. A searcher for numerical
    features only omits Handles.CATEGORICAL from its entry.
    """
    bench.expect_no("categories-are-codes")
    bench.expect_answer()


def answer_of_the_target_class(bench: Bench) -> None:
    """The model gives the result the target class; `x` itself is never a result.

    To fix: return the best row to which `problem.predict` gave the class `problem.target`, and None if there is no such
    row.
    """
    bench.expect_no("answer-of-the-target-class")
    bench.expect_answer()


def judged_alike(bench: Bench) -> None:
    """The judge and the search agree: the result is a row that was queried, not a rounded form of it.

    To fix: return exactly the row that the model classified, in float64. Query a row again after you round it, cast it
    to float32 or project it.
    """
    bench.expect_no("judged-alike")
    bench.expect_answer()


def constraints_obeyed(bench: Bench) -> None:
    """If constraints apply, the result obeys them: fixed features stay, others move only in the allowed direction.

    To fix: keep candidates inside `problem.bounds()`, which the constraints narrow, or check them with
    `problem.is_feasible`. A searcher that cannot do this omits Handles.CONSTRAINTS from its entry.
    """
    bench.expect_no_further(bench.constrained)


def relations_kept(bench: Bench) -> None:
    """If relations between features apply, the result keeps them, and the search finds one where few rows keep them.

    To fix: pass candidates through `problem.repair` before they are evaluated. To drop infeasible rows at the end is
    not enough: most of them are infeasible. A searcher that cannot do this omits Handles.RELATIONS from its entry.
    """
    bench.expect_answer()
    bench.expect_no_further(bench.related)
    if bench.observe(bench.related).z is None:
        raise Failed(
            f"problem {bench.related.name!r}: it found nothing where relations exclude nine tenths of the rows"
        )


def projection_feasible(bench: Bench) -> None:
    """After a search, the rows that `problem.project`, `problem.repair` and `problem.sample` return are feasible.

    To fix: do not write into the arrays of `problem.box`; copy them first.
    """
    bench.expect_no("projection-feasible")


def integer_features(bench: Bench) -> None:
    """Integer-valued features cause no fault. If a study sets respect_steps, the result keeps to the steps.

    To fix: if `problem.respect_steps` is true, round to multiples of each feature's `step`, or check rows with
    `problem.is_feasible`, which checks the steps.
    """
    bench.expect_no_further(INTEGERS)
    bench.expect_no_further(STEPS)


NOISY_PROBLEMS = 8
"""To return the luckiest of two re-evaluated candidates on all of them has probability 1/256."""


def asks_only_for_what_it_declares(bench: Bench) -> None:
    """The searcher uses training data, probabilities and the inside of the model only if its entry declares them.

    To fix: list what it requires in the entry's `needs`, and what it uses if available in `can_use`.
    """
    bench.expect_no("asks-only-for-what-it-declares")


def objective_used(bench: Bench) -> None:
    """The searcher minimises the given objective: two objectives that favour different results lead to different
    results.

    To fix: compare candidates by `problem.loss` or the values of `problem.evaluate`, also when you choose the last one.
    `problem.distance` ignores the objective. A searcher that minimises the loss alone omits Handles.OBJECTIVES from its
    entry.
    """
    bench.expect_sound()
    cases = [with_move_cost(0), with_move_cost(1)]
    for case in cases:
        bench.expect_no_further(case)
    first, second = (bench.observe(case).z for case in cases)
    if first is None or second is None:
        raise NotApplicable("it found nothing on the problems whose objectives differ")
    # What moving costs if each objective has its own result, and if the results are exchanged.
    own = _move_costs(cases[0], first) + _move_costs(cases[1], second)
    exchanged = _move_costs(cases[0], second) + _move_costs(cases[1], first)
    if not own < exchanged:
        raise Failed(
            f"if moving {cases[0].space.names[0]} is expensive it returned {first.tolist()}, if moving "
            f"{cases[0].space.names[1]} is expensive {second.tolist()}: it does not minimise the objective"
        )


def luck_not_returned(bench: Bench) -> None:
    """If values are noisy, the searcher does not return the candidate with the luckiest single value.

    To fix: evaluate candidates with `cfbench.Best`, and return what its `choose` returns. Or re-evaluate the best few
    yourself if `problem.has_draws` is true, and compare only the means of the new values.
    """
    bench.expect_sound()
    lucky = 0
    for seed in range(NOISY_PROBLEMS):
        case = with_noise(seed)
        bench.expect_no_further(case)
        is_luckiest = bench.observe(case).is_luckiest
        if is_luckiest is False:
            return  # once is enough: a searcher that re-evaluates ten candidates gets here on nine of ten problems
        lucky += is_luckiest is True
    if lucky < NOISY_PROBLEMS / 2:
        raise NotApplicable("it found nothing, or evaluated fewer than two candidates, on the problems with noise")
    raise Failed(
        f"on {lucky} of {lucky} problems whose values are mostly noise it returned the candidate with the "
        f"smallest single value: its value was lucky, and nothing shows that the candidate is good"
    )


def skipped_where_not_declared(bench: Bench) -> None:
    """Cells that require what the entry does not declare are skipped; cells that the searcher supports are not.

    To fix: this depends on cfbench only; if it fails, please report it.
    """
    model = ModelEntry(name="rule", family=FittedElsewhere, shows=SHOWN)
    cells: list[tuple[Case, bool, bool, Handles | None]] = [
        (NUMERICAL, False, False, None),
        (MIXED, False, False, Handles.CATEGORICAL),
        (NUMERICAL, True, False, Handles.CONSTRAINTS),
        (NUMERICAL, False, True, Handles.OBJECTIVES),
        (RELATED_NUMERICAL, True, False, Handles.RELATIONS),
    ]
    for case, constraints, has_term, asked in cells:
        training = case.training()
        labels = ("undesired", "desired")
        dataset = Dataset(case.name, training.X.copy(), training.y.copy(), case.space, case.target, labels)
        reason = obstacle(bench.entry, model, dataset, "move-cost", Added(has_term), constraints=constraints)
        is_beyond = asked is not None and asked not in bench.entry.handles
        if bool(reason) is not is_beyond:
            what = f"a cell that requires {asked}" if asked else "a cell that requires nothing special"
            raise Failed(f"{what} is skipped: {reason}" if reason else f"{what} is not skipped")


def _move_costs(case: Case, row: FloatArray) -> float:
    objective = case.objective
    assert isinstance(objective, MoveCost)
    i = objective.feature
    return objective.price * abs(float(row[i]) - case.x[i]) / float(case.space.ranges[i])


def entry_pickles(bench: Bench) -> None:
    """The entry can be pickled, and unpickled in another process.

    To fix: define the searcher at the top level of an importable module. Pickle finds objects by name, so it fails for
    a lambda and for a function or class made inside another function.
    """
    try:
        Child(bench.entry, bench.settings).close()
    except UnfitEntry as error:
        raise Failed(str(error)) from error


def returns_in_time(bench: Bench) -> None:
    """A search returns within the time limit of the checks.

    To fix: give every loop a last round. Give a slow searcher faster settings for the checks, as `check_settings` of
    its entry. Give a searcher that has no end of its own a `default_budget`.
    """
    bench.expect_no("returns-in-time")


def process_survives(bench: Bench) -> None:
    """A search does not end the process that it runs in.

    To fix: call neither os._exit nor os.kill. If compiled code crashes, check its input first.
    """
    bench.expect_no("process-survives")


def raises_nothing(bench: Bench) -> None:
    """A search raises nothing but BudgetExhausted, which it may let propagate.

    To fix: the message names the line. If a library raises because it found nothing, catch that and return None.
    """
    bench.expect_no("raises-nothing")


def survives_small_budgets(bench: Bench) -> None:
    """With a query budget of 1 row, and of 5, a search ends without an exception of its own.

    To fix: a query over budget raises cfbench.BudgetExhausted. Let it propagate, or catch it and return the best row so
    far or None; do not query again. `problem.queries_left` and `problem.evaluations_left` say in advance how much is
    left.
    """
    for rows in (1, 5):
        bench.expect_no_further(with_budget(bench.plain, rows))
    if Handles.OBJECTIVES in bench.entry.handles:
        bench.expect_no_further(with_budget(with_move_cost(0), 5))  # the objective spends of it, too
        bench.expect_no_further(with_budget(with_noise(0), 5))  # a part of it may be kept for re-evaluation


def gives_up(bench: Bench) -> None:
    """If there is no counterfactual, the result is None: a model that never gives the target class, features that are
    all fixed.

    To fix: classify your result with `problem.predict`, and return None if its class is not `problem.target`.
    """
    bench.expect_sound()
    cases = [without_target(bench.plain)]
    if Handles.CONSTRAINTS in bench.entry.handles:
        cases.append(with_all_fixed(bench.plain))
    for case in cases:
        bench.expect_no_further(case)


def finds_something(bench: Bench) -> None:
    """The searcher finds a counterfactual for at least one of the generated problems; most of their spaces has the
    target class.

    To fix: look at what `problem.loss` or `problem.predict` returns for the rows that you query. A search that always
    gives up passes every other check and is useless.
    """
    bench.expect_sound()
    takes_categories = Handles.CATEGORICAL in bench.entry.handles
    others = [case for case in SOLVABLE if takes_categories or not case.space.is_categorical.any()]
    cases = [bench.plain, *(case for case in others if not case.constraints)]
    if all(bench.observe(case).z is None for case in cases):
        raise Failed(f"it found nothing on any of them: {', '.join(dict.fromkeys(case.name for case in cases))}")


def runs_in_a_spawned_process(bench: Bench) -> None:
    """A new interpreter gives the same result after the same number of queries.

    To fix: results must not depend on the order of a set of strings, on `hash` or `id`, on the time, on a file, or on
    what ran earlier in the same process.
    """
    bench.expect_end()
    here, again = bench.observe(bench.plain), bench.observe(bench.plain, where="again")
    if here.difference_from(again):
        first = "preparation-is-repeatable" if bench.entry.prepares else "same-rng-same-answer"
        raise NotApplicable(f"undecided until {first} passes")
    try:
        there = bench.observe(bench.plain, where="elsewhere")
    except UnfitEntry as error:
        raise Failed(str(error)) from error
    if here.difference_from(there):
        raise Failed(here.difference_from(there))


def same_rng_same_answer(bench: Bench) -> None:
    """A generator with the same seed gives the same result after the same number of queries.

    To fix: draw only from the `rng` that `search` receives. Pass it, or a seed drawn from it, to every library that
    draws.
    """
    bench.expect_end()
    if bench.entry.prepares:  # the preparation has a check of its own
        difference = bench.observe(bench.plain, where="repeated").repeat_difference
    else:
        difference = bench.observe(bench.plain).difference_from(bench.observe(bench.plain, where="again"))
    if difference:
        raise Failed(difference)


def global_generators_untouched(bench: Bench) -> None:
    """A search leaves the global generators of numpy and of Python in the state in which it found them.

    To fix: use `rng`, not `np.random.*` or `random.*`. If a library supports only the global generators, seed them from
    `rng`, and restore their states in a `finally`.
    """
    bench.expect_end()
    # The second search in a process: what a library draws while the first one imports it is no draw of the search.
    touched = bench.observe(bench.plain, where="again").generators
    if touched:
        raise Failed(f"it drew from, or seeded, {' and '.join(touched)} global generator")


def problem_not_mutated(bench: Bench) -> None:
    """A search does not change the problem: `x`, the space, the training fold, the target.

    To fix: work on copies: `problem.x.copy()`. These arrays are read-only; do not make them writeable.
    """
    bench.expect_no("problem-not-mutated")


def meter_not_bypassed(bench: Bench) -> None:
    """Every row that the model classifies is counted.

    To fix: query only through `problem.predict`, `problem.loss`, `problem.evaluate` or `problem.predict_proba`, and use
    no private attribute.
    """
    bench.expect_no("meter-not-bypassed")


def prints_nothing(bench: Bench) -> None:
    """A search writes nothing to stdout, which is for the command line's own output.

    To fix: remove prints. Switch off a library's progress display, or redirect it with contextlib.redirect_stdout. Add
    numbers to the record with `problem.report(name, number)`.
    """
    bench.expect_no("prints-nothing")


def signals_left_alone(bench: Bench) -> None:
    """A search leaves the handling of signals unchanged: handlers, blocked signals, the alarm clock.

    To fix: install no handlers, because a run needs its own to stop cleanly. Restore the handlers that a library
    replaced.
    """
    bench.expect_no("signals-left-alone")


def interrupts_pass(bench: Bench) -> None:
    """Ctrl-C during a search ends it.

    To fix: write `except Exception`, never `except BaseException` or a bare `except`, around queries.
    """
    bench.expect_end()
    if bench.observe(bench.plain).queries == 0:
        raise NotApplicable("it makes no query")
    seen = bench.observe(bench.plain, interrupt=True)
    if seen.ending is not Ending.INTERRUPTED:
        raise Failed(
            f"KeyboardInterrupt was raised in its first query, and it {seen.ending}: {seen.error or 'no error'}"
        )


def all_numerical_features(bench: Bench) -> None:
    """The searcher works if all features are numerical.

    To fix: the message says what failed. The index of categorical columns is empty: treat reductions over it, and
    encoders fitted to it, as a special case.
    """
    bench.expect_no_further(problems.NUMERICAL)


def all_categorical_features(bench: Bench) -> None:
    """The searcher works if all features are categorical.

    To fix: the message says what failed. The index of numerical columns is empty: treat scalers, covariances and
    distances over it as a special case.
    """
    bench.expect_no_further(problems.CATEGORICAL)


def one_feature(bench: Bench) -> None:
    """The searcher works if there is only one feature.

    To fix: look for a `squeeze` that drops a dimension, for `1 / (d - 1)`, and for crossovers that need two places.
    """
    bench.expect_no_further(problems.ONE_NUMBER)
    if Handles.CATEGORICAL in bench.entry.handles:
        bench.expect_no_further(problems.ONE_CATEGORY)


def three_classes(bench: Bench) -> None:
    """With three classes the searcher looks for the target class, not for any class other than that of `x`.

    To fix: compare with `problem.target`: `problem.predict(Z) == problem.target`, not `!= class_of_x`, not `== 1`.
    """
    bench.expect_no_further(problems.THREE_CLASSES)


def tiny_ranges(bench: Bench) -> None:
    """The searcher works if an interval is 1e-9 wide, also far from zero.

    To fix: measure steps, tolerances and epsilons in `problem.space.ranges`, not in absolute numbers; do not round.
    """
    bench.expect_no_further(problems.TINY)


def huge_ranges(bench: Bench) -> None:
    """The searcher works if an interval is 1e9 wide.

    To fix: measure steps in `problem.space.ranges`; use float64; end a search that grows by fixed steps with a
    `default_budget` in its entry.
    """
    bench.expect_no_further(problems.HUGE)


def constant_features(bench: Bench) -> None:
    """The searcher works if a feature has only one value in all data, or only one category.

    To fix: divide by `problem.space.ranges`, which are never zero, not by a standard deviation. A feature with one
    category has no other category to draw.
    """
    bench.expect_no_further(problems.CONSTANT)
    if Handles.CATEGORICAL in bench.entry.handles:
        bench.expect_no_further(problems.CONSTANT_CATEGORIES)


def preparation_is_sound(bench: Bench) -> None:
    """`prepare` returns the function that searches; it raises nothing, and changes neither rows nor global generators.

    To fix: end it with `return self.search`, or with a function of your own that takes (problem, rng). The training
    rows are shared by all searches: copy what you change. Draw from `context.rng`.
    """
    bench.expect_no("preparation-is-sound")


def preparation_is_repeatable(bench: Bench) -> None:
    """A second preparation makes the same queries and leads to the same result as the first.

    To fix: draw only from `context.rng`, and keep nothing on the class or the module: every worker prepares anew.
    """
    bench.expect_end()
    difference = _difference_of_preparations(bench)
    if difference:
        raise Failed(difference)


def points_are_independent(bench: Bench) -> None:
    """What is found for a point does not depend on the points that were searched before with the same preparation.

    To fix: change nothing in a search that the next one reads. The searches of a cell are split over workers, in any
    order.
    """
    bench.expect_end()
    if _difference_of_preparations(bench):
        raise NotApplicable("undecided until preparation-is-repeatable passes")
    difference = bench.observe(bench.plain).difference_from(bench.observe(bench.plain, where="later"))
    if difference:
        raise Failed(f"after searches on other points: {difference}")


def _difference_of_preparations(bench: Bench) -> str:
    """Say how the same search differs with two preparations; undecided if it differs with one."""
    if bench.observe(bench.plain, where="repeated").repeat_difference:
        raise NotApplicable("undecided until same-rng-same-answer passes")
    return bench.observe(bench.plain).difference_from(bench.observe(bench.plain, where="again"))


def _unless_it_prepares(entry: SearcherEntry) -> str:
    return "" if entry.prepares else "it prepares nothing"


def _unless_declared(handled: Handles) -> Callable[[SearcherEntry], str]:
    return lambda entry: "" if handled in entry.handles else f"its entry does not declare Handles.{handled.name}"


SEARCHER_CHECKS: tuple[Check[SearcherEntry, Bench], ...] = (
    Check(entry_pickles),
    Check(returns_in_time),
    Check(process_survives),
    Check(raises_nothing),
    Check(asks_only_for_what_it_declares),
    Check(skipped_where_not_declared),
    Check(preparation_is_sound, _unless_it_prepares),
    Check(preparation_is_repeatable, _unless_it_prepares),
    Check(points_are_independent, _unless_it_prepares),
    Check(answer_has_the_form),
    Check(sets_as_declared),
    Check(reported_set_kept, lambda entry: "" if entry.returns_sets else "it returns no sets"),
    Check(answer_is_finite),
    Check(answer_inside_intervals),
    Check(categories_are_codes, _unless_declared(Handles.CATEGORICAL)),
    Check(answer_of_the_target_class),
    Check(judged_alike),
    Check(finds_something),
    Check(gives_up),
    Check(survives_small_budgets),
    Check(constraints_obeyed, _unless_declared(Handles.CONSTRAINTS)),
    Check(relations_kept, _unless_declared(Handles.RELATIONS)),
    Check(objective_used, _unless_declared(Handles.OBJECTIVES)),
    Check(luck_not_returned, _unless_declared(Handles.OBJECTIVES)),
    Check(same_rng_same_answer),
    Check(runs_in_a_spawned_process),
    Check(global_generators_untouched),
    Check(problem_not_mutated),
    Check(projection_feasible),
    Check(meter_not_bypassed),
    Check(prints_nothing),
    Check(signals_left_alone),
    Check(interrupts_pass),
    Check(all_numerical_features),
    Check(all_categorical_features, _unless_declared(Handles.CATEGORICAL)),
    Check(one_feature),
    Check(three_classes),
    Check(integer_features),
    Check(tiny_ranges),
    Check(huge_ranges),
    Check(constant_features),
)
"""Each guards one thing, so that a searcher with one fault fails one check."""


def check_searcher(
    entry: SearcherEntry, *, settings: Mapping[str, Any] | None = None, time_limit: float = TIME_LIMIT
) -> Report:
    """Run all conformance checks of a searcher.

    Its searches run in child processes, so that one that hangs or dies is a failed check and nothing worse. A script
    that calls this needs the guard ``if __name__ == "__main__":``, as always where processes are started.

    Parameters
    ----------
    entry : SearcherEntry
    settings : mapping, optional
        Settings of the searcher; by default the entry's ``check_settings``.
    time_limit : float
        Seconds that one search may take.

    Returns
    -------
    Report

    Raises
    ------
    UnavailableError
        If the searcher cannot run in this installation.
    UnknownNameError, StudyError
        If a setting is unknown or impossible, or a declared failure names no check.

    Examples
    --------
    >>> from cfbench import SearcherEntry
    >>> from cfbench.testing import check_searcher
    >>> def stay(problem, rng):
    ...     return None
    >>> report = check_searcher(SearcherEntry(name="stay", searcher=stay))  # doctest: +SKIP
    >>> report.passed, [finding.check for finding in report.failures]  # doctest: +SKIP
    (False, ['finds-something'])
    """
    _refuse_unknown_checks(entry)
    bench = Bench(entry, settings, time_limit)
    try:
        return report_of(SEARCHER_CHECKS, bench, entry, entry.known_failures)
    finally:
        bench.close()


def _refuse_unknown_checks(entry: SearcherEntry) -> None:
    """Raise UnknownNameError if a declared failure names no check."""
    names = [check.name for check in SEARCHER_CHECKS]
    for name in entry.known_failures:
        if name not in names:
            raise UnknownNameError(f"check in known_failures of {entry.name}", name, names)


def parametrize_searchers(*entries: SearcherEntry, time_limit: float = TIME_LIMIT) -> Callable[[F], F]:
    """Make a test of pytest into one test per searcher and check.

    Checks that do not apply to what an entry declares make no test. A failure that the entry declares is expected to
    fail; a searcher that cannot run in this installation is skipped with its reason.

    Parameters
    ----------
    *entries : SearcherEntry
    time_limit : float
        Seconds that one search may take.

    Returns
    -------
    callable
        A decorator. The test takes one argument, `check`, and calls it.

    Raises
    ------
    UnknownNameError
        If a declared failure names no check.

    Examples
    --------
    >>> from cfbench.testing import parametrize_searchers
    >>> from my_package.plugin import ENTRY  # doctest: +SKIP
    >>> @parametrize_searchers(ENTRY)  # doctest: +SKIP
    ... def test_conformance(check):
    ...     check()
    """
    import pytest

    # One child process at a time: a bench ends with its own when that of the next searcher replaces it.
    bench_of = lru_cache(maxsize=1)(lambda i: Bench(entries[i], None, time_limit))

    def test_of(i: int, check: Check[SearcherEntry, Bench]) -> Callable[[], None]:
        def test() -> None:
            entry = entries[i]
            finding = check.run(bench_of(i), entry, entry.known_failures.get(check.name, ""))
            if finding.result is Result.FAILED:
                raise Failed(f"{finding.why}\n\nIt guards: {finding.guards}\nTo fix: {finding.fix}")
            if finding.result is Result.NOT_APPLICABLE:
                pytest.skip(finding.why)
            if finding.result is Result.KNOWN:
                pytest.xfail(finding.why)

        return test

    parameters = []
    for i, entry in enumerate(entries):
        _refuse_unknown_checks(entry)
        if entry.unavailable:
            mark = pytest.mark.skip(reason=f"{entry.name} cannot run here: {entry.unavailable}")
            parameters.append(pytest.param(None, id=entry.name, marks=mark))
            continue
        checks = [check for check in SEARCHER_CHECKS if not check.unless(entry)]
        parameters += [pytest.param(test_of(i, check), id=f"{entry.name}-{check.name}") for check in checks]
    return pytest.mark.parametrize("check", parameters)
