"""The generated problems by name: what is special about each, and an answer that is known to be there.

All models are rules in closed form. Factual points lie a little below a cut, so that a local search finds its way, too,
and most of each space is of the target class, so that chance does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cfbench.space import Constraint, FeatureSpace, FeatureSpec, Kind
from cfbench.testing.cases import Case, Lottery, Toll
from cfbench.testing.rules import Rule

Way = Constraint


def _number(
    name: str, lower: float, upper: float, constraint: Constraint = Way.FREE, step: float | None = None
) -> FeatureSpec:
    return FeatureSpec(name, Kind.NUMERICAL, lower, upper, constraint=constraint, step=step)


def _choice(name: str, labels: str, constraint: Constraint = Way.FREE) -> FeatureSpec:
    categories = tuple(labels.split())
    return FeatureSpec(name, Kind.CATEGORICAL, 0, len(categories) - 1, categories, constraint)


def _mixed_space(*ways: Constraint) -> FeatureSpace:
    size, balance, age, colour, region = ways or (Way.FREE,) * 5
    return FeatureSpace(
        (
            _number("size", 0, 20, size),
            _number("balance", -50, 50, balance),
            _number("age", 18, 98, age, step=1),
            _choice("colour", "red green blue", colour),
            _choice("region", "north east south west", region),
        )
    )


def _numerical_space(*ways: Constraint) -> FeatureSpace:
    width, height, depth, hue = ways or (Way.FREE,) * 4
    return FeatureSpace(
        (
            _number("width", 0, 20, width),
            _number("height", -5, 5, height),
            _number("depth", 100, 300, depth),
            _number("hue", 0, 1, hue),
        )
    )


_MIXED_WEIGHTS = (1.0, 0.5, 0.0, (0.0, 0.0, 0.5), (0.0, 0.1, 0.2, 0.3))
_NUMERICAL_WEIGHTS = (1.0, 0.5, 0.5, 0.0)

MIXED = Case("mixed", Rule(_mixed_space(), _MIXED_WEIGHTS, (0.71,)), (6, 10, 40, 0, 1), answer=(6, 10, 40, 2, 1))
NUMERICAL = Case(
    "all-numerical",
    Rule(_numerical_space(), _NUMERICAL_WEIGHTS, (0.91,)),
    (8, 1, 180, 0.5),
    answer=(9, 1, 180, 0.5),
)
CATEGORICAL = Case(
    "all-categorical",
    Rule(
        FeatureSpace(
            (
                _choice("a", "no yes"),
                _choice("b", "low mid high"),
                _choice("c", "north east south west"),
                _choice("d", "red green blue"),
            )
        ),
        ((0.0, 0.4), (0.0, 0.2, 0.6), (0.0, 0.1, 0.2, 0.3), (0.0, 0.0, 0.0)),
        (0.5,),
    ),
    (0, 0, 1, 0),
    answer=(0, 2, 1, 0),
)
ONE_NUMBER = Case("one-number", Rule(FeatureSpace((_number("size", 0, 10),)), (1.0,), (0.5,)), (4.9,), answer=(6,))
ONE_CATEGORY = Case(
    "one-category",
    Rule(FeatureSpace((_choice("colour", "red green blue"),)), ((0.0, 0.2, 1.0),), (0.5,)),
    (1,),
    answer=(2,),
)
# The way from x to the target, class 2, leads through class 1.
THREE_CLASSES = Case(
    "three-classes",
    Rule(
        FeatureSpace((_number("width", 0, 20), _number("height", 0, 10), _number("hue", 0, 1))),
        (1.0, 0.5, 0.0),
        (0.55, 0.75),
    ),
    (7, 3, 0.5),
    target=2,
    answer=(13, 3, 0.5),
)
INTEGERS = Case(
    "integers",
    Rule(
        FeatureSpace(
            (_number("rooms", 0, 10, step=1), _number("rate", 0, 100, step=5), _number("age", 18, 90, step=1))
        ),
        (1.0, 0.5, 0.0),
        (0.65,),
    ),
    (4, 40, 50),
    answer=(5, 40, 50),
)
STEPS = replace(INTEGERS, name="steps", respect_steps=True)
# The second interval lies far from zero: its values differ in their last digits only.
TINY = Case(
    "tiny-ranges",
    Rule(
        FeatureSpace((_number("mass", 0, 1e-9), _number("ratio", 1, 1 + 1e-9), _number("hue", 0, 1))),
        (1.0, 0.5, 0.0),
        (0.61,),
    ),
    (4e-10, 1 + 4e-10, 0.5),
    answer=(5e-10, 1 + 4e-10, 0.5),
)
HUGE = Case(
    "huge-ranges",
    Rule(
        FeatureSpace((_number("assets", 0, 1e9), _number("balance", -1e9, 1e9), _number("hue", 0, 1))),
        (1.0, 0.5, 0.0),
        (0.61,),
    ),
    (4e8, -2e8, 0.5),
    answer=(5e8, -2e8, 0.5),
)
CONSTANT = Case(
    "constant-numbers",
    Rule(
        FeatureSpace((_number("size", 0, 20), _number("fee", 0, 1), _number("offset", -5, 5))),
        (1.0, 0.2, 0.0),
        (0.47,),
    ),
    (8, 0.3, 0),
    answer=(10, 0.3, 0),
    constant={1: 0.3, 2: 0.0},
)
CONSTANT_CATEGORIES = Case(
    "constant-categories",
    Rule(
        FeatureSpace((_number("size", 0, 20), _choice("planet", "earth"), _choice("colour", "red green blue"))),
        (1.0, (0.0,), (0.0, 0.1, 0.2)),
        (0.51,),
    ),
    (8, 0, 1),
    answer=(10, 0, 1),
    constant={1: 0.0, 2: 1.0},
)
# The cheapest ways to the target (a larger size or width, another colour, another depth) are forbidden.
CONSTRAINED_MIXED = Case(
    "constrained-mixed",
    Rule(
        _mixed_space(Way.ONLY_DOWN, Way.ONLY_UP, Way.FIXED, Way.FIXED, Way.FREE),
        (1.0, 0.2, 0.0, (0.0, 0.0, 0.5), (0.0, 0.05, 0.1, 0.15)),
        (0.5,),
    ),
    (6, -40, 40, 0, 1),
    answer=(6, 30, 40, 0, 1),
    constraints=True,
)
CONSTRAINED_NUMERICAL = Case(
    "constrained-numerical",
    Rule(
        _numerical_space(Way.ONLY_DOWN, Way.ONLY_UP, Way.FIXED, Way.FREE),
        (1.0, 0.3, 1.0, 0.0),
        (1.0,),
    ),
    (8, -3, 180, 0.5),
    answer=(8, 4, 180, 0.5),
    constraints=True,
)


def without_target(case: Case) -> Case:
    """Return `case` with a model that never says the target class, though the data do."""
    rule = replace(case.rule, cuts=(*case.rule.cuts[:-1], np.inf))
    return replace(case, name=f"{case.name}, never the target", rule=rule, answer=None, mislabelled=5)


def with_all_fixed(case: Case) -> Case:
    """Return `case` with constraints that allow no feature to change."""
    space = FeatureSpace(tuple(replace(feature, constraint=Way.FIXED) for feature in case.space.features))
    rule = replace(case.rule, space=space)
    return replace(case, name=f"{case.name}, all fixed", rule=rule, answer=None, constraints=True)


def with_budget(case: Case, rows: int) -> Case:
    """Return `case` with a query budget."""
    return replace(case, name=f"{case.name}, {rows} row{'s' if rows > 1 else ''}", max_queries=rows)


def with_toll(feature: int) -> Case:
    """Return a problem where two features lead to the target alike, and moving `feature` is dear."""
    space = FeatureSpace((_number("left", 0, 20), _number("right", 0, 20), _number("hue", 0, 1)))
    return Case(
        f"toll on {space.names[feature]}",
        Rule(space, (1.0, 1.0, 0.0), (0.99,)),
        (9.8, 9.8, 0.5),
        answer=(9.8, 15, 0.5) if feature == 0 else (15, 9.8, 0.5),
        objective=Toll(feature=feature),
        rows=((9.8, 15, 0.5), (15, 9.8, 0.5)),
    )


def with_lottery(seed: int) -> Case:
    """Return a problem where two features lead to the target, and the values of candidates are mostly noise."""
    toll = with_toll(0)
    return replace(toll, name=f"lottery {seed}", objective=Lottery(seed=seed))


SOLVABLE = (
    MIXED,
    NUMERICAL,
    CATEGORICAL,
    ONE_NUMBER,
    ONE_CATEGORY,
    THREE_CLASSES,
    INTEGERS,
    STEPS,
    TINY,
    HUGE,
    CONSTANT,
    CONSTANT_CATEGORIES,
    CONSTRAINED_MIXED,
    CONSTRAINED_NUMERICAL,
)
"""The problems that have a known answer, those with a toll aside."""
