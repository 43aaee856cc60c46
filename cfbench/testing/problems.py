"""Problems that conformance checks run searchers on, with models in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cfbench.digests import digest_of
from cfbench.problem.access import TrainingFold
from cfbench.problem.oracle import Oracle, random_rows
from cfbench.problem.problem import Term
from cfbench.registry.contracts import FittedModel, Objective, ObjectiveContext
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind

N_TRAINING = 60
"""Rows of a generated training fold."""


@dataclass(frozen=True, eq=False)
class ScoreClassifier:
    """A classifier that adds up a score over the features; the class of a row is the number of cuts that it exceeds.

    A numerical feature adds its weight times its position in its interval, from 0 at the lower end to 1 at the upper. A
    categorical one adds what the tuple holds for its code. Cuts are ascending; an infinite one is never exceeded.
    """

    space: FeatureSpace
    weights: tuple[float | tuple[float, ...], ...]
    cuts: tuple[float, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.cuts) + 1

    def score(self, Z: FloatArray) -> FloatArray:
        """Return the score of each row, shape (n,)."""
        total = np.zeros(len(Z))
        for values, feature, weight in zip(Z.T, self.space.features, self.weights, strict=True):
            if isinstance(weight, tuple):
                # A searcher may query a value that is not a category; the nearest category is used for it.
                codes = np.clip(np.rint(values), 0, len(weight) - 1).astype(np.int64)
                total += np.array(weight)[codes]
            else:
                total += weight * (values - feature.lower) / (feature.upper - feature.lower)
        return total

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class of each row, shape (n,)."""
        classes: IntArray = (self.score(Z)[:, np.newaxis] > np.array(self.cuts)).sum(axis=1).astype(np.int64)
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return 0.9 for each row's class and share the rest among the others, shape (n, n_classes)."""
        probabilities: FloatArray = np.full((len(Z), self.n_classes), 0.1 / (self.n_classes - 1))
        probabilities[np.arange(len(Z)), self.predict(Z)] = 0.9
        return probabilities

    def fingerprint(self) -> str:
        """Return a digest of weights and cuts."""
        return digest_of([self.space.digest, [str(weight) for weight in self.weights], [str(cut) for cut in self.cuts]])

    def oracle(self) -> Oracle:
        """Return the classifier itself."""
        return self


class MoveCost(Objective):
    """An objective that makes moving one feature expensive: `price` for a move across its whole interval.

    It queries the model for one row per candidate, as objectives of robustness do for many, and ignores the class.
    """

    feature: int
    price: float = 5.0

    def bind(self, context: ObjectiveContext) -> Term:
        """Return the term ``price * |z_i - x_i| / range_i``."""
        i = self.feature

        def move_cost(Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG001 - a term receives both
            context.predict(Z)
            moves: FloatArray = np.abs(Z[:, i] - context.x[i]) / context.space.ranges[i]
            return self.price * moves

        return move_cost

    def rows_per_candidate(self) -> int:
        """Return 1: the candidate itself."""
        return 1

    def draws_per_candidate(self) -> int:
        """Return 0: equal candidates have equal values."""
        return 0


class NoisyObjective(Objective):
    """An objective whose values are uniform draws, whatever the candidate.

    Its range is about twenty times that of costs, so that the smallest of many values says nothing of its candidate.
    """

    seed: int
    highest: float = 20.0

    def bind(self, context: ObjectiveContext) -> Term:
        """Return the term."""
        draws = np.random.default_rng([self.seed, context.stream])

        def noise(Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG001 - a term receives both
            return self.highest * draws.random(len(Z))

        return noise

    def draws_per_candidate(self) -> int:
        """Return 64, as many as the objective `k` uses."""
        return 64


@dataclass(frozen=True, eq=False)
class Case:
    """One problem for a searcher.

    Results are kept under the `name`. The model is the `rule`, unless a fitted `model` is given that shows its
    structure. `max_queries` None is the entry's default budget, and `objective` None the loss alone. In the training
    fold, the features of `constant` have one value, `rows` are added, and the first `mislabelled` rows have the target
    class, whatever the model says.
    """

    name: str
    rule: ScoreClassifier
    x: tuple[float, ...]
    target: int = 1
    constraints: bool = False
    respect_steps: bool = False
    max_queries: int | None = None
    objective: Objective | None = None
    constant: Mapping[int, float] = field(default_factory=dict)
    rows: tuple[tuple[float, ...], ...] = ()
    mislabelled: int = 0
    model: FittedModel | None = None

    @property
    def space(self) -> FeatureSpace:
        """The features."""
        return self.rule.space

    @property
    def queried(self) -> FittedModel:
        """The model that is queried."""
        return self.rule if self.model is None else self.model

    def training(self, n: int = N_TRAINING) -> TrainingFold:
        """Return a training fold of random rows, labelled by the rule."""
        X = random_rows(self.space, n, np.random.default_rng(5))
        X = np.where(np.isnan(self.space.steps), X, np.round(X / self.space.steps) * self.space.steps)
        for i, value in self.constant.items():
            X[:, i] = value
        X = np.vstack([X, *self.rows])
        y = self.rule.predict(X)
        y[: self.mislabelled] = self.target
        for array in (X, y):
            array.setflags(write=False)
        return TrainingFold(X, y)


def _space(**features: tuple[float, ...] | str) -> FeatureSpace:
    """Build a space: numerical features are given by lower end, upper end, maybe step; the others by their labels."""
    specs = []
    for name, given in features.items():
        if isinstance(given, str):
            labels = tuple(given.split())
            specs.append(FeatureSpec(name, Kind.CATEGORICAL, 0, len(labels) - 1, labels))
        else:
            step = given[2] if len(given) > 2 else None
            specs.append(FeatureSpec(name, Kind.NUMERICAL, given[0], given[1], step=step))
    return FeatureSpace(tuple(specs))


def _constrained(space: FeatureSpace, *constraints: Constraint) -> FeatureSpace:
    features = zip(space.features, constraints, strict=True)
    return FeatureSpace(tuple(replace(feature, constraint=constraint) for feature, constraint in features))


_MIXED = _space(
    size=(0, 20), balance=(-50, 50), age=(18, 98, 1), colour="red green blue", region="north east south west"
)
_NUMERICAL = _space(width=(0, 20), height=(-5, 5), depth=(100, 300), hue=(0, 1))

MIXED = Case(
    "mixed", ScoreClassifier(_MIXED, (1.0, 0.5, 0.0, (0.0, 0.0, 0.5), (0.0, 0.1, 0.2, 0.3)), (0.71,)), (6, 10, 40, 0, 1)
)
NUMERICAL = Case("all-numerical", ScoreClassifier(_NUMERICAL, (1.0, 0.5, 0.5, 0.0), (0.91,)), (8, 1, 180, 0.5))
CATEGORICAL = Case(
    "all-categorical",
    ScoreClassifier(
        _space(a="no yes", b="low mid high", c="north east south west", d="red green blue"),
        ((0.0, 0.4), (0.0, 0.2, 0.6), (0.0, 0.1, 0.2, 0.3), (0.0, 0.0, 0.0)),
        (0.5,),
    ),
    (0, 0, 1, 0),
)
ONE_NUMBER = Case("one-number", ScoreClassifier(_space(size=(0, 10)), (1.0,), (0.5,)), (4.9,))
ONE_CATEGORY = Case("one-category", ScoreClassifier(_space(colour="red green blue"), ((0.0, 0.2, 1.0),), (0.5,)), (1,))
# The way from x to the target, class 2, leads through class 1.
THREE_CLASSES = Case(
    "three-classes",
    ScoreClassifier(_space(width=(0, 20), height=(0, 10), hue=(0, 1)), (1.0, 0.5, 0.0), (0.55, 0.75)),
    (7, 3, 0.5),
    target=2,
)
INTEGERS = Case(
    "integers",
    ScoreClassifier(_space(rooms=(0, 10, 1), rate=(0, 100, 5), age=(18, 90, 1)), (1.0, 0.5, 0.0), (0.65,)),
    (4, 40, 50),
)
STEPS = replace(INTEGERS, name="steps", respect_steps=True)
# The second interval lies far from zero: its values differ in their last digits only.
TINY = Case(
    "tiny-ranges",
    ScoreClassifier(_space(mass=(0, 1e-9), ratio=(1, 1 + 1e-9), hue=(0, 1)), (1.0, 0.5, 0.0), (0.61,)),
    (4e-10, 1 + 4e-10, 0.5),
)
HUGE = Case(
    "huge-ranges",
    ScoreClassifier(_space(assets=(0, 1e9), balance=(-1e9, 1e9), hue=(0, 1)), (1.0, 0.5, 0.0), (0.61,)),
    (4e8, -2e8, 0.5),
)
CONSTANT = Case(
    "constant-numbers",
    ScoreClassifier(_space(size=(0, 20), fee=(0, 1), offset=(-5, 5)), (1.0, 0.2, 0.0), (0.47,)),
    (8, 0.3, 0),
    constant={1: 0.3, 2: 0.0},
)
CONSTANT_CATEGORIES = Case(
    "constant-categories",
    ScoreClassifier(
        _space(size=(0, 20), planet="earth", colour="red green blue"), (1.0, (0.0,), (0.0, 0.1, 0.2)), (0.51,)
    ),
    (8, 0, 1),
    constant={1: 0.0, 2: 1.0},
)
# The cheapest ways to the target (a larger size or width, another colour, another depth) are forbidden.
CONSTRAINED_MIXED = Case(
    "constrained-mixed",
    ScoreClassifier(
        _constrained(
            _MIXED, Constraint.ONLY_DOWN, Constraint.ONLY_UP, Constraint.FIXED, Constraint.FIXED, Constraint.FREE
        ),
        (1.0, 0.2, 0.0, (0.0, 0.0, 0.5), (0.0, 0.05, 0.1, 0.15)),
        (0.5,),
    ),
    (6, -40, 40, 0, 1),
    constraints=True,
)
CONSTRAINED_NUMERICAL = Case(
    "constrained-numerical",
    ScoreClassifier(
        _constrained(_NUMERICAL, Constraint.ONLY_DOWN, Constraint.ONLY_UP, Constraint.FIXED, Constraint.FREE),
        (1.0, 0.3, 1.0, 0.0),
        (1.0,),
    ),
    (8, -3, 180, 0.5),
    constraints=True,
)
# A relation excludes nine tenths of the box: the size that leads to the target needs a smaller balance. The colour that
# leads there, too, is forbidden.
RELATED_MIXED = Case(
    "related-mixed",
    ScoreClassifier(
        replace(
            _MIXED,
            relations=(
                "size / 20 + balance / 100 <= -0.053",
                {"feature": "colour", "from": "green", "to": ["blue"]},
                {"if": {"region": ["west"]}, "then": {"age": ">= 60"}},
            ),
        ),
        (1.0, 0.0, 0.0, (0.0, 0.0, 0.5), (0.0, 0.0, 0.0, 0.0)),
        (0.3,),
    ),
    (2, -20, 40, 1, 1),
    constraints=True,
    rows=((7, -42, 40, 1, 1),),
)
RELATED_NUMERICAL = Case(
    "related-numerical",
    ScoreClassifier(
        replace(_NUMERICAL, relations=("width / 20 + height / 10 <= -0.053",)), (1.0, 0.0, 0.0, 0.0), (0.3,)
    ),
    (2, -2, 180, 0.5),
    constraints=True,
    rows=((7, -4.5, 180, 0.5),),
)


def without_target(case: Case) -> Case:
    """Return `case` with a model that never predicts the target class, which some training rows have."""
    rule = replace(case.rule, cuts=(*case.rule.cuts[:-1], np.inf))
    return replace(case, name=f"{case.name}, never the target", rule=rule, mislabelled=5)


def with_all_fixed(case: Case) -> Case:
    """Return `case` with constraints that allow no feature to change."""
    rule = replace(case.rule, space=_constrained(case.space, *[Constraint.FIXED] * case.space.d))
    return replace(case, name=f"{case.name}, all fixed", rule=rule, constraints=True)


def with_budget(case: Case, rows: int) -> Case:
    """Return `case` with a query budget."""
    return replace(case, name=f"{case.name}, {rows} row{'s' if rows > 1 else ''}", max_queries=rows)


def with_move_cost(feature: int) -> Case:
    """Return a problem where either of two features leads to the target, and moving `feature` is expensive."""
    space = _space(left=(0, 20), right=(0, 20), hue=(0, 1))
    return Case(
        f"move cost on {space.names[feature]}",
        ScoreClassifier(space, (1.0, 1.0, 0.0), (0.99,)),
        (9.8, 9.8, 0.5),
        objective=MoveCost(feature=feature),
        rows=((9.8, 15, 0.5), (15, 9.8, 0.5)),
    )


def with_noise(seed: int) -> Case:
    """Return a problem where two features lead to the target, and the values of candidates are mostly noise."""
    return replace(with_move_cost(0), name=f"noise {seed}", objective=NoisyObjective(seed=seed))


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
"""The problems that have a solution, except those with an objective."""
