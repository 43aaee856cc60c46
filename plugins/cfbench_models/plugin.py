"""Registers the model families of this package."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from cfbench import ModelEntry, Need, hookimpl
from cfbench_models.boosting.family import CatBoost, GradientBoosting, LightGBM, XGBoost
from cfbench_models.forest.family import DecisionTree, ExtraTrees, RandomForest
from cfbench_models.linear.family import LogisticRegression
from cfbench_models.network.family import NeuralNetwork

TUNED = Path(__file__).with_name("tuned.json")
"""Tuned hyper-parameters of the shipped data sets' folds; `cfbench tune` makes it."""


@hookimpl
def cfbench_register_models() -> Iterable[ModelEntry]:
    """Yield the two black boxes of the paper, then the other families."""
    yield ModelEntry(
        name="random-forest",
        family=RandomForest,
        tuned=TUNED,
        shows=[Need.FOREST],
        summary="Random forest, tuned on the training fold (scikit-learn)",
    )
    yield ModelEntry(
        name="neural-network",
        family=NeuralNetwork,
        tuned=TUNED,
        shows=[Need.GRADIENTS],
        summary="Multi-layer perceptron with one hidden layer, tuned on the training fold (scikit-learn)",
    )
    yield ModelEntry(
        name="logistic-regression",
        family=LogisticRegression,
        tuned=TUNED,
        shows=[Need.GRADIENTS, Need.LINEAR],
        summary="Logistic regression with an L2 penalty, tuned on the training fold (scikit-learn)",
    )
    yield ModelEntry(
        name="extra-trees",
        family=ExtraTrees,
        tuned=TUNED,
        shows=[Need.FOREST],
        summary="Extremely randomised trees, tuned on the training fold (scikit-learn)",
    )
    yield ModelEntry(
        name="decision-tree",
        family=DecisionTree,
        tuned=TUNED,
        shows=[Need.FOREST],
        summary="A single CART tree, tuned on the training fold (scikit-learn)",
    )
    yield ModelEntry(
        name="gradient-boosting",
        family=GradientBoosting,
        tuned=TUNED,
        shows=[Need.FOREST],
        summary="Histogram-based gradient boosting, tuned on the training fold (scikit-learn)",
    )
    yield ModelEntry(
        name="xgboost",
        family=XGBoost,
        tuned=TUNED,
        shows=[Need.FOREST],
        unavailable=_missing("xgboost"),
        summary="Gradient boosting, tuned on the training fold (XGBoost)",
    )
    yield ModelEntry(
        name="lightgbm",
        family=LightGBM,
        tuned=TUNED,
        shows=[Need.FOREST],
        unavailable=_missing("lightgbm"),
        summary="Gradient boosting, tuned on the training fold (LightGBM)",
    )
    yield ModelEntry(
        name="catboost",
        family=CatBoost,
        tuned=TUNED,
        shows=[Need.FOREST],
        unavailable=_missing("catboost"),
        summary="Gradient boosting with oblivious trees, tuned on the training fold (CatBoost)",
    )


def _missing(package: str) -> str:
    """Return how to install a missing package; empty if it is installed."""
    if find_spec(package) is not None:
        return ""
    return f'it needs the package {package}; install it with: pip install "counterfactual-bench[{package}]"'
