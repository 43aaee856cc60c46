"""Presets: what they run, and what they leave out where less is registered."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import StudyError
from cfbench.registry.contracts import DataSource
from cfbench.registry.entries import (
    Cost,
    DatasetEntry,
    Entry,
    MetricEntry,
    ModelEntry,
    ObjectiveEntry,
    PresetEntry,
    SearcherEntry,
)
from cfbench.registry.registry import Registered, Registry, RegistryOptions, build_registry
from cfbench.running.measure import cell_metrics
from cfbench.study.plan import make_plan
from cfbench.study.presets import preset
from cfbench.study.variants import resolve_variant
from cfbench_paper.presets import DATASETS, METRICS, MODELS, OBJECTIVES, SEARCHERS

SLOW = ("dice-a", "dice-b")


def with_names(**names: tuple[str, ...]) -> Registry:
    """Return what is installed, with exactly these names of the kinds given."""
    installed = build_registry()
    stand_ins: dict[str, tuple[type[Entry], Entry]] = {
        "datasets": (DatasetEntry, installed.dataset("credit").entry),
        "models": (ModelEntry, installed.model("random-forest").entry),
        "searchers": (SearcherEntry, installed.searcher("cogs").entry),
        "objectives": (ObjectiveEntry, installed.objective("none").entry),
        "metrics": (MetricEntry, installed.metric("loss").entry),
    }
    tables: dict[type[Entry], dict[str, Registered[Any]]] = {PresetEntry: dict(installed.presets)}
    for axis, (kind, stand_in) in stand_ins.items():
        present = dict(getattr(installed, axis))
        wanted = names.get(axis, tuple(present))
        tables[kind] = {
            name: present.get(name) or Registered(replace(stand_in, name=name), "", "", "test") for name in wanted
        }
    return Registry(RegistryOptions(), [], tables, [])


def test_quick_is_a_first_look() -> None:
    registry = build_registry()
    study = preset("quick", registry)
    assert (study.datasets, study.models) == (("credit", "housing", "wine"), MODELS)
    assert (study.objectives, study.constraints, study.folds) == (("none",), (False,), (0,))
    assert (study.points, study.repetitions, study.time_limit, study.workers) == (3, 1, None, 2)
    assert study.settings == {"cma-es": {"n_rows": 10_000}}  # what bounds a search is rows, not seconds
    assert study.searchers == tuple(registry.searchers)
    assert {name: cap.points for name, cap in study.at_most.items()} == {"dice-a": 1, "dice-b": 1}
    assert study.metrics == METRICS == registry.default_metrics
    assert study.notes == ()


def test_quick_takes_every_searcher_that_is_registered() -> None:
    study = preset("quick", with_names(searchers=("mine", "dice-b")))
    assert study.searchers == ("mine", "dice-b")
    assert [part.searchers for part in study.parts] == [("mine",), ("dice-b",)]
    assert set(study.at_most) == {"dice-b"}
    assert len(preset("quick", with_names(searchers=("dice-a",))).parts) == 1
    assert study.notes == ()
    with pytest.raises(StudyError, match=r"preset quick: none of its searchers is registered \(there are none\)"):
        preset("quick", with_names(searchers=()))


def test_quick_plans_from_what_is_shipped_alone(tmp_path: Path) -> None:
    registry = build_registry()
    plan = make_plan(preset("quick", registry), registry, DataSource((), tmp_path, download=False))
    slow = [cell for cell in plan.cells if cell.searcher.name in SLOW]
    assert {cell.dataset for cell in slow} == {"wine"}
    assert len(plan.cells) == 6 * (len(plan.study.searchers) - 2) + 2 * 2
    unavailable = {name: found.entry.unavailable for name, found in registry.searchers.items()}
    for cell in plan.cells:
        # A forest shows no gradients, a network no forest, and neither is a linear model.
        pairs = (("exact-trees", "neural-network"), ("gradient-descent", "random-forest"))
        blind = cell.searcher.name == "exact-linear" or (cell.searcher.name, cell.model.name) in pairs
        assert bool(cell.skipped) == bool(unavailable[cell.searcher.name] or blind)
        points = 1 if cell in slow else 3
        assert cell.searches == (0 if cell.skipped else points)


def test_models_runs_all_families_but_the_papers() -> None:
    registry = build_registry()
    study = preset("models", registry)
    assert set(study.models) | set(MODELS) == set(registry.models)
    assert not set(study.models) & set(MODELS)
    assert (study.datasets, study.folds, study.points, study.repetitions) == (DATASETS, (0,), 5, 1)
    assert study.searchers == tuple(registry.searchers)


def test_standard_is_what_the_published_leaderboard_shows() -> None:
    study = preset("standard", with_names(searchers=("cogs", "lore", "mine", "dice-a")))
    assert (study.datasets, study.models, study.folds) == (DATASETS, MODELS, (0, 1, 2, 3, 4))
    assert (study.objectives, study.constraints) == (("none", "ck"), (False, True))
    assert (study.points, study.repetitions, study.time_limit) == (5, 1, None)
    assert (study.searchers, study.parts, study.at_most) == (("cogs", "lore", "mine", "dice-a"), (), {})
    assert study.notes == ()


def test_standard_searches_every_point_with_every_black_box_and_once_for_the_loss_alone(tmp_path: Path) -> None:
    registry = build_registry()
    plan = make_plan(preset("standard", registry), registry, DataSource((), tmp_path, download=False))
    datasets = set(DATASETS) - {"productivity"}  # its table is downloaded, which this plan may not do
    assert {cell.dataset for cell in plan.cells} == datasets
    able, alone = Counter[str](), Counter[str]()
    for cell in plan.cells:
        assert cell.searches == (0 if cell.skipped else 5)
        assert cell.named
        if not cell.skipped and not cell.info.white_box:
            (alone if cell.judged else able)[cell.searcher.name] += 1
            assert [objective.label for objective in cell.judged] in ([], ["ck"])
    every = len(datasets) * len(MODELS) * 5
    assert {able[name] for name in ("cogs", "sparse-sweep", "random-search")} == {every * 2 * 2}
    assert {alone[name] for name in ("lore", "growing-spheres")} == {every * 2}
    assert not able.keys() & alone.keys()


def test_paper_is_the_paper() -> None:
    registry = with_names(searchers=SEARCHERS, objectives=OBJECTIVES)
    study = preset("paper", registry)
    assert (study.datasets, study.models, study.searchers) == (DATASETS, MODELS, SEARCHERS)
    assert (study.folds, study.points, study.repetitions) == ((0, 1, 2, 3, 4), None, 5)
    assert study.notes == ()
    comparison, robustness = study.parts
    assert (comparison.searchers, comparison.objectives, comparison.constraints) == (None, ("none",), (False,))
    assert (robustness.searchers, robustness.objectives, robustness.constraints) == (("cogs",), None, (True,))
    assert (study.at_most["lore"].points, study.at_most["lore"].repetitions) == (5, 3)


def test_paper_measures_robustness_as_the_paper_does() -> None:
    registry = build_registry()
    study = preset("paper", registry)
    assert study.objectives == (*OBJECTIVES, "k[m=4]", "k[m=16]", "ck[m=4]", "ck[m=16]")
    assert study.metrics is not None
    assert set(METRICS) < set(study.metrics)
    measured = cell_metrics([resolve_variant(registry, "metric", text) for text in study.metrics], registry)
    labels = [variant.label for variant in measured]
    # C, K and both, uniform and normal. Relative costs rest on actual costs and on the share that cannot be walked
    # back; the published ones on two means, of C and of K.
    expected = {"invalidity": 6, "fixability": 6, "actual-cost": 6, "unfixable": 6, "additional-cost": 4}
    for name, times in {**expected, "k-robustness": 1}.items():
        assert sum(label.partition("[")[0] == name for label in labels) == times, name


def test_paper_leaves_out_what_is_not_registered_and_says_so() -> None:
    registry = with_names(searchers=("cogs", "mine"), objectives=("none", "k"), datasets=("credit", "wine"))
    study = preset("paper", registry)
    assert (study.datasets, study.searchers) == (("credit",), ("cogs",))
    assert study.objectives == ("none", "k", "k[m=4]", "k[m=16]")
    assert study.at_most == {}
    assert study.notes == (
        "preset paper leaves out datasets that are not registered: income, housing, productivity, recidivism",
        "preset paper leaves out searchers that are not registered: dice-a, dice-b, growing-spheres, lore, nelder-mead",
        "preset paper leaves out objectives that are not registered: c, ck, ck[m=4], ck[m=16]",
    )


def test_a_preset_of_which_nothing_is_registered_is_an_error() -> None:
    with pytest.raises(StudyError, match=r"preset quick: none of its datasets is registered \(credit, housing, wine\)"):
        preset("quick", with_names(datasets=("mine",)))


def test_every_preset_compares_with_the_papers_searcher_and_quick_is_the_starting_point() -> None:
    registry = build_registry()
    assert {name: preset(name, registry).reference for name in registry.presets} == dict.fromkeys(
        ("quick", "standard", "models", "paper"), "cogs"
    )
    assert registry.starting_point is registry.preset("quick").entry
    assert {name for name, found in registry.searchers.items() if found.entry.cost == Cost.SLOW} == set(SLOW)
