"""Problems that conformance checks run searchers on, with rules whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cfbench.digests import digest_of
from cfbench.problem.oracle import Oracle
from cfbench.problem.problem import Term, TrainingFold
from cfbench.registry.contracts import FittedModel, Objective, ObjectiveContext
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind


@dataclass(frozen=True, eq=False)
class ScoreClassifier:
    """A classifier that adds up a score over the features and cuts it into classes.

    The class of a row is the number of cuts that its score exceeds.

    Parameters
    ----------
    space : FeatureSpace
    weights : tuple of (float or tuple of float)
        A numerical feature adds its weight times its position in its interval, from 0 at the lower end to 1 at the
        upper; a categorical one adds what the tuple holds for its code.
    cuts : tuple of float
        Ascending. One cut makes two classes; an infinite one is never exceeded.
    """

    space: FeatureSpace
    weights: tuple[float | tuple[float, ...], ...]
    cuts: tuple[float, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.cuts) + 1

    def score(self, Z: FloatArray) -> FloatArray:
        """Add up the score of each row, shape (n,)."""
        total = np.zeros(len(Z))
        for values, feature, weight in zip(Z.T, self.space.features, self.weights, strict=True):
            if isinstance(weight, tuple):
                # A searcher may ask about what is no category; the nearest one answers for it.
                codes = np.clip(np.rint(values), 0, len(weight) - 1).astype(np.int64)
                total += np.array(weight)[codes]
            else:
                assert feature.kind is Kind.NUMERICAL
                total += weight * (values - feature.lower) / (feature.upper - feature.lower)
        return total

    def predict(self, Z: FloatArray) -> IntArray:
        """Say the class of each row, shape (n,)."""
        classes: IntArray = (self.score(Z)[:, np.newaxis] > np.array(self.cuts)).sum(axis=1).astype(np.int64)
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return 0.9 for each row's class and share the rest among the others, shape (n, n_classes)."""
        rest = 0.1 / (self.n_classes - 1)
        probabilities: FloatArray = np.full((len(Z), self.n_classes), rest)
        probabilities[np.arange(len(Z)), self.predict(Z)] = 0.9
        return probabilities

    def fingerprint(self) -> str:
        """Digest of weights and cuts."""
        return digest_of([self.space.digest, [str(weight) for weight in self.weights], [str(cut) for cut in self.cuts]])

    def oracle(self) -> Oracle:
        """The rule answers for itself."""
        return self


class Counted:
    """An oracle that counts all queried rows, by any method, and can interrupt a search.

    Parameters
    ----------
    oracle : Oracle
    interrupt : bool
        Whether the first query ends as if Ctrl-C had been pressed.

    Attributes
    ----------
    rows : int
    """

    def __init__(self, oracle: Oracle, *, interrupt: bool = False) -> None:
        self._inner = oracle
        self._interrupt = interrupt
        self.rows = 0

    def predict(self, Z: FloatArray) -> IntArray:
        """Answer as the oracle does."""
        self._count(Z)
        return self._inner.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer as the oracle does."""
        self._count(Z)
        return self._inner.predict_proba(Z)

    def _count(self, Z: FloatArray) -> None:
        self.rows += len(Z)
        if self._interrupt:
            raise KeyboardInterrupt


N_TRAINING = 60
"""Rows of a training fold that is made up."""


class MoveCost(Objective):
    """An objective that makes moving one feature expensive, in proportion to the distance.

    It queries the model for one row per candidate, as objectives of robustness do for many, and ignores the class.

    Parameters
    ----------
    feature : int
    price : float
        Of a move across the feature's whole interval.
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
        """One row."""
        return 1

    def draws_per_candidate(self) -> int:
        """Return 0: equal candidates have equal values."""
        return 0


class NoisyObjective(Objective):
    """An objective that is nothing but noise: each value is drawn anew, uniformly, whatever the candidate.

    Its range is some twenty times that of costs, so that the smallest of many values says nothing of its candidate.

    Parameters
    ----------
    seed : int
    highest : float
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
        """Return 64, as many as the objective `k` takes."""
        return 64


@dataclass(frozen=True, eq=False)
class Case:
    """One problem to put to a searcher.

    Parameters
    ----------
    name : str
        Unique among the cases; results are kept under it.
    rule : ScoreClassifier
        The model, unless `model` is given; its space is the problem's.
    x : tuple of float
    target : int
    answer : tuple of float or None
        A known counterfactual; None if there is none.
    constraints, respect_steps : bool
    max_queries : int or None
        The query budget; None: the entry's default.
    objective : Objective or None
        None: the loss alone.
    constant : mapping of int to float
        Features that have one value in all training rows.
    rows : tuple of (tuple of float)
        Further training rows.
    mislabelled : int
        Training rows that the data put into the target class, whatever the model says.
    model : FittedModel or None
        A fitted model that shows its structure, for searchers that need one.
    """

    name: str
    rule: ScoreClassifier
    x: tuple[float, ...]
    target: int = 1
    answer: tuple[float, ...] | None = None
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
        """The space that the rule is about."""
        return self.rule.space

    @property
    def asked(self) -> FittedModel:
        """The model that is queried."""
        return self.rule if self.model is None else self.model

    def training(self, n: int = N_TRAINING) -> TrainingFold:
        """Make up a training fold: uniform rows, `rows`, labels by the rule but for the mislabelled ones."""
        rng = np.random.default_rng(5)
        columns = [
            rng.integers(0, feature.n_categories, n).astype(np.float64)
            if feature.kind is Kind.CATEGORICAL
            else rng.uniform(feature.lower, feature.upper, n)
            for feature in self.space.features
        ]
        for i, feature in enumerate(self.space.features):
            if i in self.constant:
                columns[i] = np.full(n, self.constant[i])
            elif feature.step is not None:
                columns[i] = np.round(columns[i] / feature.step) * feature.step
        X = np.column_stack(columns)
        if self.rows:
            X = np.concatenate([X, np.array(self.rows, dtype=np.float64)])
        y = self.rule.predict(X)
        y[: self.mislabelled] = self.target
        for array in (X, y):
            array.setflags(write=False)
        return TrainingFold(X, y)


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

MIXED = Case(
    "mixed", ScoreClassifier(_mixed_space(), _MIXED_WEIGHTS, (0.71,)), (6, 10, 40, 0, 1), answer=(6, 10, 40, 2, 1)
)
NUMERICAL = Case(
    "all-numerical",
    ScoreClassifier(_numerical_space(), _NUMERICAL_WEIGHTS, (0.91,)),
    (8, 1, 180, 0.5),
    answer=(9, 1, 180, 0.5),
)
CATEGORICAL = Case(
    "all-categorical",
    ScoreClassifier(
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
ONE_NUMBER = Case(
    "one-number", ScoreClassifier(FeatureSpace((_number("size", 0, 10),)), (1.0,), (0.5,)), (4.9,), answer=(6,)
)
ONE_CATEGORY = Case(
    "one-category",
    ScoreClassifier(FeatureSpace((_choice("colour", "red green blue"),)), ((0.0, 0.2, 1.0),), (0.5,)),
    (1,),
    answer=(2,),
)
# The way from x to the target, class 2, leads through class 1.
THREE_CLASSES = Case(
    "three-classes",
    ScoreClassifier(
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
    ScoreClassifier(
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
    ScoreClassifier(
        FeatureSpace((_number("mass", 0, 1e-9), _number("ratio", 1, 1 + 1e-9), _number("hue", 0, 1))),
        (1.0, 0.5, 0.0),
        (0.61,),
    ),
    (4e-10, 1 + 4e-10, 0.5),
    answer=(5e-10, 1 + 4e-10, 0.5),
)
HUGE = Case(
    "huge-ranges",
    ScoreClassifier(
        FeatureSpace((_number("assets", 0, 1e9), _number("balance", -1e9, 1e9), _number("hue", 0, 1))),
        (1.0, 0.5, 0.0),
        (0.61,),
    ),
    (4e8, -2e8, 0.5),
    answer=(5e8, -2e8, 0.5),
)
CONSTANT = Case(
    "constant-numbers",
    ScoreClassifier(
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
    ScoreClassifier(
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
    ScoreClassifier(
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
    ScoreClassifier(
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


def with_move_cost(feature: int) -> Case:
    """Return a problem where either of two features leads to the target, and moving `feature` is expensive."""
    space = FeatureSpace((_number("left", 0, 20), _number("right", 0, 20), _number("hue", 0, 1)))
    return Case(
        f"toll on {space.names[feature]}",
        ScoreClassifier(space, (1.0, 1.0, 0.0), (0.99,)),
        (9.8, 9.8, 0.5),
        answer=(9.8, 15, 0.5) if feature == 0 else (15, 9.8, 0.5),
        objective=MoveCost(feature=feature),
        rows=((9.8, 15, 0.5), (15, 9.8, 0.5)),
    )


def with_noise(seed: int) -> Case:
    """Return a problem where two features lead to the target, and the values of candidates are mostly noise."""
    move_cost = with_move_cost(0)
    return replace(move_cost, name=f"lottery {seed}", objective=NoisyObjective(seed=seed))


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
"""The problems that have a known solution, except those with a toll."""
