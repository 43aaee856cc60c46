"""What this package registers: the search algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec

from cfbench import Cost, Handles, Need, SearcherEntry, hookimpl
from cfbench_searchers.cma_es import CmaEs
from cfbench_searchers.cogs import Cogs
from cfbench_searchers.dice import DiceA, DiceB
from cfbench_searchers.exact_linear.searcher import ExactLinear
from cfbench_searchers.exact_trees.searcher import ExactTrees
from cfbench_searchers.gradient_descent import GradientDescent
from cfbench_searchers.growing_spheres import GrowingSpheres, GrowingSpheresScaled
from cfbench_searchers.lore import Lore
from cfbench_searchers.nearest_unlike import NearestUnlike
from cfbench_searchers.nelder_mead import NelderMead
from cfbench_searchers.random_search import RandomSearch
from cfbench_searchers.sparse_sweep.searcher import SparseSweep

_ALL_BUT_RELATIONS = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)
_EVERYTHING = (*_ALL_BUT_RELATIONS, Handles.RELATIONS)
_LOSS_ALONE = (Handles.CATEGORICAL, Handles.CONSTRAINTS)

# Growing Spheres has no end of its own in wide spaces: this is 1,250 of its layers.
_SPHERES_BUDGET = 2_500_000

# DiCE draws until it has a population of the target class: this is four times what all its generations ask.
_DICE_BUDGET = 500_000


@hookimpl
def cfbench_register_searchers() -> Iterable[SearcherEntry]:
    """Yield the search algorithms."""
    yield SearcherEntry(
        name="cogs",
        version="2",
        searcher=Cogs,
        summary="Counterfactual Genetic Search (Virgolin and Fracaros)",
        url="https://doi.org/10.1016/j.artint.2022.103840",
        handles=_EVERYTHING,
        check_settings={"population_size": 100, "n_generations": 20},
    )
    yield SearcherEntry(
        name="sparse-sweep",
        searcher=SparseSweep,
        summary="cfbench's own: sweeps over one, two and three features, from x outwards",
        handles=_EVERYTHING,
        can_use=[Need.TRAINING_DATA],
        check_settings={"n_rows": 5_000, "n_starts": 10},
    )
    for name, searcher, summary in (
        ("dice-a", DiceA, "the library DiCE's genetic method, 20 counterfactuals (Mothilal et al. 2020)"),
        ("dice-b", DiceB, "the library DiCE's genetic method, 100 counterfactuals, proximity and sparsity alone"),
    ):
        yield SearcherEntry(
            name=name,
            version="2",
            searcher=searcher,
            summary=summary,
            url="https://arxiv.org/abs/1905.07697",
            handles=_LOSS_ALONE,
            needs=[Need.PROBABILITIES, Need.TRAINING_DATA],
            cost=Cost.SLOW,
            returns_sets=True,
            default_budget=_DICE_BUDGET,
            check_settings={"n_counterfactuals": 3, "n_iterations": 6, "patience": 200},
            unavailable=_missing("dice_ml", "dice-ml>=0.12,<0.13"),
        )
    yield SearcherEntry(
        name="growing-spheres",
        searcher=GrowingSpheres,
        summary="layers of growing radius around x, in raw units (Laugel et al. 2018)",
        url="https://arxiv.org/abs/1712.08443",
        handles=_LOSS_ALONE,
        default_budget=_SPHERES_BUDGET,
        check_settings={"n_in_layer": 200},
    )
    yield SearcherEntry(
        name="growing-spheres-scaled",
        searcher=GrowingSpheresScaled,
        summary="Growing Spheres in units of each feature's range",
        url="https://arxiv.org/abs/1712.08443",
        handles=_LOSS_ALONE,
        default_budget=_SPHERES_BUDGET,
        check_settings={"n_in_layer": 200},
    )
    yield SearcherEntry(
        name="lore",
        searcher=Lore,
        summary="rules of a decision tree on a genetic neighbourhood (Guidotti et al. 2018)",
        url="https://arxiv.org/abs/1805.10820",
        handles=_LOSS_ALONE,
        needs=[Need.TRAINING_DATA],
        check_settings={"population_size": 200},
    )
    yield SearcherEntry(
        name="nelder-mead",
        version="2",
        searcher=NelderMead,
        summary="SciPy's simplex search from x, 100 iterations",
        url="https://doi.org/10.1093/comjnl/7.4.308",
        handles=_ALL_BUT_RELATIONS,
    )
    yield SearcherEntry(
        name="cma-es",
        version="2",
        searcher=CmaEs,
        summary="covariance matrix adaptation, categories decoded by rounding (package cma)",
        url="https://arxiv.org/abs/1604.00772",
        handles=_EVERYTHING,
        check_settings={"n_rows": 2000, "population_size": 20},
        unavailable=_missing("cma", "cma>=4"),
    )
    yield SearcherEntry(
        name="random-search",
        version="2",
        searcher=RandomSearch,
        summary="the best of random candidates: a baseline",
        handles=_EVERYTHING,
        check_settings={"n_rows": 2000},
    )
    yield SearcherEntry(
        name="nearest-unlike",
        version="3",
        searcher=NearestUnlike,
        summary="the closest training point that the model puts into the target class: a baseline",
        handles=_EVERYTHING,
        needs=[Need.TRAINING_DATA],
    )
    yield SearcherEntry(
        name="exact-trees",
        searcher=ExactTrees,
        summary="the provably cheapest counterfactual on an ensemble of trees, by branch and bound",
        handles=[*_LOSS_ALONE, Handles.SEPARABLE],
        needs=[Need.FOREST],
    )
    yield SearcherEntry(
        name="exact-linear",
        searcher=ExactLinear,
        summary="the provably cheapest counterfactual on a linear model, by branch and bound",
        handles=[*_LOSS_ALONE, Handles.SEPARABLE],
        needs=[Need.LINEAR],
    )
    yield SearcherEntry(
        name="gradient-descent",
        searcher=GradientDescent,
        summary="descent on the model's probability and the distance, the smallest weight (Wachter et al. 2018)",
        url="https://arxiv.org/abs/1711.00399",
        handles=[*_LOSS_ALONE, Handles.RELATIONS],
        needs=[Need.GRADIENTS],
        check_settings={"n_weights": 6, "n_steps": 60},
    )


def _missing(module: str, requirement: str) -> str:
    """Return how to install a missing package; empty if it is installed."""
    if find_spec(module) is not None:
        return ""
    package = re.split("[<>=]", requirement)[0]
    return f'it needs the package {package}; install it with: pip install "{requirement}"'
