"""exact-trees side by side with treecf, OCEAN's constraint programming and a mixed-integer program (HiGHS).

``python benchmarks/exact_trees.py``; ``--help`` lists options. All solvers get the same fitted models, points and
norm. A solver that is not installed is left out. OCEAN needs Python 3.12; benchmarks/README.md says how to install it.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.forests import forest_of
from cfbench.models import Encoding
from cfbench.registry.discovery import import_file
from cfbench.space import FloatArray
from cfbench.space.dataset import split
from cfbench_models.boosting.family import CatBoost, GradientBoosting, LightGBM, XGBoost
from cfbench_models.forest.family import DecisionTree, ExtraTrees, ForestModel, RandomForest
from cfbench_searchers.exact_trees.searcher import ExactTrees
from cfbench_searchers.exact_trees.solving import warm_up
from measuring.fitted_folds import data_source, registry
from measuring.gower import problem_by
from measuring.searches import exact_result

program_of: Any = import_file(Path(__file__).parents[1] / "tests" / "plugins" / "forest_milp.py")

SETTINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "gradient-boosting": (GradientBoosting(), {"max_iter": 100, "max_leaf_nodes": 7}),
    "lightgbm": (LightGBM(), {"n_estimators": 100, "num_leaves": 7}),
    "xgboost": (XGBoost(), {"n_estimators": 100, "max_depth": 3}),
    "random-forest": (RandomForest(), {"n_estimators": 100, "max_depth": 4}),
    "catboost": (CatBoost(), {"iterations": 100, "depth": 3}),
    "extra-trees": (ExtraTrees(), {"n_estimators": 100, "max_depth": 4}),
    "decision-tree": (DecisionTree(), {}),
}
"""Small trees, for the solvers that are slow; everything else is the library's default."""

NORMS = ("loss", "gower")
TOLERANCE = 1e-5
"""Solvers that add or cost in another number type end a rounding step from the same optimum. In features changed."""


@dataclass(frozen=True, eq=False)
class Task:
    """One fitted model, whose numerical features all have the range 1, and its points.

    Parameters
    ----------
    space : FeatureSpace
    model : Any
    target : int
    points : ndarray of float64, shape (n, d)
    """

    space: FeatureSpace
    model: Any
    target: int
    points: FloatArray

    def costs(self, i: int, values: FloatArray, x: float, norm: str) -> FloatArray:
        """Return what values of one feature cost, times d: Gower's distance, and half a change in the loss."""
        changed = (values != x).astype(np.float64)
        gower = changed if self.space.is_categorical[i] else np.abs(values - x)
        return gower if norm == "gower" else 0.5 * gower + 0.5 * changed

    def cost(self, z: FloatArray, x: FloatArray, norm: str) -> float:
        """Return the cost of a point."""
        return float(sum(self.costs(i, z[i : i + 1], x[i], norm)[0] for i in range(len(x))))


@dataclass(frozen=True)
class Answer:
    """What a solver says for a point, and the CPU seconds it took."""

    proven: bool
    z: FloatArray | None
    seconds: float


Solver = Callable[[FloatArray, str], Answer]


def task_of(name: str, family: str, points: int) -> Task:
    """Scale the numerical features of fold 0 to the range 1, leave out categories that training lacks, and fit a model.

    A category that training lacks is a row of zeros to the model, which the other solvers cannot express.
    """
    dataset = registry().dataset(name).entry.load(data_source())
    fold, before = split(dataset, 0), dataset.space
    X, is_known, features = dataset.X.copy(), np.ones(dataset.n, dtype=bool), []
    for i, of in enumerate(before.features):
        if of.n_categories:
            seen = np.unique(X[fold.train, i])
            is_known &= np.isin(X[:, i], seen)
            X[:, i] = np.searchsorted(seen, X[:, i])
            labels = tuple(of.categories[int(code)] for code in seen)
            features.append(FeatureSpec(f"f{i}", Kind.CATEGORICAL, 0, len(labels) - 1, categories=labels))
        else:
            X[:, i] = (X[:, i] - of.lower) / before.ranges[i]
            features.append(FeatureSpec(f"f{i}", Kind.NUMERICAL, 0.0, 1.0))
    space = FeatureSpace(tuple(features))
    made, settings = SETTINGS[family]
    model = made.fit(X[fold.train], dataset.y[fold.train], space, settings)
    test = X[fold.test][is_known[fold.test]]
    return Task(space, model, dataset.target, test[model.predict(test) != dataset.target][:points])


def decoded(encoding: Encoding, row: FloatArray) -> FloatArray:
    """Turn a row of columns back into a point."""
    z = np.empty(len(encoding.copied) + len(encoding.one_hot))
    z[encoding.copied] = row[encoding.columns]
    for part in encoding.one_hot:
        own = row[part.start : part.start + part.table.shape[1]]
        z[part.feature] = int(np.flatnonzero((part.table[:-1] == own).all(axis=1))[0])
    return z


def groups_of(encoding: Encoding) -> list[list[int]]:
    """Return the indicator columns of each one-hot encoded feature."""
    return [list(range(part.start, part.start + part.table.shape[1])) for part in encoding.one_hot]


def with_exact_trees(task: Task, seconds: float) -> Solver:
    """Return our searcher; its term replaces the loss by Gower's distance."""

    def solve(x: FloatArray, norm: str) -> Answer:
        problem = problem_by(norm, task.model, task.space, x, task.target)
        found = exact_result(ExactTrees(seconds=seconds).search, problem)
        return Answer(found.proven, found.z, found.seconds)

    return solve


def with_highs(task: Task, seconds: float) -> Solver:
    """Return our mixed-integer program."""
    structure = forest_of(task.model)
    program = program_of.ForestMilp(structure, task.target)

    def solve(x: FloatArray, norm: str) -> Answer:
        values = program_of.cell_values(structure, task.space, x)
        costs = [task.costs(i, of, x[i], norm) for i, of in enumerate(values)]
        found = program.solve(costs, values, seconds)
        return Answer(found.proven, found.z, found.seconds)

    return solve


def with_treecf(task: Task, seconds: float) -> Solver | None:
    """Return treecf's exact backend; None for models that it does not read.

    Its distance is a weighted L1 norm over columns plus a price for each changed column. A changed category changes two
    indicator columns: they cost half a change each.
    """
    from treecf import Explainer, OneHot, Range, Target

    encoding, classifier = task.model.encoding, task.model.classifier
    if type(classifier).__name__ in {"ExtraTreesClassifier", "DecisionTreeClassifier"}:
        return None
    groups = groups_of(encoding)
    names = column_names(classifier, encoding.n_columns)
    is_indicator = np.isin(np.arange(encoding.n_columns), [column for group in groups for column in group])
    constraints = [OneHot(tuple(names[column] for column in group)) for group in groups]
    constraints += [Range(names[column], 0.0, 1.0) for column in encoding.columns]
    binary = encoding.columns[task.space.is_categorical[encoding.copied]]
    structure = forest_of(task.model)
    if isinstance(task.model, ForestModel):
        bound = 0.5 + 1e-9 if task.target == 1 else 0.5
    else:
        bound = float(np.nextafter(structure.bar, np.inf)) if task.target == 1 else structure.bar
    aim = Target.raw(op=">=" if task.target == 1 else "<=", value=bound)
    # An indicator's change costs 1/2: as distance in Gower's norm, as the price of a changed column in the loss.
    explainers = {
        norm: Explainer(
            classifier,
            normalizers=np.ones(len(names)),
            weights=dict(zip(names, np.where(is_indicator, on_indicators, on_others), strict=True)),
            constraints=constraints,
            value_policy={names[column]: "integer" for column in binary},
        )
        for norm, on_indicators, on_others in (("gower", 0.5, 1.0), ("loss", 0.0, 0.5))
    }

    def solve(x: FloatArray, norm: str) -> Answer:
        row = encoding.transform(x[np.newaxis])[0]
        price = 0.0 if norm == "gower" else 0.5
        start = time.process_time()
        found: Any = explainers[norm].explain(
            row,
            aim,
            backend="exact",
            time_budget_s=seconds,
            node_budget=10**9,
            sparsity_weight=price,
            seed=0,
        )
        spent = time.process_time() - start
        z = decoded(encoding, found.x_cf) if hasattr(found, "x_cf") else None
        return Answer(found.proof in ("optimal", "certified"), z, spent)

    return solve


def column_names(classifier: Any, n_columns: int) -> list[str]:
    """Return the names that treecf gives the columns."""
    from treecf.ir.parsers import parse_model

    names = [*parse_model(classifier).feature_names]
    assert len(names) == n_columns
    return names


def with_ocean(task: Task, seconds: float) -> Solver | None:
    """Return OCEAN's constraint programming, which reads scikit-learn's forests and XGBoost; None for other models.

    Its norm 1 is the sum of the columns' differences, half of it for indicators: Gower's distance times d.
    It has no price for a changed feature.
    """
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.abc import Mapper
    from ocean.feature import Feature

    classifier, encoding = task.model.classifier, task.model.encoding
    is_forest = isinstance(classifier, RandomForestClassifier)
    if not is_forest and type(classifier).__name__ != "XGBClassifier":
        return None
    columns: list[tuple[str, str]] = [("", "")] * encoding.n_columns
    coded = {part.feature: part for part in encoding.one_hot}
    features: dict[str, Any] = {}  # in the order of their columns, as OCEAN expects it
    for i in range(task.space.d):
        if i in coded:
            codes = [str(code) for code in range(coded[i].table.shape[1])]
            columns[coded[i].start : coded[i].start + len(codes)] = [(f"f{i}", code) for code in codes]
            features[f"f{i}"] = Feature(Feature.Type.ONE_HOT_ENCODED, codes=codes)
        else:
            columns[encoding.columns[list(encoding.copied).index(i)]] = (f"f{i}", "")
            features[f"f{i}"] = (
                Feature(Feature.Type.BINARY)
                if task.space.is_categorical[i]
                else Feature(Feature.Type.CONTINUOUS, levels=(-0.5, 1.5))
            )
    if is_forest:
        ensemble = classifier
    else:
        ensemble = classifier.get_booster().copy()
        ensemble.feature_names = [" ".join(column).strip() for column in columns]
    mapper = Mapper(features, columns=pd.MultiIndex.from_tuples(columns))
    explainer = ConstraintProgrammingExplainer(ensemble, mapper=mapper)

    def solve(x: FloatArray, norm: str) -> Answer:
        assert norm == "gower"
        row = encoding.transform(x[np.newaxis])[0]
        start = time.process_time()
        found = explainer.explain(row, y=task.target, norm=1, max_time=int(seconds), num_workers=1)
        spent = time.process_time() - start
        z = None if found is None else decoded(encoding, np.asarray(found.x))
        return Answer(explainer.get_solving_status() in {"OPTIMAL", "INFEASIBLE"}, z, spent)

    return solve


@dataclass
class Tally:
    """What a solver did on the points of one task, by one norm.

    Parameters
    ----------
    limit : float
        CPU seconds within which a proof counts.
    """

    limit: float
    points: int = 0
    proven: int = 0
    contradictions: int = 0
    other_class: int = 0
    seconds: tuple[float, ...] = ()

    def add(self, task: Task, x: FloatArray, norm: str, answer: Answer, ours: Answer) -> None:
        """Count an answer, and compare it with ours.

        Two solvers contradict each other if one has a point that is cheaper than what the other has proven, or a point
        where the other has proven that there is none. The point of a solver counts only if the library itself gives it
        the target class.
        """
        self.points += 1
        self.proven += answer.proven and answer.seconds <= self.limit
        self.seconds = (*self.seconds, min(answer.seconds, self.limit))
        costs = []
        for of in (answer, ours):
            is_valid = of.z is not None and task.model.predict(of.z[np.newaxis])[0] == task.target
            costs.append(task.cost(of.z, x, norm) if of.z is not None and is_valid else np.inf)
        self.other_class += answer.z is not None and np.isinf(costs[0])
        if (ours.proven and costs[0] < costs[1] - TOLERANCE) or (answer.proven and costs[1] < costs[0] - TOLERANCE):
            self.contradictions += 1

    def line(self) -> str:
        """Return the row of the table."""
        mean, worst = 1000 * np.mean(self.seconds), 1000 * max(self.seconds)
        return (
            f"{self.proven} of {self.points} | {mean:,.0f} ms | {worst:,.0f} ms | "
            f"{self.contradictions} | {self.other_class}"
        )


SOLVERS: dict[str, tuple[str, Callable[[Task, float], Solver | None]]] = {
    "exact-trees": ("cfbench", with_exact_trees),
    "treecf": ("treecf", with_treecf),
    "OCEAN-CP": ("ocean", with_ocean),
    "HiGHS": ("scipy", with_highs),
}
"""With the package that each needs."""


def compared(name: str, family: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the rows of a model: solver, norm, proven, mean, largest, contradictions, points of another class."""
    task = task_of(name, family, arguments.points)
    wall = arguments.seconds * arguments.patience
    ours = with_exact_trees(task, wall)
    # The first search compiles.
    answers = {norm: [ours(x, norm) for x in (task.points[0], *task.points)][1:] for norm in NORMS}
    for solver, (package, make) in SOLVERS.items():
        solve = make(task, wall) if solver in arguments.solvers and find_spec(package) else None
        if solve is None:
            continue
        for norm in NORMS:
            if solver == "OCEAN-CP" and norm != "gower":
                continue
            tally = Tally(arguments.seconds)
            for x, own in zip(task.points, answers[norm], strict=True):
                tally.add(task, x, norm, own if solver == "exact-trees" else solve(x, norm), own)
            yield f"| {name}, {family} | {norm} | {solver} | {tally.line()} |"


def versions() -> Iterator[str]:
    """Yield the packages that answers and times depend on."""
    yield f"Python {platform.python_version()}"
    for package in ("scikit-learn", "scipy", "lightgbm", "xgboost", "treecf", "oceanpy", "ortools"):
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"no {package}"


def main() -> None:
    """Read the options and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=["credit", "income"])
    parser.add_argument("--families", nargs="+", choices=SETTINGS, default=list(SETTINGS)[:4])
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds within which a proof counts")
    parser.add_argument(
        "--patience", type=float, default=1.0, help="wall-clock seconds for each of them, above 1 on a busy machine"
    )
    arguments = parser.parse_args()
    warm_up()
    print(f"{time.strftime('%Y-%m-%d')}, " + ", ".join(versions()))
    print("| model | norm | solver | proven | mean | largest | contradictions | other class |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for name in arguments.datasets:
        for family in arguments.families:
            for line in compared(name, family, arguments):
                print(line, flush=True)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # treecf and OCEAN warn at each point that they do not prove
        main()
