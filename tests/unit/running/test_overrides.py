"""What a command line or a call changes in a study."""

from __future__ import annotations

from typing import Any

import pytest

from cfbench.errors import StudyError
from cfbench.study.study import make_study, override

SMALL: dict[str, Any] = {"datasets": ["credit"], "models": ["random-forest"], "searchers": ["cogs"]}


def test_override_replaces_a_list_everywhere() -> None:
    study = make_study({**SMALL, "parts": [{"searchers": ["lore"], "folds": [1]}, {"constraints": [True]}]})
    changed = override(study, searchers=["mine"], folds=[2])
    assert (changed.searchers, changed.folds) == (("mine",), (2,))
    assert [part.model_dump(exclude_none=True) for part in changed.parts] == [{}, {"constraints": (True,)}]
    assert changed.datasets == ("credit",)


def test_override_narrows_parts() -> None:
    study = make_study(
        {
            **SMALL,
            "searchers": ["cogs", "lore", "dice-a"],
            "parts": [{"searchers": ["cogs", "lore"]}, {"searchers": ["dice-a"], "folds": [0]}],
        }
    )

    def parts(**changes: Any) -> list[dict[str, Any]]:
        return [part.model_dump(exclude_none=True) for part in override(study, **changes).parts]

    assert parts(searchers=["dice-a"]) == [{"searchers": ("dice-a",), "folds": (0,)}]
    assert parts(searchers=["dice-a", "cogs"], folds=[0, 1]) == [
        {"searchers": ("cogs",), "folds": (0, 1)},
        {"searchers": ("dice-a",), "folds": (0,)},
    ]
    assert parts(folds=[1]) == [{"searchers": ("cogs", "lore"), "folds": (1,)}]


def test_what_override_names_is_never_left_out() -> None:
    study = make_study(
        {
            **SMALL,
            "searchers": ["cogs", "dice-a"],
            "parts": [{"searchers": ["cogs"]}, {"searchers": ["dice-a"], "folds": [0]}],
        }
    )
    changed = override(study, searchers=["cogs", "dice-a"], folds=[1])
    assert (changed.searchers, changed.folds, changed.parts) == (("cogs", "dice-a"), (1,), ())


def test_override_lifts_caps_and_adds_settings() -> None:
    study = make_study(
        {
            **SMALL,
            "at_most": {"lore": {"points": 5, "repetitions": 3}},
            "settings": {"cogs": {"population_size": 500, "n_generations": 10}},
        }
    )
    changed = override(study, points=20, settings={"cogs": {"n_generations": 20}, "k": {"m": 4}})
    assert changed.at_most["lore"].points is None
    assert changed.at_most["lore"].repetitions == 3
    assert changed.settings == {"cogs": {"population_size": 500, "n_generations": 20}, "k": {"m": 4}}
    assert study.settings["cogs"]["n_generations"] == 10


def test_data_sets_named_on_the_command_line_are_not_optional() -> None:
    study = make_study({**SMALL, "optional_datasets": ["credit"]})
    assert override(study, points=1).optional_datasets == ("credit",)
    assert override(study, datasets=["credit"]).optional_datasets == ()


def test_override_complains_as_a_file_does() -> None:
    with pytest.raises(StudyError, match=r"^command line: folds\[0\] = 9: must be at most 4$"):
        override(make_study(SMALL), folds=[9])
    with pytest.raises(StudyError, match="unknown key 'fold'"):
        override(make_study(SMALL), fold=[0])
    with pytest.raises(StudyError, match=r"settings\.cogs = 3: must be a table"):
        override(make_study(SMALL), settings={"cogs": 3})


def test_points_and_repetitions_replace_those_of_parts() -> None:
    parts = [{"folds": [0], "points": "all", "repetitions": 5}, {"points": 4}]
    study = make_study({"datasets": ["d"], "models": ["m"], "searchers": ["s"], "parts": parts})
    few = override(study, points=2)
    assert [(part.folds, part.model_fields_set & {"points", "repetitions"}) for part in few.parts] == [
        ((0,), {"repetitions"}),
        (None, set()),
    ]
    assert override(study, repetitions=1).parts[0].repetitions is None
    assert override(study, seed=1).parts == study.parts
