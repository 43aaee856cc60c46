"""Plans: which cells, in which order, under which keys, and which are skipped for which reason."""

from __future__ import annotations

import itertools
import pickle
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cfbench.digests import digest_of
from cfbench.errors import StudyError, UnavailableError, UnknownNameError
from cfbench.study.plan import make_plan
from cfbench.study.study import make_study
from tests.unit.running.planned import NUMBERS, REGISTRY, SOURCE, keys_of, loader, plan_of


def test_the_cells_are_all_combinations_data_set_fold_and_model_outermost() -> None:
    plan = plan_of(
        datasets=["mixed", "numbers"],
        models=["stump", "glass"],
        searchers=["walker", "walker[steps=5]"],
        objectives=["none", "k"],
        constraints=[False, True],
        folds=[1, 0],
    )
    expected = itertools.product(
        ["mixed", "numbers"], [1, 0], ["stump", "glass"], ["walker", "walker[steps=5]"], ["none", "k"], [False, True]
    )
    infos = [cell.info for cell in plan.cells]
    assert [(i.dataset, i.fold, i.model, i.searcher, i.objective, i.constraints) for i in infos] == list(expected)
    assert len(set(keys_of(plan))) == 64
    assert infos[0].versions == {"protocol": "1", "dataset": "1", "model": "1", "searcher": "1", "objective": "1"}
    assert infos[8].versions["model"] == "3"


def test_a_key_is_the_digest_of_all_that_can_change_a_result_and_of_nothing_else() -> None:
    (cell,) = plan_of(searchers=["walker[steps=5]"], time_limit=20).cells
    assert cell.content == {
        "protocol": 1,
        "dataset": {"name": "numbers", "digest": loader("numbers", NUMBERS, 23)(SOURCE).digest},
        "model": {"name": "stump", "version": "1", "settings": {"depth": 1}},
        "searcher": {"name": "walker", "version": "1", "settings": {"steps": 5, "size": 0.5}},
        "objective": {"name": "none", "version": "1", "settings": {}},
        "constraints": False,
        "respect_steps": False,
        "fold": 0,
        "points": "drawn",
        "query_budget": None,
        "time_limit": 20.0,
        "seed": 42,
    }
    assert cell.info.key == digest_of(cell.content)


def test_a_cell_takes_little_memory_however_many_there_are() -> None:
    def traced(cells: int) -> int:
        plan_of(searchers=[f"walker[steps={i}]" for i in range(1, 3)])  # what the first plan loads
        tracemalloc.start()
        plan = plan_of(searchers=[f"walker[steps={i}]" for i in range(1, 1 + cells)], folds=[0, 1, 2, 3, 4])
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(plan.cells) == 5 * cells
        return size

    assert (traced(60) - traced(20)) / 200 < 1_500  # bytes; its coordinates, its key, and its share of the entries


def test_keys_depend_neither_on_order_nor_on_spelling_nor_on_counts() -> None:
    lists: dict[str, list[Any]] = {
        "datasets": ["mixed", "numbers"],
        "models": ["stump", "glass"],
        "searchers": ["walker", "walker[steps=5,size=1]"],
        "objectives": ["none", "k"],
        "constraints": [False, True],
        "folds": [0, 3],
    }
    expected = sorted(keys_of(plan_of(**lists)))
    generator = random.Random(3)
    permuted = {axis: generator.sample(values, len(values)) for axis, values in reversed(lists.items())}
    permuted["searchers"] = [text.replace("steps=5,size=1", "size = 1.0, steps=5") for text in permuted["searchers"]]
    permuted["models"] = [text.replace("stump", "stump[depth=1]") for text in permuted["models"]]
    other = {"points": 3, "repetitions": 1, "workers": 2, "results": "elsewhere", "tracking": "none", "name": "b"}
    assert sorted(keys_of(plan_of(**permuted, **other))) == expected
    assert sorted(keys_of(plan_of(**lists, settings={"k": {"m": 64}, "stump": {"depth": 1}}))) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"folds": [1]},
        {"time_limit": 5},
        {"query_budget": 5},
        {"constraints": [True]},
        {"respect_steps": True},
        {"datasets": ["mixed"]},
        {"models": ["glass"]},
        {"models": ["stump[depth=2]"]},
        {"searchers": ["walker[size=0.25]"]},
        {"settings": {"walker": {"steps": 7}}},
        {"objectives": ["k"]},
    ],
)
def test_whatever_can_change_a_result_changes_the_key(change: dict[str, Any]) -> None:
    assert keys_of(plan_of(**change)) != keys_of(plan_of())


def test_a_variant_spelt_twice_and_a_cell_in_two_parts_are_planned_once() -> None:
    plan = plan_of(
        searchers=["walker", "walker[steps=100]", "walker[size=0.5,steps=100.0]"],
        parts=[{"folds": [0, 1]}, {"folds": [1, 2]}],
    )
    assert [(cell.fold, cell.info.searcher) for cell in plan.cells] == [(f, "walker") for f in (0, 1, 2)]


def test_a_part_gives_its_own_lists_and_takes_the_others_from_the_study() -> None:
    plan = plan_of(
        searchers=["walker", "plain"],
        objectives=["none", "k"],
        parts=[
            {"objectives": ["none"], "constraints": [False]},
            {"searchers": ["walker"], "constraints": [True]},
        ],
    )
    assert [(c.info.searcher, c.info.objective, c.constraints) for c in plan.cells] == [
        ("walker", "none", False),
        ("plain", "none", False),
        ("walker", "none", True),
        ("walker", "k", True),
    ]
    assert not any(cell.skipped for cell in plan.cells)


def test_a_part_has_points_and_repetitions_of_its_own() -> None:
    plan = plan_of(
        folds=[0, 1],
        points=3,
        repetitions=2,
        parts=[{"points": "all"}, {"folds": [0], "repetitions": 5}, {"folds": [1], "points": 2, "repetitions": 1}],
        at_most={"walker": {"repetitions": 4}},
    )
    # Each cell has the most of all parts that name it, the cap kept.
    assert [(cell.fold, cell.points, cell.repetitions) for cell in plan.cells] == [(0, None, 4), (1, None, 2)]
    alone = plan_of(folds=[0, 1], points=3, repetitions=2, parts=[{"folds": [0], "repetitions": 5}, {"folds": [1]}])
    assert [(cell.fold, cell.points, cell.repetitions) for cell in alone.cells] == [(0, 3, 5), (1, 3, 2)]
    assert [cell.searches for cell in alone.cells] == [15, 6]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"constraints": [True]}, "plain does not handle constraints"),
        ({"datasets": ["mixed"]}, "plain does not handle categorical features, and mixed has them"),
        ({"searchers": ["guest", "walker"]}, "guest cannot run here: install the extra `guest`"),
        ({"searchers": ["peeker", "walker"]}, "peeker needs the model's forest, and stump does not show it"),
    ],
)
def test_a_cell_that_its_searcher_cannot_take_is_skipped_with_the_reason(keys: dict[str, Any], reason: str) -> None:
    plan = plan_of(**{"searchers": ["plain", "walker"], **keys})
    skipped, run = plan.cells
    assert (skipped.skipped, skipped.searches) == (reason, 0)
    assert (run.skipped, run.info.searcher) == ("", "walker")
    assert run.searches > 0
    assert plan.notes == (f"1 cell is skipped: {reason}",)


def test_a_white_box_runs_on_a_model_that_shows_its_structure_and_is_marked() -> None:
    (cell,) = plan_of(searchers=["peeker"], models=["glass"]).cells
    assert cell.skipped == ""
    assert cell.info.white_box
    assert not plan_of().cells[0].info.white_box


def test_an_objective_without_a_term_is_planned_as_what_it_amounts_to() -> None:
    plan = plan_of(objectives=["k[m=0]", "none"])
    assert keys_of(plan) == keys_of(plan_of())
    assert plan.notes == ("objective k[m=0] is planned as none, because they are the same",)


def test_what_an_objective_says_of_a_data_set_is_noted_once() -> None:
    plan = plan_of(datasets=["numbers", "mixed"], objectives=["none", "wary"], folds=[0, 1], constraints=[True, False])
    assert plan.notes == ("objective wary on numbers: there are no categories",)


def test_a_studys_budget_comes_before_the_searchers_own() -> None:
    assert [cell.query_budget for cell in plan_of(searchers=["walker", "plain"]).cells] == [None, 1000]
    assert [cell.query_budget for cell in plan_of(searchers=["walker", "plain"], query_budget=7).cells] == [7, 7]


def test_searches_are_bounded_by_points_by_the_fold_and_by_caps() -> None:
    assert plan_of(repetitions=2).cells[0].searches == 5 * 2  # 23 rows: the largest of five folds has 5
    assert plan_of(points=3, repetitions=2).searches == 6
    assert plan_of(points=30, repetitions=1).searches == 5
    capped = plan_of(searchers=["walker", "plain"], points=4, repetitions=5, at_most={"plain": {"points": 2}})
    assert [(c.points, c.repetitions, c.searches) for c in capped.cells] == [(4, 5, 20), (2, 5, 10)]
    everything = plan_of(repetitions=2, at_most={"walker": {"points": 9, "repetitions": 4}})
    assert [(c.points, c.repetitions, c.searches) for c in everything.cells] == [(9, 2, 10)]


def test_an_optional_data_set_that_the_study_does_not_name_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown optional data set 'nmbers'\. Did you mean 'numbers'"):
        plan_of(datasets=["numbers"], optional_datasets=["nmbers"])


def test_an_optional_data_set_that_cannot_be_had_is_left_out_with_a_note() -> None:
    plan = plan_of(datasets=["absent", "numbers"], optional_datasets=["absent"], notes=["first"])
    assert plan.notes == ("first", "data set absent is left out: download it, or name its folder")
    assert {cell.dataset for cell in plan.cells} == set(plan.datasets) == {"numbers"}


def test_a_data_set_that_the_user_named_and_that_cannot_be_had_is_an_error() -> None:
    with pytest.raises(UnavailableError, match="download it, or name its folder"):
        plan_of(datasets=["absent", "numbers"])


def test_a_plan_in_which_nothing_can_run_is_an_error_with_every_reason() -> None:
    with pytest.raises(StudyError) as caught:
        plan_of(searchers=["plain", "guest"], constraints=[True], folds=[0, 1])
    assert str(caught.value).splitlines() == [
        "study study: none of its 4 cells can run",
        "  2 cells are skipped: plain does not handle constraints",
        "  2 cells are skipped: guest cannot run here: install the extra `guest`",
    ]
    with pytest.raises(StudyError, match="data set absent is left out: download it"):
        plan_of(datasets=["absent"], optional_datasets=["absent"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"datasets": ["number"]}, "unknown data set 'number'. Did you mean 'numbers'?"),
        ({"models": ["stmp"]}, "unknown model 'stmp'. Did you mean 'stump'?"),
        ({"searchers": ["Walker"]}, "unknown searcher 'Walker'. Did you mean 'walker'?"),
        ({"objectives": ["c"]}, "unknown objective 'c'."),
        ({"metrics": ["los"]}, "unknown metric 'los'. Did you mean 'loss'?"),
        ({"searchers": ["walker[step=3]"]}, "unknown setting of walker 'step'. Did you mean 'steps'?"),
        ({"settings": {"walkr": {"steps": 3}}}, "unknown entry in settings 'walkr'. Did you mean 'walker'?"),
        ({"settings": {"k": {"n": 3}}}, "unknown setting of k 'n'."),
        ({"at_most": {"walkr": {"points": 3}}}, "unknown searcher 'walkr'. Did you mean 'walker'?"),
        ({"parts": [{"searchers": ["walkr"]}]}, "unknown searcher 'walkr'."),
    ],
)
def test_an_unknown_name_is_told_the_nearest_ones(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        plan_of(**keys)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "keys", [{"searchers": ["walker[steps=0]"]}, {"settings": {"walker": {"steps": 0}}}, {"settings": {"k": {"m": -1}}}]
)
def test_an_impossible_setting_is_refused_before_a_table_is_loaded(keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match=r"settings of (walker|k): \w+ = (0|-1): must be at least [01]"):
        plan_of(datasets=["absent"], **keys)


def test_a_table_of_settings_that_two_entries_in_use_could_mean_is_refused() -> None:
    with pytest.raises(StudyError, match=r"settings\.walker: the study uses a searcher and a metric of that name"):
        plan_of(metrics=["walker"], settings={"walker": {"steps": 3}})
    assert plan_of(metrics=["loss"], settings={"walker": {"steps": 3}}).cells[0].info.searcher == "walker[steps=3]"


def test_a_folder_written_without_a_separator_is_told_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loans").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match=r"a folder is written as a path: \./loans"):
        plan_of(datasets=["loans"])


def test_metrics_are_resolved_and_default_ones_are_those_that_their_entries_name() -> None:
    plan = plan_of(metrics=["loss[draws=5]", "loss", "loss[draws=10]"])
    assert [metric.label for metric in plan.metrics] == ["loss[draws=5]", "loss"]
    default = make_plan(
        make_study({"datasets": ["numbers"], "models": ["stump"], "searchers": ["walker"]}), REGISTRY, SOURCE
    )
    assert [metric.label for metric in default.metrics] == ["loss"]
    assert default.notes == ()


def test_a_cell_travels_to_a_worker() -> None:
    (cell,) = plan_of(objectives=["k[m=4]"]).cells
    assert pickle.loads(pickle.dumps(cell)) == cell
    assert len({cell, pickle.loads(pickle.dumps(cell))}) == 1
