"""Every kind of query of a compiled network, made once on a tiny one, so that each kernel is compiled."""

from __future__ import annotations

import numpy as np

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.robustness import KNeighbours
from cfbench_models.network.family import NeuralNetwork
from cfbench_models.network.oracle import NetworkOracle

_SPACE = FeatureSpace((FeatureSpec("number", Kind.NUMERICAL, 0, 1),))


def warm_up() -> None:
    """Fit the network and query it."""
    X = np.linspace(0, 1, 20)[:, np.newaxis]
    y = (X[:, 0] > 0.5).astype(np.int64)
    settings = {"learning_rate_init": 0.01, "max_iter": 2, "solver": "adam"}
    oracle = NetworkOracle(NeuralNetwork().fit(X, y, _SPACE, settings))
    oracle.predict(X)
    oracle.predict_neighbours(X, KNeighbours(_SPACE, X[0], stream=0, m=2))
