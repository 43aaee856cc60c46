"""Variants: labels, strict settings, and labels that read back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_validator, model_validator

from cfbench.errors import StudyError, UnknownNameError
from cfbench.problem.problem import Problem
from cfbench.registry.contracts import Searcher
from cfbench.registry.entries import SearcherEntry
from cfbench.registry.registry import build_registry
from cfbench.study.variants import Variant, build_settings, make_variant, parse_variant, resolve_variant


class Mood(StrEnum):
    CALM = "calm"
    WILD = "wild"


class Still(Searcher):
    def search(self, problem: Problem, rng: np.random.Generator) -> None:
        return None


class Walker(Still):
    """A searcher with a setting of every kind."""

    steps: int = Field(100, ge=2)
    size: float = Field(0.25, gt=0, le=1)
    greedy: bool = False
    mood: Mood = Mood.CALM
    norm: Literal["l1", "l2"] = "l2"
    seeds: tuple[int, ...] = (1, 2)
    label: str = "a b"
    width: int | Literal["auto"] = "auto"
    limit: int | None = 5
    tags: frozenset[str] = frozenset({"x", "y"})
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _even(self) -> Walker:
        if self.steps % 2:
            raise ValueError(f"steps must be even, since they are paired, not {self.steps}")
        return self


def stand_still(problem: Problem, rng: np.random.Generator) -> None:
    return None


WALKER = SearcherEntry(name="walker", searcher=Walker)
STILL = SearcherEntry(name="stand-still", searcher=stand_still)

DEFAULTS = {
    "steps": 100,
    "size": 0.25,
    "greedy": False,
    "mood": "calm",
    "norm": "l2",
    "seeds": [1, 2],
    "label": "a b",
    "width": "auto",
    "limit": 5,
    "tags": ["x", "y"],
    "extra": {},
}


def test_the_bare_name_stands_for_the_defaults_all_of_them_filled_in() -> None:
    assert make_variant(WALKER, {}) == Variant("walker", DEFAULTS, "walker")


def test_defaults_written_out_or_spelt_otherwise_change_nothing() -> None:
    written_out = {**DEFAULTS, "steps": 100.0, "tags": ["y", "x"]}
    assert make_variant(WALKER, written_out) == make_variant(WALKER, {})


def test_the_label_holds_what_differs_in_the_fields_order() -> None:
    variant = make_variant(WALKER, {"greedy": True, "steps": 50})
    assert variant.label == "walker[steps=50,greedy=true]"
    assert variant.settings == {**DEFAULTS, "steps": 50, "greedy": True}
    assert make_variant(WALKER, {"size": 1.0}).label == make_variant(WALKER, {"size": 1}).label == "walker[size=1]"
    assert make_variant(WALKER, {"limit": None}).label == "walker[limit=null]"
    assert make_variant(WALKER, {"label": "5"}).label == 'walker[label="5"]'


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "steps": st.integers(1, 10**9).map(lambda half: 2 * half),
            "size": st.floats(1e-9, 1),
            "greedy": st.booleans(),
            "mood": st.sampled_from(["calm", "wild"]),
            "norm": st.sampled_from(["l1", "l2"]),
            "seeds": st.lists(st.integers(), max_size=3),
            "label": st.text(max_size=10),
            "width": st.integers() | st.just("auto"),
            "limit": st.none() | st.integers(),
            "tags": st.sets(st.text(max_size=3), max_size=3).map(list),
            "extra": st.dictionaries(st.text(max_size=3), st.floats(-10, 10) | st.text(max_size=3), max_size=2),
        },
    )
)
def test_a_label_reads_back_as_the_same_variant(settings: dict[str, Any]) -> None:
    variant = make_variant(WALKER, settings)
    name, written = parse_variant(variant.label)
    assert name == "walker"
    assert make_variant(WALKER, written) == variant
    assert build_settings(Walker, variant.settings) == build_settings(Walker, settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"steps": 0}, "steps = 0: must be at least 2"),
        ({"steps": 3}, "steps must be even, since they are paired, not 3"),
        ({"steps": 2.5}, "steps = 2.5: must be a whole number"),
        ({"steps": True}, "steps = true: must be a whole number"),
        ({"steps": "50"}, 'steps = "50": must be a whole number'),
        ({"size": 0}, "size = 0: must be greater than 0"),
        ({"size": "small"}, 'size = "small": must be a number'),
        ({"size": float("inf")}, "size: must be made of finite numbers"),
        ({"greedy": 1}, "greedy = 1: must be true or false"),
        ({"mood": "sad"}, "mood = \"sad\": must be one of 'calm' or 'wild'"),
        ({"norm": "l3"}, "norm = \"l3\": must be one of 'l1' or 'l2'"),
        ({"seeds": 3}, "seeds = 3: must be a list in [ ]"),
        ({"seeds": [1, "x"]}, 'seeds[1] = "x": must be a whole number'),
        ({"width": "wide"}, "width = \"wide\": must be a whole number, or one of 'auto'"),
        ({"extra": object()}, "extra: must be made of finite numbers"),
    ],
)
def test_an_impossible_value_is_refused_with_what_is_allowed(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError) as caught:
        make_variant(WALKER, settings)
    assert str(caught.value).startswith("settings of walker: ")
    assert said in str(caught.value)


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown setting of walker 'step'\. Did you mean 'steps'\?"):
        make_variant(WALKER, {"step": 3})


def test_a_plain_function_has_no_settings() -> None:
    assert make_variant(STILL, {}) == Variant("stand-still", {}, "stand-still")
    with pytest.raises(UnknownNameError, match="stand-still has no settings"):
        make_variant(STILL, {"steps": 3})


def test_a_setting_without_a_default_must_be_given_and_shows_in_the_label() -> None:
    class Needy(Still):
        radius: float

    entry = SearcherEntry(name="needy", searcher=Needy)
    assert make_variant(entry, {"radius": 2}).label == "needy[radius=2]"
    with pytest.raises(StudyError, match="settings of needy: radius: missing, and it has no default"):
        make_variant(entry, {})


def test_settings_in_brackets_win_over_the_studys_table() -> None:
    registry = build_registry()
    tables = {"cogs": {"population_size": 500, "n_generations": 50}}
    assert (
        resolve_variant(registry, "searcher", "cogs[population_size=200]", tables).label
        == "cogs[population_size=200,n_generations=50]"
    )
    default = resolve_variant(registry, "searcher", "cogs").settings["population_size"]
    assert (
        resolve_variant(registry, "searcher", f"cogs[population_size={default}]", tables).label
        == "cogs[n_generations=50]"
    )


def test_every_kind_of_entry_is_looked_up_under_its_own_name() -> None:
    registry = build_registry()
    assert resolve_variant(registry, "model", "random-forest").label == "random-forest"
    assert resolve_variant(registry, "objective", "none").settings == {}
    assert resolve_variant(registry, "metric", "loss").name == "loss"
    with pytest.raises(UnknownNameError, match=r"unknown searcher 'cgos'\. Did you mean 'cogs'\?"):
        resolve_variant(registry, "searcher", "cgos[population_size=2]")


def test_paths_may_be_settings() -> None:
    class Reader(Still):
        table: Path = Path("a.csv")

    variant = make_variant(SearcherEntry(name="reader", searcher=Reader), {"table": "b c.csv"})
    assert variant.label == 'reader[table="b c.csv"]'
    assert build_settings(Reader, variant.settings).table == Path("b c.csv")


def test_what_a_plugins_class_raises_for_given_settings_is_a_sentence() -> None:
    class Limited(Still):
        rows: int = 5
        start: Any = None

        def model_post_init(self, context: object) -> None:
            if self.rows > 10:
                raise RuntimeError("not so many")

        @field_validator("start")
        @classmethod
        def _as_array(cls, value: Any) -> Any:
            return None if value is None else np.array(value)

    entry = SearcherEntry(name="limited", searcher=Limited)
    assert make_variant(entry, {"rows": 10}).label == "limited[rows=10]"
    with pytest.raises(StudyError, match="settings of limited: Limited raised RuntimeError: not so many"):
        make_variant(entry, {"rows": 11})
    with pytest.raises(StudyError, match="settings of limited: its class turns them into something that cannot be wr"):
        make_variant(entry, {"start": [1]})
