"""Checks on special spaces: what works on the plain problem has to work on these."""

from __future__ import annotations

from cfbench.entries import Handles
from cfbench.testing import problems
from cfbench.testing.searchers.bench import Bench


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
