"""The forest's oracle: scikit-learn's answers, bit for bit, compiled and tree by tree."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from cfbench import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.errors import UnavailableError
from cfbench.forests import forest_of
from cfbench.models import fit_encoding
from cfbench.problem import Oracle
from cfbench.problem.oracle import checked_oracle, objection, predict_neighbours
from cfbench.robustness import Distribution, KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest import oracle as forest_oracle
from cfbench_models.forest import tables as flat_trees
from cfbench_models.forest.family import DecisionTree, ExtraTrees, ForestModel, RandomForest
from cfbench_models.forest.oracle import CompiledForest, TreeByTree
from cfbench_models.forest.warmup import warm_up
from cfbench_models.shared import compilation

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0, perturbation=NumericalPerturbation(100, 20)),
        FeatureSpec(
            "job",
            Kind.CATEGORICAL,
            0,
            3,
            categories=("none", "clerk", "nurse", "pilot"),
            perturbation=CategoricalPerturbation((1, 2, 3)),
        ),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, ("no", "yes"), perturbation=CategoricalPerturbation((0, 1))),
        FeatureSpec("debt", Kind.NUMERICAL, -1.0, 1.0, perturbation=NumericalPerturbation(0.5, 0.5, relative=True)),
        FeatureSpec("rooms", Kind.NUMERICAL, 1.0, 9.0, step=1),
        FeatureSpec("planet", Kind.CATEGORICAL, 0, 0, ("earth",)),
    )
)


def table(n: int, seed: int, classes: int = 2) -> tuple[FloatArray, IntArray]:
    """Rows without any pilot, so that one category is absent from training."""
    rng = np.random.default_rng(seed)
    income, debt = rng.uniform(0, 1000, n), np.round(rng.normal(0, 0.3, n), 2)
    job, owner, rooms = rng.integers(3, size=n), rng.integers(2, size=n), rng.integers(1, 10, n)
    X = np.column_stack([income, job, owner, debt, rooms, np.zeros(n)]).astype(np.float64)
    score = income / 1000 + (job == 2) * 0.5 - debt + rng.normal(0, 0.3, n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    return X, y


@cache
def forest(trees: int, classes: int, split: int) -> ForestModel:
    X, y = table(150, seed=classes, classes=classes)
    return RandomForest().fit(X, y, SPACE, {"n_estimators": trees, "min_samples_split": split, "max_features": "sqrt"})


FORESTS = [(50, 2, 2), (500, 2, 8), (50, 3, 8), (500, 3, 2), (4, 2, 8), (6, 3, 8)]
each_forest = pytest.mark.parametrize(("trees", "classes", "split"), FORESTS)


def compiled(model: ForestModel) -> CompiledForest:
    queries = compilation.compiled_queries()
    assert queries is not None, "the development tools need the extra `fast`"
    oracle = model.oracle()
    assert isinstance(oracle, CompiledForest)
    return oracle


def thresholds_of(model: ForestModel, column: int) -> FloatArray:
    trees = [member.tree_ for member in model.classifier.estimators_]
    return np.unique(np.concatenate([tree.threshold[tree.feature == column] for tree in trees]))


def hard_rows(model: ForestModel, n: int, seed: int = 0) -> FloatArray:
    """Training-like rows, uniform ones, values on thresholds and one unit in the last place beside, huge ones."""
    rng = np.random.default_rng(seed)
    X, _ = table(n, seed=seed + 100)
    Z = np.where(rng.random(X.shape) < 0.5, X, X[rng.permutation(n)])
    Z[:, 1] = rng.choice([0, 1, 2, 3, 3, 0.5, -1, 7], n)
    for feature, column in ((0, 0), (3, 5), (4, 6)):
        assert model.encoding.columns[model.encoding.copied == feature] == column
        values = thresholds_of(model, column)
        single = values.astype(np.float32)
        near = np.concatenate(
            [
                values,
                np.nextafter(values, np.inf),
                np.nextafter(values, -np.inf),
                single,
                np.nextafter(single, np.float32(np.inf)),
                np.nextafter(single, np.float32(-np.inf)),
                [0.0, -0.0, 1e-45, -1e-310, 3.4e38, -3.4e38, 1e9],
            ]
        )
        there = rng.random(n) < 0.4
        Z[there, feature] = rng.choice(near, there.sum())
    return Z


def oracles(model: ForestModel) -> list[Oracle]:
    return [compiled(model), TreeByTree(model)]


# scikit-learn's own look for infinities adds up all values.
sums_of_huge_values = pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")


@pytest.mark.slow
@sums_of_huge_values
@each_forest
def test_both_ways_answer_as_scikit_learn_does(trees: int, classes: int, split: int) -> None:
    model = forest(trees, classes, split)
    Z = hard_rows(model, 50_000)
    wanted, shares = model.predict(Z), model.predict_proba(Z)
    ordered = np.sort(shares, axis=1)
    if split == 2 or trees < 10:  # ties; of shares such as 1/3 and 1/6 they are told by the order of the sum
        assert (ordered[:, -1] - ordered[:, -2] < 1e-12).sum() > 50
    assert set(wanted) == set(range(classes))
    for oracle in oracles(model):
        answers = oracle.predict(Z)
        assert answers.dtype == np.int64
        np.testing.assert_array_equal(answers, wanted)
        np.testing.assert_array_equal(oracle.predict_proba(Z), shares)
        assert objection(oracle, model, SPACE, table(150, seed=classes, classes=classes)[0]) == ""


@sums_of_huge_values
@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 129])
def test_questions_of_any_size(n: int) -> None:
    model = forest(50, 3, 8)
    Z = hard_rows(model, 200)[:n]
    for oracle in oracles(model):
        assert oracle.predict(Z).shape == (n,)
        np.testing.assert_array_equal(oracle.predict(Z), model.predict(Z))
        np.testing.assert_array_equal(oracle.predict_proba(Z), model.predict_proba(Z))


@pytest.mark.parametrize(("trees", "classes", "split"), [(50, 2, 2), (50, 3, 8), (4, 2, 8)])
def test_the_neighbours_classes_are_those_of_the_rows_drawn(trees: int, classes: int, split: int) -> None:
    model = forest(trees, classes, split)
    oracle = compiled(model)
    rng = np.random.default_rng(1)
    X, _ = table(40, seed=9)
    X[:, 1] = rng.integers(4, size=40)
    x = X[0]
    Z = np.where(rng.random(X.shape) < rng.random((40, 1)), x, X)
    for m in (1, 5, 64, 65, 130):
        for distribution in Distribution:
            neighbours = KNeighbours(SPACE, x, 2**63 + m, m, distribution, first_evaluation=m)
            rows = neighbours.draw(Z)
            answers = oracle.predict_neighbours(Z, neighbours)
            assert answers.dtype == np.int64
            np.testing.assert_array_equal(answers, model.predict(rows.reshape(-1, 6)).reshape(40, m))
    assert oracle.predict_neighbours(Z[:0], neighbours).shape == (0, 130)


def test_a_change_to_how_neighbours_are_drawn_is_kept() -> None:
    class Still(KNeighbours):
        def draw(self, Z: FloatArray, first: int = 0) -> FloatArray:
            return np.repeat(Z[:, np.newaxis], self.m, axis=1)

    model = forest(50, 2, 2)
    X, _ = table(30, seed=9)
    answers = compiled(model).predict_neighbours(X, Still(SPACE, X[0], 1, 3))
    np.testing.assert_array_equal(answers, np.repeat(model.predict(X)[:, np.newaxis], 3, axis=1))


@sums_of_huge_values
def test_rows_met_before_have_their_answers_however_small_the_memo(monkeypatch: pytest.MonkeyPatch) -> None:
    model = forest(50, 3, 8)
    Z = hard_rows(model, 300)
    Z = np.concatenate([Z, Z[::-1], Z[:50]])
    wanted = model.predict(Z)
    for rows in (1, 4, 2**17):
        monkeypatch.setattr(forest_oracle, "MEMO_ROWS", rows)
        oracle = compiled(model)
        for _ in range(2):
            np.testing.assert_array_equal(oracle.predict(Z), wanted)


@sums_of_huge_values
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")  # in scikit-learn
@pytest.mark.parametrize("value", [1e39, -1e300, np.inf])
def test_values_beyond_single_precision_are_left_to_the_model(value: float) -> None:
    model = forest(50, 2, 8)
    Z = hard_rows(model, 10)
    Z[3, 0] = value
    for ask in (model.predict, *(oracle.predict for oracle in oracles(model)), compiled(model).predict_proba):
        with pytest.raises(ValueError, match="infinity or a value too large"):
            ask(Z)
    with pytest.raises(ValueError, match="infinity or a value too large"):
        compiled(model).predict_neighbours(Z, KNeighbours(SPACE, Z[0], 1, 3))


@sums_of_huge_values
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("family", "chosen"),
    [
        (ExtraTrees(), {"n_estimators": 30, "min_samples_split": 8}),
        (DecisionTree(), {"max_depth": 4, "min_samples_leaf": 10}),
    ],
)
def test_extra_trees_and_single_trees(family: ExtraTrees | DecisionTree, chosen: dict[str, Any], classes: int) -> None:
    X, y = table(150, seed=classes, classes=classes)
    model = family.fit(X, y, SPACE, chosen, seed=1)
    assert model.fingerprint() == family.fit(X, y, SPACE, chosen, seed=1).fingerprint()
    if isinstance(family, ExtraTrees):
        assert model.fingerprint() != family.fit(X, y, SPACE, chosen, seed=2).fingerprint()
    Z, structure = table(5_000, seed=7)[0], forest_of(model)
    for feature, ends in enumerate(structure.boundaries):
        if len(ends):
            Z[::3, feature] = np.random.default_rng(0).choice([*ends, *np.nextafter(ends, np.inf)], len(Z[::3]))
    np.testing.assert_array_equal(structure.predict_cells(structure.cells(Z)), model.predict(Z))
    for oracle in oracles(model):
        np.testing.assert_array_equal(oracle.predict(Z), model.predict(Z))
        np.testing.assert_array_equal(oracle.predict_proba(Z), model.predict_proba(Z))


def test_a_class_that_training_lacked_has_no_share() -> None:
    X, y = table(150, seed=2)
    model = RandomForest().fit(X, y * 2, SPACE, {"n_estimators": 5})
    for oracle in oracles(model):
        assert set(oracle.predict(X)) == {0, 2}
        np.testing.assert_array_equal(oracle.predict_proba(X), model.predict_proba(X))


def test_a_forest_without_any_split() -> None:
    X, y = table(150, seed=2)
    model = RandomForest().fit(X, y, SPACE, {"n_estimators": 4, "max_depth": 1, "min_impurity_decrease": 1.0})
    assert all(member.tree_.node_count == 1 for member in model.classifier.estimators_)
    for oracle in oracles(model):
        np.testing.assert_array_equal(oracle.predict(X), model.predict(X))
        np.testing.assert_array_equal(oracle.predict_proba(X), model.predict_proba(X))


def test_trees_of_one_class_alone() -> None:
    X, _ = table(150, seed=2)
    for rare in (0, 1):
        y = np.full(150, 1 - rare)
        y[:2] = rare
        model = RandomForest().fit(X, y, SPACE, {"n_estimators": 40})
        sizes = [member.tree_.node_count for member in model.classifier.estimators_]
        assert min(sizes) == 1 < max(sizes)
        for oracle in oracles(model):
            np.testing.assert_array_equal(oracle.predict(X), model.predict(X))
            np.testing.assert_array_equal(oracle.predict_proba(X), model.predict_proba(X))


# ------------------------------------------------------------------ with and without numba


def test_the_fastest_way_of_this_installation_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    model = forest(50, 2, 8)
    assert isinstance(model.oracle(), CompiledForest)
    monkeypatch.setattr(forest_oracle, "compiled_queries", lambda: None)
    assert isinstance(model.oracle(), TreeByTree)


def test_an_oracle_leaves_the_pickle_of_its_model_as_it_is() -> None:
    model = forest(50, 2, 8)
    before = pickle.dumps(model)
    model.oracle().predict(table(10, seed=0)[0])
    assert pickle.dumps(model) == before


ASK = """
import hashlib, pickle, sys
if sys.argv[2] == "without":
    sys.modules["numba"] = None
from cfbench.robustness import KNeighbours
from cfbench.problem.oracle import predict_neighbours
model, Z, space = pickle.loads(open(sys.argv[1], "rb").read())
oracle = model.oracle()
answers = [oracle.predict(Z), oracle.predict_proba(Z)]
answers += [predict_neighbours(oracle, Z[:50], KNeighbours(space, Z[0], 5, m)) for m in (64, 3)]
print(type(oracle).__name__, hashlib.sha256(b"".join(a.tobytes() for a in answers)).hexdigest())
"""


@pytest.mark.slow
@sums_of_huge_values
def test_processes_with_and_without_numba_give_the_same_bytes(tmp_path: Path) -> None:
    model = forest(50, 2, 8)
    Z = hard_rows(model, 500)
    file = tmp_path / "model.pickle"
    file.write_bytes(pickle.dumps((model, Z, SPACE)))
    printed = [
        subprocess.run(
            [sys.executable, "-c", ASK, str(file), numba], check=True, capture_output=True, text=True
        ).stdout.split()
        for numba in ("with", "without")
    ]
    assert [name for name, _ in printed] == ["CompiledForest", "TreeByTree"]
    assert printed[0][1] == printed[1][1]
    rows = [KNeighbours(SPACE, Z[0], 5, m).draw(Z[:50]).reshape(-1, 6) for m in (64, 3)]
    answers = [model.predict(Z), model.predict_proba(Z), *map(model.predict, rows)]
    assert printed[0][1] == hashlib.sha256(b"".join(a.tobytes() for a in answers)).hexdigest()


def test_a_switched_off_compiler_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert compilation.compiled_queries.__wrapped__() is None


def test_the_lists_of_kernels_and_of_their_sources_are_complete() -> None:
    package = Path(compilation.__file__).parents[1]
    compiling = {
        ".".join((package.name, *file.relative_to(package).with_suffix("").parts))
        for file in package.rglob("*.py")
        if "\n@compiled" in file.read_text(encoding="utf-8")
    }
    assert compiling == {*compilation.FOREST.modules, *compilation.NETWORK.modules}
    used = {
        f"cfbench.{name}"
        for name in ("forests.structure", "forests.walks", "robustness.draws", "robustness.neighbours")
    }
    used.add("cfbench_models.forest.tables")
    assert set(compilation.FOREST.sources) == used


def test_the_warm_up_asks_every_question_as_searches_do() -> None:
    queries: Any = compilation.compiled_queries()
    warm_up()
    before = [len(query.signatures) for query in queries]
    model = forest(50, 3, 2)
    oracle, Z = model.oracle(), hard_rows(model, 100)
    oracle.predict(Z)
    oracle.predict_proba(Z)
    predict_neighbours(oracle, Z, KNeighbours(SPACE, Z[0], 5, 64))
    assert [len(query.signatures) for query in queries] == before


@pytest.mark.parametrize("m", [0, 64])
def test_neighbours_of_nobody_and_no_neighbours_are_empty(m: int) -> None:
    oracle: Any = forest(50, 2, 8).oracle()
    Z = hard_rows(forest(50, 2, 8), 5)[: 5 if m == 0 else 0]
    for answers in (
        oracle.predict_neighbours(Z, KNeighbours(SPACE, np.zeros(6), 5, m)),
        predict_neighbours(oracle, Z, KNeighbours(SPACE, np.zeros(6), 5, m)),
    ):
        assert (answers.shape, answers.dtype) == ((len(Z), m), np.int64)


def refit(classifier: Any, X: FloatArray | None = None, y: Any = None) -> ForestModel:
    """A forest model around another classifier, fitted on the usual rows unless others are given."""
    rows, classes = table(150, seed=2)
    encoding = fit_encoding(rows, SPACE, standardise=False)
    return ForestModel(
        encoding, classifier.fit(encoding.transform(rows) if X is None else X, classes if y is None else y), 2
    )


def with_missing_values() -> ForestModel:
    columns = np.random.default_rng(0).uniform(0, 1, (150, 8))
    columns[::2] = np.nan
    return refit(RandomForestClassifier(3, random_state=0), columns, np.arange(150) % 2)


def with_counts() -> ForestModel:
    model = refit(RandomForestClassifier(3, random_state=0))
    tree = model.classifier.estimators_[1].tree_
    names = ("children_left", "threshold", "node_count")
    counted = SimpleNamespace(value=tree.value * 150, **{name: getattr(tree, name) for name in names})
    model.classifier.estimators_[1].tree_ = counted
    return model


def with_another_member() -> ForestModel:
    model = refit(RandomForestClassifier(3, random_state=0))
    model.classifier.estimators_[1] = DecisionTreeRegressor().fit([[0], [1]], [0, 1])
    return model


UNKNOWN = {
    "the classifier is a BaggingClassifier, not a RandomForestClassifier": lambda: refit(
        BaggingClassifier(n_estimators=3)
    ),
    "a member of the forest is no DecisionTreeClassifier": with_another_member,
    "the forest has 2 outputs": lambda: refit(RandomForestClassifier(3), y=np.arange(300).reshape(150, 2) % 3),
    "the forest was grown under monotonic constraints": lambda: refit(
        RandomForestClassifier(3, monotonic_cst=[1, 0, 0, 0, 0, 0, 0, 0])
    ),
    "a split tells missing values from all others": with_missing_values,
    "the leaves hold counts, whose sums may overflow, instead of shares": with_counts,
}


@pytest.mark.parametrize("reason", UNKNOWN)
@pytest.mark.parametrize("fast", [True, False])
def test_what_it_does_not_know_is_refused_with_the_reason(
    reason: str, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fast:
        monkeypatch.setattr(forest_oracle, "compiled_queries", lambda: None)
    with pytest.raises(UnavailableError, match=reason):
        UNKNOWN[reason]().oracle()


def test_a_forest_of_too_many_nodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_trees, "MOST_NODES", 100)
    with pytest.raises(UnavailableError, match=r"the forest has \d+ nodes, more than 100"):
        forest(50, 2, 8).oracle()


def test_standardised_columns_are_read_as_the_forest_reads_them() -> None:
    model = forest(50, 2, 8)
    X, _ = table(150, seed=2)
    standardised = ForestModel(fit_encoding(X, SPACE, standardise=True), model.classifier, 2)
    assert objection(standardised.oracle(), standardised, SPACE, X) == ""


def test_a_run_goes_on_with_the_model_itself(caplog: pytest.LogCaptureFixture) -> None:
    model = refit(BaggingClassifier(n_estimators=3))
    assert checked_oracle(model, SPACE, table(150, seed=2)[0]) is model
    assert "the fast oracle of this model is not used: the classifier is a BaggingClassifier" in caplog.text
