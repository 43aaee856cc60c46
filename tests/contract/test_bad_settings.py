"""An impossible setting of a searcher of ours is refused before anything runs, in words that say what is allowed."""

from __future__ import annotations

import re

import pytest

from cfbench.errors import CfbenchError, StudyError, UnknownNameError
from cfbench.registry.registry import build_registry
from cfbench.study.variants import resolve_variant

REGISTRY = build_registry()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("cogs[population_size=0]", StudyError, "population_size = 0: must be at least 2"),
        ("cogs[population_size=3]", StudyError, "parents are paired, so 3 must be an even number; try 2 or 4"),
        ("cogs[n_generations=1.5]", StudyError, "n_generations = 1.5: must be a whole number"),
        ('cogs[population_size="many"]', StudyError, "must be a whole number"),
        ("cogs[mutation_extent=0.0]", StudyError, "mutation_extent = 0.0: must be greater than 0"),
        ("cogs[tournament_size=2000]", StudyError, "lower tournament_size or raise population_size"),
        ("cogs[population=500]", UnknownNameError, "Did you mean 'population_size'?"),
        ("growing-spheres[first_radius=-1.0]", StudyError, "first_radius = -1.0: must be greater than 0"),
        ("growing-spheres[decrease_factor=1.0]", StudyError, "decrease_factor = 1.0: must be greater than 1"),
        ("growing-spheres-scaled[n_in_layer=0]", StudyError, "n_in_layer = 0: must be at least 1"),
        ("lore[population_size=6]", StudyError, "must be a multiple of 4; try 4 or 8"),
        ("nelder-mead[n_iterations=0]", StudyError, "n_iterations = 0: must be at least 1"),
        ("random-search[batch_size=-5]", StudyError, "batch_size = -5: must be at least 1"),
        ("cma-es[step_size=0.0]", StudyError, "step_size = 0.0: must be greater than 0"),
        ("nearest-unlike[k=3]", UnknownNameError, "unknown setting of nearest-unlike 'k'"),
    ],
)
def test_an_impossible_setting(text: str, error: type[CfbenchError], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        resolve_variant(REGISTRY, "searcher", text)


def test_the_settings_of_the_checks_are_possible_ones() -> None:
    for name, registered in REGISTRY.searchers.items():
        settings = dict(registered.entry.check_settings or {})
        assert resolve_variant(REGISTRY, "searcher", name, {name: settings}).name == name
