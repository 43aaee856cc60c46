"""Boosted ensembles: the library's classes row for row, by the oracle and by the structure; refusals; fingerprints."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.errors import ModelError, UnavailableError
from cfbench.forests import forest_of, winner_of
from cfbench.problem.oracle import objection
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import build_registry
from cfbench.robustness import Distribution, KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench.study.plan import make_plan
from cfbench.study.study import Study
from cfbench_models import plugin
from cfbench_models.boosting.family import (
    BoostedModel,
    Boosting,
    CatBoost,
    GradientBoosting,
    LightGBM,
    XGBoost,
)
from cfbench_models.boosting.reading import read_catboost, read_lightgbm, read_xgboost, sigmoid_bar, single_sigmoid_bar
from cfbench_models.forest import oracle as tree_oracle
from cfbench_models.forest.oracle import CompiledForest
from tests.plugins.test_forest_oracle import SPACE, table

FAMILIES: dict[str, tuple[Boosting, dict[str, Any]]] = {
    "gradient-boosting": (GradientBoosting(max_iter=60), {"learning_rate": 0.1, "max_leaf_nodes": 15}),
    "xgboost": (XGBoost(n_estimators=60), {"learning_rate": 0.3, "max_depth": 4}),
    "lightgbm": (LightGBM(n_estimators=60), {"learning_rate": 0.1, "num_leaves": 15}),
    "catboost": (CatBoost(iterations=60), {"learning_rate": 0.2, "depth": 4}),
}
each_family = pytest.mark.parametrize("name", FAMILIES)
each_model = pytest.mark.parametrize(("name", "classes"), [(name, k) for name in FAMILIES for k in (2, 3)])


@cache
def boosted(name: str, classes: int = 2) -> BoostedModel:
    family, chosen = FAMILIES[name]
    X, y = table(400, seed=classes, classes=classes)
    size = {key: values[0] for key, values in family.grid().items() if len(values) == 1}
    return family.fit(X, y, SPACE, size | chosen)


def hard_rows(model: BoostedModel, n: int, seed: int = 0) -> FloatArray:
    """Rows as in training, many with values on thresholds or one float64 or float32 number away from them."""
    structure, rng = forest_of(model), np.random.default_rng(seed)
    X, _ = table(n, seed=seed + 100)
    Z = np.where(rng.random(X.shape) < 0.5, X, X[rng.permutation(n)])
    Z[:, 1] = rng.integers(4, size=n)
    for feature in (0, 3, 4):
        ends = structure.boundaries[feature]
        ends = ends[np.abs(ends) < 1e38]  # CatBoost separates missing values from numbers at the smallest float32
        single = ends.astype(np.float32)
        steps = [np.nextafter(single, np.float32(sign * np.inf)).astype(np.float64) for sign in (-1, 1)]
        near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf), single, *steps, [0.0]])
        there = rng.random(n) < 0.4
        Z[there, feature] = rng.choice(near, there.sum())
    return Z


def assert_identical(model: BoostedModel, Z: FloatArray) -> None:
    wanted, structure = model.predict(Z), forest_of(model)
    assert len(set(wanted)) == model.n_classes
    np.testing.assert_array_equal(model.oracle().predict(Z), wanted)
    np.testing.assert_array_equal(structure.predict_cells(structure.cells(Z)), wanted)


@each_model
def test_oracle_and_structure_give_the_librarys_classes(name: str, classes: int) -> None:
    model = boosted(name, classes)
    assert_identical(model, hard_rows(model, 20_000))
    assert objection(model.oracle(), model, SPACE, table(150, seed=classes, classes=classes)[0]) == ""


@pytest.mark.slow
@each_model
def test_a_million_rows(name: str, classes: int) -> None:
    model = boosted(name, classes)
    for seed in range(10):
        assert_identical(model, hard_rows(model, 100_000, seed + 1))


@each_model
def test_queries_of_any_size_and_neighbours(name: str, classes: int) -> None:
    model = boosted(name, classes)
    oracle = model.oracle()
    assert isinstance(oracle, CompiledForest)
    Z = hard_rows(model, 200)
    for n in (0, 1, 2, 64, 65, 129):
        np.testing.assert_array_equal(oracle.predict(Z[:n]), model.predict(Z[:n]))
    np.testing.assert_array_equal(oracle.predict_proba(Z), model.predict_proba(Z))
    x = Z[0]
    Z = np.where(np.random.default_rng(1).random(Z.shape) < 0.5, x, Z)[:40]
    for m in (5, 65):
        for distribution in Distribution:
            neighbours = KNeighbours(SPACE, x, 2**63 + m, m, distribution)
            drawn = model.predict(neighbours.draw(Z).reshape(-1, 6)).reshape(40, m)
            np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), drawn)


@each_family
def test_fitting_twice_gives_one_fingerprint(name: str) -> None:
    family, chosen = FAMILIES[name]
    X, y = table(400, seed=2)
    size = {key: values[0] for key, values in family.grid().items() if len(values) == 1}
    again = family.fit(X, y, SPACE, size | chosen, seed=42)
    assert again.fingerprint() == boosted(name).fingerprint()
    assert family.fit(X[:300], y[:300], SPACE, size | chosen).fingerprint() != again.fingerprint()


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_the_seed_is_the_librarys(name: str) -> None:
    family, chosen = FAMILIES[name]
    X, y = table(400, seed=2)
    draws = {"lightgbm": {"bagging_fraction": 0.5, "bagging_freq": 1}, "xgboost": {"subsample": 0.5}, "catboost": {}}
    prints = [family.fit(X, y, SPACE, chosen | draws[name], seed=seed).fingerprint() for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


@each_family
def test_class_codes_with_a_gap(name: str) -> None:
    family, chosen = FAMILIES[name]
    X, y = table(150, seed=2)
    model = family.fit(X, y * 2, SPACE, chosen)
    assert set(model.predict(X)) == {0, 2}
    assert model.predict_proba(X).shape == (150, 3)
    assert not model.predict_proba(X)[:, 1].any()
    np.testing.assert_array_equal(model.oracle().predict(X), model.predict(X))
    structure = forest_of(model)
    np.testing.assert_array_equal(structure.predict_cells(structure.cells(X)), model.predict(X))


@each_family
def test_one_class_alone_is_refused(name: str) -> None:
    X, _ = table(50, seed=2)
    with pytest.raises(ModelError, match="rows of two classes at least"):
        FAMILIES[name][0].fit(X, np.ones(50, dtype=np.int64), SPACE, FAMILIES[name][1])


@each_family
def test_tuning_chooses_from_the_grid(name: str) -> None:
    X, y = table(60, seed=1, classes=2)
    few = {"gradient-boosting": "max_iter", "catboost": "iterations"}.get(name, "n_estimators")
    family = type(FAMILIES[name][0])(**{few: 2})
    chosen = family.tune(X, y * 2, SPACE)
    assert {key: chosen[key] in values for key, values in family.grid().items()} == dict.fromkeys(family.grid(), True)


def test_without_numba_the_library_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_oracle, "compiled_queries", lambda: None)
    model = boosted("gradient-boosting")
    assert model.oracle() is model


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_without_its_package_a_familys_cells_are_skipped_with_the_command(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plugin, "find_spec", lambda package: None if package == name else find_spec(package))
    registry = build_registry()
    study = Study(
        name="absent",
        datasets=("credit",),
        models=(name, "decision-tree"),
        searchers=("nearest-unlike",),
        folds=(0,),
        results=tmp_path / "results",
    )
    plan = make_plan(study, registry, DataSource((), tmp_path, download=False))
    reason = f'{name} cannot run here: it needs the package {name}; install it with: pip install "counterfactual-bench'
    skipped = {cell.info.model: cell.skipped for cell in plan.cells}
    assert skipped == {name: f'{reason}[{name}]"', "decision-tree": ""}


# ------------------------------------------------------------------ ties and rounding, made on purpose


def neighbours_of(value: float, dtype: type[Any], steps: int = 40) -> list[Any]:
    around = [dtype(value)]
    for _ in range(steps):
        around = [np.nextafter(around[0], dtype(0)), *around, np.nextafter(around[-1], dtype(1))]
    return around


def test_xgboosts_sigmoid_rounds_to_a_half_up_to_the_bar() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = table(200, seed=2)
    # No split is made, so the trees add 0 to the margins given.
    model = XGBoost().fit(X, y, SPACE, {"n_estimators": 1, "min_child_weight": 1e9})
    margins = np.array(neighbours_of(1.5 * 2**-24, np.float32))
    rows = xgboost.DMatrix(model.encoding.transform(X[: len(margins)]), base_margin=margins)
    booster = model.classifier.get_booster()
    np.testing.assert_array_equal(booster.predict(rows, output_margin=True), margins)
    above = booster.predict(rows) > 0.5
    np.testing.assert_array_equal(above, margins > forest_of(model).bar)
    assert above.any()
    assert not above.all()
    assert single_sigmoid_bar() == 1.5 * 2**-24


def test_xgboosts_softmax_ties_where_margins_differ() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = table(300, seed=3, classes=3)
    model = XGBoost().fit(X, y, SPACE, {"n_estimators": 1, "min_child_weight": 1e9})
    rng, n = np.random.default_rng(0), 2_000
    margins = rng.normal(0, 1, (n, 3)).astype(np.float32)
    one, other = rng.permuted(np.tile(np.arange(3), (n, 1)), axis=1)[:, :2].T
    margins[np.arange(n), one] = margins[np.arange(n), other] + rng.integers(-6, 7, n).astype(np.float32) * 2**-25
    rows = xgboost.DMatrix(np.zeros((n, model.encoding.n_columns)), base_margin=margins)
    theirs = model.classifier.get_booster().predict(rows).argmax(axis=1)
    assert (margins.argmax(axis=1) != theirs).sum() > 20  # rounding decides
    np.testing.assert_array_equal(_decided(model, margins.astype(np.float64)), theirs)


def test_lightgbms_sigmoid_rounds_to_a_half_up_to_the_bar() -> None:
    X, y = table(200, seed=2)
    model = LightGBM().fit(X, y, SPACE, {"n_estimators": 2, "num_leaves": 2})
    booster, bar = model.classifier.booster_, sigmoid_bar()
    assert 2**-53 < bar < 2**-52
    for value in neighbours_of(bar, np.float64, 3):
        for tree in range(2):
            for leaf in range(2):
                booster.set_leaf_output(tree, leaf, float(value) * tree)
        assert model.predict(X[:1])[0] == int(value > bar)
        structure = read_lightgbm(model.classifier)
        assert structure.bar == bar


def test_lightgbms_softmax_ties_where_scores_differ() -> None:
    X, y = table(300, seed=3, classes=3)
    model, rng = LightGBM().fit(X, y, SPACE, {"n_estimators": 1, "num_leaves": 2}), np.random.default_rng(0)
    booster, rounded = model.classifier.booster_, 0
    for _ in range(300):
        scores = rng.normal(0, 0.1, 3)
        one, other = rng.permutation(3)[:2]
        scores[one] = scores[other] + rng.integers(-6, 7) * 2.0**-54
        for tree in range(3):
            for leaf in range(2):
                booster.set_leaf_output(tree, leaf, scores[tree])
        said = model.predict(X[:1])[0]
        rounded += said != scores.argmax()
        assert _decided(model, scores[np.newaxis])[0] == said
    assert rounded > 3


def _decided(model: BoostedModel, scores: FloatArray) -> IntArray:
    """Return the classes that the structure's rule gives to scores."""
    rule = forest_of(model).walked.rule
    return np.array([winner_of(row.copy(), rule) for row in scores], dtype=np.int64)


def test_a_baseline_and_ties_of_catboost(tmp_path: Path) -> None:
    from catboost import CatBoostClassifier

    X, y = table(200, seed=2)
    model = CatBoost().fit(X, y, SPACE, {"iterations": 2, "depth": 2})
    file = tmp_path / "model.json"
    for bias, said in ((0.25, 1), (-0.25, 0), (0.0, 0)):
        model.classifier.save_model(str(file), format="json")
        content = json.loads(file.read_text(encoding="utf-8"))
        for sign, tree in zip((1, -1), content["oblivious_trees"], strict=True):
            tree["leaf_values"] = [sign * 0.1] * len(tree["leaf_values"])
        content["scale_and_bias"] = [1, [bias]]
        file.write_text(json.dumps(content), encoding="utf-8")
        changed = CatBoostClassifier().load_model(str(file), format="json")
        tied = BoostedModel(model.encoding, changed, 2, model.codes, read_catboost)
        assert set(tied.predict(X)) == {said}
        structure = forest_of(tied)
        assert set(structure.predict_cells(structure.cells(X))) == {said}
        assert set(tied.oracle().predict(X)) == {said}


def test_small_values_are_zeros_in_lightgbm() -> None:
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, -1, 1), FeatureSpec("b", Kind.NUMERICAL, -1, 1)))
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (300, 2))
    model = LightGBM().fit(X, (X[:, 0] >= 0).astype(np.int64), space, {"n_estimators": 3})
    zero = float(np.float32(1e-35))
    values = [0.0, -0.0, zero, -zero, np.nextafter(zero, 1), np.nextafter(-zero, -1), 1e-300, -1e-300, -1e-36]
    Z = np.column_stack([values, np.zeros(len(values))])
    assert set(model.predict(Z)) == {0, 1}
    structure = forest_of(model)
    np.testing.assert_array_equal(structure.predict_cells(structure.cells(Z)), model.predict(Z))


# ------------------------------------------------------------------ what cannot be read, and what is read all the same


def columns() -> tuple[FloatArray, IntArray]:
    X, y = table(200, seed=2)
    return boosted("xgboost").encoding.transform(X), y


def squared_error(y: Any, score: Any) -> tuple[Any, Any]:
    """An objective of the user's own: its gradient and its second derivative."""
    return score - y, np.ones_like(score)


def test_xgboost_takes_the_sigmoid_of_scores_under_an_objective_of_the_users_own() -> None:
    E, y = columns()
    classifier = XGBoost().classifier(1).set_params(n_estimators=20, objective=squared_error).fit(E, y)
    model = BoostedModel(boosted("xgboost").encoding, classifier, 2, np.array([0, 1]), read_xgboost)
    assert_identical(model, hard_rows(model, 5_000))


def test_what_is_not_known_of_catboost_is_refused() -> None:
    classifier = CatBoost().classifier(1).set_params(iterations=2, loss_function="CrossEntropy").fit(*columns())
    with pytest.raises(UnavailableError, match="the CatBoost classifier has objective 'CrossEntropy'"):
        read_catboost(classifier)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"booster": "dart"}, "booster 'dart'"),
        ({"objective": "binary:hinge"}, "objective 'binary:hinge'"),
    ],
)
def test_what_is_not_known_of_xgboost_is_refused(settings: dict[str, Any], message: str) -> None:
    from xgboost import XGBClassifier

    with pytest.raises(UnavailableError, match=message):
        read_xgboost(XGBClassifier(n_estimators=2, **settings).fit(*columns()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "cross_entropy"}, "objective of the LightGBM classifier is 'cross_entropy'"),
        ({"objective": squared_error}, "objective of the LightGBM classifier is 'custom'"),
        ({"zero_as_missing": True}, "takes zeros for missing values"),
        ({"linear_tree": True}, "linear models in its leaves"),
    ],
)
def test_what_is_not_known_of_lightgbm_is_refused(settings: dict[str, Any], message: str) -> None:
    from lightgbm import LGBMClassifier

    E, y = columns()
    E[::7, 0] = 0
    with pytest.raises(UnavailableError, match=message):
        read_lightgbm(LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1, **settings).fit(E, y))


@each_family
def test_missing_values_in_training_and_monotone_constraints_change_nothing(name: str) -> None:
    """Splits that send missing values to a side compare numbers as others do; constraints act on training alone."""
    family, chosen = FAMILIES[name]
    E, y = columns()
    E[::5, 0] = np.nan
    E[::7, 5] = np.nan
    monotone = {"gradient-boosting": "monotonic_cst"}.get(name, "monotone_constraints")
    of_columns: Any = [1, *[0] * (E.shape[1] - 1)]
    classifier = family.classifier(1).set_params(
        **chosen, **{monotone: of_columns if name != "xgboost" else tuple(of_columns)}
    )
    encoding = boosted(name).encoding
    model = BoostedModel(encoding, classifier.fit(E, y), 2, np.array([0, 1]), type(family).read)
    assert_identical(model, hard_rows(model, 5_000))
