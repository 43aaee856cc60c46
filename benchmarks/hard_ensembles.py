"""exact-trees where it is hard: boosted ensembles on the sum of 20, 50 and 100 features of equal weight.

``python benchmarks/hard_ensembles.py``; ``--help`` lists options.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray
from cfbench_models.boosting.family import GradientBoosting
from cfbench_searchers.exact_trees.searcher import ExactTrees
from cfbench_searchers.exact_trees.solving import warm_up
from measuring.figures import Figure, report
from measuring.gower import problem_by
from measuring.searches import exact_result

ROWS, TRAINING = 4_000, 3_000


def space_of(X: FloatArray) -> FeatureSpace:
    """Return the space of some rows."""
    ends = enumerate(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True))
    return FeatureSpace(tuple(FeatureSpec(f"f{i}", Kind.NUMERICAL, lower, upper) for i, (lower, upper) in ends))


def searched(
    model: Any, space: FeatureSpace, x: FloatArray, norm: str, wall: float, limit: float
) -> tuple[bool, float, float]:
    """Return whether the optimum is proven within the limit, the CPU seconds up to it, and the gap in percent."""
    problem = problem_by(norm, model, space, x, 1)
    found = exact_result(ExactTrees(seconds=wall).search, problem)
    gap = 0.0
    if not found.proven:
        cost = np.inf if found.z is None else float(problem.loss(found.z[np.newaxis])[0])
        gap = 100 * (cost - found.lower_bound) / found.lower_bound
    return found.proven and found.seconds <= limit, min(found.seconds, limit), gap


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
    runs = [searched(model, space, x, norm, wall, arguments.seconds) for x in points]
    proven, seconds, gaps = zip(*runs, strict=True)
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
