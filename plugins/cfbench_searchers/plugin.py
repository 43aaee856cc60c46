"""What this package registers: the search algorithms."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from cfbench import Handles, Need, SearcherEntry, hookimpl
from cfbench_searchers.cma_es import CmaEs
from cfbench_searchers.cogs import Cogs
from cfbench_searchers.growing_spheres import GrowingSpheres, GrowingSpheresScaled
from cfbench_searchers.lore import Lore
from cfbench_searchers.nearest_unlike import NearestUnlike
from cfbench_searchers.nelder_mead import NelderMead
from cfbench_searchers.random_search import RandomSearch

_EVERYTHING = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)
_LOSS_ALONE = (Handles.CATEGORICAL, Handles.CONSTRAINTS)

# Growing Spheres has no end of its own in wide spaces: this is 1,250 of its layers.
_SPHERES_BUDGET = 2_500_000


@hookimpl
def cfbench_register_searchers() -> Iterable[SearcherEntry]:
    """Yield the search algorithms."""
    yield SearcherEntry(
        name="cogs",
        searcher=Cogs,
        summary="Counterfactual Genetic Search (Virgolin and Fracaros)",
        handles=_EVERYTHING,
        check_settings={"population_size": 100, "n_generations": 20},
    )
    yield SearcherEntry(
        name="growing-spheres",
        searcher=GrowingSpheres,
        summary="layers of growing radius around x, in raw units (Laugel et al. 2018)",
        handles=_LOSS_ALONE,
        default_budget=_SPHERES_BUDGET,
        check_settings={"n_in_layer": 200},
    )
    yield SearcherEntry(
        name="growing-spheres-scaled",
        searcher=GrowingSpheresScaled,
        summary="Growing Spheres in units of each feature's range",
        handles=_LOSS_ALONE,
        default_budget=_SPHERES_BUDGET,
        check_settings={"n_in_layer": 200},
    )
    yield SearcherEntry(
        name="lore",
        searcher=Lore,
        summary="rules of a decision tree on a genetic neighbourhood (Guidotti et al. 2018)",
        handles=_LOSS_ALONE,
        needs=[Need.TRAINING_DATA],
        check_settings={"population_size": 200},
    )
    yield SearcherEntry(
        name="nelder-mead",
        searcher=NelderMead,
        summary="SciPy's simplex search from x, 100 iterations",
        handles=_EVERYTHING,
    )
    yield SearcherEntry(
        name="cma-es",
        searcher=CmaEs,
        summary="covariance matrix adaptation, categories decoded by rounding (package cma)",
        handles=_EVERYTHING,
        check_settings={"n_rows": 2000, "population_size": 20},
        unavailable="" if find_spec("cma") else 'it needs the package cma; install it with: pip install "cma>=4"',
    )
    yield SearcherEntry(
        name="random-search",
        searcher=RandomSearch,
        summary="the best of random candidates: a floor",
        handles=_EVERYTHING,
        check_settings={"n_rows": 2000},
    )
    yield SearcherEntry(
        name="nearest-unlike",
        searcher=NearestUnlike,
        summary="the closest training point that the model puts into the target class: a floor",
        handles=_EVERYTHING,
        needs=[Need.TRAINING_DATA],
    )
