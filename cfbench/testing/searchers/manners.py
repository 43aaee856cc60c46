"""Checks of manners: what a search leaves as it was, and that it is the same search again with the same generator."""

from __future__ import annotations

from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.searchers.bench import Bench
from cfbench.testing.searchers.faults import Fault
from cfbench.testing.searchers.observation import Ending


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
