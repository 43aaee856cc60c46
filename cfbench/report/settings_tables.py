"""The settings of searchers and the grids of models, beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cfbench.contracts import Settings
from cfbench.registry import Registry
from cfbench.report.names import MODELS, SEARCHERS
from cfbench.report.published import block
from cfbench.report.tables import ABSENT, Entry, Table, TableRow

OURS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cogs": {
        "Population size": ("population_size",),
        "Num. generations": ("n_generations",),
        "Tournament size": ("tournament_size",),
        "s_mut": ("mutation_extent",),
    },
    **{
        name: {
            "Total CEs": ("n_counterfactuals",),
            "Max. iterations": ("n_iterations",),
            "Loss weights": ("proximity_weight", "sparsity_weight", "diversity_weight"),
        }
        for name in ("dice-a", "dice-b")
    },
    "growing-spheres": {
        "Num. in layer": ("n_in_layer",),
        "First radius": ("first_radius",),
        "Decrease radius": ("decrease_factor",),
        "Sparse": ("sparse",),
    },
    "lore": {"Population size": ("population_size",), "Num. generations": ("n_generations",)},
    "nelder-mead": {"Max. iterations": ("n_iterations",)},
}
"""What the paper's settings are called here; those without a name here are no settings."""

GRIDS: Mapping[str, Mapping[str, str]] = {
    "random-forest": {
        "No. trees": "n_estimators",
        "Min. samples split": "min_samples_split",
        "Max. features": "max_features",
    },
    "neural-network": {"Learning rate": "learning_rate_init", "Max. iterations": "max_iter", "Solver": "solver"},
}


def searcher_settings(registry: Registry) -> Table:
    """Return the searchers' default settings, which the preset `paper` uses, beside the paper's."""
    rows = [
        TableRow((short, setting), (Entry(ours, paper=value),))
        for name, short in SEARCHERS.items()
        for setting, value, ours in _searcher(registry, name)
    ]
    return Table(
        "settings",
        "Settings of the searchers",
        "The paper's settings and the defaults here.",
        ("searcher", "setting"),
        ("value",),
        tuple(rows),
        (
            "LORE's two further settings choose variants of its library; the decision tree here uses no probabilities "
            "and estimates no functions.",
        ),
    )


def grids(registry: Registry) -> Table:
    """Return the grids that models are tuned on beside the paper's."""
    rows = []
    for model, text in MODELS.items():
        grid = registry.model(model).entry.family().grid() if model in registry.models else {}
        for name, values in block("grid", model).items():
            ours = grid.get(GRIDS[model][name])
            entry = Entry(ABSENT if ours is None else ", ".join(_written(one) for one in ours), paper=values)
            rows.append(TableRow((text, name), (entry,)))
    return Table(
        "grids",
        "Settings that models are tuned on",
        "Every combination is tried; what is not listed is scikit-learn's default. For the number of features a split "
        "looks at, sqrt is √d and none is d.",
        ("model", "setting"),
        ("values",),
        tuple(rows),
    )


def _searcher(registry: Registry, name: str) -> Iterator[tuple[str, str, str]]:
    searcher = registry.searcher(name).entry.searcher if name in registry.searchers else None
    defaults = {}
    if isinstance(searcher, type) and issubclass(searcher, Settings):
        defaults = {key: field.default for key, field in searcher.model_fields.items()}
    for setting, value in block("settings", name).items():
        mine = [defaults[key] for key in OURS[name].get(setting, ()) if key in defaults]
        yield setting, value, ", ".join(_written(one) for one in mine) or ABSENT


def _written(value: Any) -> str:
    return "none" if value is None else str(value)
