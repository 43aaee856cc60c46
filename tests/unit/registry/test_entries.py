from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import Field, ValidationError

from cfbench.errors import PluginError, StudyError
from cfbench.problem.access import Need
from cfbench.problem.problem import Problem
from cfbench.registry.contracts import (
    FittedModel,
    ModelFamily,
    Objective,
    Searcher,
    Settings,
)
from cfbench.registry.entries import (
    DatasetEntry,
    Direction,
    Entry,
    Handles,
    MetricEntry,
    ModelEntry,
    ObjectiveEntry,
    PresetEntry,
    ReportEntry,
    SearcherEntry,
    Stage,
)
from cfbench.registry.metrics import CellContext, ComparisonContext, Found, Metric, Reference
from cfbench.space.space import FloatArray


def stay(problem: Problem, rng: np.random.Generator) -> None:
    return None


class Loose:
    """A class of nobody's."""


@pytest.mark.parametrize("name", ["cogs", "dice-a", "k", "nearest-unlike-2", "2d"])
def test_kebab_case_names_are_taken(name: str) -> None:
    assert Entry(name=name).name == name


@pytest.mark.parametrize("name", ["", "CoGS", "dice_a", "-a", "a-", "a--b", "a b", "a[m=4]", "é", "a\n", 3, None])
def test_other_names_are_refused(name: Any) -> None:
    with pytest.raises(PluginError, match="is no name for an entry; use kebab-case"):
        Entry(name=name)


@pytest.mark.parametrize("version", ["", 1, None])
def test_a_version_is_a_string(version: Any) -> None:
    with pytest.raises(PluginError, match="entry 'a' needs a version, a non-empty string"):
        Entry(name="a", version=version)


def test_declarations_become_sets_whatever_they_were_written_as() -> None:
    entry = SearcherEntry(
        name="a",
        searcher=stay,
        handles=[Handles.CATEGORICAL, Handles.CATEGORICAL],
        needs=(need for need in [Need.PROBABILITIES]),
        can_use=["training data"],  # type: ignore[list-item]
    )
    assert entry.handles == {Handles.CATEGORICAL}
    assert entry.needs == {Need.PROBABILITIES}
    assert entry.can_use == {Need.TRAINING_DATA}
    alone = SearcherEntry(name="a", searcher=stay, handles=Handles.OBJECTIVES)  # type: ignore[arg-type]
    assert alone.handles == {Handles.OBJECTIVES}


@pytest.mark.parametrize(("field", "value"), [("handles", ["categories"]), ("needs", "proba"), ("can_use", 3)])
def test_unknown_declarations_name_the_known_ones(field: str, value: Any) -> None:
    with pytest.raises(PluginError, match=f"entry 'a': `{field}` is .*; it may list (Handles|Need)[.][A-Z]"):
        SearcherEntry(name="a", searcher=stay, **{field: value})


@pytest.mark.parametrize(
    ("needs", "can_use", "white"),
    [
        ([], [], False),
        ([Need.PROBABILITIES], [], False),
        ([Need.FOREST], [], True),
        ([], [Need.FOREST], True),
    ],
)
def test_who_uses_the_models_structure_is_a_white_box(needs: list[Need], can_use: list[Need], white: bool) -> None:
    assert SearcherEntry(name="a", searcher=stay, needs=needs, can_use=can_use).is_white_box is white


def test_an_entry_survives_a_process_border() -> None:
    entry = SearcherEntry(name="a", searcher=stay, handles=[Handles.CATEGORICAL], check_settings={"n": 1})
    assert pickle.loads(pickle.dumps(entry)) == entry


class Neither(Metric):
    """Implements nothing."""


class Per(Metric):
    """Looks at one cell."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        raise NotImplementedError


class Across(Metric):
    """Looks at two."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        raise NotImplementedError


class BesideNone(Across):
    """Looks at two objectives."""

    reference = Reference(objective="none")


class Both(Per, Across):
    """Looks at one and at two."""


class Pointing(Across):
    """Names its reference by a string."""

    reference = "cogs"  # type: ignore[assignment] # its fault


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SearcherEntry(name="a", searcher=Loose), "subclass of cfbench.Searcher, not the class Loose"),  # type: ignore[arg-type]
        (lambda: SearcherEntry(name="a", searcher=Searcher()), "not Searcher"),  # type: ignore[arg-type]
        (lambda: SearcherEntry(name="a", searcher="cogs"), "function search.problem, rng. or a subclass .*, not str"),  # type: ignore[arg-type]
        (lambda: DatasetEntry(name="a", load="data.csv"), "`load` must be a function of a DataSource, not 'data.csv'"),  # type: ignore[arg-type]
        (lambda: ModelEntry(name="a", family=ModelFamily()), "`family` must be a subclass of cfbench.ModelFamily"),  # type: ignore[arg-type]
        (lambda: ModelEntry(name="a", family=Loose), "not the class Loose"),  # type: ignore[arg-type]
        (lambda: ObjectiveEntry(name="a", objective=stay), "`objective` must be a subclass of cfbench.Objective"),  # type: ignore[arg-type]
        (lambda: SearcherEntry(name="a", searcher=stay, cost="fast"), "`cost` is 'fast'; it must be Cost.USUAL or"),  # type: ignore[arg-type]
        (lambda: PresetEntry(name="a", study="a.toml"), "preset 'a': `study` must be a mapping .*, not str"),  # type: ignore[arg-type]
        (lambda: PresetEntry(name="a", study=Path("nowhere.toml")), "preset 'a': there is no file nowhere.toml"),
        (lambda: PresetEntry(name="a", study={}, reference=stay), "`reference` is .*; it must be the name of a"),  # type: ignore[arg-type]
        (lambda: ReportEntry(name="a", render="page"), "report 'a': `render` must be a function of a ReportContext"),  # type: ignore[arg-type]
        (lambda: ReportEntry(name="a", render=stay, first_steps="run"), "`first_steps` must be a function"),  # type: ignore[arg-type]
        (lambda: MetricEntry(name="a", metric=Objective), "`metric` must be a subclass of cfbench.Metric"),  # type: ignore[arg-type]
        (
            lambda: MetricEntry(name="a", metric=Neither),
            r"Neither lacks the method measure\(self, found, context\) or compare\(self, found, reference, context\)",
        ),
        (lambda: MetricEntry(name="a", metric=Metric), r"the class Metric lacks the method measure\("),
        (lambda: MetricEntry(name="a", metric=Both), "Both implements both `measure`.*make two metrics of it"),
        (lambda: MetricEntry(name="a", metric=Pointing), "`reference` is 'cogs'; it must be a cfbench.Reference"),
    ],
)
def test_entries_refuse_what_they_cannot_run(make: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        make()


def test_a_metrics_stage_follows_from_its_class() -> None:
    assert MetricEntry(name="a", metric=Per).stage is Stage.COUNTERFACTUAL
    across = MetricEntry(name="a", metric=Across, direction=Direction.LOWER)
    assert across.stage is Stage.COMPARISON
    assert across.compares_with_board
    assert not MetricEntry(name="a", metric=BesideNone).compares_with_board


def test_a_reference_is_one_thing() -> None:
    with pytest.raises(StudyError, match="not both: 'cogs', 'none'"):
        Reference(searcher="cogs", objective="none")


def test_settings_refuse_unknown_names_impossible_values_and_changes() -> None:
    class Population(Settings):
        size: int = Field(default=1000, gt=0)
        rate: float = 0.5

    assert Population(size=20).model_dump() == {"size": 20, "rate": 0.5}
    for wrong in ({"sise": 3}, {"size": 0}, {"size": "many"}, {"rate": float("nan")}, {"rate": float("inf")}):
        with pytest.raises(ValidationError):
            Population.model_validate(wrong)
    with pytest.raises(ValidationError, match="frozen"):
        Population().size = 3


class Idle(Searcher):
    rows: int = 5


class Untrained(ModelFamily):
    depth: int = 3


class Free(Objective):
    price: float = 0.5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SearcherEntry(name="a", searcher=Idle), "the class Idle lacks the method search(self, problem, rng)"),
        (
            lambda: ModelEntry(name="a", family=Untrained),
            "the class Untrained lacks the method fit(self, X, y, space, ",
        ),
        (lambda: ObjectiveEntry(name="a", objective=Free), "the class Free lacks the method bind(self, context)"),
    ],
)
def test_a_class_without_its_method_is_refused_with_the_signature(make: Callable[[], object], words: str) -> None:
    with pytest.raises(PluginError, match=re.escape(words)):
        make()


class Still(Searcher):
    def search(self, problem: Problem, rng: np.random.Generator) -> None:
        return None


class Infinite(Still):
    radius: float = float("inf")


class Undefined(Still):
    radius: float = float("nan")


class OfBytes(Still):
    seed: bytes = b"\xff"


class OfAnArray(Still):
    start: Any = np.zeros(2)


class MakesNoDefault(Still):
    rows: int = Field(default_factory=lambda: 1 // 0)


class Mistyped(Still):
    rows: int = "many"  # type: ignore[assignment] # its fault


class CannotBeMade(Still):
    rows: int = 5

    def model_post_init(self, context: object) -> None:
        raise RuntimeError("no licence")


class HasAnInit(Still):
    def __init__(self, **settings: Any) -> None:
        raise OSError("no such library")


@pytest.mark.parametrize(
    ("searcher", "message"),
    [
        (Infinite, "the default of the setting 'radius' is inf; settings are made of finite numbers"),
        (Undefined, "the default of the setting 'radius' is nan; settings are made of"),
        (OfBytes, r"the default of the setting 'seed' is b'\\xff'; settings"),
        (OfAnArray, r"the default of the setting 'start' is array\(\[0., 0.\]\); settings"),
        (MakesNoDefault, "the default of the setting 'rows' raised ZeroDivisionError"),
        (Mistyped, "the class Mistyped with its default settings is refused: rows: Input should be a valid integer"),
        (CannotBeMade, "the class CannotBeMade with its default settings raised RuntimeError: no licence"),
        (HasAnInit, "the class HasAnInit with its default settings raised OSError: no such library"),
    ],
)
def test_settings_that_cannot_be_written_or_made_are_refused(searcher: type[Searcher], message: str) -> None:
    with pytest.raises(PluginError, match=f"entry 'a': {message}"):
        SearcherEntry(name="a", searcher=searcher)


def test_a_setting_without_a_default_is_allowed() -> None:
    class Needy(Still):
        radius: float

    assert SearcherEntry(name="a", searcher=Needy).searcher is Needy


def test_the_contracts_methods_have_no_default() -> None:
    calls: list[Callable[[], object]] = [
        lambda: Searcher().search(None, None),  # type: ignore[arg-type]
        lambda: ModelFamily().tune(None, None, None),  # type: ignore[arg-type]
        lambda: ModelFamily().fit(None, None, None, {}),  # type: ignore[arg-type]
        lambda: Objective().bind(None),  # type: ignore[arg-type]
        lambda: Metric().measure(None, None),  # type: ignore[arg-type]
        lambda: Metric().compare(None, None, None),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()


def test_a_fitted_model_is_known_by_its_methods() -> None:
    assert not isinstance(Loose(), FittedModel)


@pytest.mark.parametrize(
    "url", ["http://a.example", "javascript:alert(1)", "https://a b", "https://", 'https://a"b', 3]
)
def test_an_address_that_is_no_page_is_refused(url: Any) -> None:
    with pytest.raises(
        PluginError, match=r"searcher 'a': `url` is .*; it must be an address that starts with https://"
    ):
        SearcherEntry(name="a", searcher=stay, url=url)


def test_an_address_of_a_page_is_kept() -> None:
    assert SearcherEntry(name="a", searcher=stay, url="https://a.example/paper?id=1").url.endswith("id=1")
