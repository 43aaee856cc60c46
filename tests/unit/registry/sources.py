"""Source code of plugins, and the problems that a registry reports."""

from __future__ import annotations

from cfbench.registry.discovery import PluginProblem
from cfbench.registry.registry import Registry

IMPORTS = """from cfbench import DatasetEntry, ModelEntry, ModelFamily, SearcherEntry, hookimpl

class Family(ModelFamily):
    def fit(self, X, y, space, hyperparameters):
        return None

"""
GOOD = (
    IMPORTS
    + """
def stay(problem, rng):
    return None

@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="NAME", searcher=stay)
"""
)


def problems_of(registry: Registry, distribution: str) -> list[PluginProblem]:
    return [problem for problem in registry.problems if problem.distribution == distribution]
