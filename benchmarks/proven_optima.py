"""The exact searcher and the certificates on all eligible points of fold 0: what is proven, and what it takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench import ObjectiveContext, Problem
from cfbench.forests import Settled, forest_of, k_certificate, k_probability
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.registry.registry import build_registry
from cfbench.space import FloatArray
from measuring.figures import Figure, report
from measuring.fitted_folds import FittedFold, data_source, fitted_fold

DATASETS = ("credit", "housing", "income", "recidivism", "productivity")
RESULTS = 20
"""Optima whose robustness is looked at."""


def searched(
    of: FittedFold, x: FloatArray, objective: str, *, constraints: bool
) -> tuple[FloatArray | None, bool, float]:
    """Return what the exact searcher finds for one point, whether that is proven, and the CPU seconds it took."""
    registry = build_registry()
    searcher = registry.searcher("exact-trees").entry.searcher
    assert isinstance(searcher, type)
    space = of.dataset.space
    context = ObjectiveContext(x=x, target=of.dataset.target, space=space, predict=of.oracle.predict, stream=0)
    term = registry.objective(objective).entry.objective().bind(context)
    meter = Meter(of.oracle, space.d)
    problem = Problem(x, of.dataset.target, space, meter, constraints=constraints, term=term, model=of.model)
    start = time.process_time()
    answer = searcher().search(problem, np.random.default_rng(0))
    seconds = time.process_time() - start
    assert answer is None or isinstance(answer, np.ndarray)
    return answer, trace_of(problem).figures["proven"] == 1, seconds


def optima(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure all eligible points, with both objectives that are sums over the features, constraints off and on."""
    X = of.dataset.X[of.fold.test]
    points = X[of.oracle.predict(X) != of.dataset.target]
    searched(of, points[0], "none", constraints=False)  # compiles
    for objective in ("none", "c"):
        for constraints in (False, True):
            runs = [searched(of, x, objective, constraints=constraints) for x in points]
            what = f"{objective}, constraints {'on' if constraints else 'off'}"
            seconds = np.array([run[2] for run in runs])
            unproven = sum(not run[1] for run in runs)
            yield Figure(f"{what}: unproven, of {len(points)}", name, unproven, "", 0)
            yield Figure("  mean", name, 1000 * float(seconds.mean()), "ms")
            yield Figure("  worst", name, float(seconds.max()), "s")


def robustness(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure certificates and probabilities of optima; an optimum lies on the boundary, where both are hardest."""
    X = of.dataset.X[of.fold.test]
    points = X[of.oracle.predict(X) != of.dataset.target][:RESULTS]
    structure, space, target = forest_of(of.model), of.dataset.space, of.dataset.target
    found = [(x, searched(of, x, "c", constraints=True)[0]) for x in points]
    settled, enclosed, spent = 0, 0, []
    pairs = [(x, z) for x, z in found if z is not None]
    for x, z in pairs:
        start = time.process_time()
        settled += k_certificate(structure, space, x, z, target, seconds=1.0).verdict is not Settled.OPEN
        spent.append(time.process_time() - start)
        enclosed += k_probability(structure, space, x, z, target, width=0.01, seconds=10.0).width <= 0.01
    yield Figure(f"certificates open after 1 s, of {len(pairs)}", name, len(pairs) - settled, "", 0.05 * len(pairs))
    yield Figure("  mean", name, 1000 * float(np.mean(spent)), "ms")
    yield Figure(f"probabilities open after 10 s, of {len(pairs)}", name, len(pairs) - enclosed, "")


def figures(names: list[str]) -> Iterator[Figure]:
    """Measure everything; `names` of data sets, productivity only where its table is at hand."""
    registry = build_registry()
    for name in names:
        entry = registry.dataset(name).entry
        try:
            entry.load(data_source())
        except Exception as error:  # a table that is not shipped and cannot be had
            sys.stdout.write(f"{name} is left out: {error}\n")
            continue
        of = fitted_fold(name, "random-forest")
        label = f"{name}, {len(of.model.classifier.estimators_)} trees"
        yield from optima(of, label)
        yield from robustness(of, label)


if __name__ == "__main__":
    with threadpool_limits(1):
        report("proven_optima", figures(sys.argv[1:] or [*DATASETS]))
