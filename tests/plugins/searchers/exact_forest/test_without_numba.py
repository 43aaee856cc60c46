"""Plain Python and compiled code give the same optimum and the same bounds, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
from cfbench import FeatureSpace, FeatureSpec, Kind, NumericalPerturbation, Problem
from cfbench.forests import forest_of, k_probability
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench_models.forest.family import RandomForest
from cfbench_searchers.exact_forest.searcher import ExactForest

far = NumericalPerturbation(0.4, 0.4)
space = FeatureSpace(tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, 0, 1, perturbation=far) for i in range(4)))
rows = np.random.default_rng(2).random((40, 4))
labels = (rows.sum(axis=1) > 2.4).astype(np.int64)
model = RandomForest().fit(rows, labels, space, {"n_estimators": 4, "min_samples_split": 8})
x = np.full(4, 0.3)
problem = Problem(x, 1, space, Meter(model, 4), model=model)
z = ExactForest().search(problem, np.random.default_rng(0))
found = k_probability(forest_of(model), space, x, z, 1, width=0.1)
figures = [value for _, value in sorted(trace_of(problem).figures.items())]
print([float(value).hex() for value in (*z, *found, *figures)])
"""


@pytest.mark.slow
def test_the_same_bits() -> None:
    shown = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert shown[0] == shown[1]
    assert shown[0].count("0x") == 9
