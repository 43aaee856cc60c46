"""exact-trees where it is hard: boosted ensembles on the sum of 20, 50 and 100 features of equal weight.

``python benchmarks/hard_ensembles.py``; ``--help`` lists options.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench import FeatureSpace, FeatureSpec, Kind, Need, Problem
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.space import FloatArray
from cfbench_models.boosting.family import GradientBoosting
from cfbench_searchers.exact_trees.searcher import ExactTrees
from cfbench_searchers.exact_trees.solving import warm_up
from measuring.figures import Figure, report
from measuring.gower import GowerOnly

ROWS, TRAINING = 4_000, 3_000


def space_of(X: FloatArray) -> FeatureSpace:
    """Return the space of some rows."""
    ends = enumerate(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True))
    return FeatureSpace(tuple(FeatureSpec(f"f{i}", Kind.NUMERICAL, lower, upper) for i, (lower, upper) in ends))


def searched(
    model: Any, space: FeatureSpace, x: FloatArray, norm: str, seconds: float
) -> tuple[bool, float, float, float]:
    """Return whether the optimum is proven, its cost, the lower bound, and the CPU seconds."""
    term = GowerOnly(space, x) if norm == "gower" else None
    problem = Problem(x, 1, space, Meter(model, space.d), term=term, needs=[Need.FOREST], model=model)
    start = time.process_time()
    z = ExactTrees(seconds=seconds).search(problem, np.random.default_rng(0))
    spent = time.process_time() - start
    figures = trace_of(problem).figures
    cost = np.inf
    if z is not None:
        cost = float(space.cost(z[np.newaxis], x)[0]) + (
            0.0 if term is None else float(term.parts(z[np.newaxis]).sum())
        )
    return figures["proven"] == 1, cost, figures.get("lower_bound", np.inf), spent


def figures(arguments: argparse.Namespace) -> Iterator[Figure]:
    """Measure each ensemble by each norm."""
    for d in arguments.features:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(ROWS, d))
        y = (X.sum(axis=1) / np.sqrt(d) * 3 + rng.logistic(size=ROWS) > 0).astype(np.int64)
        space = space_of(X)
        for depth in arguments.depths:
            for trees in arguments.trees:
                settings = {"max_iter": trees, "max_depth": depth}
                model = GradientBoosting().fit(X[:TRAINING], y[:TRAINING], space, settings)
                shares = model.predict_proba(X[TRAINING:])[:, 1]
                points = X[TRAINING:][np.argsort(shares, kind="stable")[:100]][:: 100 // arguments.points]
                points = points[: arguments.points]
                name = f"{d} features, depth {depth}, {trees}"
                for norm in arguments.norms:
                    yield from _of_points(model, space, points, norm, name, arguments)


def _of_points(
    model: Any, space: FeatureSpace, points: FloatArray, norm: str, name: str, arguments: argparse.Namespace
) -> Iterator[Figure]:
    wall = arguments.seconds * arguments.patience
    runs = [searched(model, space, x, norm, wall) for x in points]
    proven = [run[0] and run[3] <= arguments.seconds for run in runs]
    seconds = [min(run[3], arguments.seconds) for run in runs]
    gaps = [0.0 if run[0] else 100 * (run[1] - run[2]) / run[2] for run in runs]
    yield Figure(f"{norm}: proven, of {len(points)}", name, sum(proven), "")
    yield Figure("  mean, with the limit for what is not proven", name, 1000 * float(np.mean(seconds)), "ms")
    yield Figure("  largest gap at the limit", name, max(gaps), "%")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 6])
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--norms", nargs="+", choices=["loss", "gower"], default=["loss", "gower"])
    parser.add_argument("--points", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds within which a proof counts")
    parser.add_argument(
        "--patience", type=float, default=1.0, help="wall-clock seconds for each of them, above 1 on a busy machine"
    )
    warm_up()
    report("hard_ensembles", figures(parser.parse_args()))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
