"""The exact searchers and the certificates on all eligible points of fold 0: what is proven, and what it takes.

``python benchmarks/proven_optima.py credit wine --model xgboost`` measures these data sets and this family; without
them, all. At the end it prints the table of docs/exact-trees.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench import Need, Objective, ObjectiveContext, PrepareContext, Problem
from cfbench.forests import Settled, forest_of, k_certificate, k_probability
from cfbench.problem.access import SHOWN, ModelAccess
from cfbench.problem.oracle import Meter
from cfbench.registry import SearchFunction
from cfbench.space import BoolArray, FloatArray
from measuring.figures import Figure, report
from measuring.fitted_folds import FittedFold, data_source, fitted_fold, registry
from measuring.searches import ExactResult, exact_result

DATASETS = ("credit", "housing", "income", "productivity", "recidivism", "wine")
BOOSTING = ("gradient-boosting", "xgboost", "lightgbm", "catboost")
MEAN_GOAL = dict.fromkeys(BOOSTING, 10.0) | {"logistic-regression": 5.0}
"""The most milliseconds that a search may take on average, by family."""
WORST_GOAL = dict.fromkeys(MEAN_GOAL, 1000.0)
"""The most milliseconds that a single search may take, by family."""
SECONDS = 600.0
"""Wall-clock limit of a search. On a busy machine, the default of 60 seconds would be only a few seconds of CPU."""
RESULTS = 20
"""Optima whose robustness is looked at."""


def exact_searcher(model: str) -> str:
    """Return the searcher that proves optima on a family; empty if there is no such searcher."""
    shows = registry().model(model).entry.shows
    if Need.LINEAR in shows:
        return "exact-linear"
    return "exact-trees" if Need.FOREST in shows else ""


def prepared(of: FittedFold, searcher: str) -> SearchFunction:
    """Return the exact searcher's search on a fitted model, with everything compiled that it calls."""
    entry, space = registry().searcher(searcher).entry, of.dataset.space
    exact = entry.searcher
    assert isinstance(exact, type)
    access = ModelAccess(space, of.dataset.target, Meter(of.oracle, space.d), entry.needs, model=of.model)
    context = PrepareContext(space, of.dataset.target, access, np.random.default_rng(0), Objective())
    search: SearchFunction = exact(seconds=SECONDS).prepare(context)
    return search


def searched(
    of: FittedFold, search: SearchFunction, x: FloatArray, objective: str, *, constraints: bool
) -> ExactResult:
    """Run the exact searcher's search on one point."""
    space, target = of.dataset.space, of.dataset.target
    context = ObjectiveContext(x=x, target=target, space=space, predict=of.oracle.predict, stream=0)
    term = registry().objective(objective).entry.objective().bind(context)
    meter = Meter(of.oracle, space.d)
    problem = Problem(x, target, space, meter, constraints=constraints, term=term, needs=SHOWN, model=of.model)
    return exact_result(search, problem)


@dataclass(frozen=True, eq=False)
class Searches:
    """The exact searches of all eligible points of a fold: whether each is proven, and its CPU milliseconds."""

    proven: BoolArray
    milliseconds: FloatArray


def optima(of: FittedFold, search: SearchFunction, objective: str, *, constraints: bool) -> Searches:
    """Search the optimum of every eligible point."""
    runs = [searched(of, search, x, objective, constraints=constraints) for x in of.eligible()]
    return Searches(np.array([run.proven for run in runs]), 1000 * np.array([run.seconds for run in runs]))


def robustness(of: FittedFold, search: SearchFunction, name: str) -> Iterator[Figure]:
    """Measure certificates and probabilities of optima; an optimum lies on the boundary, where both are hardest."""
    points = of.eligible()[:RESULTS]
    structure, space, target = forest_of(of.model), of.dataset.space, of.dataset.target
    found = [(x, searched(of, search, x, "c", constraints=True).z) for x in points]
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


def figures(
    datasets: list[str], models: list[str], objectives: list[str], kept: dict[tuple[str, str, bool], Searches]
) -> Iterator[Figure]:
    """Measure everything; keep the searches with objective `none` by family, data set and constraints.

    Productivity is measured only where its table is at hand, and a family only where its package is installed.
    """
    for name in datasets:
        try:
            registry().dataset(name).entry.load(data_source())
        except Exception as error:  # a table that is not shipped and cannot be had
            sys.stdout.write(f"{name} is left out: {error}\n")
            continue
        for model in models:
            missing = registry().model(model).entry.unavailable
            if missing:
                sys.stdout.write(f"{model} is left out: {missing}\n")
                continue
            of, where = fitted_fold(name, model), f"{name}, {model}"
            search = prepared(of, exact_searcher(model))
            for objective, constraints in product(objectives, (False, True)):
                found = optima(of, search, objective, constraints=constraints)
                what, times = f"{objective}, constraints {'on' if constraints else 'off'}", found.milliseconds
                yield Figure(f"{what}: unproven, of {len(times)}", where, int((~found.proven).sum()), "", 0)
                yield Figure("  mean", where, float(times.mean()), "ms", MEAN_GOAL.get(model))
                yield Figure("  worst", where, float(times.max()), "ms", WORST_GOAL.get(model))
                if objective == "none":
                    kept[model, name, constraints] = found
            if model == "random-forest":
                yield from robustness(of, search, where)


def table(kept: dict[tuple[str, str, bool], Searches]) -> str:
    """Return one row per family: the searches that are proven, and per data set the means (off / on) and the worst."""
    models, datasets = list(dict.fromkeys(key[0] for key in kept)), list(dict.fromkeys(key[1] for key in kept))
    lines = [f"| family | proven | {' | '.join(datasets)} |", "| --- | ---: |" + " ---: |" * len(datasets)]
    for model in models:
        proven = np.concatenate([found.proven for key, found in kept.items() if key[0] == model])
        pairs = [(kept[model, name, False].milliseconds, kept[model, name, True].milliseconds) for name in datasets]
        times = [f"{off.mean():.1f} / {on.mean():.1f}, {max(off.max(), on.max()):.0f}" for off, on in pairs]
        lines.append(f"| `{model}` | {proven.sum():,} of {proven.size:,} | {' | '.join(times)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what the command line names."""
    families = [name for name in registry().models if exact_searcher(name)]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=DATASETS, help="all by default")
    parser.add_argument("--model", action="append", choices=families, help="may be repeated; all by default")
    parser.add_argument("--objective", action="append", choices=["none", "c"], help="may be repeated; both by default")
    options = parser.parse_args()
    models, objectives = options.model or families, options.objective or ["none", "c"]
    kept: dict[tuple[str, str, bool], Searches] = {}
    with threadpool_limits(1):
        report("proven_optima", figures(options.datasets, models, objectives, kept))
    sys.stdout.write(f"\n{table(kept)}\n")


if __name__ == "__main__":
    main()
