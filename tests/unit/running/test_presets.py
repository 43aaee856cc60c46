"""Presets of a plugin: what they may be, how a run finds them, and what is said of those that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfbench.errors import PluginError, StudyError, UnknownNameError
from cfbench.problem.problem import Problem
from cfbench.registry.contracts import Searcher
from cfbench.registry.entries import PresetEntry, SearcherEntry
from cfbench.registry.registry import Registry, registry_with
from cfbench.study.presets import preset

KEYS = {"datasets": ["wine", "mars"], "models": ["random-forest"], "searchers": ["lore", "cogs"], "points": 3}


def having(**fields: Any) -> Registry:
    registry = registry_with(PresetEntry(name="mine", **fields))
    assert not registry.problems, registry.problems
    return registry


def test_keys_a_file_and_a_function_give_the_same_study(tmp_path: Path) -> None:
    file = tmp_path / "suite.toml"
    file.write_text(
        'name = "suite"\ndatasets = ["wine", "mars"]\nmodels = ["random-forest"]\nsearchers = ["lore", "cogs"]\n'
        "points = 3\n"
    )

    def function(searchers: Mapping[str, SearcherEntry]) -> dict[str, Any]:
        assert isinstance(searchers["cogs"], SearcherEntry)
        return {**KEYS, "searchers": [name for name in ("lore", "cogs", "nowhere") if name in searchers]}

    found = preset("mine", having(study=KEYS, reference="lore"))
    assert (found.name, found.datasets, found.searchers, found.points) == ("mine", ("wine",), ("lore", "cogs"), 3)
    assert (found.objectives, found.reference, found.optional_datasets) == (("none",), "lore", ("wine",))
    assert found.notes == ("preset mine leaves out datasets that are not registered: mars",)
    for study in (file, function):
        assert preset("mine", having(study=study, reference="lore")) == found


def test_tables_about_what_is_not_registered_are_left_out() -> None:
    keys = {**KEYS, "at_most": {"lore": {"points": 1}, "nowhere": {"points": 2}}, "settings": {"nowhere": {"a": 1}}}
    found = preset("mine", having(study=keys))
    assert set(found.at_most) == {"lore"}
    assert found.settings == {}


class Needy(Searcher):
    radius: float

    def search(self, problem: Problem, rng: np.random.Generator) -> None:
        return None


def test_a_searcher_with_a_setting_that_is_not_given_is_left_out() -> None:
    preset_entry = PresetEntry(name="mine", study=lambda searchers: {**KEYS, "searchers": ["cogs", "needy"]})
    registry = registry_with([preset_entry, SearcherEntry(name="needy", searcher=Needy)])
    found = preset("mine", registry)
    assert found.searchers == ("cogs",)
    assert found.notes[-1] == "preset mine leaves out searchers with a setting that has no default: needy"
    given = PresetEntry(name="mine", study={**KEYS, "searchers": ["needy[radius=2]"]})
    registry = registry_with([given, SearcherEntry(name="needy", searcher=Needy)])
    assert preset("mine", registry).searchers == ("needy[radius=2]",)


@pytest.mark.parametrize(
    ("study", "error", "message"),
    [
        ({**KEYS, "searchers": []}, StudyError, r"none of its searchers is registered \(there are none\)"),
        ({**KEYS, "datasets": ["mars"]}, StudyError, r"none of its datasets is registered \(mars\)"),
        ({**KEYS, "pionts": 3}, StudyError, "preset mine: .*unknown key 'pionts'"),
        ({"models": ["random-forest"], "searchers": ["cogs"]}, StudyError, "preset mine: .*datasets"),
        (lambda searchers: searchers["nowhere"], PluginError, "preset mine: it raised KeyError: 'nowhere'"),
        (lambda _: ["cogs"], PluginError, "preset mine: its function returned list"),
    ],
)
def test_what_cannot_be_used_is_said_with_the_presets_name(study: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        preset("mine", having(study=study))


def test_an_unknown_preset_is_told_the_known_ones() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"unknown preset 'quik'\. Did you mean 'quick'\? Known: quick, mine, models, paper, standard",
    ):
        preset("quik", having(study=KEYS))


def test_the_first_that_says_so_is_where_a_run_starts() -> None:
    registry = registry_with(
        [
            PresetEntry(name="later", study=KEYS, is_starting_point=True, reference="lore"),
            PresetEntry(name="mine", study=KEYS),
        ]
    )
    assert registry.starting_point is not None
    assert registry.starting_point.name == "quick"  # ours come first
    assert registry.reference == "cogs"
    bare = Registry(registry.options, [], {}, [])
    assert bare.starting_point is None
    assert bare.reference == ""
