"""Conformance checks of models: fitting, predictions, and the oracle."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np

from cfbench.errors import UnavailableError
from cfbench.problem import oracle as oracle_check
from cfbench.problem.answers import (
    classes_fault,
    fingerprint_fault,
    methods_fault,
    oracle_fault,
    order_fault,
    repeated_fault,
    shares_fault,
)
from cfbench.problem.oracle import Oracle, predict_neighbours, random_rows
from cfbench.registry.contracts import FittedModel, ModelFamily
from cfbench.registry.entries import ModelEntry
from cfbench.robustness.neighbours import KNeighbours
from cfbench.running.fitted import grid_of, only_choice
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.study.protocol import guarded_randomness
from cfbench.study.variants import build_settings, make_variant
from cfbench.testing.check import Check, Failed, NotApplicable, Report, guarded_call, report_of
from cfbench.testing.objectives import SPACES
from cfbench.testing.problems import ScoreClassifier

N_ROWS = 200
"""Rows of a generated table."""


class ModelBench:
    """A model family with its settings, fitted on generated tables; of an open setting, the grid's first choice."""

    def __init__(self, entry: ModelEntry, settings: Mapping[str, Any] | None = None) -> None:
        self.entry = entry
        variant = make_variant(entry, settings or {})
        self.family: ModelFamily = build_settings(entry.family, variant.settings, entry.name)
        self.fitted = cache(self.fit)

    def fit(self, table: str = "mixed", seed: int = 0) -> FittedModel:
        """Fit the family on a table; `fitted` does the same once."""
        choices = self.choices()
        chosen = {name: values[0] for name, values in choices.items()}
        X, y = rows_of(SPACES[table], seed)
        return guarded_call(lambda: self.family.fit(X, y, SPACES[table].space, chosen), "fit")

    def choices(self) -> dict[str, list[Any]]:
        """Return the family's grid, in which every list has a value."""
        grid = guarded_call(lambda: grid_of(self.entry, self.family), "grid")
        guarded_call(lambda: only_choice(grid), "grid")
        return grid

    def oracle(self, table: str = "mixed") -> Oracle:
        """Return the oracle of the model fitted on a table; not applicable if it has none of its own."""
        model = self.fitted(table)
        try:
            oracle = guarded_call(model.oracle, "oracle")
        except UnavailableError as error:
            raise NotApplicable(f"it has no oracle for this model: {error}") from error
        if oracle is model:
            raise NotApplicable("the model is its own oracle")
        return oracle


def rows_of(rule: ScoreClassifier, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Draw rows that a rule labels; every tenth label is random."""
    rng = np.random.default_rng(seed)
    X = random_rows(rule.space, N_ROWS, rng)
    y = rule.predict(X)
    y[::10] = rng.integers(0, rule.n_classes, len(y[::10]))
    return X, y


def is_complete(bench: ModelBench) -> None:
    """The family can be tuned and fitted, and the fitted model has the methods `predict`, `predict_proba`,
    `fingerprint` and `oracle`.

    To fix: the message names what is missing or raises. As long as this check fails, the others do not apply.
    """
    open_ones = [name for name, values in bench.choices().items() if len(values) > 1]
    if open_ones and type(bench.family).tune is ModelFamily.tune:
        raise Failed(
            f"the class {type(bench.family).__name__} lacks the method tune(self, X, y, space): its grid lists more "
            f"than one value of {', '.join(open_ones)}"
        )
    model: object = bench.fitted()
    fault = methods_fault(model)
    if fault:
        raise Failed(fault)
    assert isinstance(model, FittedModel)
    X, _ = rows_of(SPACES["mixed"], seed=1)
    guarded_call(lambda: model.predict(X.copy()), "predict")
    guarded_call(lambda: model.predict_proba(X.copy()), "predict_proba")
    fault = fingerprint_fault(guarded_call(model.fingerprint, "fingerprint")) or guarded_call(
        lambda: oracle_fault(model), "oracle"
    )
    if fault:
        raise Failed(fault)


def fits_in_every_space(bench: ModelBench) -> None:
    """The model can be fitted and queried if features are numerical, categorical or both, for two classes and for
    three.

    To fix: the message names the space. Categories are codes, in one float64 matrix together with the numbers; encode
    them inside the model.
    """
    for name, rule in SPACES.items():
        try:
            model = bench.fitted(name)
            _expect_form(model, rows_of(rule, seed=1)[0], rule.n_classes)
        except Failed as failure:
            raise Failed(f"space {name!r}: {failure}") from failure


def answers_have_the_form(bench: ModelBench) -> None:
    """Classes are int64 codes of shape (n,), probabilities float64 of shape (n, classes) that add up to 1; n may be 0.

    To fix: return `np.asarray(..., dtype=np.int64)`, and one column for every class code in the order of the codes,
    including classes that are missing in the training rows. If a library refuses a query without rows, treat it as a
    special case.
    """
    X, _ = rows_of(SPACES["mixed"], seed=1)
    for rows in (X, X[:1], X[:0]):
        _expect_form(bench.fitted(), rows, 2)


def same_rows_same_answers(bench: ModelBench) -> None:
    """Two queries of the same rows get the same answers.

    To fix: give every random generator of `predict` and `predict_proba` a fixed seed.
    """
    model = bench.fitted()
    X, _ = rows_of(SPACES["mixed"], seed=1)
    for name, method in (("predict", model.predict), ("predict_proba", model.predict_proba)):
        first, second = (guarded_call(partial(method, X.copy()), name) for _ in range(2))
        if not np.array_equal(first, second):
            raise Failed(repeated_fault(name, first, second))


def same_rows_same_model(bench: ModelBench) -> None:
    """The same training rows give a model with the same predictions and the same fingerprint, whatever the state of
    global generators.

    To fix: give the library a fixed seed, and train on one thread: sums in another order differ.
    """
    X, _ = rows_of(SPACES["mixed"], seed=1)
    with guarded_randomness(np.random.SeedSequence(1)):
        first = bench.fit()
    with guarded_randomness(np.random.SeedSequence(2)):
        second = bench.fit()
    if not np.array_equal(_probabilities(first, X), _probabilities(second, X)):
        raise Failed("fitted twice on the same rows, it predicts differently")
    if first.fingerprint() != second.fingerprint():
        raise Failed(
            f"fitted twice on the same rows, its fingerprints are {first.fingerprint()}, {second.fingerprint()}"
        )


def fingerprint_tells_models_apart(bench: ModelBench) -> None:
    """Models with different predictions have different fingerprints.

    To fix: digest everything that was learned (trees, weights, the encoding, the class codes) with
    cfbench.digests.digest_of_arrays.
    """
    X, _ = rows_of(SPACES["mixed"], seed=1)
    one, other = bench.fitted(), bench.fit(seed=7)
    differ = not np.array_equal(_probabilities(one, X), _probabilities(other, X))
    if differ and one.fingerprint() == other.fingerprint():
        raise Failed(f"fitted on other rows it predicts differently, but has the same fingerprint {one.fingerprint()}")


def pickles(bench: ModelBench) -> None:
    """A fitted model can be pickled and unpickled, and predicts the same afterwards: fitted models are kept between
    runs.

    To fix: define its classes at the top level of an importable module. Leave out of the pickle, with `__getstate__`,
    what can be computed again.
    """
    model = bench.fitted()
    again = guarded_call(lambda: pickle.loads(pickle.dumps(model)), "pickling")  # noqa: S301 - its own pickle
    X, _ = rows_of(SPACES["mixed"], seed=1)
    if not isinstance(again, FittedModel) or not np.array_equal(_probabilities(model, X), _probabilities(again, X)):
        raise Failed("after pickling it predicts differently")
    if again.fingerprint() != model.fingerprint():
        raise Failed("after pickling its fingerprint differs")


def _expect_form(model: FittedModel, rows: FloatArray, n_classes: int) -> None:
    """Check the form of predictions."""
    classes: Any = guarded_call(lambda: model.predict(rows.copy()), f"predict for {len(rows)} rows")
    shares: Any = guarded_call(lambda: model.predict_proba(rows.copy()), f"predict_proba for {len(rows)} rows")
    fault = classes_fault(classes, len(rows), n_classes) or shares_fault(shares, len(rows), n_classes)
    fault = fault or order_fault(classes, shares)
    if fault:
        raise Failed(fault)


def _probabilities(model: FittedModel, X: FloatArray) -> FloatArray:
    return guarded_call(lambda: model.predict_proba(X.copy()), "predict_proba")


Comparison = Callable[[Oracle, Oracle, FeatureSpace, FloatArray], str]


def oracle_equals_predict(bench: ModelBench) -> None:
    """The oracle gives training rows and random rows the same classes as the model's predict, in every space.

    To fix: the message names a row. Check how categories are encoded, how ties are decided, and in which order votes
    are added.
    """
    _compare(bench, oracle_check.rows_differ)


def oracle_equals_predict_on_boundaries(bench: ModelBench) -> None:
    """They agree on both sides of the model's boundaries, one unit in the last place apart.

    To fix: compare as the model does, `<=` or `<`, and in its precision: many libraries cast rows to float32 first.
    """
    _compare(bench, oracle_check.boundaries_differ)


def oracle_equals_predict_for_single_rows(bench: ModelBench) -> None:
    """They agree on queries of one row.

    To fix: libraries add in another order for other numbers of rows. Classify single rows in the same way as many, or
    let the model decide rows that are within rounding of a boundary.
    """
    _compare(bench, oracle_check.single_rows_differ)


def oracle_equals_predict_for_neighbours(bench: ModelBench) -> None:
    """The classes of K-neighbours are those of the rows that `KNeighbours.draw` returns.

    To fix: an oracle without `predict_neighbours` is queried row by row. One that draws itself must key its draws as
    cfbench.robustness.KNeighbours does, with its functions descended_key and uniform_share, and use the distribution.
    """
    _compare(bench, oracle_check.neighbours_differ)


def oracle_equals_predict_proba(bench: ModelBench) -> None:
    """Probabilities equal the model's own, to the last bit.

    To fix: pass queries for probabilities to the model if the fast method rounds differently.
    """
    _compare(bench, oracle_check.probabilities_differ)


def queries_not_mutated(bench: ModelBench) -> None:
    """A query, of the model or of its oracle, does not change its rows, and read-only or strided rows give the same
    classes.

    To fix: copy before you change rows, as `np.require(Z, np.float64, ["C", "W"])` does if necessary.
    """
    model = bench.fitted()
    X, _ = rows_of(SPACES["mixed"], seed=1)
    _expect_unchanged(model, X)
    with suppress(NotApplicable):
        _expect_unchanged(bench.oracle(), X)


def _expect_unchanged(queried: Oracle, X: FloatArray) -> None:
    wanted = guarded_call(lambda: queried.predict(X.copy()), "predict")
    locked, strided = X.copy(), np.repeat(X, 2, axis=1)[:, ::2]
    locked.setflags(write=False)
    neighbours = KNeighbours(SPACES["mixed"].space, locked[0], 1, 5)
    for name, rows in {"read-only": locked, "strided": strided}.items():
        answers = guarded_call(partial(queried.predict, rows), f"predict for {name} rows")
        if not np.array_equal(answers, wanted):
            raise Failed(f"{name} rows get other classes")
        guarded_call(partial(predict_neighbours, queried, rows, neighbours), f"K-neighbours of {name} rows")
        guarded_call(partial(queried.predict_proba, rows), f"predict_proba for {name} rows")
        if not np.array_equal(rows, X):
            raise Failed(f"it changed {name} rows")


def _compare(bench: ModelBench, compare: Comparison) -> None:
    for name, rule in SPACES.items():
        oracle, model = bench.oracle(name), bench.fitted(name)
        X, _ = rows_of(rule)
        reason = guarded_call(partial(compare, oracle, model, rule.space, X), "the oracle")
        if reason:
            raise Failed(f"space {name!r}: {reason}")


MODEL_CHECKS: tuple[Check[ModelEntry, ModelBench], ...] = (
    Check(is_complete, comes_first=True),
    Check(fits_in_every_space),
    Check(answers_have_the_form),
    Check(same_rows_same_answers),
    Check(same_rows_same_model),
    Check(fingerprint_tells_models_apart),
    Check(pickles),
    Check(oracle_equals_predict),
    Check(oracle_equals_predict_on_boundaries),
    Check(oracle_equals_predict_for_single_rows),
    Check(oracle_equals_predict_for_neighbours),
    Check(oracle_equals_predict_proba),
    Check(queries_not_mutated),
)
"""Each guards one thing, so that a model with one fault fails one check."""


def check_model(entry: ModelEntry, *, settings: Mapping[str, Any] | None = None) -> Report:
    """Run all conformance checks of a model and of its oracle.

    Parameters
    ----------
    entry : ModelEntry
    settings : mapping, optional
        Settings of the family; the others have their defaults. Nothing is tuned: for an open setting, the first choice
        of the grid is used.

    Raises
    ------
    UnknownNameError, StudyError
        If a setting is unknown or impossible.
    """
    return report_of(MODEL_CHECKS, ModelBench(entry, settings), entry)
