"""Registers the model families of this package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cfbench import ModelEntry, Need, hookimpl
from cfbench_models.forest.family import RandomForest
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
