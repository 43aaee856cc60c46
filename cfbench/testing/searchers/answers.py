"""Checks of the answer: its form, its values, its class, and whether the judge agrees."""

from __future__ import annotations

from cfbench.testing.check import Failed
from cfbench.testing.problems import INTEGERS, STEPS
from cfbench.testing.searchers.bench import Bench
from cfbench.testing.searchers.faults import Fault


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

    To mend: keep candidates inside `problem.bounds()`, which the constraints narrow, or ask `problem.is_plausible`. A
    searcher that cannot leaves Handles.CONSTRAINTS out of its entry.
    """
    bench.expect_no_further(bench.constrained)


def integer_features(bench: Bench) -> None:
    """Integer-valued features do no harm, and where a study asks for respect_steps, the answer keeps to the steps.

    To mend: where `problem.respect_steps` holds, round to multiples of each feature's `step`, or ask
    `problem.is_plausible`, which knows of them.
    """
    bench.expect_no_further(INTEGERS)
    bench.expect_no_further(STEPS)
