"""What this package registers: the search algorithms."""

from __future__ import annotations

from collections.abc import Iterable

from cfbench import Handles, SearcherEntry, hookimpl
from cfbench_searchers.cogs import Cogs

_EVERYTHING = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)


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
